"""Fixes: in every offered graph the fault is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import (
    CATALOG,
    CHAINS,
    HOSTILE,
    VALUES,
    chain_graph,
    require_parity,
    with_node,
    with_nodes,
    with_settings,
)
from tests.placed import USABLE, placed
from tests.thorough import examples
from workbench.catalog import Catalog, OpSpec, Value
from workbench.graph import Fault, Graph, Node, Port, check_graph, load_recipe, load_recipes
from workbench.graph.edits.compose import place_node, remove_nodes
from workbench.graph.edits.edit import insert_node, new_node, set_arg, set_setting
from workbench.graph.fixes import Fix, fixes
from workbench.graph.fixes.unfed_inputs import (
    feed_from_new,
    feed_input,
    feed_node,
    fitting_ports,
    unfed,
)
from workbench.graph.model.node_order import topological
from workbench.graph.model.values import value_fault
from workbench.graph.resolved import ResolvedGraph

OPS = sorted(CATALOG)
RECIPES = list(load_recipes().values())

Break = Callable[[Graph, int, Value], Graph]
BREAKS: list[Break] = []


def breaks(one: Break) -> Break:
    BREAKS.append(one)
    return one


def changed(graph: Graph, pick: int, **fields: Any) -> Graph:
    """With other fields in one node, chosen by its place: ids need not be unique."""
    at = pick % len(graph.nodes)
    nodes = list(graph.nodes)
    nodes[at] = replace(nodes[at], **fields)
    return replace(graph, nodes=tuple(nodes))


def picked(graph: Graph, pick: int) -> Node:
    return graph.nodes[pick % len(graph.nodes)]


@breaks
def other_id(graph: Graph, pick: int, value: Value) -> Graph:
    return changed(graph, pick, id=graph.nodes[pick // 7 % len(graph.nodes)].id)


@breaks
def hostile_id(graph: Graph, pick: int, value: Value) -> Graph:
    return changed(graph, pick, id=HOSTILE[pick % len(HOSTILE)])


@breaks
def hostile_op(graph: Graph, pick: int, value: Value) -> Graph:
    return changed(graph, pick, op=[*HOSTILE, "rotat", "colour_twist"][pick % (len(HOSTILE) + 2)])


@breaks
def other_op(graph: Graph, pick: int, value: Value) -> Graph:
    return changed(graph, pick, op=OPS[pick % len(OPS)])


@breaks
def any_value(graph: Graph, pick: int, value: Value) -> Graph:
    node = picked(graph, pick)
    names = sorted(CATALOG[node.op].args) if node.op in CATALOG else []
    name = [*names, "angel", HOSTILE[0]][pick // 11 % (len(names) + 2)]
    return changed(graph, pick, args={**node.args, name: value})


@breaks
def no_value(graph: Graph, pick: int, value: Value) -> Graph:
    return changed(graph, pick, args={})


@breaks
def no_input(graph: Graph, pick: int, value: Value) -> Graph:
    return changed(graph, pick, inputs={})


@breaks
def any_input(graph: Graph, pick: int, value: Value) -> Graph:
    node = picked(graph, pick)
    spec = CATALOG.find(node.op)
    names = [p.name for p in spec.inputs] + sorted(spec.args) if spec else ["data"]
    name = [*names, "picture"][pick // 5 % (len(names) + 1)]
    source = graph.nodes[pick // 3 % len(graph.nodes)]
    known = CATALOG.find(source.op)
    output = [*(o.name for o in known.outputs if known), "pixels"][0] if known else "output"
    port = Port("gone", "output") if pick % 6 == 0 else Port(source.id, output)
    return changed(graph, pick, inputs={**node.inputs, name: port})


@breaks
def any_seed(graph: Graph, pick: int, value: Value) -> Graph:
    return changed(graph, pick, seed=[None, -1, 3, 2**40][pick % 4])


@breaks
def any_device(graph: Graph, pick: int, value: Value) -> Graph:
    return changed(graph, pick, device=["cpu", "gpu", "mixed"][pick % 3])


@breaks
def any_settings(graph: Graph, pick: int, value: Value) -> Graph:
    names = ["batch_size", "num_threads", "prefetch_queue_depth", "seed"]
    made = with_settings(graph, **{names[pick % 4]: [-5, 0, 2**40][pick // 4 % 3]})
    return with_settings(made, device=["cpu", "mixed"][pick // 12 % 2])


@breaks
def any_outputs(graph: Graph, pick: int, value: Value) -> Graph:
    port = Port(picked(graph, pick).id, ["output", "pixels"][pick % 2])
    outputs: list[dict[str, Port]] = [
        {},
        {HOSTILE[pick % len(HOSTILE)]: port},
        {**graph.outputs, "more": Port("gone", "output")},
        {**graph.outputs, "more": port},
    ]
    return replace(graph, outputs=outputs[pick // 2 % 4])


@breaks
def one_less(graph: Graph, pick: int, value: Value) -> Graph:
    at = pick % len(graph.nodes)
    rest = (*graph.nodes[:at], *graph.nodes[at + 1 :])
    return replace(graph, nodes=rest) if rest else graph


@breaks
def one_more(graph: Graph, pick: int, value: Value) -> Graph:
    node = new_node(graph, CATALOG, OPS[pick % len(OPS)])
    return with_nodes(graph, node)


@breaks
def id_of_any_node(graph: Graph, pick: int, value: Value) -> Graph:
    """Of a node in a block too, or of the block around it."""
    ids = [node.id for node in graph.walk()]
    return changed(graph, pick, id=ids[pick // 7 % len(ids)])


def broken(base: Graph, made: Sequence[tuple[Break, int, Value]]) -> Graph:
    for one, pick, value in made:
        base = one(base, pick, value)
    return base


BROKEN = st.builds(
    broken,
    st.one_of(st.sampled_from(RECIPES), CHAINS),
    st.lists(
        st.tuples(st.sampled_from(BREAKS), st.integers(0, 10_000), VALUES), min_size=1, max_size=4
    ),
)


@examples(30, thorough=2000)
@given(BROKEN)
def test_every_fault_has_a_remedy_and_every_remedy_works(graph: Graph) -> None:
    before = deepcopy(graph)
    for fault in check_graph(graph, CATALOG):
        assert fault.code
        assert not fault.message.endswith(".")
        assert fault.remedy[-1] in ".?"
        assert not fault.remedy.endswith("..")
        offered = fixes(ResolvedGraph(graph, CATALOG), fault)
        assert offered, (fault, fault.code)
        assert len({fix.label for fix in offered}) == len(offered)
        for fix in offered:
            assert fault not in check_graph(fix.graph, CATALOG), fix.label
            assert 0 < len(fix.label) <= 120
    assert graph == before


@examples(15, thorough=1200)
@given(BROKEN)
def test_the_first_remedies_one_after_another_lead_to_a_sound_graph(graph: Graph) -> None:
    for _ in range(60):
        faults = check_graph(graph, CATALOG)
        if not faults:
            return
        graph = fixes(ResolvedGraph(graph, CATALOG), faults[0])[0].graph
    pytest.fail("\n".join(map(str, check_graph(graph, CATALOG))))


def labels(graph: Graph, code: str) -> dict[str, Graph]:
    (fault,) = [fault for fault in check_graph(graph, CATALOG) if fault.code == code]
    return {fix.label: fix.graph for fix in fixes(ResolvedGraph(graph, CATALOG), fault)}


DECODED = Port("decode", "output")


def test_an_operator_of_the_cpu_behind_the_gpu() -> None:
    graph = with_node(chain_graph("resize", "rotate"), "rotate", device="gpu")
    graph, node = place_node(graph, CATALOG, "segmentation.random_mask_pixel", DECODED)
    graph = with_node(graph, node, inputs={"data": Port("rotate", "output")})
    offered = labels(graph, "cpu_after_gpu")
    assert offered["Copy to the CPU first"].node(node).device == "cpu"
    assert f"Remove {node}" in offered
    mixed = set_setting(with_node(graph, "rotate", device=None), device="mixed")
    offered = labels(mixed, "cpu_after_gpu")
    assert offered["Decode on the CPU"].settings.device == "cpu"


def test_an_operator_moves_to_the_last_place_on_the_cpu() -> None:
    graph = chain_graph("resize", "copy", "rotate", "flip")
    graph = with_node(graph, "rotate", device="gpu")
    cpu_only = replace(CATALOG["copy"], name="copy", devices=("cpu",))
    catalog = Catalog({**CATALOG, "copy": cpu_only}, CATALOG.dali_version)
    graph = with_node(graph, "copy", inputs={"data": Port("flip", "output")})
    graph = with_node(graph, "rotate", inputs={"data": Port("resize", "output")})
    graph = replace(graph, outputs={"images": Port("copy", "output")})
    (fault,) = check_graph(graph, catalog)
    offered = {fix.label: fix.graph for fix in fixes(ResolvedGraph(graph, catalog), fault)}
    moved = offered["Move copy before rotate"]
    assert [n.id for n in topological(moved)[0]] == ["reader", "decode", "resize", "copy", "rotate",
                                                     "flip"]  # fmt: skip
    assert moved.outputs == {"images": Port("flip", "output")}
    assert check_graph(moved, catalog) == ()


def test_an_operator_of_the_gpu_alone() -> None:
    offered = labels(chain_graph("resize", "jitter", "flip"), "gpu_only")
    assert offered["Decode on the GPU (mixed)"].settings.device == "mixed"
    assert offered["Copy to the GPU first"].node("jitter").device == "gpu"
    assert not offered["Remove jitter"].has("jitter")
    assert all(check_graph(graph, CATALOG) == () for graph in offered.values())


def test_an_argument_from_the_gpu() -> None:
    graph = with_node(load_recipe("rotate-jitter"), "angle", device="gpu")
    offered = labels(graph, "arg_on_gpu")
    copied = offered["Copy angle to the CPU first"]
    assert copied.node("rotate").inputs["angle"] == Port("angle_cpu", "output")
    assert (copied.node("angle_cpu").op, copied.node("angle_cpu").device) == ("copy", "cpu")
    assert offered["Run angle on the CPU"].node("angle").device == "cpu"
    assert all(check_graph(graph, CATALOG) == () for graph in offered.values())


@pytest.mark.parametrize(
    ("op", "arg", "value", "label", "mended"),
    [
        ("paste", "fill_value", (0, 256, 0), "Set it to 0, 255, 0", (0, 255, 0)),
        ("clahe", "tiles_x", 0, "Set it to 1", 1),
        ("rotate", "interp_type", "INTERP_LINAER", "Set it to INTERP_LINEAR", "INTERP_LINEAR"),
        ("rotate", "angle", "12.5", "Set it to 12.5", 12.5),
        ("rotate", "keep_size", 0, "Set it to False", False),
        ("jpeg_compression_distortion", "quality", 50.4, "Set it to 50", 50),
        ("rotate", "angle", "ten", "Reset to 15", 15),
        ("random_resized_crop", "random_area", (0.9, 0.1), "Set it to 0.1, 0.9", (0.1, 0.9)),
        ("warp_affine", "matrix", (1.0, 0.0, 0.0, 0.0, 1.0), None, None),
    ],
)
def test_values(op: str, arg: str, value: Value, label: str | None, mended: Value) -> None:
    graph = set_arg(chain_graph("resize", op), CATALOG, op, arg, value)
    offered = labels(graph, "value")
    if label is None:
        assert len(next(iter(offered.values())).node(op).args[arg]) == 6  # type: ignore[arg-type]
    else:
        assert offered[label].node(op).args[arg] == mended


@pytest.mark.parametrize(
    ("node", "found", "fault", "offered"),
    [
        ("brightness", ("abc", 1.4), "brightness.range: 'abc' is not a", {"Reset to 0.7, 1.3"}),
        ("angle", ("abc", 10), "angle.range: 'abc' is not a number.", {"Reset to -10, 10"}),
        (
            "brightness",
            (-2, 1.4),
            "color.brightness: random values from -2 to 1.4 are out of range. Use a number, 0 or",
            {"Limit them to 0, 1.4", "Limit them to 0.7, 1.3"},
        ),
        ("brightness", (-3, -2), "color.brightness: random values", {"Limit them to 0.7, 1.3"}),
    ],
)
def test_random_ranges(node: str, found: Value, fault: str, offered: set[str]) -> None:
    """A range stays within the limits of the argument that it feeds."""
    graph = set_arg(load_recipe("rotate-jitter"), CATALOG, node, "range", found)
    assert str(check_graph(graph, CATALOG)[0]).startswith(fault)
    mended = labels(graph, "value")
    assert mended.keys() == offered
    assert all(check_graph(each, CATALOG) == () for each in mended.values())


def test_random_values_of_a_list() -> None:
    graph = set_arg(load_recipe("rotate-jitter"), CATALOG, "brightness", "values", (-1.0, 0.5))
    mended = labels(graph, "value")["Limit them to 0, 0.5"]
    assert mended.node("brightness").args["values"] == (0, 0.5)


def test_layouts_types_and_channels() -> None:
    graph = chain_graph("crop_mirror_normalize", "hsv")
    offered = labels(graph, "layout")
    assert check_graph(offered["Move hsv before crop_mirror_normalize"], CATALOG) == ()
    turned = offered["Insert a transpose to HWC"]
    assert turned.node("transpose").args["perm"] == (1, 2, 0)
    assert check_graph(turned, CATALOG) == ()
    offered = labels(
        set_arg(chain_graph("cast", "clahe"), CATALOG, "cast", "dtype", "FLOAT"), "dtype"
    )
    assert list(offered) == ["Move clahe before cast", "Insert a cast to UINT8", "Remove clahe"]
    graph = set_arg(load_recipe("rotate-jitter"), CATALOG, "decode", "output_type", "GRAY")
    assert check_graph(labels(graph, "channels")["Decode as RGB"], CATALOG) == ()
    graph = set_arg(chain_graph("paste"), CATALOG, "decode", "output_type", "GRAY")
    assert labels(graph, "channels")["Set n_channels to 1"].node("paste").args["n_channels"] == 1


def test_what_needs_several_inputs() -> None:
    graph, node = insert_node(chain_graph("resize"), CATALOG, "filter", "resize")
    offered = labels(graph, "unfed")
    assert next(iter(offered)) == "Add random.uniform"
    assert check_graph(offered["Add random.uniform"], CATALOG) == ()
    graph, node = insert_node(chain_graph("resize"), CATALOG, "permute_batch", "resize")
    assert check_graph(labels(graph, "missing_arg")["Add batch_permutation"], CATALOG) == ()
    assert node == "permute_batch"


@pytest.mark.parametrize("recipe", ["rotate-jitter", "simclr"])
def test_a_deleted_decoder_is_offered_again(recipe: str) -> None:
    whole = load_recipe(recipe)
    graph = remove_nodes(whole, CATALOG, ["decode"])
    faults = check_graph(graph, CATALOG)
    assert faults
    for fault in faults:
        first = fixes(ResolvedGraph(graph, CATALOG), fault)[0]
        assert first.label == "Add decoders.image"
        assert check_graph(first.graph, CATALOG) == ()
        assert {n.id: n.inputs for n in first.graph.nodes} == {n.id: n.inputs for n in whole.nodes}


def test_an_edge_that_is_cut_asks_for_no_second_decoder() -> None:
    graph = with_node(load_recipe("rotate-jitter"), "resize", inputs={})
    assert "Add decoders.image" not in labels(graph, "unfed")


def test_halves_of_a_size() -> None:
    graph = with_node(chain_graph("crop"), "crop", args={"crop_h": 100.0})
    offered = labels(graph, "apart")
    assert offered["Set crop_w to 100 too"].node("crop").args == {"crop_h": 100.0, "crop_w": 100.0}
    assert offered["Remove crop_h"].node("crop").args == {}


def test_a_fault_that_is_not_there_has_no_remedy() -> None:
    assert (
        fixes(ResolvedGraph(chain_graph(), CATALOG), Fault("", "", "the moon is down", "Wait."))
        == ()
    )
    assert Fix("a", chain_graph()) == Fix("a", chain_graph())


def _several_faults() -> list[tuple[str, Graph]]:
    source = Port("resize", "output")
    mask = place_node(chain_graph("resize"), CATALOG, "segmentation.random_mask_pixel", source)[0]
    mask = replace(mask, outputs={"at": Port("random_mask_pixel", "output")})
    mask = set_setting(mask, device="mixed")
    return [
        ("cpu_after_gpu", mask),
        ("gpu_only", chain_graph("resize", "jitter", "flip")),
        ("arg_on_gpu", with_node(load_recipe("rotate-jitter"), "angle", device="gpu")),
    ]


@pytest.mark.gpu
@pytest.mark.parametrize(("code", "graph"), _several_faults())
def test_remedies_of_sides_run(code: str, graph: Graph, photos: Path, tmp_path: Path) -> None:
    sound = [each for each in labels(graph, code).values() if not check_graph(each, CATALOG)]
    assert sound
    for each in sound:
        require_parity(with_settings(each, batch_size=4), photos, tmp_path, (0,))


def test_a_graph_of_which_nothing_comes_out_begins_anew() -> None:
    unknown = Graph(name="mine", nodes=(Node("reader", "rotat"),))
    (begun,) = labels(unknown, "no_outputs").values()
    assert begun.name == "mine"
    assert [node.op for node in begun.nodes] == ["readers.file", "decoders.image"]
    assert check_graph(begun, CATALOG) == ()


def in_place(graph: Graph) -> Graph | None:
    """The graph of the fix, if it is offered."""
    (fault,) = (each for each in check_graph(graph, CATALOG) if each.code == "unusable_op")
    found = {fix.label: fix.graph for fix in fixes(ResolvedGraph(graph, CATALOG), fault)}
    return found.get("Read your data instead")


def test_data_in_the_place_of_what_feeds_an_imported_pipeline() -> None:
    """What a Python function gave: encoded images and labels, pixels alone, or too much."""
    fed = Node("feed", "opaque.2", {"call": "fn.external_source"})
    decode = Node("decode", "decoders.image", {}, {"data": Port("feed", "output_0")})
    outputs = {"images": Port("decode", "output"), "labels": Port("feed", "output_1")}
    mended = in_place(Graph(nodes=(fed, decode), outputs=outputs))
    assert mended is not None
    assert not check_graph(mended, CATALOG)
    assert mended.node("decode").inputs["data"] == Port("reader", "jpegs")
    assert mended.outputs["labels"] == Port("reader", "labels")

    pixels = Node("feed", "opaque.1", {"call": "fn.external_source"})
    turned = Node("rotate", "rotate", {"angle": 5}, {"data": Port("feed", "output")})
    mended = in_place(Graph(nodes=(pixels, turned), outputs={"images": Port("rotate", "output")}))
    assert mended is not None
    assert not check_graph(mended, CATALOG)
    assert mended.node("rotate").inputs["data"] == Port("decode", "output")

    three = {f"value_{n}": Port("feed", f"output_{n}") for n in range(3)}
    assert in_place(Graph(nodes=(Node("feed", "opaque.3"),), outputs=three)) is None


# Inputs that nothing feeds get a source: by the catalogue's word, or the nearest.


def added(graph: Graph, op: str) -> Graph:
    return with_nodes(graph, new_node(graph, CATALOG, op))


@pytest.mark.parametrize("op", USABLE, ids=lambda op: op.name)
def test_every_usable_operator_is_fed_into_a_sound_graph(op: OpSpec) -> None:
    graph, node = placed(op, device="cpu" if "cpu" in op.devices else "mixed")
    assert not unfed(graph.node(node), op)
    assert [str(fault) for fault in check_graph(graph, CATALOG)] == []


def test_what_the_catalogue_names_fits() -> None:
    for op in USABLE:
        for source in (*op.inputs, *op.args.values()):
            if source.feed is not None:
                maker = CATALOG[source.feed.op]
                assert maker.unusable is None
                assert source.feed.output in [output.name for output in maker.outputs]
                for name, value in source.feed.args.items():
                    assert value_fault(maker.args[name], value) is None, (op.name, name)


def test_a_second_picture_is_that_of_the_first() -> None:
    graph, node = insert_node(chain_graph("resize", "rotate"), CATALOG, "cat", "resize")
    assert [(f.arg, f.code) for f in check_graph(graph, CATALOG)] == [("input_1", "unfed")]
    fed = feed_node(graph, CATALOG, node)
    assert fed.node(node).inputs == {
        "input_0": Port("resize", "output"),
        "input_1": Port("resize", "output"),
    }
    assert check_graph(fed, CATALOG) == ()


def test_what_is_made_is_fed_in_turn() -> None:
    graph = feed_node(added(chain_graph("resize"), "reductions.std_dev"), CATALOG, "std_dev")
    mean = graph.node(graph.node("std_dev").inputs["mean"].node)
    assert mean.op == "reductions.mean"
    assert mean.inputs["data"] == graph.node("std_dev").inputs["data"] == Port("resize", "output")


def test_what_comes_later_feeds_nothing_before_it() -> None:
    graph = chain_graph("resize", "rotate", "flip")
    found = list(fitting_ports(graph, CATALOG, "resize", "data"))
    assert found == [Port("decode", "output")]
    assert list(fitting_ports(graph, CATALOG, "resize", "size")) == []


def test_the_catalogue_names_nothing_for_a_picture() -> None:
    assert feed_from_new(chain_graph("resize"), CATALOG, "resize", "data") is None


def test_a_link_puts_inputs_in_their_order_and_rivals_out() -> None:
    graph = load_recipe("rotate-jitter")
    graph = feed_input(graph, CATALOG, Port("angle", "output"), "resize", "resize_shorter")
    assert graph.node("resize").args == {}
    graph = added(chain_graph(), "slice")
    for port in ("shape_input", "anchor", "data"):
        graph = feed_input(graph, CATALOG, Port("decode", "output"), "slice", port)
    assert list(graph.node("slice").inputs) == ["data", "anchor", "shape_input"]
    assert "rel_start" not in graph.node("slice").args
