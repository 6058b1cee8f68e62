"""Where the time goes: what each stage costs, which one holds the pipeline back, what lifts it.

Two views, and what lies between them. *Prefixes*: the exported source cut behind each stage, each
measured like any configuration; a stage costs what it adds to the time of a batch. *Alone*: each
operator by itself on one batch that is kept. Stages overlap in a pipeline, and an operator alone
has all threads to itself, so the two need not agree: the remainder is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from workbench.bench.cached_batch import CachedBatchJob, time_alone
from workbench.bench.config import config_of, decoder_nodes, nodes_after_decoders, with_config
from workbench.bench.function_cost import (
    function_costs,
    row_without,
    scripts_without_functions,
)
from workbench.bench.interleaved import ConfigJobs
from workbench.bench.measurement import Measurement
from workbench.bench.rate import rate_words
from workbench.bench.record import WHOLE, Report
from workbench.bench.speed_experiment import SpeedExperiment
from workbench.bench.stage_report import (
    CEILING,
    COPY,
    DECODE,
    OPERATOR,
    READ,
    StageCost,
    StageReport,
)
from workbench.bench.stats import median_interval
from workbench.bench.workload import ScriptJob
from workbench.catalog import Catalog
from workbench.emit.script import emit_script
from workbench.engine.machine import Machine
from workbench.engine.worker_progress import Progress
from workbench.errors import CancelledError, EngineError
from workbench.graph.devices import decodes, infer_devices, is_generator
from workbench.graph.model import Graph, Node, Source, ancestors, topological
from workbench.graph.ports import output_ports

ALONE_LIMIT = 300.0
REPEATABILITY = 0.10
"""Of a batch's time: where what a stage adds is known no better than that, either way, or the whole
is not, no stage is named and no share claimed."""
_BELOW_NOTHING = 0.05
"""Of a batch's time: a stage that seems to cost so much less than nothing makes a run unstable."""
AGAIN = "No stage is named. Measure again, with longer rounds or on a quieter machine."


def stage_prefixes(graph: Graph, catalog: Catalog) -> list[tuple[Node, Graph]]:
    """Each stage in running order, with the graph cut behind it.

    Operators that only draw numbers belong to the stage that takes them. What a cut graph gives out
    is all that nothing in it takes.
    """
    needed = ancestors(graph, list(graph.outputs.values()))
    ordered = [node for node in topological(graph)[0] if node.id in needed]
    steps = [node for node in ordered if not is_generator(catalog[node.op])]
    cut = []
    for count, step in enumerate(steps, 1):
        inside = steps[:count]
        taken = {port.node for node in inside for port in node.inputs.values()}
        outputs = {
            node.id: output_ports(node, catalog[node.op])[0]
            for node in inside
            if node.id not in taken
        }
        cut.append((step, replace(graph, outputs=outputs)))
    return cut


Step = tuple[Node, str, str]
"""A stage: its node, kind and device."""


