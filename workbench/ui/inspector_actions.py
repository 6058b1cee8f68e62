"""What the inspector and the bar may ask to be done to the graph: one function for each action.

Each takes the graph, the catalogue and the message of the outbox (untrusted JSON), and gives the
new graph and the node to select, or None to leave the selection. A wrong message raises
GraphEditError, as the edits themselves do. What the canvas may ask is in ``ui/canvas_actions.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.model import Graph
from workbench.ui import argument_actions
from workbench.ui.argument_actions import Edited, Message, text_of


def _device(graph: Graph, catalog: Catalog, message: Message) -> Edited:
    node, device = graph.node(text_of(message, "node")), text_of(message, "device")
    match device:
        case "cpu" | "gpu" | "mixed" if device in catalog[node.op].devices:
            return graph.replace_node(replace(node, device=device)), None
        case "":
            return graph.replace_node(replace(node, device=None)), None
    raise GraphEditError(
        f"{node.id} ({node.op}) cannot run on {device[:40]!r}. "
        f"It runs on {', '.join(catalog[node.op].devices)}."
    )


INSPECTOR_ACTIONS: dict[tuple[str, str], Callable[[Graph, Catalog, Message], Edited]] = {
    ("inspector", "link"): argument_actions.link_argument,
    ("inspector", "own"): argument_actions.own_argument,
    ("inspector", "device"): _device,
    ("inspector", "set"): argument_actions.set_argument,
    ("inspector", "reset"): argument_actions.reset_argument,
    ("inspector", "randomise"): argument_actions.randomise_argument,
    ("inspector", "fix"): argument_actions.fix_argument,
    ("inspector", "set_random"): argument_actions.set_random_argument,
}
