"""Edit nodes and arguments with pure functions that return a new graph.

An edit that refers to something missing raises GraphEditError and changes nothing. The resulting
graph may have faults: see ``check_graph``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import signature
from itertools import count
from typing import Any, ParamSpec, TypeVar, cast

from workbench.catalog.extra_operators.auto_augment import OWN_POLICY, learnt_policies
from workbench.catalog.spec import Catalog, OpSpec, Value, kind_fits
from workbench.errors import GraphEditError, UnknownNameError
from workbench.graph.edits.generators import generator_args, generator_refusal, generators_for
from workbench.graph.model import Graph, Node, Port, Source, is_name
from workbench.graph.model.bounds import LARGEST_SEED, USUAL_SEEDS
from workbench.graph.model.graph import changed_settings
from workbench.graph.model.node_order import topological
from workbench.graph.model.ports import KIND_WORDS, output_ports
from workbench.graph.types.devices import decodes, is_generator, port_kind
from workbench.names import free_name

# Edits inside blocks

P = ParamSpec("P")
T = TypeVar("T")


def scoped(parameter: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorator that applies an edit to the body that contains the node passed as ``parameter``.

    The edit receives this body as a graph. The graph that it returns (alone or as the first item)
    is inserted back into the whole graph.
    """

    def decorate(edit: Callable[P, T]) -> Callable[P, T]:
        place = list(signature(edit).parameters).index(parameter)

        @wraps(edit)
        def edited(*args: P.args, **options: P.kwargs) -> T:
            graph = cast(Graph, args[0])
            node = options[parameter] if parameter in options else args[place]
            named = isinstance(node, str) and graph.enclosing is None and graph.has(node)
            scope = graph.scope_of(cast(str, node)) if named else ""
            if not scope:
                return edit(*args, **options)
            inside: Any = (graph.at_scope(scope), *args[1:])
            return cast(T, _whole_graph(edit(*inside, **options)))

        return edited

    return decorate


def _whole_graph(result: Any) -> Any:
    if isinstance(result, Graph):
        return result.whole
    first, *rest = result
    return (first.whole, *rest)


def free_id(graph: Graph, preferred: str, reserved: Iterable[str] = ()) -> str:
    """Return ``preferred``, or ``preferred`` with a number if that id is in use or ``reserved``."""
    preferred = preferred.replace(".", "_")
    if not is_name(preferred):
        preferred = "node"
    taken = {node.id for node in graph.whole.walk()} | set(graph.outputs) | set(reserved)
    return free_name(preferred, taken)


def usable_spec(catalog: Catalog, op: str) -> OpSpec:
    """Return the specification of an operator.

    Raises GraphEditError if the operator cannot be used, and CatalogError if it is unknown.
    """
    spec = catalog[op]
    if spec.unusable:
        raise GraphEditError(f"{op} cannot be added: {spec.unusable}.")
    return spec


def new_node(graph: Graph, catalog: Catalog, op: str, wanted_id: str | None = None) -> Node:
    """Create a node with the operator's initial arguments, without adding it to the graph."""
    spec = catalog[op]
    return Node(
        id=free_id(graph, wanted_id or default_id(op)),
        op=op,
        args={name: arg.start for name, arg in spec.args.items() if arg.start is not None},
        seed=free_seed(graph) if spec.seeded else None,
    )


class NewNodes:
    """Adds nodes to a body, each with an unused id and seed."""

    def __init__(self, body: Graph, catalog: Catalog) -> None:
        self.body = body
        """The body, with the new nodes at the end."""
        self.catalog = catalog
        self.nodes: list[Node] = []

    def add(
        self,
        op: str,
        args: Mapping[str, Value],
        inputs: Mapping[str, Port],
        node_id: str | None = None,
    ) -> Port:
        """Add a node and return its first output port. ``node_id`` is the preferred id."""
        fresh = new_node(self.body, self.catalog, op, node_id)
        node = replace(fresh, args=args, inputs=inputs)
        self.body = replace(self.body, nodes=(*self.body.nodes, node))
        self.nodes.append(node)
        return Port(node.id, self.catalog[op].outputs[0].name)


