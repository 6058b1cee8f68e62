from __future__ import annotations

from dataclasses import replace

from tests.helpers import chain_graph, with_settings
from workbench.catalog import Catalog
from workbench.graph import Port, load_recipe
from workbench.graph.devices import image_outputs, infer_devices, port_kind
from workbench.graph.edit import randomise_arg


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
    graph = graph.replace_node(replace(graph.node("resize"), device="gpu"))
    assert infer_devices(graph, catalog) == {
        "reader": "cpu",
        "decode": "cpu",
        "resize": "gpu",
        "rotate": "gpu",
    }
    graph = graph.replace_node(replace(graph.node("decode"), device="cpu"))
    assert infer_devices(with_settings(graph, device="mixed"), catalog)["decode"] == "cpu"


def test_kinds_and_image_outputs(catalog: Catalog) -> None:
    graph = load_recipe("simclr")
    assert all(
        port_kind(graph, catalog, p) == "image" for p in image_outputs(graph, catalog).values()
    )
    assert len(image_outputs(graph, catalog)) == 2
    assert port_kind(graph, catalog, Port("reader", "labels")) == "label"
    assert port_kind(graph, catalog, Port("nowhere", "labels")) == "any"
    assert port_kind(graph, catalog, Port("reader", "nothing")) == "any"
