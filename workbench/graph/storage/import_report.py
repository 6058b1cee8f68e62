"""Import report: which nodes are exact, changed or opaque, and why; kept in the graph file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, get_args

from workbench.figures import plot_counts
from workbench.graph.model import is_text
from workbench.graph.model.graph import FrozenDict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["opaque", "changed", "refused", "fault"]
_KINDS: tuple[Kind, ...] = get_args(Kind)
_NAMED = 3
"""Nodes that a line names."""
_OF_NODES = ("exact", "changed", "opaque")
"""Counts of nodes, which the headline has even if they are 0."""
_ASSUMED = 6
"""Values that a line names."""
_PATHS = (
    r"(?<=['\"])(?:~[a-z]*|/[^/'\"\n]+)(?:/[^/'\"\n]+)+/?(?=['\"])",
    r"(?:(?<![\w/.)\]~-])|(?<=file://))(?:~[a-z]*|/[^\s/'\",;]+)(?:/[\w.@%+~-][^\s/'\",;]*)+/?",
)
_PATH = re.compile("|".join(_PATHS))
"""An absolute path with a folder: in quotes, where it may hold spaces, or a word of a text."""


@dataclass(frozen=True, slots=True)
class ImportIssue:
    """Something that did not come across as it was."""

    kind: Kind
    """``opaque``: a node that stands for a call which the graph cannot hold; ``changed``: it works
    otherwise than in the source; ``refused``: it was left out; ``fault``: it came across, and the
    workbench does not run it as it stands."""
    node: str
    """The node's id; empty where it is the whole pipeline's affair."""
    place: str
    """The user's own line, such as ``train.py:12``; empty where it is not known."""
    why: str
    made: str = ""
    """Id of the first node that it became, where ``node`` names a transform of a composition."""

    def __str__(self) -> str:
        return _line(self, [self.node])

    def renamed(self, old: str, new: str) -> ImportIssue:
        """With the id of a node exchanged."""
        node, made = (new if each == old else each for each in (self.node, self.made))
        return replace(self, node=node, made=made)


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
        counts = {**self._counts(), "faults": len(self.faults)}
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
        counts = self._counts()
        total = sum(counts[what] for what in _OF_NODES)
        shown = [f"{n} {what}" for what, n in counts.items() if n or what in _OF_NODES]
        begin = "" if self.is_exact else "partly: "
        return f"{begin}{total} {'node' if total == 1 else 'nodes'}: {', '.join(shown)}"

    def _counts(self) -> dict[str, int]:
        changed = {*self.changed_nodes} or {each.node for each in self.changed if each.node}
        whole = 0 if self.changed_nodes else sum(not each.node for each in self.changed)
        return {
            "exact": len(self.exact),
            "changed": len(changed),
            "opaque": len(self.opaque),
            "left out": len(self.refused),
            "changed for the whole pipeline": whole,
            "assumed": len(self.assumed),
        }

    @property
    def losses(self) -> str:
        """What is not as in the source, counted: ``2 changed, 1 left out``; empty if it is exact.

        ::

            assert wb.from_pipeline(w.pipeline()).report.losses == ""
        """
        counts = self._counts()
        del counts["exact"]
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)

    def renamed(self, old: str, new: str) -> ImportReport:
        """With the id of a node exchanged."""
        exact, changed = (
            tuple(new if node == old else node for node in nodes)
            for nodes in (self.exact, self.changed_nodes)
        )
        entries, faults = (
            tuple(issue.renamed(old, new) for issue in issues)
            for issues in (self.entries, self.faults)
        )
        return replace(self, exact=exact, entries=entries, faults=faults, changed_nodes=changed)

    def _of(self, kind: str) -> tuple[ImportIssue, ...]:
        return tuple(entry for entry in self.entries if entry.kind == kind)

    def lines(self) -> Iterator[str]:
        """The report as text: a headline, then a line for each reason and place, and each note."""
        yield self.headline
        alike: dict[ImportIssue, list[str]] = {}
        for entry in (*self.entries, *self.faults):
            alike.setdefault(replace(entry, node="", made=""), []).append(entry.node)
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


def report_to_json(report: ImportReport) -> dict[str, Any]:
    """The report as JSON values; entries that hold nothing are left out.

    A shared graph holds them: of a path they have the last name only, as ``.../train``, so that
    nobody reads how the folders of this machine are called.
    """
    issues = [
        {name: _without_folders(text) for name, text in asdict(issue).items() if text}
        for issue in (*report.entries, *report.faults)
    ]
    found = {
        "exact": list(report.exact),
        "issues": issues,
        "notes": [_without_folders(note) for note in report.notes],
        "assumed": {name: _without_folders(text) for name, text in report.assumed.items()},
        "changed_nodes": list(report.changed_nodes),
    }
    return {name: value for name, value in found.items() if value}


def _without_folders(text: str) -> str:
    return _PATH.sub(lambda path: f".../{PurePath(path[0]).name}", text)


def report_from_json(data: Any) -> ImportReport | None:
    """The report in a graph file, or None: one that cannot be read as a whole is ignored.

    With a part of it left out it would claim less than the import did.
    """
    if not isinstance(data, dict):
        return None
    lists = [data.get(name, []) for name in ("exact", "notes", "changed_nodes", "issues")]
    assumed = data.get("assumed", {})
    if not isinstance(assumed, dict) or not all(isinstance(each, list) for each in lists):
        return None
    exact, notes, changed_nodes, entries = lists
    issues = [_issue(entry) for entry in entries]
    found = [issue for issue in issues if issue is not None]
    texts = [*exact, *notes, *changed_nodes, *assumed, *assumed.values()]
    if len(found) < len(issues) or not all(map(_is_word, texts)):
        return None
    return ImportReport(
        tuple(exact),
        tuple(issue for issue in found if issue.kind != "fault"),
        tuple(issue for issue in found if issue.kind == "fault"),
        tuple(notes),
        FrozenDict(assumed),
        tuple(changed_nodes),
    )


def _issue(entry: Any) -> ImportIssue | None:
    if not isinstance(entry, dict) or entry.get("kind") not in _KINDS:
        return None
    texts = {name: entry.get(name, "") for name in ("node", "place", "why", "made")}
    return ImportIssue(entry["kind"], **texts) if all(map(_is_word, texts.values())) else None


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and is_text(value)
