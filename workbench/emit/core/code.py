"""Emitted code, and which node each of its lines belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from textwrap import dedent


@dataclass(frozen=True, slots=True)
class Code:
    """Python source, and for each node the lines (from 1) that make it."""

    text: str
    lines: Mapping[str, range]

    def node_at(self, line: int) -> str | None:
        """Id of the node that a line makes, or None; of nodes inside each other the innermost."""
        found = [(len(lines), node) for node, lines in self.lines.items() if line in lines]
        return min(found)[1] if found else None

    def excerpt(self, nodes: Iterable[str]) -> str:
        """The lines that make some nodes, without the indentation they share; may be empty."""
        wanted = sorted({line for node in nodes for line in self.lines.get(node, ())})
        text = self.text.split("\n")
        return dedent("".join(f"{text[line - 1]}\n" for line in wanted))


@dataclass(slots=True)
class Lines:
    """Lines on their way into a source, and for each node which of them (from 0) make it."""

    text: list[str] = field(default_factory=list)
    nodes: dict[str, range] = field(default_factory=dict)

    @classmethod
    def of(cls, node: str, text: list[str]) -> Lines:
        """The lines of one node."""
        return cls(text, {node: range(len(text))})

    def add(self, other: Lines) -> None:
        """Put others at the end."""
        start = len(self.text)
        self.text += other.text
        self.nodes |= {
            node: range(start + at.start, start + at.stop) for node, at in other.nodes.items()
        }

    def shifted(self, by: int) -> dict[str, range]:
        """The lines of each node where ``by`` lines stand before."""
        return {node: range(at.start + by, at.stop + by) for node, at in self.nodes.items()}
