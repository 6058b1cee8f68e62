"""Nodes put into a region, and a region replaced by what stands in one of its bodies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.edits.compose import kind_name
from workbench.graph.edits.edit import new_node, without_idle_generators
from workbench.graph.edits.fragment import common_scope, with_own_generators
from workbench.graph.model import Body, Graph, Node, Port, Source
from workbench.graph.model.ports import output_ports
from workbench.graph.model.scoped import scoped
from workbench.graph.types.devices import port_kind
from workbench.names import free_name

_CONDITION = "random.coin_flip"
_EVEN: Mapping[str, Value] = {"probability": 0.5, "dtype": "BOOL"}


def wrap_in_region(
    graph: Graph,
    catalog: Catalog,
    nodes: Collection[str],
    op: str = "if",
    passing: Mapping[Port, Port] | None = None,
) -> tuple[Graph, str]:
    """Put nodes of one body into the first body of a new region; the others change nothing.

    Generators that feed only these nodes come along. Where the region has an input that decides, a
    new draw with equal chances does. ``passing`` says what the region gives and what of that which
    is taken in passes in its place; else it gives what is used around the nodes, and in its place
    passes what that is made of. Returns the graph and the region's id. Raises GraphEditError
    where the nodes stand in several bodies, read, are not connected to what is around them, have
    other nodes between them, or give something of which nothing of the same kind is taken in.
    """
    body = graph.at_scope(common_scope(graph, nodes))
    chosen = with_own_generators(body, nodes)
    inside = tuple(node for node in body.nodes if node.id in chosen)
    for node in inside:
        if isinstance(node, Source):
            raise GraphEditError(
                f"{node.id} reads, and DALI reads whole batches only. Choose what comes after it."
            )
    _require_nothing_between(body, inside)
    controls = [port.name for port in catalog[op].inputs]
    # an input of the name of an argument would be that argument
    taken = _taken(body, catalog, inside, {*controls, *catalog[op].args})
    if passing is None:
        given = _given(body, catalog, inside, taken)
    else:
        given = {taken[passes]: (port, passes) for port, passes in passing.items()}
    region = new_node(body, catalog, op)
    deciding: list[Node] = []
    if controls:
        fresh = new_node(body, catalog, _CONDITION, "chance")
        deciding = [replace(fresh, args={**fresh.args, **_EVEN})]
    first, *others = catalog[op].bodies
    scope = region.scope(first)
    fed = {port: Port(scope, name) for port, name in taken.items()}
    outputs = {name: port for name, (port, _) in given.items()}
    fed_nodes = tuple(node.rewire(fed) for node in inside)
    bodies = {first: Body(fed_nodes, outputs, tuple(taken.values()))}
    for name in others:
        passed = {output: passes for output, (_, passes) in given.items()}
        inner = {output: Port(region.scope(name), taken[port]) for output, port in passed.items()}
        used = tuple(taken[port] for port in taken if port in passed.values())
        bodies[name] = Body((), inner, used)
    decides = zip(controls, deciding, strict=True)
    inputs = {name: Port(draw.id, "output") for name, draw in decides}
    inputs |= {name: port for port, name in taken.items()}
    region = replace(region, inputs=inputs, bodies=bodies)
    moved = {port: Port(region.id, name) for name, (port, _) in given.items()}
    last = max(index for index, node in enumerate(body.nodes) if node.id in chosen)
    left = [node for node in body.nodes[:last] if node.id not in chosen]
    rest = [node.rewire(moved) for node in (*left, *body.nodes[last + 1 :])]
    edited = replace(
        body,
        nodes=(*rest[: len(left)], *deciding, region, *rest[len(left) :]),
        outputs={name: moved.get(port, port) for name, port in body.outputs.items()},
    )
    return edited.whole, region.id


def _require_nothing_between(graph: Graph, inside: Collection[Node]) -> None:
    """Raise GraphEditError for a node that is fed by some of the nodes and feeds others."""
    if not inside:
        raise GraphEditError("No node is selected. Select those that are to run for some samples.")
    ids = {node.id for node in inside}
    behind: set[str] = set()
    waiting = list(ids)
    while waiting:
        for edge in graph.consumers(waiting.pop()):
            if edge.target not in ids and edge.target not in behind:
                behind.add(edge.target)
                waiting.append(edge.target)
    for node in inside:
        for port in node.inputs.values():
            if port.node in behind:
                raise GraphEditError(
                    f"{port.node} stands between the selected nodes and feeds {node.id}. "
                    "Select it too."
                )


def _taken(
    graph: Graph, catalog: Catalog, inside: Iterable[Node], reserved: Collection[str]
) -> dict[Port, str]:
    """Each port around the nodes that feeds them, and the name under which it is taken in.

    ``reserved`` are names that mean something else to the region.
    """
    inside = list(inside)
    ids = {node.id for node in inside}
    names: dict[Port, str] = {}
    for node in inside:
        for into, port in node.inputs.items():
            if port.node in ids or port in names:
                continue
            kind = port_kind(graph, catalog, port)
            wanted = into if kind in ("number", "any") else kind_name(kind)
            names[port] = free_name(wanted, {*names.values(), *reserved})
    return names


def _given(
    graph: Graph, catalog: Catalog, inside: Iterable[Node], taken: Mapping[Port, str]
) -> dict[str, tuple[Port, Port]]:
    """By name each port of the nodes that is used around them, and what passes in its place."""
    inside = list(inside)
    ids = {node.id for node in inside}
    used = dict.fromkeys(edge.source for edge in graph.edges if edge.target not in ids)
    used |= dict.fromkeys(graph.outputs.values())
    given: dict[str, tuple[Port, Port]] = {}
    for node in inside:
        spec = catalog.find(node.op)
        for port in output_ports(node, spec) if spec else ():
            if port not in used:
                continue
            kind = port_kind(graph, catalog, port)
            alike = [other for other in taken if port_kind(graph, catalog, other) == kind]
            if not alike:
                raise GraphEditError(
                    f"{port} gives {kind}, and the selected nodes take in no {kind} that could "
                    "pass in its place. Select nodes that change it."
                )
            origin = _origin(graph, catalog, port, taken)
            passes = origin if origin in alike else alike[0]
            given[free_name(taken[passes], given)] = port, passes
    if not given:
        raise GraphEditError("The selected nodes feed nothing: there is nothing to decide.")
    return given


def _origin(graph: Graph, catalog: Catalog, port: Port, taken: Mapping[Port, str]) -> Port | None:
    """What a port is made of: its node's first input, and so on until one that is taken in."""
    seen: set[Port] = set()
    while port not in taken and port not in seen and graph.has(port.node):
        seen.add(port)
        node = graph.node(port.node)
        spec = catalog.find(node.op)
        named = set(spec.args) if spec else set()
        named |= {control.name for control in spec.inputs} if spec and spec.bodies else set()
        port = next((each for into, each in node.inputs.items() if into not in named), port)
    return port if port in taken else None


