"""Types of what flows in: the check refuses what DALI refuses, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import CATALOG, chain_graph, script_batches, with_settings
from workbench.catalog import Value
from workbench.graph import Graph, Node, Port, check_graph
from workbench.graph.checks.check_types import NORMALIZES, per_channel_faults
from workbench.graph.fixes import fixes
from workbench.graph.model import Body
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.shapes import infer_types

DECODED = Port("decode", "output")


def constant(node_id: str, dtype: str, *values: float) -> Node:
    """An array of the type."""
    kind: dict[str, Value] = {"fdata": values} if "FLOAT" in dtype else {"idata": values}
    return Node(node_id, "constant", {**kind, "dtype": dtype, "shape": (len(values),)})


def fed_graph(op: str, args: Mapping[str, Value], **sources: Node | Port) -> Graph:
    """Decoded photos and an operator on them, whose first output is an output of the graph."""
    graph = chain_graph()
    made = [source for source in sources.values() if isinstance(source, Node)]
    inputs = {
        name: Port(source.id, "output") if isinstance(source, Node) else source
        for name, source in sources.items()
    }
    spec = CATALOG[op]
    node = Node("it", op, args, inputs, seed=77 if spec.seeded else None)
    graph = replace(
        graph,
        nodes=(*graph.nodes, *made, node),
        outputs={"it_out": Port("it", spec.outputs[0].name)},
    )
    return with_settings(graph, batch_size=2, num_threads=1)


def dali_runs(graph: Graph, photos: Path, folder: Path) -> bool:
    """Whether the exported script runs, where it is exported whatever the check says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ResolvedGraph, "stopping_faults", ())
        try:
            script_batches(graph, photos, 1, folder)
        except (RuntimeError, ValueError):
            return False
    return True


WHOLE, FRACTIONS = (1, 2), (0.1, 0.5)


@pytest.mark.parametrize("shape", ["INT32", "INT64", "FLOAT"])
@pytest.mark.parametrize("anchor", ["UINT32", "INT32", "INT64", "FLOAT"])
@pytest.mark.parametrize("op", ["slice", "decoders.image_slice"])
def test_anchor_and_shape_are_of_one_type(
    op: str, anchor: str, shape: str, photos: Path, tmp_path: Path
) -> None:
    graph = fed_graph(
        op,
        {},
        data=DECODED if op == "slice" else Port("reader", "jpegs"),
        anchor=constant("a", anchor, *(FRACTIONS if "FLOAT" in anchor else WHOLE)),
        shape_input=constant("s", shape, *(FRACTIONS if "FLOAT" in shape else WHOLE)),
    )
    assert (check_graph(graph, CATALOG) == ()) == dali_runs(graph, photos, tmp_path)


def test_an_anchor_and_a_shape_of_two_types_are_told_and_mended(
    photos: Path, tmp_path: Path
) -> None:
    graph = fed_graph(
        "slice",
        {},
        data=DECODED,
        anchor=constant("a", "INT64", *WHOLE),
        shape_input=constant("s", "INT32", *WHOLE),
    )
    (fault,) = check_graph(graph, CATALOG)
    assert str(fault) == (
        "it.shape_input: s.output outputs INT32, but the input 'anchor' gets INT64: slice "
        "requires equal types. Insert a cast to INT64 before it."
    )
    cast = next(fix for fix in fixes(ResolvedGraph(graph, CATALOG), fault) if "cast" in fix.label)
    assert dali_runs(cast.graph, photos, tmp_path)


@pytest.mark.parametrize("op", ["cat", "stack"])
@pytest.mark.parametrize("third", ["INT32", "INT64", "FLOAT"])
@pytest.mark.parametrize("second", ["INT32", "INT64"])
def test_what_is_joined_is_of_one_type(
    op: str, second: str, third: str, photos: Path, tmp_path: Path
) -> None:
    graph = fed_graph(
        op,
        {"axis": 0},
        input_0=constant("a", "INT32", *WHOLE),
        input_1=constant("b", second, *WHOLE),
        input_2=constant("c", third, *WHOLE),
    )
    assert (check_graph(graph, CATALOG) == ()) == dali_runs(graph, photos, tmp_path)


BOX, BOXES = (0.0, 0.0, 1.0, 1.0), {"shape": (1, 4)}


def boxes(dtype: str) -> Node:
    node = constant("b", dtype, *(BOX if "FLOAT" in dtype else (0, 0, 1, 1)))
    return replace(node, args={**node.args, **BOXES})


