"""What the inspector may ask to be done to the graph; arguments are in ``argument_actions.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.model import Graph
from workbench.ui import argument_actions as of_argument
from workbench.ui.actions import inspector


def apply_inspector_edit(graph: Graph, catalog: Catalog, action: inspector.InspectorEdit) -> Graph:
    """The graph after an action. Raises GraphEditError for one that does not suit it."""
    match action:
        case inspector.SetArgument():
            return of_argument.set_argument(graph, catalog, action)
        case inspector.ResetArgument():
            return of_argument.reset_argument(graph, catalog, action)
        case inspector.LinkArgument():
            return of_argument.link_argument(graph, catalog, action)
        case inspector.RandomiseArgument():
            return of_argument.randomise_argument(graph, catalog, action)
        case inspector.OwnGenerator():
            return of_argument.own_generator(graph, catalog, action)
        case inspector.FixArgument():
            return of_argument.fix_argument(graph, catalog, action)
        case inspector.SetGenerator():
            return of_argument.set_generator(graph, catalog, action)
        case inspector.SetDevice():
            return _set_device(graph, catalog, action)
    assert_never(action)


def _set_device(graph: Graph, catalog: Catalog, action: inspector.SetDevice) -> Graph:
    node = graph.node(action.node)
    match action.device:
        case "cpu" | "gpu" | "mixed" as device if device in catalog[node.op].devices:
            return graph.replace_node(replace(node, device=device))
        case "":
            return graph.replace_node(replace(node, device=None))
    raise GraphEditError(
        f"{node.id} ({node.op}) cannot run on {action.device[:40]!r}. "
        f"It runs on {', '.join(catalog[node.op].devices)}."
    )
