"""Report which nodes of an imported graph are exact, changed or opaque, and why.

The report is stored in the graph file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, get_args

from workbench.figures import plot_counts
from workbench.graph.model import is_text
from workbench.graph.model.frozen_dict import FrozenDict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["opaque", "changed", "refused", "fault"]
_KINDS: tuple[Kind, ...] = get_args(Kind)
_NAMED = 3
"""Maximum number of node ids per line of the report."""
_ASSUMED = 6
"""Maximum number of assumed values per line of the report."""
_PATHS = (
    r"(?<=['\"])(?:~[a-z]*|/[^/'\"\n]+)(?:/[^/'\"\n]+)+/?(?=['\"])",
    r"(?:(?<![\w/.)\]~-])|(?<=file://))(?:~[a-z]*|/[^\s/'\",;]+)(?:/[\w.@%+~-][^\s/'\",;]*)+/?",
)
_PATH = re.compile("|".join(_PATHS))
"""Pattern of absolute paths with a folder. Paths in quotes may contain spaces."""


@dataclass(frozen=True, slots=True)
class ImportIssue:
    """A part of the imported program that was not imported exactly."""

    kind: Kind
    """Kind of issue. ``opaque``: the call is unsupported, and a node represents it; ``changed``:
    the part behaves differently from the original; ``refused``: the part was omitted; ``fault``:
    the part was imported, but the workbench cannot run it unchanged."""
    node: str
    """Id of the node, or name of the transform; empty if the issue concerns the whole pipeline."""
    place: str
    """Location in the imported program, such as ``train.py:12``; empty if unknown."""
    why: str
    made: str = ""
    """Id of the first node created for a transform, or empty if ``node`` is the id of a node."""

    def __str__(self) -> str:
        return _line(self, [self.node])

    def renamed(self, old: str, new: str) -> ImportIssue:
        node, made = (new if each == old else each for each in (self.node, self.made))
        return replace(self, node=node, made=made)


@dataclass(frozen=True, slots=True, repr=False)
class ImportReport:
    """Report of the parts of a program that were imported exactly, changed, made opaque or omitted.

    ::

        report = wb.from_pipeline(w.pipeline()).report
        print(report)
        assert report.is_exact and "rotate" in report.exact
    """

    exact: tuple[str, ...] = ()
    """Ids of the nodes that match the imported program exactly."""
    entries: tuple[ImportIssue, ...] = ()
    """Issues of kinds ``opaque``, ``changed`` and ``refused``."""
    faults: tuple[ImportIssue, ...] = ()
    """Reasons other than opaque nodes why the workbench cannot run the imported graph."""
    notes: tuple[str, ...] = ()
    """Other notes, such as the folder that the imported program reads."""
    assumed: Mapping[str, str] = field(default_factory=FrozenDict)
    """Assumed values, as Python code by name, that the program requires and the caller did not
    pass. Pass different values with ``args`` or, on the command line, ``--arg``."""
    changed_nodes: tuple[str, ...] = ()
    """Ids of the nodes of changed transforms in a composition, because their issues have no ids."""
    steps: Mapping[str, int] = field(default_factory=FrozenDict)
    """For a composition: the numbers of ``exact``, ``changed`` and ``omitted`` transforms. Empty
    for a pipeline, in which each node is a step."""

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per issue: kind, node, location, reason.

        ::

            print(wb.from_pipeline(w.pipeline()).report.to_frame())

        Raises ImportError if pandas is not installed.
        """
        import pandas

        rows: list[tuple[str, str, str, str]] = [
            (one.kind, one.node, one.place, one.why) for one in (*self.entries, *self.faults)
        ]
        rows += [("assumed", "", "", f"{name}={value}") for name, value in self.assumed.items()]
        return pandas.DataFrame(rows, columns=["kind", "node", "place", "why"])

    def plot(self) -> Figure:
        """Plot the numbers of exactly imported steps and of issues as a matplotlib figure.

        ::

            figure = wb.from_pipeline(w.pipeline()).report.plot()
        """
        counts = {**self._counts(), "faults": len(self.faults)}
        return plot_counts(counts, "steps", next(self.lines()))

    @property
    def opaque(self) -> tuple[ImportIssue, ...]:
        """Issues of calls that the graph cannot represent."""
        return self._of("opaque")

    @property
    def changed(self) -> tuple[ImportIssue, ...]:
        """Issues of parts that behave differently from the imported program."""
        return self._of("changed")

    @property
    def refused(self) -> tuple[ImportIssue, ...]:
        """Issues of parts that were omitted."""
        return self._of("refused")

    @property
    def is_exact(self) -> bool:
        """Whether nothing was changed, omitted or assumed."""
        return not self.entries and not self.assumed

    @property
    def headline(self) -> str:
        """Numbers of steps by result. Starts with ``partly`` if anything differs from the original.

        A step is a transform of a composition, or a node of a pipeline.

        ::

            print(wb.from_pipeline(w.pipeline()).report.headline)
        """
        counts = self._counts()
        steps = self.steps or {what: counts[what] for what in ("exact", "changed", "opaque")}
        exact = f"{counts['exact']} of {sum(steps.values())} steps exact"
        begin = "" if self.is_exact else "partly: "
        return begin + ", ".join(filter(None, (exact, self.losses)))

    def _counts(self) -> dict[str, int]:
        changed = {*self.changed_nodes} or {each.node for each in self.changed if each.node}
        whole = 0 if self.changed_nodes else sum(not each.node for each in self.changed)
        return {
            "exact": self.steps.get("exact", 0) if self.steps else len(self.exact),
            "changed": self.steps.get("changed", 0) if self.steps else len(changed),
            "opaque": len(self.opaque),
            "omitted": len(self.refused),
            "changed for the whole pipeline": whole,
            "assumed": len(self.assumed),
        }

    @property
    def losses(self) -> str:
        """Numbers of differences from the original: ``2 changed, 1 omitted``; empty if exact.

        ::

            assert wb.from_pipeline(w.pipeline()).report.losses == ""
        """
        counts = self._counts()
        del counts["exact"]
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)

    def renamed(self, old: str, new: str) -> ImportReport:
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
        """Yield the headline, one line per reason and location, and one line per note."""
        yield self.headline
        alike: dict[ImportIssue, list[str]] = {}
        for entry in (*self.entries, *self.faults):
            alike.setdefault(replace(entry, node="", made=""), []).append(entry.node)
        for entry, nodes in alike.items():
            yield _line(entry, nodes)
        assumed = [f"{name}={value}" for name, value in self.assumed.items()]
        for first in range(0, len(assumed), _ASSUMED):
            yield f"assumed  {', '.join(assumed[first : first + _ASSUMED])}"
        if assumed:
            names = " ".join(f"--arg {name}=..." for name in list(self.assumed)[:_NAMED])
            yield f"         set others by {names}{' and so on' if len(assumed) > _NAMED else ''}"
        for note in self.notes:
            yield f"note     {note}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def summary(self, max_lines: int = 12) -> str:
        """Return the report as at most ``max_lines`` lines of at most 300 characters each."""
        lines = [line if len(line) <= 300 else line[:297] + "..." for line in self.lines()]
        more = len(lines) - max_lines
        return "\n".join([*lines[:max_lines], *([f"and {more} more lines"] if more > 0 else [])])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary(60))}</pre>"


