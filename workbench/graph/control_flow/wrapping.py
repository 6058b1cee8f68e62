"""Wrap nodes in a new block, and replace a block by the nodes of one of its bodies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.control_flow.block_kinds import KINDS, MOST_OPTIONS
from workbench.graph.edits.compose import kind_name
from workbench.graph.edits.edit import new_node, scoped, without_idle_generators
from workbench.graph.edits.fragment import common_scope, with_own_generators
from workbench.graph.model import Body, Graph, Node, Port, Source
from workbench.graph.model.node_order import descendants, running_order
from workbench.graph.model.ports import KIND_WORDS, output_ports
from workbench.graph.types.devices import port_kind
from workbench.names import free_name


def wrap_in_block(
    graph: Graph,
    catalog: Catalog,
    nodes: Collection[str],
    op: str = "if",
    passing: Mapping[Port, Port] | None = None,
) -> tuple[Graph, str]:
    """Move nodes into the first body of a new block; the other bodies change nothing.

    Generators that feed only these nodes are moved too. If the block has a controlling input, it is
    connected to a new generator with equal probabilities. ``passing`` maps each output of the block
    to the input that the other bodies return instead. By default the outputs are the ports used
    outside the nodes, and the other bodies return the input that the output is computed from.
    Returns the graph and the block's id.

    Raises GraphEditError if the nodes are in several bodies, include readers, are not connected to
    the rest of the graph, have other nodes between them, or have an output without an input of the
    same kind.
    """
    body = graph.at_scope(common_scope(graph, nodes))
    chosen = with_own_generators(body, nodes)
    inside = tuple(node for node in body.nodes if node.id in chosen)
    _require_no_source(inside)
    _require_nothing_between(body, inside)
    controls = [port.name for port in catalog[op].inputs]
    # an input with the name of an argument would be that argument
    taken = _input_names(body, catalog, inside, {*controls, *catalog[op].args})
    if passing is None:
        given = _used_outputs(body, catalog, inside, taken)
    else:
        given = {taken[passes]: (port, passes) for port, passes in passing.items()}
    block = new_node(body, catalog, op)
    first, *others = catalog[op].bodies
    scope = block.scope(first)
    fed = {port: Port(scope, name) for port, name in taken.items()}
    outputs = {name: port for name, (port, _) in given.items()}
    fed_nodes = tuple(node.rewire(fed) for node in inside)
    bodies = {first: Body(fed_nodes, outputs, tuple(taken.values()))}
    for name in others:
        passed = {output: passes for output, (_, passes) in given.items()}
        inner = {output: Port(block.scope(name), taken[port]) for output, port in passed.items()}
        used = tuple(taken[port] for port in taken if port in passed.values())
        bodies[name] = Body((), inner, used)
    inputs = {name: port for port, name in taken.items()}
    block = replace(block, inputs=inputs, bodies=bodies)
    moved = {port: Port(block.id, name) for name, (port, _) in given.items()}
    return _with_block(body, catalog, block, moved).whole, block.id


def _with_block(graph: Graph, catalog: Catalog, block: Node, moved: Mapping[Port, Port]) -> Graph:
    """Replace the nodes that are inside a new block with the block and its generator.

    ``moved`` maps outputs of these nodes to outputs of the block. Returns the graph.
    """
    kind = KINDS[block.op]
    generator = kind.new_generator(graph, catalog, block)
    made = [block]
    if generator is not None:
        inputs = {kind.control: Port(generator.id, "output"), **block.inputs}
        made = [generator, replace(block, inputs=inputs)]
    removed = {node.id for body in block.bodies.values() for node in body.nodes}
    last = max(index for index, node in enumerate(graph.nodes) if node.id in removed)
    before = [node for node in graph.nodes[:last] if node.id not in removed]
    around = replace(graph, nodes=(*before, *graph.nodes[last + 1 :])).rewire(moved)
    at = len(before)
    return replace(around, nodes=(*around.nodes[:at], *made, *around.nodes[at:]))


def _require_no_source(nodes: Iterable[Node]) -> None:
    for node in nodes:
        if isinstance(node, Source):
            raise GraphEditError(
                f"{node.id!r} is a reader, which always runs for the whole batch. Select nodes "
                "after it."
            )


def wrap_as_options(
    graph: Graph, catalog: Catalog, nodes: Collection[str], op: str = "one_of"
) -> tuple[Graph, str]:
    """Turn a chain of nodes into a new block with one node per body.

    A single node gets a second body that changes nothing. Generators that feed only one of the
    nodes are moved too. A new generator selects a body with equal probabilities. Returns the graph
    and the block's id. Raises GraphEditError if the nodes are not a chain in which each feeds the
    next, and for more than ``MOST_OPTIONS`` nodes.
    """
    body = graph.at_scope(common_scope(graph, nodes))
    chosen = [
        node
        for node in running_order(body.nodes)[0]
        if node.id in nodes and not _is_generator(node)
    ]
    if len(chosen) > MOST_OPTIONS:
        raise GraphEditError(
            f"{len(chosen)} nodes are selected. Select at most {MOST_OPTIONS}, one for each option."
        )
    links = _chain(body, catalog, chosen)
    start, end = links[0][0], links[-1][1]
    name = kind_name(port_kind(body, catalog, start))
    count = max(2, len(chosen))
    block = new_node(body, catalog, op)
    block = block.with_args(KINDS[op].start_args(count))
    options = [(node, into) for node, (_, _, into) in zip(chosen, links, strict=True)]
    inputs, bodies = {name: start}, {}
    reserved = {KINDS[op].control, *catalog[op].args}
    for number, body_name in enumerate(catalog[op].body_names(count)):
        scope = block.scope(body_name)
        if number >= len(options):
            bodies[body_name] = Body((), {name: Port(scope, name)}, (name,))
            continue
        node, into = options[number]
        along = with_own_generators(body, [node.id]) - {start.node}
        inside = [n for n in body.nodes if n.id in along]
        fed, taken = _connected_option(inside, node, into, name, scope, inputs, reserved)
        given = {name: links[number][1]}
        bodies[body_name] = Body(tuple(fed), given, tuple(taken))
    block = replace(block, inputs=inputs, bodies=bodies)
    return _with_block(body, catalog, block, {end: Port(block.id, name)}).whole, block.id


def _is_generator(node: Node) -> bool:
    return node.op.startswith("random.")


def _chain(graph: Graph, catalog: Catalog, nodes: Sequence[Node]) -> list[tuple[Port, Port, str]]:
    """Return the source port, the output port and the name of the connected input of each node.

    Raises GraphEditError if the nodes are not a chain.
    """
    if not nodes:
        raise GraphEditError("No node is selected. Select the nodes for the options.")
    _require_no_source(nodes)
    links: list[tuple[Port, Port, str]] = []
    for node in nodes:
        used = [
            port for port in output_ports(node, catalog[node.op]) if port in graph.body.used_ports
        ]
        before = links[-1][1] if links else None
        if len(used) != 1:
            raise GraphEditError(
                f"{node.id!r} has {len(used)} outputs in use, but an option must have exactly "
                "one. Select other nodes."
            )
        kind = port_kind(graph, catalog, used[0])
        if links and kind != (first := port_kind(graph, catalog, links[0][1])):
            raise GraphEditError(
                f"{node.id!r} outputs {KIND_WORDS[kind]}, but {nodes[0].id!r} outputs "
                f"{KIND_WORDS[first]}. Select nodes with the same kind of output."
            )
        through = [
            (into, port)
            for into, port in node.inputs.items()
            if port == before or (before is None and port_kind(graph, catalog, port) == kind)
        ]
        if not through:
            wanted = f"the output of {nodes[len(links) - 1].id!r}" if links else KIND_WORDS[kind]
            raise GraphEditError(
                f"{node.id!r} does not use {wanted}. Select nodes that feed each other."
            )
        into, port = through[0]
        links.append((port, used[0], into))
    for node, (_, given, _), follower in zip(nodes, links, nodes[1:], strict=False):
        others = [e.target for e in graph.consumers(node.id) if e.target != follower.id]
        if others or given in graph.outputs.values():
            raise GraphEditError(
                f"{repr(others[0]) if others else 'An output'} uses the output of {node.id!r}, "
                "which would not run for every sample. Use an output before or after the "
                "selected nodes."
            )
    return links


def _connected_option(
    inside: Sequence[Node],
    node: Node,
    into: str,
    name: str,
    scope: str,
    inputs: dict[str, Port],
    reserved: Collection[str],
) -> tuple[list[Node], list[str]]:
    """Connect the nodes of an option to the inputs of its body, and add new inputs to ``inputs``.

    Returns the connected nodes and the names of the inputs that they use.
    """
    ids, taken = {each.id for each in inside}, [name]
    fed: list[Node] = []
    for each in inside:
        ports = {}
        for target, port in each.inputs.items():
            if port.node in ids:
                ports[target] = port
                continue
            leads = each is node and target == into
            outer = name if leads else _input_name(inputs, target, port, reserved)
            if outer not in taken:
                taken.append(outer)
            ports[target] = Port(scope, outer)
        fed.append(replace(each, inputs=ports))
    return fed, taken


def _input_name(
    inputs: dict[str, Port], preferred: str, port: Port, reserved: Collection[str]
) -> str:
    name, number = preferred, 2
    while name in reserved or inputs.get(name, port) != port:
        name, number = f"{preferred}_{number}", number + 1
    inputs[name] = port
    return name


def _require_nothing_between(graph: Graph, inside: Collection[Node]) -> None:
    if not inside:
        raise GraphEditError("No node is selected. Select the nodes to run for some samples.")
    ids = {node.id for node in inside}
    behind = descendants(graph, ids)
    for node in inside:
        for port in node.inputs.values():
            if port.node in behind:
                raise GraphEditError(
                    f"{port.node!r} is between the selected nodes and feeds {node.id!r}. Select "
                    f"{port.node!r} too."
                )


def _input_names(
    graph: Graph, catalog: Catalog, inside: Iterable[Node], reserved: Collection[str]
) -> dict[Port, str]:
    """Return the outer ports that the nodes use, mapped to names of inputs of the block.

    Names in ``reserved``, such as those of the block's arguments, are not used.
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


