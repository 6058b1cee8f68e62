"""A source in another's place, where one gives encoded images and the other gives pixels."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog import load_catalog
from workbench.graph.edits.edit import free_seed
from workbench.graph.model import Graph, Node, Port, Source
from workbench.names import free_name
from workbench.sources import Dataset, SourceKind, load_source

_DECODER = "decoders.image"
_ORDERS = {"HWC": "FHWC", "CHW": "FCHW"}
"""The order of axes of a picture, and of a sequence of these."""


def exchanged(graph: Graph, source: Source, kind: str, data: Dataset | None = None) -> Graph:
    """The graph with a source of another kind, that reads these data where they are known.

    What was decoded is fed with the pixels that a source gives, and its decoder goes; behind a
    source that gives none a decoder comes, the one that it wants. Decoders that do more, such as
    one that crops, stay.
    Options that mean nothing to the new reader go. Where sequences come in the place of pictures,
    or the reverse, the order of axes that an operator gives is theirs.
    """
    old, new = load_source(source.kind), load_source(kind)
    if kind == source.kind:
        return graph
    same = old.op == new.op  # with options of one reader, which stay as they are
    gone = set() if same else old.begins.keys() - new.begins.keys() - _needed(graph, source, new)
    begins = {} if same else new.begins
    known = source.args.keys() if new.options is None else new.options
    args = {n: value for n, value in source.args.items() if n in known and n not in gone}
    made = replace(source, kind=kind, op=new.op, args={**begins, **args}, seed=None)
    if new.seeded:
        made = replace(made, seed=free_seed(graph) if source.seed is None else source.seed)
    nodes = [made if node == source else node for node in graph.nodes]
    given, port = Port(source.id, _images(old)), Port(source.id, _images(new))
    moved: dict[Port, Port] = {}
    own, wanted = old.decoder or _DECODER, new.decoder or _DECODER
    if old.pixels and not new.pixels:
        name = free_name("decode", {node.id for node in graph.walk()})
        decoder = Node(name, wanted, {}, {"data": port})
        moved[given] = Port(decoder.id, "output")
        nodes.insert(nodes.index(made) + 1, decoder)
    elif new.pixels and not old.pixels:
        for node in graph.nodes:
            if node.op == own and node.inputs.get("data") == given:
                moved[Port(node.id, "output")] = port
                nodes.remove(node)
    elif given != port:
        moved[given] = port
    if not old.pixels and not new.pixels and own != wanted:
        nodes = [
            replace(node, op=wanted, args={}, device=None)
            if node.op == own and node.inputs.get("data") == given
            else node
            for node in nodes
        ]
    frames = new.gives_sequences(data)
    if (frames or old.has_sequences) and len(graph.sources) == 1:
        nodes = [_in_order(node, frames=frames) for node in nodes]
    return replace(graph, nodes=tuple(nodes)).rewire(moved)


def _needed(graph: Graph, source: Source, kind: SourceKind) -> set[str]:
    """Options without which a reader of the kind does not give what the graph reads."""
    ports = {port for node in graph.walk() for port in node.inputs.values()}
    read = {port.output for port in ports.union(graph.outputs.values()) if port.node == source.id}
    outputs = load_catalog()[kind.op].outputs
    return {port.needs for port in outputs if port.needs and port.name in read}


def _in_order(node: Node, *, frames: bool) -> Node:
    """The node with the order of axes that it gives, of sequences or of pictures."""
    orders = _ORDERS if frames else {several: one for one, several in _ORDERS.items()}
    given = node.args.get("output_layout")
    if not isinstance(given, str) or given not in orders:
        return node
    return node.with_args({"output_layout": orders[given]})


def _images(kind: SourceKind) -> str:
    """The output with the images: pixels, or encoded ones."""
    return kind.pixels or kind.outputs[0]
