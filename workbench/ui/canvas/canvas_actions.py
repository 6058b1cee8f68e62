"""What the canvas may ask to be done: one function for each action, in the body that is shown.

Each gives the new document and the nodes to select, or None to leave the selection. An action
that does not suit the graph raises GraphEditError, as the edits themselves do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from workbench.catalog.own_operators.blocks import BLOCKS
from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.control_flow.condition_edits import add_elif, set_condition
from workbench.graph.control_flow.wrap import unwrap_block, wrap_as_options, wrap_in_block
from workbench.graph.edits import compose
from workbench.graph.edits.connect import connect, disconnect, port_taken_reason, set_output
from workbench.graph.edits.edit import chain, move_node
from workbench.graph.edits.fragment import duplicate, paste_fragment
from workbench.graph.edits.remove import remove_nodes
from workbench.graph.edits.rename import rename_node, rename_output
from workbench.graph.execution.active import set_muted
from workbench.graph.model import Graph, Port
from workbench.graph.storage.layout import Document, Layout, Position, positions_from_json
from workbench.graph.types.devices import is_generator, port_kind
from workbench.graph.variants.fused import fuse
from workbench.ui.canvas import canvas_annotations as remarks
from workbench.ui.canvas.edited_bodies import scope_of, split_by_body
from workbench.ui.canvas.insertions import Edited, apply_insertion, within_limit
from workbench.ui.contract.actions import canvas
from workbench.ui.inspector.condition_actions import usual_condition


def _connect(document: Document, catalog: Catalog, action: canvas.Connect) -> Edited:
    graph = document.graph
    source = Port(action.source, action.output)
    target, into = action.target, action.input
    if not action.source:
        raise GraphEditError("connect: no source is named.")
    dragged = action.edge
    if dragged:
        graph = cut_edge(graph, dragged)
    if not target:
        _require_kind(graph, catalog, source, into)
        return document.with_graph(compose.add_output(graph, catalog, source, into)), None
    reason = port_taken_reason(graph, target, into, source)
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


def _disconnect(document: Document, catalog: Catalog, action: canvas.Disconnect) -> Edited:
    graph = document.graph
    for edge in action.edges:
        graph = cut_edge(graph, edge)
    return document.with_graph(graph), None


def cut_edge(graph: Graph, edge: str) -> Graph:
    """Without the edge of that id; an output of the graph goes with its edge."""
    _, target, into = compose.find_edge(graph, edge)
    return disconnect(graph, target, into) if target else set_output(graph, into, None)


def _splice(document: Document, catalog: Catalog, action: canvas.Splice) -> Edited:
    node, edge = action.node, action.edge
    spliced = document.with_graph(compose.splice_node(document.graph, catalog, node, edge))
    return placed(spliced, action.positions) if action.positions else spliced, [node]


def _move(document: Document, catalog: Catalog, action: canvas.Move) -> Edited:
    graph = move_node(document.graph, catalog, action.node, action.by)
    return document.with_graph(graph), [action.node]


def _remove(document: Document, catalog: Catalog, action: canvas.Remove) -> Edited:
    graph, nodes = document.graph, action.nodes
    ids = [node.id for node in chain(graph, catalog)]
    first = min((ids.index(node) for node in nodes if node in ids), default=0)
    for edge in action.edges:
        target = edge.partition(":")[0]
        if target not in nodes:
            graph = cut_edge(graph, edge)
    outputs = {node.removeprefix(":") for node in nodes if node.startswith(":")}
    for name in outputs:
        graph = set_output(graph, name, None)
    chosen = [node for node in nodes if not node.startswith(":")]
    own = _own(graph, chosen)
    if chosen and not own:
        raise GraphEditError(f"{chosen[0]} stands for what the body takes in: it stays.")
    graph = remove_nodes(graph, catalog, own)
    near = (*reversed(ids[:first]), *ids[first:])
    left = next((node for node in near if graph.has(node)), None)
    selected = None if not nodes else [left] if left else []
    return document.with_graph(graph), selected


def _mute(document: Document, catalog: Catalog, action: canvas.Mute) -> Edited:
    own = _own(document.graph, action.nodes)
    return document.with_graph(set_muted(document.graph, own, action.muted)), None


def _duplicate(document: Document, catalog: Catalog, action: canvas.Duplicate) -> Edited:
    own = _own(document.graph, action.nodes)
    graph, added = duplicate(document.graph.whole, own)
    graph = graph.at_scope(document.graph.scope)
    return within_limit(document, graph), _drawn(graph, catalog, added)


def _own(graph: Graph, nodes: Sequence[str]) -> list[str]:
    """Without what stands for what the body takes in."""
    return [node for node in nodes if node != graph.scope]


def _paste(document: Document, catalog: Catalog, action: canvas.Paste) -> Edited:
    scope = document.graph.scope
    graph, added = paste_fragment(document.graph.whole, action.text, scope)
    graph = graph.at_scope(scope)
    pasted, drawn = within_limit(document, graph), _drawn(graph, catalog, added)
    pasted = remarks.with_pasted_remarks(pasted, action.text, added)
    return with_free_nodes(pasted, drawn, action.x, action.y), drawn


def _drawn(graph: Graph, catalog: Catalog, ids: tuple[str, ...]) -> list[str]:
    """Of some nodes those that are not folded into another."""
    folded = folded_generators_in_scope(graph, catalog, Layout())
    return [node_id for node_id in ids if node_id not in folded]


def _rename(document: Document, catalog: Catalog, action: canvas.Rename) -> Edited:
    old, new = action.node, action.to.strip()
    if old.startswith(":"):
        graph = rename_output(document.graph, old[1:], new)
        scope = graph.scope
        layout = document.layout.renamed(f"{scope}{old}", f"{scope}:{new}")
        return replace(document, graph=graph, layout=layout), None
    graph = rename_node(document.graph, old, new)
    return document.renamed(graph, old, new), [new]


def _place(document: Document, catalog: Catalog, action: canvas.SetPositions) -> Edited:
    return placed(document, action.positions), None


def _wrap(document: Document, catalog: Catalog, action: canvas.Wrap) -> Edited:
    graph = document.graph
    if action.op not in BLOCKS:
        raise GraphEditError(f"{action.op[:40]!r} is no block. There is {', '.join(BLOCKS)}.")
    nodes = _own(graph, action.nodes)
    side_by_side = BLOCKS[action.op].numbered_bodies and not action.together
    wrap = wrap_as_options if side_by_side else wrap_in_block
    whole, block = wrap(graph.whole, catalog, nodes, action.op)
    if action.condition:
        whole = set_condition(whole, catalog, block, usual_condition(action.condition))
    return within_limit(document, whole.at_scope(graph.scope)), [block]


def _unwrap(document: Document, catalog: Catalog, action: canvas.Unwrap) -> Edited:
    graph, nodes = unwrap_block(document.graph, catalog, action.node, action.body)
    drawn = _drawn(graph, catalog, nodes)
    return document.with_graph(graph), drawn


def _add_elif(document: Document, catalog: Catalog, action: canvas.AddElif) -> Edited:
    whole, added = add_elif(document.graph, catalog, action.node)
    return within_limit(document, whole.at_scope(document.graph.scope)), [added]


def _arrange(document: Document, catalog: Catalog, action: canvas.Arrange) -> Edited:
    return replace(document, layout=document.layout.cleared(document.graph)), None


def _unfold(document: Document, catalog: Catalog, action: canvas.Unfold) -> Edited:
    node, arg = action.node, action.arg
    port = document.graph.node(node).inputs.get(arg)
    if port is None:
        raise GraphEditError(f"Nothing feeds {node}.{arg}.")
    unfolded = document.layout.unfolded | {port.node}
    return replace(document, layout=replace(document.layout, unfolded=unfolded)), [port.node]


def _fold(document: Document, catalog: Catalog, action: canvas.Fold) -> Edited:
    node = action.node
    layout = replace(document.layout, unfolded=document.layout.unfolded - {node})
    if node not in folded_generators_in_scope(document.graph, catalog, layout):
        raise GraphEditError(f"{node} does not feed just one argument: it stays a node.")
    fed = document.graph.consumers(node)[0].target
    return replace(document, layout=layout), [fed]


def _collapse(document: Document, catalog: Catalog, action: canvas.Collapse) -> Edited:
    node, layout = document.graph.node(action.node), document.layout
    if not node.bodies:
        raise GraphEditError(f"{node.id} is no block: there is nothing in it to show or to hide.")
    chosen = {node.id}
    collapsed = layout.collapsed | chosen if action.collapsed else layout.collapsed - chosen
    return replace(document, layout=replace(layout, collapsed=collapsed)), [node.id]


def apply_canvas_edit(
    document: Document, catalog: Catalog, action: canvas.CanvasEdit, scope: str = ""
) -> Edited:
    """Carry out an action that changes the document.

    In the body ``scope``, or where the action names what stands in a body drawn in that, there.
    """
    nodes: list[str] | None = None
    for inner, part in split_by_body(document.graph, action, scope):
        shown = replace(document, graph=document.graph.at_scope(inner))
        edited, nodes = _apply(shown, catalog, part)
        followed = with_followers(document.graph, edited.graph.whole, catalog)
        document = edited.with_graph(followed)
    return document, nodes


def _apply(document: Document, catalog: Catalog, action: canvas.CanvasEdit) -> Edited:
    match action:
        case canvas.Branch(at=[x, y]):
            branched, added = apply_insertion(document, catalog, action)
            return with_free_nodes(branched, added or [], x, y), added
        case (
            canvas.Add()
            | canvas.AddOnEdge()
            | canvas.Branch()
            | canvas.AddFeeding()
            | canvas.AddTemplate()
        ):
            return apply_insertion(document, catalog, action)
        case canvas.Connect():
            return _connect(document, catalog, action)
        case canvas.Disconnect():
            return _disconnect(document, catalog, action)
        case canvas.Splice():
            return _splice(document, catalog, action)
        case canvas.Move():
            return _move(document, catalog, action)
        case canvas.Remove():
            return _remove(document, catalog, action)
        case canvas.Mute():
            return _mute(document, catalog, action)
        case canvas.Duplicate():
            return _duplicate(document, catalog, action)
        case canvas.Paste():
            return _paste(document, catalog, action)
        case canvas.Rename():
            return _rename(document, catalog, action)
        case canvas.SetPositions():
            return _place(document, catalog, action)
        case canvas.Wrap():
            return _wrap(document, catalog, action)
        case canvas.Unwrap():
            return _unwrap(document, catalog, action)
        case canvas.AddElif():
            return _add_elif(document, catalog, action)
        case canvas.Fuse():
            whole, fused = fuse(document.graph, catalog, action.node)
            return document.with_graph(whole.at_scope(document.graph.scope)), [fused]
        case canvas.Arrange():
            return _arrange(document, catalog, action)
        case canvas.SetFrame():
            return remarks.set_frame(document, action), None
        case canvas.RemoveFrame():
            return remarks.remove_frame(document, action), None
        case canvas.SetNote():
            return remarks.set_note(document, action), None
        case canvas.Unfold():
            return _unfold(document, catalog, action)
        case canvas.Fold():
            return _fold(document, catalog, action)
        case canvas.Collapse():
            return _collapse(document, catalog, action)
    assert_never(action)


def folded_generators_in_scope(
    graph: Graph, catalog: Catalog, layout: Layout
) -> dict[str, tuple[str, str]]:
    """Generators that stand in the node that they feed -> that node and its argument.

    Those of the graph's own body only: see ``all_folded_generators``.
    """
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


def all_folded_generators(
    graph: Graph, catalog: Catalog, layout: Layout
) -> dict[str, tuple[str, str]]:
    """The same for a whole graph, with all that stands inside its blocks."""
    found: dict[str, tuple[str, str]] = {}
    for scope, _ in graph.bodies():
        found |= folded_generators_in_scope(graph.at_scope(scope), catalog, layout)
    return found


_APART = 96
"""Pixels between nodes that are put one under the other."""


def placed(document: Document, given: dict[str, list[float]]) -> Document:
    """With places, in pixels, of all that stands in one body or in several.

    Keys are those of ``canvas.SetPositions``. Of none, the body that is shown is laid out
    automatically. Raises GraphEditError for a body that the graph does not have.
    """
    graph = document.graph
    bodies: dict[str, dict[str, Position]] = {} if given else {graph.scope: {}}
    for key, at in positions_from_json(given).items():
        scope = scope_of(graph.whole, key, graph.scope)
        _, colon, output = key.partition(":")
        bodies.setdefault(scope, {})[f":{output}" if colon else key] = at
    layout = document.layout
    for scope, positions in bodies.items():
        layout = layout.placed(graph.whole.at_scope(scope), positions)
    return replace(document, layout=layout.within(graph))


def with_free_nodes(document: Document, drawn: list[str], x: float, y: float) -> Document:
    """With those that are fed by nothing at a place, one under the other.

    Not where all is laid out automatically: there it finds its place by itself.
    """
    shown = document.layout.shown(document.graph)
    if not shown:
        return document
    fed = {edge.target for edge in document.graph.edges if edge.source.node in drawn}
    free = [node for node in drawn if node not in fed]
    first = positions_from_json({node: [x, y] for node in free})
    spread = {node: (at[0], at[1] + row * _APART) for row, (node, at) in enumerate(first.items())}
    layout = document.layout.placed(document.graph, {**shown, **spread})
    return replace(document, layout=layout)
