"""Define the optimiser's result, which can be displayed and applied."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from workbench.bench.measuring.stats import Interval
from workbench.bench.records.record import Report
from workbench.catalog import load_catalog
from workbench.errors import GraphEditError, RecordFormatError
from workbench.figures import plot_values
from workbench.graph.model import Graph
from workbench.graph.rewrites import load_rewrites, rewrite_law, rewritten_by
from workbench.graph.types.typed_graph import TypedGraph
from workbench.optimiser.difference import WorstSample
from workbench.optimiser.proposal import (
    Proposal,
    difference_text,
    memory_text,
    proposal_from_json,
    speedup_text,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL, EXACT = "all", "exact"
"""Names that select all proposals, or all proposals of class ``exact``."""
_MOST_PICTURES = 12
"""Maximum number of samples that a notebook shows before and after, of at most 8 kB each."""


_COLUMNS = "rewrite class gain low high psnr equal mean largest needs nodes rejected"


@dataclass(frozen=True, slots=True, repr=False)
class Optimisation:
    """Rewrites of a graph, each with the measured speed-up and pixel difference.

    ``proposals`` are in the order in which they are applied, each after the previous ones.
    ``rejected`` contains the rejected rewrites with the reasons. ``total`` is the speed-up of all
    proposals together. ``control`` is the speed-up of the unchanged graph over itself in the same
    run, which shows the noise. A notebook shows a table and the samples with the largest
    difference.

    ::

        print(found)
        faster = found.apply()
    """

    graph: Graph
    report: Report
    proposals: tuple[Proposal, ...]
    rejected: tuple[Proposal, ...]
    control: Interval | None
    total: Interval | None
    interrupted: bool = False

    def apply(self, *names: str) -> Graph:
        """Return the graph with proposals applied: all, all of class ``exact``, or the named ones.

        Proposals that a named proposal requires are applied too. Raises GraphEditError for other
        names.

        ::

            faster = found.apply("exact")
        """
        return rewritten_by(TypedGraph(self.graph, load_catalog()), self.chosen(names))

    def chosen(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the selected proposals, and of the proposals that these require."""
        known = {one.name: one for one in self.proposals}
        wanted: set[str] = set()
        for name in names or (ALL,):
            if name in (ALL, EXACT):
                wanted |= {one.name for one in known.values() if name in (ALL, one.kind)}
            elif name in known:
                wanted |= {name, *known[name].needs}
            else:
                why = next((one.rejected for one in self.rejected if one.name == name), "")
                reason = f" ({why})" if why else ""
                there = ", ".join([*known, ALL, EXACT])
                raise GraphEditError(f"There is no proposal {name[:60]!r}{reason}. Use {there}.")
        return tuple(name for name in known if name in wanted)

    def to_frame(self) -> Any:
        """Return a pandas data frame with the speed-up and difference of all rewrites.

        ::

            print(found.to_frame())

        Rejected rewrites are included. Raises ImportError if pandas is not installed.
        """
        import pandas

        rows = [_row(one) for one in (*self.proposals, *self.rejected)]
        return pandas.DataFrame(rows, columns=_COLUMNS.split())

    def plot(self) -> Figure:
        """Return a matplotlib figure with the speed-up of each proposal, and of all together.

        The figure has confidence intervals. To show the noise, it includes the control: the
        unchanged graph compared with itself. If the search was for memory, the figure has the peak
        memory of the graph and of each proposal in MiB instead.

        ::

            figure = found.plot()
        """
        record = self.report.extra.get("optimise", {})
        if record.get("objective") == "memory" and record.get("memory"):
            peaks = {"the graph": record["memory"]}
            peaks |= {one.name: one.memory for one in self.proposals if one.memory}
            sizes = {name: peak / 2**20 for name, peak in peaks.items()}
            return plot_values(sizes, "MiB of peak memory", self.graph.name)
        gains = {one.name: one.gain for one in self.proposals}
        gains |= {"all together": self.total, "the same graph again": self.control}
        known = {name: gain for name, gain in gains.items() if gain is not None}
        return plot_values(
            {name: gain.median for name, gain in known.items()},
            "times the speed of the graph",
            self.graph.name,
            {name: (gain.low, gain.high) for name, gain in known.items()},
        )

    @property
    def pictures(self) -> Mapping[str, tuple[WorstSample, ...]]:
        """Samples with the largest difference, as images before and after, by proposal name.

        Proposals with the same pixels as the previous proposal are omitted.

        ::

            assert set(found.pictures) <= {one.name for one in found.proposals}
        """
        shown: dict[str, tuple[WorstSample, ...]] = {}
        last: tuple[WorstSample, ...] = ()
        for one in self.proposals:
            worst = tuple(each for each in one.difference.worst if each.before and each.after)
            if worst and worst != last:
                shown[one.name] = worst
            last = worst
        return shown

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        count = len(self.proposals)
        found = [f"{self.graph.name}: {count} rewrite{'s' * (count != 1)} proposed"]
        if self.interrupted:
            found[0] += " (ended early)"
        for one in self.proposals:
            needs = f"; needs {', '.join(one.needs)}" if one.needs else ""
            memory = f"; {memory_text(one.memory)}" if one.memory else ""
            found.append(
                f"  {one.name:23} {one.kind:7}{speedup_text(one.gain):30}"
                f"{difference_text(one.difference)}{memory}{needs}"
            )
        for one in self.rejected:
            compared = one.difference.samples and one.rejected.startswith("not measured")
            pixels = f"; {difference_text(one.difference)}" if compared else ""
            found.append(f"  {one.name:23} not proposed: {one.rejected}{pixels}")
        if self.control is not None:
            found.append(f"  {'the same graph again':31}{speedup_text(self.control)}")
        elif not self.interrupted:
            found.append("  no rewrite remained to be measured")
        if self.total is not None and self.proposals:
            found.append(f"  {'all together':31}{speedup_text(self.total)}")
        return found + [f"  {line}" for line in self.search_lines]

    @property
    def search_lines(self) -> list[str]:
        """Lines about the graph's speed and memory, other sequences, and the sampling error.

        ::

            print(found.search_lines)
        """
        record = self.report.extra.get("optimise", {})
        memory, tried, sampling = (record.get(key) for key in ("memory", "tried", "sampling"))
        first = self.report.measurements[:1]
        found = [f"speed of the graph: {row.rate_text}" for row in first if row.rounds]
        if memory:
            last = next((one.memory for one in reversed(self.proposals) if one.memory), None)
            after = f"{memory_text(last)} instead of " if last else ""
            found.append(f"peak memory: {after}{memory_text(memory)}")
        if tried:
            best = max(tried, key=lambda each: float(each["ratio"]))
            names = ", ".join(best["names"])
            found.append(
                f"other orders and combinations: {len(tried)}, at best {best['text']} ({names})"
            )
        if sampling and sampling["psnr"]:
            psnr, source = sampling["psnr"], sampling["source"]
            found.append(f"sampling error of the graph: {psnr:.1f} dB ({source})")
        return found

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        head = "<tr><th>rewrite</th><th>class</th><th>gain</th><th>pixels</th><th>nodes</th></tr>"
        rows = "".join(
            f"<tr title='{escape(rewrite_law(one.name), quote=True)}'><td>{escape(one.title)}"
            f"<br><code>{escape(one.name)}</code></td><td>{one.kind}</td>"
            f"<td>{escape(speedup_text(one.gain))}</td>"
            f"<td>{escape(difference_text(one.difference))}</td>"
            f"<td>{escape(', '.join(one.nodes)[:200])}</td></tr>"
            for one in self.proposals
        )
        titles = {one.name: one.title for one in self.proposals}
        pictures = "".join(
            _worst_samples_figure(titles[name], worst)
            for name, worst in list(self.pictures.items())[:_MOST_PICTURES]
        )
        rest = "".join(
            f"<li><code>{escape(one.name)}</code>: {escape(one.rejected[:300])}</li>"
            for one in self.rejected
        )
        lines = self.lines()
        names = [one.name for one in (*self.proposals, *self.rejected)]
        last = [line for line in lines[1:] if not any(f" {n} " in line for n in names)]
        summary = "<br>".join(escape(line.strip()) for line in [lines[0], *last])
        not_proposed = f"<details><summary>Not proposed</summary><ul>{rest}</ul></details>"
        return (
            f"<p>{summary}</p><table>{head}{rows}</table>{pictures}{not_proposed if rest else ''}"
        )


