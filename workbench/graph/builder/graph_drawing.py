"""Format a graph as text and as SVG, for shells and for notebooks without the workbench."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap

from workbench.catalog import load_catalog
from workbench.catalog.spec import Catalog, Value
from workbench.graph.checks.check import check_graph
from workbench.graph.checks.check_warnings import check_warnings
from workbench.graph.control_flow.block_kinds import KINDS
from workbench.graph.edits.edit import default_id
from workbench.graph.model import Graph, Node
from workbench.graph.model.node_order import running_order
from workbench.names import shortened

_WIDTH, _GAP, _PAD, _HEAD, _LINE_HEIGHT = 200, 16, 12, 22, 15
"""Node width, gap between nodes, padding and title height of blocks, line height, in pixels."""
_MOST_WIDTH = 760
"""Maximum width of a row in pixels. Notebook cells are at least 800 pixels wide."""
_MOST_NODES = 400
_LONGEST = 30
"""Maximum number of characters per line of a node."""
_LETTER = 6.2
"""Mean width of a letter in pixels."""
_ROLES = {
    "source": "#6b5f8f", "decode": "#3f6c9c", "geometry": "#2f7a5d", "crop": "#2f7a5d",
    "colour": "#9a5c22", "block": "#ad5f83", "random": "#7c7020",
}  # fmt: skip
"""Colour of a node by its role. Notebooks display the drawing as an image without access to the
theme, so it has no background, and its colours are readable in light and dark themes."""
_OTHER_ROLE = "#666666"
_INK, _GREY, _ALERT = "#ffffff", "#7a7a7a", "#c05621"
"""Colours of text on nodes, of lines and text elsewhere, and of warnings."""
_LANE, _MOST_LANES = 5, 14
"""Width in pixels and maximum number of the vertical lanes for edges that bypass nodes."""
_RANDOM = "random."


def graph_text(graph: Graph) -> str:
    """Format the nodes in topological order, one per line; nodes inside blocks are indented."""
    gives = ", ".join(f"{name} = {port}" for name, port in graph.outputs.items()) or "nothing"
    count = sum(1 for _ in graph.walk())
    lines = [f"{graph.name}: {count} node{'s' * (count != 1)}"]
    lines += _text_lines(graph.nodes, "  ")
    return "\n".join([*lines, f"  gives {gives}", *(f"  {each}" for each in _remarks(graph))])


def _remarks(graph: Graph) -> list[str]:
    """Return the faults and warnings of a graph; empty for an unfinished body of a block."""
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
    """A node or block with its position and size in pixels."""

    node: Node
    lines: list[str]
    """The node's arguments as lines of text; for a block, the controlling input."""
    x: float = 0
    y: float = 0
    width: float = _WIDTH
    height: float = 0
    bodies: list[tuple[str, list[_Box], float, float]] = field(default_factory=list)
    """Title, nodes, x and y of each body of a block."""


def graph_svg(graph: Graph) -> str:
    """Render the graph from top to bottom, coloured by role, with blocks as frames.

    A random generator is shown as a line of text in each node that uses it. A graph of more than
    400 nodes is rendered as a single line of text.
    """
    count = sum(1 for _ in graph.walk())
    if count > _MOST_NODES:
        return _svg(
            [_text(4, 16, f"{graph.name}: {count} nodes", _GREY)], 0, 0, 360, 24, graph.name
        )
    catalog = load_catalog()
    boxes, width, height = _layout(graph, graph.nodes, _MOST_WIDTH)
    remarks = _remarks(graph)
    marked = {remark.split(": ")[1].partition(".")[0] for remark in remarks}
    parts: list[str] = []
    _draw(boxes, catalog, 0, 0, parts, marked)
    places = _rects_by_id(boxes, 0, 0)
    edges, lanes = _edges([box.node for box in boxes], places)
    left = _PAD + lanes * _LANE
    names = _output_names(graph, places)
    right = max([width, *(x + len(text) * _LETTER for x, _, text in names)])
    if remarks:
        right = max(right, 480.0)
    parts += [_text(x, y, text, _GREY, "italic") for x, y, text in names]
    bottom = height + _LINE_HEIGHT
    for line in (line for each in remarks for line in wrap(f"⚠ {each}", int(right / _LETTER))):
        bottom += _LINE_HEIGHT
        parts.append(_text(0, bottom, line, _ALERT))
    return _svg([*edges, *parts], left, _PAD, right + left + _PAD, bottom + 2 * _PAD, graph.name)


def _svg(
    parts: Sequence[str], left: float, top: float, width: float, height: float, name: str
) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="{-left:g} {-top:g} {width:g} {height:g}" font-family="system-ui, sans-serif" '
        f'font-size="11" role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, colour: str, style: str = "", weight: int = 400) -> str:
    styled = f' font-style="{style}"' if style else ""
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}"{styled}{bold}>{escape(text)}</text>'


