"""What is inferred of a graph is inferred once, also where one of its bodies is asked for it."""

from __future__ import annotations

from dataclasses import replace

from tests.helpers import CATALOG
from workbench.graph import load_recipe
from workbench.graph.types.devices import infer_devices
from workbench.graph.types.shapes import infer_types
from workbench.graph.types.typed_graph import TypedGraph


def test_types_and_devices_are_those_that_are_inferred() -> None:
    graph = load_recipe("simclr")
    typed = TypedGraph(graph, CATALOG)
    assert typed.types == infer_types(graph, CATALOG)
    assert typed.devices == infer_devices(graph, CATALOG)
    assert typed.types is typed.types


def test_a_body_has_the_types_of_the_whole_graph() -> None:
    typed = TypedGraph(load_recipe("simclr"), CATALOG)
    scopes = [scope for scope, _ in typed.graph.bodies() if scope]
    assert scopes
    for scope in scopes:
        body = typed.at_scope(scope)
        assert body.graph.scope == scope
        assert body.whole is typed
        assert body.types is typed.types
        assert body.devices is typed.devices
    assert typed.at_scope("") is typed


def test_another_graph_is_inferred_anew() -> None:
    typed = TypedGraph(load_recipe("rotate-jitter"), CATALOG)
    mixed = replace(typed.graph, settings=replace(typed.graph.settings, device="mixed"))
    assert typed.of(typed.graph) is typed
    assert {*typed.devices.values()} == {"cpu"}
    assert "mixed" in typed.of(mixed).devices.values()
