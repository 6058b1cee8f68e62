"""The rules of arithmetic against DALI itself, and the faults of what DALI cannot calculate."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import CATALOG, chain_graph
from tests.placed import dali_function
from tests.thorough import one_in
from workbench.catalog import Value
from workbench.catalog.extra_operators.arithmetic import CONSTANT_TYPES
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import randomise_arg, set_arg
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import infer_devices, port_kind
from workbench.graph.types.shapes import infer_types, type_text
from workbench.graph.types.tensor_type import broadcast, integer_range, result_type
from workbench.graph.types.typed_graph import TypedGraph

WRITTEN = [op for op in CATALOG.values() if op.name.startswith("math.")]
IMAGES = Port("decode", "output")


def run(make: Callable[[], list[Any]]) -> list[Any]:
    """The outputs of a pipeline of one sample."""
    from nvidia.dali.pipeline import Pipeline

    pipeline = Pipeline(1, 1, None)
    with pipeline:
        pipeline.set_outputs(*make())
    pipeline.build()
    return list(pipeline.run())


def array(dtype: str, shape: tuple[int, ...] = (2,), layout: str = "") -> Any:
    from nvidia.dali import fn, types

    count = 1
    for extent in shape:
        count *= extent
    made = fn.constant(idata=[1] * count, shape=list(shape), layout=layout or None)
    return fn.cast(made, dtype=getattr(types, dtype))


@pytest.mark.parametrize("op", one_in(3, WRITTEN), ids=lambda op: op.name)
def test_the_type_of_every_result(op: Any) -> None:
    """For all pairs of types that the catalogue accepts, the inferred type is the actual one."""
    (output,) = op.outputs
    count = len(op.operands)
    allowed = op.inputs[0].dtypes
    pairs = [
        types
        for types in itertools.product(allowed, repeat=min(count, 2))
        if set(types) != {"BOOL"} or op.name in BOOLEAN
    ]
    ports = [port.name for port in op.inputs]
    assert len(ports) >= min(count, 2)

    def make() -> list[Any]:
        call = dali_function(op)
        return [call(*map(array, (*types, types[-1])[:count])) for types in pairs]

    for types, found in zip(pairs, run(make), strict=True):
        rule = output.gives.dtype
        told = "BOOL" if rule == "BOOL" else result_type(types, rule == "floating")
        assert found.dtype.name == told, types


BOOLEAN = {
    *("math.mul", "math.eq", "math.ne", "math.lt", "math.le", "math.gt", "math.ge"),
    *("math.bitand", "math.bitor", "math.bitxor", "math.bitnot", "math.lshift", "math.rshift"),
}
"""What DALI calculates with truth values alone."""


@pytest.mark.parametrize("op", WRITTEN, ids=lambda op: op.name)
def test_types_that_are_not_let_in_are_those_that_dali_refuses(op: Any) -> None:
    others = {*CONSTANT_TYPES, "FLOAT16"} - set(op.inputs[0].dtypes)
    call, count = dali_function(op), len(op.operands)
    for dtype in others:
        with pytest.raises(RuntimeError):
            run(lambda dtype=dtype: [call(*[array(dtype)] * count)])
    if count > 1 and op.name not in BOOLEAN:
        with pytest.raises(RuntimeError):
            run(lambda: [call(*[array("BOOL")] * count)])


@pytest.mark.parametrize(
    ("shapes", "layouts"),
    [
        (((2, 4, 3), ()), ("HWC", "")),
        (((), (2, 4, 3)), ("", "HWC")),
        (((2, 4, 3), (3,)), ("HWC", "")),
        (((3,), (2, 4, 3)), ("C", "HWC")),
        (((2, 4, 3), (4, 1)), ("", "")),
        (((2, 4, 3), (3,)), ("", "C")),
        (((2, 1, 3), (1, 4, 1)), ("HWC", "")),
        (((1,), (5,)), ("", "")),
        (((2, 4, 3), (2,)), ("", "")),
        (((2, 3), (3, 2)), ("", "")),
    ],
)
def test_shapes_and_layouts_of_two_operands(
    shapes: tuple[tuple[int, ...], ...], layouts: tuple[str, str]
) -> None:
    from workbench.graph.types.shape_rules import _layout
    from workbench.graph.types.tensor_type import TensorType

    def make() -> list[Any]:
        one, other = (array("INT32", *pair) for pair in zip(shapes, layouts, strict=True))
        return [one + other]

    try:
        told = broadcast(shapes)
    except ValueError:
        with pytest.raises(RuntimeError):
            run(make)
        return
    (found,) = run(make)
    assert tuple(found.shape()[0]) == told
    assert told is not None
    flows = [TensorType("INT32", *pair[::-1]) for pair in zip(shapes, layouts, strict=True)]
    assert found.layout() == _layout(flows, len(told))


@given(st.lists(st.lists(st.sampled_from([1, 3, None]), max_size=3).map(tuple), max_size=3))
def test_what_is_not_known_of_a_shape_stays_open(shapes: list[Any]) -> None:
    told = broadcast(shapes)
    filled = [tuple(3 if e is None else e for e in shape) for shape in shapes]
    full = broadcast(filled)
    assert told is not None
    assert full is not None
    assert len(told) == len(full)
    assert all(a is None or a == b for a, b in zip(told, full, strict=True))
    assert broadcast([*shapes, None]) is None


def placed(op: str, *chain: str, **args: Value) -> Graph:
    graph = chain_graph("resize", *chain)
    graph, node = place_node(graph, CATALOG, op, graph.outputs["images"])
    for name, value in args.items():
        graph = set_arg(graph, CATALOG, node, name, value)
    return replace(graph, outputs={"images": Port(node, "output")})


def text(graph: Graph) -> str:
    return type_text(infer_types(graph, CATALOG)[graph.outputs["images"]])


@pytest.mark.parametrize(
    ("op", "args", "shown"),
    [
        ("math.mul", {}, "224×224×3 f32 HWC"),
        ("math.mul", {"constant_type": "INT32", "right": 2}, "224×224×3 i32 HWC"),
        ("math.mul", {"constant_type": "UINT8", "right": 2}, "224×224×3 u8 HWC"),
        ("math.mul", {"constant_type": "INT8", "right": 2}, "224×224×3 i16 HWC"),
        ("math.truediv", {"constant_type": "INT32"}, "224×224×3 f32 HWC"),
        ("math.sub", {"left": 1, "constant_type": "INT64"}, "224×224×3 i64 HWC"),
        ("math.gt", {}, "224×224×3 bool HWC"),
        ("math.clamp", {"constant_type": "UINT8"}, "224×224×3 u8 HWC"),
        ("math.bitand", {}, "224×224×3 i32 HWC"),
        ("subscript", {"index": "10:20, :, 0"}, "10×224 u8 HW"),
        ("subscript", {"index": "-3"}, "224×3 u8 WC"),
        ("subscript", {"index": "::2, 200:900"}, "112×24×3 u8 HWC"),
        ("subscript", {"index": "0, 0, 0, 0"}, "? u8"),
    ],
)
def test_a_constant_has_its_part_in_the_result(op: str, args: dict[str, Value], shown: str) -> None:
    assert text(placed(op, **args)).startswith(shown)


def test_a_drawn_weight_and_a_second_picture() -> None:
    graph = randomise_arg(placed("math.mul"), CATALOG, "mul", "right")
    assert text(graph) == "224×224×3 f32 HWC"
    assert check_graph(graph, CATALOG) == ()
    graph = connect(graph, CATALOG, IMAGES, "mul", "other")
    assert set(graph.node("mul").inputs) == {"data", "other"}, "the draw gave way"
    assert not graph.has("right")
    assert text(graph) == "224×224×3 u8 HWC"
    assert check_graph(graph, CATALOG) == ()


def test_a_weight_times_a_picture_is_a_picture() -> None:
    graph, weight = place_node(chain_graph("resize"), CATALOG, "random.uniform")
    graph, node = place_node(graph, CATALOG, "math.mul", Port(weight, "output"))
    graph = connect(graph, CATALOG, Port("resize", "output"), node, "other")
    assert port_kind(graph, CATALOG, Port(node, "output")) == "image"
    flow = infer_types(graph, CATALOG)[Port(node, "output")]
    assert (flow.kind, flow.layout, flow.shape) == ("image", "HWC", (224, 224, 3))


def faults(graph: Graph) -> dict[str, str]:
    return {fault.code: str(fault) for fault in check_graph(graph, CATALOG)}


@pytest.mark.parametrize(
    ("op", "args", "code", "words"),
    [
        (
            "math.add",
            {"right": 0.5, "constant_type": "INT32"},
            "constant",
            "0.5 is not a valid INT32",
        ),
        ("math.add", {"right": 300, "constant_type": "UINT8"}, "constant", "from 0 to 255"),
        ("math.add", {"right": -1, "constant_type": "UINT8"}, "constant", "from 0 to 255"),
        ("math.add", {"right": 2**63, "constant_type": "UINT64"}, "constant", f"to {2**63 - 1}"),
        ("math.add", {"right": 2, "constant_type": "BOOL"}, "constant", "from 0 to 1"),
        ("math.add", {"constant_type": "FLOAT16"}, "value", "FLOAT16"),
        ("math.bitand", {"right": 0.5}, "value", "not an integer"),
        ("math.bitand", {"constant_type": "FLOAT"}, "value", "FLOAT"),
        (
            "math.add",
            {"right": 2**40, "constant_type": "INT32"},
            "constant",
            f"{2**40} is not a valid INT32",
        ),
        ("math.floordiv", {"right": 0, "constant_type": "INT32"}, "zero", "integers (INT32)"),
        ("math.mod", {"right": 0, "constant_type": "UINT8"}, "zero", "mod.right: it is 0"),
        ("subscript", {"index": "300"}, "index", "index: 300 is beyond the 224 rows"),
        ("subscript", {"index": ":, -225, 0"}, "index", "columns. Use an index from -224 to 223"),
        ("subscript", {"index": "0, 0, 3"}, "index", "3 is beyond the 3 channels"),
        (
            "subscript",
            {"index": "0, :, :, 0"},
            "index",
            "4 parts, but the data have 3 axes. Use at most 3",
        ),
        ("subscript", {"index": "..."}, "value", "write ':' for each axis"),
        ("subscript", {"index": "0); import os"}, "value", "not an index or range"),
    ],
)
def test_constants_that_do_not_fit(op: str, args: dict[str, Value], code: str, words: str) -> None:
    graph = placed(op, **args)
    assert words in faults(graph)[code]
    (fault,) = check_graph(graph, CATALOG)
    assert any(
        not check_graph(fix.graph, CATALOG) for fix in fixes(ResolvedGraph(graph, CATALOG), fault)
    )


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("math.floordiv", {"right": 0, "constant_type": "FLOAT"}),
        ("math.truediv", {"right": 0, "constant_type": "INT32"}),
        ("math.floordiv", {"left": 0, "constant_type": "INT32"}),
        ("subscript", {"index": "-224, 223, 0:9"}),
        ("subscript", {"index": "300:400"}),
    ],
)
def test_what_dali_takes(op: str, args: dict[str, Value]) -> None:
    assert check_graph(placed(op, **args), CATALOG) == ()


def test_places_along_axes_that_have_no_name_or_no_length() -> None:
    loose, node = place_node(chain_graph("hue"), CATALOG, "subscript", Port("hue", "output"))
    assert check_graph(set_arg(loose, CATALOG, node, "index", "9999"), CATALOG) == ()
    labels, node = place_node(chain_graph(), CATALOG, "subscript", Port("reader", "labels"))
    labels = set_arg(labels, CATALOG, node, "index", "2")
    assert "2 is beyond axis 0, which has 1. Use an index from -1 to 0" in faults(labels)["index"]


def test_every_place_that_is_missing_is_told_at_once() -> None:
    graph = placed("subscript", index="300, -300, 7")
    told = [fault for fault in check_graph(graph, CATALOG) if fault.code == "index"]
    assert [fault.about for fault in told] == ["223, -300, 7", "300, -224, 7", "300, -300, 2"]


def test_operands_that_are_lacking_or_too_many() -> None:
    graph = placed("math.mul")
    node = graph.node("mul")
    without = graph.replace_node(replace(node, args={}))
    assert "math.mul requires right, other or left" in faults(without)["missing_arg"]
    both = graph.replace_node(replace(node, args={"right": 1, "left": 1}))
    assert "cannot be used together with" in faults(both)["conflict"]
    for broken in (without, both):
        (fault, *_) = check_graph(broken, CATALOG)
        assert not check_graph(fixes(ResolvedGraph(broken, CATALOG), fault)[0].graph, CATALOG)


def test_operands_that_do_not_go_together() -> None:
    graph = placed("math.add")
    graph, other = place_node(graph, CATALOG, "crop", Port("resize", "output"))
    graph = set_arg(graph, CATALOG, other, "crop", (10, 10))
    graph = connect(graph, CATALOG, Port(other, "output"), "add", "other")
    assert "shapes do not match: 224 and 10" in faults(graph)["shapes"]
    truth = placed("math.gt")
    truth, node = place_node(truth, CATALOG, "math.add", Port("gt", "output"))
    truth = connect(truth, CATALOG, Port("gt", "output"), node, "other")
    assert "two booleans" in faults(truth)["dtype"]
    whole = randomise_arg(placed("math.bitand"), CATALOG, "bitand", "right")
    assert check_graph(whole, CATALOG) == (), "random integers"
    fractions = set_arg(whole, CATALOG, "right", "dtype", "FLOAT")
    assert "does not support math.bitand of FLOAT" in faults(fractions)["arg_dtype"]


@pytest.mark.parametrize(
    ("dtype", "ends"), [("BOOL", (0, 1)), ("UINT8", (0, 255)), ("INT8", (-128, 127))]
)
def test_ranges(dtype: str, ends: tuple[int, int]) -> None:
    assert integer_range(dtype) == ends


def test_types_and_devices_are_those_that_are_inferred() -> None:
    graph = load_recipe("simclr")
    typed = TypedGraph(graph, CATALOG)
    assert typed.types == infer_types(graph, CATALOG)
    assert typed.devices == infer_devices(graph, CATALOG)
    assert typed.types is typed.types


def test_a_body_has_the_types_of_the_whole_graph() -> None:
    typed = TypedGraph(load_recipe("simclr"), CATALOG)
    scopes = [scope for scope, _ in typed.graph.bodies() if scope]
    assert scopes
    for scope in scopes:
        body = typed.at_scope(scope)
        assert body.graph.scope == scope
        assert body.whole is typed
        assert body.types is typed.types
        assert body.devices is typed.devices
    assert typed.at_scope("") is typed


def test_another_graph_is_inferred_anew() -> None:
    typed = TypedGraph(load_recipe("rotate-jitter"), CATALOG)
    mixed = replace(typed.graph, settings=replace(typed.graph.settings, device="mixed"))
    assert typed.for_graph(typed.graph) is typed
    assert {*typed.devices.values()} == {"cpu"}
    assert "mixed" in typed.for_graph(mixed).devices.values()
