"""Define the configurations to measure, and apply a configuration to a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.engine.resources.machine import Machine
from workbench.graph.execution.dataset_parameters import sequence_length
from workbench.graph.model import DecodeDevice, Executor, Graph, Node, Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import first_outputs_pixels

Regime = Literal["decode", "pipeline"]
"""Part of the graph to measure: ``decode`` ends at the decoder, ``pipeline`` is the whole graph."""
REGIMES: tuple[Regime, ...] = ("decode", "pipeline")
LOAD = "hw_decoder_load"
"""Decoder argument for the fraction of a batch that the GPU's JPEG engines decode."""
UNMAPPED = "dont_use_mmap"
"""Reader argument with which files are read instead of mapped into memory."""


@dataclass(frozen=True, slots=True)
class Config:
    """Configuration to measure: one value for every knob (setting).

    If ``hw_decoder_load`` is None, the graph's value applies.
    """

    device: DecodeDevice = "cpu"
    regime: Regime = "pipeline"
    batch_size: int = 64
    threads: int = 4
    prefetch: int = 2
    hw_decoder_load: float | None = None
    program: str = "DALI"
    """Name of the program to run: DALI or a peer library."""
    workers: int = 1
    """Number of parallel processes, each on a shard of the data (and on its own GPU, if mixed)."""
    pipelines: int = 1
    """Number of parallel pipelines per process; ``threads`` and ``prefetch`` are per pipeline."""
    frames: int = 0
    """Number of frames per sample of a sequence, or 0 for images."""
    executor: Executor = "dynamic"
    """DALI's current executor, or the older one. See ``graph.model.Settings.executor``."""
    dont_use_mmap: bool | None = None
    """Value of ``dont_use_mmap`` for all readers; None to use the graph's values."""

    @property
    def label(self) -> str:
        """Device and regime such as ``cpu, decode``, preceded by the program if it is not DALI."""
        return ", ".join([self.program] * (self.program != "DALI") + [self.device, self.regime])

    @property
    def settings(self) -> str:
        """Values of the knobs as text: ``batch 64, 4 threads, prefetch 2``."""
        load = "" if self.hw_decoder_load is None else f", {LOAD} {self.hw_decoder_load:g}"
        executor = "" if self.executor == "dynamic" else f", {self.executor} executor"
        unmapped = f", {UNMAPPED}" if self.dont_use_mmap else ""
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        if self.pipelines > 1:
            threads = f"{self.pipelines} pipelines of {threads}"
        known = f"batch {self.batch_size}, {threads}, prefetch {self.prefetch}"
        return f"{known}{load}{executor}{unmapped}"


def config_of(graph: Graph, device: DecodeDevice | None = None) -> Config:
    """Return the configuration with a graph's own settings, optionally on another device."""
    settings = graph.settings
    return Config(
        device or settings.device,
        "pipeline",
        settings.batch_size,
        settings.num_threads,
        settings.prefetch_queue_depth,
        next((hw_decoder_load_of(node) for node in graph.nodes if LOAD in node.args), None),
        pipelines=settings.pipelines,
        frames=sequence_length(graph),
        executor=settings.executor,
        dont_use_mmap=any(node.args.get(UNMAPPED) is True for node in graph.nodes) or None,
    )


def hw_decoder_load_of(node: Node) -> float | None:
    """Return the node's argument ``hw_decoder_load``, or None if it is not set."""
    value = node.args.get(LOAD)
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None


def with_config(resolved: ResolvedGraph, config: Config) -> ResolvedGraph:
    """Return the graph to measure for a configuration. Regime ``decode`` cuts it after decoders."""
    settings = replace(
        resolved.graph.settings,
        device=config.device,
        batch_size=config.batch_size,
        num_threads=config.threads,
        prefetch_queue_depth=config.prefetch,
        pipelines=config.pipelines,
        executor=config.executor,
    )
    nodes = resolved.graph.nodes
    if config.hw_decoder_load is not None:
        load = {LOAD: config.hw_decoder_load}
        nodes = tuple(
            replace(node, args={**node.args, **load})
            if has_hw_decoder_load(resolved, node)
            else node
            for node in nodes
        )
    if config.dont_use_mmap is not None:
        nodes = tuple(_mapping(resolved, node, not config.dont_use_mmap) for node in nodes)
    made = resolved.for_graph(replace(resolved.graph, settings=settings, nodes=nodes))
    return decoding_only(made) if config.regime == "decode" else made