@pytest.mark.parametrize("dtype", ["INT32", "INT64", "FLOAT"])
@pytest.mark.parametrize(
    ("op", "args", "port"),
    [
        ("bb_flip", {"horizontal": 1}, "data"),
        ("bbox_paste", {"ratio": 1.5}, "data"),
        ("bbox_rotate", {"angle": 5, "input_shape": (9, 9), "bbox_layout": "xyXY"}, "bboxes"),
        ("coord_flip", {"layout": "xyzx"}, "data"),
        ("coord_transform", {"M": 2.0}, "data"),
        ("random_bbox_crop", {"thresholds": (0.0,)}, "boxes"),
    ],
)
def test_boxes_and_points_are_of_the_types_that_dali_takes(
    op: str, args: dict[str, Value], port: str, dtype: str, photos: Path, tmp_path: Path
) -> None:
    graph = fed_graph(op, {} if op == "coord_flip" else args, **{port: boxes(dtype)})
    if op == "coord_flip":
        node = constant("b", dtype, *((0.0, 1.0) if "FLOAT" in dtype else (0, 1)))
        node = replace(node, args={**node.args, "shape": (1, 2)})
        graph = fed_graph(op, {}, data=node)
    runs = dali_runs(graph, photos, tmp_path)
    if op == "random_bbox_crop":  # boxes are clipped before it, which makes floats of them
        assert runs
        runs = dtype == "FLOAT"
    assert (check_graph(graph, CATALOG) == ()) == runs


@pytest.mark.parametrize("dtype", ["UINT8", "INT32", "INT64", "FLOAT16", "FLOAT"])
@pytest.mark.parametrize(
    ("op", "args", "name"),
    [
        ("rotate", {"angle": 5}, "size"),
        ("warp_affine", {"matrix": (1, 0, 0, 0, 1, 0)}, "size"),
        ("experimental.warp_perspective", {"matrix": (1, 0, 0, 0, 1, 0, 0, 0, 1)}, "size"),
        ("erase", {"shape": (5, 5)}, "anchor"),
        ("resize", {}, "size"),
        ("slice", {"rel_shape": (0.1, 0.1)}, "start"),
    ],
)
def test_linked_arguments_are_of_the_types_that_dali_takes(
    op: str, args: dict[str, Value], name: str, dtype: str, photos: Path, tmp_path: Path
) -> None:
    first = CATALOG[op].inputs[0].name
    values = (9.0, 9.0) if "FLOAT" in dtype else (9, 9)
    graph = fed_graph(op, args, **{first: DECODED, name: constant("a", dtype, *values)})
    assert (check_graph(graph, CATALOG) == ()) == dali_runs(graph, photos, tmp_path)


def test_interpolations_are_no_numbers(photos: Path, tmp_path: Path) -> None:
    number = replace(constant("a", "INT32", 1), args={"idata": (1,), "dtype": "INT32", "shape": ()})
    graph = fed_graph("resize", {"size": (9, 9)}, data=DECODED, interp_type=number)
    (fault,) = check_graph(graph, CATALOG)
    assert fault.message.startswith("it accepts interpolations (INTERP_TYPE), but a.output outputs")
    assert not dali_runs(graph, photos, tmp_path)


IDENTITY = {6: (1, 0, 0, 0, 1, 0), 12: (1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)}


def volume(op: str, args: dict[str, Value], deep: bool) -> Graph:
    """An operator on photos, or on volumes of two."""
    graph = chain_graph("resize")
    last = Port("resize", "output")
    pile = Node("pile", "stack", {"axis": 0, "axis_name": "D"}, {"input_0": last, "input_1": last})
    seed = 7 if CATALOG[op].seeded else None
    fed = Port("pile", "output") if deep else last
    node = Node("it", op, args, {"data": fed}, seed=seed)
    graph = replace(
        graph, nodes=(*graph.nodes, *[pile] * deep, node), outputs={"out": Port("it", "output")}
    )
    return with_settings(graph, batch_size=2, num_threads=1)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("warp_affine", {"matrix": IDENTITY[6]}),
        ("warp_affine", {"matrix": IDENTITY[12]}),
        ("warp_affine", {"matrix": IDENTITY[12], "size": (2, 9, 9)}),
        ("rotate", {"angle": 5, "size": 9}),
        ("rotate", {"angle": 5, "size": (9, 9)}),
        ("rotate", {"angle": 5, "size": (2, 9, 9), "axis": (1, 0, 0)}),
        ("resize", {"size": 9}),
        ("resize", {"size": (9,)}),
        ("resize", {"size": (9, 9)}),
        ("resize", {"size": (2, 9, 9)}),
        ("resize_crop_mirror", {"size": (2, 9, 9)}),
        ("random_resized_crop", {"size": (9,)}),
        ("gaussian_blur", {"sigma": (1, 2)}),
        ("gaussian_blur", {"window_size": (3, 3, 3)}),
        ("laplacian", {"window_size": (3, 5), "dtype": "FLOAT"}),
        ("laplacian", {"smoothing_size": (1, 1, 3), "dtype": "FLOAT"}),
        ("laplacian", {"scale": (1, 1, 1), "dtype": "FLOAT"}),
    ],
)
def test_lists_have_an_element_for_each_axis(
    op: str, args: dict[str, Value], deep: bool, photos: Path, tmp_path: Path
) -> None:
    graph = volume(op, args, deep)
    assert (check_graph(graph, CATALOG) == ()) == dali_runs(graph, photos, tmp_path)


