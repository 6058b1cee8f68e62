"""A graph without random augmentation: each request gets the same answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.graph.execution.active import active_graph, set_muted
from workbench.graph.model import Graph, Node, Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.types.devices import is_generator

_TO_ONE_SIZE = ("crop", "crop_mirror_normalize")
"""Operators that are needed without what they draw: in the middle, not mirrored."""


def inference_graph(
    graph: Graph, catalog: Catalog
) -> tuple[Graph, Mapping[str, str], Sequence[str]]:
    """The graph without random operators, a sentence for each changed node, and the removed nodes.

    A crop at a random place becomes a center crop, a ``random_resized_crop`` a resize of the whole
    image, and other nodes that are random, or selected at random, are left out. The graph may have
    faults if another node needs one of these.
    """
    changed: dict[str, str] = {}
    muted: list[str] = []
    for node in graph.nodes:
        if isinstance(node, Source) or is_generator(catalog[node.op]):
            continue
        drawn = _drawn_inputs(graph, catalog, node)
        own = catalog[node.op].seeded or bool(catalog[node.op].module)
        if node.op == "random_resized_crop":
            args = {name: value for name, value in node.args.items() if name in _OF_A_RESIZE}
            graph = graph.replace_node(replace(node, op="resize", args=args, seed=None))
            changed[node.id] = (
                f"{node.id} resizes the whole image instead of a random crop, so the aspect ratio "
                "may change."
            )
        elif drawn and node.op in _TO_ONE_SIZE and not drawn - _CENTRED:
            inputs = {name: port for name, port in node.inputs.items() if name not in drawn}
            graph = graph.replace_node(replace(node, inputs=inputs))
            changed[node.id] = f"{node.id} uses the default of {', '.join(sorted(drawn))}."
        elif own or drawn:
            muted.append(node.id)
    if not changed and not muted:
        return graph, {}, ()
    return active_graph(set_muted(graph, muted, True), catalog), changed, muted


_OF_A_RESIZE = frozenset({"size", "interp_type", "antialias", "mag_filter", "min_filter", "dtype"})
_CENTRED = frozenset({"crop_pos_x", "crop_pos_y", "crop_pos_z", "mirror"})


def _drawn_inputs(graph: Graph, catalog: Catalog, node: Node) -> set[str]:
    """The arguments, and what decides in a block, that come from a draw alone."""
    arguments = set(node.inputs) & {*catalog[node.op].args, "condition", "choice"}
    return {name for name in arguments if _is_drawn(graph, catalog, node, name)}


def _is_drawn(graph: Graph, catalog: Catalog, node: Node, name: str) -> bool:
    nodes = [graph.node(each) for each in ancestors(graph, [node.inputs[name]])]
    return any(is_generator(catalog[each.op]) for each in nodes)