class StageCostExperiment(SpeedExperiment):
    """Where the time of a graph goes, with its own settings."""

    kind = "stages"
    _steps: Sequence[Step] = ()

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure every prefix and operator. Raises DataError, EngineError and CancelledError."""
        catalog, machine, found, cache = self.prepare(on_progress)
        config = config_of(self.graph)
        graph = with_config(self.graph, catalog, config)
        self.require_measurable([config], catalog, machine)
        devices = infer_devices(graph, catalog)
        cut = stage_prefixes(graph, catalog)
        entries = [
            ConfigJobs(
                config,
                (ScriptJob(emit_script(part, catalog), self.data, config.device, config.prefetch),),
                f"up to {node.id}",
                decodes=bool(decoder_nodes(part, catalog)),
            )
            for node, part in cut[:-1]  # the last is the whole
        ]
        source = emit_script(graph, catalog)
        whole = ScriptJob(source, self.data, config.device, config.prefetch)
        entries.append(ConfigJobs(config, (whole,), WHOLE))
        copies = any(devices[port.node] != "cpu" for port in graph.outputs.values())
        if copies:
            copied = replace(whole, to_host=True)
            entries.append(ConfigJobs(config, (copied,), f"{WHOLE}, copied to the host"))
        if nodes_after_decoders(graph, catalog):
            entries.append(
                ConfigJobs(config, (CachedBatchJob(graph, self.data),), CEILING, decodes=False)
            )
        for node, source in scripts_without_functions(graph, catalog):
            job = replace(whole, source=source)
            entries.append(ConfigJobs(config, (job,), row_without(node.id)))
        steps = [(node, _kind(node, catalog), devices[node.id]) for node, _ in cut]
        self.begin(machine, found, cache)
        self._steps = steps
        rows = self.measure(entries, self.progress.part(0.0, 0.95))
        stage_costs(steps, rows, {}, config.batch_size)  # where the whole hangs, so does one alone
        self.progress(0.95, "each operator alone")
        nodes = [node.id for node, _ in cut if not isinstance(node, Source)]
        alone = self._alone(graph, nodes)
        stages = make_stage_report(steps, rows, alone, graph, machine)
        self.progress(1.0, "done")
        return self.report(rows, machine, found, cache, stages=asdict(stages))

    def on_rows(self, rows: tuple[Measurement, ...]) -> None:
        """As of every run, with the stages as soon as the whole is known; none is named yet."""
        super().on_rows(rows)
        if self.partial_report is None:
            return
        if any(row.name == WHOLE and row.rounds for row in rows):
            total, costs = stage_costs(self._steps, rows, {}, self.graph.settings.batch_size)
            so_far = StageReport(tuple(costs), total, None, None, "", "")
            extra = {"stages": asdict(so_far)}
            self.partial_report = replace(self.partial_report, extra=extra)
        else:
            self.partial_report = None

    def _alone(self, graph: Graph, nodes: Sequence[str]) -> dict[str, float]:
        try:
            with self.progress.engine(self.stop) as engine:
                found: dict[str, float] = engine.call(
                    time_alone, graph, self.data, nodes, limit=ALONE_LIMIT
                )
        except CancelledError:
            raise
        except EngineError:
            return {}  # the prefixes tell without it
        return found


def _kind(node: Node, catalog: Catalog) -> str:
    if isinstance(node, Source):
        return READ
    return DECODE if decodes(catalog[node.op]) else OPERATOR


def make_stage_report(
    stages: Sequence[Step],
    rows: Sequence[Measurement],
    alone: Mapping[str, float],
    graph: Graph,
    machine: Machine,
) -> StageReport:
    """Put prefixes and single operators side by side.

    ``stages`` are in running order, ``alone`` is in ms. Raises EngineError where the whole pipeline
    was not measured. A run that is too unstable names no bottleneck.
    """
    by_name = {row.name: row for row in rows}
    whole = by_name[WHOLE]
    total, costs = stage_costs(stages, rows, alone, graph.settings.batch_size)
    known = [cost.alone for cost in costs if cost.kind in (DECODE, OPERATOR)]
    remainder = total - sum(a for a in known if a is not None) if None not in known else None
    ceiling = by_name[CEILING].median if CEILING in by_name else None
    own_code = tuple(function_costs(graph, rows, graph.settings.batch_size))
    own = [cost for cost in costs if cost.kind != COPY and cost.adds is not None]
    busy = _busy(own)
    worst = max(own, key=lambda cost: busy[cost.stage])
    others = max((busy[cost.stage] for cost in own if cost is not worst), default=0.0)
    without = max(total - (worst.adds or 0.0), others)
    share = min(busy[worst.stage] / total, 1.0)
    if doubt := _doubt(own, whole, total):
        words = f"{doubt} {AGAIN}"
        return StageReport(tuple(costs), total, remainder, ceiling, "", words, own_code)
    advice = bottleneck_advice(worst, share, without, whole, graph, machine)
    return StageReport(tuple(costs), total, remainder, ceiling, worst.stage, advice, own_code)


def stage_costs(
    stages: Sequence[Step], rows: Sequence[Measurement], alone: Mapping[str, float], batch: int
) -> tuple[float, list[StageCost]]:
    """The milliseconds of a whole batch, and what each stage costs of them.

    Raises EngineError where the whole pipeline was not measured.
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
        adds = _added(row, before, batch)
        costs.append(
            StageCost(node.id, kind, device, adds[0], alone.get(node.id), node.op, *adds[1:])
        )
        before = row
    copied = by_name.get(f"{WHOLE}, copied to the host")
    if copied is not None and copied.median is not None:
        adds = _added(copied, whole, batch)
        costs.append(StageCost("copy to the host", COPY, "gpu", adds[0], None, "", *adds[1:]))
    return total, costs


