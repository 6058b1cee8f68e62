"""Create fixes for edges: their sources, types and devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from workbench.catalog.spec import Catalog, OpSpec, kind_fits
from workbench.graph.edits.edit import new_node, set_arg, set_setting
from workbench.graph.fixes.case import Case, FixCandidate, remedy
from workbench.graph.fixes.graph_fixes import fix_block
from workbench.graph.fixes.unfed_inputs import feed_from_new, feed_input, feed_of, fitting_ports
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import output_ports
from workbench.graph.model.values import value_fault
from workbench.graph.types.devices import (
    decodes,
    is_decoder,
    is_generator,
    port_device,
)
from workbench.graph.types.typed_graph import TypedGraph

_DECODER = "decoders.image"
_OFFERED = 2
"""Maximum number of existing outputs that are offered as sources."""


@remedy("source")
def fix_missing_source(case: Case) -> Iterator[FixCandidate]:
    """Offer to use an existing output as the source, or to remove the edge."""
    node = case.node
    removed = node.inputs.get(case.arg)
    if removed is None:  # the body has it, not the node
        yield from fix_block(case)
        return
    spec = case.spec
    if case.graph.has(removed.node):
        maker = case.graph.node(removed.node)
        for port in output_ports(maker, case.catalog.find(maker.op)):
            yield f"Connect {port}", case.edit(feed_input, port, node.id, case.arg)
    yield from _nearest(case)
    if case.arg in spec.args:
        yield "Disconnect it", case.reset()
    else:
        yield "Remove the edge", case.without(case.arg)


def _nearest(case: Case) -> Iterator[FixCandidate]:
    for port in islice(fitting_ports(case.graph, case.catalog, case.node_id, case.arg), _OFFERED):
        yield f"Connect {port}", case.edit(feed_input, port, case.node_id, case.arg)


@remedy("unknown_input")
def fix_unknown_input(case: Case) -> Iterator[FixCandidate]:
    """Offer to connect the edge to an unconnected input, or to remove it."""
    node = case.node
    port = node.inputs[case.arg]
    kind = case.typed.kind(port)
    cut = replace(
        case, typed=case.typed.for_graph(case.graph.replace_node(node.without({case.arg})))
    )
    for free in case.spec.inputs:
        if free.name not in node.inputs and kind_fits(free.kind, kind):
            yield (
                f"Connect it to {free.name} instead",
                cut.edit(feed_input, port, node.id, free.name),
            )
    yield "Remove the edge", case.without(case.arg)


@remedy("kind")
def fix_port_kind(case: Case) -> Iterator[FixCandidate]:
    """Offer to connect a source of the right kind, or to remove the edge."""
    yield from fix_unfed(case)
    yield "Remove the edge", case.without(case.arg)


@remedy("unfed")
def fix_unfed(case: Case) -> Iterator[FixCandidate]:
    """Offer to connect a decoder, a suggested new node or a nearby port, or to remove the node."""
    yield from _offer_decoder(case)
    feed = feed_of(case.spec, case.arg)
    if feed is not None:
        yield f"Add {feed.op}", case.edit(feed_from_new, case.node_id, case.arg)
    yield from _nearest(case)
    yield case.removal()


def _offer_decoder(case: Case) -> Iterator[FixCandidate]:
    """Offer a decoder for all unconnected image inputs, if the graph has no decoder."""
    inputs = case.spec.inputs
    wants = any(port.name == case.arg and port.kind == "image" for port in inputs)
    found = ((node.id, case.catalog.find(node.op)) for node in case.graph.nodes)
    known = [(node_id, spec) for node_id, spec in found if spec is not None]
    if not wants or _DECODER not in case.catalog or any(decodes(spec) for _, spec in known):
        return
    ports = [Port(node_id, output.name) for node_id, spec in known for output in spec.outputs]
    encoded = (port for port in ports if case.typed.kind(port) == "encoded")
    for source in islice(encoded, 1):
        yield f"Add {_DECODER}", case.edit(_with_decoder, source)


def _with_decoder(graph: Graph, catalog: Catalog, source: Port) -> Graph:
    """Add a decoder after ``source`` and connect it to every unconnected image input."""
    new = new_node(graph, catalog, _DECODER)
    decode = replace(new, inputs={catalog[_DECODER].inputs[0].name: source})
    image = Port(decode.id, catalog[_DECODER].outputs[0].name)
    nodes: list[Node] = []
    for node in graph.nodes:
        spec = catalog.find(node.op)
        for port in spec.inputs if spec else ():
            fed = node.inputs.get(port.name)
            lacks = not port.optional if fed is None else fed == source
            if port.kind == "image" and lacks:
                node = node.fed({port.name: image})
        nodes += [node, decode] if node.id == source.node else [node]
    return replace(graph, nodes=tuple(nodes))


@remedy("arg_dtype")
def fix_arg_dtype(case: Case) -> Iterator[FixCandidate]:
    """Offer to change the generator's type, to add a cast, or to disconnect the argument."""
    node, wanted = case.node, case.about
    port = node.inputs[case.arg]
    random = case.graph.node(port.node)
    spec = case.catalog[random.op]
    arg = spec.args.get("dtype")
    if is_generator(spec) and arg is not None and value_fault(arg, wanted) is None:
        yield f"Set {random.id} to sample {wanted}", case.edit(set_arg, random.id, "dtype", wanted)
    yield from _offer_cast(case)
    yield "Disconnect it", case.reset()


