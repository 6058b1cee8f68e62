"""Import report: which nodes are exact, changed or opaque, and why; also as a note."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from workbench.figures import plot_counts
from workbench.graph.model import Node
from workbench.graph.model.graph import FrozenDict
from workbench.graph.storage.layout import Document, Note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = 3
"""Nodes that a line names."""
_ASSUMED = 6
"""Values that a line names."""
_NOTED = 6
"""Issues that the note names."""
_LONGEST_NOTE = 76
"""Characters of an issue."""
_ACROSS = 28
"""Characters in a row of a note, which is 240 pixels wide; a row is 18 pixels high."""
_ROW = 18.0
_ABOVE = 30.0
"""Pixels between the first node and what is above it, with the edges of the note."""
_SAID = re.compile(r"\s*Imported partly: [^.]*\.$")


@dataclass(frozen=True, slots=True)
class ImportIssue:
    """Something that did not come across as it was."""

    kind: Literal["opaque", "changed", "refused", "fault"]
    """``opaque``: a node that stands for a call which the graph cannot hold; ``changed``: it works
    otherwise than in the source; ``refused``: it was left out; ``fault``: it came across, and the
    workbench does not run it as it stands."""
    node: str
    """The node's id; empty where it is the whole pipeline's affair."""
    place: str
    """The user's own line, such as ``train.py:12``; empty where it is not known."""
    why: str

    def __str__(self) -> str:
        return _line(self, [self.node])


@dataclass(frozen=True, slots=True, repr=False)
class ImportReport:
    """What came across exactly, what is opaque, what was changed or left out, and why.

    ::

        report = wb.from_pipeline(w.pipeline()).report
        print(report)
        assert report.is_exact and "rotate" in report.exact
    """

    exact: tuple[str, ...] = ()
    """Ids of the nodes that are what the source says."""
    entries: tuple[ImportIssue, ...] = ()
    """Of kinds ``opaque``, ``changed`` and ``refused``."""
    faults: tuple[ImportIssue, ...] = ()
    """Why the workbench does not run the graph as it stands, beside what is opaque."""
    notes: tuple[str, ...] = ()
    """What else to know, such as the folder that the source read."""
    assumed: Mapping[str, str] = field(default_factory=FrozenDict)
    """Values that the source requires and nobody gave, by name: the default that was used, as
    Python source. Other values are given by ``args``, in the shell by ``--arg``."""
    changed_nodes: tuple[str, ...] = ()
    """Ids of the changed nodes of a composition, whose entries name transforms."""

    def to_frame(self) -> Any:
        """A pandas frame: a row an issue, with its kind, node, place and why.

        ::

            print(wb.from_pipeline(w.pipeline()).report.to_frame())

        Raises ImportError where pandas is not installed.
        """
        import pandas

        rows: list[tuple[str, str, str, str]] = [
            (one.kind, one.node, one.place, one.why) for one in (*self.entries, *self.faults)
        ]
        rows += [("assumed", "", "", f"{name}={value}") for name, value in self.assumed.items()]
        return pandas.DataFrame(rows, columns=["kind", "node", "place", "why"])

    def plot(self) -> Figure:
        """A figure of matplotlib: how many nodes came across exactly, and how many issues are left.

        ::

            figure = wb.from_pipeline(w.pipeline()).report.plot()
        """
        counts = {kind: len(self._of(kind)) for kind in ("changed", "opaque", "refused")}
        counts = {"exact": len(self.exact), **counts, "assumed": len(self.assumed)}
        counts["faults"] = len(self.faults)
        return plot_counts(counts, "nodes", next(self.lines()))

    @property
    def opaque(self) -> tuple[ImportIssue, ...]:
        """The nodes that stand for calls which the graph cannot hold."""
        return self._of("opaque")

    @property
    def changed(self) -> tuple[ImportIssue, ...]:
        """What works otherwise than in the source."""
        return self._of("changed")

    @property
    def refused(self) -> tuple[ImportIssue, ...]:
        """What was left out."""
        return self._of("refused")

    @property
    def is_exact(self) -> bool:
        """True if nothing was changed, left out or assumed."""
        return not self.entries and not self.assumed

    @property
    def headline(self) -> str:
        """The counts of nodes; it begins with ``partly`` if anything is not as in the source.

        ::

            print(wb.from_pipeline(w.pipeline()).report.headline)
        """
        changed = {*self.changed_nodes} or {each.node for each in self.changed if each.node}
        total = len(self.exact) + len(changed) + len(self.opaque)
        counts = f"{len(self.exact)} exact, {len(changed)} changed, {len(self.opaque)} opaque"
        whole = 0 if self.changed_nodes else sum(not each.node for each in self.changed)
        losses = [(len(self.refused), "left out"), (whole, "changed for the whole pipeline")]
        losses += [(len(self.assumed), "assumed")]
        more = "".join(f", {count} {what}" for count, what in losses if count)
        begin = "" if self.is_exact else "partly: "
        return f"{begin}{total} {'node' if total == 1 else 'nodes'}: {counts}{more}"

    def _of(self, kind: str) -> tuple[ImportIssue, ...]:
        return tuple(entry for entry in self.entries if entry.kind == kind)

    def lines(self) -> Iterator[str]:
        """The report as text: a headline, then a line for each reason and place, and each note."""
        yield self.headline
        alike: dict[ImportIssue, list[str]] = {}
        for entry in (*self.entries, *self.faults):
            alike.setdefault(replace(entry, node=""), []).append(entry.node)
        for entry, nodes in alike.items():
            yield _line(entry, nodes)
        said = [f"{name}={value}" for name, value in self.assumed.items()]
        for first in range(0, len(said), _ASSUMED):
            yield f"assumed  {', '.join(said[first : first + _ASSUMED])}"
        if said:
            names = " ".join(f"--arg {name}=..." for name in list(self.assumed)[:_NAMED])
            yield f"         give others by {names}{' and so on' if len(said) > _NAMED else ''}"
        for note in self.notes:
            yield f"note     {note}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def summary(self, most: int = 12) -> str:
        """The report in so many lines at most, each of 300 characters at most."""
        lines = [line if len(line) <= 300 else line[:297] + "..." for line in self.lines()]
        more = len(lines) - most
        return "\n".join([*lines[:most], *([f"and {more} more lines"] if more > 0 else [])])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary(60))}</pre>"


