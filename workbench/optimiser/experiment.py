"""Which rewrites bring speed: compared with the original first, then measured in turns."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.bench.experiments.speed_experiment import Outcome, Prepared, SpeedExperiment
from workbench.bench.measuring.config import config_of
from workbench.bench.measuring.deadline import (
    Deadline,
    least_seconds,
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
"""The rows of the graph itself: what gains are over, and what says how far noise goes."""
BATCHES = 2
"""Compared for each rewrite."""
_COMPARING = 0.2
"""Share of the progress."""
_PROBE_UNTIL, _COMPARE_UNTIL = 0.2, 0.5
"""Of a time that is given: the look at how fast the graph is, then the comparisons of pixels."""
LATE = "the time was up before it was {}: give more"

OPTIMISE_CONFIG = MeasurementConfig(
    round_seconds=0.5, round_batches=4, rounds=6, warm_up_rounds=3, budget=3.0
)
"""Six rounds are the fewest whose interval has 95 %."""


@dataclass(frozen=True, slots=True)
class CandidateRewrite:
    """A rewrite done behind others, and the graph that it leads to.

    ``kind`` is its class in the original graph, and ``near`` behind one that is.
    """

    name: str
    graph: Graph
    kind: Class


def steps_of(typed: TypedGraph, names: Collection[str]) -> tuple[CandidateRewrite, ...]:
    """The rewrites that change a graph, one after another, those that are exact in it first.

    What finds a place only behind a later one comes behind that. A step's graph is what
    ``rewritten`` gives for its name and the names before it.
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
    """Of the names before the last those without which the last changes nothing."""
    graph = typed.graph
    *needed, name = names
    if rewritten(typed, [name]) != graph:  # as most do: not all of the others one by one
        return ()
    for each in reversed(names[:-1]):
        fewer = [other for other in needed if other != each]
        if rewritten(typed, [*fewer, name]) != rewritten(typed, fewer):
            needed = fewer
    return tuple(needed)


def relied_on(typed: TypedGraph, names: Sequence[str]) -> frozenset[str]:
    """Of the names before the last each without which, among the others, the last does nothing."""
    *before, name = names
    found = set()
    for each in before:
        others = [other for other in before if other != each]
        if rewritten(typed, [*others, name]) == rewritten(typed, others):
            found.add(each)
    return frozenset(found)