def default_id(op: str) -> str:
    """Return the default id of a node: ``reader``, ``decode``, or the last part of ``op``."""
    module, _, word = op.rpartition(".")
    if word == "if":  # not a valid variable name
        return "branch"
    return {"readers": "reader", "decoders": "decode"}.get(module, word)


def start_graph(catalog: Catalog, name: str = "untitled") -> Graph:
    """Return a minimal graph that reads and decodes the images of a folder."""
    graph = Graph(name=name)
    reader = new_node(graph, catalog, "readers.file", "reader")
    graph = replace(graph, nodes=(reader,))
    decoder = new_node(graph, catalog, "decoders.image", "decode")
    decoder = replace(
        decoder, inputs={catalog[decoder.op].inputs[0].name: Port(reader.id, "jpegs")}
    )
    outputs = {
        "images": Port(decoder.id, catalog[decoder.op].outputs[0].name),
        "labels": Port(reader.id, "labels"),
    }
    return replace(graph, nodes=(reader, decoder), outputs=outputs)


def ordered_nodes(graph: Graph, catalog: Catalog) -> list[Node]:
    """Return all nodes except generators in topological order, followed by nodes in cycles."""
    ordered, cyclic = topological(graph)
    return [n for n in ordered + cyclic if n.op not in catalog or not is_generator(catalog[n.op])]


@scoped("after")
def insert_node(graph: Graph, catalog: Catalog, op: str, after: str) -> tuple[Graph, str]:
    """Insert a new node after the node ``after``, in front of the consumers of its output.

    ``after`` can also be the scope of the current body: the node then follows the body's input.
    Returns the graph and the new node's id. Raises CatalogError for an unknown operator and
    GraphEditError if the operator does not fit there.
    """
    spec = usable_spec(catalog, op)
    port = _port_to_follow(graph, catalog, after, spec)
    node = new_node(graph, catalog, op)
    node = replace(node, inputs={spec.inputs[0].name: port})
    moved = Port(node.id, spec.outputs[0].name)
    graph = graph.rewire({port: moved})
    if graph.has(after):
        return graph.substitute(after, graph.node(after), node), node.id
    return replace(graph, nodes=(node, *graph.nodes)), node.id


def _port_to_follow(graph: Graph, catalog: Catalog, after: str, spec: OpSpec) -> Port:
    ports = ports_at(graph, catalog, after)
    if not spec.inputs or not spec.outputs:
        raise GraphEditError(
            f"{spec.name} lacks an input or an output, so it cannot be added to a chain. Add it "
            "without a connection."
        )
    want = spec.inputs[0].kind
    for port in ports:
        if kind_fits(want, port_kind(graph, catalog, port)):
            return port
    kinds = dict.fromkeys(KIND_WORDS[port_kind(graph, catalog, port)] for port in ports)
    raise GraphEditError(
        f"{spec.name} accepts {KIND_WORDS[want]}, but {after!r} outputs "
        f"{' and '.join(kinds) or 'nothing'}. Add {spec.name} later in the chain."
    )


def ports_at(graph: Graph, catalog: Catalog, place: str) -> list[Port]:
    """Return the output ports of a node or, if ``place`` is the current body, its inputs."""
    if place and place == graph.scope:
        return [Port(place, name) for name in graph.whole.body_at(place).inputs]
    node = graph.node(place)
    return output_ports(node, catalog[node.op])


def is_movable(node: Node, catalog: Catalog) -> bool:
    """Return whether a node can be moved in its chain: it is not a reader, decoder or block."""
    if node.bodies:
        return False
    if node.op not in catalog:
        return True
    return not (isinstance(node, Source) or decodes(catalog[node.op]))


def without_idle_generators(graph: Graph, catalog: Catalog, removed: Node) -> Graph:
    """Remove the generators whose only consumer was the node ``removed``."""
    feeding = {port.node for port in graph.body.used_ports}
    idle = {
        port.node
        for port in removed.inputs.values()
        if graph.has(port.node)
        and (spec := catalog.find(graph.node(port.node).op)) is not None
        and is_generator(spec)
        and port.node not in feeding
    }
    return replace(graph, nodes=tuple(n for n in graph.nodes if n.id not in idle))