def _line(entry: ImportIssue, nodes: Sequence[str]) -> str:
    named = ", ".join(filter(None, nodes[:_NAMED]))
    more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    place = f" ({entry.place})" if entry.place else ""
    where = f"{named}{more}{place}: ".lstrip() if named or place else ""
    kind = "omitted" if entry.kind == "refused" else entry.kind
    return f"{kind:8} {where}{entry.why}"


def report_to_json(report: ImportReport) -> dict[str, Any]:
    """Convert the report to JSON values, without empty entries.

    The JSON is part of shared graphs, so paths are reduced to their last component (``.../train``)
    to hide the folder names of this machine.
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
        "steps": dict(report.steps),
    }
    return {name: value for name, value in found.items() if value}


def _without_folders(text: str) -> str:
    return _PATH.sub(lambda path: f".../{PurePath(path[0]).name}", text)


def report_from_json(data: Any) -> ImportReport | None:
    """Parse the report in a graph file, or return None if any part of it is invalid.

    A partial report would list fewer differences than the import had.
    """
    if not isinstance(data, dict):
        return None
    lists = [data.get(name, []) for name in ("exact", "notes", "changed_nodes", "issues")]
    assumed, steps = data.get("assumed", {}), data.get("steps", {})
    if not isinstance(assumed, dict) or not all(isinstance(each, list) for each in lists):
        return None
    if not isinstance(steps, dict) or not all(type(count) is int for count in steps.values()):
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
        FrozenDict(steps),
    )


def _issue(entry: Any) -> ImportIssue | None:
    if not isinstance(entry, dict) or entry.get("kind") not in _KINDS:
        return None
    texts = {name: entry.get(name, "") for name in ("node", "place", "why", "made")}
    return ImportIssue(entry["kind"], **texts) if all(map(_is_word, texts.values())) else None


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and is_text(value)
