"""Connect and disconnect ports, and explain why a connection is not possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from workbench.catalog.spec import Catalog, Device, OpSpec, PortKind, kind_fits
from workbench.errors import GraphEditError
from workbench.graph.edits.edit import scoped, without_idle_generators
from workbench.graph.edits.generators import element_for, generator_refusal
from workbench.graph.model import Graph, Node, Port, is_name
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import KIND_WORDS, output_ports, positional_ports
from workbench.graph.types.devices import (
    device_of,
    is_generator,
    port_device,
)
from workbench.graph.types.shapes import TensorType
from workbench.graph.types.typed_graph import TypedGraph


@dataclass(frozen=True, slots=True)
class _Source:
    """Properties of a source port that are needed to check connections."""

    port: Port
    generator: Node | None
    """The node of the port if it is a generator, else None."""
    kind: PortKind
    dtype: str | None
    """Element type of the port, or None if unknown."""
    device: Device
    upstream: frozenset[str]


def _source(typed: TypedGraph, port: Port) -> _Source:
    graph = typed.graph
    require_port(graph, port)
    node = graph.node(port.node) if graph.has(port.node) else None
    spec = typed.catalog.find(node.op) if node else None
    flow = typed.types.get(port, TensorType())
    kind = narrowed_kind(typed.kind(port), flow)
    return _Source(
        port,
        node if spec is not None and is_generator(spec) else None,
        kind,
        flow.dtype,
        device_of(typed.devices, port),
        frozenset(ancestors(graph, [port])),
    )


def narrowed_kind(kind: PortKind, flow: TensorType) -> PortKind:
    """Return ``number`` if an image has fewer than two axes (such as a mean), else ``kind``."""
    flat = flow.shape is not None and len(flow.shape) < 2
    return "number" if kind == "image" and flat else kind


def connection_refusal(typed: TypedGraph, source: Port, target: str, into: str) -> str | None:
    """Return why the port ``source`` cannot feed the input ``into``, or None if it can.

    ``into`` may also be an argument. Does not check whether ``into`` is already connected: see
    ``port_taken_reason``.
    """
    return _refusal(typed, _source(typed, source), typed.graph.node(target), into)


def port_taken_reason(graph: Graph, target: str, into: str, source: Port) -> str | None:
    """Return why the input ``into`` cannot be reconnected to ``source``, or None if it can.

    Values of arguments, and generators without other consumers, may be replaced.
    """
    fed = graph.node(target).inputs.get(into)
    if fed is None:
        return None
    if fed == source:
        return f"{source} already feeds this input"
    is_random = graph.has(fed.node) and graph.node(fed.node).op.startswith("random.")
    if is_random and len(graph.consumers(fed.node)) == 1:
        return None
    return f"{into!r} is already connected to {fed}. Remove that edge first, or drag its end away"


def connect_targets(typed: TypedGraph, source: Port) -> dict[tuple[str, str], str]:
    """Return why ``source`` cannot feed each input or argument, or "", by node id and name.

    Arguments are included only if the source is numeric, because no other data can feed them.
    """
    facts = _source(typed, source)
    found: dict[tuple[str, str], str] = {}
    for node in typed.graph.nodes:
        spec = typed.catalog.find(node.op)
        if spec is None:
            continue
        for into in _possible_inputs(node, spec, facts.kind):
            reason = _refusal(typed, facts, node, into) or port_taken_reason(
                typed.graph, node.id, into, source
            )
            found[node.id, into] = reason or ""
    return found


def possible_feeders(typed: TypedGraph, target: str) -> dict[str, list[Port]]:
    """Return the ports that can feed each argument of a node, for arguments that accept a tensor.

    Labels, boxes and points can be connected too, but are omitted because that is rarely useful.
    """
    node = typed.graph.node(target)
    spec = typed.catalog.find(node.op)
    wanted = [name for name, arg in spec.args.items() if arg.tensor] if spec else []
    found: dict[str, list[Port]] = {name: [] for name in wanted}
    if spec is None or not wanted:
        return found
    for port in _number_ports(typed):
        facts = _source(typed, port)
        if target in facts.upstream:
            continue
        for name in wanted:
            if _argument_refusal(facts, spec, name) is None:
                found[name].append(port)
    return found


def _number_ports(typed: TypedGraph) -> Iterator[Port]:
    for node in typed.graph.nodes:
        for port in output_ports(node, typed.catalog.find(node.op)):
            if typed.kind(port) in ("number", "any"):
                yield port


def _possible_inputs(node: Node, spec: OpSpec, kind: PortKind) -> Iterator[str]:
    yield from _ports_with_unused_input(node, spec)
    if kind_fits("number", kind):
        yield from (name for name, arg in spec.args.items() if arg.tensor and not arg.deprecated)


def _refusal(typed: TypedGraph, source: _Source, node: Node, into: str) -> str | None:
    if node.id in source.upstream:
        return f"{node.id!r} feeds {source.port.node!r}, so the nodes would wait for each other"
    spec = typed.catalog.find(node.op)
    if spec is None:
        return f"{node.op} is not an operator of this DALI version"
    if into in spec.args:
        return _argument_refusal(source, spec, into)
    ports = _ports_with_unused_input(node, spec)
    if into not in ports:
        return f"{node.op} has no input {into!r}"
    want = ports[into]
    if not kind_fits(want, source.kind):
        return (
            f"{into!r} accepts {KIND_WORDS[want]}, but {source.port} outputs "
            f"{KIND_WORDS[source.kind]}"
        )
    works_on = port_device(spec, into) in ("operator", "either") and node.device is None
    if source.device != "cpu" and "gpu" not in spec.devices and works_on:
        return f"{node.op} runs on the CPU only, but {source.port.node!r} outputs on the GPU"
    return None


def _argument_refusal(source: _Source, spec: OpSpec, into: str) -> str | None:
    arg = spec.args[into]
    if not arg.tensor:
        return f"{into!r} has one value for all samples, so it cannot be fed by a node"
    if element_for(arg) is None:
        return f"{into!r} accepts no numbers, and no operator outputs the values that it accepts"
    if not kind_fits("number", source.kind):
        return f"{into!r} accepts numbers, but {source.port} outputs {KIND_WORDS[source.kind]}"
    if source.device != "cpu":
        return f"{into!r} must come from the CPU, but {source.port.node!r} runs on the GPU"
    if source.generator is not None:
        return generator_refusal(source.generator, arg)
    if arg.dtypes and source.dtype is not None and source.dtype not in arg.dtypes:
        return (
            f"{into!r} accepts {' or '.join(arg.dtypes)}, but {source.port} outputs {source.dtype}"
        )
    return None


@scoped("target")
def connect(graph: Graph, catalog: Catalog, source: Port, target: str, into: str) -> Graph:
    """Connect a port to an input or argument, replacing its current source.

    Removes a generator that becomes unused. Raises GraphEditError with the reason from
    ``connection_refusal``.
    """
    reason = connection_refusal(TypedGraph(graph, catalog), source, target, into)
    if reason:
        raise GraphEditError(f"{target}.{into} was not connected: {reason}.")
    node = graph.node(target)
    removed = {into} | catalog[node.op].conflicts_with(into)
    args = {name: value for name, value in node.args.items() if name not in removed}
    inputs = {
        name: port for name, port in node.inputs.items() if name not in removed or name == into
    }
    fed = graph.replace_node(replace(node, args=args, inputs={**inputs, into: source}))
    return without_idle_generators(fed, catalog, node)


@scoped("target")
def disconnect(graph: Graph, target: str, into: str) -> Graph:
    """Remove the edge into an input or argument. Raises GraphEditError if it is not connected."""
    node = graph.node(target)
    if into not in node.inputs:
        raise GraphEditError(f"{target}.{into} is not connected, so it cannot be disconnected.")
    inputs = {name: port for name, port in node.inputs.items() if name != into}
    return graph.replace_node(replace(node, inputs=inputs))


def require_port(graph: Graph, port: Port) -> None:
    """Raise GraphEditError unless a port belongs to a node or is an input of this body."""
    if graph.owns(port):
        return
    graph.whole.node(port.node)
    raise GraphEditError(f"{port} is inside another body. Route it through the block's inputs.")


def set_output(graph: Graph, name: str, port: Port | None) -> Graph:
    """Set the port of a graph output, or remove the output if ``port`` is None."""
    outputs = {key: value for key, value in graph.outputs.items() if key != name}
    if port is not None:
        if not is_name(name):
            raise GraphEditError(f"{name!r} is not a Python name. Use letters, digits and '_'.")
        require_port(graph, port)
        outputs = {**graph.outputs, name: port}
    return replace(graph, outputs=outputs)


def _ports_with_unused_input(node: Node, spec: OpSpec) -> dict[str, PortKind]:
    """Return the kinds of positional inputs by name, plus one unused input if supported."""
    ports = dict(positional_ports(node, spec))
    if len(ports) < spec.max_inputs:
        free = spec.input(len(ports))
        ports[free.name] = free.kind
    return ports
