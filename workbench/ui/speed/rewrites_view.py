"""Build the payload of an optimiser's record, and apply its proposals to the graph."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Sequence

from workbench.bench import Report
from workbench.bench.measuring.stats import Interval, three_digits
from workbench.catalog import load_catalog
from workbench.errors import GraphEditError, RecordFormatError
from workbench.graph.model import Graph
from workbench.graph.rewrites import rewrite_law, rewritten
from workbench.graph.types.typed_graph import TypedGraph
from workbench.optimiser import Proposal, optimisation_of
from workbench.optimiser.difference import WorstSample
from workbench.optimiser.proposal import difference_text
from workbench.ui.contract.speed_payloads import MeasuredOn, RewriteEntry, RewritesView
from workbench.ui.speed.chart_payloads import (
    marked_as_partial,
    measured_on,
    rounds_text,
)


def rewrites_view(on: MeasuredOn, report: Report, graph: Graph | None = None) -> RewritesView:
    """Return the payload of an optimiser's record. ``nodes`` of proposals refer to ``graph``."""
    if graph is None or "optimise" not in report.extra:
        return {"on": [on], "rewrites": [], "control": "", "total": "", "notes": []}
    found = optimisation_of(graph, report)
    titles = {one.name: one.title for one in found.proposals}
    pictures = found.pictures
    gains = [_gain(one) if one else ("", "") for one in (found.control, found.total)]
    return {
        "on": [on],
        "rewrites": [
            _entry(one, graph, titles, pictures.get(one.name, ()))
            | {"taken": not one.rejected and _is_done(graph, (*one.needs, one.name))}
            for one in (*found.proposals, *found.rejected)
        ],
        "control": " ".join(gains[0]).strip(),
        "total": " ".join(gains[1]) if found.proposals else "",
        "notes": found.search_lines,
    }


def rewrites_so_far(report: Report, graph: Graph, earlier: str = "") -> RewritesView:
    """Return the payload of an unfinished search, in which no rewrite can be applied yet.

    ``earlier`` describes what has changed since the search started.
    """
    found = optimisation_of(graph, report)
    entries = [_entry(one, graph, {}, ()) for one in (*found.proposals, *found.rejected)]
    compared = sum(bool(one["pixels"] or one["rejected"]) for one in entries)
    known = f"{compared} of {len(entries)} rewrites compared"
    if any(row.rounds for row in report.measurements):
        known = f"{rounds_text(report)} measured so far"
    on = marked_as_partial(measured_on("", report, earlier), known)
    notes = found.search_lines
    return {"on": [on], "rewrites": entries, "control": "", "total": "", "notes": notes}


def with_rewrites(report: Report, graph: Graph, names: Sequence[str]) -> Graph:
    """Apply a record's proposals, and the proposals that these require, to the graph.

    Without ``names``, all proposals are applied. Raises GraphEditError if the graph does not change
    or a name is unknown.
    """
    try:
        found = optimisation_of(graph, report)
    except RecordFormatError as error:
        raise GraphEditError(str(error)) from None
    after = found.apply(*names)
    if after == graph:
        raise GraphEditError(
            "This rewrite does not change the current graph, which was edited after the "
            "measurement. Measure again."
        )
    return after


def _entry(
    rewrite: Proposal, graph: Graph, titles: dict[str, str], pictures: Sequence[WorstSample]
) -> RewriteEntry:
    gain, interval = _gain(rewrite.gain) if rewrite.gain else ("", "")
    return {
        "name": rewrite.name,
        "title": rewrite.title,
        "kind": rewrite.kind,
        "law": rewrite_law(rewrite.name),
        "gain": gain,
        "low": interval,
        "pixels": difference_text(rewrite.difference) if rewrite.difference.samples else "",
        "nodes": [node for node in rewrite.nodes if graph.has(node)],
        "needs": [titles[name] for name in rewrite.needs if name in titles],
        "worst": [
            {
                "name": f"{worst.file.rpartition('/')[2]}, {worst.psnr:.1f} dB",
                "before": _url(worst.before),
                "after": _url(worst.after),
            }
            for worst in pictures
        ],
        "taken": False,
        "rejected": rewrite.rejected,
    }


def _is_done(graph: Graph, names: Collection[str]) -> bool:
    return rewritten(TypedGraph(graph, load_catalog()), names) == graph


def _gain(speedup: Interval) -> tuple[str, str]:
    ends = (
        f"({three_digits(speedup.low)} … {three_digits(speedup.high)})" if speedup.is_known else ""
    )
    return f"{speedup.text(three_digits)} ×", ends


def _url(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{b64encode(jpeg).decode()}"