def _line(entry: ImportIssue, nodes: Sequence[str]) -> str:
    named = ", ".join(filter(None, nodes[:_NAMED]))
    more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    place = f" ({entry.place})" if entry.place else ""
    where = f"{named}{more}{place}: ".lstrip() if named or place else ""
    return f"{entry.kind:8} {where}{entry.why}"


_MOST_SUMS = 4
"""Maximum number of arithmetic operators in a block that is drawn as a frame."""
_NUMBERS = ("stack", "shape", "subscript", "cast", "constant")


def with_arithmetic_collapsed(document: Document) -> Document:
    """Show blocks with much arithmetic as cards: their ids describe them."""
    blocks = {
        node.id
        for node in document.graph.walk()
        if sum(_calculates(n) for body in node.bodies.values() for n in body.nodes) > _MOST_SUMS
    }
    collapsed = document.layout.collapsed | blocks
    return replace(document, layout=replace(document.layout, collapsed=collapsed))


def _calculates(node: Node) -> bool:
    return node.op.startswith("math.") or node.op in _NUMBERS


def with_remark(document: Document, report: ImportReport) -> Document:
    """Add a note and a sentence on what an import left out, changed or assumed.

    The note is above the first node. The sentence ends the graph's ``about``. After an exact import
    the document is returned unchanged.
    """
    if report.is_exact:
        return document
    graph = document.graph
    lost = (*report.refused, *report.opaque, *report.changed)
    counts = [
        f"{count} {what}"
        for count, what in (
            (len(report.refused), "left out"),
            (len(report.opaque), "opaque"),
            (len(report.changed), "changed"),
            (len(report.assumed), "assumed"),
        )
        if count
    ]
    headline = f"Imported partly: {', '.join(counts)}."
    about = f"{_SAID.sub('', graph.about)} {headline}".lstrip()
    lines = [headline, *map(_noted_line, lost[:_NOTED])]
    lines += [f"and {len(lost) - _NOTED} more"] * (len(lost) > _NOTED)
    rows = sum(math.ceil(len(line) / _ACROSS) for line in lines)
    first = next((node.id for node in (*graph.sources, *graph.nodes)), "")
    note = Note("\n".join(lines), (0.0, -_ABOVE - _ROW * rows), node=first)
    layout = document.layout.noted(note)
    return replace(document, graph=replace(graph, about=about), layout=layout)


def _noted_line(issue: ImportIssue) -> str:
    text = str(issue).removeprefix(issue.kind).strip()
    return text if len(text) <= _LONGEST_NOTE else f"{text[: _LONGEST_NOTE - 1].rstrip()}…"