def optimisation_of(graph: Graph, report: Report) -> Optimisation:
    """Load the result from a record of kind ``optimise``, or raise RecordFormatError."""
    record = report.extra.get("optimise")
    try:
        assert record is not None
        proposals, rejected = (
            tuple(map(proposal_from_json, record[key])) for key in ("proposals", "rejected")
        )
        control, total = (
            Interval(*record[key]) if record[key] else None for key in ("control", "total")
        )
    except (AssertionError, KeyError, TypeError, ValueError):
        raise RecordFormatError(
            "The record has no proposals. Use a record of `workbench optimise`."
        ) from None
    known = load_rewrites()
    proposals = tuple(one for one in proposals if one.name.partition("@")[0] in known)
    interrupted = bool(report.extra.get("interrupted"))
    return Optimisation(graph, report, proposals, rejected, control, total, interrupted)


def _row(proposal: Proposal) -> dict[str, Any]:
    gain, difference = proposal.gain, proposal.difference
    return {
        "rewrite": proposal.name,
        "class": proposal.kind,
        "gain": gain.median if gain else None,
        "low": gain.low if gain else None,
        "high": gain.high if gain else None,
        "psnr": difference.psnr,
        "equal": difference.equal,
        "mean": difference.mean,
        "largest": difference.largest,
        "needs": ", ".join(proposal.needs),
        "nodes": ", ".join(proposal.nodes),
        "rejected": proposal.rejected,
    }


def _worst_samples_figure(title: str, worst: Sequence[WorstSample]) -> str:
    cells = "".join(
        f"<figure style='display:inline-block;margin:4px'>{_image('before', each.before)}"
        f"{_image('after', each.after)}<figcaption>{escape(each.file.rpartition('/')[2][:60])}, "
        f"{each.psnr:.1f} dB</figcaption></figure>"
        for each in worst
    )
    return f"<p>{escape(title)}, largest difference from the original:</p>{cells}"


def _image(alt: str, jpeg: bytes) -> str:
    return f"<img alt='{alt}' src='data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}'>"
