"""Nodes taken out, renamed, exchanged, and copied as fragments; what generators feed."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.block_graphs import branching_graph
from tests.helpers import CATALOG, CHAINS, GRAPHS, NO_NAMES, chain_graph, with_nodes
from tests.sources.written import write_frames, write_volumes
from workbench.catalog import ArgSpec, Value, load_catalog
from workbench.engine import Engine
from workbench.errors import DataError, GraphEditError, GraphFormatError
from workbench.graph import Graph, Node, Port, check_graph, load_recipe
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.edit import (
    insert_node,
    is_movable,
    new_node,
    randomise_arg,
    rename_node,
    rename_output,
    set_arg,
)
from workbench.graph.edits.fragment import copy_fragment, duplicate, paste_fragment
from workbench.graph.edits.generators import (
    element_of,
    generator_args,
    generator_refusal,
    generators_for,
)
from workbench.graph.execution.active import active_graph, set_muted
from workbench.graph.execution.dataset_parameters import swap_source, with_datasets
from workbench.preview import PreviewRequest, preview_batch
from workbench.sources import Dataset, load_source, open_datasets, source_kinds

JITTER = load_recipe("rotate-jitter")


def test_several_nodes_go_and_the_chain_stays_whole() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["resize", "color"])
    assert graph.node("rotate").inputs["data"] == Port("decode", "output")
    assert graph.node("flip").inputs["data"] == Port("rotate", "output")
    assert [node.id for node in graph.nodes] == [
        "reader", "decode", "angle", "rotate", "mirror", "flip",
    ]  # fmt: skip
    assert check_graph(graph, CATALOG) == ()


def test_the_last_node_leaves_the_output_to_the_one_before() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["flip"])
    assert graph.outputs["images"] == Port("color", "output")


def test_kinds_that_do_not_agree_are_not_joined() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["decode"])
    assert "data" not in graph.node("resize").inputs
    assert [str(fault) for fault in check_graph(graph, CATALOG)] == [
        "resize.data: it is not connected. Connect a node to it."
    ]


def test_an_edge_that_was_at_fault_already_is_joined_again() -> None:
    second = replace(JITTER.node("decode"), id="again", inputs={"data": Port("decode", "output")})
    faulty = with_nodes(JITTER, second)
    assert [fault.code for fault in check_graph(faulty, CATALOG)] == ["kind"]
    longer, between = insert_node(faulty, CATALOG, "flip", "decode")
    assert longer.node("again").inputs["data"] == Port(between, "output")
    assert remove_nodes(longer, CATALOG, [between]) == faulty


def test_an_output_that_nothing_can_give_goes_too() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["reader"])
    assert list(graph.outputs) == ["images"]


def test_an_argument_whose_generator_goes_gets_its_start_value() -> None:
    graph = remove_nodes(JITTER, CATALOG, ["angle"])
    assert "angle" not in graph.node("rotate").inputs
    start = CATALOG["rotate"].args["angle"].start
    assert graph.node("rotate").args["angle"] == start


def test_a_shared_generator_stays() -> None:
    second = replace(JITTER.node("color"), inputs={
        **JITTER.node("color").inputs, "hue": Port("angle", "output"),
    })  # fmt: skip
    graph = remove_nodes(JITTER.replace_node(second), CATALOG, ["rotate"])
    assert graph.has("angle")


def test_all_nodes_leave_an_empty_graph() -> None:
    graph = remove_nodes(JITTER, CATALOG, [node.id for node in JITTER.nodes])
    assert (graph.nodes, graph.outputs) == ((), {})


def test_a_node_that_is_not_there_is_named() -> None:
    with pytest.raises(GraphEditError, match="There is no node 'nowhere'"):
        remove_nodes(JITTER, CATALOG, ["nowhere"])


@given(CHAINS, st.data())
def test_a_chain_without_some_of_its_nodes_runs(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes if is_movable(node, CATALOG)]
    gone = data.draw(st.lists(st.sampled_from(ids), unique=True)) if ids else []
    shorter = remove_nodes(graph, CATALOG, gone)
    before = {fault.message for fault in check_graph(graph, CATALOG)}
    wiring = {f for f in check_graph(shorter, CATALOG) if "feeds" in f.message}
    assert not wiring or before


@given(GRAPHS, st.data())
def test_nothing_dangles(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes]
    shorter = remove_nodes(graph, CATALOG, data.draw(st.lists(st.sampled_from(ids), unique=True)))
    left = {node.id for node in shorter.nodes}
    assert {edge.source.node for edge in shorter.edges} <= left
    assert {port.node for port in shorter.outputs.values()} <= left


def test_a_draw_reaches_its_argument_again() -> None:
    graph = randomise_arg(chain_graph("rotate"), CATALOG, "rotate", "angle")
    longer, node = insert_node(graph, CATALOG, "math.mul", "angle")
    assert longer.node("rotate").inputs["angle"] == Port(node, "output")
    assert remove_nodes(longer, CATALOG, [node]) == graph


def test_a_block_leaves_each_output_what_passed_through_it() -> None:
    """The second of two images was given the first one's place."""
    graph = chain_graph("resize")
    image = Port("resize", "output")
    flip = new_node(graph, CATALOG, "flip")
    blur = new_node(graph, CATALOG, "gaussian_blur")
    ends = {"one": Port(flip.id, "output"), "two": Port(blur.id, "output")}
    added = [replace(node, inputs={"data": image}) for node in (flip, blur)]
    plain = replace(graph, nodes=(*graph.nodes, *added), outputs=ends)
    graph = plain
    for name, port in ends.items():
        turned = replace(new_node(graph, CATALOG, "rotate"), inputs={"data": port})
        outputs = {**graph.outputs, name: Port(turned.id, "output")}
        graph = replace(graph, nodes=(*graph.nodes, turned), outputs=outputs)
    for op in ("if", "repeat"):
        wrapped, block = wrap_in_block(graph, CATALOG, ["rotate", "rotate_2"], op)
        assert remove_nodes(wrapped, CATALOG, [block]) == plain, op
        assert active_graph(set_muted(wrapped, [block], True), CATALOG) == plain, op


