from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from workbench.catalog import load_catalog
from workbench.catalog.own_operators import BLOCKS
from workbench.emit.script import emit_script
from workbench.errors import GraphEditError
from workbench.graph import Graph, check_graph, load_recipe
from workbench.graph.builder.block_methods import block_method
from workbench.graph.control_flow.kinds import IF, KINDS, ONE_OF, REPEAT, SOME_OF, BlockKind
from workbench.graph.control_flow.options import fit_generator
from workbench.graph.control_flow.wrap import wrap_as_options, wrap_in_block
from workbench.graph.edits.edit import start_graph
from workbench.graph.model import Node

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")


def flipped(graph: Graph) -> Graph:
    return graph.flip()


def blurred(graph: Graph) -> Graph:
    return graph.gaussian_blur(sigma=2)


def test_every_row_of_the_catalogue_is_a_kind() -> None:
    assert [*KINDS] == [*BLOCKS]
    assert all(kind.op == op for op, kind in KINDS.items())


@pytest.mark.parametrize("op", KINDS)
def test_a_new_block_of_each_kind_can_run(op: str) -> None:
    wrap = wrap_as_options if BLOCKS[op].numbered_bodies else wrap_in_block
    graph, block = wrap(JITTER, CATALOG, ["rotate", "color"], op)
    assert check_graph(graph, CATALOG) == ()
    assert "@pipeline_def" in emit_script(graph, CATALOG).text
    node, kind = graph.node(block), KINDS[op]
    generator = kind.generator_of(graph, node)
    assert (generator.op if generator else "") == kind.random_op
    assert fit_generator(graph, CATALOG, block) == graph
    shares = kind.shares(graph, node)
    assert shares is not None
    assert len(shares) == len(node.bodies)


def test_the_method_of_a_kind_without_its_own_makes_the_same_block() -> None:
    made: list[tuple[BlockKind, tuple[Callable[[Graph], Graph], ...], dict[str, Any], Graph]]
    base = start_graph(CATALOG)
    made = [
        (ONE_OF, (flipped, blurred), {}, base.one_of(flipped, blurred)),
        (SOME_OF, (flipped, blurred), {"count": 1, "shuffled": False},
         base.some_of(1, flipped, blurred)),
        (REPEAT, (blurred,), {"times": 3}, base.repeat(3, blurred)),
        (IF, (flipped, lambda x: x), {}, base.with_p(0.5, flipped)),
    ]  # fmt: skip
    for kind, functions, args, wanted in made:
        assert block_method(kind)(base, *functions, **args) == wanted, kind.op


def test_such_a_method_takes_what_decides_by_name() -> None:
    base = start_graph(CATALOG)
    times = wb.random.uniform(range=(1, 3), dtype="INT32")
    assert block_method(REPEAT)(base, blurred, times=times) == base.repeat(times, blurred)


def test_such_a_method_wants_a_function_for_each_body() -> None:
    with pytest.raises(GraphEditError, match=r"if has 1 functions\. Give 2: then, else"):
        block_method(IF)(JITTER, flipped)


def test_an_unknown_kind_has_the_defaults() -> None:
    kind = BlockKind()
    node = Node("new", "new")
    assert kind.new_generator(JITTER, CATALOG, node) is None
    assert (kind.iterations(node), kind.repetitions(node), kind.summary(node)) == (1, None, "")
    assert kind.shares(JITTER, node) is None
    assert not [*kind.faults(JITTER, node)]
