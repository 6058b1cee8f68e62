"""Measure the cost of each stage of a pipeline, and find the bottleneck and how to remove it.

There are two measurements. *Prefixes*: the exported script is cut after each stage, and each prefix
is measured like any configuration; the cost of a stage is the time it adds to a batch. *Alone*:
each operator runs alone on one cached batch. The results differ, because stages overlap in a
pipeline and an operator alone has all threads; the difference is reported as the remainder.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from workbench.bench.experiments.speed_experiment import (
    Outcome,
    Prepared,
    SpeedExperiment,
    interrupted_rows,
)
from workbench.bench.experiments.stage_verdict import (
    Step,
    function_nodes,
    make_stage_report,
    row_without,
    separate_operators_report,
    stage_costs,
)
from workbench.bench.measuring.config import (
    config_of,
    decoder_nodes,
    nodes_after_decoders,
    with_config,
)
from workbench.bench.measuring.data_files import Cache
from workbench.bench.measuring.deadline import Deadline, require_seconds
from workbench.bench.measuring.interleaved import TIME_UP, ConfigJobs, without_traceback
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    FEWEST_ROUNDS,
    QUICK_CONFIG,
    MeasurementConfig,
)
from workbench.bench.measuring.workload import Workload
from workbench.bench.records.record import WHOLE, Report
from workbench.bench.records.stage_report import (
    CEILING,
    DECODE,
    OPERATOR,
    READ,
    FileTimes,
    StageCost,
    StageReport,
    time_files,
)
from workbench.catalog import load_catalog
from workbench.emit.core.code import Code
from workbench.emit.preview.preview_stage import SAMPLE, emit_stage
from workbench.emit.script import script_of
from workbench.emit.templates.template_parts import has_blocks
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.protocol.progress import Progress
from workbench.engine.protocol.registry import sendable, task
from workbench.engine.run.runner import Runner
from workbench.engine.run.timing import empty_pipeline_time, time_node
from workbench.engine.run.worker import Worker
from workbench.errors import CancelledError, EngineError, GraphError
from workbench.graph.annotations.followers import unmoved_targets
from workbench.graph.edits.edit import free_id
from workbench.graph.execution.active import set_muted
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.model.ports import output_ports, used_inputs
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import decodes, is_generator
from workbench.sources import Data, Datasets

ALONE_LIMIT = 300.0
_ALONE_UNTIL, _ROWS_UNTIL, _STOPPED_AT = 0.25, 0.75, 0.85
"""Fractions of the time limit: single operators are measured until the first and prefixes until the
second; at the third, measuring prefixes is aborted.
"""
_TIME_UP = f"not measured: {TIME_UP}"
_LEAST_FOR_FILES, _START = 5.0, 2.0
"""``_LEAST_FOR_FILES``: minimum seconds to time single files. ``_START``: seconds that the worker
for timing files needs to start.
"""


def stage_prefixes(resolved: ResolvedGraph) -> list[tuple[Node, Graph]]:
    """Return each stage in topological order, with the graph cut after the stage.

    Random number generators belong to the stage that uses them. The outputs of a cut graph are all
    unconnected outputs of its nodes.
    """
    graph = resolved.graph
    needed = ancestors(graph, list(graph.outputs.values()))
    ordered = [node for node in topological(graph)[0] if node.id in needed]
    steps = [node for node in ordered if not is_generator(resolved.spec(node))]
    cut = []
    for count, step in enumerate(steps, 1):
        inside = steps[:count]
        consumed = {port.node for node in inside for port in node.inputs.values()}
        outputs = {
            node.id: output_ports(node, resolved.spec(node))[0]
            for node in inside
            if node.id not in consumed
        }
        cut.append((step, _with_shapes(resolved.for_graph(replace(graph, outputs=outputs)))))
    return cut


def _with_shapes(cut: ResolvedGraph) -> Graph:
    """Output the shapes of annotations that do not follow the image of a cut graph.

    A sound graph does not output such annotations, but DALI omits what no output needs.
    """
    graph = cut.graph
    for output in unmoved_targets(cut):
        node = Node(free_id(graph, "shape"), "shape", inputs={"data": graph.outputs[output]})
        outputs = {**graph.outputs, output: Port(node.id, "output")}
        graph = replace(graph, nodes=(*graph.nodes, node), outputs=outputs)
    return graph


class StageCostExperiment(SpeedExperiment):
    """Measure the cost of each stage of a graph, with the graph's settings.

    ``seconds`` limits the whole run. With less time, rounds are shorter and intervals wider.
    """

    kind = "stages"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        *,
        seconds: float | None = None,
        measurement_config: MeasurementConfig | None = None,
        cache: Cache = "warm",
        name: str = "",
    ) -> None:
        require_seconds(type(self).__name__, seconds)
        if seconds is not None:
            measurement_config = measurement_config or QUICK_CONFIG
        super().__init__(graph, data, measurement_config=measurement_config, cache=cache, name=name)
        self._seconds = seconds
        self._deadline = Deadline()
        self._steps: Sequence[Step] = ()
        self._rows: Sequence[Measurement] = ()
        self._alone_ms: Mapping[str, float] = {}

    def prepare(self, on_progress: Progress = lambda share, text: None) -> Prepared:
        """Prepare the experiment. This counts towards the time limit."""
        self._deadline = Deadline(self._seconds)
        return super().prepare(on_progress)

    def measure_all(self) -> Outcome:
        """Measure each operator alone, then the prefixes in alternating rounds, then each file."""
        config = config_of(self.graph)
        resolved = with_config(self.resolved, config)
        graph, devices = resolved.graph, resolved.devices
        self.require_measurable(config)
        cut = stage_prefixes(resolved)
        entries = [
            ConfigJobs(
                config,
                (self.script_job(part, config),),
                f"up to {node.id}",
                decodes=bool(decoder_nodes(resolved.for_graph(part))),
            )
            for node, part in cut[:-1]  # the last is the total
        ]
        whole = self.script_job(graph, config)
        entries.append(ConfigJobs(config, (whole,), WHOLE))
        copies = any(devices[port.node] != "cpu" for port in graph.outputs.values())
        if copies:
            copied = replace(whole, to_host=True)
            entries.append(ConfigJobs(config, (copied,), f"{WHOLE}, copied to the host"))
        if nodes_after_decoders(resolved):
            entries.append(
                ConfigJobs(config, (CachedBatchJob(graph, self.data),), CEILING, decodes=False)
            )
        for node, source in scripts_without_functions(resolved):
            job = replace(whole, source=source)
            entries.append(ConfigJobs(config, (job,), row_without(node.id)))
        steps = [(node, _kind(resolved, node), devices[node.id]) for node, _ in cut]
        self._steps = steps
        self.progress(0.0, "each operator alone")
        nodes = [node.id for node, _ in cut if not isinstance(node, Source)]
        self._alone_ms = self._alone(graph, nodes)
        rows = self._measure_in_time(entries)
        few = any(len(row.rounds) < FEWEST_ROUNDS and row.reason in ("", _TIME_UP) for row in rows)
        if self._seconds is not None and few and self._alone_ms:
            stages = self._alone_report(
                "The time limit was reached before every stage was measured.", rows
            )
        else:
            stages = make_stage_report(steps, rows, self._alone_ms, graph, self.prepared.machine)
        self.progress(0.97, "each file separately")
        files, reason = self._files(resolved)
        stages = replace(stages, files=files, files_reason=reason)
        return Outcome(rows, {"stages": asdict(stages)})

    def on_rows(self, rows: tuple[Measurement, ...]) -> None:
        """Publish the stages once the whole pipeline has a result, without naming a bottleneck."""
        self._rows = rows
        if not any(row.name == WHOLE and row.rounds for row in rows):
            self.partial_report = None
            return
        batch = self.graph.settings.batch_size
        total, costs = stage_costs(self._steps, rows, self._alone_ms, batch)
        so_far = StageReport(tuple(costs), total, None, None, "", "")
        self.publish_rows(rows, stages=asdict(so_far))

    def interrupted_report(self) -> Report | None:
        """Return the stages measured before an interrupt, or the operators alone, or None."""
        if (found := super().interrupted_report()) is not None or not self._alone_ms:
            return found
        stages = self._alone_report("Interrupted before the pipeline was measured.")
        return self.report(interrupted_rows(self._rows), stages=asdict(stages), interrupted=True)

    def _alone_report(self, why: str, rows: Sequence[Measurement] = ()) -> StageReport:
        costs = [
            StageCost(node.id, kind, device, None, self._alone_ms.get(node.id), node.op)
            for node, kind, device in self._steps
        ]
        total = sum(self._alone_ms.values())
        if any(row.name == WHOLE and row.rounds for row in rows):
            batch = self.graph.settings.batch_size
            total, costs = stage_costs(self._steps, rows, self._alone_ms, batch)
        return separate_operators_report(costs, total, why)

    def _measure_in_time(self, entries: Sequence[ConfigJobs]) -> Sequence[Measurement]:
        """Measure configurations. At the time limit, return the results so far."""
        progress = self.progress.part(0.05, 0.97)
        how = self._deadline.config_within(self.measurement_config, len(entries), _ROWS_UNTIL)
        if self._seconds is None:
            return self.measure(entries, progress, how)
        is_up = threading.Event()

        def end() -> None:
            is_up.set()
            self.stop.set()

        timer = threading.Timer(max(0.0, self._deadline.seconds_left(_STOPPED_AT)), end)
        timer.daemon = True
        timer.start()
        try:
            return self.measure(entries, progress, how)
        except CancelledError:
            if not is_up.is_set():
                raise
            self.stop.clear()
            rows = self._rows or [Measurement(one.config, label=one.name) for one in entries]
            return [row if row.rounds else replace(row, reason=_TIME_UP) for row in rows]
        finally:
            timer.cancel()

    def _alone(self, graph: Graph, nodes: Sequence[str]) -> dict[str, float]:
        try:
            with self.progress.engine(self.stop) as engine:
                limit = min(ALONE_LIMIT, self._deadline.seconds_left(_ALONE_UNTIL))
                found: dict[str, float] = engine.call(
                    time_alone, graph, self.data, nodes, limit=limit
                )
        except CancelledError:
            raise
        except EngineError:
            return {}  # the prefixes suffice
        return found

    def _files(self, resolved: ResolvedGraph) -> tuple[FileTimes | None, str]:
        """Return the decoding times of the files, or None and the reason why they are unknown."""
        graph = resolved.graph
        if not all(decodes(resolved.spec(node)) for node in decoder_nodes(resolved)):
            return None, "not timed: the source decodes its files itself"
        left = self._deadline.seconds_left()
        if left < _LEAST_FOR_FILES:
            return None, "not timed: the time limit was reached"
        try:
            with self.progress.engine(self.stop) as engine:
                found = engine.call(time_files, graph, self.data, left - _START, limit=ALONE_LIMIT)
        except CancelledError:
            raise
        except EngineError as error:
            return None, f"not timed: {without_traceback(error)}"
        assert found is None or isinstance(found, FileTimes)
        return found, "" if found else "not timed: the samples have no file names"


def _kind(resolved: ResolvedGraph, node: Node) -> str:
    if isinstance(node, Source):
        return READ
    return DECODE if decodes(resolved.spec(node)) else OPERATOR


def scripts_without_functions(resolved: ResolvedGraph) -> Iterator[tuple[Node, Code]]:
    """Yield each user function's node and the script without it, unless later nodes need it."""
    for node in function_nodes(resolved.graph):
        try:
            left = resolved.variant(set_muted(resolved.graph, [node.id], True))
            yield node, script_of(left)
        except GraphError:
            continue  # later nodes need the function's output