def test_what_decides_in_a_block_does_not_take_its_place() -> None:
    graph = randomise_arg(chain_graph("rotate"), CATALOG, "rotate", "angle")
    drawn = Port("angle", "output")
    steeper = replace(new_node(graph, CATALOG, "math.mul"), inputs={"data": drawn})
    rotate = graph.node("rotate")
    rotate = replace(rotate, inputs={**rotate.inputs, "angle": Port("mul", "output")})
    outputs = {**graph.outputs, "angles": drawn}
    graph = replace(graph.replace_node(rotate), outputs=outputs)
    graph = with_nodes(graph, steeper)
    wrapped, block = wrap_in_block(graph, CATALOG, ["mul"])
    assert wrapped.node("rotate").inputs["angle"].node == block
    assert remove_nodes(wrapped, CATALOG, [block]).node("rotate").inputs["angle"] == drawn


# Other names for nodes and outputs.


@given(GRAPHS, st.data())
def test_a_renamed_node_is_joined_as_before(graph: Graph, data: st.DataObject) -> None:
    old = data.draw(st.sampled_from([node.id for node in graph.nodes]))
    renamed = rename_node(graph, old, "brand_new")
    assert not renamed.has(old)
    assert len(check_graph(renamed, CATALOG)) == len(check_graph(graph, CATALOG))
    assert rename_node(renamed, "brand_new", old) == graph


def test_an_output_keeps_its_place() -> None:
    graph = rename_output(JITTER, "images", "x")
    assert list(graph.outputs.items()) == [
        ("x", Port("flip", "output")),
        ("labels", Port("reader", "labels")),
    ]
    with pytest.raises(GraphEditError, match="no output 'masks'"):
        rename_output(JITTER, "masks", "x")


@pytest.mark.parametrize("name", [*NO_NAMES, "for", "", "flip", "labels"])
def test_names_that_are_taken_or_no_names_are_refused(name: str) -> None:
    for rename in (rename_node, rename_output):
        with pytest.raises(GraphEditError):
            rename(JITTER, "rotate" if rename is rename_node else "images", name)


