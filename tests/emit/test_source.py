from __future__ import annotations

from dataclasses import replace

from workbench.catalog import load_catalog
from workbench.emit.source import Emitter, Source
from workbench.graph import load_recipe
from workbench.graph.model import topological

CATALOG = load_catalog()


def test_a_node_set_to_the_gpu_takes_its_inputs_there() -> None:
    graph = load_recipe("rotate-jitter")
    graph = graph.replace_node(replace(graph.node("rotate"), device="gpu"))
    emitter = Emitter(graph, CATALOG, topological(graph)[0])
    lines = " ".join(emitter.node_lines(graph.node("rotate")))
    assert "fn.rotate(images.gpu(), " in lines
    assert "angle=angle" in lines
    assert "device=" not in lines


def test_a_node_without_inputs_names_its_device() -> None:
    graph = load_recipe("rotate-jitter")
    graph = graph.replace_node(replace(graph.node("angle"), device="gpu"))
    emitter = Emitter(graph, CATALOG, topological(graph)[0])
    assert 'device="gpu"' in " ".join(emitter.node_lines(graph.node("angle")))


def test_a_line_leads_to_its_node() -> None:
    source = Source("", {"a": range(3, 5), "b": range(5, 6)})
    assert [source.node_at(line) for line in range(2, 7)] == [None, "a", "a", "b", None]
