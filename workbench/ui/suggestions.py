"""What is said before an edit, and the remedies of faults: what may be connected, added, fixed.

What does not suit the graph raises GraphEditError.
"""

from __future__ import annotations

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.compatible_ops import incompatible_ops
from workbench.graph.compose import edge_id
from workbench.graph.connect import connect_targets, require_given
from workbench.graph.layout import Document
from workbench.graph.model import Graph, Port
from workbench.ui.actions import bar, canvas
from workbench.ui.canvas_actions import cut_edge
from workbench.ui.canvas_views import on_drawn_nodes
from workbench.ui.state import Checked, State
from workbench.ui.views import CompatibleOps, ConnectTargets


def find_suggestions(
    state: State,
    graph: Graph,
    catalog: Catalog,
    action: canvas.FindConnectTargets | canvas.FindCompatibleOps,
) -> None:
    """Answer what the canvas asks of the body that it shows."""
    if isinstance(action, canvas.FindConnectTargets):
        state.connect_targets = find_connect_targets(graph, catalog, action)
    else:
        state.compatible_ops = find_compatible_ops(graph, catalog, action)


def find_connect_targets(
    graph: Graph, catalog: Catalog, action: canvas.FindConnectTargets
) -> ConnectTargets:
    """What an output may feed; an edge whose end is dragged counts as cut."""
    source = Port(action.node, action.output)
    require_given(graph, source)
    dragged = action.edge
    found = connect_targets(cut_edge(graph, dragged) if dragged else graph, catalog, source)
    reasons = {edge_id(target, into): reason for (target, into), reason in found.items()}
    return {"source": str(source), "reasons": reasons}


def find_compatible_ops(
    graph: Graph, catalog: Catalog, action: canvas.FindCompatibleOps
) -> CompatibleOps:
    """Which operators may be added on an edge or behind an output."""
    edge, node = action.edge, action.node
    port = Port(node, action.output) if node else None
    kind, reasons = incompatible_ops(graph, catalog, edge or port)
    return {"place": edge or str(port or ""), "kind": kind, "reasons": reasons}


def apply_fix(
    document: Document, catalog: Catalog, checked: Checked, action: bar.ApplyFix
) -> tuple[Graph, str]:
    """The graph after a remedy that a fault offers, and the remedy's label."""
    node, arg, label = action.node, action.arg, action.fix
    shown = on_drawn_nodes(document.graph, catalog, document.layout, checked.faults)
    for fault, remedies in zip(shown, checked.fixes, strict=True):
        for remedy in remedies:
            if (fault.node, fault.arg, remedy.label) == (node, arg, label):
                return remedy.graph, label
    raise GraphEditError(f"{label[:80]!r} is offered no more: the graph has changed.")
