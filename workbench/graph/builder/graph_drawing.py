"""A graph as text and as SVG: its display in shells and in notebooks without the workbench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from workbench.catalog import load_catalog
from workbench.catalog.spec import Catalog, Value
from workbench.graph.checks.check import check_graph
from workbench.graph.checks.check_warnings import check_warnings
from workbench.graph.model import Graph, Node
from workbench.graph.model.node_order import running_order
from workbench.names import shortened

_WIDTH, _HEIGHT, _GAP, _PAD, _HEAD = 176, 38, 16, 12, 20
"""Pixels: of a box, between boxes, inside a frame, and of its title."""
_MOST_NODES = 400
"""Maximum number of drawn nodes; a drawing of more is not useful."""
_LONGEST = 26
"""Maximum characters per line in a box."""
_ROLES = {
    "source": ("#7c6f9f", "#ebe9f0"), "decode": ("#4f7cac", "#e3ebf2"),
    "geometry": ("#3c8d6e", "#e0ede8"), "crop": ("#3c8d6e", "#e0ede8"),
    "colour": ("#b3702d", "#f3e8dd"), "arithmetic": ("#8a8a8a", "#ececec"),
    "block": ("#a05070", "#f0e3e8"), "random": ("#9a8c2e", "#efedde"),
}  # fmt: skip
"""Border and fill of a node by its role."""
_OTHER_ROLE = ("#707070", "#e8e8e8")
_INK, _FAINT_INK, _LINE, _PAPER = "#1c2230", "#444c5c", "#8d95a3", "#ffffff"
"""Notebooks show the drawing as an image without access to the theme, so it has a background."""
_LANE = 5
"""Pixels between edges that bypass nodes."""


def graph_text(graph: Graph) -> str:
    """The nodes in topological order, one per line, those inside blocks indented."""
    gives = ", ".join(f"{name} = {port}" for name, port in graph.outputs.items()) or "nothing"
    count = sum(1 for _ in graph.walk())
    lines = [f"{graph.name}: {count} nodes"]
    lines += _text_lines(graph.nodes, "  ")
    return "\n".join([*lines, f"  gives {gives}", *(f"  {each}" for each in _remarks(graph))])


def _remarks(graph: Graph) -> list[str]:
    """Faults and warnings of a graph; none of them for an unfinished body of a block."""
    if graph.enclosing is not None or not graph.outputs:
        return []
    faults, warnings = check_graph(graph), check_warnings(graph)
    return [*(f"fault: {each}" for each in faults), *(f"warning: {each}" for each in warnings)]


def _text_lines(nodes: Sequence[Node], indent: str) -> list[str]:
    lines: list[str] = []
    ordered, cyclic = running_order(tuple(nodes))
    for node in ordered + cyclic:
        values = [f"{name}={_value(value)}" for name, value in node.args.items()]
        values += [f"{name}=<{port}>" for name, port in node.inputs.items()]
        muted = "  (muted)" if node.muted else ""
        lines.append(f"{indent}{node.id} = {node.op}({shortened(', '.join(values), 160)}){muted}")
        for name, body in node.bodies.items():
            lines.append(f"{indent}  {body.title or name}:")
            lines += _text_lines(body.nodes, f"{indent}    ") or [f"{indent}    unchanged"]
    return lines


def _value(value: Value) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


@dataclass
class _Box:
    """A node with its position in pixels, or a frame around others."""

    node: Node
    x: float = 0
    y: float = 0
    width: float = _WIDTH
    height: float = _HEIGHT
    bodies: list[tuple[str, str, list[_Box], float, float]] = field(default_factory=list)
    """For blocks: title, scope, boxes, x position and width of each body."""


def graph_svg(graph: Graph) -> str:
    """The graph from top to bottom, coloured by role, with blocks as frames.

    A single line of text if there are more than 400 nodes.
    """
    count = sum(1 for _ in graph.walk())
    if count > _MOST_NODES:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="360" height="24">'
            f'<rect width="360" height="24" fill="{_PAPER}"/><text x="4" y="16" fill="{_INK}" '
            f'font-family="sans-serif" font-size="12">{escape(graph.name)}: {count} nodes</text>'
            "</svg>"
        )
    catalog = load_catalog()
    boxes, width, height = _placed(graph.nodes)
    parts: list[str] = []
    _draw(boxes, catalog, 0, 0, parts)
    places = _places(boxes, 0, 0)
    edges, lanes = _edges(graph.nodes, places)
    names = _output_names(graph, places)
    left = _PAD + lanes * _LANE
    total_w, total_h = width + left + _PAD + 60, height + 2 * _PAD + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_w:g}" height="{total_h:g}" '
        f'viewBox="{-left:g} {-_PAD} {total_w:g} {total_h:g}" font-family="system-ui, sans-serif" '
        f'font-size="11" role="img" aria-label="{escape(graph.name)}">'
        f'<rect x="{-left:g}" y="{-_PAD}" width="{total_w:g}" height="{total_h:g}" rx="8" '
        f'fill="{_PAPER}"/>{"".join(edges)}{"".join(parts)}{"".join(names)}</svg>'
    )


def _placed(nodes: Sequence[Node]) -> tuple[list[_Box], float, float]:
    """Boxes in rows, each node below its inputs, generators just above their consumers."""
    ordered, cyclic = running_order(tuple(nodes))
    every = ordered + cyclic
    known = {node.id for node in every}
    depth: dict[str, int] = {}
    for node in every:
        before = [depth[p.node] for p in node.inputs.values() if p.node in depth]
        depth[node.id] = max(before, default=-1) + 1
    for node in every:
        if not any(port.node in known for port in node.inputs.values()):
            fed = [depth[n.id] for n in every for p in n.inputs.values() if p.node == node.id]
            depth[node.id] = max(0, min(fed, default=1) - 1)
    rows: dict[int, list[_Box]] = {}
    for node in every:
        rows.setdefault(depth[node.id], []).append(_box(node))
    y = width = 0.0
    for number in sorted(rows):
        row = sorted(rows[number], key=lambda box: box.node.op.startswith("random."))
        x = 0.0
        for box in row:
            box.x, box.y = x, y
            x += box.width + _GAP
        y += max(box.height for box in row) + _GAP
        width = max(width, x - _GAP)
    return [box for row in rows.values() for box in row], width, max(0.0, y - _GAP)


def _box(node: Node) -> _Box:
    box = _Box(node)
    if not node.bodies:
        return box
    x, tallest = float(_PAD), 0.0
    for name, body in node.bodies.items():
        inner, width, height = _placed(body.nodes)
        width, height = max(width, 90.0), max(height, 20.0)
        box.bodies.append((body.title or name, node.scope(name), inner, x, width))
        x += width + _PAD
        tallest = max(tallest, height)
    box.width, box.height = max(x, float(_WIDTH)), tallest + 2 * _HEAD + 2 * _PAD
    return box


def _draw(boxes: Sequence[_Box], catalog: Catalog, dx: float, dy: float, parts: list[str]) -> None:
    for box in boxes:
        x, y = box.x + dx, box.y + dy
        spec = catalog.find(box.node.op)
        colour, paper = _ROLES.get(spec.category if spec else "", _OTHER_ROLE)
        faint = ' opacity="0.45"' if box.node.muted else ""
        fill = _PAPER if box.bodies else paper
        parts.append(
            f'<g{faint}><rect x="{x:g}" y="{y:g}" width="{box.width:g}" height="{box.height:g}" '
            f'rx="6" fill="{fill}" stroke="{colour}"/>'
            f'<text x="{x + 8:g}" y="{y + 15:g}" font-weight="600" fill="{_INK}">'
            f"{escape(shortened(box.node.id, _LONGEST))}</text>"
        )
        if not box.bodies:
            parts.append(
                f'<text x="{x + 8:g}" y="{y + 31:g}" fill="{_FAINT_INK}">'
                f"{escape(shortened(_summary(box.node), _LONGEST))}</text>"
            )
        parts.append("</g>")
        for title, _, inner, left, _ in box.bodies:
            parts.append(
                f'<text x="{x + left:g}" y="{y + 2 * _HEAD - 6:g}" '
                f'fill="{_FAINT_INK}">{escape(shortened(title, _LONGEST))}</text>'
            )
            places = _places(inner, x + left, y + 2 * _HEAD)
            parts += _edges([each.node for each in inner], places)[0]
            _draw(inner, catalog, x + left, y + 2 * _HEAD, parts)


def _summary(node: Node) -> str:
    values = [f"{name}={_value(value)}" for name, value in node.args.items()]
    drawn = [name for name in node.inputs if name not in ("input", "data")]
    return ", ".join(values) or (f"{node.op}" if not drawn else f"{node.op}: {', '.join(drawn)}")


def _places(boxes: Sequence[_Box], dx: float, dy: float) -> dict[str, tuple[float, ...]]:
    return {b.node.id: (b.x + dx, b.y + dy, b.width, b.height) for b in boxes}


def _edges(nodes: Sequence[Node], places: Mapping[str, tuple[float, ...]]) -> tuple[list[str], int]:
    """The edges between nodes of one body, and the number of lanes on its left."""
    drawn: list[str] = []
    lanes = 0
    pairs = [(port.node, node.id) for node in nodes for port in node.inputs.values()]
    for source, target in dict.fromkeys(pairs):
        if source not in places or target not in places:
            continue
        start, end = places[source], places[target]
        x0, y0 = start[0] + min(start[2], _WIDTH) / 2, start[1] + start[3]
        x1, y1 = end[0] + min(end[2], _WIDTH) / 2, end[1]
        if any(_lies_between(box, x0, y0, x1, y1) for box in places.values()):
            lanes += 1
            lane = min(x for x, *_ in places.values()) - lanes * _LANE
            low = _GAP / 4 + lanes % 3 * 3
            path = f"V{y0 + low:g} H{lane:g} V{y1 - low:g} H{x1:g} V{y1:g}"
        else:
            bend = max(10.0, (y1 - y0) / 2)
            path = f"C{x0:g} {y0 + bend:g} {x1:g} {y1 - bend:g} {x1:g} {y1:g}"
        drawn.append(
            f'<path d="M{x0:g} {y0:g} {path}" fill="none" stroke="{_LINE}" '
            'stroke-linejoin="round"/>'
        )
    return drawn, lanes


def _lies_between(box: tuple[float, ...], x0: float, y0: float, x1: float, y1: float) -> bool:
    """Whether a straight edge from (x0, y0) down to (x1, y1) passes behind a box."""
    left, top, width, height = box
    if not (y0 <= top and top + height <= y1):
        return False
    middle = x0 + (x1 - x0) * (top + height / 2 - y0) / max(y1 - y0, 1e-9)
    return left - _PAD < middle < left + width + _PAD


def _output_names(graph: Graph, places: Mapping[str, tuple[float, ...]]) -> list[str]:
    given: dict[str, list[str]] = {}
    for name, port in graph.outputs.items():
        given.setdefault(port.node, []).append(name)
    made = []
    for node_id, names in given.items():
        if node_id in places:
            x, y, _, height = places[node_id]
            made.append(
                f'<text x="{x + 4:g}" y="{y + height + 13:g}" fill="{_INK}" font-style="italic" '
                f'stroke="{_PAPER}" stroke-width="3" paint-order="stroke">'
                f"→ {escape(shortened(', '.join(names), 40))}</text>"
            )
    return made