KINDS = [kind for kind in source_kinds() if "labels" in load_source(kind).outputs]


def read_as(graph: Graph, kind: str) -> Graph:
    return swap_source(graph, graph.sources[0], kind)


@pytest.mark.parametrize("kinds", [*pairwise([*KINDS, KINDS[0]])], ids="-".join)
def test_every_kind_takes_the_place_of_every_other(kinds: tuple[str, str]) -> None:
    catalog, graph = load_catalog(), load_recipe("rotate-jitter")
    for kind in (*kinds, "folder"):
        graph = read_as(graph, kind)
        assert not check_graph(graph, catalog)
        decoders = [node for node in graph.nodes if node.op.startswith("decoders.")]
        assert len(decoders) == (0 if load_source(kind).pixels else 1)
    assert graph.nodes[1].id == "decode"


def test_the_order_of_axes_that_is_given_is_that_of_what_is_read() -> None:
    graph = load_recipe("imagenet-eval")
    (given,) = (node for node in graph.nodes if "output_layout" in node.args)
    frames = read_as(graph, "video_frames")
    assert frames.node(given.id).args["output_layout"] == "FCHW"
    assert not check_graph(frames, load_catalog())
    assert read_as(read_as(frames, "video"), "folder").node(given.id) == given
    assert read_as(graph, "numpy_files").node(given.id).args["output_layout"] == "CHW"


def test_volumes_have_the_order_of_sequences(tmp_path: Path, engine: Engine) -> None:
    graph = set_arg(load_recipe("imagenet-eval"), load_catalog(), "normalize", "mean", [128.0])
    graph = set_arg(graph, load_catalog(), "normalize", "std", [64.0])
    data = open_datasets(write_volumes(tmp_path / "volumes"))
    made = with_datasets(graph, data)
    assert made.node("normalize").args["output_layout"] == "FCHW"
    (shown,) = preview_batch(engine, PreviewRequest(graph, data, tiles=1)).tiles
    assert shown.shape.startswith("6×2×224×224")
    back = read_as(made, "folder")
    assert back.node("normalize") == graph.node("normalize")


def test_a_source_of_the_same_kind_changes_nothing() -> None:
    graph = load_recipe("rotate-jitter")
    assert read_as(graph, "folder") is graph


def test_pixels_that_are_given_out_stay_given_out(tmp_path: Path) -> None:
    graph = load_recipe("rotate-jitter")
    graph = with_nodes(graph, original=Port("decode", "output"))
    assert read_as(graph, "numpy_files").outputs["original"] == Port("reader", "images")
    videos = read_as(read_as(graph, "numpy_files"), "video_frames")
    assert videos.outputs["original"] == Port("reader", "frames")
    assert read_as(videos, "folder").outputs == graph.outputs


def test_a_decoder_that_does_more_stays_and_says_what_it_lacks(tmp_path: Path) -> None:
    graph = load_recipe("rotate-jitter")
    decode = replace(graph.node("decode"), op="decoders.image_random_crop")
    graph = graph.replace_node(decode)
    words = r"uses 'jpegs' of .* NumPy files .* has only 'images' and"
    with pytest.raises(DataError, match=words):
        with_datasets(graph, {"data": Dataset("numpy_files", str(write_volumes(tmp_path)))})


def test_what_a_sequence_must_be_told_comes_and_goes(tmp_path: Path) -> None:
    graph = load_recipe("rotate-jitter")
    data = {"data": Dataset("video_frames", str(write_frames(tmp_path / "frames")))}
    videos = with_datasets(graph, data)
    assert videos.sources[0].args == {
        "sequence_length": 8,
        "initial_fill": 64,  # a thousand sequences of large frames would fill the memory
        "random_shuffle": True,
    }
    chosen = replace(videos.sources[0], args={"sequence_length": 3, "initial_fill": 9})
    assert read_as(videos.replace_node(chosen), "video").sources[0].args == chosen.args
    assert read_as(videos, "folder").sources[0].args == {"random_shuffle": True}


