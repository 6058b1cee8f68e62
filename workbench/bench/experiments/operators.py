"""Measure the cost of each operator after the decoder, in DALI and in other libraries.

In each program, all operators are measured interleaved with decoding alone: the cost of an operator
is the difference between adjacent rounds. At most one worker per operator runs at a time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, Unpack

from workbench.bench.experiments.benchmark import Benchmark
from workbench.bench.experiments.compared_program import (
    ComparedExperiment,
    ComparedProgram,
    Control,
    refusal,
)
from workbench.bench.experiments.peer_jobs import is_factory
from workbench.bench.experiments.speed_experiment import (
    Options,
    Outcome,
)
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.pixels import LIMIT, PixelDifference
from workbench.bench.measuring.worker_group import StopClock
from workbench.bench.records.operator_report import OperatorCost, cost_of
from workbench.bench.records.record import Report
from workbench.engine.protocol.progress import WorkerProgress
from workbench.engine.resources.machine import Machine, describe_machine
from workbench.errors import CancelledError, EngineError
from workbench.graph.model import DecodeDevice, Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import is_decoder, is_generator
from workbench.sources import Data


def workers_of(report: Report) -> dict[Whose, int]:
    """Return the number of threads or worker processes of each program in a record."""
    rows = [row for row in report.measurements if row.rounds and row.config.regime == "pipeline"]
    return {(row.config.program, row.device): row.threads for row in rows}


Whose = tuple[str, str]
"""Name of a program, and its device."""


@dataclass(frozen=True, slots=True)
class _Alone:
    """Measurement of a single operator, or of a baseline, in one program."""

    node: str
    op: str
    compared: ComparedProgram

    @property
    def whose(self) -> Whose:
        return self.compared.config.program, self.compared.config.device


class OperatorExperiment(ComparedExperiment):
    """Measure imgs/s with each operator alone, and the time that each operator adds per image."""

    kind = "operators"

    def __init__(
        self,
        graph: Graph,
        data: Data,
        devices: Sequence[DecodeDevice] = ("cpu", "mixed"),
        *,
        peers: Sequence[str] = (),
        workers: Mapping[Whose, int] | None = None,
        **options: Unpack[Options],
    ) -> None:
        """``peers`` names other libraries to measure.

        ``workers`` is the number of threads or worker processes of each program, from a comparison
        of the whole graph. By default, DALI uses the graph's threads and each peer uses one worker
        per core. Raises the errors of ``Benchmark``, and EngineError for a graph without exactly
        one decoder.
        """
        super().__init__(graph, data, **options)
        self.graphs = operator_graphs(self.resolved)
        if not self.graphs:
            raise EngineError(
                "Operators can be measured one by one only in a graph with one image decoder, but "
                f"{self.graph.name!r} has none or several. Omit --each-operator."
            )
        self._runs = {
            node: Benchmark(each, self.data, devices, peers=peers)
            for node, each in self.graphs.items()
        }
        for run in self._runs.values():
            run.stop = self.stop
        self.workers = workers or {}
        self._alone: list[_Alone] = []
        self._pixels: dict[str, dict[str, Any]] = {}

    def measure_all(self) -> Outcome:
        """Measure one program after another, each with its operators interleaved.

        An operator that cannot be measured becomes a row with the reason.
        """
        for run in self._runs.values():
            run.data, run.prepared = self.data, self.prepared
        self._alone = self._measured_programs(self.prepared.machine)
        self._compared = [one.compared for one in self._alone]
        programs = [list(some) for _, some in groupby(self._alone, lambda one: one.whose)]
        for place, some in enumerate(programs):
            part = self.progress.part(place / len(programs), (place + 1) / len(programs))
            self._check(some, part)
            self.measure_programs([one.compared for one in some], part)
        rows = [one.row() for one in self._compared]
        return Outcome(rows, self.extra_results(rows))

    def longest(self) -> float | None:
        """Return the time limit of ``run`` in seconds, or None if unlimited. No data is read."""
        if math.isinf(self._seconds):
            return None
        every = self._measured_programs(describe_machine())
        able = [one for one in every if not one.compared.reason]
        checked = {one.whose for one in able if one.compared.check is not None}
        count = len(able) * self.measurement_config.processes + len(checked)
        return self._seconds * count

    @property
    def _seconds(self) -> float:
        limit = self.measurement_config.limit
        return math.inf if limit is None else limit

    def _measured_programs(self, machine: Machine) -> list[_Alone]:
        """Return all operators and baselines to measure, sorted by program."""
        alone: list[_Alone] = []
        for node, run in self._runs.items():
            facts = self._pixels[node] = {}
            op = next((each.op for each in self.graph.nodes if each.id == node), "")
            for one in run.programs(machine, facts):
                if isinstance(one, Control):
                    continue
                config = one.config
                if is_factory(config.program):
                    one.reason = "not measured: it does more than one operator"
                usual = config.threads if config.program == "DALI" else machine.cores
                threads = self.workers.get((config.program, config.device), usual)
                one.config = replace(config, threads=threads)
                one.seconds = self._seconds
                one.label = f"{node}: {config.program}, {config.device}"
                alone.append(_Alone(node, op, one))
        order = list(dict.fromkeys(one.whose for one in alone))
        return sorted(alone, key=lambda one: order.index(one.whose))

    def _check(self, alone: Sequence[_Alone], progress: WorkerProgress) -> None:
        """Compare the pixels of a peer's operators with DALI's, in one worker, within a time limit.

        An operator whose comparison fails is not measured; its row has the reason.
        """
        clock = StopClock(self.stop)
        clock.allow(self._seconds)
        with progress.engine(clock) as engine:
            for one in alone:
                if one.compared.check is None or one.compared.reason:
                    continue
                progress(0.0, f"{one.whose[0]}: comparing pixels of {one.node}")
                try:
                    one.compared.notes = one.compared.check(partial(engine.call, limit=LIMIT))
                except CancelledError:
                    raise
                except EngineError as error:
                    one.compared.reason = refusal(error)

    def extra_results(self, rows: Sequence[Measurement]) -> dict[str, Any]:
        """Return the cost of each operator, and each peer's pixel difference from DALI."""
        known = {(one.node, *one.whose): row for one, row in zip(self._alone, rows, strict=True)}
        costs = []
        for one, row in zip(self._alone, rows, strict=True):
            base = baseline_name(one.op) if one.op else ""
            pixels = self._pixels[one.node].get(one.whose[0], {}).get("difference", {})
            is_same = "mean" not in pixels or PixelDifference(**pixels).is_same
            cost = OperatorCost(one.node, one.op, *one.whose, base, is_same=is_same)
            costs.append(cost_of(cost, row, known.get((base, *one.whose))))
        pixels = {node: facts for node, facts in self._pixels.items() if facts}
        return {"operators": [asdict(cost) for cost in costs], "pixels": pixels}