@remedy("dtype")
def fix_dtype(case: Case) -> Iterator[FixCandidate]:
    """Offer to move the node upstream to data of a valid type, to add a cast, or to remove it."""
    flows = case.typed.types
    allowed = next(p.dtypes for p in case.spec.inputs if p.name == case.arg)

    def fits(port: Port) -> bool:
        return port in flows and flows[port].dtype in allowed

    yield from _offer_move(case, case.arg, fits)
    yield from _offer_cast(case)
    yield case.removal()


@remedy("same_dtype")
def fix_same_dtype(case: Case) -> Iterator[FixCandidate]:
    """Offer to cast to the type of the other input, or to remove the edge."""
    yield from _offer_cast(case)
    yield "Remove the edge", case.without(case.arg)


def _offer_cast(case: Case) -> Iterator[FixCandidate]:
    wanted = case.about
    if "cast" in case.catalog:
        name = f"{case.node.inputs[case.arg].node}_{wanted.lower()}"
        yield f"Insert a cast to {wanted}", case.insert("cast", name, args={"dtype": wanted})


@remedy("layout")
def fix_layout(case: Case) -> Iterator[FixCandidate]:
    """Offer to move the node, or to add a transpose or the operator that the catalogue suggests."""
    node, wanted = case.node, case.about
    flows = case.typed.types
    allowed = next(p.layouts for p in case.spec.inputs if p.name == case.arg)

    def fits(port: Port) -> bool:
        return port in flows and flows[port].layout in allowed

    yield from _offer_move(case, case.arg, fits)
    found = flows[node.inputs[case.arg]].axes or ""
    if sorted(found) == sorted(wanted) and "transpose" in case.catalog:
        perm = tuple(found.index(letter) for letter in wanted)
        yield f"Insert a transpose to {wanted}", case.insert("transpose", args={"perm": perm})
    feed = feed_of(case.spec, case.arg)
    if feed is not None:
        yield f"Connect a new {feed.op}", case.edit(feed_from_new, node.id, case.arg)
    yield case.removal()


@remedy("channels")
def fix_channels(case: Case) -> Iterator[FixCandidate]:
    """Offer to change the decoder's colour space, or to remove the node."""
    node = case.node
    need = case.spec.needs_channels
    source = node.inputs[case.spec.inputs[0].name]
    found = case.typed.types[source].channels
    if isinstance(need, str) and found is not None:
        yield f"Set {need} to {found}", case.set(need, found)
    upstream = ancestors(case.graph, list(node.inputs.values()))
    decoded = case.graph
    for other in case.graph.nodes:
        spec = case.catalog.find(other.op)
        decodes = spec is not None and spec.category == "decode" and "output_type" in spec.args
        if decodes and other.id in upstream:
            args = {**other.args, "output_type": case.about}
            decoded = decoded.replace_node(replace(other, args=args))
    yield f"Decode as {case.about}", lambda: decoded
    yield case.removal()


