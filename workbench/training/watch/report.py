"""Define the report of a watched training loop."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench.figures import new_axes, themed_png
from workbench.names import join_words
from workbench.results import DocumentedResult, ResultDocument, ResultPicture, ResultTable
from workbench.training.watch.batches import length_of
from workbench.training.watch.findings import find_problems
from workbench.training.watch.recorder import Recorder, works_ahead
from workbench.training.watch.step_times import Ratio, StepTime, steady_steps
from workbench.training.watch.verdict import (
    Limit,
    LoopTimes,
    loop_times,
    time_sentences,
    verdict,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbench.training.watch.loader_fix import LoaderFix

_COLOURS = {"waiting for data": "#c9a25f", "step": "#6b7f99", "step, repeated batch": "#5a9e00"}


@dataclass(frozen=True, slots=True, repr=False)
class WatchReport(DocumentedResult):
    """Times of a training loop, and what limits it; returned by ``report()`` of ``wb.watch``.

    ``steps`` has a row for each step (``pandas.DataFrame(report.steps)``). ``notes`` has sentences
    about other problems. ``utilisation`` is the utilisation of the GPU in percent, with the loader
    and on the repeated batch.

    ::

        report = watched.report()
        print(report.limit, report.ceiling, report.interval)
    """

    steps: tuple[StepTime, ...]
    batches: int | None = None
    notes: tuple[str, ...] = ()
    utilisation: tuple[tuple[str, float], ...] = ()
    copy_seconds: float | None = None
    device: str = ""
    why_bound: str = ""
    """Reason why no batch was repeated."""
    restored: tuple[str, ...] = ()
    """Classes of the objects whose state is restored after the repeated batch."""
    skipped: int = 0
    """Number of loader batches that were skipped because one batch was repeated instead."""
    loads_in_steps: bool = True
    """True if the loader may prepare batches during the steps; False with ``num_workers=0``."""
    created: str = field(default_factory=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    loader: Any = field(default=None, compare=False)

    @property
    def times(self) -> LoopTimes | None:
        return loop_times(self.steps, self.loads_in_steps, self.batches)

    @property
    def ceiling(self) -> float | None:
        """Speed-up of the loop if loading took no time; None if this could not be measured.

        ::

            print(watched.report().ceiling)
        """
        interval = self.interval
        return None if interval is None else interval.value

    @property
    def interval(self) -> Ratio | None:
        """``ceiling`` with its 95 % confidence interval.

        ::

            print(watched.report().interval)
        """
        times = self.times
        return None if times is None or times.drift else times.ceiling

    @property
    def limit(self) -> Limit:
        """Limiting part of the loop: ``model``, ``loader``, ``both`` or ``unknown``.

        ::

            assert watched.report().limit in ("model", "loader", "both", "unknown")
        """
        times = self.times
        return "unknown" if times is None else times.limit

    def measure_fix(self, seconds: float = 30.0) -> LoaderFix:
        """Measure mixed decoding and other settings of a loader of ``wb.loader``.

        ``seconds`` (20 or more) limits the search of settings; mixed decoding is also measured if
        there is a GPU. Raises ArgumentError if ``wb.loader`` did not create the loader.

        ::

            fix = watched.report().measure_fix(20)
            print(fix)
        """
        from workbench.training.watch.loader_fix import measure_loader_fix

        return measure_loader_fix(self.loader, self.times, seconds)

    def document(self) -> ResultDocument:
        times = self.times
        pictures: tuple[ResultPicture, ...] = ()
        if times is None:
            count = len(steady_steps(self.steps))
            sentences = [
                f"There is no verdict: {count} steps can be compared, and 8 are needed. Watch more "
                "steps."
                if self.steps
                else "There is no verdict: no step was watched. Iterate over the result of "
                "wb.watch in place of the loader, and check that the loader is not empty."
            ]
            tables: tuple[ResultTable, ...] = ()
        else:
            sentences = [
                verdict(times),
                *time_sentences(
                    times,
                    works_ahead(self.loader),
                    getattr(self.loader, "persistent_workers", None) is False
                    and self.loader.num_workers > 0,
                ),
                self._method_sentence(times),
            ]
            tables = (self._table(times),)
            pictures = (ResultPicture("Time of each step", _strip_chart(self.steps)),)
        return ResultDocument(
            "watch",
            f"Training loop, {len(self.steps)} steps watched{self._kinds_of_steps()}",
            (*sentences, *self.notes),
            tables,
            pictures,
            self.created,
        )

    def plot(self) -> Figure:
        """Return a matplotlib figure with the wait and the loop body's time of each step.

        ::

            figure = watched.report().plot()
        """
        return _figure(self.steps)

    def _kinds_of_steps(self) -> str:
        """Return the number of steps of each kind as text, such as `` (10 warm-up, 110 loop)``."""
        names = {"loader": "loop", "settling": "repeated batch", "repeated": "repeated batch"}
        counts = Counter(names.get(each.phase, each.phase) for each in self.steps)
        kinds = ", ".join(f"{count} {name}" for name, count in counts.items())
        return f" ({kinds})" if kinds else ""

    def _method_sentence(self, times: LoopTimes) -> str:
        if times.measured:
            count = times.repeated
            steps = (
                f"{count} steps used one repeated batch in place of {self.skipped} others of the "
                "loader."
                if self.skipped
                else f"{count} additional steps used one repeated batch."
            )
            effect = (
                f"The state of {join_words(self.restored)} is restored after them."
                if self.restored
                else "ceiling=False avoids them; restore=(model, optimizer) undoes them."
            )
            checks = sum(each.phase == "check" for each in self.steps)
            few = f"There were {f'only {checks}' if checks else 'no'} check steps"
            unknown = f" {few}, so whether the machine's speed changed is not known."
            return f"The ceiling was measured: {steps} {effect}{'' if times.checked else unknown}"
        if self.why_bound:
            return f"The ceiling was computed from the time of the steps: {self.why_bound}."
        return (
            "The ceiling was computed from the time of the steps, because the watch has not "
            "reached the steps on a repeated batch."
        )

    def _table(self, times: LoopTimes) -> ResultTable:
        whole = times.total.value
        copying = f"copying the batch to {self.device}, a part of the step"
        parts: dict[str, float | None] = {
            "waiting for data": times.wait,
            "step": times.step.value,
            "waiting and step": whole,
            "step on a repeated batch": times.free.value if times.measured else None,
        }
        if self.copy_seconds is not None:
            parts[copying] = self.copy_seconds
        rows: list[tuple[str | float | None, ...]] = [
            (name, None, None) if value is None else (name, 1000 * value, round(value / whole, 4))
            for name, value in parts.items()
        ]
        rows += [
            (f"GPU utilisation in percent, {name}", use, None) for name, use in self.utilisation
        ]
        return ResultTable("", ("part", "ms per step", "relative"), tuple(rows))


def build_report(
    recorder: Recorder, loader: Any, repeated: Any, why_bound: str, restored: tuple[str, ...] = ()
) -> WatchReport:
    """Return a report of the steps recorded so far. ``repeated`` is the repeated batch or None."""
    steps = recorder.step_times()
    notes, copy_seconds = find_problems(recorder, loader, repeated, loop_times(steps))
    return WatchReport(
        steps,
        recorder.epoch_batches or length_of(loader),
        tuple(notes),
        tuple((name, sum(use) / len(use)) for name, use in recorder.use.items()),
        copy_seconds,
        recorder.device,
        why_bound,
        restored,
        recorder.skipped,
        getattr(loader, "num_workers", None) != 0,
        loader=loader,
    )


@lru_cache(maxsize=4)
def _strip_chart(steps: Sequence[StepTime]) -> bytes:
    return themed_png(_figure(steps))


def _figure(steps: Sequence[StepTime]) -> Figure:
    figure, axes = new_axes(height=1.8)
    numbers = [each.number for each in steps]
    waits = [1000 * each.wait * (each.phase not in ("settling", "repeated")) for each in steps]
    repeated = [each.phase in ("settling", "repeated") for each in steps]
    took = [1000 * each.step for each in steps]
    sums = [wait + step for wait, step in zip(waits, took, strict=True)]
    parts: dict[str, tuple[Any, list[float], list[bool]]] = {
        "step": (0.0, took, [not again for again in repeated]),
        "step, repeated batch": (0.0, took, repeated),
        "waiting for data": (took, sums, [wait > 0 for wait in waits]),
    }
    for name, (below, above, where) in parts.items():
        if any(where):
            axes.fill_between(
                numbers, below, above, where=where, step="mid", label=name, color=_COLOURS[name],
                linewidth=0,
            )  # fmt: skip
    counted = sorted(total for total, each in zip(sums, steps, strict=True) if not each.first)
    if counted:  # one slow step would hide all others
        axes.set_ylim(0, 1.5 * counted[int(0.95 * (len(counted) - 1))] or 1)
        axes.legend(fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)
    axes.set_xlabel("step", fontsize=8)
    axes.set_ylabel("ms", fontsize=8)
    axes.tick_params(labelsize=8)
    return figure
