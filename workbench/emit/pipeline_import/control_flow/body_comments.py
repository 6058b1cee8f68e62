"""Comments behind ``if``, ``elif`` and ``else`` -> names of the bodies of regions.

A body of which nothing was called has no line, and keeps no name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.catalog.own_operators.regions import REGIONS
from workbench.emit.pipeline_import.trace.traced import SourceLocation
from workbench.graph.model import Body, Graph, Node
from workbench.graph.model.body_titles import LONGEST

_HEAD = re.compile(r"(?:if|elif|else)\b[^#'\"]*:\s*#\s*(.+)")


def with_body_titles(
    graph: Graph, places: Mapping[str, SourceLocation | None], sources: Mapping[str, str]
) -> Graph:
    """The graph with the names that its source has for bodies; ``places`` are those of nodes."""
    lines = {file: text.splitlines() for file, text in sources.items()}

    def titled(node: Node) -> Node:
        bodies = {
            name: replace(body, nodes=tuple(map(titled, body.nodes)))
            for name, body in node.bodies.items()
        }
        if len(bodies) > 1 and node.op in REGIONS:
            bodies = {name: replace(each, title=title(each)) for name, each in bodies.items()}
        return replace(node, bodies=bodies) if bodies else node

    def title(body: Body) -> str:
        for node in body.nodes:  # a draw of its own stands before the region
            place = places.get(node.id)
            if place is None or node.bodies or node.op.startswith("random."):
                continue
            found = _comment_at(lines.get(place.file, ()), place.line)
            return found if len(found) <= LONGEST and found.isprintable() else ""
        return ""

    return replace(graph, nodes=tuple(map(titled, graph.nodes)))


def _comment_at(lines: Sequence[str], number: int) -> str:
    """Behind the head of the block in which a line stands; empty where there is none."""
    if not 1 <= number <= len(lines):
        return ""
    deep = _indent(lines[number - 1])
    for line in reversed(lines[: number - 1]):
        if line.strip() and _indent(line) < deep:
            found = _HEAD.fullmatch(line.strip())
            return found[1].strip() if found else ""
    return ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