def adopt_config(graph: Graph, config: Config) -> Graph:
    """Return the whole graph with a configuration's settings, so that exports use them."""
    resolved = ResolvedGraph(graph, load_catalog())
    return with_config(resolved, replace(config, regime="pipeline")).graph


def has_hw_decoder_load(resolved: ResolvedGraph, node: Node) -> bool:
    """Return whether a node is a decoder that can use JPEG engines."""
    return node.op in resolved.catalog and LOAD in resolved.spec(node).args


def has_dont_use_mmap(resolved: ResolvedGraph, node: Node) -> bool:
    """Return whether a node is a reader for which memory-mapping is optional."""
    return node.op in resolved.catalog and UNMAPPED in resolved.spec(node).args


def _mapping(resolved: ResolvedGraph, node: Node, mapped: bool) -> Node:
    if not has_dont_use_mmap(resolved, node):
        return node
    args = {name: value for name, value in node.args.items() if name != UNMAPPED}
    return replace(node, args=args if mapped else {**args, UNMAPPED: True})


def decoder_nodes(resolved: ResolvedGraph) -> list[Node]:
    """Return the decoders that the outputs depend on, including sources that decode."""
    needed = ancestors(resolved.graph, list(resolved.graph.outputs.values()))
    return [
        n
        for n in resolved.graph.nodes
        if n.id in needed and first_outputs_pixels(n, resolved.catalog)
    ]


def nodes_after_decoders(resolved: ResolvedGraph) -> set[str]:
    """Return the ids of the nodes that depend on the decoders."""
    graph = resolved.graph
    needed = ancestors(graph, list(graph.outputs.values()))
    before = ancestors(
        graph, [output_ports(n, resolved.spec(n))[0] for n in decoder_nodes(resolved)]
    )
    return {node for node in needed - before if not isinstance(graph.node(node), Source)}


def decoding_only(resolved: ResolvedGraph) -> ResolvedGraph:
    """Return the graph cut after its decoders, or unchanged if no output depends on a decoder."""
    outputs = {n.id: output_ports(n, resolved.spec(n))[0] for n in decoder_nodes(resolved)}
    return resolved.for_graph(replace(resolved.graph, outputs=outputs)) if outputs else resolved


def sharded(graph: Graph, shard: int, shards: int) -> Graph:
    """Return the graph with every reader reading shard ``shard`` of ``shards``."""
    share = {"shard_id": shard, "num_shards": shards}
    sharding = {source.op for source in graph.sources} - {PYTHON_SOURCE.name}
    nodes = tuple(
        replace(node, args={**node.args, **share}) if node.op in sharding else node
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def unmeasurable_reason(resolved: ResolvedGraph, machine: Machine) -> str:
    """Return the reason why a graph cannot be measured on a machine, or "" if it can."""
    devices, running = set(resolved.running.devices.values()), resolved.running
    if not resolved.stopping_faults and not decoder_nodes(running):
        outputs = ", ".join(running.graph.outputs)
        sources = " or ".join(source.id for source in running.graph.sources)
        return (
            f"not measured: no decoder leads to an output ({outputs}). Add `.decode()` after "
            f"{sources}, and output its images."
        )
    if machine.no_gpu and (resolved.graph.settings.device == "mixed" or devices != {"cpu"}):
        return f"not measured: {machine.no_gpu}"
    if resolved.stopping_faults:
        return f"not measured: {resolved.stopping_faults[0]}"
    return ""


def ineffective_settings(config: Config, formats: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Return a note for each knob that has no effect, or affects only some files.

    ``formats`` has the number of files per format, with the names of ``data_files.fingerprint``.
    """
    found = []
    if config.hw_decoder_load is not None and config.device == "cpu":
        found.append(f"{LOAD} had no effect: it is for mixed decoding")
    total = sum(count for _, count in formats)
    other = {name: count for name, count in formats if name != "JPEG"}
    if config.device == "mixed" and total and other:
        share = sum(other.values()) / total
        found.append(
            f"the JPEG engines decoded none of {share:.0%} of the files "
            f"({', '.join(other)}): they support baseline JPEG only"
        )
    return tuple(found)
