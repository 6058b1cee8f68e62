"""The user's data in the place of what feeds an imported pipeline and the graph cannot hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.catalog.spec import OPAQUE, Catalog
from workbench.graph.edits.edit import free_id, new_node
from workbench.graph.fixes.fix_candidate import FixCandidate
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.faults import Fault


def fix_unreadable_source(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A reader of the data, where the node reads nothing itself and gives images."""
    node = graph.node(fault.node)
    if node.op in OPAQUE and not node.inputs:
        yield "Read your data in its place", partial(_read_in_place, graph, catalog, node)


def _read_in_place(graph: Graph, catalog: Catalog, node: Node) -> Graph | None:
    """With ``readers.file`` and a decoder, of which the image and a label are taken.

    None where more is asked of it, or it stands in a region.
    """
    if node not in graph.nodes:
        return None
    wanted = [port for port in _outputs(node, catalog) if _is_used(graph, port)]
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


def _outputs(node: Node, catalog: Catalog) -> list[Port]:
    return [Port(node.id, output.name) for output in catalog[node.op].outputs]


def _is_used(graph: Graph, port: Port) -> bool:
    given = (each for node in graph.walk() for each in node.inputs.values())
    return port in given or port in graph.outputs.values()


def _is_decoded(graph: Graph, catalog: Catalog, port: Port) -> bool:
    for node in graph.walk():
        spec = catalog.find(node.op)
        for wanted in spec.inputs if spec is not None else ():
            if wanted.kind == "encoded" and node.inputs.get(wanted.name) == port:
                return True
    return False