@remedy("device")
def fix_device(case: Case) -> Iterator[FixCandidate]:
    """Offer to use the device of the node's input, or any of the supported devices."""
    yield "Use the device of its input", case.change(device=None)
    for side in case.spec.devices:
        words = {"cpu": "on the CPU", "gpu": "on the GPU", "mixed": "mixed"}[side]
        yield f"Run it {words}", case.change(device=side)


@remedy("cpu_after_gpu")
def fix_cpu_after_gpu(case: Case) -> Iterator[FixCandidate]:
    """Offer to move the node before the GPU nodes, to copy to the CPU, or to decode on the CPU."""
    devices = case.typed.devices

    def fits(port: Port) -> bool:
        return devices.get(port.node, "cpu") == "cpu"

    for name, port in case.node.inputs.items():
        if not fits(port) and port_device(case.spec, name) != "any":
            yield from _offer_move(case, name, fits)
    yield "Copy to the CPU first", case.change(device="cpu")
    yield "Decode on the CPU", case.edit(_decoded_on, "cpu")
    yield case.removal()


@remedy("gpu_only")
def fix_gpu_only(case: Case) -> Iterator[FixCandidate]:
    """Offer to decode on the GPU, to copy the input to the GPU, or to remove the node."""
    yield "Decode on the GPU (mixed)", case.edit(_decoded_on, "mixed")
    yield "Copy to the GPU first", case.change(device="gpu")
    yield case.removal()


def _decoded_on(graph: Graph, catalog: Catalog, side: str) -> Graph:
    nodes = tuple(
        replace(node, device=None) if node.op in catalog and is_decoder(catalog[node.op]) else node
        for node in graph.nodes
    )
    return set_setting(replace(graph, nodes=nodes), device=side)


@remedy("arg_on_gpu")
def fix_arg_on_gpu(case: Case) -> Iterator[FixCandidate]:
    """Offer to run the argument's source on the CPU, or to copy its output to the CPU."""
    source = case.graph.node(case.node.inputs[case.arg].node)
    spec = case.catalog.find(source.op)
    if spec is not None and "cpu" in spec.devices:
        moved = replace(source, device="cpu")
        yield f"Run {source.id} on the CPU", partial(case.graph.replace_node, moved)
    if "copy" in case.catalog:
        copied = case.insert("copy", f"{source.id}_cpu", device="cpu")
        yield f"Copy {source.id} to the CPU first", copied


def _offer_move(case: Case, into: str, fits: Callable[[Port], bool]) -> Iterator[FixCandidate]:
    """Offer to move the node upstream to the nearest port for which ``fits`` is true.

    The search follows the first input of each node. The label is ``Move NODE before NODE``.
    """
    graph, catalog, node, spec = case.graph, case.catalog, case.node, case.spec
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
        if fits(port) and _is_accepted(case.typed, spec, into, known, port):
            move = partial(_moved_before, graph, node, into, spec.outputs[0].name, before, entry)
            yield f"Move {node.id} before {before.id}", move
            return


def _is_accepted(typed: TypedGraph, spec: OpSpec, into: str, before: OpSpec, port: Port) -> bool:
    """Return whether ``spec`` accepts ``port``, and ``before`` accepts the output of ``spec``."""
    kind = typed.kind(port)
    takes = next((p.kind for p in spec.inputs if p.name == into), None)
    gives = kind if spec.outputs[0].follows else spec.outputs[0].kind
    return takes is not None and kind_fits(takes, kind) and kind_fits(before.inputs[0].kind, gives)


def _moved_before(
    graph: Graph, node: Node, into: str, output: str, before: Node, entry: str
) -> Graph:
    old, out = node.inputs[into], Port(node.id, output)
    moved = node.fed({into: before.inputs[entry]})
    joined = graph.rewire({out: old})
    nodes: list[Node] = []
    for other in joined.nodes:
        if other.id == before.id:
            nodes += [moved, other.fed({entry: out})]
        elif other.id != node.id:
            nodes.append(other)
    return replace(joined, nodes=tuple(nodes))
