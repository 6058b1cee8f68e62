"""Runs parts of a graph and keeps what they gave, so that a change re-runs only what it touches.

Runs inside the worker process only. Nodes whose outputs are not kept run in at most four pipelines:
read, before the decoder, decode, after it (see ``plan.py``).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import Catalog
from workbench.emit.stage import emit_stage
from workbench.engine.memory import default_budget, give_back_free, use_little_memory
from workbench.engine.plan import AFTER, BEFORE, DECODE, READ, Plan, make_plan
from workbench.engine.reader_cursor import ReaderCursor
from workbench.engine.samples import Sample, check_samples, decoding_error, replace_samples
from workbench.engine.stages import Stage, ports_of
from workbench.engine.values import Batch, Memory, Store, tensor_list
from workbench.engine.watch import FolderWatcher
from workbench.errors import PipelineError
from workbench.graph.model import Graph, Node, Port, Source

_KEPT_DECODERS = 4
_KEPT_READERS = 2
_KEPT_SAMPLES = 64
_TRIES = 4
"""Runs of a node that may be at fault. One that writes past its memory is often found out later, by
another's use of the heap: in 4 of 25 runs with one try each, in 0 of 100 with four."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gave.

    ``plan`` is what was run, ``batches`` has the wanted outputs, ``samples`` one entry for each
    sample, ``reran`` the ids of the nodes that were not kept from before.
    """

    plan: Plan
    batches: dict[Port, Batch]
    samples: tuple[Sample, ...]
    reran: tuple[str, ...]

    @property
    def keys(self) -> dict[str, str]:
        """For each node what its outputs are kept under: the same key means the same bits."""
        return self.plan.keys


@dataclass(slots=True)
class _Job:
    """One call of ``Runner.run``: its plan, and the outputs that it has so far."""

    plan: Plan
    batches: dict[Port, Batch] = field(default_factory=dict)


class Runner:
    """Executes graphs through emitted source. One to a worker; not thread-safe."""

    def __init__(
        self,
        catalog: Catalog,
        report_running: Callable[[Sequence[str]], None] = lambda _: None,
        budget: dict[Memory, int] | None = None,
    ) -> None:
        """``report_running`` hears which nodes run next: the last word before a crash.

        ``budget`` limits what is kept, in bytes on each device.
        """
        self.catalog = catalog
        self._report_running = report_running
        self.store = Store(budget or default_budget())
        self._samples: OrderedDict[str, tuple[Sample, ...]] = OrderedDict()
        self._cursors: OrderedDict[str, ReaderCursor] = OrderedDict()
        self._watchers: OrderedDict[str, FolderWatcher] = OrderedDict()
        self._decoders: OrderedDict[str, Stage] = OrderedDict()

    def run(
        self,
        graph: Graph,
        data: str,
        batch: int,
        count: int,
        taps: Sequence[Port],
        *,
        repeat: int | None = None,
        one_by_one: bool = False,
    ) -> Result:
        """The first ``count`` samples of batch ``batch`` (from 0) at each of the taps.

        With ``repeat``, the file at that place of the batch stands at every place: exactly what the
        script gives where its reader gives that file each time. ``one_by_one`` gives each node a
        pipeline of its own, run several times, so that ``report_running`` names the one at fault.
        The graph must be sound. Raises PipelineError with the node, or DataError.
        """
        use_little_memory()
        plan = self._plan(graph, data, batch, count, taps, repeat)
        job = _Job(plan)
        missing = self._missing(job, taps)
        for pipeline in (READ, BEFORE, DECODE, AFTER):
            nodes = [n for n in plan.nodes if n.id in missing and plan.pipelines[n.id] == pipeline]
            for group in [[node] for node in nodes] if one_by_one else [nodes] if nodes else []:
                if pipeline == READ:
                    for node in group:
                        self._read(job, node)
                elif pipeline == DECODE:
                    self._decode(job, group)
                else:
                    for _ in range(_TRIES if one_by_one else 1):
                        self._stage(job, group, keep_built=False)
                if one_by_one:
                    give_back_free()  # walks through the heap, which must not be damaged
        readers = [
            self._samples[plan.keys[node.id]] for node in plan.nodes if isinstance(node, Source)
        ]
        return Result(
            plan,
            {port: job.batches[port].first(plan.wanted) for port in taps},
            _merge(readers, plan.wanted),
            tuple(node.id for node in plan.nodes if node.id in missing),
        )

    def _plan(
        self, graph: Graph, data: str, batch: int, count: int, taps: Sequence[Port],
        repeat: int | None,
    ) -> Plan:  # fmt: skip
        """The plan, with the data folder as it is now."""

        def plan() -> Plan:
            return make_plan(graph, self.catalog, data, batch, count, taps, repeat, watcher.version)

        where = os.path.abspath(data)
        watcher = self._watchers.setdefault(where, FolderWatcher(where))
        self._watchers.move_to_end(where)
        while len(self._watchers) > _KEPT_READERS:
            self._watchers.popitem(last=False)
        made = plan()
        known = [self._samples.get(made.keys[node.id], ()) for node in made.nodes]
        if not watcher.look(sample.file for samples in known for sample in samples):
            return made
        for key in [key for key in self._cursors if key.startswith(f"{where}\n")]:
            self._cursors.pop(key).close()
        return plan()

    def _missing(self, job: _Job, taps: Sequence[Port]) -> set[str]:
        """Nodes to run: walks back from the taps and stops at kept outputs."""
        keys = job.plan.keys
        missing: set[str] = set()
        needed = {port.node for port in taps}
        # which file each sample is, and what is wrong with it, is wanted in any case
        needed |= {
            n.id
            for n in job.plan.nodes
            if isinstance(n, Source) and keys[n.id] not in self._samples
        }
        for node in reversed(job.plan.nodes):
            if node.id not in needed:
                continue
            kept = self.store.get(keys[node.id])
            if kept is None or (isinstance(node, Source) and keys[node.id] not in self._samples):
                missing.add(node.id)
                needed |= {port.node for port in node.inputs.values()}
            else:
                job.batches.update(zip(self._ports(node), kept, strict=True))
        return missing

    def _read(self, job: _Job, node: Node) -> None:
        self._report_running([node.id])
        plan = job.plan
        where = os.path.abspath(plan.data)
        encoded = self._encoded_output(node)
        for attempt in (1, 2):
            cursor = self._cursor(job, node, where)
            read = cursor.batch(plan.batch)
            sizes = {
                file: array.nbytes
                for file, array in zip(read.files, read.arrays[encoded], strict=True)
                if file not in cursor.unreadable
            }
            if not self._watchers[where].remember(sizes) or attempt == 2:
                break
            # A file changed after the reader had read ahead: a fresh one reads what is there now.
            self._cursors.popitem()[1].close()
        chosen = [plan.repeat] if plan.repeat is not None else range(plan.count)
        tensors = [[output[i] for i in chosen] for output in read.outputs]
        files = [read.files[i] for i in chosen]
        samples = check_samples(files, map(np.asarray, tensors[encoded]), cursor.unreadable)
        tensors[encoded] = replace_samples(tensors[encoded], samples)
        times = plan.count // len(chosen)
        self._keep_samples(job, node, samples * times)
        self._keep(job, node, [Batch(tensor_list(output * times)) for output in tensors])

    def _cursor(self, job: _Job, node: Node, where: str) -> ReaderCursor:
        settings = job.plan.graph.settings
        source = emit_stage(
            job.plan.graph, self.catalog, [node.id], ports_of(node, self.catalog), {}
        )
        key = f"{where}\n{settings.seed}\n{settings.batch_size}\n{source.text}"
        if key not in self._cursors:
            cursor = ReaderCursor(source, job.plan.data, settings.seed, settings.batch_size)
            self._cursors[key] = cursor
            while len(self._cursors) > _KEPT_READERS:
                self._cursors.popitem(last=False)[1].close()
        self._cursors.move_to_end(key)
        return self._cursors[key]

    def _keep_samples(self, job: _Job, node: Node, samples: tuple[Sample, ...]) -> None:
        self._samples[job.plan.keys[node.id]] = samples
        while len(self._samples) > _KEPT_SAMPLES:
            self._samples.popitem(last=False)

    def _decode(self, job: _Job, nodes: list[Node]) -> None:
        try:
            self._stage(job, nodes, keep_built=True)
        except PipelineError:
            fed = {p.node for n in nodes for p in n.inputs.values()}
            readers = [n for n in job.plan.nodes if n.id in fed and isinstance(n, Source)]
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
            for sample, encoded in zip(known, batches[at].arrays(), strict=True)
        )
        tensors = [batches[at].data[i] for i in range(len(samples))]
        batches[at] = Batch(tensor_list(replace_samples(tensors, samples)))
        self._keep_samples(job, reader, samples)
        self._keep(job, reader, batches)
        return samples != known

    def _encoded_output(self, reader: Node) -> int:
        return [output.kind for output in self.catalog[reader.op].outputs].index("encoded")

    def _stage(self, job: _Job, nodes: list[Node], keep_built: bool) -> None:
        self._report_running([node.id for node in nodes])
        stage = self.stage(job.plan, nodes, job.batches)
        if not stage.built:
            stage.build()
        stage.feed(job.batches)
        given = stage.run()
        if keep_built:
            self.keep_built(stage)
        for node in nodes:
            self._keep(job, node, [given[port] for port in self._ports(node)])

    def stage(
        self,
        plan: Plan,
        nodes: Sequence[Node],
        known: Mapping[Port, Batch],
        threads: int | None = None,
    ) -> Stage:
        """These nodes as a pipeline: a decoder's that stayed built, or a new one, not yet built."""
        stage = Stage(plan, self.catalog, nodes, known, threads)
        return self._decoders.pop(stage.key, stage)

    def keep_built(self, stage: Stage) -> None:
        """Let a decoder's pipeline stay built for the next time."""
        self._decoders[stage.key] = stage
        while len(self._decoders) > _KEPT_DECODERS:
            self._decoders.popitem(last=False)

    def _keep(self, job: _Job, node: Node, batches: list[Batch]) -> None:
        self.store.put(job.plan.keys[node.id], batches)
        job.batches.update(zip(self._ports(node), batches, strict=True))

    def _ports(self, node: Node) -> list[Port]:
        return ports_of(node, self.catalog)

    @property
    def reader_bytes(self) -> int:
        """Encoded bytes that the readers hold besides the store."""
        return sum(cursor.nbytes for cursor in self._cursors.values())

    def forget(self) -> None:
        """Drop every kept output, reader and decoder; host and GPU memory are free afterwards."""
        for cursor in self._cursors.values():
            cursor.close()
        self._cursors.clear()
        self._decoders.clear()
        self._samples.clear()
        self.store.clear()


def _decoded_alone(sample: Sample, encoded: NDArray[np.uint8]) -> Sample:
    reason = decoding_error(encoded)
    return Sample(sample.file, sample.warning or reason) if reason else sample


def _merge(lists: list[tuple[Sample, ...]], count: int) -> tuple[Sample, ...]:
    """Samples of several readers as one: the first file, the first fault."""
    merged = []
    for index in range(count):
        here = [samples[index] for samples in lists]
        first = next((s for s in here if s.error), next((s for s in here if s.warning), None))
        merged.append(first or (here[0] if here else Sample("")))
    return tuple(merged)
