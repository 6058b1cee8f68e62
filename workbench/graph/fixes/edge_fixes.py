"""Remedies for faults of edges: where they come from, and what flows along them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from workbench.catalog.spec import Catalog, kind_fits
from workbench.graph.edits.edit import new_node, reset_arg, set_arg
from workbench.graph.fixes.fix_candidate import (
    FixCandidate,
    node_of,
    removal,
    with_arg,
    with_node_between,
    without_inputs,
)
from workbench.graph.fixes.move import offer_move_up
from workbench.graph.fixes.region_fixes import fix_region
from workbench.graph.fixes.unfed_inputs import feed_from_new, feed_input, feed_of, fitting_ports
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.faults import Fault
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import outputs_of
from workbench.graph.model.values import value_fault
from workbench.graph.types.devices import decodes, is_generator, port_kind
from workbench.graph.types.shapes import infer_types

_DECODER = "decoders.image"
_OFFERED = 2
"""How many of the nearest outputs are offered."""


def fix_missing_source(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """An output that there is, or none."""
    node = node_of(graph, fault)
    gone = node.inputs.get(fault.arg)
    if gone is None:  # a body gives it, not the node
        yield from fix_region(graph, catalog, fault)
        return
    spec = catalog[node.op]
    if graph.has(gone.node):
        maker = graph.node(gone.node)
        known = catalog.find(maker.op)
        for output in outputs_of(maker, known) if known else ():
            port = Port(gone.node, output.name)
            yield f"Connect {port}", partial(feed_input, graph, catalog, port, node.id, fault.arg)
    yield from _nearest(graph, catalog, fault)
    if fault.arg in spec.args:
        yield "Cut the link", partial(reset_arg, graph, catalog, node.id, fault.arg)
    else:
        yield "Cut the edge", partial(without_inputs, graph, node, fault.arg)


def _nearest(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    for port in islice(fitting_ports(graph, catalog, fault.node, fault.arg), _OFFERED):
        yield f"Connect {port}", partial(feed_input, graph, catalog, port, fault.node, fault.arg)


def fix_unknown_input(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A port that is free, or none."""
    node = node_of(graph, fault)
    port = node.inputs[fault.arg]
    cut = without_inputs(graph, node, fault.arg)
    for free in catalog[node.op].inputs:
        if free.name not in node.inputs and kind_fits(free.kind, port_kind(graph, catalog, port)):
            yield (
                f"Feed {free.name} instead",
                partial(feed_input, cut, catalog, port, node.id, free.name),
            )
    yield "Cut the edge", lambda: cut