def _used_outputs(
    graph: Graph, catalog: Catalog, inside: Iterable[Node], names: Mapping[Port, str]
) -> dict[str, tuple[Port, Port]]:
    """Return the ports of each output of a new block: in its first body, and in the others."""
    inside = list(inside)
    ids = {node.id for node in inside}
    used = dict.fromkeys(edge.source for edge in graph.edges if edge.target not in ids)
    used |= dict.fromkeys(graph.outputs.values())
    given: dict[str, tuple[Port, Port]] = {}
    for node in inside:
        for port in output_ports(node, catalog.find(node.op)):
            if port not in used:
                continue
            kind = port_kind(graph, catalog, port)
            alike = [other for other in names if port_kind(graph, catalog, other) == kind]
            if not alike:
                raise GraphEditError(
                    f"{port} outputs {KIND_WORDS[kind]}, but the selected nodes have no input of "
                    "that kind, which skipped samples would need. Select nodes that have one."
                )
            origin = _origin(graph, catalog, port, names)
            passes = origin if origin in alike else alike[0]
            given[free_name(names[passes], given)] = port, passes
    if not given:
        raise GraphEditError("The selected nodes feed no other node or output. Connect them first.")
    return given


def _origin(graph: Graph, catalog: Catalog, port: Port, names: Mapping[Port, str]) -> Port | None:
    """Return the block input that a port is computed from through first inputs, or None."""
    seen: set[Port] = set()
    while port not in names and port not in seen and graph.has(port.node):
        seen.add(port)
        node = graph.node(port.node)
        spec = catalog.find(node.op)
        named = set(spec.args) if spec else set()
        named |= {control.name for control in spec.inputs} if spec and spec.bodies else set()
        port = next((each for into, each in node.inputs.items() if into not in named), port)
    return port if port in names else None