def test_generators_that_feed_only_the_copied_nodes_come_along() -> None:
    nodes = json.loads(copy_fragment(JITTER, ["rotate"]))["nodes"]
    assert [node["id"] for node in nodes] == ["angle", "rotate"]
    assert nodes[1]["inputs"] == {"angle": "angle.output"}


def test_a_copy_has_ids_and_draws_of_its_own() -> None:
    graph, new = duplicate(JITTER, CATALOG, ["rotate", "color"])
    assert len(set(new)) == len(new) == 7
    assert graph.node("rotate_2").inputs["angle"].node == "angle_2"
    seeds = [node.seed for node in graph.nodes if node.seed is not None]
    assert len(set(seeds)) == len(seeds)
    assert [graph.node(n.id) for n in JITTER.nodes if n.id != "flip"] == [
        node for node in JITTER.nodes if node.id != "flip"
    ]


def test_copies_stand_behind_the_originals() -> None:
    graph, _ = duplicate(JITTER, CATALOG, ["rotate", "color"])
    fed = {node.id: node.inputs["data"].node for node in graph.nodes if "data" in node.inputs}
    assert (fed["rotate_2"], fed["color_2"], fed["flip"]) == ("color", "rotate_2", "color_2")
    assert check_graph(graph, CATALOG) == ()
    graph, _ = duplicate(JITTER, CATALOG, ["flip"])
    assert graph.outputs["images"] == Port("flip_2", "output")


def test_copies_of_what_is_no_chain_stand_beside_the_originals() -> None:
    graph, new = duplicate(JITTER, CATALOG, ["reader", "decode"])
    assert new == ("reader_2", "decode_2")
    assert graph.outputs == JITTER.outputs
    graph, _ = duplicate(JITTER, CATALOG, ["decode"])  # encoded files in, images out
    assert graph.node("decode_2").inputs == JITTER.node("decode").inputs
    assert graph.node("resize") == JITTER.node("resize")


def test_an_operator_that_this_dali_lacks_comes_along_as_it_is() -> None:
    odd = Node("odd", "from_the_future", {"strength": (1, "two")})
    graph = with_nodes(JITTER, odd)
    pasted, (new_id,) = paste_fragment(JITTER, copy_fragment(graph, ["odd"]))
    assert (pasted.node(new_id).op, pasted.node(new_id).args) == (odd.op, odd.args)


@pytest.mark.parametrize("text", ["", "hello", "[1]", '{"format": "x"}', "\ud800", "9" * 10_000])
def test_text_that_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(GraphFormatError):
        paste_fragment(JITTER, text)


def test_nothing_to_paste_is_said() -> None:
    with pytest.raises(GraphFormatError, match="contains no nodes"):
        paste_fragment(JITTER, copy_fragment(JITTER, []))


@given(GRAPHS, st.data())
def test_any_part_can_be_pasted_into_any_graph(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes]
    chosen = data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
    pasted, new = paste_fragment(JITTER, copy_fragment(graph, chosen))
    all_ids = [node.id for node in pasted.nodes]
    assert len(set(all_ids)) == len(all_ids) == len(JITTER.nodes) + len(new)
    assert {port.node for i in new for port in pasted.node(i).inputs.values()} <= set(new)


def test_a_reader_is_not_pasted_into_a_block() -> None:
    """What it became there was written into a file that did not open again."""
    graph = branching_graph()
    text = copy_fragment(graph, ["reader", "decode"])
    with pytest.raises(GraphEditError, match=r"'reader' is a reader, .* Paste it next to 'outer'"):
        paste_fragment(graph, text, "outer.then")


# What a generator starts with, and what it cannot feed.

ANGLE = CATALOG["rotate"].args["angle"]
POSITION = CATALOG["crop"].args["crop_pos_x"]
FLIP = CATALOG["flip"].args["horizontal"]