@scoped("region")
def unwrap_region(
    graph: Graph, catalog: Catalog, region: str, body: str
) -> tuple[Graph, tuple[str, ...]]:
    """Replace a region by the nodes of one of its bodies. A draw that only decided goes too.

    Returns the graph and the ids of these nodes. Raises GraphEditError for what is no region, has
    no such body, or whose body lacks an output that is used.
    """
    node = graph.node(region)
    inner = node.bodies.get(body)
    if inner is None:
        names = ", ".join(node.bodies) or "none"
        raise GraphEditError(f"{region} has no body {body!r}. It has: {names}.")
    fed = {Port(node.scope(body), name): port for name, port in node.inputs.items()}
    given = {Port(region, name): fed.get(port, port) for name, port in inner.outputs.items()}
    used = [edge.source for edge in graph.consumers(region)] + list(graph.outputs.values())
    for port in used:
        if port.node == region and port not in given:
            raise GraphEditError(f"{node.scope(body)} does not give {port.output}, which is used.")
    at = graph.nodes.index(node)
    nodes = (
        *(node.rewire(given) for node in graph.nodes[:at]),
        *(node.rewire(fed) for node in inner.nodes),
        *(node.rewire(given) for node in graph.nodes[at + 1 :]),
    )
    outputs = {name: given.get(port, port) for name, port in graph.outputs.items()}
    edited = without_idle_generators(replace(graph, nodes=nodes, outputs=outputs), catalog, node)
    return edited, tuple(each.id for each in inner.nodes)
