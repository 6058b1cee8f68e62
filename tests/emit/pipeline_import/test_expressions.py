from __future__ import annotations

from collections.abc import Mapping

import pytest

from workbench.catalog import Value
from workbench.emit.pipeline_import.calls.expressions import Expression, expression_node
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp

MAKERS = {
    "image": TracedOp("Resize", "resize", "cpu", (TracedInput("decoded", "cpu"),)),
    "other": TracedOp("Flip", "flip", "cpu", (TracedInput("image", "cpu"),)),
    "drawn": TracedOp("random__Uniform", "draw", "cpu"),
    "noise": TracedOp("random__Normal", "noise", "cpu", (TracedInput("image", "cpu"),)),
    "drawn_gpu": TracedOp("random__Uniform", "draw", "gpu"),
}


BOTH: Mapping[str, Value] = {"real_constants": (0.0,), "integer_constants": (1,)}


def arithmetic(desc: str, *edges: str, **args: Value) -> Expression | None:
    inputs = tuple(TracedInput(edge, "cpu") for edge in edges)
    given: Mapping[str, Value] = {"expression_desc": desc, **args}
    return expression_node(TracedOp("_ArithmeticGenericOp", "it", "cpu", inputs, (), given), MAKERS)


@pytest.mark.parametrize(
    ("desc", "edges", "args", "made"),
    [
        (
            "mul(&0 $0:float32)",
            ["image"],
            {"real_constants": (0.10000000149011612,)},
            Expression("math.mul", {"right": 0.1}, {"data": "image"}),
        ),
        (
            "sub($0:int32 &0)",
            ["image"],
            {"integer_constants": (1,)},
            Expression("math.sub", {"left": 1, "constant_type": "INT32"}, {"data": "image"}),
        ),
        (
            "bitand(&0 $0:int32)",
            ["image"],
            {"integer_constants": 240},
            Expression("math.bitand", {"right": 240}, {"data": "image"}),
        ),
        (
            "add(&0 $0:uint8)",
            ["image"],
            {"integer_constants": (5,)},
            Expression("math.add", {"right": 5, "constant_type": "UINT8"}, {"data": "image"}),
        ),
        (
            "eq(&0 $0:bool)",
            ["image"],
            {"integer_constants": (1,)},
            Expression("math.eq", {"right": 1, "constant_type": "BOOL"}, {"data": "image"}),
        ),
        ("minus(&0)", ["image"], {}, Expression("math.neg", {}, {"data": "image"})),
        (
            "clamp(&0 $0:float32 &1)",
            ["image", "other"],
            {"real_constants": (0.0,)},
            Expression("math.clamp", {"lo": 0.0}, {"data": "image", "hi_input": "other"}),
        ),
    ],
)  # fmt: skip
def test_arithmetic(desc: str, edges: list[str], args: dict[str, Value], made: Expression) -> None:
    assert arithmetic(desc, *edges, **args) == made


@pytest.mark.parametrize(
    ("left", "right", "ports"),
    [
        ("image", "other", {"data": "image", "other": "other"}),
        ("image", "noise", {"data": "image", "other": "noise"}),
        ("image", "drawn", {"data": "image", "right": "drawn"}),
        ("drawn", "image", {"data": "image", "left": "drawn"}),
        ("drawn", "drawn", {"data": "drawn", "right": "drawn"}),
        ("image", "drawn_gpu", {"data": "image", "other": "drawn_gpu"}),
        ("image", "image", {"data": "image", "other": "image"}),
    ],
)
def test_two_edges(left: str, right: str, ports: dict[str, str]) -> None:
    """What a generator draws stands where a person would make a constant random."""
    assert arithmetic("pow(&0 &1)", left, right) == Expression("math.pow", {}, ports)


def test_a_comparison_has_its_constant_on_the_right() -> None:
    """As Python has it, which turns ``1 < x`` round."""
    made = Expression("math.lt", {}, {"data": "drawn", "other": "image"})
    assert arithmetic("lt(&0 &1)", "drawn", "image") == made


@pytest.mark.parametrize(
    ("desc", "edges", "args"),
    [
        ("clamp(&0 $0:float32 $0:int32)", ["image"], BOTH),
        ("clamp($0:float32 &0 &1)", ["image", "other"], {"real_constants": (0.0,)}),
        ("add(&0 $0:float16)", ["image"], {"real_constants": (0.5,)}),
        ("add(&0 $0:float32)", ["image"], {}),
        ("bitand(&0 $0:float32)", ["image"], {"real_constants": (0.5,)}),
        ("add(&0 &1)", ["image"], {}),
        ("add(&0)", ["image"], {}),
        ("hypot(&0 &1)", ["image", "other"], {}),
        ("add(&0 mul(&1 &2))", ["image", "other", "noise"], {}),
        ("lt($0:float32 &0)", ["image"], {"real_constants": (0.5,)}),
        ("", [], {}),
    ],
)  # fmt: skip
def test_what_a_graph_cannot_hold(desc: str, edges: list[str], args: dict[str, Value]) -> None:
    assert arithmetic(desc, *edges, **args) is None


def subscript(schema: str, *inputs: TracedInput, **args: Value) -> Expression | None:
    given = inputs or (TracedInput("image", "cpu"),)
    return expression_node(TracedOp(schema, "it", "cpu", given, (), args), MAKERS)


@pytest.mark.parametrize(
    ("args", "index"),
    [
        ({"at_0": 0, "num_subscripts": 1}, "0"),
        ({"lo_1": 3, "hi_1": 9, "num_subscripts": 2}, ":, 3:9"),
        ({"step_0": -1, "at_2": -1, "num_subscripts": 3}, "::-1, :, -1"),
    ],
)
def test_indexing(args: dict[str, Value], index: str) -> None:
    made = Expression("subscript", {"index": index}, {"data": "image"})
    assert subscript("_TensorSubscript", **args) == made


def test_indexing_that_only_counts_axes() -> None:
    made = Expression("subscript", {"index": ":, :"}, {"data": "image"})
    assert subscript("_SubscriptDimCheck", num_subscripts=2) == made


def test_an_index_from_a_node_is_not_held() -> None:
    inputs = (TracedInput("image", "cpu"), TracedInput("drawn", "cpu", "at_0"))
    assert subscript("_TensorSubscript", *inputs, num_subscripts=1) is None
    assert subscript("_TensorSubscript", num_subscripts=0) is None
    assert subscript("Rotate", num_subscripts=1) is None
