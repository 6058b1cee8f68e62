"""Which operators fit a place, and why the others do not: what it says is what then happens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import GRAPHS
from tests.thorough import examples
from workbench.catalog import load_catalog
from workbench.catalog.templates import load_templates
from workbench.errors import GraphEditError
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.control_flow.one_of import choose_one_of
from workbench.graph.edits.compatible_ops import (
    NEEDS_SOURCE,
    incompatible_ops,
    incompatible_templates,
)
from workbench.graph.edits.compose import edge_id, insert_on_edge, place_node
from workbench.graph.edits.connect import connect, connect_targets
from workbench.graph.edits.edit import set_setting

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")


def test_reasons_name_what_does_not_agree() -> None:
    kind, reasons = incompatible_ops(JITTER, CATALOG, Port("resize", "output"))
    assert kind == "image"
    assert reasons["decoders.image"] == "it takes encoded, not image"
    assert reasons["readers.file"] == "it has no input: add it on its own"
    assert "flip" not in reasons
    assert all(reasons[op.name] == op.unusable for op in CATALOG.values() if op.unusable)


def test_an_operator_of_the_cpu_does_not_fit_on_the_gpu() -> None:
    only_cpu = "roi_random_crop"
    assert CATALOG[only_cpu].devices == ("cpu",)
    mixed = set_setting(JITTER, device="mixed")
    assert only_cpu not in incompatible_ops(JITTER, CATALOG, Port("resize", "output"))[1]
    assert "CPU only" in incompatible_ops(mixed, CATALOG, Port("resize", "output"))[1][only_cpu]


def test_everything_usable_can_stand_on_its_own_beside_other_nodes() -> None:
    kind, reasons = incompatible_ops(JITTER, CATALOG, None)
    assert kind == ""
    for op in CATALOG.values():
        assert (op.name in reasons) == bool(op.unusable or op.devices == ("gpu",))


def test_an_empty_graph_begins_with_what_needs_nothing() -> None:
    reasons = incompatible_ops(Graph(), CATALOG, None)[1]
    assert reasons["rotate"] == NEEDS_SOURCE
    assert not {"readers.file", "random.uniform", "constant"} & reasons.keys()
    templates = load_templates()
    assert incompatible_templates(Graph(), CATALOG, templates.values(), None) == dict.fromkeys(
        templates, NEEDS_SOURCE
    )


def test_an_empty_body_has_what_it_takes_in() -> None:
    graph, region = choose_one_of(JITTER, CATALOG, ["rotate"])
    body = graph.at_scope(f"{region}.option_1")
    assert not body.nodes
    place = body.outputs["images"]
    kind, reasons = incompatible_ops(body, CATALOG, place)
    assert (kind, "rotate" in reasons) == ("image", False)
    assert incompatible_templates(body, CATALOG, load_templates().values(), place) == {}


def test_a_template_takes_and_gives_an_image() -> None:
    def reasons(place: Port | str) -> dict[str, str]:
        return incompatible_templates(JITTER, CATALOG, [load_templates()["gamma"]], place)

    assert reasons(Port("resize", "output")) == {}
    assert reasons(Port("reader", "labels")) == {"gamma": "it takes image, not label"}


def test_what_gives_bool_does_not_fit_where_fractions_are_taken() -> None:
    graph, uniform = place_node(JITTER, CATALOG, "random.uniform")
    graph = connect(graph, CATALOG, Port(uniform, "output"), "color", "brightness")
    into = edge_id("color", "brightness")
    reason = incompatible_ops(graph, CATALOG, into)[1]["math.ge"]
    assert reason == "it gives BOOL, and color.brightness takes FLOAT"
    assert "math.add" not in incompatible_ops(graph, CATALOG, into)[1]


@pytest.mark.parametrize("place", [Port("nowhere", "output"), "nowhere:data", "rotate:angel"])
def test_a_place_that_is_not_there_is_named(place: Port | str) -> None:
    with pytest.raises(GraphEditError, match="There is no"):
        incompatible_ops(JITTER, CATALOG, place)


@given(GRAPHS, st.data())
@examples(40)
def test_what_fits_can_be_added_and_what_does_not_cannot(graph: Graph, data: st.DataObject) -> None:
    edges = [edge_id(edge.target, edge.input) for edge in graph.edges]
    place = data.draw(st.sampled_from([*edges, *(f":{name}" for name in graph.outputs)]))
    reasons = incompatible_ops(graph, CATALOG, place)[1]
    for op in data.draw(st.lists(st.sampled_from(sorted(CATALOG)), min_size=5, max_size=15)):
        if op not in reasons:
            insert_on_edge(graph, CATALOG, op, place)
        elif CATALOG[op].unusable:
            with pytest.raises(GraphEditError):
                place_node(graph, CATALOG, op)


@given(GRAPHS, st.data())
@examples(40)
def test_what_is_offered_can_be_connected(graph: Graph, data: st.DataObject) -> None:
    node = data.draw(st.sampled_from([n for n in graph.nodes if CATALOG[n.op].outputs]))
    source = Port(node.id, CATALOG[node.op].outputs[0].name)
    for (target, into), reason in connect_targets(graph, CATALOG, source).items():
        if not reason:
            joined = connect(graph, CATALOG, source, target, into)
            assert joined.node(target).inputs[into] == source
        elif "taken" not in reason and "already" not in reason:
            with pytest.raises(GraphEditError):
                connect(graph, CATALOG, source, target, into)


def test_a_taken_port_says_by_what() -> None:
    found = connect_targets(JITTER, CATALOG, Port("resize", "output"))
    assert found["rotate", "data"] == "resize.output feeds it already"
    assert "taken by rotate.output" in found["color", "data"]
    assert "wait for each other" in found["decode", "data"]