def passing_input(graph: Graph, catalog: Catalog, block: Node, output: str) -> str:
    """Return the block input of the right kind to replace an output, preferably of the same name.

    ``graph`` is the body that contains the block, or the whole graph. Raises GraphEditError if
    there is no such input.
    """
    kind = port_kind(graph, catalog, Port(block.id, output))
    control = KINDS[block.op].control
    fed = {name: port for name, port in block.inputs.items() if name != control}
    alike = [name for name, port in fed.items() if port_kind(graph, catalog, port) == kind]
    if not alike:
        raise GraphEditError(
            f"{block.id!r} has no input for {KIND_WORDS[kind]} that could replace the output "
            f"{output!r}. Connect one."
        )
    return output if output in alike else alike[0]


@scoped("block")
def unwrap_block(
    graph: Graph, catalog: Catalog, block: str, body: str
) -> tuple[Graph, tuple[str, ...]]:
    """Replace a block with the nodes of one of its bodies, and remove its controlling generator.

    Returns the graph and the ids of these nodes. Raises GraphEditError if the node is not a block
    or has no such body, or if the body lacks an output that is used.
    """
    node = graph.node(block)
    inner = node.bodies.get(body)
    if inner is None:
        names = ", ".join(node.bodies) or "none"
        raise GraphEditError(f"{block!r} has no body {body!r}. It has: {names}.")
    fed = {Port(node.scope(body), name): port for name, port in node.inputs.items()}
    given = {Port(block, name): fed.get(port, port) for name, port in inner.outputs.items()}
    for port in graph.body.used_ports:
        if port.node == block and port not in given:
            raise GraphEditError(
                f"{port} is in use, but the body {body!r} has no output of that name. Add the "
                "output first."
            )
    at = graph.nodes.index(node)
    nodes = (
        *(node.rewire(given) for node in graph.nodes[:at]),
        *(node.rewire(fed) for node in inner.nodes),
        *(node.rewire(given) for node in graph.nodes[at + 1 :]),
    )
    outputs = {name: given.get(port, port) for name, port in graph.outputs.items()}
    edited = without_idle_generators(replace(graph, nodes=nodes, outputs=outputs), catalog, node)
    return edited, tuple(each.id for each in inner.nodes)