def test_a_matrix_for_pictures_where_volumes_flow_in() -> None:
    graph = volume("warp_affine", {"matrix": IDENTITY[6]}, deep=True)
    (fault,) = check_graph(graph, CATALOG)
    assert str(fault) == ("it.matrix: it has 6 elements, but its input is DHWC. Use exactly 12.")
    assert all(
        check_graph(fix.graph, CATALOG) == () for fix in fixes(ResolvedGraph(graph, CATALOG), fault)
    )


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("random_resized_crop", {"size": (9, 9), "random_area": (0.5, 2)}),
        ("crop", {"crop": (0, 20)}),
        ("normalize", {"ddof": -1}),
        ("erase", {"anchor": (1, 1), "shape": (5, 5), "fill_value": 1e6}),
        ("laplacian", {"window_size": 31}),
        ("laplacian", {"window_size": 33}),
        ("paste", {"ratio": 0.5}),
        ("gaussian_blur", {"sigma": -1}),
        ("noise.salt_and_pepper", {"prob": 1.5}),
        ("crop", {"crop": (9, 9), "crop_pos_x": 1.5}),
    ],
)
def test_values_are_refused_where_dali_refuses_them(
    op: str, args: dict[str, Value], photos: Path, tmp_path: Path
) -> None:
    graph = fed_graph(op, {"fill_value": 0, **args} if op == "paste" else args, data=DECODED)
    assert (check_graph(graph, CATALOG) == ()) == dali_runs(graph, photos, tmp_path)


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("random_resized_crop", {"size": (9, 9), "random_area": (-1, 1)}),
        ("random_resized_crop", {"size": (9, 9), "random_aspect_ratio": (-1, 1)}),
        ("random_resized_crop", {"size": (9, 9), "num_attempts": 0}),
        ("crop", {"crop_h": -1, "crop_w": 20}),
        ("color_twist", {"brightness": -1}),
        ("color_twist", {"saturation": -1}),
        ("saturation", {"saturation": -1}),
        ("noise.shot", {"factor": -1}),
    ],
)
def test_values_without_a_meaning_are_refused_though_dali_runs_them(
    op: str, args: dict[str, Value], photos: Path, tmp_path: Path
) -> None:
    graph = fed_graph(op, args, data=DECODED)
    assert check_graph(graph, CATALOG)
    assert dali_runs(graph, photos, tmp_path)


@pytest.mark.parametrize(
    "args",
    [
        {"mean": (1.0, 2.0)},
        {"mean": (1.0,), "std": (1.0, 2.0, 3.0, 4.0)},
        {"mean": (1.0, 2.0, 3.0), "std": (4.0,)},
        {"mean": (1.0, 2.0), "pad_output": True},
    ],
)
def test_numbers_for_channels_are_refused_where_dali_refuses_them(
    args: dict[str, Value], photos: Path, tmp_path: Path
) -> None:
    graph = fed_graph(NORMALIZES, args, data=DECODED)
    flows = infer_types(graph, CATALOG)
    faults = list(per_channel_faults(graph.node("it"), CATALOG[NORMALIZES], flows))
    assert (faults == []) == dali_runs(graph, photos, tmp_path)
    assert {(fault.arg, "outputs 3 channels" in fault.message) for fault in faults} <= {
        ("mean", True),
        ("std", True),
    }


@pytest.mark.parametrize("op", ["random.coin_flip", "random.uniform"])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_condition_is_one_number_of_any_type(
    op: str, shape: tuple[int, ...], photos: Path, tmp_path: Path
) -> None:
    """What makes a fault here, and no other, DALI refuses."""
    graph = chain_graph()
    drawn = Node("drawn", op, {"shape": shape} if shape else {}, seed=5)
    bodies = {
        "then": Body(
            (Node("flip", "flip", {}, {"data": Port("if_.then", "images")}),),
            {"images": Port("flip", "output")},
            ("images",),
        ),
        "else": Body((), {"images": Port("if_.else", "images")}, ("images",)),
    }
    inputs = {"condition": Port("drawn", "output"), "images": DECODED}
    graph = replace(
        graph,
        nodes=(*graph.nodes, drawn, Node("if_", "if", {}, inputs, bodies=bodies)),
        outputs={"images": Port("if_", "images")},
    )
    assert (check_graph(graph, CATALOG) == ()) == dali_runs(graph, photos, tmp_path)
