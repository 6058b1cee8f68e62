from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given

from tests.helpers import VALUES
from workbench.catalog import ArgSpec, Value, load_catalog
from workbench.catalog.spec import ArgKind
from workbench.emit.targets import export
from workbench.errors import GraphFaultsError
from workbench.graph import Graph, Node, Port, Settings, check_graph
from workbench.graph.model import Source
from workbench.graph.model.values import describe_kind, value_fault

ALL_ARGS = [arg for op in load_catalog().values() for arg in op.args.values()]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("bool", [True, False], [0, 1, "true", 0.0, (True,)]),
        ("int", [0, -3, 2**62], [1.0, True, "1", 2**63, -(2**63) - 1, 10**400, (1,)]),
        ("float", [0, 1.5, -2, 10**30], [True, "1", float("nan"), float("inf"), 10**400, (1.0,)]),
        ("str", ["", "x"], [1, True, ("x",)]),
        ("enum", ["FLOAT"], [1, "", "not a name", "a.b", "x;y"]),
        ("int_list", [1, (), (1, 2)], [(1, 2.5), ("a",), (True,), ((1,),)]),
        ("float_list", [1.0, (1, 2.5)], [("a",), (float("nan"),), (None,)]),
        ("bool_list", [(True,)], [(1,)]),
        ("str_list", [("a", "b"), "a"], [(1,)]),
        ("enum_list", [("FLOAT",)], [("a b",)]),
        ("object", [], [1, "x", (1,)]),
    ],
)
def test_kinds(kind: ArgKind, good: list[Value], bad: list[Value]) -> None:
    arg = ArgSpec("value", kind, enum="DALIDataType" if "enum" in kind else None)
    for value in good:
        assert value_fault(arg, value) is None, value
    for value in bad:
        fault = value_fault(arg, value)
        assert fault is not None, value
        assert fault[1].startswith("Use ")


def test_limits_are_part_of_the_remedy() -> None:
    arg = ArgSpec("quality", "int", minimum=1, maximum=100)
    assert value_fault(arg, 1) is value_fault(arg, 100) is None
    assert value_fault(arg, 0) == ("0 is out of range", "Use an integer from 1 to 100.")
    assert describe_kind(ArgSpec("a", "float", minimum=0)) == "a number, 0 or more"
    assert describe_kind(ArgSpec("a", "float", maximum=2.5)) == "a number, 2.5 at most"


def test_every_item_of_a_list_keeps_to_the_limits() -> None:
    arg = ArgSpec("size", "int_list", minimum=1)
    assert value_fault(arg, (3, 0)) is not None
    assert value_fault(arg, (3, 1)) is None


def test_choices() -> None:
    arg = ArgSpec("mode", "str", choices=("stretch", "not_larger"))
    fault = value_fault(arg, "strech")
    assert fault is not None
    assert fault[1] == "Use one of stretch, not_larger. Did you mean stretch?"


@given(VALUES)
def test_any_value_in_any_argument_passes_or_is_explained(value: Value) -> None:
    for arg in ALL_ARGS:
        fault = value_fault(arg, value)
        assert fault is None or all(fault)


def test_start_values_and_ranges_of_the_catalogue_are_allowed() -> None:
    for op in load_catalog().values():
        for arg in op.args.values():
            if arg.start is not None:
                assert value_fault(arg, arg.start) is None, (op.name, arg.name)
            for end in arg.draw or ():
                value = int(end) if arg.kind.startswith("int") else end
                assert value_fault(arg, value) is None, (op.name, arg.name)


@pytest.mark.parametrize("value", [(500, 10), (1,), (1, 2, 3), 5])
def test_a_range_goes_from_low_to_high(value: Value) -> None:
    arg = load_catalog()["random.uniform"].args["range"]
    fault = value_fault(arg, value)
    assert fault is not None
    assert fault[0].endswith("is not a range")
    assert "low then high" in fault[1]
    assert value_fault(arg, (-10, 10)) is None


