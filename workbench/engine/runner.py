"""Runs parts of a graph and keeps what they gave, so that a change re-runs only what it touches.

Runs inside the worker process only. Nodes whose outputs are not kept run in at most four pipelines:
read, before the decoder, decode, after it (see ``plan.py``).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import Catalog
from workbench.emit.stage import emit_stage
from workbench.engine.machine import usable_cores
from workbench.engine.pipelines import Compiled
from workbench.engine.plan import AFTER, BEFORE, DECODE, READ, Plan, is_reader, make_plan
from workbench.engine.reading import Reading
from workbench.engine.samples import Sample, check_samples, decoding_error, replace_samples
from workbench.engine.values import Batch, Store
from workbench.errors import PipelineError
from workbench.graph.model import Graph, Node, Port

_KEPT_BYTES = 2 * 2**30
_KEPT_DECODERS = 4
_KEPT_READERS = 2
_THREADS = min(8, usable_cores())


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gave.

    ``batches`` has the wanted outputs, ``keys`` for each node what its outputs are kept under (the
    same key means the same bits), ``samples`` one entry for each sample, ``reran`` the ids of the
    nodes that were not kept from before.
    """

    batches: dict[Port, Batch]
    keys: dict[str, str]
    samples: tuple[Sample, ...]
    reran: tuple[str, ...]


@dataclass(slots=True)
class _Job:
    """One call of ``Runner.run``: its plan, and the outputs that it has so far."""

    plan: Plan
    batches: dict[Port, Batch] = field(default_factory=dict)


