"""Actions of the inspector for nodes and blocks.

Actions for arguments are in ``argument_actions.py``.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.control_flow import options
from workbench.graph.control_flow.options import set_body_title
from workbench.graph.edits.edit import editable_policy
from workbench.graph.model import Graph
from workbench.ui.inspector.argument_actions import InspectorEdit


class SetDevice(InspectorEdit, tag="device", frozen=True):
    """Set the device of a node."""

    node: str
    device: str
    """Name of the device; empty to use the device of the node's inputs."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        node = graph.node(self.node)
        match self.device:
            case "cpu" | "gpu" | "mixed" as device if device in catalog[node.op].devices:
                return graph.replace_node(replace(node, device=device))
            case "":
                return graph.replace_node(replace(node, device=None))
        raise GraphEditError(
            f"{node.id} ({node.op}) cannot run on {self.device[:40]!r}. "
            f"Use one of: {', '.join(catalog[node.op].devices)}."
        )


class SetProbability(InspectorEdit, tag="set_probability", frozen=True):
    """Set the probability that an ``if`` runs its first body."""

    block: str
    probability: float | str
    """Number from 0 to 1. A text that is not a number raises GraphEditError."""
    group: str = ""
    """Edits with the same group, such as those of one drag, are undone together."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        probability = _number(self.probability, "a number from 0 to 1")
        return options.set_probability(graph, self.block, probability)


class SetWeights(InspectorEdit, tag="set_weights", frozen=True):
    """Set the relative weights of the bodies of a block."""

    block: str
    weights: list[float | str]
    """Numbers from 0 to 1, one per body. A text that is not a number raises GraphEditError."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        weights = [_number(each, "numbers, 0 or more") for each in self.weights]
        return options.set_weights(graph, self.block, weights)


def _number(value: float | str, allowed: str) -> float:
    if isinstance(value, str):
        raise GraphEditError(f"{value[:40]!r} is not a number. Use {allowed}.")
    return value


class AddOption(InspectorEdit, tag="add_option", frozen=True):
    """Add a body to a block. The body outputs its inputs unchanged."""

    block: str

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        return options.add_option(graph, catalog, self.block)


class RemoveOption(InspectorEdit, tag="remove_option", frozen=True):
    """Remove one of a block's bodies with its nodes."""

    block: str
    body: str

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        return options.remove_option(graph, catalog, self.block, self.body)


class MoveOption(InspectorEdit, tag="move_option", frozen=True):
    """Swap a body of a block with the previous or next one. Its weight moves with it."""

    block: str
    body: str
    by: int
    """1 to swap with the next body, -1 to swap with the previous one."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        return options.move_option(graph, self.block, self.body, self.by)


class NameBody(InspectorEdit, tag="name_body", frozen=True):
    """Set the title of one of a block's bodies."""

    block: str
    body: str
    title: str
    """Title of the body; empty for the default title, such as ``option_1``."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        return set_body_title(graph, self.block, self.body, self.title)


class OwnPolicy(InspectorEdit, tag="own_policy", frozen=True):
    """Replace a learned augmentation policy with a copy that can be edited."""

    node: str
    name: str
    """Name of the policy; empty to copy the policy of the node."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        return editable_policy(graph, self.node, self.name)
