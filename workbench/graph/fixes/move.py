"""A node put further up its chain, where what it needs still flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from workbench.catalog.spec import Catalog, OpSpec, kind_fits
from workbench.graph.fixes.fix_candidate import FixCandidate
from workbench.graph.model import Graph, Node, Port
from workbench.graph.types.devices import port_kind


def offer_move_up(
    graph: Graph, catalog: Catalog, node: Node, into: str, fits: Callable[[Port], bool]
) -> Iterator[FixCandidate]:
    """``Move NODE before NODE``: to the last place of its chain where ``fits`` says yes.

    The chain is that of first inputs.
    """
    spec = catalog[node.op]
    if not spec.outputs:
        return
    passed: set[str] = set()
    port = node.inputs.get(into)
    while port is not None and graph.has(port.node) and port.node not in passed:
        passed.add(port.node)
        before = graph.node(port.node)
        known = catalog.find(before.op)
        entry = known.inputs[0].name if known and known.inputs else ""
        port = before.inputs.get(entry)
        if known is None or port is None:
            return
        if fits(port) and _suits(graph, catalog, spec, into, known, port):
            move = partial(_before, graph, node, into, spec.outputs[0].name, before, entry)
            yield f"Move {node.id} before {before.id}", move
            return


def _suits(
    graph: Graph, catalog: Catalog, spec: OpSpec, into: str, before: OpSpec, port: Port
) -> bool:
    """Whether the node takes what flows there, and the next one what the node gives."""
    kind = port_kind(graph, catalog, port)
    takes = next((p.kind for p in spec.inputs if p.name == into), None)
    gives = kind if spec.outputs[0].follows else spec.outputs[0].kind
    return takes is not None and kind_fits(takes, kind) and kind_fits(before.inputs[0].kind, gives)


def _before(graph: Graph, node: Node, into: str, output: str, before: Node, entry: str) -> Graph:
    """Take the node out of its place, join that, and put it in front of ``before``."""
    old, out = node.inputs[into], Port(node.id, output)
    moved = replace(node, inputs={**node.inputs, into: before.inputs[entry]})
    nodes: list[Node] = []
    for other in graph.nodes:
        if other.id == node.id:
            continue
        inputs = {name: old if port == out else port for name, port in other.inputs.items()}
        if other.id == before.id:
            nodes.append(moved)
            inputs[entry] = out
        nodes.append(replace(other, inputs=inputs))
    outputs = {name: old if port == out else port for name, port in graph.outputs.items()}
    return replace(graph, nodes=tuple(nodes), outputs=outputs)
