"""What the canvas may ask to be done: one function for each action.

Each takes the document, the catalogue and the message of the outbox (untrusted JSON), and gives
the new document and the nodes to select, or None to leave the selection. A wrong message raises
GraphEditError, as the edits themselves do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph import compose
from workbench.graph.connect import connect, disconnect, set_output, taken
from workbench.graph.devices import is_generator, port_kind
from workbench.graph.edit import chain, insert_node, move_node
from workbench.graph.fragment import duplicate, paste_fragment
from workbench.graph.layout import Document, Layout, positions_from_json
from workbench.graph.model import Graph, Port
from workbench.graph.remove import remove_nodes
from workbench.graph.rename import rename_node, rename_output
from workbench.ui.argument_actions import Message, text_of

Edited = tuple[Document, list[str] | None]
_APART = 96
"""Pixels between nodes that are put one under the other."""
MOST_NODES = 1000
"""Nodes that the page still draws at a speed that one can work with."""


def _names(message: Message, key: str) -> list[str]:
    value = message.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise GraphEditError(f"{message.get('do')}: {key} is {value!r}, not a list of texts.")
    return value


def _port(message: Message, node: str, output: str) -> Port | None:
    source = text_of(message, node)
    return Port(source, text_of(message, output)) if source else None


def _added(document: Document, placed: tuple[Graph, str]) -> Edited:
    graph, node = placed
    return _limited(document, graph), [node]


def _limited(document: Document, graph: Graph) -> Document:
    if len(graph.nodes) > max(MOST_NODES, len(document.graph.nodes)):
        raise GraphEditError(
            f"That would make {len(graph.nodes)} nodes; the canvas holds {MOST_NODES}. "
            "Compose such a graph in Python."
        )
    return document.with_graph(graph)


def _add(document: Document, catalog: Catalog, message: Message) -> Edited:
    op, after = text_of(message, "op"), text_of(message, "after")
    graph = document.graph
    if not after or not compose.usable_spec(catalog, op).inputs:
        return _added(document, compose.append_node(graph, catalog, op))
    placed, node = insert_node(graph, catalog, op, after)
    return _added(document, (compose.with_outputs(placed, catalog, node), node))


def _add_on(document: Document, catalog: Catalog, message: Message) -> Edited:
    op, edge = text_of(message, "op"), text_of(message, "edge")
    return _added(document, compose.insert_on_edge(document.graph, catalog, op, edge))


def _branch(document: Document, catalog: Catalog, message: Message) -> Edited:
    source = _port(message, "node", "output")
    op = text_of(message, "op")
    return _added(document, compose.place_node(document.graph, catalog, op, source))


def _connect(document: Document, catalog: Catalog, message: Message) -> Edited:
    graph = document.graph
    source = _port(message, "source", "output")
    target, into = text_of(message, "target"), text_of(message, "input")
    if source is None:
        raise GraphEditError("connect: no source is named.")
    dragged = text_of(message, "edge")
    if dragged:
        graph = cut_edge(graph, dragged)
    if not target:
        _require_kind(graph, catalog, source, into)
        return document.with_graph(compose.give_out(graph, catalog, source, into)), None
    reason = taken(graph, target, into, source)
    if reason:
        raise GraphEditError(f"{target}.{into} was not connected: {reason}.")
    return document.with_graph(connect(graph, catalog, source, target, into)), None


def _require_kind(graph: Graph, catalog: Catalog, source: Port, output: str) -> None:
    """An output that a trainer takes for labels does not become images unnoticed."""
    before = graph.outputs.get(output)
    if before is None:
        return
    had, gives = (port_kind(graph, catalog, port) for port in (before, source))
    if had != gives and "any" not in (had, gives):
        raise GraphEditError(
            f"The output {output!r} gives {had}, and {source} gives {gives}: give it out under "
            "another name, or remove that output first."
        )


def _disconnect(document: Document, catalog: Catalog, message: Message) -> Edited:
    graph = document.graph
    for edge in _names(message, "edges"):
        graph = cut_edge(graph, edge)
    return document.with_graph(graph), None


def cut_edge(graph: Graph, edge: str) -> Graph:
    """Without the edge of that id; an output of the graph goes with its edge."""
    _, target, into = compose.find_edge(graph, edge)
    return disconnect(graph, target, into) if target else set_output(graph, into, None)


def _splice(document: Document, catalog: Catalog, message: Message) -> Edited:
    node, edge = text_of(message, "node"), text_of(message, "edge")
    return document.with_graph(compose.splice_node(document.graph, catalog, node, edge)), [node]


def _move(document: Document, catalog: Catalog, message: Message) -> Edited:
    node, by = text_of(message, "node"), message.get("by")
    if not isinstance(by, int):
        raise GraphEditError(f"A node moves by -1 or 1, not {by!r}.")
    return document.with_graph(move_node(document.graph, catalog, node, by)), [node]


def _remove(document: Document, catalog: Catalog, message: Message) -> Edited:
    graph, nodes = document.graph, _names(message, "nodes")
    ids = [node.id for node in chain(graph, catalog)]
    first = min((ids.index(node) for node in nodes if node in ids), default=0)
    for edge in _names(message, "edges"):
        target = edge.partition(":")[0]
        if target not in nodes:
            graph = cut_edge(graph, edge)
    outputs = {node.removeprefix(":") for node in nodes if node.startswith(":")}
    for name in outputs:
        graph = set_output(graph, name, None)
    graph = remove_nodes(graph, catalog, [node for node in nodes if not node.startswith(":")])
    near = (*reversed(ids[:first]), *ids[first:])
    left = next((node for node in near if graph.has(node)), None)
    selected = None if not nodes else [left] if left else []
    return document.with_graph(graph), selected


def _duplicate(document: Document, catalog: Catalog, message: Message) -> Edited:
    graph, added = duplicate(document.graph, _names(message, "nodes"))
    return _limited(document, graph), _drawn(graph, catalog, added)


def _paste(document: Document, catalog: Catalog, message: Message) -> Edited:
    graph, added = paste_fragment(document.graph, text_of(message, "text"))
    pasted, drawn = _limited(document, graph), _drawn(graph, catalog, added)
    return _placed(pasted, drawn, message), drawn


def _placed(document: Document, drawn: list[str], message: Message) -> Document:
    """With what is fed by nothing drawn at the place that the message names.

    Not where all is laid out automatically: there it finds its place by itself.
    """
    if not document.layout.positions:
        return document
    fed = {edge.target for edge in document.graph.edges if edge.source.node in drawn}
    free = [node for node in drawn if node not in fed]
    x, y = message.get("x"), message.get("y")
    first = positions_from_json({node: [x, y] for node in free})
    spread = {node: (at[0], at[1] + row * _APART) for row, (node, at) in enumerate(first.items())}
    positions = {**document.layout.positions, **spread}
    return replace(document, layout=replace(document.layout, positions=positions))


def _drawn(graph: Graph, catalog: Catalog, ids: tuple[str, ...]) -> list[str]:
    """Of some nodes those that are not folded into another."""
    folded = folded_generators(graph, catalog, Layout())
    return [node_id for node_id in ids if node_id not in folded]


def _rename(document: Document, catalog: Catalog, message: Message) -> Edited:
    old, new = text_of(message, "node"), text_of(message, "to").strip()
    if old.startswith(":"):
        graph = rename_output(document.graph, old[1:], new)
        return replace(document, graph=graph, layout=document.layout.renamed(old, f":{new}")), None
    graph = rename_node(document.graph, old, new)
    return document.renamed(graph, old, new), [new]


def _place(document: Document, catalog: Catalog, message: Message) -> Edited:
    positions = positions_from_json(message.get("positions"))
    layout = replace(document.layout, positions=positions)
    return replace(document, layout=layout.within(document.graph)), None


def _arrange(document: Document, catalog: Catalog, message: Message) -> Edited:
    return replace(document, layout=replace(document.layout, positions={})), None


def _unfold(document: Document, catalog: Catalog, message: Message) -> Edited:
    node, arg = text_of(message, "node"), text_of(message, "arg")
    port = document.graph.node(node).inputs.get(arg)
    if port is None:
        raise GraphEditError(f"Nothing feeds {node}.{arg}.")
    unfolded = document.layout.unfolded | {port.node}
    return replace(document, layout=replace(document.layout, unfolded=unfolded)), [port.node]


def _fold(document: Document, catalog: Catalog, message: Message) -> Edited:
    node = text_of(message, "node")
    layout = replace(document.layout, unfolded=document.layout.unfolded - {node})
    if node not in folded_generators(document.graph, catalog, layout):
        raise GraphEditError(f"{node} does not feed just one argument: it stays a node.")
    fed = document.graph.consumers(node)[0].target
    return replace(document, layout=layout), [fed]


CANVAS_ACTIONS: dict[str, Callable[[Document, Catalog, Message], Edited]] = {
    "add": _add,
    "add_on": _add_on,
    "branch": _branch,
    "connect": _connect,
    "disconnect": _disconnect,
    "splice": _splice,
    "move": _move,
    "remove": _remove,
    "duplicate": _duplicate,
    "paste": _paste,
    "rename": _rename,
    "place": _place,
    "arrange": _arrange,
    "unfold": _unfold,
    "fold": _fold,
}


def folded_generators(graph: Graph, catalog: Catalog, layout: Layout) -> dict[str, tuple[str, str]]:
    """Generators that stand in the node that they feed -> that node and its argument."""
    given = {port.node for port in graph.outputs.values()}
    fed: dict[str, list[tuple[str, str]]] = {}
    for edge in graph.edges:
        fed.setdefault(edge.source.node, []).append((edge.target, edge.input))
    folded = {}
    for node in graph.nodes:
        spec = catalog.find(node.op)
        if spec is None or not is_generator(spec) or node.inputs:
            continue
        if node.id in given or node.id in layout.unfolded or len(fed.get(node.id, ())) != 1:
            continue
        target, into = fed[node.id][0]
        target_spec = catalog.find(graph.node(target).op)
        if target_spec is not None and into in target_spec.args:
            folded[node.id] = target, into
    return folded
