"""``and``, ``or`` and ``not`` become operators where nothing draws behind them."""

from __future__ import annotations

import pytest

from tests.emit.pipeline_import.traces import op
from workbench.emit.pipeline_import.calls.conditionals import MERGE, SPLIT
from workbench.emit.pipeline_import.control_flow.logic import without_logic
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp

CHECK = "_conditional__ValidateLogical"
COINS = [op("random__CoinFlip", name) for name in ("__A_1", "__B_2")]


def on(predicate: str) -> TracedInput:
    return TracedInput(predicate, "cpu", "predicate")


def written(word: str, between: str = "Cast") -> list[TracedOp]:
    """``a and b``, or ``a or b``, with a call between the split and the right side."""
    side = 0 if word == "and" else 1
    ends = [f"__Right_{7}", f"__Own_{5}[{1 - side}]"]
    return [
        *COINS,
        op(CHECK, "__Left_3", "__A_1", expression_name=word, expression_side="left"),
        op(SPLIT, "__Split_4", "__B_2", on("__Left_3"), outputs=2),
        op(SPLIT, "__Own_5", "__Left_3", on("__Left_3"), outputs=2),
        op(between, "__Between_6", f"__Split_4[{side}]"),
        op(CHECK, "__Right_7", "__Between_6", expression_name=word, expression_side="right"),
        op(MERGE, "__Merge_8", *(ends if side == 0 else reversed(ends)), on("__Left_3")),
    ]


@pytest.mark.parametrize(("word", "operator"), [("and", "bitand"), ("or", "bitor")])
def test_two_sides(word: str, operator: str) -> None:
    calls, (output,) = without_logic(written(word), [TracedInput("__Merge_8", "cpu")], {"Noise"})
    assert [call.name for call in calls] == ["__A_1", "__B_2", "__Between_6", "__Merge_8"]
    *_, between, result = calls
    assert [edge.edge for edge in between.inputs] == ["__B_2"]
    assert [edge.edge for edge in result.inputs] == ["__A_1", "__Between_6"]
    assert result.args["expression_desc"] == f"{operator}(&0 &1)"
    assert output.edge == "__Merge_8"


def test_what_draws_behind_the_word_stays_where_it_is() -> None:
    calls, _ = without_logic(written("and", "Noise"), [TracedInput("__Merge_8", "cpu")], {"Noise"})
    assert [call.schema for call in calls].count(SPLIT) == 2
    merge = calls[-1]
    assert merge.schema == MERGE
    assert merge.inputs[-1] == on("__A_1"), "the truth value itself decides"


def test_not() -> None:
    ops = [COINS[0], op("_conditional__Not_", "__Not_2", "__A_1")]
    calls, _ = without_logic(ops, [TracedInput("__Not_2", "cpu")], ())
    assert calls[-1].args == {"expression_desc": "eq(&0 $0:int32)", "integer_constants": (0,)}