@scoped("node_id")
def move_node(graph: Graph, catalog: Catalog, node_id: str, by: int) -> Graph:
    """Swap a node with the previous (``by=-1``) or next (``by=1``) node in the chain."""
    node = graph.node(node_id)
    if by not in (-1, 1):
        raise GraphEditError(f"{node_id!r} cannot move by {by}. Use -1 or 1.")
    if by == 1:
        followers = [e.target for e in graph.consumers(node_id)]
        if len(set(followers)) != 1:
            raise GraphEditError(
                f"{node_id!r} feeds {len(set(followers))} nodes, but only a node that feeds "
                "exactly one can move later in the chain."
            )
        return move_node(graph, catalog, followers[0], -1)
    name, source = _image_input(node, catalog)
    if source.node == graph.scope:
        raise GraphEditError(f"{node_id!r} is the first node of its body and cannot move earlier.")
    earlier = graph.node(source.node)
    if not is_movable(node, catalog) or not is_movable(earlier, catalog):
        raise GraphEditError(
            f"{node_id!r} cannot move before {earlier.id!r}: readers, decoders and blocks cannot "
            "be moved."
        )
    if len(graph.consumers(earlier.id)) != 1:
        raise GraphEditError(
            f"{node_id!r} cannot move before {earlier.id!r}, because {earlier.id!r} feeds several "
            "inputs."
        )
    earlier_name, earlier_source = _image_input(earlier, catalog)
    node_out = next(iter(catalog[node.op].outputs)).name
    moved = Port(node_id, node_out)
    nodes = []
    for other in graph.nodes:
        if other.id == node_id:
            nodes.append(earlier.fed({earlier_name: moved}))
        elif other.id == earlier.id:
            nodes.append(node.fed({name: earlier_source}))
        else:
            nodes.append(other.rewire({moved: source}))
    exchanged = {moved: source, source: moved}
    outputs = {k: exchanged.get(p, p) for k, p in graph.outputs.items()}
    return replace(graph, nodes=tuple(nodes), outputs=outputs)


def _image_input(node: Node, catalog: Catalog) -> tuple[str, Port]:
    for name, port in node.inputs.items():
        if name not in catalog[node.op].args:
            return name, port
    raise GraphEditError(f"{node.id!r} has no image input, so it cannot be moved.")


@scoped("node_id")
def set_arg(graph: Graph, catalog: Catalog, node_id: str, arg: str, value: Value) -> Graph:
    """Set an argument to a fixed value. Remove its link and the arguments that exclude it."""
    node = graph.node(node_id)
    if node.op in catalog and arg not in catalog[node.op].args:
        hint = catalog[node.op].argument_hint(arg)
        where = node_id if node_id == node.op else f"{node_id} ({node.op})"
        raise UnknownNameError(f"{where} has no argument {arg!r}. {hint}")
    cleared = _without(node, catalog, arg)
    # an existing value keeps its position, so that code and inspector stay stable
    valid = {name: v for name, v in node.args.items() if name in cleared.args or name == arg}
    changed = replace(cleared, args={**valid, arg: value})
    return without_idle_generators(graph.replace_node(changed), catalog, node)


@scoped("node_id")
def reset_arg(graph: Graph, catalog: Catalog, node_id: str, arg: str) -> Graph:
    """Remove an argument's link and reset it to its initial value or DALI's default."""
    node = graph.node(node_id)
    cleared = node.without({arg})
    if node.op in catalog and arg in catalog[node.op].args:
        spec = catalog[node.op]
        start = spec.args[arg].start
        given = cleared.args.keys() | cleared.inputs.keys()
        if start is not None and not spec.conflicts_with(arg) & given:
            cleared = cleared.with_args({arg: start})
    graph = graph.replace_node(cleared)
    return without_idle_generators(graph, catalog, node)


def _without(node: Node, catalog: Catalog, arg: str) -> Node:
    """Return the node without an argument and without the arguments that exclude it."""
    removed = {arg} | (catalog[node.op].conflicts_with(arg) if node.op in catalog else frozenset())
    return node.without(removed)