def _inlined_generators(graph: Graph, nodes: Sequence[Node]) -> dict[str, Node]:
    """Return the generators, by id, that are drawn as a line in the only node that uses them."""
    given_out = {port.node for port in graph.outputs.values()}
    fed: dict[str, list[bool]] = {}
    for node in nodes:
        spec = load_catalog().find(node.op)
        control = KINDS[node.op].control if node.op in KINDS else ""
        for name, port in node.inputs.items():
            is_argument = name == control if node.bodies else spec is not None and name in spec.args
            fed.setdefault(port.node, []).append(is_argument)
    return {
        node.id: node
        for node in nodes
        if node.op.startswith(_RANDOM) and not node.inputs and node.id not in given_out
        if all(fed.get(node.id, [False]))
    }


def _layout(
    graph: Graph, nodes: Sequence[Node], max_width: float
) -> tuple[list[_Box], float, float]:
    """Place nodes in rows, each node below its inputs; return the boxes, width and height."""
    folded = _inlined_generators(graph, nodes)
    ordered, cyclic = running_order(tuple(node for node in nodes if node.id not in folded))
    every = ordered + cyclic
    depth: dict[str, int] = {}
    for node in every:
        before = [depth[p.node] for p in node.inputs.values() if p.node in depth]
        depth[node.id] = max(before, default=-1) + 1
    for node in every:
        if not any(port.node in depth for port in node.inputs.values()):
            fed = [depth[n.id] for n in every for p in n.inputs.values() if p.node == node.id]
            depth[node.id] = max(0, min(fed, default=1) - 1)
    rows: dict[int, list[_Box]] = {}
    for node in every:
        rows.setdefault(depth[node.id], []).append(_box(graph, node, folded, max_width))
    y = width = 0.0
    for number in sorted(rows):
        used, y = _in_rows(rows[number], y, max_width)
        width = max(width, used)
    return [box for row in rows.values() for box in row], width, max(0.0, y - _GAP)


def _in_rows(boxes: Sequence[_Box], y: float, max_width: float) -> tuple[float, float]:
    """Place boxes in rows that are at most ``max_width`` wide; return the width and the next y."""
    x = width = tallest = 0.0
    for box in boxes:
        if x and x + box.width > max_width:
            x, y, tallest = 0.0, y + tallest + _GAP, 0.0
        box.x, box.y = x, y
        x += box.width + _GAP
        width, tallest = max(width, x - _GAP), max(tallest, box.height)
    return width, y + tallest + _GAP


def _box(graph: Graph, node: Node, folded: Mapping[str, Node], max_width: float) -> _Box:
    box = _Box(node, _argument_lines(node, folded))
    if not node.bodies:
        box.height = _HEAD + _LINE_HEIGHT * len(box.lines) + 2
        return box
    frames = []
    for name, body in node.bodies.items():
        inner, width, height = _layout(graph, body.nodes, max_width - 2 * _PAD)
        title = shortened(body.title or name, _LONGEST) + ("" if inner else ": unchanged")
        frame = _Box(node, [title])
        frame.width, frame.height = max(width, len(title) * _LETTER), height + _HEAD
        frames.append((frame, title, inner))
    width, below = _in_rows([frame for frame, *_ in frames], 0, max_width - 2 * _PAD)
    box.bodies = [(title, inner, f.x + _PAD, f.y + _HEAD) for f, title, inner in frames]
    titled = len(_title(box)) * _LETTER
    box.width, box.height = max(width, titled, _WIDTH - 2 * _PAD) + 2 * _PAD, below + _HEAD
    return box


def _title(box: _Box) -> str:
    return " · ".join([shortened(box.node.id, _LONGEST), *box.lines])


def _draw(
    boxes: Sequence[_Box],
    catalog: Catalog,
    dx: float,
    dy: float,
    parts: list[str],
    marked: Collection[str],
) -> None:
    for box in boxes:
        x, y = box.x + dx, box.y + dy
        spec = catalog.find(box.node.op)
        colour = (
            _ALERT
            if box.node.id in marked
            else _ROLES.get(spec.category if spec else "", _OTHER_ROLE)
        )
        faint = ' opacity="0.45"' if box.node.muted else ""
        size = f'x="{x:g}" y="{y:g}" width="{box.width:g}" height="{box.height:g}" rx="6"'
        filled = 'fill="none"' if box.bodies else f'fill="{colour}"'
        parts.append(f'<g{faint}><rect {size} {filled} stroke="{colour}"/>')
        if box.bodies:
            parts.append(_text(x + 8, y + 15, _title(box), colour, weight=600))
        else:
            parts.append(_text(x + 8, y + 15, shortened(box.node.id, _LONGEST), _INK, weight=600))
            for number, line in enumerate(box.lines, 1):
                text = shortened(line, _LONGEST)
                parts.append(_text(x + 8, y + 15 + number * _LINE_HEIGHT, text, _INK))
        parts.append("</g>")
        for title, inner, left, top in box.bodies:
            parts.append(_text(x + left, y + top + 12, title, _GREY))
            places = _rects_by_id(inner, x + left, y + top + _HEAD)
            parts += _edges([each.node for each in inner], places)[0]
            _draw(inner, catalog, x + left, y + top + _HEAD, parts, marked)


