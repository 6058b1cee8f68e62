"""Faults that prevent a graph from running: all in one pass, each with a fix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from nvidia.dali.types import DALIDataType

from tests.helpers import (
    CATALOG,
    CHAINS,
    chain_graph,
    only_fault,
    with_args,
    with_input,
    with_node,
    with_nodes,
    with_settings,
)
from workbench.catalog import Catalog, Value
from workbench.catalog.extra_operators.auto_augment import SUITE, WARPS
from workbench.errors import GraphFaultsError
from workbench.graph import (
    Fault,
    Graph,
    Port,
    check_graph,
    load_recipe,
    load_recipes,
    require_sound,
)
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.edit import insert_node, randomise_arg, set_arg, set_setting
from workbench.graph.fixes import fixes
from workbench.graph.fixes.unfed_inputs import feed_node
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.shapes import infer_types

DECODED = Port("decode", "output")


@pytest.mark.parametrize("device", ["cpu", "mixed"])
@pytest.mark.parametrize("graph", load_recipes().values(), ids=lambda graph: graph.name)
def test_recipes_are_sound(graph: Graph, device: str) -> None:
    assert check_graph(with_settings(graph, device=device), CATALOG) == ()


@given(CHAINS)
def test_allowed_values_give_no_fault(graph: Graph) -> None:
    assert [str(fault) for fault in check_graph(graph, CATALOG)] == []


@pytest.mark.parametrize(
    ("op", "arg", "value", "words"),
    [
        ("rotate", "angle", "ten", "'ten' is not a number"),
        ("rotate", "angle", (1.0, 2.0), "[1.0, 2.0] is a list"),
        ("rotate", "angle", float("inf"), "inf is not finite"),
        ("rotate", "angle", True, "True is not a number"),
        ("rotate", "keep_size", 1, "1 is not true or false"),
        ("rotate", "interp_type", "INTERP_CUBIK", "not one of the choices"),
        ("resize", "mode", "stretchy", "not one of the choices"),
        ("gaussian_blur", "window_size", 2**70, "does not fit into 64 bits"),
        ("paste", "fill_value", -1, "out of range"),
        ("paste", "fill_value", (0, 256, 0), "out of range"),
        ("rotate", "angle", '"); import os', "is not a number"),
        ("rotate", "angle", "x" * 10_000, "is not a number"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    op: str, arg: str, value: Value, words: str
) -> None:
    fault = only_fault(set_arg(chain_graph(op), CATALOG, op, arg, value))
    assert (fault.node, fault.arg) == (op, arg)
    assert words in fault.message
    assert fault.remedy.startswith("Use ")
    assert len(str(fault)) < 500
    assert str(fault).startswith(f"{op}.{arg}: ")


def test_did_you_mean() -> None:
    graph = set_arg(chain_graph("rotate"), CATALOG, "rotate", "interp_type", "INTERP_LINAER")
    assert "Did you mean INTERP_LINEAR?" in only_fault(graph).remedy
    graph = with_node(graph, "rotate", args={"angel": 3, "angle": 3})
    assert only_fault(graph).remedy == "Did you mean angle?"


def test_all_faults_are_found_at_once() -> None:
    graph = chain_graph("rotate", "resize")
    graph = with_node(graph, "rotate", args={"angle": "ten", "keep_size": 3})
    graph = with_node(graph, "resize", op="resiez")
    graph = with_settings(graph, batch_size=0, num_threads=0, seed=-1, prefetch_queue_depth=0)
    graph = replace(graph, outputs={**graph.outputs, "class": Port("nowhere", "output")})
    faults = check_graph(graph, CATALOG)
    where = [(fault.node, fault.arg) for fault in faults]
    assert where[-3:] == [("rotate", "angle"), ("rotate", "keep_size"), ("resize", "")]
    text = "\n".join(map(str, faults))
    for words in (
        "batch_size is 0",
        "num_threads is 0",
        "prefetch_queue_depth is 0",
        "seed is -1",
        "the output name 'class' is not a Python name",
        "output 'class' comes from nowhere.output, which does not exist",
        "'resiez' is not an operator",
    ):
        assert words in text, text
    with pytest.raises(GraphFaultsError) as caught:
        require_sound(graph, CATALOG)
    assert caught.value.faults == faults
    assert str(caught.value) == text


@pytest.mark.parametrize("seed", [-1, 2**31, 2**40])
def test_seeds_fit_into_what_dali_takes(seed: int) -> None:
    assert f"seed is {seed}" in only_fault(with_settings(chain_graph(), seed=seed)).message


def test_edges_that_lead_nowhere() -> None:
    graph = with_input(chain_graph("rotate"), "rotate", "data", "gone.output")
    fault = only_fault(graph)
    assert (fault.node, fault.arg) == ("rotate", "data")
    assert "gone.output, which does not exist" in fault.message
    fault = only_fault(with_input(graph, "rotate", "data", "decode.pixels"))
    assert "decoders.image outputs output" in fault.message
    fault = only_fault(with_node(graph, "rotate", inputs={}))
    assert (fault.node, fault.arg, fault.message) == ("rotate", "data", "it is not connected")
    fault = only_fault(with_input(chain_graph("rotate"), "rotate", "picture", "decode.output"))
    assert "rotate has no such input" in fault.message
    assert "data" in fault.remedy


def test_cycles_name_all_nodes_in_them() -> None:
    graph = chain_graph("resize", "rotate", "flip")
    fault = only_fault(with_input(graph, "resize", "data", "rotate.output"))
    assert "wait for each other: resize, rotate, flip" in fault.message
    assert fault.remedy == "Remove one edge."
    assert only_fault(with_input(graph, "rotate", "data", "rotate.output")).node == "rotate"


def test_kinds_must_fit() -> None:
    fault = only_fault(with_input(chain_graph("rotate"), "rotate", "data", "reader.jpegs"))
    assert fault.message == "it requires images, but reader.jpegs outputs encoded data"
    assert "call .decode()" in fault.remedy
    (fault, *_) = check_graph(
        with_input(chain_graph("rotate"), "rotate", "data", "reader.labels"), CATALOG
    )
    assert fault.text == (
        "it requires images, but reader.labels outputs labels. Connect an output of images."
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [("class", "not a Python name"), ("a b", "not a Python name"), ("", "not a Python name")],
)
def test_ids_are_python_names(name: str, words: str) -> None:
    graph = chain_graph()
    reader = replace(graph.node("reader"), id=name)
    decode = replace(graph.node("decode"), inputs={"data": Port(name, "jpegs")})
    graph = replace(graph, nodes=(reader, decode), outputs={"images": Port("decode", "output")})
    assert words in only_fault(graph).message


@pytest.mark.parametrize(
    "name",
    [
        "\u017fn",  # long s: Python reads it as `sn`
        "\U0001d41f\U0001d427",  # bold letters: Python reads them as `fn`
    ],
)
def test_letters_that_python_reads_as_others_are_no_names(name: str) -> None:
    graph = insert_node(chain_graph(), CATALOG, "flip", "decode")[0]
    node = replace(graph.node("flip"), id=name)
    graph = replace(
        graph, nodes=(*graph.nodes[:-1], node), outputs={"images": Port(name, "output")}
    )
    assert "not a Python name" in only_fault(graph).message
    graph = replace(chain_graph(), outputs={name: Port("decode", "output")})
    assert "not a Python name" in only_fault(graph).message


def test_ids_are_unique() -> None:
    graph = chain_graph("rotate")
    graph = with_nodes(graph, graph.node("rotate"))
    assert only_fault(graph) == Fault("rotate", "", "2 nodes have this id", "Use unique ids.")


def test_something_is_read_and_something_given_out() -> None:
    texts = [str(fault) for fault in check_graph(Graph(), CATALOG)]
    assert len(texts) == 2
    assert "has no outputs" in texts[0]
    assert "no node reads images" in texts[1]


def test_required_arguments_and_seeds() -> None:
    required = next(
        (op.name, arg.name)
        for op in CATALOG.values()
        for arg in op.args.values()
        if op.image and not op.unusable and arg.required and "cpu" in op.devices
    )
    graph = chain_graph(required[0])
    node = graph.nodes[-1]
    args = {name: value for name, value in node.args.items() if name != required[1]}
    fault = only_fault(with_node(graph, node.id, args=args))
    assert (fault.arg, fault.message) == (required[1], "it has no value and no default")
    fault = only_fault(with_node(chain_graph("rotate"), "rotate", seed=3))
    assert (fault.arg, fault.message) == ("seed", "rotate is not random")


def test_links_into_arguments() -> None:
    graph = randomise_arg(chain_graph("rotate"), CATALOG, "rotate", "angle")
    generator = graph.node("rotate").inputs["angle"].node
    both = with_node(graph, "rotate", args={"angle": 3.0})
    assert "a value and a connection" in only_fault(both).message
    inputs = {**graph.node("rotate").inputs, "keep_size": Port(generator, "output")}
    fixed = with_node(graph, "rotate", args={}, inputs=inputs)
    assert "one value for all samples" in only_fault(fixed).message


def test_an_operator_that_cannot_be_used_says_why() -> None:
    graph = chain_graph("copy")
    fault = only_fault(with_node(graph, "copy", op="dump_image"))
    assert fault.message == f"dump_image cannot be used: {CATALOG['dump_image'].unusable}"


def test_a_layout_that_does_not_fit() -> None:
    fault = only_fault(chain_graph("crop_mirror_normalize", "hsv"))
    assert (fault.node, fault.arg, fault.code) == ("hsv", "data", "layout")
    assert fault.message == (
        "it accepts HWC (rows, columns, channels), but gets CHW (channels, rows, columns)"
    )
    assert not check_graph(chain_graph("crop_mirror_normalize", "crop"), CATALOG)
    fault = only_fault(place_node(chain_graph(), CATALOG, "sequence_rearrange", DECODED)[0])
    assert "frames" in fault.message


def test_an_output_that_an_optional_input_adds() -> None:
    graph, node = place_node(chain_graph("resize"), CATALOG, "random_bbox_crop")
    graph = feed_node(graph, CATALOG, node)
    graph = with_nodes(graph, classes=Port(node, "labels"))
    fault = only_fault(graph)
    assert fault.message.endswith("which random_bbox_crop outputs only with labels")
    assert fault.remedy == "Connect its input labels."
    graph, numbers = place_node(graph, CATALOG, "random.uniform")
    graph = with_node(graph, numbers, args={"range": (0, 9), "shape": (5,), "dtype": "INT32"})
    sound = with_input(graph, node, "labels", f"{numbers}.output")
    assert not check_graph(sound, CATALOG)
    given = infer_types(sound, CATALOG)
    assert given[Port(node, "labels")].dtype == "INT32"
    assert Port(node, "labels") not in infer_types(graph, CATALOG)


def clips(output_layout: str) -> Graph:
    """Two copies of a photo as frames, in that order of axes."""
    graph, stack = place_node(chain_graph("resize"), CATALOG, "stack", Port("resize", "output"))
    graph = with_input(graph, stack, "input_1", "resize.output")
    graph = set_arg(graph, CATALOG, stack, "axis_name", "F")
    graph, last = place_node(graph, CATALOG, "crop_mirror_normalize", Port(stack, "output"))
    graph = set_arg(graph, CATALOG, last, "output_layout", output_layout)
    return replace(graph, outputs={"clips": Port(last, "output")})


@pytest.mark.parametrize(
    ("frames", "layout", "sound"),
    [(several, layout, several == ("F" in layout)) for several in (False, True)
     for layout in ("CHW", "HWC", "FCHW", "FHWC")],
)  # fmt: skip
def test_an_order_of_axes(frames: bool, layout: str, sound: bool) -> None:
    """As DALI takes it (tried with DALI 2.4): the axes that flow in, in any order."""
    graph = clips(layout) if frames else chain_graph("resize", "crop_mirror_normalize")
    if not frames:
        graph = set_arg(graph, CATALOG, "crop_mirror_normalize", "output_layout", layout)
    found = check_graph(graph, CATALOG)
    assert not found if sound else [fault.code for fault in found] == ["relayout"]
    if not sound:
        expected = "frames, rows, columns" if frames else "rows, columns, channels"
        assert expected in found[0].message
        mended = [fix.graph for fix in fixes(ResolvedGraph(graph, CATALOG), found[0])]
        assert len(mended) == 2
        assert all(check_graph(one, CATALOG) == () for one in mended)


def test_a_tensor_of_the_wrong_type_for_an_argument() -> None:
    graph = randomise_arg(chain_graph("rotate"), CATALOG, "rotate", "angle")
    generator = graph.node("rotate").inputs["angle"].node
    fault = only_fault(set_arg(graph, CATALOG, generator, "dtype", "INT32"))
    assert (fault.node, fault.arg, fault.code) == ("rotate", "angle", "arg_dtype")
    assert fault.message == (
        f"it accepts floats (FLOAT), but {generator}.output outputs integers (INT32)"
    )


def test_what_belongs_together() -> None:
    graph = with_node(chain_graph("crop"), "crop", args={"crop_h": 100.0})
    fault = only_fault(graph)
    assert str(fault) == (
        "crop.crop_h: it also requires 'crop_w'. Set 'crop_w', or reset 'crop_h'."
    )
    assert not check_graph(set_arg(graph, CATALOG, "crop", "crop_w", 80.0), CATALOG)


def test_an_input_and_the_arguments_that_it_stands_for() -> None:
    graph = chain_graph("slice")
    for port in ("anchor", "shape_input"):
        graph = with_input(graph, "slice", port, "decode.output")
    codes = {fault.code for fault in check_graph(graph, CATALOG)}
    assert codes == {"conflict", "kind"}


def test_a_list_of_the_wrong_length() -> None:
    graph = set_arg(chain_graph("warp_affine"), CATALOG, "warp_affine", "matrix", (1.0, 0.0))
    assert str(only_fault(graph)) == (
        "warp_affine.matrix: [1.0, 0.0] has 2 elements. Use exactly 6 or 12."
    )


def test_an_unknown_operator_hides_no_other_fault() -> None:
    graph = chain_graph("rotate", "flip")
    graph = with_node(graph, "rotate", op="rotaet")
    graph = with_node(graph, "flip", args={"horizontal": "yes"})
    assert [fault.node for fault in check_graph(graph, CATALOG)] == ["rotate", "flip"]


def test_a_colour_operator_wants_a_colour_image(catalog: Catalog) -> None:
    graph = set_arg(load_recipe("rotate-jitter"), catalog, "decode", "output_type", "GRAY")
    (fault,) = check_graph(graph, catalog)
    assert str(fault) == ("color: it accepts 3 channels, but gets 1. Decode as RGB, or remove it.")


@pytest.mark.parametrize("seed", [None, -1, 2**32])
def test_what_draws_has_a_seed_of_its_own(catalog: Catalog, seed: int | None) -> None:
    graph = load_recipe("rotate-jitter")
    graph = with_node(graph, "angle", seed=seed)
    (fault,) = check_graph(graph, catalog)
    assert (fault.node, fault.arg) == ("angle", "seed")
    assert "for example" in fault.remedy


@pytest.mark.parametrize("size", [0, -1, 10**30])
def test_a_batch_size_that_cannot_be(catalog: Catalog, size: int) -> None:
    graph = with_settings(load_recipe("rotate-jitter"), batch_size=size)
    assert "batch_size is" in str(check_graph(graph, catalog)[0])


# Arguments of automatic augmentation that do not go together.


@pytest.mark.parametrize(
    ("op", "args", "arg", "words"),
    [
        ("rand_augment", {"m": 31}, "m", "it is 31, but there are 31 bins"),
        ("rand_augment", {"m": 9, "num_magnitude_bins": 9}, "m", "Use 0 to 8"),
        ("rand_augment", {"n": -1}, "n", "-1"),
        ("rand_augment", {"excluded": ("turn",)}, "excluded", "'turn' is not an augmentation"),
        ("rand_augment", {"excluded": "rotate"}, "excluded", "'rotate' is a string, not a list"),
        ("trivial_augment_wide", {"excluded": SUITE}, "excluded", "excludes all of them"),
        ("rand_augment", {"excluded": WARPS}, "excluded", "Keep at least one of: translate_x"),
        ("trivial_augment_wide", {"excluded": (*WARPS, "color")}, "excluded", "DALI 2.4"),
        ("trivial_augment_wide", {"max_translate_rel": (0.5, 0.5)}, "max_translate_rel", "shape"),
        ("auto_augment", {"policy_name": "cifar"}, "policy_name", "cifar"),
        (
            "auto_augment",
            {"policy_name": "reduced_image_net", "shape": (64, 64)},
            "shape",
            "has no translations",
        ),
        (
            "rand_augment",
            {"shape": (64, 64), "max_translate_abs": (8, 8)},
            "shape",
            "max_translate_abs",
        ),
    ],
)
def test_each_is_told_and_can_be_mended(
    op: str, args: dict[str, Value], arg: str, words: str
) -> None:
    graph = chain_graph("resize", op)
    graph = with_args(graph, op, **args)
    found = check_graph(graph, CATALOG)
    fault = next(fault for fault in found if fault.arg == arg)
    assert (fault.node, words in str(fault)) == (op, True), str(fault)
    assert fixes(ResolvedGraph(graph, CATALOG), fault)


def test_what_goes_together_has_no_fault() -> None:
    for args in ({"m": 30}, {"shape": (64, 64), "max_translate_rel": (0.2, 0.4)}):
        graph = chain_graph("resize", "rand_augment", rand_augment=args)  # type: ignore[arg-type]
        assert check_graph(graph, CATALOG) == ()


def test_fixed_magnitudes_are_refused_on_the_gpu() -> None:
    graph = chain_graph("resize", "rand_augment", rand_augment={"monotonic_mag": False})
    assert check_graph(graph, CATALOG) == ()
    graph = set_setting(graph, device="mixed")
    (fault,) = check_graph(graph, CATALOG)
    assert (fault.node, fault.arg) == ("rand_augment", "monotonic_mag")
    assert [
        check_graph(fix.graph, CATALOG) for fix in fixes(ResolvedGraph(graph, CATALOG), fault)
    ] == [()]
    for name in ("brightness", "contrast"):
        assert (
            check_graph(set_arg(graph, CATALOG, "rand_augment", "excluded", (name,)), CATALOG) == ()
        )


def test_dali_builds_none_without_what_moves_the_image() -> None:
    """Until it does, the fault is right."""
    from nvidia.dali import fn, pipeline_def
    from nvidia.dali.auto_aug import rand_augment

    @pipeline_def(enable_conditionals=True, batch_size=1, num_threads=1, device_id=None)
    def augmented() -> Any:
        images = fn.random.uniform(range=[0, 255], shape=[8, 8, 3], dtype=DALIDataType.UINT8)
        return rand_augment.rand_augment(images, n=1, m=9, excluded=list(WARPS))

    with pytest.raises(Exception, match="fill_value"):
        augmented()


# Probabilities as a file may bring them.

JITTER = load_recipe("rotate-jitter")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((0.5, 0.6), "the probabilities add up to 1.1"),
        ((0.0, 0.0), "the probabilities add up to 0"),
        ((0.5, 0.3, 0.2), "it has 3 probabilities for 2 numbers to choose from"),
        ((-0.5, 1.5), "-0.5"),
        (0.4, "the probabilities add up to 0.8"),
        ((10**400, 0), "1000000"),  # more than a float holds
    ],
)
def test_probabilities_that_dali_refuses(given: Value, words: str) -> None:
    graph, _ = wrap_as_options(JITTER, CATALOG, ["rotate", "color"])
    faulty = with_args(graph, "choice", p=given)
    (fault,) = check_graph(faulty, CATALOG)
    assert (fault.node, fault.arg) == ("choice", "p")
    assert words in fault.text


@pytest.mark.parametrize("given", [(0.3, 0.7), (1.0, 0.0), (0.50005, 0.5), 0.5])
def test_probabilities_that_dali_takes(given: Value) -> None:
    graph, _ = wrap_as_options(JITTER, CATALOG, ["rotate", "color"])
    assert not check_graph(with_args(graph, "choice", p=given), CATALOG)


@pytest.mark.parametrize("probability", [-0.1, 1.5])
def test_a_coin_flip_outside_of_zero_to_one(probability: float) -> None:
    graph, _ = wrap_in_block(JITTER, CATALOG, ["rotate"])
    faulty = with_args(graph, "chance", probability=probability)
    (fault,) = check_graph(faulty, CATALOG)
    assert (fault.node, fault.arg) == ("chance", "probability")
