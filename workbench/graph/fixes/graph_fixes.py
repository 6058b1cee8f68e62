"""Create fixes for faults of the whole graph: ids, outputs, settings, cycles, unknown operators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from itertools import permutations
from typing import Any

from workbench.catalog.spec import OPAQUE, Catalog
from workbench.graph.annotations.follower_edits import with_followed, with_polygons
from workbench.graph.annotations.followers import unmoved_targets
from workbench.graph.annotations.point_boxes import bound, unbound_points
from workbench.graph.checks.check_blocks import COLOURS
from workbench.graph.control_flow.block_kinds import kind_of
from workbench.graph.control_flow.options import fit_generator, set_weights
from workbench.graph.control_flow.wrapping import unwrap_block
from workbench.graph.edits.compose import insert_before, with_outputs
from workbench.graph.edits.connect import set_output
from workbench.graph.edits.edit import free_id, new_node, set_setting, start_graph
from workbench.graph.execution.active import set_muted
from workbench.graph.fixes.case import Case, FixCandidate, remedy
from workbench.graph.model import (
    Body,
    Edge,
    Graph,
    Node,
    Port,
    Settings,
    Source,
    block_of,
    is_name,
    used_ports,
)
from workbench.graph.model.bounds import SETTINGS
from workbench.graph.model.faults import Fault
from workbench.graph.model.node_order import topological
from workbench.graph.model.ports import output_ports
from workbench.graph.types.devices import port_kind
from workbench.graph.types.typed_graph import TypedGraph
from workbench.names import shortened


@remedy("duplicate_id")
def fix_duplicate_id(case: Case) -> Iterator[FixCandidate]:
    """Offer to rename all but the first of the nodes that share an id. Edges are unchanged."""
    count = sum(node.id == case.node_id for node in case.graph.whole.walk()) - 1
    words = f"Rename the other{'s' if count > 1 else ''}"
    yield words, partial(with_own_ids, case.graph, case.node_id)


def with_own_ids(graph: Graph, shared: str) -> Graph:
    """Assign unused ids to all nodes with the id ``shared`` except the first, at any depth."""
    whole = graph.whole
    given: list[str] = []

    def free() -> str:
        given.append(free_id(whole, shared, given) if given else shared)
        return given[-1]

    def apart(body: Body) -> Body:
        own = [free() if node.id == shared else node.id for node in body.nodes]
        meant = next(
            (new for new, node in zip(own, body.nodes, strict=True) if node.id == shared), shared
        )
        body = body.renamed(shared, meant)
        nodes = [_with_id(node, new) for node, new in zip(body.nodes, own, strict=True)]
        return replace(
            body,
            nodes=tuple(
                replace(node, bodies={name: apart(inner) for name, inner in node.bodies.items()})
                for node in nodes
            ),
        )

    return whole.replace_body("", apart(whole.body))


def _with_id(node: Node, new: str) -> Node:
    bodies = {
        name: body.renamed(node.scope(name), f"{new}.{name}") for name, body in node.bodies.items()
    }
    return replace(node, id=new, bodies=bodies)


@remedy("bad_id")
def fix_bad_id(case: Case) -> Iterator[FixCandidate]:
    """Offer to rename the node, using only the valid characters of its id."""
    new = free_id(case.graph, _as_name(case.node_id, "node"))

    def renamed() -> Graph:
        body = case.graph.body.renamed(case.node_id, new)
        nodes = tuple(
            _with_id(node, new) if node.id == case.node_id else node for node in body.nodes
        )
        return replace(case.graph, nodes=nodes, outputs=body.outputs)

    yield f"Rename it to {new}", renamed


def _as_name(text: str, usual: str) -> str:
    name = re.sub(r"[^0-9A-Za-z_]+", "_", text).strip("_")[:40]
    if name and name[0].isdigit():
        name = f"{usual}_{name}"
    return name if name and is_name(name) else f"{name}_" if is_name(f"{name}_") and name else usual


@remedy("no_outputs")
def fix_no_outputs(case: Case) -> Iterator[FixCandidate]:
    """Offer to output the last image or another port. An empty graph gets a minimal graph."""
    ports = _last_ports(case.typed)
    if not ports and not case.node_id:
        least = start_graph(case.catalog, case.graph.name)
        label = f"Start with {' and '.join(node.op for node in least.nodes)}"
        yield label, lambda: replace(case.graph, nodes=least.nodes, outputs=least.outputs)
    if ports:
        kind = case.typed.kind(ports[0])
        name = free_id(case.graph, {"image": "images", "label": "labels"}.get(kind, "values"))
        yield f"Output {ports[0]}", lambda: set_output(case.graph, name, ports[0])


def _last_ports(typed: TypedGraph) -> list[Port]:
    """Return all output ports in reverse topological order, with images first."""
    found = []
    for node in reversed(topological(typed.graph)[0]):
        found += output_ports(node, typed.catalog.find(node.op))
    kinds = {port: typed.kind(port) for port in found}
    return sorted(found, key=lambda port: kinds[port] != "image")


@remedy("output_name")
def fix_output_name(case: Case) -> Iterator[FixCandidate]:
    """Offer to rename the output, using only valid characters, or to remove it."""
    new = free_id(case.graph, _as_name(case.about, "output"))
    outputs = {new if name == case.about else name: p for name, p in case.graph.outputs.items()}
    yield f"Rename it to {new}", lambda: replace(case.graph, outputs=outputs)
    yield _output_removal(case.graph, case.fault)


@remedy("output_source")
def fix_output_source(case: Case) -> Iterator[FixCandidate]:
    """Offer to output a different port of the node or the last image, or to remove the output."""
    removed = case.graph.outputs[case.about]
    ports = _last_ports(case.typed)
    for port in [*(p for p in ports if p.node == removed.node), *ports[:1]]:
        outputs = {**case.graph.outputs, case.about: port}
        yield f"Output {port} instead", partial(replace, case.graph, outputs=outputs)
    yield _output_removal(case.graph, case.fault)


def _output_removal(graph: Graph, fault: Fault) -> FixCandidate:
    label = f"Remove the output {shortened(fault.about, 30)}"
    return label, lambda: set_output(graph, fault.about, None)


@remedy("parameter")
def fix_parameter(case: Case) -> Iterator[FixCandidate]:
    """Offer to use a separate data parameter for the source, or to remove the source."""
    node = case.node
    if isinstance(node, Source):
        known = {source.dataset for source in case.graph.sources}
        names = ("others", *(f"others_{number}" for number in range(2, len(known) + 2)))
        name = next(name for name in names if name not in known)
        yield f"Name its data {name}", case.change(dataset=name)
    yield case.removal()


@remedy("no_reader")
def fix_no_reader(case: Case) -> Iterator[FixCandidate]:
    """Offer to add a file reader and to connect it to all unconnected decoders."""
    if "readers.file" not in case.catalog:
        return

    def added() -> Graph:
        reader = new_node(case.graph, case.catalog, "readers.file", "reader")
        source = Port(reader.id, "jpegs")
        nodes = [reader]
        for node in case.graph.nodes:
            spec = case.catalog.find(node.op)
            first = spec.inputs[0] if spec and spec.inputs else None
            if first and first.kind == "encoded" and first.name not in node.inputs:
                node = replace(node, inputs={first.name: source, **node.inputs})
            nodes.append(node)
        return with_outputs(replace(case.graph, nodes=tuple(nodes)), case.catalog, reader.id)

    yield "Add readers.file", added


@remedy("cycle")
def fix_cycle(case: Case) -> Iterator[FixCandidate]:
    """Offer to remove the edges that close a cycle."""
    cut: list[Edge] = []
    opened = case.graph
    while edge := _cycle_edge(opened):
        cut.append(edge)
        node = opened.node(edge.target)
        opened = opened.replace_node(node.without({edge.input}))
    names = ", ".join(f"{edge.source.node} \N{RIGHTWARDS ARROW} {edge.target}" for edge in cut[:3])
    more = f" and {len(cut) - 3} more" if len(cut) > 3 else ""
    yield f"Cut {names}{more}", lambda: opened


def _cycle_edge(graph: Graph) -> Edge | None:
    """Return the edge that points back farthest in node order, to break a cycle, or None."""
    waiting = {node.id: node for node in topological(graph)[1]}
    while True:  # drop what is only behind a cycle
        feeding = {port.node for node in waiting.values() for port in node.inputs.values()}
        remaining = {node_id: node for node_id, node in waiting.items() if node_id in feeding}
        if len(remaining) == len(waiting):
            break
        waiting = remaining
    order = {node.id: index for index, node in enumerate(graph.nodes)}
    edges = [
        Edge(port, node.id, name)
        for node in waiting.values()
        for name, port in node.inputs.items()
        if port.node in waiting
    ]
    return max(edges, key=lambda e: order[e.source.node] - order[e.target], default=None)


@remedy("setting")
def fix_setting(case: Case) -> Iterator[FixCandidate]:
    """Offer to use the nearest allowed value, or the default value."""
    usual = getattr(Settings(), case.about)
    values = [usual]
    if case.about in SETTINGS:
        least, most = SETTINGS[case.about]
        values.insert(0, min(max(getattr(case.graph.settings, case.about), least), most))
    for value in values:
        yield f"Set it to {value}", partial(set_setting, case.graph, **{case.about: value})


@remedy("unknown_op")
def fix_unknown_op(case: Case) -> Iterator[FixCandidate]:
    """Offer to use the operator with the nearest name, or to remove the node."""
    node = case.node
    usable = [name for name, spec in case.catalog.items() if not spec.unusable]
    for near in get_close_matches(node.op, usable, n=1):
        yield f"Use {near}", case.change(op=near)
    yield case.removal()


@remedy("unequal")
def fix_unequal(case: Case) -> Iterator[FixCandidate]:
    """Offer to resize both images to the same size."""
    yield "Resize both images to the same size", case.edit(_with_one_size, case.node_id)


def _with_one_size(graph: Graph, catalog: Catalog, node_id: str) -> Graph:
    for name, port in graph.node(node_id).inputs.items():
        if port_kind(graph, catalog, port) == "image":
            graph, _ = insert_before(graph, catalog, "resize", node_id, name)
    return graph


@remedy("unusable_op", "shapes", "unfollowed")
def fix_unusable_op(case: Case) -> Iterator[FixCandidate]:
    """Offer to replace an unusable reader by a file reader, or to remove the node."""
    yield from fix_unreadable_source(case)
    yield case.removal()


@remedy("unmoved")
def fix_unmoved(case: Case) -> Iterator[FixCandidate]:
    """Offer to transform annotations with the image, or to remove the output or the operator."""
    output = case.about
    yield f"Make {output} follow the image", lambda: with_followed(case.graph, case.catalog, output)
    left = {name: port for name, port in case.graph.outputs.items() if name != output}
    yield f"Remove the output {output}", lambda: replace(case.graph, outputs=left)
    yield case.removal(unmoved_targets(case.typed)[output])


@remedy("polygons")
def fix_polygons(case: Case) -> Iterator[FixCandidate]:
    """Offer to renumber polygons so that they match the remaining boxes."""
    yield "Make the polygons follow the boxes", lambda: with_polygons(case.graph, case.node_id)


@remedy("bound", "unbound")
def fix_bound(case: Case) -> Iterator[FixCandidate]:
    """Offer to remove points with their boxes, or to keep the points of all boxes."""
    follower = case.graph.node(case.about or case.node_id)
    apart = case.graph.replace_node(follower.without({"polygons", "places"}))
    for found in unbound_points(case.typed.for_graph(apart)):
        if found.points.id == follower.id:
            yield "Remove points with their boxes", partial(bound, apart, found)
    if apart != case.graph:
        yield "Keep the points of removed boxes", partial(replace, apart)


@remedy("muted")
def fix_muted(case: Case) -> Iterator[FixCandidate]:
    """Offer to unmute the node."""
    yield f"Unmute {case.about}", lambda: set_muted(case.graph.whole, [case.about], False)


@remedy("untrusted")
def fix_untrusted(case: Case) -> Iterator[FixCandidate]:
    """Offer to mute a node with untrusted code; the code remains readable."""
    yield f"Mute {case.node_id}", lambda: set_muted(case.graph.whole, [case.node_id], True)


def fix_unreadable_source(case: Case) -> Iterator[FixCandidate]:
    """Offer to replace a source that cannot be exported by a file reader."""
    node = case.node
    if node.op in OPAQUE and not node.inputs:
        yield "Read your data instead", case.edit(_with_file_reader, node)


def _with_file_reader(graph: Graph, catalog: Catalog, node: Node) -> Graph | None:
    """Replace a source with ``readers.file`` and a decoder, which output an image and a label.

    Returns None if further outputs are used, or if the node is inside a block.
    """
    if node not in graph.nodes:
        return None
    given = output_ports(node, catalog[node.op])
    wanted = [port for port in given if port in used_ports(graph)]
    if not wanted or len(wanted) > 2:
        return None
    encoded = next((port for port in wanted if _is_decoded(graph, catalog, port)), None)
    image = encoded or wanted[0]
    reader = new_node(graph, catalog, "readers.file", "reader")
    decode = Node(
        free_id(graph, "decode"), "decoders.image", {}, {"data": Port(reader.id, "jpegs")}
    )
    moved = {port: Port(reader.id, "labels") for port in wanted if port != image}
    moved[image] = Port(reader.id, "jpegs") if encoded else Port(decode.id, "output")
    made = (reader,) if encoded else (reader, decode)
    others = (each for each in graph.nodes if each != node)
    return replace(graph, nodes=(*made, *others)).rewire(moved)


def _is_decoded(graph: Graph, catalog: Catalog, port: Port) -> bool:
    for node in graph.walk():
        spec = catalog.find(node.op)
        for wanted in spec.inputs if spec is not None else ():
            if wanted.kind == "encoded" and node.inputs.get(wanted.name) == port:
                return True
    return False


# Faults of blocks


@remedy("control", "bodies", "branches")
def fix_block(case: Case) -> Iterator[FixCandidate]:
    """Offer to convert a differing output, to replace the block by one body, or to remove it."""
    node = case.node
    if case.fault.code == "branches" and {"cast", "color_space_conversion"} <= {*case.catalog}:
        yield from _conversions(case)
    for body in node.bodies:
        yield f"Keep {body} alone", case.edit(_unwrapped, node.id, body)
    yield case.removal()


@remedy("draw")
def fix_probabilities(case: Case) -> Iterator[FixCandidate]:
    """Offer to set the generator's range to the number of bodies, and to scale probabilities."""
    block = case.node
    kind = kind_of(block)
    generator = kind.generator_of(case.graph, block)
    if generator is None:
        return
    count = kind.random_args(block, {}).get("population")
    label = f"Set {generator.id} to select from {count} numbers"
    if kind.weighted:
        count = len(block.bodies)
        given = generator.args.get("p")
        if isinstance(given, tuple) and given:
            more = [1 / len(given)] * (count - len(given))
            weights: list[Any] = [*given, *more]
            yield label, partial(set_weights, case.graph, block.id, weights[:count])
        yield (
            f"{label}, with equal probability",
            partial(set_weights, case.graph, block.id, [1] * count),
        )
    else:
        yield label, partial(fit_generator, case.graph, block.id)


