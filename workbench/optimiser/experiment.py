"""Search for the best sequence of rewrites: compare its pixels, then measure its speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

from workbench.arguments import require_choice
from workbench.bench.experiments.speed_experiment import Outcome, Prepared, SpeedExperiment
from workbench.bench.measuring.config import config_of
from workbench.bench.measuring.deadline import (
    Deadline,
    minimum_seconds,
    require_seconds,
    start_seconds,
)
from workbench.bench.measuring.interleaved import TIME_UP, ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    FEWEST_ROUNDS,
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
from workbench.graph.rewrites import by_node, find_rewrite, load_rewrites, rewritten
from workbench.graph.variants.difference import graph_differences
from workbench.optimiser.difference import (
    Difference,
    SamplingError,
    compare_outputs,
    with_other_filters,
)
from workbench.optimiser.judging import (
    Chain,
    no_gain,
    noise_between,
    original_text,
    peak_bytes,
    ratio_of,
    reasons_together,
)
from workbench.optimiser.proposal import (
    LEAST_PSNR,
    MOST_PSNR,
    Objective,
    Proposal,
    difference_text,
    ratio_text,
)
from workbench.optimiser.search import (
    CandidateRewrite,
    Names,
    RewriteSearch,
    needs_of,
    required_rewrites,
)
from workbench.sources import Data

ORIGINAL, CONTROL = "as it is", "as it is, again"
"""Names of the rows that measure the unchanged graph: the baseline, and a control for the noise."""
BATCHES = 2
"""Number of batches compared per rewrite."""
_COMPARING = 0.2
"""Fraction of the progress bar that the pixel comparisons take."""
_PROBE_UNTIL, _COMPARE_UNTIL, _CHAIN_UNTIL, _SEARCH_UNTIL = 0.2, 0.5, 0.6, 0.8
"""Fractions of the time limit at which the speed estimate, the pixel comparisons, the measurement
of the first sequence, and the measurement of other sequences must end."""
LATE = "not compared within the time limit: increase it"
_PAIR = "the noise is estimated from an earlier run of the same graph: allow more time"
"""Flag of a control that was not interleaved with the other rows."""

OPTIMISE_CONFIG = MeasurementConfig(
    round_seconds=0.4, round_batches=2, rounds=8, warm_up_rounds=2, budget=3.0
)
"""Default measurement config. Eight rounds have a narrower 95 % confidence interval than six."""
MEMORY_CONFIG = replace(OPTIMISE_CONFIG, warm_up_rounds=1)
"""Default config for memory, which needs no constant speed."""
SEARCH_CONFIG = replace(OPTIMISE_CONFIG, rounds=4, budget=1.2)
"""Config to measure other sequences; if one of them is better, it is measured completely."""
_TOGETHER, _MOST_SEARCHES, _MOST_CHAINS = 3, 3, 3
"""Number of sequences that are measured together to find a better one, maximum number of such
measurements, and maximum number of sequences that are measured completely."""
_SWITCH = 1.02
"""Minimum ratio to the best sequence for another sequence to be measured completely."""


class OptimisationExperiment(SpeedExperiment):
    """Search for the sequence of rewrites with the best speed, or the least memory.

    First, all rewrites that apply are measured, each on top of the earlier ones. From these results
    the gains of other orders and combinations are predicted, and the most promising are measured,
    interleaved with the original. The record stores the best sequence in ``extra["optimise"]``: see
    ``result.Optimisation``.
    """

    kind = "optimise"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        rewrites: Collection[str] | None = None,
        *,
        seconds: float | None = None,
        objective: Objective = "speed",
        measurement_config: MeasurementConfig | None = None,
        name: str = "",
    ) -> None:
        """``rewrites`` names the rewrites to try, by default all. ``seconds`` is the time limit."""
        require_seconds("optimise", seconds)
        require_choice("optimise: objective", objective, get_args(Objective))
        usual = OPTIMISE_CONFIG if objective == "speed" else MEMORY_CONFIG
        super().__init__(graph, data, measurement_config=measurement_config or usual, name=name)
        self.names = tuple(load_rewrites() if rewrites is None else rewrites)
        self.seconds = seconds
        self.objective: Objective = objective
        self.on_result: Callable[[str], None] = lambda line: None
        """Called with a line for each sequence, once it is measured."""
        self._deadline = Deadline(seconds)
        self._probed: tuple[Measurement, float] | None = None
        self._paired = False
        """True while the original is measured next to one other graph only."""
        self._cut = False
        """True if the time limit ended the run early."""
        self._compare_seconds = 0.0  # of the most recent comparison
        self._rejected: dict[str, Proposal] = {}
        self._first_rows: tuple[Measurement, ...] = ()
        """The first result of the original graph: that of a short run, or of the first round."""
        self._best = Chain()
        """The best sequence that was measured completely, or the first one while it is measured."""
        self._tried: list[dict[str, Any]] = []  # the other measured sequences, for the record
        self._compared: dict[str, Difference] = {}
        self._sampling: SamplingError | None = None
        self._needed: dict[Names, Names] = {}
        self._relied: dict[Names, frozenset[str]] = {}
        self._complete = False
        """True if the best sequence was measured completely, and no rewrite in it is rejected."""
        self._searches = 0  # number of measurements of other sequences
        self._measuring = Chain()
        self._reported = False  # the original graph's speed
        self._shown = 0.0  # position of the progress bar

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
        self._search = RewriteSearch(self.resolved, self._usable_names(self.prepared.machine))
        chain = self._first_chain()
        for _ in range(_MOST_CHAINS):
            chain = self._measure_chain(base, chain)
            if not chain.rows:
                break
            kept = self._add(chain)
            names = self._better_sequence(base, kept)
            chain = Chain(self._search.steps(names))
            if chain.names == self._best.names:
                break
            if self._first_refused(chain.steps, range(len(chain.steps)), 1.0) is not None:
                break
        best = self._best
        rows = best.rows or self._first_rows or self._probe(base)[:1]
        optimise = self._to_record(best)
        if optimise["total"] is None:
            optimise["total"] = self._measure_accepted(base, optimise["proposals"])
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
        rows = self._with_control(rows)
        chain = replace(self._measuring, rows=rows)
        first = chain.steps and chain.steps == (self._best.steps or chain.steps)
        if first and all(row.rounds for row in rows[:2]):  # needed for speed-ups
            self._best = chain
        self._first_rows = self._first_rows or tuple(row for row in rows[:1] if row.rounds)
        known = self._best if self._best.rows else self._measuring
        self.publish_rows(self._best.rows or rows, optimise=self._to_record(known))

    def _publish_compared(self, steps: Sequence[CandidateRewrite]) -> None:
        """Set ``partial_report`` to one row per rewrite, before any rewrite is measured."""
        if not self._best.rows:
            self._measuring = Chain(tuple(steps))
            self.publish_rows((), optimise=self._to_record(self._measuring))

    def interrupted_report(self) -> Report | None:
        """Return the best results of an interrupted run, or None if nothing is known yet."""
        rows = self._best.rows or self._first_rows
        if not rows and not self._compared:
            return None
        if self._best.rows:
            found = self._to_record(self._best)
        else:
            found = self._to_record(self._measuring)
            why = {"rejected": "not measured: the search was ended"}
            found["rejected"] += [one | why for one in found["proposals"]]
            found["proposals"] = []
        return self.report(rows, optimise=found, interrupted=True)

    # The first sequence, and better ones.

    def _first_chain(self) -> Chain:
        """Return all rewrites whose pixels are close to the original's, and reject the others."""
        without, until = set[str](), _COMPARE_UNTIL
        if self._probed and self.seconds:  # leaves time to measure two graphs, if there is any
            row, start = self._probed
            reserved = 1 - minimum_seconds([row] * 2, start) / self.seconds
            if self._deadline.seconds_left(reserved) > 0:
                until = min(until, reserved)
        while True:
            steps = self._search.steps(self._search.first(without))
            refused = self._first_refused(steps, range(len(steps)), until)
            if refused is None:
                return Chain(steps)
            without.add(refused)

    def _first_refused(
        self, steps: Sequence[CandidateRewrite], places: Sequence[int], share: float
    ) -> str | None:
        """Compare prefixes of a sequence, and reject and return the first bad rewrite, if any.

        ``share`` is the fraction of the time limit until which graphs may be compared.
        """
        with self.progress.engine(self.stop) as engine:
            for place in places:
                step = steps[place]
                self.check_cancelled()
                self._show(_COMPARING * (place + 1) / len(steps), f"comparing {step.name}")
                self._publish_compared(steps)
                why = self._lateness_reason(step, share) or self._refusal_reason(engine, step)
                if why:
                    self._search.refuse([each.name for each in steps[: place + 1]])
                    one = self._proposal(steps, place)
                    self._rejected[step.name] = replace(one, rejected=why)
                    return step.name
        self._publish_compared(steps)
        return None

    def _add(self, chain: Chain) -> Names:
        """Use a measured sequence for predictions, and store it if it is the best.

        Returns the accepted rewrites.
        """
        proposals = self._proposals(chain)
        for place, row in zip(chain.places, chain.rows[2:], strict=True):
            if row.rounds:
                names = chain.names[: place + 1]
                ratio = ratio_of(row, chain.rows[0], self.objective)
                self._search.add(chain.steps[place], names, ratio)
                self._report_ratio(names, row, chain.rows[0])
        self._rejected |= {one.name: one for one in proposals if one.rejected}
        kept = tuple(one.name for one in proposals if not one.rejected)
        if kept == chain.names[: len(kept)]:  # the rejected ones come last
            chain = chain.first(len(kept))
        if not self._complete or self._total(chain) > self._total(self._best):
            self._best = chain
            self._complete = kept == chain.names
        return kept

    def _total(self, chain: Chain) -> float:
        return ratio_of(chain.rows[-1], chain.rows[0], self.objective)

    def _better_sequence(self, base: ConfigJobs, kept: Names) -> Names:
        """Measure promising sequences. Return the best one, which is ``kept`` if none is better."""
        while self._searches < _MOST_SEARCHES:
            how = self._search_config(1 + _TOGETHER)
            chosen = self._comparable_candidates() if how else []
            if not chosen or how is None:
                break
            self._searches += 1
            self._measuring = Chain()
            entries = [
                self.entry(base.config, ", ".join(each.names), each.graph) for each in chosen
            ]
            rows = self.measure([base, *entries], self._part(f"{len(entries)} other orders"), how)
            for chain, row in zip(chosen, rows[1:], strict=True):
                self._add_tried(chain, row, rows[0])
        best = max(self._tried, key=lambda each: float(each["ratio"]), default=None)
        if best and best["ratio"] > _SWITCH * self._search.ratio_of(kept):
            return tuple(best["names"])
        return kept

    def _comparable_candidates(self) -> list[Chain]:
        """Return promising sequences whose pixels are close enough to the original's."""
        chosen: list[Chain] = []
        for names in self._search.candidates():
            left = self._deadline.seconds_left(_SEARCH_UNTIL)
            if len(chosen) == _TOGETHER or left < self._compare_seconds:
                break
            steps = self._search.steps(names)
            if self._first_refused(steps, [len(steps) - 1], _SEARCH_UNTIL) is None:
                chosen.append(Chain(steps))
        return chosen

    def _search_config(self, count: int) -> MeasurementConfig | None:
        """Return the config to measure ``count`` configurations, or None if there is no time."""
        config = self.measurement_config
        how = SEARCH_CONFIG if config in (OPTIMISE_CONFIG, MEMORY_CONFIG) else config
        if self._probed:
            row, start = self._probed
            both = minimum_seconds([row] * (2 * count + 1), start)  # this and the best sequence
            if both > self._deadline.seconds_left():
                return None
        return self._deadline.config_within(how, count, _SEARCH_UNTIL)

    def _add_tried(self, chain: Chain, row: Measurement, first: Measurement) -> None:
        if not row.rounds or not first.rounds:
            self._search.refuse(chain.names)
            return
        ratio = ratio_of(row, first, self.objective)
        self._search.add(chain.steps[-1], chain.names, ratio)
        text = self._report_ratio(chain.names, row, first)
        self._tried.append({"names": list(chain.names), "ratio": ratio, "text": text})

    def _report_ratio(self, names: Names, row: Measurement, first: Measurement) -> str:
        """Report and return the ratio of a sequence to the original graph as text."""
        text = ratio_text(ratio_of(row, first, self.objective), self.objective)
        if self.objective == "speed":
            text = f"{paired_ratio(row.imgs_per_s, first.imgs_per_s).text()} times the speed"
        self.on_result(f"{', '.join(names)}: {text}")
        return text

    def _lateness_reason(self, step: CandidateRewrite, share: float) -> str:
        """Return why there is no time to compare a rewrite that is not the first, or ""."""
        known = graph_hash(step.graph) in self._compared or not self._compared
        if known or self._deadline.seconds_left(share) >= self._compare_seconds:
            return ""
        self._cut = True
        return LATE

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
                self.on_result(f"{step.name}: {difference_text(self._compared[key])}")
            except CancelledError:
                raise
            except EngineError as error:
                return f"it could not be compared: {error}"
        found = self._compared[key]
        if found.other:
            return f"outputs differ: {found.other}"
        if step.kind == "exact":
            return "" if found.identical else "its pixels are not bit-identical on these data"
        limit, source = self._limit(engine)
        if found.psnr < limit:
            return f"{found.psnr:.1f} dB on these data, below {limit:.3g} dB{source}"
        return ""

    def _limit(self, engine: Engine) -> tuple[float, str]:
        """Return the minimum PSNR of near rewrites in dB, and where it comes from.

        It is the sampling error of the original graph, but between 35 and 45 dB.
        """
        if self._sampling is None:
            self._sampling = self._measured_sampling(engine)
        psnr = self._sampling.psnr
        if psnr is None or psnr <= LEAST_PSNR:
            return LEAST_PSNR, ""
        return min(psnr, MOST_PSNR), ", the sampling error of the graph"

    def _measured_sampling(self, engine: Engine) -> SamplingError:
        variant, source = with_other_filters(self.resolved)
        if variant == self.graph:
            return SamplingError(None, "the graph has no resize or warp")
        try:
            found = engine.call(compare_outputs, self.graph, variant, self.data, BATCHES)
        except CancelledError:
            raise
        except EngineError as error:
            return SamplingError(None, f"it could not be measured: {error}")
        return SamplingError(None if found.other else found.psnr, found.other or source)

    def _measure_chain(self, base: ConfigJobs, chain: Chain) -> Chain:
        """Measure two copies of the original graph and a sequence's prefixes, interleaved.

        If not all prefixes fit into the time, some are measured together with the next one. If none
        fits, the first sequence is measured next to one copy of the original graph, for as long as
        the time allows. Without time for the whole sequence, the result has no rows.
        """
        how, count = self.measurement_config, len(chain.steps)
        most, needed = count, 0.0
        if self._probed:
            row, start = self._probed
            fits = [minimum_seconds([row] * (2 + each), start) for each in range(count + 1)]
            left, needed = self._deadline.seconds_left(), self._deadline.elapsed + fits[0]
            most = sum(each <= left for each in fits) - 1
            self._cut |= most < count
            early = fits[count] <= self._deadline.seconds_left(_CHAIN_UNTIL)
            share = _CHAIN_UNTIL if early else 1.0
            self._paired = most < 1 <= count and not self._best.rows and left > 2 * start
            how = self._deadline.config_within(how, 2 + max(most, 0), share)
            if self._paired:
                most, how = 1, replace(how, rounds=FEWEST_ROUNDS, warm_up_rounds=1)
        if most < 1:
            return self._without_time(chain, needed)
        places = tuple((number + 1) * count // most - 1 for number in range(most))
        self._measuring = replace(chain, places=places)
        steps = [chain.steps[place] for place in places]
        entries = [self.entry(base.config, step.name, step.graph) for step in steps]
        if self._paired:
            entries = [replace(one, seconds=left / 2) for one in (base, *entries)]
        else:
            entries = [base, replace(base, label=CONTROL), *entries]
        rows = self._with_control(self.measure(entries, self._part(), how))
        paired, self._paired = self._paired, False
        if paired and any(map(self._was_cut, rows)):
            self._best = Chain()
            return self._without_time(chain, needed)
        self._report_original(rows[0])
        return replace(self._measuring, rows=rows)

    def _with_control(self, rows: tuple[Measurement, ...]) -> tuple[Measurement, ...]:
        """Insert the control, which is the first short run if only two graphs are measured."""
        if not self._paired or self._probed is None:
            return rows
        return (rows[0], replace(self._probed[0], label=CONTROL, flags=(_PAIR,)), *rows[1:])

    def _was_cut(self, row: Measurement) -> bool:
        """Return whether the time limit ended a measurement before it had a usable result."""
        known = self.objective == "speed" or peak_bytes(row)
        complete = len(row.rounds) >= FEWEST_ROUNDS and known
        return TIME_UP in row.reason or not (row.reason or complete)

    def _without_time(self, chain: Chain, needed: float) -> Chain:
        """Reject rewrites for which no time was left. ``needed`` is the least time limit in s."""
        why = f"not measured: two graphs need a time limit of about {math.ceil(needed)} s"
        for place, step in enumerate(chain.steps if not self._best.rows else ()):
            self._rejected[step.name] = replace(self._proposal(chain.steps, place), rejected=why)
        return replace(chain, rows=())

    def _report_original(self, row: Measurement) -> None:
        if row.rounds and not self._reported:
            self._reported = True
            self.on_result(f"the graph: {original_text(row)}")

    def _measure_accepted(
        self, base: ConfigJobs, accepted: Sequence[Mapping[str, Any]]
    ) -> list[float] | None:
        """Measure the accepted rewrites together, after others between them were rejected."""
        chain = Chain(self._search.steps([one["name"] for one in accepted]))
        how = self._search_config(2) if self._best.rows and chain.steps else None
        if how is None or len(chain.steps) < len(accepted):
            return None
        self._measuring = Chain()
        entry = self.entry(base.config, ", ".join(chain.names), chain.graph)
        first, row = self.measure([base, entry], self._part("accepted rewrites together"), how)
        if not (first.rounds and row.rounds):
            return None
        self._report_ratio(chain.names, row, first)
        return _json(paired_ratio(row.imgs_per_s, first.imgs_per_s))

    def _part(self, text: str = "") -> Progress:
        """Return the progress of a measurement: half of what is left of the bar."""
        begin, self._shown = self._shown, (1 + self._shown) / 2
        return self.progress.part(begin, self._shown, text)

    def _show(self, share: float, text: str) -> None:
        self._shown = max(self._shown, share)
        self.progress(self._shown, text)

    def _probe(self, base: ConfigJobs) -> tuple[Measurement, float]:
        """Return an estimate of the graph's speed, and the seconds that starting it takes."""
        usual = PROBE_CONFIG if base.config.device == "cpu" else GPU_PROBE_CONFIG
        how, began = self._deadline.config_within(usual, share=_PROBE_UNTIL), self._deadline.elapsed
        (row,) = self.measure([base], self.progress.part(0.0, 0.01), how)
        if row.reason:
            raise EngineError(row.reason)
        self._first_rows = (row,)
        self._report_original(row)
        return row, start_seconds(row, self._deadline.elapsed - began)

    def _proposals(self, chain: Chain) -> tuple[Proposal, ...]:
        """Return the rewrites as proposals, with the speed-up or the reason for rejection.

        Rewrites that were measured together with a later one are accepted or rejected with it.
        """
        if len(chain.rows) < 2:
            return ()
        first, again, *others = chain.rows
        for row in (first, again):
            if row.reason:
                raise EngineError(row.reason)
        noise = noise_between(again, first, self.objective)
        measured: dict[int, tuple[Proposal, float]] = {}
        before = first
        for place, row in zip(chain.places, others, strict=True):
            one = self._proposal(chain.steps, place)
            if row.reason:
                measured[place] = replace(one, rejected=row.reason), 0.0
                continue
            gain = paired_ratio(row.imgs_per_s, before.imgs_per_s)
            ratio = ratio_of(row, before, self.objective)
            uncertain = _PAIR in again.flags and ratio < 1
            rejected = no_gain(one, ratio, 0.0 if uncertain else noise, self.objective)
            found = replace(one, gain=gain, memory=peak_bytes(row), rejected=rejected)
            measured[place] = found, ratio
            before = row
        reasons = reasons_together(chain.names, measured, noise, self._required_rewrites)
        proposals: list[Proposal] = []
        for place in range(len(chain.steps)):
            until = next(each for each in chain.places if each >= place)
            one = measured[place][0] if place == until else self._proposal(chain.steps, place)
            proposals.append(replace(one, rejected=reasons[until]))
        return tuple(proposals)

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

    def _to_record(self, chain: Chain) -> dict[str, Any]:
        judged = self._proposals(chain) or [
            self._proposal(chain.steps, place) for place in range(len(chain.steps))
        ]
        accepted = {one.name: one for one in judged if not one.rejected}
        rejected = self._rejected | {one.name: one for one in judged if one.rejected}
        for tried in sorted(self._tried, key=lambda each: -each["ratio"]):
            steps = self._search.steps(tried["names"])
            why = f"the best other sequence with it has {tried['text']} of the graph"
            for place, step in enumerate(steps):
                one = replace(self._proposal(steps, place), rejected=why)
                rejected.setdefault(step.name, one)
        rows = chain.rows
        # A run that ended early may contain rejected steps: the rest was not measured together.
        whole = len(rows) > 2 and rows[-1].rounds and not any(one.rejected for one in judged)
        control = paired_ratio(rows[1].imgs_per_s, rows[0].imgs_per_s) if len(rows) > 1 else None
        total = paired_ratio(rows[-1].imgs_per_s, rows[0].imgs_per_s) if whole else None
        sampling = self._sampling
        return {
            "objective": self.objective,
            "control": _json(control),
            "total": _json(total),
            "memory": next(filter(None, map(peak_bytes, (*rows[:1], *self._first_rows))), None),
            "sampling": asdict(sampling) if sampling else None,
            "proposals": [one.to_json() for one in accepted.values()],
            "rejected": [one.to_json() for name, one in rejected.items() if name not in accepted],
            "tried": self._tried,
        }


def _json(interval: Interval | None) -> list[float] | None:
    if interval is None:
        return None
    return [interval.median, interval.low, interval.high, interval.level]
