"""Calls stand in the order of the source."""

from __future__ import annotations

from tests.emit.pipeline_import.traces import op, place
from workbench.emit.pipeline_import.trace.call_order import in_call_order
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedOp


def names(*ops: TracedOp) -> list[str]:
    return [op.name for op in in_call_order(ops, Lines({}, ops))]


def test_numbers_of_dali_decide_and_sources_come_first() -> None:
    late = op("B", "__B_1")
    assert names(op("C", "__C_2"), op("A", "__A_10"), late) == ["__B_1", "__C_2", "__A_10"]
    assert names(op("A", "__A_3"), op("B", "__B_1", "__A_3")) == ["__A_3", "__B_1"]


def test_a_named_call_stands_at_its_line() -> None:
    first = op("A", "__A_0", places=(place(2),))
    named = op("B", "mine", places=(place(3),))
    last = op("C", "__C_1", places=(place(4),))
    assert names(last, named, first) == ["__A_0", "mine", "__C_1"]


def test_or_before_what_it_feeds() -> None:
    assert names(op("A", "__A_0"), op("R", "mine"), op("B", "__B_1", "mine")) == [
        "__A_0", "mine", "__B_1",
    ]  # fmt: skip
    assert names(op("R", "mine"), op("A", "__A_0")) == ["__A_0", "mine"]
