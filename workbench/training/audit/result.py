"""Define the result of an audit, with its findings, tables of epochs and ranks, and a figure."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.figures import COLOURS, new_figure
from workbench.results import Cell, DocumentedResult, ResultDocument, ResultTable
from workbench.training.audit.coverage import by_epoch, counts_of
from workbench.training.audit.findings import Finding, plural
from workbench.training.audit.randomness import Randomness
from workbench.training.audit.streams import Stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_EPOCHS = 12
"""Maximum number of epochs in a figure."""


@dataclass(frozen=True, slots=True, repr=False)
class Audit(DocumentedResult):
    """Result of an audit: the delivered samples, and ``findings`` (empty if the loader is correct).

    ``faults`` are the findings that harm any training; other findings are right for some uses.
    ``notes`` are facts, and the reasons why checks were skipped. ``streams`` are the delivered
    samples of each epoch and rank in order.

    ::

        audit = wb.audit(lambda: [[0, 1], [2, 3]], epochs=2)
        assert [each.kind for each in audit.findings] == ["no_shuffle"]
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    streams: tuple[Stream, ...]
    random: tuple[Randomness, ...] = ()
    samples: int | None = None
    """Number of samples of the data, if known."""
    interrupted: bool = False

    @property
    def faults(self) -> tuple[Finding, ...]:
        """The findings of level ``fault``."""
        return tuple(each for each in self.findings if each.level == "fault")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the findings."""
        return tuple(each.kind for each in self.findings)

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        epochs, ranks = len({s.epoch for s in self.streams}), len({s.rank for s in self.streams})
        where = f"{plural(epochs, 'epoch')} of {plural(ranks, 'rank')}"
        others = len(self.findings) - len(self.faults)
        remark = f", {plural(others, 'remark')}" if others else ""
        begin = "Interrupted. " if self.interrupted else ""
        if not any(stream.size for stream in self.streams):
            if self.interrupted or "raised" in self.kinds:
                return f"{begin}No samples were read, so nothing was checked."
            return f"The loader is empty: there are no samples in {where}."
        if self.faults:
            return f"{begin}{plural(len(self.faults), 'fault')}{remark} in {where}."
        if any(stream.ids is None for stream in self.streams):
            return (
                f"{begin}No faults{remark} found in what could be checked in {where}: which "
                "samples were delivered, and their order, was not checked."
            )
        return f"{begin}No faults{remark} in {where}."

    def document(self) -> ResultDocument:
        """Return the verdict, the findings, the notes, and tables of epochs and ranks."""
        names = {"fault": "Fault", "information": "Remark"}
        findings = [f"{names[each.level]}: {each}" for each in self.findings]
        sentences = (self.verdict, *findings, *self.notes)
        tables = [self._ranks()]
        counts = counts_of(self.streams, self.samples)
        if counts:
            rows: list[tuple[Cell, ...]] = [
                (c.epoch, c.seen, c.once, c.repeated, c.missed) for c in counts
            ]
            columns = ("epoch", "samples", "seen once", "repeated", "missed")
            tables.insert(0, ResultTable("Samples per epoch", columns, tuple(rows)))
        if self.random:
            tables.append(
                ResultTable(
                    "Random values",
                    ("field", "random", "pairs of samples that are equal"),
                    tuple(
                        (each.field, _yes_no(each.varies), each.collision) for each in self.random
                    ),
                )
            )
        return ResultDocument("audit", "Audit of a loader", sentences, tuple(tables))

    def _ranks(self) -> ResultTable:
        columns = ("epoch", "rank", "batches", "len", "samples", "distinct", "last batch")
        rows: list[tuple[Cell, ...]] = []
        for each in sorted(self.streams, key=lambda s: (s.epoch, s.rank)):
            distinct = None if each.ids is None else len({*each.ids})
            last = each.sizes[-1] if each.sizes else None
            rows.append(
                (each.epoch, each.rank, len(each.sizes), each.length, each.size, distinct, last)
            )
        return ResultTable("Epochs and ranks", columns, tuple(rows))

    def plot(self) -> Figure:
        """Return a matplotlib figure of how often each sample was delivered, and by which rank.

        Columns are samples, rows are epochs, and the colour is the rank; samples that were
        delivered several times are black. If samples cannot be identified, bars show the number of
        samples per epoch and rank.

        ::

            figure = wb.audit(lambda: [[0, 1], [2, 3]], epochs=2).plot()
        """
        figure = new_figure(height=2.4)
        seen = {each for s in self.streams for each in s.ids or ()}
        axes = figure.add_subplot()
        if not seen or any(stream.ids is None for stream in self.streams):
            names = [f"epoch {s.epoch}, rank {s.rank}" for s in self.streams]
            axes.barh(names, [s.size for s in self.streams], color=COLOURS["cpu"])
            axes.invert_yaxis()
            axes.set_xlabel("samples", fontsize=8)
        else:
            self._plot_ranks(axes)
        axes.tick_params(labelsize=8)
        figure.suptitle(self.verdict, fontsize=9)
        return figure

    def _plot_ranks(self, axes: object) -> None:
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        seen = {each for s in self.streams for each in s.ids or ()}
        ids = sorted(seen, key=lambda each: (isinstance(each, str), each))
        column = {each: number for number, each in enumerate(ids)}
        epochs = [*by_epoch(self.streams).items()][:_MOST_EPOCHS]
        ranks = sorted({stream.rank for stream in self.streams})
        cells = np.zeros((len(epochs), len(ids)), int)
        for row, (_, members) in enumerate(epochs):
            times = Counter(each for s in members for each in s.ids or ())
            for stream in members:
                for each in stream.ids or ():
                    many = times[each] > 1
                    cells[row, column[each]] = 1 if many else 2 + ranks.index(stream.rank)
        shades = [f"C{number % 10}" for number in range(len(ranks))]
        colours = ["white", "black", *shades]
        names = ["missed", "seen several times", *(f"rank {rank}" for rank in ranks)]
        axes.imshow(  # type: ignore[attr-defined]
            cells, ListedColormap(colours), vmin=0, vmax=len(colours) - 1, aspect="auto",
            interpolation="nearest",
        )  # fmt: skip
        axes.set_yticks(range(len(epochs)), [f"epoch {e}" for e, _ in epochs])  # type: ignore[attr-defined]
        axes.set_xlabel("sample", fontsize=8)  # type: ignore[attr-defined]
        shown = [n for n in range(len(names)) if (cells == n).any() or n > 1][:12]
        axes.legend(  # type: ignore[attr-defined]
            handles=[Patch(facecolor=colours[n], edgecolor="grey", label=names[n]) for n in shown],
            fontsize=7, ncols=min(4, math.ceil(len(shown))), loc="upper center",
            bbox_to_anchor=(0.5, -0.25), frameon=False,
        )  # fmt: skip


def _yes_no(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"
