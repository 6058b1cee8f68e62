"""Where the time goes: what each stage costs, which one holds the pipeline back, what lifts it.

Two views, and what lies between them. *Prefixes*: the exported source cut behind each stage, each
measured like any configuration; a stage costs what it adds to the time of a batch. *Alone*: each
operator by itself on one batch that is kept. Stages overlap in a pipeline, and an operator alone
has all threads to itself, so the two need not agree: the remainder is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from workbench.bench.cached_batch import CachedJob, time_alone
from workbench.bench.config import behind_decoder, config_of, configured, decoders
from workbench.bench.experiment import Experiment
from workbench.bench.interleaved import Entry, Progress
from workbench.bench.measurement import Measurement
from workbench.bench.record import WHOLE, Report
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
from workbench.engine.process import Engine
from workbench.errors import CancelledError, EngineError
from workbench.graph.devices import infer_devices, is_decoder, is_generator
from workbench.graph.model import Graph, Node, Port, Source, ancestors, topological

ALONE_LIMIT = 300.0
_NOISE = 0.05
UNSURE = (
    "But the rounds differ so much that a stage seems to cost less than nothing: measure again, "
    "with longer rounds or on a quieter machine."
)


def prefixes(graph: Graph, catalog: Catalog) -> list[tuple[Node, Graph]]:
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
            node.id: Port(node.id, catalog[node.op].outputs[0].name)
            for node in inside
            if node.id not in taken
        }
        cut.append((step, replace(graph, outputs=outputs)))
    return cut


class StageCostExperiment(Experiment):
    """Where the time of a graph goes, with its own settings."""

    kind = "stages"

    def run(self, on_progress: Progress = lambda share, text: None) -> Report:
        """Measure every prefix and operator. Raises DataError, EngineError and CancelledError."""
        catalog, machine, found, cache = self.prepare()
        config = config_of(self.graph)
        graph = configured(self.graph, catalog, config)
        self.require_measurable([config], catalog, machine)
        devices = infer_devices(graph, catalog)
        cut = prefixes(graph, catalog)
        entries = [
            Entry(
                config,
                (ScriptJob(emit_script(part, catalog), self.data, config.device, config.prefetch),),
                f"up to {node.id}",
                decodes=bool(decoders(part, catalog)),
            )
            for node, part in cut[:-1]  # the last is the whole
        ]
        source = emit_script(graph, catalog)
        whole = ScriptJob(source, self.data, config.device, config.prefetch)
        entries.append(Entry(config, (whole,), WHOLE))
        copies = any(devices[port.node] != "cpu" for port in graph.outputs.values())
        if copies:
            copied = replace(whole, to_host=True)
            entries.append(Entry(config, (copied,), f"{WHOLE}, copied to the host"))
        if behind_decoder(graph, catalog):
            entries.append(Entry(config, (CachedJob(graph, self.data),), CEILING, decodes=False))
        rows = self.measure(entries, lambda s, t: on_progress(0.95 * s, t))
        on_progress(0.95, "each operator alone")
        nodes = [node.id for node, _ in cut if not isinstance(node, Source)]
        alone = self._alone(graph, nodes)
        stages = reconcile(
            [(node, _kind(node, catalog), devices[node.id]) for node, _ in cut],
            rows, alone, graph, machine,
        )  # fmt: skip
        on_progress(1.0, "done")
        return self.report(rows, machine, found, cache, stages=asdict(stages))

    def _alone(self, graph: Graph, nodes: Sequence[str]) -> dict[str, float]:
        try:
            with Engine(stop=self.stop) as engine:
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
    return DECODE if is_decoder(catalog[node.op]) else OPERATOR


def reconcile(
    stages: Sequence[tuple[Node, str, str]],
    rows: Sequence[Measurement],
    alone: Mapping[str, float],
    graph: Graph,
    machine: Machine,
) -> StageReport:
    """Put prefixes and single operators side by side.

    ``stages`` are (node, kind, device) in running order, ``alone`` is in ms. Raises EngineError
    where the whole pipeline was not measured.
    """
    batch = graph.settings.batch_size
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
    known = [cost.alone for cost in costs if cost.kind in (DECODE, OPERATOR)]
    remainder = total - sum(a for a in known if a is not None) if None not in known else None
    ceiling = by_name[CEILING].median if CEILING in by_name else None
    own = [cost for cost in costs if cost.kind != COPY and cost.adds is not None]
    busy = _busy(own)
    worst = max(own, key=lambda cost: busy[cost.stage])
    others = max((busy[cost.stage] for cost in own if cost is not worst), default=0.0)
    without = max(total - (worst.adds or 0.0), others)
    share = min(busy[worst.stage] / total, 1.0)
    advice = advise(worst, share, without, whole, graph, machine)
    if any((cost.adds or 0.0) < -_NOISE * total for cost in own):
        advice += f" {UNSURE}"
    return StageReport(tuple(costs), total, remainder, ceiling, worst.stage, advice)


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


def advise(
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
        text += f"; without it, {1000 * settings.batch_size / without:,.0f} imgs/s"
    idle = machine.cores - (whole.cpu_cores or 0.0)
    spare = settings.num_threads < machine.cores and idle > 0.5
    more = f"{machine.cores - settings.num_threads} more threads (there are {machine.cores} cores)"
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
        remedies.append("a larger batch")
        if spare:
            remedies.append(more)
    else:
        remedies += ["a larger batch", "smaller images before it"]
    return f"{text}. What would lift it: {'; '.join(remedies)}."
