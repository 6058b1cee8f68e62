from __future__ import annotations

from dataclasses import replace

from tests.placed import placed
from workbench.catalog import load_catalog
from workbench.emit.core.code import Code
from workbench.emit.emitter import Emitter
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.edits.edit import insert_node, new_node, set_setting
from workbench.graph.fixes.unfed_inputs import feed_input
from workbench.graph.model.node_order import topological
from workbench.graph.resolved import ResolvedGraph

CATALOG = load_catalog()


def test_a_node_set_to_the_gpu_takes_its_inputs_there() -> None:
    graph = load_recipe("rotate-jitter")
    graph = graph.replace_node(replace(graph.node("rotate"), device="gpu"))
    emitter = Emitter(ResolvedGraph(graph, CATALOG), topological(graph)[0])
    lines = " ".join(emitter.node_lines(graph.node("rotate")).text)
    assert "fn.rotate(images.gpu(), " in lines
    assert "angle=angle" in lines
    assert "device=" not in lines


def test_a_node_without_inputs_names_its_device() -> None:
    graph = load_recipe("rotate-jitter")
    graph = graph.replace_node(replace(graph.node("angle"), device="gpu"))
    emitter = Emitter(ResolvedGraph(graph, CATALOG), topological(graph)[0])
    assert 'device="gpu"' in " ".join(emitter.node_lines(graph.node("angle")).text)


def lines_of(graph: Graph, node: str) -> str:
    emitter = Emitter(ResolvedGraph(graph, CATALOG), topological(graph)[0])
    return " ".join(line.strip() for line in emitter.node_lines(graph.node(node)).text)


def test_data_from_the_gpu_are_brought_to_a_node_set_to_the_cpu() -> None:
    graph = set_setting(load_recipe("rotate-jitter"), device="mixed")
    graph = graph.replace_node(replace(graph.node("rotate"), device="cpu"))
    assert "fn.rotate(images.cpu(), " in lines_of(graph, "rotate")
    assert "device=" not in lines_of(graph, "rotate")
    assert ".cpu()" not in lines_of(graph, "color")


def test_a_copy_to_the_other_side_is_a_transfer_and_no_operator() -> None:
    graph, _ = insert_node(load_recipe("rotate-jitter"), CATALOG, "copy", "resize")
    assert lines_of(graph, "copy") == "images = fn.copy(images)"
    for device in ("cpu", "gpu"):
        moved = graph.replace_node(replace(graph.node("copy"), device=device))
        assert lines_of(moved, "copy") == f"images = images.{device}()"


def test_what_only_asks_for_a_shape_says_that_it_stays_on_the_cpu() -> None:
    graph, node = placed(CATALOG["zeros_like"], device="mixed")
    assert lines_of(graph, node) == 'out_output = fn.zeros_like(out_output, device="cpu")'


def test_a_second_input_follows_the_first_to_the_gpu() -> None:
    graph, node = placed(CATALOG["cat"], device="mixed")
    graph = replace(graph, nodes=(*graph.nodes, new_node(graph, CATALOG, "ones")))
    graph = feed_input(graph, CATALOG, Port("ones", "output"), node, "input_1")
    assert "fn.cat(out_output, ones.gpu(), " in lines_of(graph, node)


def test_a_line_leads_to_its_node() -> None:
    source = Code("", {"a": range(3, 5), "b": range(5, 6)})
    assert [source.node_at(line) for line in range(2, 7)] == [None, "a", "a", "b", None]