class Runner:
    """Executes graphs through emitted source. One to a worker; not thread-safe."""

    def __init__(
        self, catalog: Catalog, announce: Callable[[Sequence[str]], None] = lambda _: None
    ) -> None:
        """``announce`` hears which nodes run next: the last word before a crash."""
        self.catalog = catalog
        self._announce = announce
        self.store = Store(_KEPT_BYTES)
        self._samples: OrderedDict[str, tuple[Sample, ...]] = OrderedDict()
        self._readings: OrderedDict[str, Reading] = OrderedDict()
        self._decoders: OrderedDict[str, tuple[Compiled, Any]] = OrderedDict()

    def run(self, graph: Graph, data: str, batch: int, count: int, taps: Sequence[Port]) -> Result:
        """The first ``count`` samples of batch ``batch`` (from 0) at each of the taps.

        The graph must be sound. Raises PipelineError with the node, or DataError.
        """
        plan = make_plan(graph, self.catalog, data, batch, count, taps)
        job = _Job(plan)
        missing = self._missing(job, taps)
        for pipeline in (READ, BEFORE, DECODE, AFTER):
            nodes = [n for n in plan.nodes if n.id in missing and plan.pipelines[n.id] == pipeline]
            if pipeline == READ:
                for node in nodes:
                    self._read(job, node)
            elif pipeline == DECODE and nodes:
                self._decode(job, nodes)
            elif nodes:
                self._stage(job, nodes, keep_built=False)
        readers = [self._samples[plan.keys[node.id]] for node in plan.nodes if is_reader(node)]
        return Result(
            {port: job.batches[port] for port in taps},
            plan.keys,
            _merge(readers, plan.count),
            tuple(node.id for node in plan.nodes if node.id in missing),
        )

    def _missing(self, job: _Job, taps: Sequence[Port]) -> set[str]:
        """Nodes to run: walks back from the taps and stops at kept outputs."""
        keys = job.plan.keys
        missing: set[str] = set()
        needed = {port.node for port in taps}
        # which file each sample is, and what is wrong with it, is wanted in any case
        needed |= {n.id for n in job.plan.nodes if is_reader(n) and keys[n.id] not in self._samples}
        for node in reversed(job.plan.nodes):
            if node.id not in needed:
                continue
            kept = self.store.get(keys[node.id])
            if kept is None or (is_reader(node) and keys[node.id] not in self._samples):
                missing.add(node.id)
                needed |= {port.node for port in node.inputs.values()}
            else:
                job.batches.update(zip(self._ports(node), kept, strict=True))
        return missing

    def _read(self, job: _Job, node: Node) -> None:
        self._announce([node.id])
        settings = job.plan.graph.settings
        taps = self._ports(node)
        source = emit_stage(job.plan.graph, self.catalog, [node.id], taps, {})
        where = os.path.abspath(job.plan.data)
        key = f"{where}\n{settings.seed}\n{settings.batch_size}\n{source.text}"
        reading = self._readings.get(key)
        if reading is None:
            reading = Reading(source, job.plan.data, settings.seed, settings.batch_size)
            self._readings[key] = reading
            while len(self._readings) > _KEPT_READERS:
                self._readings.popitem(last=False)[1].close()
        self._readings.move_to_end(key)
        read = reading.batch(job.plan.batch)
        arrays = [samples[: job.plan.count] for samples in read.arrays]
        encoded = self._encoded_output(node)
        samples = check_samples(read.files[: job.plan.count], arrays[encoded], reading.unreadable)
        arrays[encoded] = replace_samples(arrays[encoded], samples)
        self._keep_samples(job, node, samples)
        self._keep(job, node, [Batch(array) for array in arrays])

    def _keep_samples(self, job: _Job, node: Node, samples: tuple[Sample, ...]) -> None:
        self._samples[job.plan.keys[node.id]] = samples
        while len(self._samples) > 64:
            self._samples.popitem(last=False)

    def _decode(self, job: _Job, nodes: list[Node]) -> None:
        try:
            self._stage(job, nodes, keep_built=True)
        except PipelineError:
            fed = {p.node for n in nodes for p in n.inputs.values()}
            readers = [n for n in job.plan.nodes if n.id in fed and is_reader(n)]
            found = [self._leave_out_bad(job, reader) for reader in readers]
            if not any(found):
                raise
            self._stage(job, nodes, keep_built=True)

    def _leave_out_bad(self, job: _Job, reader: Node) -> bool:
        """Replace the files that DALI does not decode, whatever the decoder's arguments are.

        Returns whether there are any: else the decoder's own arguments are at fault.
        """
        batches = [job.batches[port] for port in self._ports(reader)]
        at = self._encoded_output(reader)
        known = self._samples[job.plan.keys[reader.id]]
        samples = tuple(
            sample if sample.error else _decoded_alone(sample, encoded)
            for sample, encoded in zip(known, batches[at].data, strict=True)
        )
        batches[at] = Batch(replace_samples(batches[at].data, samples))
        self._keep_samples(job, reader, samples)
        self._keep(job, reader, batches)
        return samples != known

    def _encoded_output(self, reader: Node) -> int:
        return [output.kind for output in self.catalog[reader.op].outputs].index("encoded")

    def _stage(self, job: _Job, nodes: list[Node], keep_built: bool) -> None:
        self._announce([node.id for node in nodes])
        settings = job.plan.graph.settings
        taps, feeds = self._taps(nodes), self._feeds(job, nodes)
        source = emit_stage(
            job.plan.graph, self.catalog, [n.id for n in nodes], taps,
            {port: batch.device for port, batch in feeds.items()},
        )  # fmt: skip
        uses_gpu = any(job.plan.devices[n.id] != "cpu" for n in nodes)
        draws = any(self.catalog[n.op].seeded for n in nodes)
        start = f"{settings.seed}\n{job.plan.position}" if draws else ""
        key = f"{settings.device}\n{start}\n{job.plan.count}\n{source.text}"
        compiled, pipe = self._decoders.pop(key, None) or (Compiled(source), None)
        try:
            if pipe is None:
                pipe = compiled["stage"](
                    job.plan.data, settings.device, settings.seed, job.plan.position,
                    batch_size=job.plan.count, num_threads=_THREADS,
                    device_id=0 if uses_gpu else None, prefetch_queue_depth=1,
                )  # fmt: skip
                pipe.build()
            for port, batch in feeds.items():
                pipe.feed_input(str(port), batch.data)
            outputs = pipe.run()
        except Exception as error:
            raise compiled.error(error) from None
        if keep_built:
            self._decoders[key] = compiled, pipe
            while len(self._decoders) > _KEPT_DECODERS:
                self._decoders.popitem(last=False)
        given = dict(zip(taps, outputs, strict=True))
        for node in nodes:
            self._keep(job, node, [_batch(given[port]) for port in self._ports(node)])

    def _keep(self, job: _Job, node: Node, batches: list[Batch]) -> None:
        self.store.put(job.plan.keys[node.id], batches)
        job.batches.update(zip(self._ports(node), batches, strict=True))

    def _ports(self, node: Node) -> list[Port]:
        return [Port(node.id, output.name) for output in self.catalog[node.op].outputs]

    def _taps(self, nodes: list[Node]) -> list[Port]:
        return [port for node in nodes for port in self._ports(node)]

    def _feeds(self, job: _Job, nodes: list[Node]) -> dict[Port, Batch]:
        inside = {node.id for node in nodes}
        ports = [p for node in nodes for p in node.inputs.values() if p.node not in inside]
        return {port: job.batches[port] for port in dict.fromkeys(ports)}

    def forget(self) -> None:
        """Drop every kept output, reader and decoder; host and GPU memory are free afterwards."""
        for reading in self._readings.values():
            reading.close()
        self._readings.clear()
        self._decoders.clear()
        self._samples.clear()
        self.store.clear()


def _decoded_alone(sample: Sample, encoded: NDArray[np.uint8]) -> Sample:
    reason = decoding_error(encoded)
    return Sample(sample.file, sample.warning or reason) if reason else sample


def _batch(tensors: Any) -> Batch:
    return Batch(tensors, "gpu" if "GPU" in type(tensors).__name__ else "cpu")


def _merge(lists: list[tuple[Sample, ...]], count: int) -> tuple[Sample, ...]:
    """Samples of several readers as one: the first file, the first fault."""
    merged = []
    for index in range(count):
        here = [samples[index] for samples in lists]
        first = next((s for s in here if s.error), next((s for s in here if s.warning), None))
        merged.append(first or (here[0] if here else Sample("")))
    return tuple(merged)
