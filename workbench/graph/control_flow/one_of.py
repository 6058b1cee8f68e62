"""Regions that run one of several bodies for each sample: made, extended, weighed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from numbers import Real

from workbench.catalog.own_operators.regions import REGIONS
from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.control_flow.regions import wrap_in_region
from workbench.graph.edits.compose import kind_name
from workbench.graph.edits.edit import new_node
from workbench.graph.edits.fragment import common_scope, with_own_generators
from workbench.graph.edits.rename import rename_node
from workbench.graph.model import Body, Graph, Node, Port, Source
from workbench.graph.model.node_order import running_order
from workbench.graph.model.ports import output_ports
from workbench.graph.model.scoped import scoped
from workbench.graph.types.devices import port_kind

OP = "one_of"
DRAW = "random.choice"
CHOICE = "choice"
"""The input that decides."""
_DIGITS = 4
"""Of a probability behind the point, where that tells all weights from 0."""
_MOST_DIGITS = 16
MOST = 32
"""Bodies of one region: as many frames as a person can tell apart."""


def choose_one_of(
    graph: Graph, catalog: Catalog, nodes: Collection[str], op: str = OP
) -> tuple[Graph, str]:
    """Put nodes of a chain side by side into a new region, which runs one of them for each sample.

    A single node stands beside nothing at all. Generators that feed only one of them come along.
    A new draw with equal weights decides. Returns the graph and the region's id. Raises
    GraphEditError where the nodes are no chain of which each takes in what the one before gives,
    and for more than ``MOST``.
    """
    body = graph.at_scope(common_scope(graph, nodes))
    chosen = [
        node for node in running_order(body.nodes)[0] if node.id in nodes and not _draws(node)
    ]
    if len(chosen) > MOST:
        raise GraphEditError(f"{len(chosen)} nodes are selected. There may be {MOST} options.")
    links = _chain(body, catalog, chosen)
    start, end = links[0][0], links[-1][1]
    name = kind_name(port_kind(body, catalog, start))
    region = new_node(body, catalog, op)
    options = [(node, into) for node, (_, _, into) in zip(chosen, links, strict=True)]
    count = max(2, len(options))
    inputs, bodies = {name: start}, {}
    reserved = {CHOICE, *catalog[op].args}
    for number, body_name in enumerate(catalog[op].body_names(count)):
        scope = region.scope(body_name)
        if number >= len(options):
            bodies[body_name] = Body((), {name: Port(scope, name)}, (name,))
            continue
        node, into = options[number]
        along = with_own_generators(body, [node.id]) - {start.node}
        inside = [n for n in body.nodes if n.id in along]
        fed, taken = _taken_in(inside, node, into, name, scope, inputs, reserved)
        given = {name: links[number][1]}
        bodies[body_name] = Body(tuple(fed), given, tuple(taken))
    draw = _draw(body, catalog, count)
    region = replace(region, inputs={CHOICE: Port(draw.id, "output"), **inputs}, bodies=bodies)
    gone = {node.id for inner in bodies.values() for node in inner.nodes}
    last = max(index for index, node in enumerate(body.nodes) if node.id in gone)
    made = Port(region.id, name)

    def behind(ports: Mapping[str, Port]) -> dict[str, Port]:
        return {name: made if port == end else port for name, port in ports.items()}

    rest = [replace(node, inputs=behind(node.inputs)) for node in body.nodes if node.id not in gone]
    at = sum(node.id not in gone for node in body.nodes[:last])
    around = (*rest[:at], draw, region, *rest[at:])
    return replace(body, nodes=around, outputs=behind(body.outputs)).whole, region.id


def choose_chain(graph: Graph, catalog: Catalog, nodes: Collection[str]) -> tuple[Graph, str]:
    """Put nodes together into the first option of a new region; the second one changes nothing.

    Returns the graph and the region's id. Raises GraphEditError as ``wrap_in_region`` does.
    """
    graph, region = wrap_in_region(graph, catalog, nodes, OP)
    inside = graph.at_scope(graph.scope_of(region))
    coin = inside.node(inside.node(region).inputs[CHOICE].node)
    draw = replace(_draw(inside, catalog, 2), seed=coin.seed)
    return rename_node(
        inside.replace_node(replace(draw, id=coin.id)).whole, coin.id, draw.id
    ), region


def _draws(node: Node) -> bool:
    return node.op.startswith("random.")


def _chain(graph: Graph, catalog: Catalog, nodes: Sequence[Node]) -> list[tuple[Port, Port, str]]:
    """For each node what feeds it, what it gives, and through which input.

    Raises GraphEditError where they are no chain.
    """
    if not nodes:
        raise GraphEditError("No node is selected. Select those of which one is to run.")
    links: list[tuple[Port, Port, str]] = []
    for node in nodes:
        if isinstance(node, Source):
            raise GraphEditError(
                f"{node.id} reads, and DALI reads whole batches only. Choose what comes after it."
            )
        used = [port for port in output_ports(node, catalog[node.op]) if _is_used(graph, port)]
        before = links[-1][1] if links else None
        if len(used) != 1:
            raise GraphEditError(
                f"{node.id} gives {len(used)} outputs that are used, and an option gives one."
            )
        kind = port_kind(graph, catalog, used[0])
        if links and kind != (first := port_kind(graph, catalog, links[0][1])):
            raise GraphEditError(
                f"{node.id} gives {kind}, and {nodes[0].id} {first}: options give the same. "
                "Select nodes that do."
            )
        through = [
            (into, port)
            for into, port in node.inputs.items()
            if port == before or (before is None and port_kind(graph, catalog, port) == kind)
        ]
        if not through:
            wanted = f"what {nodes[len(links) - 1].id} gives" if links else f"{kind} as it gives"
            raise GraphEditError(
                f"{node.id} does not take in {wanted}. Select nodes that follow each other."
            )
        into, port = through[0]
        links.append((port, used[0], into))
    for node, (_, given, _), follower in zip(nodes, links, nodes[1:], strict=False):
        others = [e.target for e in graph.consumers(node.id) if e.target != follower.id]
        if others or given in graph.outputs.values():
            raise GraphEditError(
                f"{others[0] if others else 'An output'} takes what {node.id} gives, and not every "
                "sample will come there. Take it from before or behind the selected nodes."
            )
    return links


def _is_used(graph: Graph, port: Port) -> bool:
    fed = any(edge.source == port for edge in graph.consumers(port.node))
    return fed or port in graph.outputs.values()


def _taken_in(
    inside: Sequence[Node],
    node: Node,
    into: str,
    name: str,
    scope: str,
    inputs: dict[str, Port],
    reserved: Collection[str],
) -> tuple[list[Node], list[str]]:
    """The nodes of an option, fed from what its body takes in; ``inputs`` gets what is new."""
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


def _input_name(inputs: dict[str, Port], wanted: str, port: Port, reserved: Collection[str]) -> str:
    name, number = wanted, 2
    while name in reserved or inputs.get(name, port) != port:
        name, number = f"{wanted}_{number}", number + 1
    inputs[name] = port
    return name


def _draw(graph: Graph, catalog: Catalog, count: int) -> Node:
    node = new_node(graph, catalog, DRAW, CHOICE)
    return _with_weights(node, [1.0] * count)


def _with_weights(draw: Node, weights: Sequence[float]) -> Node:
    """The draw with such weights; without ``p`` where all are equal, as DALI then takes them."""
    args = {name: value for name, value in draw.args.items() if name != "p"}
    args["population"] = len(weights)
    found = shares(weights)
    if len(set(weights)) > 1:
        args["p"] = found
    return replace(draw, args=args)


def shares(weights: Sequence[float]) -> tuple[float, ...]:
    """Weights as probabilities that sum to 1. Raises GraphEditError where they cannot."""
    numbers = all(isinstance(weight, Real) for weight in weights)
    finite = numbers and all(0 <= weight < float("inf") for weight in weights)
    if not finite or not sum(weights) > 0:
        given = ", ".join(f"{weight:g}" if numbers else repr(weight) for weight in weights)
        raise GraphEditError(
            f"The weights are {given}. Give a finite number, 0 or more, for each, "
            "not all of them 0."
        )
    exact = [weight / max(weights) for weight in weights]
    exact = [weight / sum(exact) for weight in exact]
    for digits in range(_DIGITS, _MOST_DIGITS):  # a weight that is no 0 stays none
        rounded = [round(share, digits) for share in exact]
        if all(rounded[index] for index, share in enumerate(exact) if share):
            break
    largest = max(range(len(rounded)), key=lambda index: rounded[index])
    rounded[largest] = round(rounded[largest] + 1 - sum(rounded), digits)
    return tuple(rounded)


def _even(count: int) -> tuple[float, ...]:
    return (1 / count,) * count


def draw_of(graph: Graph, region: Node) -> Node | None:
    """The draw that decides in a region alone and with weights of its own, or None."""
    port = region.inputs.get(CHOICE)
    node = graph.node(port.node) if port is not None and graph.has(port.node) else None
    return node if node is not None and node.op == DRAW and not node.inputs else None


def weights_of(graph: Graph, region: Node) -> tuple[float, ...] | None:
    """The probability of each body, or None where no draw of the workbench decides."""
    draw = draw_of(graph, region)
    if region.op != OP or draw is None or draw.args.get("population") != len(region.bodies):
        return None
    given = draw.args.get("p")
    if given is None:
        return _even(len(region.bodies))
    if not isinstance(given, tuple) or len(given) != len(region.bodies):
        return None
    weights = tuple(float(value) for value in given if isinstance(value, int | float))
    return weights if len(weights) == len(given) else None


@scoped("region")
def set_weights(graph: Graph, catalog: Catalog, region: str, weights: Sequence[float]) -> Graph:
    """Let each body run with a probability in the proportion of its weight.

    Raises GraphEditError for another number of weights than of bodies, for weights below 0 or all
    of them 0, and where something else than a draw decides.
    """
    node, draw = _weighed(graph, region)
    if node.op != OP:
        raise GraphEditError(f"{region} is {node.op}, whose bodies run equally often.")
    if len(weights) != len(node.bodies):
        raise GraphEditError(
            f"{region} has {len(node.bodies)} bodies, and {len(weights)} weights were given. "
            f"Give one for each: {', '.join(node.bodies)}."
        )
    return graph.replace_node(_with_weights(draw, weights))


@scoped("region")
def add_option(graph: Graph, catalog: Catalog, region: str) -> Graph:
    """Add a body that passes on what the first one changes; it runs as often as the others do."""
    node, draw = _weighed(graph, region)
    if len(node.bodies) >= MOST:
        raise GraphEditError(f"{region} has {MOST} bodies, which is the most.")
    name = catalog[OP].body_names(len(node.bodies) + 1)[-1]
    outputs, taken = {}, []
    for output, port in next(iter(node.bodies.values())).outputs.items():
        passes = _passes(graph, catalog, node, output, port)
        outputs[output] = Port(node.scope(name), passes)
        taken.append(passes)
    bodies = {**node.bodies, name: Body((), outputs, tuple(dict.fromkeys(taken)))}
    before = weights_of(graph, node) or _even(len(node.bodies))
    graph = graph.replace_node(replace(node, bodies=bodies))
    return graph.replace_node(_with_weights(draw, [*before, 1 / len(before)]))


@scoped("region")
def remove_option(graph: Graph, catalog: Catalog, region: str, body: str) -> Graph:
    """Remove a body; the others keep the proportions of their weights, and move up.

    Raises GraphEditError where two are left, for they are the least.
    """
    node, draw = _weighed(graph, region)
    names = catalog[OP].body_names(len(node.bodies))
    if body not in node.bodies:
        raise GraphEditError(f"{region} has no body {body!r}. It has: {', '.join(names)}.")
    if len(names) == 2:
        raise GraphEditError(f"{region} has two bodies, which is the least. Keep only one of them.")
    left = [name for name in names if name != body]
    before = weights_of(graph, node) or _even(len(names))
    kept = [before[names.index(name)] for name in left]
    new = dict(zip(left, names, strict=False))
    bodies = {new[name]: _moved(node, name, new[name]) for name in left}
    graph = graph.replace_node(replace(node, bodies=bodies))
    weighed = _with_weights(draw, kept if sum(kept) else _even(len(left)))
    return graph.replace_node(weighed)


@scoped("region")
def move_option(graph: Graph, catalog: Catalog, region: str, body: str, by: int) -> Graph:
    """Let a body change places with the one before (-1) or behind it (1), with its weight.

    Raises GraphEditError where there is none.
    """
    node = graph.node(region)
    names = list(node.bodies)
    if body not in names or not 0 <= names.index(body) + by < len(names) or abs(by) != 1:
        raise GraphEditError(f"{region} has no body {by:+d} from {body[:40]!r}.")
    other = names[names.index(body) + by]
    bodies = dict(node.bodies)
    bodies[other], bodies[body] = _moved(node, body, other), _moved(node, other, body)
    weights = weights_of(graph, node)
    graph = graph.replace_node(replace(node, bodies=bodies))
    draw = draw_of(graph, node)
    if weights is None or draw is None or len(set(weights)) == 1:
        return graph
    swapped = dict(zip(names, weights, strict=True))
    swapped[body], swapped[other] = swapped[other], swapped[body]
    args = {**draw.args, "p": tuple(swapped[name] for name in names)}
    return graph.replace_node(replace(draw, args=args))


def _moved(region: Node, old: str, new: str) -> Body:
    """A body under another name, which is that of its scope too."""
    return region.bodies[old].renamed(region.scope(old), region.scope(new))


def _weighed(graph: Graph, region: str) -> tuple[Node, Node]:
    node = graph.node(region)
    if not REGIONS.get(node.op, REGIONS["if"]).numbered_bodies:
        raise GraphEditError(f"{region} is {node.op}, and only {OP} has options.")
    names = REGIONS[node.op].body_names(len(node.bodies))
    if {*names} != {*node.bodies}:
        raise GraphEditError(
            f"{region} has the bodies {', '.join(node.bodies)}, and {node.op} has "
            f"{', '.join(names)}. Copy their nodes into a new region."
        )
    draw = draw_of(graph, node)
    if draw is None:
        source = node.inputs.get(CHOICE)
        raise GraphEditError(
            f"{source or 'Nothing'} decides in {region}. Feed {CHOICE} from {DRAW} for weights."
        )
    return node, draw


def _passes(graph: Graph, catalog: Catalog, region: Node, output: str, port: Port) -> str:
    """The input of a region that passes in place of an output: of its name, else of its kind."""
    if output in region.inputs and output != CHOICE:
        return output
    kind = port_kind(graph, catalog, Port(region.id, output))
    for name, source in region.inputs.items():
        if name != CHOICE and port_kind(graph, catalog, source) == kind:
            return name
    raise GraphEditError(
        f"{region.id} takes in no {kind} that could pass in the place of {output}. Connect one."
    )
