"""Edits of the edges: what may feed what, and why not."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog, PortKind
from workbench.errors import GraphEditError
from workbench.graph.check import positional_ports
from workbench.graph.devices import infer_devices, is_generator, port_kind
from workbench.graph.edit import generators_for, new_node
from workbench.graph.model import Graph, Node, Port, ancestors, is_name


def refusal(graph: Graph, catalog: Catalog, source: Port, target: str, into: str) -> str | None:
    """Why the output ``source`` cannot feed the port or argument ``into``, or None where it can.

    A port that is fed already can be fed anew: the old edge goes.
    """
    if target == source.node or target in _upstream(graph, source):
        return f"{target} feeds {source.node}: the nodes would wait for each other"
    node = graph.node(target)
    spec = catalog.find(node.op)
    if spec is None:
        return f"{node.op} is no operator of this DALI"
    got = port_kind(graph, catalog, source)
    if into in spec.args:
        return _argument_refusal(graph, catalog, source, target, into, got)
    ports = _ports_with_a_free_one(node, catalog)
    if into not in ports:
        return f"{node.op} has no input {into!r}"
    want = ports[into]
    if "any" not in (want, got) and want != got:
        return f"{into} takes {want}, and {source} gives {got}"
    device = infer_devices(graph, catalog).get(source.node, "cpu")
    if device != "cpu" and "gpu" not in spec.devices:
        return f"{node.op} runs on the CPU only, and {source.node} gives its output on the GPU"
    return None


def _argument_refusal(
    graph: Graph, catalog: Catalog, source: Port, target: str, into: str, got: PortKind
) -> str | None:
    arg = catalog[graph.node(target).op].args[into]
    if not arg.tensor:
        return f"{into} takes one value for all samples: it cannot be fed by a node"
    if got not in ("number", "any"):
        return f"{into} takes numbers, and {source} gives {got}"
    if infer_devices(graph, catalog).get(source.node, "cpu") != "cpu":
        return f"{into} must come from the CPU, and {source.node} runs on the GPU"
    op = graph.node(source.node).op
    if op in catalog and is_generator(catalog[op]) and op not in generators_for(arg):
        return f"{into} takes {', '.join(generators_for(arg))}, not {op}"
    return None


def connect(graph: Graph, catalog: Catalog, source: Port, target: str, into: str) -> Graph:
    """Feed a port or an argument. Raises GraphEditError with the reason of ``refusal``."""
    reason = refusal(graph, catalog, source, target, into)
    if reason:
        raise GraphEditError(f"{target}.{into} was not connected: {reason}.")
    node = graph.node(target)
    gone = {into} | (catalog[node.op].rivals(into) if into in catalog[node.op].args else set())
    args = {name: value for name, value in node.args.items() if name not in gone}
    inputs = {name: port for name, port in node.inputs.items() if name not in gone or name == into}
    return graph.replace_node(replace(node, args=args, inputs={**inputs, into: source}))


def disconnect(graph: Graph, target: str, into: str) -> Graph:
    """Cut the edge that leads into a port or argument."""
    node = graph.node(target)
    if into not in node.inputs:
        raise GraphEditError(f"Nothing feeds {target}.{into}.")
    inputs = {name: port for name, port in node.inputs.items() if name != into}
    return graph.replace_node(replace(node, inputs=inputs))


def place_node(graph: Graph, catalog: Catalog, op: str) -> tuple[Graph, str]:
    """Add a node that nothing feeds yet. Returns the graph and the node's id."""
    spec = catalog[op]
    if spec.unusable:
        raise GraphEditError(f"{op} cannot be added: {spec.unusable}.")
    node = new_node(graph, catalog, op)
    return replace(graph, nodes=(*graph.nodes, node)), node.id


def set_output(graph: Graph, name: str, port: Port | None) -> Graph:
    """Give an output of a node out under a name, or with None give it out no more."""
    outputs = {key: value for key, value in graph.outputs.items() if key != name}
    if port is not None:
        if not is_name(name):
            raise GraphEditError(f"{name!r} is not a Python name. Use letters, digits and '_'.")
        graph.node(port.node)
        outputs = {**graph.outputs, name: port}
    return replace(graph, outputs=outputs)


def _upstream(graph: Graph, source: Port) -> set[str]:
    return ancestors(graph, [source])


def _ports_with_a_free_one(node: Node, catalog: Catalog) -> dict[str, str]:
    """Positional ports by name, and one more where the operator takes any number."""
    spec = catalog[node.op]
    ports = dict(positional_ports(node, spec))
    if len(ports) < spec.max_inputs:
        free = spec.input(len(ports))
        ports[free.name] = free.kind
    return ports
