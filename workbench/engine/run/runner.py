"""Run parts of a graph and cache their outputs, so that a change reruns only the affected nodes.

Used in the worker process only. Nodes without cached outputs are run part by part (see
``plan.partition``).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.emit.core.naming import is_batch_generator
from workbench.emit.core.user_functions import nodes_calling, nodes_within
from workbench.emit.preview.tap_names import scope_of, scope_of_first_iteration, taps_of_scope
from workbench.engine.build.augmenter import Augmenter, Turns
from workbench.engine.build.auto_augment import auto_augment_random_values, reporting_build_progress
from workbench.engine.build.plan import Plan, kind_of, make_plan
from workbench.engine.build.stage_pipeline import Stage
from workbench.engine.reading.open_readers import OpenReaders, encoded_outputs
from workbench.engine.reading.undecodable_samples import (
    Sample,
    check_decoding,
    merge_samples,
    replace_samples,
)
from workbench.engine.resources.batch_store import Batch, BatchStore, Memory, memory_of, tensor_list
from workbench.engine.resources.process_memory import (
    configure_malloc_trim,
    default_budget,
    trim_heaps,
)
from workbench.engine.resources.root_guard import (
    refuse_named_files,
)
from workbench.engine.run.branches import BranchCounts, BranchPlaces, PlacesInTurns
from workbench.errors import PipelineError
from workbench.graph.checks.check_types import NORMALIZES, per_channel_faults, type_faults
from workbench.graph.execution.dataset_parameters import (
    datasets_as_read,
    parameter_of,
    with_datasets,
)
from workbench.graph.execution.pipelines import pipeline_of_batch, single_pipelines
from workbench.graph.model import Graph, Node, Port, Source, block_of
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.shapes import infer_types_from
from workbench.graph.types.tensor_type import TensorType
from workbench.sources import Data, Datasets, open_datasets

# The result of a run, and the outputs cached between runs.


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run.

    ``plan`` is the executed plan. ``batches`` has the requested outputs, ``samples`` has one entry
    per sample, and ``reran`` has the ids of the nodes that were not cached. An output inside a
    block contains only the samples for which its body ran. ``places`` maps each body to the indices
    of the samples for which its first iteration ran, and ``reached`` to those for which any
    iteration ran. Generators without inputs run for all samples even inside a block.
    """

    plan: Plan
    batches: dict[Port, Batch]
    samples: tuple[Sample, ...]
    reran: tuple[str, ...]
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    reached: Mapping[str, frozenset[int]] = field(default_factory=dict)
    augmented: Mapping[str, Turns] = field(default_factory=dict)
    """Augmentations of each sample by node id. Samples that do not reach the node have none."""
    left_out: str = ""
    """Text about the samples that the readers skip, or an empty string if there are none."""

    @property
    def keys(self) -> dict[str, str]:
        """Cache keys of the outputs by node id. Outputs with equal keys are bit-identical."""
        return self.plan.keys


@dataclass(frozen=True, slots=True)
class CachedOutput:
    """A cached output of a node, or of a node inside it, with the port that it was computed for."""

    node: str
    port: Port
    batch: Batch

    def port_of(self, node: str) -> Port:
        """Return the output's port in a graph in which the node has the id ``node``."""
        place = self.port.node
        if place == self.node or place.startswith(f"{self.node}."):
            place = node + place.removeprefix(self.node)
        return Port(place, self.port.output)

    @property
    def device(self) -> Memory:
        return self.batch.device

    @property
    def nbytes(self) -> int:
        return self.batch.nbytes


_KEPT_BUILT = 4
_KEPT_SAMPLES = 64
_TRIES = 4
"""Number of runs of each node that may have crashed. Memory corruption is often detected later: one
run of each node missed it in 4 of 25 cases, and four runs missed it in none of 100 cases.
"""