@pytest.mark.parametrize("way", ["image", "image_crop", "image_slice", "image_random_crop"])
@pytest.mark.parametrize("device", ["cpu", "mixed"])
def test_any_data_that_overflows_in_dali_is_refused_with_the_reason(
    way: str, device: Literal["cpu", "mixed"]
) -> None:
    crop: dict[str, Value] = {"crop": (8, 8)} if way == "image_crop" else {}
    args: dict[str, Value] = {"output_type": "ANY_DATA", **crop}
    nodes = (
        Source("reader", "readers.file", seed=0, kind="folder"),
        Node("decode", f"decoders.{way}", args, {"data": Port("reader", "jpegs")}, seed=None),
    )
    outputs = {"images": Port("decode", "output")}
    graph = Graph("any", nodes=nodes, outputs=outputs, settings=Settings(device=device))
    arg = load_catalog()[f"decoders.{way}"].args["output_type"]
    assert "ANY_DATA" not in arg.choices
    (fault,) = (fault for fault in check_graph(graph) if fault.arg == "output_type")
    assert str(fault) == (
        "decode.output_type: 'ANY_DATA' makes DALI 2.4 write past the end of the image of a "
        "greyscale JPEG: wrong pixels, or a crash. Use one of RGB, BGR, GRAY, YCbCr."
    )
    for target in ("script", "dynamic"):
        with pytest.raises(GraphFaultsError, match=r"decode\.output_type: 'ANY_DATA'"):
            export(graph, target)


_OUT_OF_RANGE: list[tuple[str, dict[str, Value]]] = [
    ("crop_mirror_normalize", {"mean": (1.0, 2.0)}),
    ("crop_mirror_normalize", {"std": (0.0, 1.0, 1.0)}),
    ("crop_mirror_normalize", {"std": (-1.0,)}),
    ("crop_mirror_normalize", {"mirror": 3}),
    ("resize", {"size": (0.0, 0.0)}),
    ("resize", {"size": (-3.0,)}),
    ("resize", {"resize_x": 0.0, "resize_y": 0.0}),
    ("resize", {"resize_shorter": 0.0}),
    ("crop", {"crop": (-5.0, 10.0)}),
    ("crop", {"crop_w": -5.0, "crop_h": 4.0}),
    ("crop", {"crop_w": 0.0, "crop_h": 0.0}),
    ("crop", {"crop": (5.0, 5.0), "crop_pos_x": 2.0}),
    ("flip", {"horizontal": 2}),
    ("random_resized_crop", {"size": (9,), "random_aspect_ratio": (-1.0, 2.0)}),
    ("random_resized_crop", {"size": (9,), "num_attempts": -1}),
    ("jpeg_compression_distortion", {"quality": 200}),
    ("jpeg_compression_distortion", {"quality": 0}),
    ("noise.gaussian", {"stddev": -1.0}),
    ("noise.shot", {"factor": -1.0}),
    ("noise.salt_and_pepper", {"prob": 1.5}),
    ("color_twist", {"brightness": -1.0}),
    ("saturation", {"saturation": -1.0}),
    ("grid_mask", {"ratio": 2.0}),
    ("erase", {"anchor": (0.1, 0.1), "shape": (-0.2, 0.2), "normalized": True}),
    ("slice", {"rel_start": (0.0, 0.0), "rel_shape": (-0.5, 0.5)}),
]


@pytest.mark.parametrize(("op", "args"), _OUT_OF_RANGE)
def test_numbers_without_a_meaning_are_faults(op: str, args: dict[str, Value]) -> None:
    seed = 1 if load_catalog()[op].seeded else None
    nodes = (
        Source("reader", "readers.file", seed=0, kind="folder"),
        Node("decode", "decoders.image", inputs={"data": Port("reader", "jpegs")}),
        Node("edit", op, args, {"data": Port("decode", "output")}, seed=seed),
    )
    graph = Graph("ranges", nodes=nodes, outputs={"images": Port("edit", "output")})
    found = [fault for fault in check_graph(graph) if fault.node == "edit"]
    assert {fault.arg for fault in found} <= args.keys()
    assert found


def test_a_size_of_zero_follows_the_other_extent() -> None:
    nodes = (
        Source("reader", "readers.file", seed=0, kind="folder"),
        Node("decode", "decoders.image", inputs={"data": Port("reader", "jpegs")}),
        Node(
            "edit",
            "resize",
            {"resize_x": 0.0, "resize_y": 64.0},
            {"data": Port("decode", "output")},
        ),
    )
    graph = Graph("ranges", nodes=nodes, outputs={"images": Port("edit", "output")})
    assert not check_graph(graph)


@pytest.mark.parametrize(
    ("op", "arg", "value", "words"),
    [
        ("crop", "crop", (-5, 20), "if one of the two is 0, that side is not cropped"),
        ("resize", "size", (0, 0), "if one of the two is 0, DALI computes that side"),
        ("resize", "resize_shorter", 0, "Use a size above 0, for example 224."),
    ],
)
def test_what_is_no_size_says_where_a_0_is_one(op: str, arg: str, value: Value, words: str) -> None:
    fault = value_fault(load_catalog()[op].args[arg], value)
    assert fault is not None
    assert words in fault[1]
