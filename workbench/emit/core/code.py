"""Represent generated code, and map each node to its lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from textwrap import dedent


@dataclass(frozen=True, slots=True)
class Code:
    """Python code, and the line numbers (from 1) of each node."""

    text: str
    lines: Mapping[str, range]

    def __str__(self) -> str:
        return self.text

    def node_at(self, line: int) -> str | None:
        """Return the id of the innermost node whose code includes a line, or None."""
        found = [(len(lines), node) for node, lines in self.lines.items() if line in lines]
        return min(found)[1] if found else None

    def excerpt(self, nodes: Iterable[str]) -> str:
        """Return the lines of the given nodes, if any, without their common indentation."""
        wanted = sorted({line for node in nodes for line in self.lines.get(node, ())})
        text = self.text.split("\n")
        return dedent("".join(f"{text[line - 1]}\n" for line in wanted))


@dataclass(slots=True)
class Lines:
    """Lines of code under construction, and the line numbers (from 0) of each node."""

    text: list[str] = field(default_factory=list)
    nodes: dict[str, range] = field(default_factory=dict)

    @classmethod
    def of(cls, node: str, text: list[str]) -> Lines:
        return cls(text, {node: range(len(text))})

    def add(self, other: Lines) -> None:
        start = len(self.text)
        self.text += other.text
        self.nodes |= {
            node: range(start + at.start, start + at.stop) for node, at in other.nodes.items()
        }

    def shifted(self, by: int) -> dict[str, range]:
        """Return the line numbers of each node, increased by ``by``."""
        return {node: range(at.start + by, at.stop + by) for node, at in self.nodes.items()}
