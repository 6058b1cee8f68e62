"""Another condition in front of what an ``if`` does otherwise: an ``elif``."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.control_flow.kinds import CONDITION, IF
from workbench.graph.control_flow.wrap import passing_input
from workbench.graph.edits.edit import new_node
from workbench.graph.model import Body, Graph, Node, Port

ELSE = "else"


def add_elif(graph: Graph, catalog: Catalog, region: str) -> tuple[Graph, str]:
    """Ask a second condition where the first one does not hold: a coin flip, to be changed.

    It stands behind those of an ``elif`` that is there. Where it holds nothing is changed yet, and
    otherwise runs what ran so far. Returns the whole graph and the id of the new ``if``. Raises
    GraphEditError for a node that is no ``if``, and for an output in whose place nothing of its
    kind could pass.
    """
    graph = graph.whole
    node = graph.node(region)
    if node.op != IF.op:
        raise GraphEditError(f"{region} is no if ({node.op}). Only an if has an elif.")
    while (inner := elif_of(node)) is not None:
        node = inner
    scope = node.scope(ELSE)
    body = node.bodies[ELSE]
    passed = {
        name: port.output if port.node == scope else passing_input(graph, catalog, node, name)
        for name, port in body.outputs.items()
    }
    taken = (*body.inputs, *dict.fromkeys(each for each in passed.values()))
    taken = tuple(dict.fromkeys(taken))
    fresh = new_node(graph, catalog, IF.op)
    coin = IF.new_generator(graph, catalog, fresh)
    assert coin is not None
    otherwise = body.renamed(scope, fresh.scope(ELSE))
    then = {name: Port(fresh.scope("then"), into) for name, into in passed.items()}
    fresh = replace(
        fresh,
        inputs={
            CONDITION: Port(coin.id, "output"),
            **{name: Port(scope, name) for name in taken},
        },
        bodies={
            "then": Body((), then, tuple(dict.fromkeys(passed.values()))),
            ELSE: otherwise,
        },
    )
    given = {name: Port(fresh.id, name) for name in body.outputs}
    graph = graph.replace_body(scope, Body((coin, fresh), given, taken))
    return graph, fresh.id


def elif_of(region: Node) -> Node | None:
    """The ``if`` that is all of what an ``if`` does otherwise: its ``elif``; None without one."""
    body = region.bodies.get(ELSE)
    inner = [node for node in body.nodes if node.bodies] if body is not None else []
    if body is None or len(inner) != 1 or inner[0].op != IF.op:
        return None
    if any(port.node != inner[0].id for port in body.outputs.values()):
        return None
    return inner[0]
