"""Splits and merges are put together to the statements that they were made of."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from tests.emit.pipeline_import.test_fold import AGAIN, CROSSED, IF, READING, SECOND, grown
from tests.emit.pipeline_import.traces import op
from workbench.emit.pipeline_import.calls.conditionals import (
    MERGE,
    SPLIT,
    every_op,
    find_statements,
)
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp

LAST = [TracedInput("__M_22", "cpu")]


def test_an_elif_stands_in_the_else_and_a_second_statement_behind() -> None:
    ops = [*READING, *IF, *AGAIN]
    block, outputs = find_statements(ops, LAST, Lines({}, ops))
    first, second = block.statements.values()
    assert (first.outputs, second.outputs) == (("__M_18",), ("__M_22",))
    then, otherwise = first.bodies
    assert [one.schema for one in then.ops] == ["random__Uniform", "Rotate"]
    assert [one.name for one in otherwise.ops] == [SECOND, "__M_17"], "it is asked there alone"
    (inner,) = otherwise.statements.values()
    assert [[one.schema for one in body.ops] for body in inner.bodies] == [["Flip"], []]
    assert list(outputs) == LAST
    assert not any(one.schema in (SPLIT, MERGE) for one in every_op(block))


def test_what_crosses_branches_is_left_as_it_is() -> None:
    ops = [*READING, *CROSSED]
    block, _ = find_statements(ops, [TracedInput("__M_18", "cpu")], Lines({}, ops))
    assert list(block.statements) == ["__M_17"], "the inner one is none the worse"
    left = [one.schema for one in block.ops]
    assert (left.count(SPLIT), left.count(MERGE)) == (3, 1)


def test_a_merge_without_a_split() -> None:
    alone = op(MERGE, "__M_9", "__Image_0", "__Image_0", replace_predicate(READING))
    ops = [*READING, alone]
    block, _ = find_statements(ops, [TracedInput("__M_9", "cpu")], Lines({}, ops))
    assert list(block.ops) == ops


def replace_predicate(ops: list[TracedOp]) -> TracedInput:
    return TracedInput(ops[-1].name, "cpu", "predicate")


@given(grown())
def test_any_calls(drawn: tuple[list[TracedOp], list[str]]) -> None:
    """Nothing is lost: what was made is made still, each call behind what feeds it."""
    ops, edges = drawn
    ops = [replace(one, places=()) for one in ops]
    block, outputs = find_statements(ops, [TracedInput(e, "cpu") for e in edges], Lines({}, ops))
    kept = {one.name for one in every_op(block)}
    assert {one.name for one in ops if one.schema not in (SPLIT, MERGE)} <= kept
    known: set[str] = set()
    for one in block.ops:
        assert {edge.edge for edge in one.inputs} <= known
        known |= {edge for edge, _ in one.outputs}
    assert {edge.edge for edge in outputs} <= known