# One graph per operator, after the decoder, for comparing operators.

NOTHING = "nothing"
"""Name of the graph that only decodes and resizes, which is the baseline of most operators."""
DECODING = "decoding"
"""Name of the graph that only decodes, which is the baseline of operators that set the image
size.
"""
USUAL_SIZE = 256
"""Side in pixels of an operator's input images, unless the operator sets the image size."""
SIZES = frozenset({"random_resized_crop", "resize"})


def operator_graphs(resolved: ResolvedGraph) -> Mapping[str, Graph]:
    """Return one graph per operator: read, decode, resize to 256 x 256, apply the operator.

    Random number generators that the operator uses are included. Operators that set the image size
    (``SIZES``) have no resize. The first graphs are the baselines: ``decoding``, if there is an
    operator of ``SIZES``, and ``nothing``, which ends at the resize. The result is empty if the
    graph does not have exactly one decoder.
    """
    graph = resolved.graph
    needed = ancestors(graph, list(resolved.images.values()))
    ordered = [node for node in topological(graph)[0] if node.id in needed]
    decoders = [node for node in ordered if is_decoder(resolved.spec(node))]
    if len(decoders) != 1:
        return {}
    decoded = output_ports(decoders[0], resolved.catalog[decoders[0].op])[0]
    head = [node for node in ordered if node.id in ancestors(graph, [decoded])]
    made = Node("to_256", "resize", {"size": (USUAL_SIZE, USUAL_SIZE)}, {"data": decoded})
    sized = output_ports(made, resolved.catalog["resize"])[0]
    found = {DECODING: _subgraph(graph, head, decoded)} if _outputs_sizes(ordered) else {}
    found[NOTHING] = _subgraph(graph, [*head, made], sized)
    for node in ordered:
        if node in head or isinstance(node, Source) or is_generator(resolved.spec(node)):
            continue
        images = [name for name in node.inputs if name not in resolved.spec(node).args]
        start = decoded if node.op in SIZES else sized
        alone = replace(node, inputs={**node.inputs, **dict.fromkeys(images, start)})
        draws = [
            other
            for other in ordered
            if other.id in ancestors(graph, [p for n, p in node.inputs.items() if n not in images])
        ]
        between = [] if node.op in SIZES else [made]
        nodes = [*head, *(each for each in draws if each not in head), *between, alone]
        found[node.id] = _subgraph(graph, nodes, output_ports(alone, resolved.spec(node))[0])
    return found


def _outputs_sizes(nodes: list[Node]) -> bool:
    return any(node.op in SIZES for node in nodes)


def baseline_name(op: str) -> str:
    """Return the name of the baseline graph, whose time is subtracted from the operator's."""
    return DECODING if op in SIZES else NOTHING


def _subgraph(graph: Graph, nodes: list[Node], output: Port) -> Graph:
    return replace(graph, nodes=tuple(nodes), outputs={"images": output})