@scoped("node_id")
def randomise_arg(
    graph: Graph,
    catalog: Catalog,
    node_id: str,
    arg: str,
    op: str = "random.uniform",
    args: Mapping[str, Value] | None = None,
) -> Graph:
    """Connect an argument to a generator. ``args`` overrides the generator's initial arguments.

    A generator that is already connected is replaced for all its consumers.
    """
    node = graph.node(node_id)
    spec = catalog[node.op].args.get(arg)
    if spec is None or not spec.tensor:
        raise GraphEditError(
            f"{node_id}.{arg} has one value for all samples and cannot be random. Use a constant."
        )
    if op not in generators_for(spec):
        allowed = ", ".join(generators_for(spec)) or "no random numbers"
        raise GraphEditError(f"{node_id}.{arg} cannot come from {op}. It accepts {allowed}.")
    old = generator_of(graph, catalog, node_id, arg)
    fresh = new_node(graph, catalog, op, arg)
    arguments = generator_args(op, spec, node.args.get(arg, spec.start), old.args if old else {})
    generator = replace(old or fresh, op=op, args={**fresh.args, **arguments})
    for key, value in (args or {}).items():
        generator = _fixed_argument(generator, catalog, key, value)
    if old is not None:
        return _replaced_generator(graph, catalog, generator)
    cleared = _without(node, catalog, arg)
    fed = cleared.fed({arg: Port(generator.id, "output")})
    return without_idle_generators(graph.substitute(node_id, generator, fed), catalog, node)


_OF_A_POLICY = ("policy", "policy_name", "num_magnitude_bins", "magnitudes")


@scoped("node_id")
def editable_policy(graph: Graph, node_id: str, name: str = "") -> Graph:
    """Convert a learned policy to an editable policy with the same results for the same seeds.

    The node is an ``auto_augment``, or an ``apply_auto_augment`` whose policy is replaced. ``name``
    is the learned policy; the default is that of the node. Raises GraphEditError for other nodes.
    """
    node = graph.node(node_id)
    if node.op not in ("auto_augment", OWN_POLICY):
        raise GraphEditError(
            f"{node_id!r} has no policy. Use an auto_augment or {OWN_POLICY} node."
        )
    name = name or str(node.args.get("policy_name", "image_net"))
    known = learnt_policies()
    if name not in known:
        raise GraphEditError(f"{name[:40]!r} is not a policy. Use one of {', '.join(known)}.")
    rest = {key: value for key, value in node.args.items() if key not in _OF_A_POLICY}
    args: dict[str, Value] = {"policy": known[name], "magnitudes": "learnt", **rest}
    return graph.replace_node(replace(node, op=OWN_POLICY, args=args))


def generator_of(graph: Graph, catalog: Catalog, node_id: str, arg: str) -> Node | None:
    """Return the generator connected to an argument, or None."""
    port = graph.node(node_id).inputs.get(arg)
    if port is None or not graph.has(port.node):
        return None
    node = graph.node(port.node)
    return node if node.op in catalog and is_generator(catalog[node.op]) else None


@scoped("node_id")
def unshare_generator(graph: Graph, catalog: Catalog, node_id: str, arg: str) -> Graph:
    """Connect an argument to a copy of its generator that has a different seed."""
    shared = generator_of(graph, catalog, node_id, arg)
    if shared is None:
        raise GraphEditError(f"{node_id}.{arg} is not random. Make it random first.")
    own = replace(shared, id=free_id(graph, arg), seed=free_seed(graph))
    node = graph.node(node_id)
    fed = node.fed({arg: graph.node(node_id).inputs[arg]._replace(node=own.id)})
    at = next(index for index, other in enumerate(graph.nodes) if other.id == shared.id)
    nodes = [fed if other.id == node_id else other for other in graph.nodes]
    return replace(graph, nodes=(*nodes[: at + 1], own, *nodes[at + 1 :]))


