"""Faults of devices: what runs on the CPU alone, on the GPU alone, and what follows what."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.graph.one_fault import only_fault, with_node
from tests.helpers import chain_graph, with_settings
from workbench.catalog import Catalog, load_catalog
from workbench.graph import Graph, Port, check_graph
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.edit import randomise_arg

CATALOG = load_catalog()
DECODED = Port("decode", "output")


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


def test_an_operator_that_only_asks_for_the_shape_stays_on_the_cpu(catalog: Catalog) -> None:
    graph = with_settings(chain_graph(), device="mixed")
    graph = place_node(graph, catalog, "zeros_like", DECODED)[0]
    assert check_graph(graph, catalog) == ()


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