@dataclass(slots=True)
class _Job:
    """One call of ``Runner.run``: its plan, and the outputs computed so far."""

    plan: Plan
    pipelines: int
    """Number of parallel pipelines of the graph. The plan belongs to one of them."""
    batches: dict[Port, Batch] = field(default_factory=dict)
    samples: dict[str, tuple[Sample, ...]] = field(default_factory=dict)
    """Samples of each source, by source id."""

    def add_samples(self, source: str, samples: tuple[Sample, ...]) -> None:
        """Add the samples of a source. A smaller batch sets the size of the whole plan's batch."""
        self.samples[source] = samples
        if samples[0].number is not None:
            count, wanted = min(self.plan.count, len(samples)), min(self.plan.wanted, len(samples))
            self.plan = replace(self.plan, count=count, wanted=wanted, first=samples[0].number)


class Runner:
    """Runs graphs with generated code. There is one per worker. Not thread-safe."""

    def __init__(
        self,
        catalog: Catalog,
        report_running: Callable[..., None] = lambda *_: None,
        budget: dict[Memory, int] | None = None,
        report_making: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``report_running`` is called with the nodes about to run, so a crash can be attributed.

        ``report_making`` is called with the names of nodes before they are built, and of user
        functions before they are called. ``budget`` limits the cache, in bytes on each device.
        """
        self.catalog = catalog
        self._report_running = report_running
        self._report_making = report_making
        self.store = BatchStore(budget or default_budget())
        self._samples: OrderedDict[str, tuple[Sample, ...]] = OrderedDict()
        self.readers = OpenReaders()
        self._counts = BranchCounts()
        self._built: OrderedDict[str, Stage] = OrderedDict()
        self._augmenter = Augmenter(report_making)

    def run(
        self,
        graph: Graph,
        data: Data,
        batch: int,
        count: int,
        taps: Sequence[Port],
        *,
        repeat: int | None = None,
        one_by_one: bool = False,
    ) -> Result:
        """Run the first ``count`` samples of batch ``batch`` (from 0) up to each of the taps.

        If ``repeat`` is an index, the file at that index of the batch is used for every sample: the
        result equals that of a script whose reader outputs this file each time. If ``one_by_one``,
        each node runs several times in its own pipeline, so that ``report_running`` identifies a
        node that crashes. The graph must be valid. Raises PipelineError or DataError.
        """
        configure_malloc_trim()
        datasets = open_datasets(data)
        pipelines = graph.settings.pipelines
        graph, batch = pipeline_of_batch(graph, batch)
        refuse_named_files(graph.walk())
        graph = with_datasets(graph, datasets)
        datasets = datasets_as_read(graph, datasets)
        plan = self._plan(graph, datasets, batch, count, taps, repeat)
        job = _Job(plan, pipelines)
        missing = self._missing(job, taps)
        for part in plan.parts:
            nodes = [node for node in part if node.id in missing]
            for group in [[node] for node in nodes] if one_by_one else [nodes] if nodes else []:
                for _ in range(_TRIES if one_by_one else 1):
                    self._run_part(job, group)
                if one_by_one:
                    trim_heaps()  # walks through the heap, which must be intact
        plan = job.plan
        turns = {
            port.node: tuple(int(place) for place in batch.arrays() if place < plan.wanted)
            for port, batch in job.batches.items()
            if not port.output
        }
        places = {
            scope: found
            for name, found in turns.items()
            if (scope := scope_of_first_iteration(name)) is not None
        }
        reached: dict[str, frozenset[int]] = {}
        for name, found in turns.items():
            reached[scope_of(name)] = reached.get(scope_of(name), frozenset()) | frozenset(found)
        given = [job.samples[node.id] for node in plan.nodes if isinstance(node, Source)]
        return Result(
            plan,
            {port: self._requested_batch(job, port, places) for port in taps},
            merge_samples(given, plan.wanted),
            tuple(node.id for node in plan.nodes if node.id in missing),
            places,
            reached,
            {
                node: self._augmented(plan, node, turns)
                for node in plan.draws
                if plan.graph.outermost(node) in plan.keys
            },
            self.readers.skipped_text(datasets),
        )

    def _augmented(self, plan: Plan, node: str, reached: Mapping[str, Sequence[int]]) -> Turns:
        draws, scope = plan.draws[node], plan.graph.scope_of(node)
        turns = self._augmenter.describe(plan.graph.node(node), draws, plan.position, plan.count)
        indices: list[Sequence[int]] = [range(plan.wanted)]
        if scope:
            indices = [reached[turn] for turn in taps_of_scope(scope, reached)]
        return tuple(
            tuple(each if at in places else () for at, each in enumerate(call[: plan.wanted]))
            for call, places in zip(turns, indices, strict=False)
        )

    def _requested_batch(
        self, job: _Job, port: Port, indices: Mapping[str, Sequence[int]]
    ) -> Batch:
        scope = job.plan.graph.scope_of(port.node)
        if is_batch_generator(job.plan.graph.node(port.node), self.catalog):
            scope = ""
        return job.batches[port].first(len(indices[scope]) if scope in indices else job.plan.wanted)

    def _run_part(self, job: _Job, nodes: list[Node]) -> None:
        kind = kind_of(nodes[0], self.catalog)
        if not isinstance(nodes[0], Source):
            require_fitting(job.plan, nodes, job.batches)
        if isinstance(nodes[0], Source):
            self._read(job, nodes[0])
        elif kind == "automatic":
            self._augment(job, nodes[0])
        elif kind == "decoder":
            self._decode(job, nodes)
        else:
            self._stage(job, nodes, cache_built=kind == "block")

    def _plan(
        self, graph: Graph, data: Datasets, batch: int, count: int, taps: Sequence[Port],
        repeat: int | None,
    ) -> Plan:  # fmt: skip
        resolved = ResolvedGraph(graph, self.catalog)

        def plan() -> Plan:
            versions = self.readers.versions(data)
            return make_plan(resolved, data, batch, count, taps, repeat, versions)

        made = plan()
        return (
            plan()
            if self.readers.close_changed(data, lambda name: self._files(made, name))
            else made
        )

    def _files(self, plan: Plan, name: str) -> list[str]:
        """Return the files of the dataset ``name`` that were read for the previous plan."""
        sources = [node for node in plan.nodes if isinstance(node, Source)]
        known = [
            self._samples.get(plan.keys[source.id], ())
            for source in sources
            if parameter_of(source) == name
        ]
        return [sample.file for samples in known for sample in samples]

    def _missing(self, job: _Job, taps: Sequence[Port]) -> set[str]:
        """Return the ids of the nodes to run, which are between cached outputs and the taps."""
        keys, graph = job.plan.keys, job.plan.graph
        missing: set[str] = set()
        needed = {graph.outermost(port.node) for port in taps}
        for node in job.plan.nodes:
            if not isinstance(node, Source):
                continue
            known = self._samples.get(keys[node.id])
            if known is None:
                # the file and fault of each sample are always needed
                needed.add(node.id)
            else:
                self._samples.move_to_end(keys[node.id])
                job.add_samples(node.id, known)
        for node in reversed(job.plan.nodes):
            if node.id not in needed:
                continue
            cached = self.store.get(keys[node.id])
            if cached is None or (isinstance(node, Source) and node.id not in job.samples):
                missing.add(node.id)
                needed |= {port.node for port in node.inputs.values()}
            else:
                job.batches.update({each.port_of(node.id): each.batch for each in cached})
        return missing

    def _read(self, job: _Job, node: Source) -> None:
        self._report_running([node.id])
        read = self.readers.read(job.plan, node, job.pipelines)
        self._cache_samples(job, node, read.samples)
        batches = [Batch(each, memory_of(each)) for each in map(tensor_list, read.outputs)]
        self._keep(job, node, dict(zip(self._ports(node), batches, strict=True)))

    def _cache_samples(self, job: _Job, node: Source, samples: tuple[Sample, ...]) -> None:
        job.add_samples(node.id, samples)
        self._samples[job.plan.keys[node.id]] = samples
        self._samples.move_to_end(job.plan.keys[node.id])
        while len(self._samples) > _KEPT_SAMPLES:
            self._samples.popitem(last=False)

    def _decode(self, job: _Job, nodes: list[Node]) -> None:
        fed = {p.node for n in nodes for p in n.inputs.values()}
        readers = [n for n in job.plan.nodes if n.id in fed and isinstance(n, Source)]
        samples = (sample for reader in readers for sample in job.samples[reader.id])
        files = tuple(sample.file for sample in samples if not sample.error)
        try:
            self._stage(job, nodes, cache_built=True, files=files)
        except PipelineError:
            found = [self._leave_out_bad(job, reader) for reader in readers]  # all of them
            if not any(found):
                raise
            self._stage(job, nodes, cache_built=True, files=files)

    def _leave_out_bad(self, job: _Job, reader: Source) -> bool:
        """Replace files that DALI cannot decode, whatever the decoder arguments are.

        Returns False if there are none, which means that the decoder's arguments are at fault.
        """
        batches = [job.batches[port] for port in self._ports(reader)]
        samples = known = job.samples[reader.id]
        for at in encoded_outputs(reader, self.catalog[reader.op]):
            decoder = job.plan.feeds_alone(self._ports(reader)[at])
            samples = tuple(
                sample if sample.error else check_decoding(sample, encoded, decoder)
                for sample, encoded in zip(samples, batches[at].arrays(), strict=True)
            )
            tensors = [batches[at].data[i] for i in range(len(samples))]
            batches[at] = Batch(tensor_list(replace_samples(tensors, samples, decoder)))
        if samples == known:
            return False
        self._cache_samples(job, reader, samples)
        self._keep(job, reader, dict(zip(self._ports(reader), batches, strict=True)))
        return True

    def _augment(self, job: _Job, node: Node) -> None:
        data = job.batches[node.inputs["data"]]
        if data.device != job.plan.devices[node.id] or isinstance(data.data, list):
            self._stage(job, [node], cache_built=True)  # as in the script, with its copies
            return
        self._report_running([node.id])
        shape = job.batches[node.inputs["shape"]] if "shape" in node.inputs else None
        (draws,) = job.plan.draws[node.id]
        batch = self._augmenter.run(node, draws, job.plan.position, data, shape)
        self._keep(job, node, {Port(node.id, "output"): batch})

    def _stage(
        self, job: _Job, nodes: list[Node], cache_built: bool, files: Sequence[str] = ()
    ) -> None:
        self._report_running([node.id for node in nodes], files)
        stage = self.stage(job.plan, nodes, job.batches, apply=self._augmenter.function)
        if not stage.built:
            with reporting_build_progress(self._report_making):
                stage.build()
        if calling := [node.id for node in nodes_calling(nodes)]:
            self._report_making(f"running {', '.join(calling)}")  # for an unknown time
        stage.feed(job.batches)
        given = stage.run()
        if cache_built:
            self.cache_built(stage)
        for node in nodes:
            own = [port for port in given if _is_port_of(job.plan.graph, port, node)]
            self._keep(job, node, {port: given[port] for port in own})

    def stage(
        self,
        plan: Plan,
        nodes: Sequence[Node],
        batches: Mapping[Port, Batch],
        threads: int | None = None,
        apply: Callable[..., Callable[..., Any]] | None = None,
    ) -> Stage:
        """Return a pipeline of these nodes: a cached one, or a new one that is not built yet.

        ``apply`` is as for ``Stage``. Without it, the pipeline is the same as in the script.
        """
        positions: dict[str, int] = {}
        for node in nodes:
            if node.bodies:
                positions |= self._counts.before(plan, node)
        stage = Stage(plan, nodes, batches, threads, positions, apply)
        found = self._built.pop(stage.key, stage)
        found.adopt(stage)
        return found

    def branch_places(self, graph: Graph, data: Data, blocks: Sequence[Node]) -> PlacesInTurns:
        """Return an object that runs the conditions of blocks, batch by batch from batch 0."""
        datasets = open_datasets(data)
        taps = [port for block in blocks for port in self._ports(block)]
        plans = [
            self._plan(with_datasets(each, datasets), datasets, 0, 1, taps, None)
            for each in single_pipelines(graph)
        ]
        return PlacesInTurns([BranchPlaces(plan, blocks) for plan in plans])

    def augmented(
        self, graph: Graph, data: Data, nodes: Sequence[str], batch: int, count: int
    ) -> Mapping[str, Turns]:
        """Return the augmentations applied in a batch of a valid graph, by node id.

        Only those of the first ``count`` samples that reach the node are included. No data is read.
        """
        graph, batch = pipeline_of_batch(graph, batch)
        graph = with_datasets(graph, open_datasets(data))
        draws = auto_augment_random_values(ResolvedGraph(graph, self.catalog))
        position = batch * graph.settings.batch_size
        return {
            node: self._augmenter.describe(graph.node(node), draws[node], position, count)
            for node in nodes
        }

    def cache_built(self, stage: Stage) -> None:
        """Cache a pipeline that is expensive to build."""
        self._built[stage.key] = stage
        while len(self._built) > _KEPT_BUILT:
            self._built.popitem(last=False)

    def _keep(self, job: _Job, node: Node, batches: Mapping[Port, Batch]) -> None:
        cached = [CachedOutput(node.id, port, batch) for port, batch in batches.items()]
        self.store.put(job.plan.keys[node.id], cached)
        job.batches.update(batches)

    def _ports(self, node: Node) -> list[Port]:
        return output_ports(node, self.catalog[node.op])

    def forget(self) -> None:
        """Drop all cached outputs, readers and decoders, and free host and GPU memory."""
        self.readers.close()
        self._built.clear()
        self._augmenter.forget()
        self._samples.clear()
        self._counts.clear()
        self.store.clear()


def _is_port_of(graph: Graph, port: Port, node: Node) -> bool:
    place = port.node if graph.has(port.node) else block_of(port.node)
    return graph.outermost(place) == node.id


# Check pixels that a source outputs before operators process them.
#
# DALI crashes, or reads past its memory, or does not report the number of channels if an operator
# receives an unsupported channel count.


def require_fitting(plan: Plan, nodes: Sequence[Node], batches: Mapping[Port, Batch]) -> None:
    """Raise PipelineError for the first node that does not support its input."""
    decoded = any(isinstance(node, Source) and node.decodes for node in plan.nodes)
    within = [each for each in nodes_within(nodes) if decoded or each.op == NORMALIZES]
    if not within:
        return
    types, catalog = plan.resolved.types, plan.resolved.catalog
    found = {port: _type_of(batch, types[port]) for port, batch in batches.items() if port in types}
    flows = infer_types_from(plan.graph, catalog, found)
    for node in within:
        spec = catalog[node.op]
        faults = type_faults(node, spec, plan.devices, flows) if decoded else iter(())
        if node.op == NORMALIZES:
            faults = chain(faults, per_channel_faults(node, spec, flows))
        for fault in faults:
            if fault.code == "channels" and not _decodes_before(plan, node):
                remedy = f"Remove it, or open data of {fault.about} images."
                fault = replace(fault, remedy=remedy)
            raise PipelineError(str(fault), node.id)


def _decodes_before(plan: Plan, node: Node) -> bool:
    before = ancestors(plan.graph, list(node.inputs.values()))
    nodes = [each for each in plan.nodes if each.id in before]
    return any(plan.resolved.spec(each).category == "decode" for each in nodes)


def _type_of(batch: Batch, expected: TensorType) -> TensorType:
    """Return the type of a batch's samples. Dimensions that differ between samples are None."""
    shapes = batch.shapes
    if len({len(shape) for shape in shapes}) != 1:
        return expected
    extents = (set(each) for each in zip(*shapes, strict=True))
    shape = tuple(each.pop() if len(each) == 1 else None for each in extents)
    dtype = "FLOAT" if batch.dtype == "float32" else batch.dtype.upper()
    return replace(expected, dtype=dtype, layout=batch.layout, shape=shape)