def fix_port_kind(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Something of the right kind, or none."""
    yield from fix_unfed(graph, catalog, fault)
    yield "Cut the edge", partial(without_inputs, graph, node_of(graph, fault), fault.arg)


def fix_unfed(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A decoder, a node of the kind that the catalogue names, the nearest outputs, or no node."""
    yield from _decoder(graph, catalog, fault)
    feed = feed_of(catalog[graph.node(fault.node).op], fault.arg)
    if feed is not None:
        make = partial(feed_from_new, graph, catalog, fault.node, fault.arg)
        yield f"Add {feed.op}", make
    yield from _nearest(graph, catalog, fault)
    yield removal(graph, catalog, fault.node)


def _decoder(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """In a graph that decodes nothing: a decoder for every image that is missing."""
    inputs = catalog[graph.node(fault.node).op].inputs
    wants = any(port.name == fault.arg and port.kind == "image" for port in inputs)
    known = [(node.id, spec) for node in graph.nodes if (spec := catalog.find(node.op)) is not None]
    if not wants or _DECODER not in catalog or any(decodes(spec) for _, spec in known):
        return
    ports = [Port(node_id, output.name) for node_id, spec in known for output in spec.outputs]
    encoded = (port for port in ports if port_kind(graph, catalog, port) == "encoded")
    for source in islice(encoded, 1):
        yield f"Add {_DECODER}", partial(_with_decoder, graph, catalog, source)


def _with_decoder(graph: Graph, catalog: Catalog, source: Port) -> Graph:
    """With the source decoded for every input that takes images and has none."""
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
                node = replace(node, inputs={**node.inputs, port.name: image})
        nodes += [node, decode] if node.id == source.node else [node]
    return replace(graph, nodes=tuple(nodes))


def fix_arg_dtype(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Draws of the right type, or a cast."""
    node, wanted = node_of(graph, fault), fault.about
    port = node.inputs[fault.arg]
    drawn = graph.node(port.node)
    spec = catalog[drawn.op]
    arg = spec.args.get("dtype")
    if is_generator(spec) and arg is not None and value_fault(arg, wanted) is None:
        make = partial(set_arg, graph, catalog, drawn.id, "dtype", wanted)
        yield f"Let {drawn.id} draw {wanted}", make
    yield from _cast(graph, catalog, fault)
    yield "Cut the link", partial(reset_arg, graph, catalog, node.id, fault.arg)


def fix_dtype(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A cast, another place, or no node."""
    node = node_of(graph, fault)
    flows = infer_types(graph, catalog)
    allowed = next(p.dtypes for p in catalog[node.op].inputs if p.name == fault.arg)

    def fits(port: Port) -> bool:
        return port in flows and flows[port].dtype in allowed

    yield from offer_move_up(graph, catalog, node, fault.arg, fits)
    yield from _cast(graph, catalog, fault)
    yield removal(graph, catalog, node.id)


def fix_same_dtype(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A cast to what the other input is fed, or no edge."""
    yield from _cast(graph, catalog, fault)
    yield "Cut the edge", partial(without_inputs, graph, node_of(graph, fault), fault.arg)


def _cast(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    node, wanted = node_of(graph, fault), fault.about
    if "cast" in catalog:
        source = node.inputs[fault.arg].node
        cast = new_node(graph, catalog, "cast", f"{source}_{wanted.lower()}")
        cast = replace(cast, args={"dtype": wanted})
        make = partial(with_node_between, graph, node, fault.arg, cast, *_ends(catalog, "cast"))
        yield f"Insert a cast to {wanted}", make


def _ends(catalog: Catalog, op: str) -> tuple[str, str]:
    return catalog[op].inputs[0].name, catalog[op].outputs[0].name


def fix_layout(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Another place, the axes in another order, or what the catalogue names."""
    node, wanted = node_of(graph, fault), fault.about
    flows = infer_types(graph, catalog)
    allowed = next(p.layouts for p in catalog[node.op].inputs if p.name == fault.arg)

    def fits(port: Port) -> bool:
        return port in flows and flows[port].layout in allowed

    yield from offer_move_up(graph, catalog, node, fault.arg, fits)
    found = flows[node.inputs[fault.arg]].axes or ""
    if sorted(found) == sorted(wanted) and "transpose" in catalog:
        turned = new_node(graph, catalog, "transpose")
        perm = tuple(found.index(letter) for letter in wanted)
        turned = replace(turned, args={"perm": perm})
        yield (
            f"Insert a transpose to {wanted}",
            partial(
                with_node_between, graph, node, fault.arg, turned, *_ends(catalog, "transpose")
            ),
        )
    feed = feed_of(catalog[node.op], fault.arg)
    if feed is not None:
        make = partial(feed_from_new, graph, catalog, node.id, fault.arg)
        yield f"Feed it from a new {feed.op}", make
    yield removal(graph, catalog, node.id)


def fix_channels(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Other colours from the decoder, or no node."""
    node = node_of(graph, fault)
    need = catalog[node.op].needs_channels
    source = node.inputs[catalog[node.op].inputs[0].name]
    found = infer_types(graph, catalog)[source].channels
    if isinstance(need, str) and found is not None:
        yield f"Set {need} to {found}", partial(with_arg, graph, node, need, found)
    upstream = ancestors(graph, list(node.inputs.values()))
    decoded = graph
    for other in graph.nodes:
        spec = catalog.find(other.op)
        decodes = spec is not None and spec.category == "decode" and "output_type" in spec.args
        if decodes and other.id in upstream:
            args = {**other.args, "output_type": fault.about}
            decoded = decoded.replace_node(replace(other, args=args))
    yield f"Decode as {fault.about}", lambda: decoded
    yield removal(graph, catalog, node.id)
