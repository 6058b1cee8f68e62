"""Compare each rewrite with the original graph: first its pixels, then its speed."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.bench.experiments.speed_experiment import Outcome, Prepared, SpeedExperiment
from workbench.bench.measuring.config import config_of
from workbench.bench.measuring.deadline import (
    Deadline,
    minimum_seconds,
    require_seconds,
    start_seconds,
)
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    GPU_PROBE_CONFIG,
    PROBE_CONFIG,
    MeasurementConfig,
)
from workbench.bench.measuring.stats import Interval, paired_ratio
from workbench.bench.records.record import Report, graph_hash
from workbench.engine.protocol.process import Engine
from workbench.engine.protocol.progress import Progress
from workbench.engine.resources.machine import Machine
from workbench.errors import CancelledError, EngineError
from workbench.graph.model import Graph
from workbench.graph.rewrites import (
    Class,
    by_node,
    find_rewrite,
    in_order,
    load_rewrites,
    rewritten,
)
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.variants.difference import graph_differences
from workbench.optimiser.difference import Difference, compare_outputs
from workbench.optimiser.proposal import LEAST_PSNR, Proposal
from workbench.sources import Data

ORIGINAL, CONTROL = "as it is", "as it is, again"
"""Names of the rows that measure the unchanged graph: the baseline, and a control for the noise."""
BATCHES = 2
"""Number of batches compared per rewrite."""
_COMPARING = 0.2
"""Fraction of the progress bar that the pixel comparisons take."""
_PROBE_UNTIL, _COMPARE_UNTIL = 0.2, 0.5
"""Fractions of the time budget at which the speed estimate and the pixel comparisons must end."""
LATE = "not {} within the time limit: increase it"

OPTIMISE_CONFIG = MeasurementConfig(
    round_seconds=0.5, round_batches=4, rounds=6, warm_up_rounds=3, budget=3.0
)
"""Default measurement config. Six rounds are the minimum for a 95 % confidence interval."""


@dataclass(frozen=True, slots=True)
class CandidateRewrite:
    """A rewrite to test. In ``graph``, this rewrite and all rewrites before it are applied.

    ``kind`` is ``exact`` if the graph's outputs must be identical to the original's. After a
    ``near`` rewrite, it is always ``near``.
    """

    name: str
    graph: Graph
    kind: Class


def steps_of(typed: TypedGraph, names: Collection[str]) -> tuple[CandidateRewrite, ...]:
    """Return the rewrites that change a graph, in the order in which they are applied.

    Exact rewrites are first. A rewrite that requires another rewrite comes after it.
    """
    classes: dict[str, Class] = {
        name: find_rewrite(name).class_in(typed) for name in in_order(names)
    }
    left = sorted(classes, key=lambda name: classes[name] != "exact")
    steps: list[CandidateRewrite] = []
    found = True
    while found:
        found = False
        for name in tuple(left):
            before = steps[-1].graph if steps else typed.graph
            after = rewritten(typed, [*(step.name for step in steps), name])
            if after != before:
                near = bool(steps) and steps[-1].kind == "near"
                steps.append(CandidateRewrite(name, after, "near" if near else classes[name]))
                left.remove(name)
                found = True
    return tuple(steps)


def needs_of(typed: TypedGraph, names: Sequence[str]) -> tuple[str, ...]:
    """Return which other rewrites the last one in ``names`` needs in order to have an effect."""
    graph = typed.graph
    *needed, name = names
    if rewritten(typed, [name]) != graph:  # the usual case: skip testing each name
        return ()
    for each in reversed(names[:-1]):
        fewer = [other for other in needed if other != each]
        if rewritten(typed, [*fewer, name]) != rewritten(typed, fewer):
            needed = fewer
    return tuple(needed)


def required_rewrites(typed: TypedGraph, names: Sequence[str]) -> frozenset[str]:
    """Return the rewrites without which the last one in ``names`` has no effect."""
    *before, name = names
    found = set()
    for each in before:
        others = [other for other in before if other != each]
        if rewritten(typed, [*others, name]) == rewritten(typed, others):
            found.add(each)
    return frozenset(found)


class OptimisationExperiment(SpeedExperiment):
    """Compare and measure every rewrite that applies to a graph.

    The record stores the proposals in ``extra["optimise"]``: see ``result.Optimisation``.
    """

    kind = "optimise"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        rewrites: Collection[str] | None = None,
        *,
        seconds: float | None = None,
        measurement_config: MeasurementConfig | None = None,
        name: str = "",
    ) -> None:
        """``rewrites`` names the rewrites to try, by default all. ``seconds`` is the time limit.

        Rewrites for which no time is left are rejected with that reason.
        """
        require_seconds("optimise", seconds)
        super().__init__(
            graph, data, measurement_config=measurement_config or OPTIMISE_CONFIG, name=name
        )
        self.names = tuple(load_rewrites() if rewrites is None else rewrites)
        self.seconds = seconds
        self._deadline = Deadline(seconds)
        self._probed: tuple[Measurement, float] | None = None
        self._cut = False
        """True if the time limit ended the run early."""
        self._compare_seconds = 0.0
        """Duration in seconds of the most recent comparison."""
        self._rejected: dict[str, Proposal] = {}
        self._steps: tuple[CandidateRewrite, ...] = ()
        self._known: tuple[tuple[Measurement, ...], tuple[CandidateRewrite, ...]] = ((), ())
        """Measurements and rewrites of the last complete round, for the record of an interrupted
        run."""
        self._compared: dict[str, Difference] = {}
        self._needed: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._relied: dict[tuple[str, ...], frozenset[str]] = {}

    def prepare(self, on_progress: Progress = lambda share, text: None) -> Prepared:
        """Prepare the experiment. This counts towards the time limit."""
        self._deadline = Deadline(self.seconds)
        return super().prepare(on_progress)

    def measure_all(self) -> Outcome:
        """Find the rewrites, compare their pixels, and measure them.

        Raises GraphFaultsError if the graph cannot run, and GraphEditError for an unknown rewrite.
        """
        self.resolved.sound()
        for name in self.names:  # names the unknown rewrite
            find_rewrite(name)
        config = config_of(self.graph)
        self.require_measurable(config)
        base = self.entry(config, ORIGINAL)
        self._probed = self._probe(base) if self.seconds else None
        names = self._usable_names(self.prepared.machine)
        rows: tuple[Measurement, ...] = ()
        while True:
            self._steps = self._within_pixel_limit(names)
            if not self._steps:  # nothing to compare: do not measure the graph against itself
                rows = rows[:2] or (self._probed or self._probe(base))[:1]
                break
            began = self._deadline.elapsed
            rows = self._measure_interleaved(base)
            took = self._deadline.elapsed - began
            slow = [one for one in self._proposals(rows, self._steps) if one.rejected]
            if not slow:
                break
            self._rejected |= {one.name: one for one in slow}
            names = [name for name in names if name not in self._rejected]
            behind = [step.name for step in self._steps][-len(slow) :]
            if behind == [one.name for one in slow]:  # the others were measured without them
                self._steps, rows = self._steps[: -len(slow)], rows[: -len(slow)]
                break
            if self._deadline.seconds_left() < took:
                self._cut = True
                break
        optimise = self._to_record(self._proposals(rows, self._steps), rows)
        return Outcome(rows, {"optimise": optimise, "interrupted": self._cut})

    def _usable_names(self, machine: Machine) -> list[str]:
        """Return the names to try, and reject rewrites that need a missing GPU."""
        names = []
        for name in self.names:
            one = find_rewrite(name)
            if one.needs_gpu and machine.no_gpu and rewritten(self.resolved, [name]) != self.graph:
                why = f"it needs a GPU: {machine.no_gpu}"
                self._rejected[name] = Proposal(name, one.title, "near", rejected=why)
            else:
                names.append(name)
        return by_node(self.resolved, names)

    def on_rows(self, rows: tuple[Measurement, ...]) -> None:
        """Update the partial results after a timed round."""
        if all(row.rounds for row in rows[:2]):  # without the baseline there are no speed-ups
            self._known = rows, self._steps
            if len(rows) > 1:
                extra = self._to_record(self._proposals(rows, self._steps), rows)
                self.publish_rows(rows, optimise=extra)
                return
        self._publish_compared(self._steps, rows)

    def _publish_compared(
        self, steps: Sequence[CandidateRewrite], rows: Sequence[Measurement] = ()
    ) -> None:
        """Set ``partial_report`` to one row per rewrite, before any rewrite is measured."""
        self.publish_rows(rows, optimise=self._to_record(self._compared_steps(steps), ()))

    def _compared_steps(self, steps: Sequence[CandidateRewrite]) -> list[Proposal]:
        return [self._proposal(steps, place) for place in range(len(steps))]

    def interrupted_report(self) -> Report | None:
        """Return the results of an interrupted run, or None if no round was measured."""
        rows, steps = self._known
        if not rows:
            return None
        optimise = self._to_record(self._proposals(rows, steps), rows)
        return self.report(rows, optimise=optimise, interrupted=True)

    def _within_pixel_limit(self, names: Collection[str]) -> tuple[CandidateRewrite, ...]:
        """Return the rewrites whose pixels are close to the original's, and reject the others."""
        with self.progress.engine(self.stop) as engine:
            while True:
                steps = steps_of(self.resolved, names)
                for place, step in enumerate(steps):
                    self.check_cancelled()
                    self.progress(_COMPARING * place / len(steps), f"comparing {step.name}")
                    self._publish_compared(steps)
                    why = self._lateness_reason(step) or self._refusal_reason(engine, step)
                    if why:
                        one = self._proposal(steps, place)
                        self._rejected[step.name] = replace(one, rejected=why)
                        names = [name for name in names if name != step.name]
                        break
                else:
                    self._publish_compared(steps)
                    return steps

    def _lateness_reason(self, step: CandidateRewrite) -> str:
        """Return why there is no time to compare a rewrite, or an empty string.

        The first rewrite is always compared.
        """
        known = graph_hash(step.graph) in self._compared or not self._compared
        if known or self._deadline.seconds_left(_COMPARE_UNTIL) >= self._compare_seconds:
            return ""
        self._cut = True
        return LATE.format("compared")

    def _refusal_reason(self, engine: Engine, step: CandidateRewrite) -> str:
        """Return why a rewrite's pixel difference exceeds its limit, or an empty string."""
        key = graph_hash(step.graph)
        if key not in self._compared:
            began = self._deadline.elapsed
            try:
                self._compared[key] = engine.call(
                    compare_outputs, self.graph, step.graph, self.data, BATCHES
                )
                self._compare_seconds = self._deadline.elapsed - began
            except CancelledError:
                raise
            except EngineError as error:
                return f"it could not be compared: {error}"
        found = self._compared[key]
        if found.other:
            return f"outputs differ: {found.other}"
        if step.kind == "exact":
            return "" if found.identical else "its pixels are not bit-identical on these data"
        if found.psnr < LEAST_PSNR:
            return f"{found.psnr:.1f} dB on these data, below {LEAST_PSNR:g} dB"
        return ""

    def _measure_interleaved(self, base: ConfigJobs) -> tuple[Measurement, ...]:
        """Measure two copies of the original graph and all rewrites in interleaved rounds.

        Rewrites for which no time is left are rejected. Raises EngineError if there is no time for
        the first rewrite.
        """
        how, most = self.measurement_config, len(self._steps)
        if self._probed:
            row, start = self._probed
            fits = [minimum_seconds([row] * (2 + count), start) for count in range(most + 1)]
            most = sum(needed <= self._deadline.seconds_left() for needed in fits) - 1
            if most < 1:
                needed = math.ceil(self._deadline.elapsed + fits[1])
                raise EngineError(
                    f"{self.seconds:g} s is too short to measure a rewrite. Allow "
                    f"about {needed} s or more."
                )
            self._reject_late(most)
            how = self._deadline.config_within(how, 2 + most)
        steps = [self.entry(base.config, step.name, step.graph) for step in self._steps]
        return self.measure(
            [base, replace(base, label=CONTROL), *steps],
            self.progress.part(_COMPARING, 0.99),
            how,
        )

    def _reject_late(self, count: int) -> None:
        for place in range(count, len(self._steps)):
            one = self._proposal(self._steps, place)
            self._rejected[one.name] = replace(one, rejected=LATE.format("measured"))
            self._cut = True
        self._steps = self._steps[:count]

    def _probe(self, base: ConfigJobs) -> tuple[Measurement, float]:
        """Return an estimate of the graph's speed, and the seconds that starting it takes."""
        usual = PROBE_CONFIG if base.config.device == "cpu" else GPU_PROBE_CONFIG
        how, began = self._deadline.config_within(usual, share=_PROBE_UNTIL), self._deadline.elapsed
        (row,) = self.measure([base], self.progress.part(0.0, 0.01), how)
        if row.reason:
            raise EngineError(row.reason)
        return row, start_seconds(row, self._deadline.elapsed - began)

    def _proposals(
        self, rows: Sequence[Measurement], steps: Sequence[CandidateRewrite]
    ) -> tuple[Proposal, ...]:
        """Return the rewrites as proposals, with the speed-up or the reason for rejection."""
        if len(rows) < 2:
            return ()
        first, again, *others = rows
        for row in (first, again):
            if row.reason:
                raise EngineError(row.reason)
        noise = noise_of(paired_ratio(again.imgs_per_s, first.imgs_per_s))
        found, before = [], first
        for place, row in enumerate(others):
            one = self._proposal(steps, place)
            if row.reason:
                found.append(replace(one, rejected=row.reason))
                continue
            gain = paired_ratio(row.imgs_per_s, before.imgs_per_s)
            found.append(replace(one, gain=gain, rejected=no_gain(one, gain, noise)))
            before = row
        return self._with_prerequisites(found, noise)

    def _with_prerequisites(
        self, proposals: Sequence[Proposal], noise: float
    ) -> tuple[Proposal, ...]:
        """Accept a rejected proposal if accepted proposals that need it make it worthwhile."""
        selected, names = list(proposals), [one.name for one in proposals]
        for place, one in reversed(list(enumerate(proposals))):
            if not one.rejected or one.gain is None or one.gain.median < 1 - noise:
                continue
            worth = one.gain.median
            for later, other in enumerate(selected[place + 1 :], place + 1):
                if other.gain is not None and not other.rejected:
                    relied = self._required_rewrites(tuple(names[: later + 1]))
                    worth *= other.gain.median if one.name in relied else 1.0
            if worth > 1 + noise:
                selected[place] = replace(one, rejected="")
        return tuple(selected)

    def _proposal(self, steps: Sequence[CandidateRewrite], place: int) -> Proposal:
        step, rewrite = steps[place], find_rewrite(steps[place].name)
        before = steps[place - 1].graph if place else self.graph
        changed = {each.node for each in graph_differences(before, step.graph)}
        return Proposal(
            step.name,
            rewrite.title,
            step.kind,
            self._needs(tuple(each.name for each in steps[: place + 1])),
            tuple(node.id for node in self.graph.walk() if node.id in changed),
            difference=self._compared.get(graph_hash(step.graph), Difference()),
        )

    def _required_rewrites(self, names: tuple[str, ...]) -> frozenset[str]:
        if names not in self._relied:
            self._relied[names] = required_rewrites(self.resolved, names)
        return self._relied[names]

    def _needs(self, names: tuple[str, ...]) -> tuple[str, ...]:
        if names not in self._needed:
            self._needed[names] = needs_of(self.resolved, names)
        return self._needed[names]

    def _to_record(self, judged: Sequence[Proposal], rows: Sequence[Measurement]) -> dict[str, Any]:
        accepted = {one.name: one for one in judged if not one.rejected}
        rejected = self._rejected | {one.name: one for one in judged if one.rejected}
        # An interrupted run may contain rejected steps: then the rest was not measured together.
        last = [] if any(one.rejected for one in judged) else [r for r in rows[2:] if r.rounds]
        control = paired_ratio(rows[1].imgs_per_s, rows[0].imgs_per_s) if len(rows) > 1 else None
        total = paired_ratio((last or rows)[-1].imgs_per_s, rows[0].imgs_per_s) if last else None
        return {
            "control": _json(control),
            "total": _json(total),
            "proposals": [one.to_json() for one in accepted.values()],
            "rejected": [one.to_json() for name, one in rejected.items() if name not in accepted],
        }


def noise_of(control: Interval) -> float:
    """Return the noise as a fraction: the largest deviation of the control's ratio from 1."""
    return max(control.high - 1, 1 - control.low, 0.0)


def no_gain(proposal: Proposal, gain: Interval, noise: float) -> str:
    """Return why a rewrite is rejected for its speed, or an empty string if it is accepted.

    A rewrite must not be slower by more than the noise (a fraction). A rewrite that changes pixels
    must be faster by more than the noise.
    """
    if gain.median < 1 - noise:
        return f"slower: {gain.median:.2f} times"
    if proposal.kind == "near" and gain.median <= 1 + noise:
        return f"no faster ({gain.median:.2f} times, noise {noise:.0%}), and it changes pixels"
    return ""


def _json(interval: Interval | None) -> list[float] | None:
    if interval is None:
        return None
    return [interval.median, interval.low, interval.high, interval.level]
