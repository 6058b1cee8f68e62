"""Create the experiments that the Speed panel requests, and describe what cannot be measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, cast

from workbench.bench import Benchmark
from workbench.bench.experiments.grid_experiment import SweepExperiment
from workbench.bench.experiments.peers import PEERS
from workbench.bench.experiments.scaling import (
    GpuScalingExperiment,
    PipelineScalingExperiment,
    ThreadScalingExperiment,
)
from workbench.bench.experiments.speed_experiment import SpeedExperiment
from workbench.bench.experiments.stages import StageCostExperiment
from workbench.bench.experiments.tune import TuningExperiment
from workbench.bench.experiments.tuner_search import default_probe_allowance
from workbench.bench.measuring.config import REGIMES, config_of
from workbench.bench.measuring.grid import grid_for, mapping_values
from workbench.bench.measuring.interleaved import format_duration
from workbench.bench.measuring.measurement_config import (
    COARSE_CONFIG,
    FEWEST_BATCHES,
    FEWEST_ROUNDS,
    QUICK_CONFIG,
    MeasurementConfig,
    config_within,
)
from workbench.bench.records.record import gpu_command
from workbench.catalog import load_catalog
from workbench.engine.resources.gpu import cuda_uuids
from workbench.engine.resources.machine import Machine
from workbench.errors import ArgumentError, GraphEditError
from workbench.graph.model import DecodeDevice, Graph
from workbench.graph.model.bounds import FILES
from workbench.graph.resolved import ResolvedGraph
from workbench.optimiser import OptimisationExperiment
from workbench.optimiser.proposal import Objective
from workbench.sources import Datasets
from workbench.ui.contract.speed_payloads import SpeedLimits

_START_SECONDS, _PROBE_SECONDS, _BEST_SECONDS = 4.0, 8.0, 60.0
"""Estimated seconds to start a worker, to try one setting in a search, and to compare the best
settings.
"""


def _with_time_limit(config: MeasurementConfig) -> MeasurementConfig:
    """Return the config with a time limit that covers start, warm-up and rounds."""
    return replace(config, limit=_START_SECONDS + config.budget)


MEASUREMENT_CONFIGS = {
    "quick": _with_time_limit(QUICK_CONFIG),
    "usual": _with_time_limit(MeasurementConfig()),
}
"""Measurement config by precision: ``quick`` uses short rounds, and ``usual`` uses the rounds of
METHOD.md.
"""
STAGE_CONFIGS = {"quick": _with_time_limit(COARSE_CONFIG), "usual": _with_time_limit(QUICK_CONFIG)}
"""Shorter measurement configs for stages, because each stage is measured separately."""
PEER_SECONDS = {"quick": 12.0, "usual": 30.0}
"""Time limit in seconds for each library in a comparison with peers, including loading the
library.
"""
MOST_VALUES = 32
_FIELDS = {
    "threads": "threads",
    "batches": "batch_size",
    "prefetch": "prefetch",
    "loads": "hw_decoder_load",
    "pipelines": "pipelines",
}
"""Names of settings by the field of the action ``Tune`` that contains their values."""
WHATS = ("compare", "stages", "rewrites", "peers", "threads", "pipelines", "workers")


def experiment_for(
    measurement: str,
    graph: Graph,
    data: Datasets,
    effort: str,
    machine: Machine,
    peers: Sequence[str] = (),
    seconds: float | None = None,
    objective: str = "speed",
) -> SpeedExperiment:
    """Create the experiment for a part of the panel. If ``peers`` is empty, all peers are measured.

    ``seconds`` and ``objective`` are the time limit and the objective of ``rewrites``; None means
    no limit. Raises GraphEditError for an invalid request.
    """
    measurement_config = MEASUREMENT_CONFIGS[effort]
    match measurement:
        case "compare":
            return Benchmark(graph, data, regimes=REGIMES, measurement_config=measurement_config)
        case "stages":
            return StageCostExperiment(graph, data, measurement_config=STAGE_CONFIGS[effort])
        case "rewrites":
            wanted = cast(Objective, objective)  # checked there
            return OptimisationExperiment(graph, data, seconds=seconds, objective=wanted)
        case "peers":
            devices: tuple[DecodeDevice, ...] = ("cpu",) if machine.no_gpu else ("cpu", "mixed")
            how = config_within(PEER_SECONDS[effort])
            return Benchmark(graph, data, devices, measurement_config=how, peers=_known(peers))
        case "threads":
            return ThreadScalingExperiment(graph, data, measurement_config=measurement_config)
        case "pipelines":
            return PipelineScalingExperiment(graph, data, measurement_config=measurement_config)
        case "workers":
            if reason := no_workers(machine):
                raise GraphEditError(reason)
            return GpuScalingExperiment(
                graph, data, affinity="split", measurement_config=measurement_config
            )
    raise GraphEditError(
        f"{measurement[:40]!r} cannot be measured. Use one of: {', '.join(WHATS)}."
    )


def _known(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in PEERS:
            known = ", ".join(PEERS)
            raise GraphEditError(f"{name[:40]!r} is not a known library. Use one of: {known}.")
    return tuple(name for name in PEERS if name in names or not names)


def tuner_for(
    texts: Mapping[str, str],
    graph: Graph,
    data: Datasets,
    machine: Machine,
    seconds: float | None = None,
) -> SpeedExperiment:
    """Create the tuner, or a sweep of all settings, from the texts of the action ``Tune``.

    ``seconds`` is the tuner's time limit; None means no limit. Raises GraphEditError that names the
    invalid field.
    """
    usual = grid_for(ResolvedGraph(graph, load_catalog()), machine, graph.settings.device)
    values: dict[str, Any] = {
        knob: _values(texts[field], knob) or usual.values(knob) for field, knob in _FIELDS.items()
    }
    values["dont_use_mmap"] = _parse_mmap_modes(texts["files"], graph) or usual.dont_use_mmap
    try:
        grid = replace(usual, **cast(Any, {knob: tuple(found) for knob, found in values.items()}))
    except ValueError as error:
        raise GraphEditError(f"{error} Use increasing numbers such as 1, 2, 4.") from None
    limits: dict[str, Any] = {"host_limit": _bytes(texts["memory"])}
    if texts["search"] == "all":
        return SweepExperiment(graph, data, grid=grid, regime="pipeline", **limits)
    return TuningExperiment(graph, data, grid=grid, regime="pipeline", seconds=seconds, **limits)


def _values(text: str, knob: str) -> tuple[float, ...] | tuple[int, ...]:
    share = knob == "hw_decoder_load"
    found: list[Any] = []
    for part in text.replace(",", " ").split():
        with suppress(ValueError):
            found.append(float(part) if share else int(part))
            continue
        raise GraphEditError(f"{knob}: {part[:40]!r} is not a number. Use numbers such as 1, 2, 4.")
    least, most = (0, 1) if share else (1, 65536)
    if len(found) > MOST_VALUES or not all(least <= value <= most for value in found):
        raise GraphEditError(f"{knob}: use at most {MOST_VALUES} numbers from {least} to {most}.")
    return tuple(sorted(set(found)))


def _parse_mmap_modes(text: str, graph: Graph) -> tuple[bool | None, ...]:
    """Parse a text such as ``mapped, read`` to values of ``dont_use_mmap``; () if it is empty."""
    found = text.replace(",", " ").split()
    for part in found:
        if part not in FILES:
            raise GraphEditError(f"files: {part[:40]!r} is not allowed. Use {' or '.join(FILES)}.")
    try:
        return mapping_values(ResolvedGraph(graph, load_catalog()), found)
    except ArgumentError as error:
        raise GraphEditError(str(error)) from None


def _bytes(text: str) -> int | None:
    """Convert a text with a number of GiB to bytes; None if the text is empty."""
    if not text.strip():
        return None
    with suppress(ValueError):
        if 0 < (value := float(text)) < 1e6:
            return int(value * 2**30)
    raise GraphEditError(f"memory: {text[:40]!r} is not allowed. Enter a size in GiB, such as 4.")


def limits_of(graph: Graph, machine: Machine) -> SpeedLimits:
    """Return the measurements that this machine cannot run, and the allowed values of settings."""
    usual = grid_for(ResolvedGraph(graph, load_catalog()), machine, graph.settings.device)
    command, hint = gpu_command(graph) if machine.no_gpu else ("", "")
    return {
        "mixed": machine.no_gpu,
        "command": command,
        "hint": hint,
        "workers": no_workers(machine),
        "peers": [{"name": name, "value": why} for name, why in peers_here(machine)],
        "peer_seconds": PEER_SECONDS,
        "grid": {
            field: ", ".join(f"{v:g}" for v in usual.values(knob) if v is not None)
            for field, knob in _FIELDS.items()
        }
        | {"files": ", ".join(FILES[bool(value)] for value in usual.dont_use_mmap)},
        "now": config_of(graph).settings.replace(", ", " · "),
        "estimates": _estimates(graph, machine, len(usual)),
    }


def _estimates(graph: Graph, machine: Machine, settings: int) -> dict[str, dict[str, str]]:
    """Return the duration of each measurement as text, from its time limits or an estimate."""
    devices = 1 if machine.no_gpu else 2
    counts = machine.cores.bit_length() + 1  # 1, 2, 4, ... up to the number of cores
    tuned = {
        "tuner": _PROBE_SECONDS * default_probe_allowance(settings) + _BEST_SECONDS,
        "all": _PROBE_SECONDS * settings + _BEST_SECONDS,
    }
    found = {}
    for effort, config in MEASUREMENT_CONFIGS.items():
        stages = STAGE_CONFIGS[effort]
        limited = {
            "compare": (config, devices * len(REGIMES)),
            "stages": (stages, 2 * len(graph.nodes)),
            "threads": (config, counts),
            "pipelines": (config, counts),
        }
        found[effort] = {
            what: _time_limit_text(how, count) for what, (how, count) in limited.items()
        }
        others = {"rewrites": len(graph.nodes) * (config.limit or 0.0), **tuned}
        found[effort] |= {what: f"about {format_duration(most)}" for what, most in others.items()}
    return found


def _time_limit_text(config: MeasurementConfig, count: int) -> str:
    """Return a text with the time limit of ``count`` configurations; "" if there is no limit."""
    if config.limit is None:
        return ""
    batch = config.budget / ((1 + FEWEST_ROUNDS) * FEWEST_BATCHES)
    most = format_duration(count * config.limit)
    longest = f"{batch:.0f} s" if batch >= 1 else f"{1000 * batch:.0f} ms"
    return f"up to {most} if a batch takes at most {longest}, otherwise longer"


@cache
def no_workers(machine: Machine) -> str:
    """Return the reason why scaling across GPUs cannot be measured here; "" if it can."""
    if machine.no_gpu:
        return f"{machine.no_gpu}; scaling across GPUs needs two or more"
    if (count := len(cuda_uuids())) < 2:
        return f"this machine has {count} GPU; scaling across GPUs needs two or more"
    return ""


@cache
def peers_here(machine: Machine) -> tuple[tuple[str, str], ...]:
    """Return each peer with the reason why it cannot be measured here; "" if it can."""
    found = []
    for name, peer in PEERS.items():
        missing = peer.missing
        reason = f"not installed: pip install {missing}" if missing else ""
        if peer.device == "mixed" and machine.no_gpu:
            reason = machine.no_gpu
        found.append((name, reason))
    return tuple(found)