def test_the_kind_of_an_argument_says_what_can_draw_it() -> None:
    assert generators_for(ANGLE) == ("random.uniform", "random.normal", "random.beta")
    assert "random.beta" not in generators_for(FLIP)
    assert generators_for(ArgSpec("a", "bool", tensor=True)) == ("random.coin_flip",)
    assert generators_for(ArgSpec("a", "int", tensor=True, minimum=1)) == (
        "random.uniform",
        "random.normal",
    )
    for arg in (
        CATALOG["rotate"].args["keep_size"],  # no tensor
        CATALOG["resize"].args["interp_type"],  # names
        CATALOG["random.uniform"].args["range"],  # its ends would cross
        CATALOG["warp_affine"].args["matrix"],  # transforms.* make it
    ):
        assert generators_for(arg) == ()


@pytest.mark.parametrize(
    ("op", "arg", "value", "before", "expected"),
    [
        ("random.uniform", ANGLE, None, {}, {"range": (-10, 10)}),
        ("random.uniform", ANGLE, 30, {}, {"range": (20, 40)}),
        ("random.uniform", ANGLE, 175, {}, {"range": (170, 180)}),
        ("random.uniform", ANGLE, 180, {}, {"range": (170, 180)}),
        ("random.uniform", ANGLE, 200, {}, {"range": (190, 210)}),
        ("random.uniform", POSITION, 0.2, {}, {"range": (0, 1)}),
        ("random.normal", ANGLE, 15, {}, {"mean": 15, "stddev": 5}),
        ("random.normal", ANGLE, 15, {"range": (2, 4)}, {"mean": 3, "stddev": 0.5}),
        ("random.uniform", ANGLE, 15, {"mean": 3, "stddev": 0.5}, {"range": (2, 4)}),
        ("random.uniform", ANGLE, 15, {"values": (9, 1, 5)}, {"range": (1, 9)}),
        ("random.uniform", ANGLE, 15, {"values": (9,)}, {"range": (5, 25)}),
        ("random.beta", ANGLE, 15, {"range": (2, 4)}, {}),
        ("random.coin_flip", FLIP, 1, {}, {}),
        ("random.uniform", FLIP, 1, {}, {"range": (0, 1), "dtype": "INT32"}),
        ("random.uniform", ANGLE, 1, {"shape": (3,)}, {"range": (-9, 11), "shape": (3,)}),
        ("random.uniform", ArgSpec("a", "float"), None, {}, {"range": (0, 1)}),
        ("random.uniform", ArgSpec("a", "int", minimum=1), 1, {}, {"range": (1, 2)}),
        ("random.uniform", ArgSpec("a", "float", low=0, high=8), 8, {}, {"range": (7, 8)}),
    ],
)
def test_a_generator_starts_with_what_suits(
    op: str, arg: ArgSpec, value: Value, before: dict[str, Value], expected: dict[str, Value]
) -> None:
    found = generator_args(op, arg, value, before)
    assert {key: found[key] for key in expected} == expected
    assert found.keys() - expected.keys() <= {"dtype"}


def test_as_many_numbers_are_drawn_as_the_argument_has() -> None:
    size = CATALOG["rotate"].args["size"]
    assert generator_args("random.uniform", size, (64, 64), {})["shape"] == (2,)
    assert generator_args("random.uniform", size, None, {})["shape"] == (2,)
    assert "shape" not in generator_args("random.uniform", ANGLE, 15, {})


def test_what_a_generator_cannot_feed() -> None:
    floats = Node("draw", "random.uniform", {"range": (0, 1)})
    whole = Node("draw", "random.uniform", {"dtype": "INT32"})
    coin = Node("coin", "random.coin_flip")
    assert (element_of(floats), element_of(whole), element_of(coin)) == ("FLOAT", "INT32", "INT32")
    assert generator_refusal(floats, ANGLE) is None
    assert generator_refusal(whole, FLIP) is None
    assert generator_refusal(coin, FLIP) is None
    assert generator_refusal(whole, ANGLE) == "'angle' accepts FLOAT, but 'draw' outputs INT32"
    assert "random.uniform" in (generator_refusal(coin, ANGLE) or "")
    matrix = CATALOG["warp_affine"].args["matrix"]
    assert generator_refusal(floats, matrix) == "'matrix' accepts no random numbers"