def _conversions(case: Case) -> Iterator[FixCandidate]:
    """Offer to convert a body's output to the type of the input, or of another body's output."""
    block, scope, output = case.node, case.about, case.arg
    types = case.typed.types
    others = [body.outputs.get(output) for body in block.bodies.values()]
    ports = [port for port in (block.inputs.get(output), *others) if port]
    found = [each for each in map(types.get, ports) if each]
    for dtype in dict.fromkeys(each.dtype for each in found if each.dtype):
        made = Node(f"{output}_{dtype.lower()}", "cast", {"dtype": dtype})
        yield (
            f"Cast {output} of {scope} to {dtype}",
            partial(_appended_to_body, case.graph, scope, output, made),
        )
    known = {COLOURS[each.channels] for each in found if each.channels in COLOURS}
    for given, wanted in permutations(sorted(known), 2):
        args = {"image_type": given, "output_type": wanted}
        made = Node(f"{output}_{wanted.lower()}", "color_space_conversion", args)
        label = f"Convert {output} of {scope} from {given} to {wanted}"
        yield label, partial(_appended_to_body, case.graph, scope, output, made)


def _appended_to_body(graph: Graph, scope: str, output: str, node: Node) -> Graph:
    """Add a node at the end of a body, between ``output`` and its current source."""
    body = graph.whole.at_scope(scope)
    made = replace(node, id=free_id(body, node.id), inputs={"data": body.outputs[output]})
    outputs = {**body.outputs, output: Port(made.id, "output")}
    return replace(body, nodes=(*body.nodes, made), outputs=outputs).whole


def _unwrapped(graph: Graph, catalog: Catalog, block: str, body: str) -> Graph:
    return unwrap_block(graph, catalog, block, body)[0]


def fix_by_removal(case: Case) -> Iterator[FixCandidate]:
    """Offer to remove the node, or any of the blocks that contain it, innermost first."""
    node, whole = case.node_id, case.graph.whole
    while whole.has(node):
        yield replace(case, typed=case.typed.for_graph(whole)).removal(node)
        node = block_of(whole.scope_of(node))