def _doubt(costs: Sequence[StageCost], whole: Measurement, total: float) -> str:
    """Why a run is too unstable to name a stage, in words; empty where it is not."""
    below = min(costs, key=lambda cost: cost.adds or 0.0)
    if (below.adds or 0.0) < -_BELOW_NOTHING * total:
        return f"Unstable: {below.stage} seems to cost less than nothing."
    known = [cost for cost in costs if cost.low is not None and cost.high is not None]
    apart = {cost.stage: ((cost.high or 0.0) - (cost.low or 0.0)) / 2 / total for cost in known}
    least = max(apart, key=lambda stage: apart[stage], default="")
    if least and apart[least] > REPEATABILITY:
        return (
            f"Unstable: what {least} adds is known to ±{apart[least]:.0%} of a batch's time only, "
            f"and ±{REPEATABILITY:.0%} are the limit."
        )
    spread = whole.interval.spread if whole.interval else 0.0
    if spread > REPEATABILITY:
        return (
            f"Unstable: the whole is known to ±{spread:.0%} only, and ±{REPEATABILITY:.0%} are "
            "the limit."
        )
    return ""


def _busy(costs: Sequence[StageCost]) -> dict[str, float]:
    """Milliseconds of a batch for which each stage is at work: what it adds.

    On a GPU what it takes alone, where that is more: a GPU that decodes while the reader reads adds
    only what it takes longer than that. No stage is at work for longer than the prefix up to it.
    """
    found: dict[str, float] = {}
    prefix = 0.0
    for cost in costs:
        adds = cost.adds or 0.0
        prefix += adds
        alone = cost.alone if cost.device != "cpu" else None
        found[cost.stage] = max(adds, min(alone or 0.0, prefix))
    return found


def _added(
    row: Measurement, before: Measurement | None, batch: int
) -> tuple[float, float, float] | tuple[None, None, None]:
    """What a batch of ``row`` takes more than one of ``before``, in ms, and the interval of that.

    The difference of the medians, so that stages add up to the whole. Its interval is that of the
    differences of rounds side by side, in which what slows both cancels.
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
    without: float,
    whole: Measurement,
    graph: Graph,
    machine: Machine,
) -> str:
    """What the bottleneck is and what would lift it, in a few sentences.

    ``share`` is the part of a batch's time that it takes, ``without`` the milliseconds that a batch
    would take without it.
    """
    settings = graph.settings
    names = [worst.op] * (worst.op not in ("", worst.stage)) + [worst.kind, worst.device]
    text = f"{worst.stage} ({', '.join(names)}) takes {share:.0%} of a batch's time"
    if whole.median and without > 0.02 * 1000 * settings.batch_size / whole.median:
        rate = 1000 * settings.batch_size / without
        text += f"; without it, {rate_words(rate, whole.config.frames)}"
    idle = machine.cores - (whole.cpu_cores or 0.0)
    threads = settings.num_threads * settings.pipelines
    spare = threads < machine.cores and idle > 0.5
    more = f"{machine.cores - threads} more threads (there are {machine.cores} cores)"
    remedies: list[str] = []
    if worst.kind == READ:
        remedies.append("have the files in memory, on a faster disk, or in fewer, larger files")
    elif worst.device == "cpu":
        if spare:
            remedies.append(more)
        if settings.device == "cpu":
            what = "decode it" if worst.kind == DECODE else "run it behind mixed decoding,"
            remedies.append(f"{what} on a GPU")
        elif worst.kind == OPERATOR:
            remedies.append("move it to the GPU")
        if worst.kind == OPERATOR:
            remedies.append("make the images smaller before it")
    elif worst.kind == DECODE:
        if graph.node(worst.stage).args.get("hw_decoder_load") != 1.0:
            remedies.append("hw_decoder_load 1.0, where the GPU has JPEG engines")
        if settings.pipelines == 1:
            remedies.append("two pipelines side by side, of few threads each")
        remedies.append("a larger batch")
        if spare:
            remedies.append(more)
    else:
        remedies += ["a larger batch", "smaller images before it"]
    return f"{text}. What would lift it: {'; '.join(remedies)}."