# Work on a cached batch: the ceiling of a pipeline, and single operators.
#
# Both run emitted source with external input, as the preview does. Used in the worker process only.


@sendable
@dataclass(frozen=True, slots=True)
class CachedBatchJob:
    """Job that repeatedly runs the operators after the decoders on one decoded batch.

    If the graph has several pipelines, they run alternately.
    """

    graph: Graph
    data: Datasets

    def start(self) -> Workload:
        return _CachedWorkload(self)


class _CachedWorkload:
    def __init__(self, job: CachedBatchJob) -> None:
        graph, catalog, settings = job.graph, load_catalog(), job.graph.settings
        resolved = ResolvedGraph(graph, catalog)
        nodes = nodes_after_decoders(resolved)
        taps = [port for port in graph.outputs.values() if port.node in nodes]
        feeds = dict.fromkeys(
            port
            for node in graph.nodes
            if node.id in nodes
            for port in used_inputs(node, catalog)
            if port.node not in nodes
        )
        batches = Runner(catalog).run(graph, job.data, 0, settings.batch_size, list(feeds)).batches
        made = emit_stage(resolved, nodes, taps, {p: batches[p].device for p in feeds})
        self._compiled = CompiledSource(made.code)
        self._fed = {str(port): batches[port].data for port in made.feeds}
        if has_blocks([graph.node(node) for node in nodes]):
            self._fed[str(SAMPLE)] = np.arange(settings.batch_size, dtype=np.int32)
        self._size = settings.batch_size
        uses_gpu = any(resolved.devices[node] != "cpu" for node in nodes)
        pipes = [
            self._compiled["stage"](
                settings.device, settings.seed, 0, {},
                batch_size=settings.batch_size, num_threads=settings.num_threads,
                device_id=0 if uses_gpu else None,
                prefetch_queue_depth=settings.prefetch_queue_depth,
            )
            for _ in range(settings.pipelines)
        ]  # fmt: skip
        for pipe in pipes:
            pipe.build()
            for _ in range(settings.prefetch_queue_depth):
                self._feed(pipe)
        self._turns = itertools.cycle(pipes)
        self.lead = len(pipes) * (settings.prefetch_queue_depth + 2)

    def _feed(self, pipe: Any) -> None:
        for name, batch in self._fed.items():
            pipe.feed_input(name, batch)

    def run(self) -> int:
        pipe = next(self._turns)
        try:
            pipe.run()
            self._feed(pipe)
        except Exception as error:
            raise self._compiled.error(error) from None
        return self._size


@task
def time_alone(
    worker: Worker, graph: Graph, data: Datasets, nodes: Sequence[str]
) -> dict[str, float]:
    """Task: measure each node alone on the first batch, and return the milliseconds by node id.

    Nodes run with the graph's number of threads. The time to transfer the batch is subtracted, and
    nodes that cannot be timed are omitted.
    """
    runner = worker.runner
    found: dict[str, float] = {}
    for node_id in nodes:
        node = graph.node(node_id)
        needed = ancestors(graph, list(node.inputs.values()))
        ports = [p for n in graph.nodes if n.id in needed | {node_id} for p in n.inputs.values()]
        taps = list(dict.fromkeys([*ports, *output_ports(node, runner.catalog[node.op])[:1]]))
        result = runner.run(graph, data, 0, graph.settings.batch_size, taps)
        spent = time_node(runner, result, node, graph.settings.num_threads).milliseconds
        if spent is not None:
            fed = list(node.inputs.values())[:1]
            found[node_id] = max(
                0.0, spent - sum(empty_pipeline_time(result.batches[port]) for port in fed)
            )
    return found
