"""Where each node runs, and the faults of devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.helpers import CATALOG, chain_graph, only_fault, with_node, with_nodes, with_settings
from tests.placed import placed
from workbench.catalog import Catalog
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.edit import new_node, randomise_arg
from workbench.graph.fixes.unfed_inputs import feed_input
from workbench.graph.types.devices import infer_devices, port_kind, transfers
from workbench.graph.types.typed_graph import TypedGraph


def test_what_follows_a_mixed_decoder_is_on_the_gpu_and_generators_stay(catalog: Catalog) -> None:
    graph = randomise_arg(chain_graph("resize", "rotate"), catalog, "rotate", "angle")
    generator = graph.node("rotate").inputs["angle"].node
    assert set(infer_devices(graph, catalog).values()) == {"cpu"}
    devices = infer_devices(with_settings(graph, device="mixed"), catalog)
    assert devices == {
        "reader": "cpu",
        "decode": "mixed",
        "resize": "gpu",
        generator: "cpu",
        "rotate": "gpu",
    }


def test_a_device_set_by_hand_wins(catalog: Catalog) -> None:
    graph = chain_graph("resize", "rotate")
    graph = with_node(graph, "resize", device="gpu")
    assert infer_devices(graph, catalog) == {
        "reader": "cpu",
        "decode": "cpu",
        "resize": "gpu",
        "rotate": "gpu",
    }
    graph = with_node(graph, "decode", device="cpu")
    assert infer_devices(with_settings(graph, device="mixed"), catalog)["decode"] == "cpu"


def test_kinds_and_image_outputs(catalog: Catalog) -> None:
    graph = load_recipe("simclr")
    assert all(
        port_kind(graph, catalog, p) == "image" for p in TypedGraph(graph, catalog).images.values()
    )
    assert len(TypedGraph(graph, catalog).images) == 2
    assert port_kind(graph, catalog, Port("reader", "labels")) == "label"
    assert port_kind(graph, catalog, Port("nowhere", "labels")) == "any"
    assert port_kind(graph, catalog, Port("reader", "nothing")) == "any"


def moved(graph: Graph, catalog: Catalog, node: str) -> dict[str, str]:
    devices = infer_devices(graph, catalog)
    return dict(transfers(graph.node(node), catalog[graph.node(node).op], devices))


def test_what_changes_sides(catalog: Catalog) -> None:
    graph = chain_graph("resize", "rotate")
    assert moved(graph, catalog, "rotate") == {}
    mixed = with_settings(graph, device="mixed")
    assert moved(mixed, catalog, "resize") == moved(mixed, catalog, "decode") == {}
    by_hand = with_node(graph, "resize", device="gpu")
    assert moved(by_hand, catalog, "resize") == {"data": "gpu"}
    back = with_node(mixed, "rotate", device="cpu")
    assert moved(back, catalog, "rotate") == {"data": "cpu"}


def test_numbers_may_stay_on_the_cpu_where_dali_takes_them(catalog: Catalog) -> None:
    graph, node = placed(catalog["cat"], device="mixed")
    cpu = new_node(graph, catalog, "ones")
    graph = with_nodes(graph, cpu)
    graph = feed_input(graph, catalog, Port("ones", "output"), node, "input_1")
    assert infer_devices(graph, catalog)[node] == "gpu"
    assert moved(graph, catalog, node) == {"input_1": "gpu"}
    graph, node = placed(catalog["warp_affine"], device="mixed")
    graph = with_nodes(graph, new_node(graph, catalog, "transforms.rotation"))
    graph = feed_input(graph, catalog, Port("rotation", "output"), node, "mtx")
    assert moved(graph, catalog, node) == {}


def test_only_a_shape_is_asked_for_on_either_side(catalog: Catalog) -> None:
    graph, node = placed(catalog["zeros_like"], device="mixed")
    assert infer_devices(graph, catalog)[node] == "cpu"
    assert moved(graph, catalog, node) == {}
    assert check_graph(graph, catalog) == ()


def test_a_kind_is_followed_through_what_leaves_it(catalog: Catalog) -> None:
    graph = chain_graph("resize", "copy", "cast")
    assert port_kind(graph, catalog, Port("cast", "output")) == "image"
    copy = graph.node("copy")
    of_labels = graph.replace_node(replace(copy, inputs={"data": Port("reader", "labels")}))
    assert port_kind(of_labels, catalog, Port("cast", "output")) == "label"
    circle = graph.replace_node(replace(copy, inputs={"data": Port("cast", "output")}))
    assert port_kind(circle, catalog, Port("cast", "output")) == "any"


def test_frames_are_no_picture_to_show(catalog: Catalog) -> None:
    graph, node = placed(catalog["stack"])
    assert port_kind(graph, catalog, Port(node, "output")) == "image"
    assert TypedGraph(graph, catalog).images == {}


# Faults of devices: what runs on the CPU alone, on the GPU alone, and what follows what.


@pytest.mark.parametrize(
    ("change", "node", "words"),
    [
        (lambda g: with_node(g, "reader", device="gpu"), "reader", "cannot run on the GPU"),
        (lambda g: with_node(g, "flip", device="mixed"), "flip", "cannot run mixed"),
        (lambda g: with_node(g, "decode", device="gpu"), "decode", "cannot run on the GPU"),
    ],
)
def test_a_cpu_operator_cannot_follow_a_gpu_one(
    change: Callable[[Graph], Graph], node: str, words: str
) -> None:
    graph = with_settings(chain_graph("rotate", "flip"), device="mixed")
    faults = [fault for fault in check_graph(change(graph), CATALOG) if fault.node == node]
    assert any(words in fault.message for fault in faults), faults
    assert all(fault.remedy for fault in faults)


def test_an_operator_without_a_gpu_version_behind_a_mixed_decoder(catalog: Catalog) -> None:
    ops = ("segmentation.random_mask_pixel", "segmentation.random_object_bbox")
    for op in ops:
        graph, node = place_node(chain_graph(), catalog, op, Port("decode", "output"))
        assert check_graph(graph, catalog) == ()
        fault = only_fault(with_settings(graph, device="mixed"))
        assert (fault.node, fault.code) == (node, "cpu_after_gpu")
        assert "runs on the CPU only and follows a GPU operator" in fault.message
        by_hand = with_node(with_settings(graph, device="mixed"), node, device="cpu")
        assert check_graph(by_hand, catalog) == ()  # a transfer
    graph = with_settings(chain_graph("rotate", "flip"), device="cpu")
    by_hand = with_node(graph, "rotate", device="gpu")
    assert not check_graph(by_hand, catalog)
    assert not check_graph(with_node(by_hand, "flip", device="cpu"), catalog)


def test_an_operator_of_the_gpu_alone_says_what_can_be_done() -> None:
    fault = only_fault(chain_graph("jitter"))
    assert fault.code == "gpu_only"
    assert "runs on the GPU only" in fault.message
    assert not check_graph(with_node(chain_graph("jitter"), "jitter", device="gpu"), CATALOG)


def test_arguments_come_from_the_cpu() -> None:
    graph = randomise_arg(chain_graph("rotate"), CATALOG, "rotate", "angle")
    generator = graph.node("rotate").inputs["angle"].node
    fault = only_fault(with_node(graph, generator, device="gpu"))
    assert (fault.node, fault.arg) == ("rotate", "angle")
    assert fault.message == f"{generator}.output is on the GPU"
    assert fault.remedy == "Arguments must come from the CPU."