class OptimisationExperiment(SpeedExperiment):
    """Every rewrite that finds a place in a graph, compared and measured.

    A record's ``extra["optimise"]`` has the proposals: see ``result.Optimisation``.
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
        """``rewrites`` names those to try; None: all. ``seconds`` is how long it may take.

        What finds no room in it is not proposed, and says so.
        """
        require_seconds("OptimisationExperiment", seconds)
        super().__init__(
            graph, data, measurement_config=measurement_config or OPTIMISE_CONFIG, name=name
        )
        self.names = tuple(load_rewrites() if rewrites is None else rewrites)
        self.seconds = seconds
        self._deadline = Deadline(seconds)
        self._probed: tuple[Measurement, float] | None = None
        self._cut = False
        """Whether the time ended it early."""
        self._compare_seconds = 0.0
        """What the last comparison took."""
        self._rejected: dict[str, Proposal] = {}
        self._steps: tuple[CandidateRewrite, ...] = ()
        self._known: tuple[tuple[Measurement, ...], tuple[CandidateRewrite, ...]] = ((), ())
        """The rows of which a record can be made, and the steps that they are of."""
        self._compared: dict[str, Difference] = {}
        self._needed: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._relied: dict[tuple[str, ...], frozenset[str]] = {}

    def prepare(self, on_progress: Progress = lambda share, text: None) -> Prepared:
        """As every experiment; its time begins here."""
        self._deadline = Deadline(self.seconds)
        return super().prepare(on_progress)

    def measure_all(self) -> Outcome:
        """Find, compare and measure.

        Raises GraphFaultsError where the graph cannot run, and GraphEditError for a name that no
        rewrite has.
        """
        self.resolved.sound()
        for name in self.names:  # says which name no rewrite has
            find_rewrite(name)
        config = config_of(self.graph)
        self.require_measurable(config)
        base = self.entry(config, ORIGINAL)
        self._probed = self._probe(base) if self.seconds else None
        names = self._useful(self.prepared.machine)
        rows: tuple[Measurement, ...] = ()
        while True:
            self._steps = self._near_enough(names)
            if not self._steps:  # nothing to compare with: no turns of the graph with itself
                rows = rows[:2] or (self._probed or self._probe(base))[:1]
                break
            began = self._deadline.spent
            rows = self._in_turns(base)
            took = self._deadline.spent - began
            slow = [one for one in self._judged(rows, self._steps) if one.rejected]
            if not slow:
                break
            self._rejected |= {one.name: one for one in slow}
            names = [name for name in names if name not in self._rejected]
            behind = [step.name for step in self._steps][-len(slow) :]
            if behind == [one.name for one in slow]:  # the others were measured without them
                self._steps, rows = self._steps[: -len(slow)], rows[: -len(slow)]
                break
            if self._deadline.left() < took:
                self._cut = True
                break
        optimise = self._told(self._judged(rows, self._steps), rows)
        return Outcome(rows, {"optimise": optimise, "interrupted": self._cut})

    def _useful(self, machine: Machine) -> list[str]:
        """The names to try; what is of no use without a GPU says so where there is none."""
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
        """What is known after a timed round."""
        if all(row.rounds for row in rows[:2]):  # without the graph's own no step has a gain
            self._known = rows, self._steps
            if len(rows) > 1:
                told = self._told(self._judged(rows, self._steps), rows)
                self.publish_rows(rows, optimise=told)
                return
        self._publish_compared(self._steps, rows)

    def _publish_compared(
        self, steps: Sequence[CandidateRewrite], rows: Sequence[Measurement] = ()
    ) -> None:
        """Set ``partial_report`` to a row for each step. No step is measured yet."""
        self.publish_rows(rows, optimise=self._told(self._compared_steps(steps), ()))

    def _compared_steps(self, steps: Sequence[CandidateRewrite]) -> list[Proposal]:
        """The steps with what the comparison found; none is measured yet."""
        return [self._proposal(steps, place) for place in range(len(steps))]

    def interrupted_report(self) -> Report | None:
        """What is known of a run that was ended early; None before its first round."""
        rows, steps = self._known
        if not rows:
            return None
        optimise = self._told(self._judged(rows, steps), rows)
        return self.report(rows, optimise=optimise, interrupted=True)

    def _near_enough(self, names: Collection[str]) -> tuple[CandidateRewrite, ...]:
        """The steps whose pixels are as near to the original's as their class says."""
        with self.progress.engine(self.stop) as engine:
            while True:
                steps = steps_of(self.resolved, names)
                for place, step in enumerate(steps):
                    self.check_cancelled()
                    self.progress(_COMPARING * place / len(steps), f"comparing {step.name}")
                    self._publish_compared(steps)
                    why = self._late_to_compare(step) or self._refused(engine, step)
                    if why:
                        one = self._proposal(steps, place)
                        self._rejected[step.name] = replace(one, rejected=why)
                        names = [name for name in names if name != step.name]
                        break
                else:
                    self._publish_compared(steps)
                    return steps

    def _late_to_compare(self, step: CandidateRewrite) -> str:
        """That the time has no room to compare a step, but for the first; empty where it has."""
        known = graph_hash(step.graph) in self._compared or not self._compared
        if known or self._deadline.left(_COMPARE_UNTIL) >= self._compare_seconds:
            return ""
        self._cut = True
        return LATE.format("compared")

    def _refused(self, engine: Engine, step: CandidateRewrite) -> str:
        """Why a step's pixels are not what its class promises; empty where they are."""
        key = graph_hash(step.graph)
        if key not in self._compared:
            began = self._deadline.spent
            try:
                self._compared[key] = engine.call(
                    compare_outputs, self.graph, step.graph, self.data, BATCHES
                )
                self._compare_seconds = self._deadline.spent - began
            except CancelledError:
                raise
            except EngineError as error:
                return f"it could not be compared: {error}"
        found = self._compared[key]
        if found.other:
            return f"what comes out differs: {found.other}"
        if step.kind == "exact":
            return "" if found.identical else "its pixels are not the same here, bit for bit"
        if found.psnr < LEAST_PSNR:
            return f"{found.psnr:.1f} dB on these data: less than {LEAST_PSNR:g}"
        return ""

    def _in_turns(self, base: ConfigJobs) -> tuple[Measurement, ...]:
        """The graph twice and the steps, of which the last go where the time has no room for them.

        Raises EngineError where it has none for the first.
        """
        how, most = self.measurement_config, len(self._steps)
        if self._probed:
            row, start = self._probed
            fits = [least_seconds([row] * (2 + count), start) for count in range(most + 1)]
            most = sum(needed <= self._deadline.left() for needed in fits) - 1
            if most < 1:
                needed = math.ceil(self._deadline.spent + fits[1])
                raise EngineError(
                    f"{self.seconds:g} s leave no time to measure a rewrite here. Give about "
                    f"{needed} s or more."
                )
            self._reject_late(most)
            how = self._deadline.within(how, 2 + most)
        steps = [self.entry(base.config, step.name, step.graph) for step in self._steps]
        return self.measure(
            [base, replace(base, label=CONTROL), *steps],
            self.progress.part(_COMPARING, 0.99),
            how,
        )

    def _reject_late(self, most: int) -> None:
        """Leave out the steps behind the first so many: the time has no room for them."""
        for place in range(most, len(self._steps)):
            one = self._proposal(self._steps, place)
            self._rejected[one.name] = replace(one, rejected=LATE.format("measured"))
            self._cut = True
        self._steps = self._steps[:most]

    def _probe(self, base: ConfigJobs) -> tuple[Measurement, float]:
        """A short look at how fast the graph is, and the seconds that its start takes.

        Raises EngineError where it cannot be measured.
        """
        usual = PROBE_CONFIG if base.config.device == "cpu" else GPU_PROBE_CONFIG
        how, began = self._deadline.within(usual, share=_PROBE_UNTIL), self._deadline.spent
        (row,) = self.measure([base], self.progress.part(0.0, 0.01), how)
        if row.reason:
            raise EngineError(row.reason)
        return row, start_seconds(row, self._deadline.spent - began)

    def _judged(
        self, rows: Sequence[Measurement], steps: Sequence[CandidateRewrite]
    ) -> tuple[Proposal, ...]:
        """The steps with their gains, and why one brings none."""
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

    def _with_prerequisites(self, found: Sequence[Proposal], noise: float) -> tuple[Proposal, ...]:
        """With those not rejected that bring nothing themselves, but the place of what does."""
        kept, names = list(found), [one.name for one in found]
        for place, one in reversed(list(enumerate(found))):
            if not one.rejected or one.gain is None or one.gain.median < 1 - noise:
                continue
            worth = one.gain.median
            for later, other in enumerate(kept[place + 1 :], place + 1):
                if other.gain is not None and not other.rejected:
                    relied = self._relied_on(tuple(names[: later + 1]))
                    worth *= other.gain.median if one.name in relied else 1.0
            if worth > 1 + noise:
                kept[place] = replace(one, rejected="")
        return tuple(kept)

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

    def _relied_on(self, names: tuple[str, ...]) -> frozenset[str]:
        if names not in self._relied:
            self._relied[names] = relied_on(self.resolved, names)
        return self._relied[names]

    def _needs(self, names: tuple[str, ...]) -> tuple[str, ...]:
        if names not in self._needed:
            self._needed[names] = needs_of(self.resolved, names)
        return self._needed[names]

    def _told(self, judged: Sequence[Proposal], rows: Sequence[Measurement]) -> dict[str, Any]:
        """What a record tells of the rewrites."""
        kept = {one.name: one for one in judged if not one.rejected}
        rejected = self._rejected | {one.name: one for one in judged if one.rejected}
        # ended early it may hold what is not proposed: then nobody measured the rest together
        last = [] if any(one.rejected for one in judged) else [r for r in rows[2:] if r.rounds]
        control = paired_ratio(rows[1].imgs_per_s, rows[0].imgs_per_s) if len(rows) > 1 else None
        total = paired_ratio((last or rows)[-1].imgs_per_s, rows[0].imgs_per_s) if last else None
        return {
            "control": _json(control),
            "total": _json(total),
            "proposals": [one.to_json() for one in kept.values()],
            "rejected": [one.to_json() for name, one in rejected.items() if name not in kept],
        }


def noise_of(control: Interval) -> float:
    """How far from 1 the ratio of a graph to itself may lie, as a share."""
    return max(control.high - 1, 1 - control.low, 0.0)


def no_gain(proposal: Proposal, gain: Interval, noise: float) -> str:
    """Why a gain is none; empty where it is one.

    What is slower by more than the control's noise is none, and what changes pixels must be faster
    by more than that.
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