def _argument_lines(node: Node, folded: Mapping[str, Node]) -> list[str]:
    """Format a node's arguments: fixed arguments in one line, random arguments in one line each."""
    if node.bodies:
        return [
            _range_text(folded[port.node]) for port in node.inputs.values() if port.node in folded
        ]
    fixed = ", ".join(f"{name}={_value(value)}" for name, value in node.args.items())
    named = node.id.rstrip("_0123456789") == default_id(node.op).rstrip("_0123456789")
    random = [
        f"{name} {_range_text(folded[port.node])}{'' if name == port.node else f' ({port.node})'}"
        for name, port in node.inputs.items()
        if port.node in folded
    ]
    first = [*([] if named else [node.op]), *([fixed] if fixed else []), *random]
    return first or [node.op]


def _range_text(generator: Node) -> str:
    """Format the distribution of a generator: ``0.5..1.5``, ``p 0.8``, or the operator's name."""
    ends = generator.args.get("range")
    if isinstance(ends, tuple) and len(ends) == 2:
        return f"{ends[0]:g}..{ends[1]:g}"
    if "probability" in generator.args:
        return f"p {generator.args['probability']}"
    return generator.op.removeprefix(_RANDOM)


def _rects_by_id(boxes: Sequence[_Box], dx: float, dy: float) -> dict[str, tuple[float, ...]]:
    return {b.node.id: (b.x + dx, b.y + dy, b.width, b.height) for b in boxes}


def _edges(nodes: Sequence[Node], places: Mapping[str, tuple[float, ...]]) -> tuple[list[str], int]:
    """Return the edges between nodes of one body as SVG, and the number of lanes to their left."""
    lines: list[str] = []
    lanes: dict[str, int] = {}
    pairs = [(port.node, node.id) for node in nodes for port in node.inputs.values()]
    for source, target in dict.fromkeys(pairs):
        if source not in places or target not in places:
            continue
        start, end = places[source], places[target]
        x0, y0 = start[0] + min(start[2], _WIDTH) / 2, start[1] + start[3]
        x1, y1 = end[0] + min(end[2], _WIDTH) / 2, end[1]
        if any(_edge_crosses(box, x0, y0, x1, y1) for box in places.values()):
            number = lanes.setdefault(source, len(lanes) % _MOST_LANES + 1)
            lane = min(x for x, *_ in places.values()) - number * _LANE
            low = _GAP / 4 + number % 3 * 3
            below = max(y + height for _, y, _, height in places.values() if y == start[1])
            path = f"V{below + low:g} H{lane:g} V{y1 - low:g} H{x1:g} V{y1:g}"
        else:
            bend = max(10.0, (y1 - y0) / 2)
            path = f"C{x0:g} {y0 + bend:g} {x1:g} {y1 - bend:g} {x1:g} {y1:g}"
        lines.append(
            f'<path d="M{x0:g} {y0:g} {path}" fill="none" stroke="{_GREY}" '
            'stroke-linejoin="round"/>'
        )
    return lines, max(lanes.values(), default=0)


def _edge_crosses(box: tuple[float, ...], x0: float, y0: float, x1: float, y1: float) -> bool:
    """Return whether a straight edge from (x0, y0) down to (x1, y1) would pass behind a box."""
    left, top, width, height = box
    high, low = max(y0, top), min(y1, top + height)
    if high >= low:
        return False
    middle = x0 + (x1 - x0) * ((high + low) / 2 - y0) / (y1 - y0)
    return left - _PAD < middle < left + width + _PAD


def _output_names(
    graph: Graph, places: Mapping[str, tuple[float, ...]]
) -> list[tuple[float, float, str]]:
    given: dict[str, list[str]] = {}
    for name, port in graph.outputs.items():
        given.setdefault(port.node, []).append(name)
    found = []
    for node, names in given.items():
        if node in places:
            x, y, width, height = places[node]
            middle = x + min(width, _WIDTH) / 2  # edges leave and enter there, from the left
            found.append((middle + 6, y + height + 13, f"→ {', '.join(names)}"))
    return found