def _fixed_argument(node: Node, catalog: Catalog, arg: str, value: Value) -> Node:
    if arg not in catalog[node.op].args:
        hint = catalog[node.op].argument_hint(arg)
        raise GraphEditError(f"{node.op} has no argument {arg!r}. {hint}")
    cleared = _without(node, catalog, arg)
    return cleared.with_args({arg: value})


def _replaced_generator(graph: Graph, catalog: Catalog, generator: Node) -> Graph:
    """Replace a generator, keeping its id. Raises GraphEditError if a consumer cannot use it."""
    for edge in graph.consumers(generator.id):
        spec = catalog.find(graph.node(edge.target).op)
        arg = spec.args.get(edge.input) if spec else None
        reason = generator_refusal(generator, arg) if arg else None
        if reason:
            raise GraphEditError(
                f"{generator.id!r} also feeds {edge.target}.{edge.input}: {reason}. Copy the "
                "generator for this argument first."
            )
    return graph.replace_node(generator)


def set_setting(graph: Graph, **settings: Any) -> Graph:
    """Return the graph with changed settings, such as the batch size.

    Raises GraphEditError for a number that a graph file cannot store.
    """
    for name, value in settings.items():
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            raise GraphEditError(f"{name} is {str(value)[:20]}..., which is too large.")
    return replace(graph, settings=changed_settings(graph.settings, settings))


def free_seed(graph: Graph) -> int:
    """Return an unused seed: one above the largest seed in use.

    Very large seeds, which DALI assigned in an imported graph, are ignored.
    """
    taken = {node.seed for node in graph.whole.walk() if node.seed is not None}
    usual = (seed for seed in taken if 0 <= seed < USUAL_SEEDS)
    above = max(usual, default=-1) + 1
    return next(seed for seed in count(above) if seed not in taken and seed <= LARGEST_SEED)


# Renaming

LONGEST = 80


@scoped("old")
def rename_node(graph: Graph, old: str, new: str) -> Graph:
    """Rename a node. Raises GraphEditError if the id is taken or not a Python name."""
    graph.node(old)
    _require_free(graph, new)
    nodes = renamed_nodes(graph.nodes, {old: new})
    return replace(graph, nodes=nodes, outputs=renamed_ports(graph.outputs, {old: new}))


def renamed_nodes(nodes: Sequence[Node], names: Mapping[str, str]) -> tuple[Node, ...]:
    """Rename nodes, including nested nodes, and all references; ``names`` maps old to new ids."""
    return tuple(
        replace(
            node,
            id=names.get(node.id, node.id),
            inputs=renamed_ports(node.inputs, names),
            bodies={
                name: replace(
                    body,
                    nodes=renamed_nodes(body.nodes, names),
                    outputs=renamed_ports(body.outputs, names),
                )
                for name, body in node.bodies.items()
            },
        )
        for node in nodes
    )


def renamed_ports(ports: Mapping[str, Port], names: Mapping[str, str]) -> dict[str, Port]:
    """Rename the nodes and bodies that ports refer to; ``names`` maps old to new ids."""

    def renamed(place: str) -> str:
        block, dot, body = place.rpartition(".")
        return f"{names.get(block, block)}.{body}" if dot else names.get(place, place)

    return {key: Port(renamed(port.node), port.output) for key, port in ports.items()}


def rename_output(graph: Graph, old: str, new: str) -> Graph:
    """Rename an output of the graph, keeping its position."""
    if old not in graph.outputs:
        known = ", ".join(graph.outputs)
        raise GraphEditError(f"The graph has no output {old!r}. It has: {known or 'none'}.")
    _require_free(graph, new)
    outputs = {new if name == old else name: port for name, port in graph.outputs.items()}
    return replace(graph, outputs=outputs)


def _require_free(graph: Graph, name: str) -> None:
    if len(name) > LONGEST:
        raise GraphEditError(
            f"A name of {len(name)} characters is too long; the limit is {LONGEST}."
        )
    if not is_name(name):
        raise GraphEditError(
            f"{name[:60]!r} is not a Python name. Use letters, digits and '_', and no digit at "
            "the start."
        )
    if graph.whole.has(name) or name in graph.outputs:
        raise GraphEditError(
            f"{name!r} is already the name of a node or an output. Use another name."
        )
