"""Evaluate the times of stages: costs, critical path, and the bottleneck if it is certain.

All functions are pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.bench.measuring.measurement import Measurement, rate_figure, rate_unit
from workbench.bench.measuring.stats import Interval, median_interval, ratio, three_digits
from workbench.bench.records.record import WHOLE
from workbench.bench.records.stage_report import (
    CEILING,
    COPY,
    DECODE,
    OPERATOR,
    READ,
    CriticalPath,
    FunctionCost,
    StageCost,
    StageReport,
)
from workbench.catalog.extra_operators.user_functions import OWN_CODE
from workbench.engine.resources.machine import Machine
from workbench.errors import EngineError
from workbench.graph.model import Graph, Node

REPEATABILITY = 0.10
"""Maximum uncertainty of a stage's cost, as a fraction of a batch's time.

If the cost of a stage, or the total, is less certain, no bottleneck and no fractions are reported.
"""
_BELOW_NOTHING = 0.05
"""A run is unstable if a stage's cost is negative by more than this fraction of a batch's time."""
_DISAGREE = 0.35
"""Maximum difference between the fractions of the time that an operator takes in the pipeline and
when run alone. A larger one means that the machine was disturbed during one of the measurements.
"""
_MOST_ALONE = 0.6
"""In an unstable run, the slowest operator is named only if it takes at least this fraction of the
time of all operators, each run alone.
"""
AGAIN = "No stage is named. Measure again, with longer rounds or on a quieter machine."
Step = tuple[Node, str, str]
"""Node, kind and device of a stage."""


def make_stage_report(
    stages: Sequence[Step],
    rows: Sequence[Measurement],
    alone: Mapping[str, float],
    graph: Graph,
    machine: Machine,
) -> StageReport:
    """Combine the measurements of prefixes and of single operators into a report.

    ``stages`` are in topological order; ``alone`` has milliseconds by node. Raises EngineError if
    the whole pipeline was not measured. The report of an unstable run names no bottleneck and no
    speed-up.
    """
    by_name = {row.name: row for row in rows}
    whole = by_name[WHOLE]
    total, costs = stage_costs(stages, rows, alone, graph.settings.batch_size)
    known = [cost.alone for cost in costs if cost.kind in (DECODE, OPERATOR)]
    remainder = total - sum(a for a in known if a is not None) if None not in known else None
    cached = by_name.get(CEILING)
    ceiling = cached.median if cached else None
    own_code = tuple(function_costs(graph, rows, graph.settings.batch_size))
    own = [cost for cost in costs if cost.kind != COPY and cost.adds is not None]
    busy = _busy_milliseconds(own)
    worst = max(own, key=lambda cost: busy[cost.stage])
    others = max((busy[cost.stage] for cost in own if cost is not worst), default=0.0)
    low, high = worst.low or worst.adds or 0.0, worst.high or worst.adds or 0.0
    level = whole.interval.level if whole.interval else 0.0
    least, middle, most = (max(total - ms, others) for ms in (high, worst.adds or 0.0, low))
    without = Interval(middle, least, most, level)
    share = min(busy[worst.stage] / total, 1.0)
    gain, gain_text = None, ""
    if cached and cached.rounds and whole.rounds:
        speedup = ratio(cached.imgs_per_s, whole.imgs_per_s)
        gain = max(1.0, speedup.median)
        gain_text = speedup.text(lambda value: f"{max(1.0, value):.2f}")
    report = StageReport(
        tuple(costs), total, remainder, ceiling, worst.stage, "", own_code, gain=gain,
        gain_text=gain_text,
    )  # fmt: skip
    names = [f"up to {cost.stage}" for cost in costs]
    around = names[max(0, costs.index(worst) - 1) : costs.index(worst) + 1]
    nearby = [whole, *(by_name[name] for name in around if name in by_name)]
    if doubt := _instability_reason(own, whole, total) or _flagged(nearby):
        noisy = f"The figures are noisy. {doubt}"
        if dominates(worst, own):
            advice = f"{_range_text(worst, total)} {noisy}"
            return replace(report, gain=None, advice=advice)
        if (slowest := slowest_operator_if_dominant(own)) is not None:
            advice = f"{longest_alone(own)} {noisy}"
            return replace(report, bottleneck=slowest.stage, gain=None, advice=advice)
        return replace(report, bottleneck="", gain=None, advice=f"{doubt} {AGAIN}")
    if (equal := _overlapping(worst, own, busy)) and not dominates(worst, own):
        spans = ", ".join(
            f"{cost.title} {three_digits(low)} to {three_digits(high)} ms"
            for cost in (worst, *equal)
            for low, high in [_span(cost, busy)]
        )
        advice = (
            f"These stages cannot be distinguished: {spans} of a batch of {three_digits(total)} ms."
        )
        return replace(report, bottleneck="", advice=f"{advice} {AGAIN}")
    advice = bottleneck_advice(worst, share, without, whole, graph, machine)
    return replace(report, advice=advice, critical=_find_critical_path(own))


def stage_costs(
    stages: Sequence[Step], rows: Sequence[Measurement], alone: Mapping[str, float], batch: int
) -> tuple[float, list[StageCost]]:
    """Return the milliseconds per batch of the whole pipeline, and the cost of each stage.

    Raises EngineError if the whole pipeline was not measured.
    """
    by_name = {row.name: row for row in rows}
    whole = by_name[WHOLE]
    if whole.median is None:
        raise EngineError(whole.reason.removeprefix("not measured: "))
    total = 1000 * batch / whole.median
    costs: list[StageCost] = []
    before: Measurement | None = None
    for number, (node, kind, device) in enumerate(stages):
        row = whole if number == len(stages) - 1 else by_name[f"up to {node.id}"]
        adds = _added_milliseconds(row, before, batch)
        costs.append(
            StageCost(node.id, kind, device, adds[0], alone.get(node.id), node.op, *adds[1:])
        )
        before = row
    prefixes = list(itertools.accumulate(cost.adds for cost in costs if cost.adds is not None))
    if len(prefixes) == len(costs):
        shares = exclusive_times(prefixes)
        costs = [replace(c, exclusive=ms) for c, ms in zip(costs, shares, strict=True)]
    copied = by_name.get(f"{WHOLE}, copied to the host")
    if copied is not None and copied.median is not None:
        adds = _added_milliseconds(copied, whole, batch)
        costs.append(StageCost("copy to the host", COPY, "gpu", adds[0], None, "", *adds[1:]))
    return total, costs


def dominates(worst: StageCost, costs: Sequence[StageCost]) -> bool:
    """Return whether a stage certainly takes more time than any other.

    This is the case if the stage's confidence interval is above those of all other stages, and no
    other stage takes longer when run alone; or if the stage takes more than half of the time, in
    the pipeline and alone. A negative cost is noise, so each interval is widened by the most
    negative cost.
    """
    noise = max(0.0, -min(cost.adds or 0.0 for cost in costs))
    others = [cost for cost in costs if cost is not worst]
    highest = max((cost.high or cost.adds or 0.0 for cost in others), default=0.0)
    alone = max((cost.alone or 0.0 for cost in others), default=0.0)
    if worst.alone is not None and worst.alone < alone:
        return False
    low = worst.adds if worst.low is None else worst.low
    if low is not None and low - noise > highest + noise:
        return True
    spent = sum(cost.exclusive or 0.0 for cost in costs)
    worked = sum(cost.alone or 0.0 for cost in costs)
    half = (worst.exclusive or 0.0) > spent / 2 and (worst.alone or 0.0) > worked / 2
    return half and worked > 0


def _span(cost: StageCost, busy: Mapping[str, float]) -> tuple[float, float]:
    """Return the interval of the milliseconds that a stage works per batch (``busy``)."""
    adds = cost.adds or 0.0
    low, high = (adds if end is None else end for end in (cost.low, cost.high))
    return max(0.0, busy[cost.stage] + low - adds), busy[cost.stage] + high - adds


def _overlapping(
    worst: StageCost, costs: Sequence[StageCost], busy: Mapping[str, float]
) -> list[StageCost]:
    """Return the stages that may take as long as the slowest one, by their intervals."""
    least = _span(worst, busy)[0]
    return [cost for cost in costs if cost is not worst and _span(cost, busy)[1] >= least]


def _flagged(rows: Sequence[Measurement]) -> str:
    names = ", ".join(row.name for row in rows if row.unstable)
    return f"Unstable: the rounds of {names} do not agree." if names else ""


def slowest_operator_if_dominant(costs: Sequence[StageCost]) -> StageCost | None:
    """Return the operator that takes most of the time if each operator runs alone, or None.

    The result is None unless all operators run on the CPU, where they run one after another. It is
    also None if the times in the pipeline contradict the result.
    """
    known = [cost for cost in costs if cost.alone is not None]
    if not known or any(cost.device != "cpu" for cost in costs):
        return None
    worst = max(known, key=lambda cost: cost.alone or 0.0)
    if (worst.alone or 0.0) < _MOST_ALONE * sum(cost.alone or 0.0 for cost in known):
        return None
    low = max((cost.low or 0.0 for cost in costs if cost is not worst), default=0.0)
    return worst if (worst.high or 0.0) >= low else None


def _range_text(worst: StageCost, total: float) -> str:
    low, high = (min(max((end or 0.0) / total, 0.0), 1.0) for end in (worst.low, worst.high))
    return f"{worst.title} takes most of a batch's time: {low:.0%} to {high:.0%}."


def separate_operators_report(costs: Sequence[StageCost], total: float, why: str) -> StageReport:
    """Return a report on operators run alone. ``why`` is the reason why the pipeline is missing."""
    slowest = slowest_operator_if_dominant([replace(cost, low=None, high=None) for cost in costs])
    advice = f"{why} {longest_alone(costs)}".rstrip()
    return StageReport(
        tuple(costs), total, None, None, slowest.stage if slowest is not None else "", advice
    )


def longest_alone(costs: Sequence[StageCost]) -> str:
    """Return a text on the operator that takes longest alone, or "" if none was measured alone."""
    known = [cost for cost in costs if cost.alone is not None]
    if not known:
        return ""
    worst = max(known, key=lambda cost: cost.alone or 0.0)
    share = (worst.alone or 0.0) / max(sum(cost.alone or 0.0 for cost in known), 1e-9)
    return (
        f"Measured alone, {worst.title} takes longest: {worst.alone:.1f} ms, {share:.0%} of the "
        "time of all operators."
    )


def _instability_reason(costs: Sequence[StageCost], whole: Measurement, total: float) -> str:
    below = min(costs, key=lambda cost: cost.adds or 0.0)
    if (below.adds or 0.0) < -_BELOW_NOTHING * total:
        return f"Unstable: {below.stage} has a negative cost."
    known = [cost for cost in costs if cost.low is not None and cost.high is not None]
    uncertainties = {
        cost.stage: ((cost.high or 0.0) - (cost.low or 0.0)) / 2 / total for cost in known
    }
    least = max(uncertainties, key=lambda stage: uncertainties[stage], default="")
    if least and uncertainties[least] > REPEATABILITY:
        return (
            f"Unstable: the cost of {least} is uncertain by ±{uncertainties[least]:.0%} of a "
            f"batch's time; the limit is ±{REPEATABILITY:.0%}."
        )
    if disagreement := _disagreement(costs):
        return disagreement
    spread = whole.interval.spread if whole.interval else 0.0
    if spread > REPEATABILITY:
        return (
            f"Unstable: the total is uncertain by ±{spread:.0%}; the limit is ±{REPEATABILITY:.0%}."
        )
    return ""


def _disagreement(costs: Sequence[StageCost]) -> str:
    """Return a warning if a stage's fraction of the time changes a lot when operators run alone.

    The result is "" if there is no such stage, or if a stage runs on the GPU, where the fractions
    are not comparable.
    """
    worked = [cost for cost in costs if cost.kind in (DECODE, OPERATOR)]
    adds, alone = (
        sum(getattr(cost, what) or 0.0 for cost in worked) for what in ("exclusive", "alone")
    )
    known = all(c.alone is not None and c.exclusive is not None for c in worked)
    if not known or not adds or not alone or any(cost.device != "cpu" for cost in costs):
        return ""

    def share_difference(cost: StageCost) -> float:
        return abs((cost.exclusive or 0.0) / adds - (cost.alone or 0.0) / alone)

    worst = max(worked, key=share_difference)
    if share_difference(worst) <= _DISAGREE:
        return ""
    return (
        f"Unstable: {worst.stage} takes {worst.exclusive:.1f} ms of a batch in the pipeline, and "
        f"{worst.alone:.1f} ms alone."
    )


def _find_critical_path(costs: Sequence[StageCost]) -> CriticalPath | None:
    """Return the critical path, or None if the time of a stage is unknown.

    The path is determined from the time of each operator alone, and from the time of reading.
    """
    busy = []
    for cost in costs:
        cost_ms = cost.exclusive if cost.kind == READ else cost.alone
        if cost_ms is None:
            return None
        lane = {READ: "reading", DECODE: f"decoding on {cost.device}"}.get(cost.kind, cost.device)
        if cost.device == "cpu" and cost.kind != READ:
            lane = "the CPU's operators"
        busy.append((cost.stage, lane, cost_ms))
    return critical_path(busy)


def _busy_milliseconds(costs: Sequence[StageCost]) -> dict[str, float]:
    """Return how many milliseconds per batch each stage works: usually the time it adds.

    On a GPU, the time of the operator alone is used if it is longer: decoding that overlaps reading
    adds only the part that does not overlap. No stage works longer than the prefix of the pipeline
    that ends with it.
    """
    found: dict[str, float] = {}
    prefix = 0.0
    for cost in costs:
        adds = cost.adds or 0.0
        prefix += adds
        alone = cost.alone if cost.device != "cpu" else None
        found[cost.stage] = max(adds, min(alone or 0.0, prefix))
    return found


def _added_milliseconds(
    row: Measurement, before: Measurement | None, batch: int
) -> tuple[float, float, float] | tuple[None, None, None]:
    """Return how many milliseconds per batch ``row`` adds to ``before``, and the interval's ends.

    The result is the difference of the medians, so that the stages add up to the total. The
    interval is that of the differences of adjacent rounds, where slowdowns that affect both rounds
    cancel.
    """
    if row.median is None or (before is not None and before.median is None):
        return None, None, None
    spent = [1000 * batch / rate for rate in row.imgs_per_s]
    base = [1000 * batch / rate for rate in before.imgs_per_s] if before else [0.0] * len(spent)
    found = median_interval([ours - theirs for ours, theirs in zip(spent, base, strict=False)])
    adds = 1000 * batch / row.median
    if before is not None and before.median is not None:
        adds -= 1000 * batch / before.median
    return adds, min(adds, found.low), max(adds, found.high)


def bottleneck_advice(
    worst: StageCost,
    share: float,
    without: Interval,
    whole: Measurement,
    graph: Graph,
    machine: Machine,
) -> str:
    """Describe the bottleneck and how to remove it, in a few sentences.

    ``share`` is the fraction of the batch time spent in the bottleneck. ``without`` is the batch
    time in milliseconds if the bottleneck is removed.
    """
    settings = graph.settings
    names = [worst.op] * (worst.op not in ("", worst.stage)) + [worst.kind, worst.device]
    text = f"{worst.stage} ({', '.join(names)}) takes {share:.0%} of a batch's time"
    if whole.median and without.median > 0.02 * 1000 * settings.batch_size / whole.median:
        ends = (without.median, without.high, max(without.low, 1e-9))
        middle, least, most = (1000 * settings.batch_size / ms for ms in ends)
        frames = whole.config.frames
        rate = Interval(middle, least, most, without.level)
        figure = rate.text(lambda value: rate_figure(value, frames))
        text += f"; without it, {figure} {rate_unit(frames)}"
    idle = machine.cores - (whole.cpu_cores or 0.0)
    threads = settings.num_threads * settings.pipelines
    spare = threads < machine.cores and idle > 0.5
    more = f"{machine.cores - threads} more threads (there are {machine.cores} cores)"
    remedies: list[str] = []
    if worst.kind == READ:
        remedies.append("put the files in memory, on a faster disk, or into fewer, larger files")
    elif worst.device == "cpu":
        if spare:
            remedies.append(more)
        if settings.device == "cpu":
            what = "decode it" if worst.kind == DECODE else "run it behind mixed decoding,"
            remedies.append(f"{what} on a {'machine with a ' * bool(machine.no_gpu)}GPU")
        elif worst.kind == OPERATOR:
            remedies.append("move it to the GPU")
        if worst.kind == OPERATOR:
            remedies.append("reduce the image size before it")
    elif worst.kind == DECODE:
        if graph.node(worst.stage).args.get("hw_decoder_load") != 1.0:
            remedies.append("hw_decoder_load 1.0, if the GPU has JPEG engines")
        if settings.pipelines == 1:
            remedies.append("two pipelines with few threads each")
        remedies.append("a larger batch")
        if spare:
            remedies.append(more)
    else:
        remedies += ["a larger batch", "smaller images before it"]
    return f"{text}. Options: {'; '.join(remedies)}."


def function_nodes(graph: Graph) -> list[Node]:
    """Return the nodes that call user functions, including those inside blocks."""
    return [node for node in graph.walk() if node.op in OWN_CODE]


def row_without(node_id: str) -> str:
    """Return the name of the row that measures the graph without a node."""
    return f"without {node_id}"


def function_costs(graph: Graph, rows: Sequence[Measurement], batch: int) -> list[FunctionCost]:
    """Return the milliseconds per batch that each user function adds to the graph."""
    by_name = {row.name: row for row in rows}
    whole = by_name[WHOLE]
    found: list[FunctionCost] = []
    for node in function_nodes(graph):
        name, row = str(node.args.get("function", "")), by_name.get(row_without(node.id))
        if row is None or row.median is None or whole.median is None:
            reason = "later nodes need its output" if row is None else row.reason
            found.append(FunctionCost(node.id, name, reason=reason))
            continue
        adds, low, high = _added_milliseconds(whole, row, batch)
        rates = whole.median, row.median
        texts = whole.rate_text, row.figure
        frames = row.config.frames
        found.append(FunctionCost(node.id, name, adds, low, high, *rates, "", frames, *texts))
    return found


def exclusive_times(prefix_times: Sequence[float]) -> list[float]:
    """Return the milliseconds of each stage, from the times of the pipeline cut after each stage.

    The results are not negative and add up to the last time. A part of a pipeline cannot take
    longer than a larger part, so decreasing times are noise, which is spread over the stages
    involved (isotonic regression by pooling adjacent violators, R. E. Barlow et al., Statistical
    Inference under Order Restrictions, 1972; the last time is fixed).
    """
    pools: list[tuple[float, int]] = []
    for time in prefix_times[:-1]:
        pools.append((time, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (last, many), (before, few) = pools.pop(), pools.pop()
            pools.append(((before * few + last * many) / (few + many), few + many))
    fitted = [min(mean, prefix_times[-1]) for mean, count in pools for _ in range(count)]
    ends = [*fitted, prefix_times[-1]]
    return [end - start for start, end in zip([0.0, *ends], ends, strict=False)]


def critical_path(busy: Sequence[tuple[str, str, float]]) -> CriticalPath | None:
    """Return the stages of the kind that takes the longest in total, or None without stages.

    ``busy`` has the name, kind and milliseconds of each stage.
    """
    spent: dict[str, float] = {}
    for _, kind, milliseconds in busy:
        spent[kind] = spent.get(kind, 0.0) + milliseconds
    if not spent:
        return None
    longest = max(spent, key=lambda kind: spent[kind])
    return CriticalPath(
        tuple(name for name, kind, _ in busy if kind == longest),
        spent[longest],
        {kind: ms for kind, ms in spent.items() if kind != longest},
    )
