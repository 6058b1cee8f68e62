"""Measure other libraries (peers) with the same files, batch size and number of workers.

A named peer runs the module exported for its library. Any other library is run by a user's
function, named ``module:function`` (a factory). A peer that is not installed, or whose library does
not support the graph, becomes a row with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.bench.experiments.compared_program import ComparedProgram, refusal
from workbench.bench.experiments.peer_jobs import (
    OWN_WORK,
    ExportedJob,
    FactoryJob,
    exported_module,
    first_outputs,
    is_factory,
    library_errors,
    sample_files,
    without_randomness,
)
from workbench.bench.experiments.speed_experiment import SpeedExperiment
from workbench.bench.measuring.config import config_of, with_config
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.pixels import (
    IMAGES,
    NOT_COMPARED,
    SAME,
    PixelDifference,
    compare_cpu_with_mixed,
    first_batch,
)
from workbench.emit.core.code import Code
from workbench.emit.script import script_of
from workbench.engine.protocol.registry import task
from workbench.engine.resources.machine import Machine
from workbench.engine.run.worker import Worker
from workbench.errors import ArgumentError, CancelledError, EngineError, GraphError
from workbench.graph.model import DecodeDevice
from workbench.sources import Datasets

CONTROL = "DALI again"
"""Name of the second measurement of DALI's script. The deviation of its ratio from 1 estimates the
noise of all ratios.
"""
OTHER_SHAPES = "its images have other shapes than DALI's"


@dataclass(frozen=True, slots=True)
class Peer:
    """A library that the graph can be exported to, and the name of its export target.

    ``needs`` are the packages that the exported module imports; the last is the library itself.
    """

    name: str
    target: str
    needs: tuple[str, ...]
    device: DecodeDevice = "cpu"

    @property
    def missing(self) -> str:
        """Name of a required package that is not installed, or "" if all are installed."""
        return next((package for package in self.needs if find_spec(package) is None), "")


PEERS = {
    peer.name: peer
    for peer in (
        Peer("torchvision", "torchvision", ("torch", "torchvision")),
        Peer("Albumentations", "albumentations", ("torch", "albumentations")),
    )
}


def peers_named(prefixes: Sequence[str]) -> tuple[str, ...]:
    """Return the known peers that match a prefix (ignoring case), followed by the user's factories.

    Raises ArgumentError for a word that is neither a peer nor a factory.
    """
    for word in prefixes:
        if not is_factory(word) and not any(_starts_with(name, word) for name in PEERS):
            raise ArgumentError(
                f"peer: {word[:40]!r} is not one of {', '.join(PEERS)}. For another library, pass "
                "your own function as module:function."
            )
    named = [name for name in PEERS if any(_starts_with(name, word) for word in prefixes)]
    return (*named, *dict.fromkeys(filter(is_factory, prefixes)))


def _starts_with(name: str, word: str) -> bool:
    return bool(word) and name.lower().startswith(word.lower())


def peer_options(names: Sequence[str]) -> list[str]:
    """Return the options of ``workbench bench`` that select these peers."""
    if set(names) == set(PEERS):
        return ["--peers"]
    return [word for name in names for word in ("--peer", name)]


def compared_peers(
    experiment: SpeedExperiment,
    names: Sequence[str],
    devices: Sequence[DecodeDevice],
    machine: Machine,
    facts: dict[str, Any],
) -> list[ComparedProgram]:
    """Return a program for each named peer or factory, with a reason if it cannot be measured.

    A factory is compared with DALI on the first device. The version of each checked peer, the work
    it runs and its pixel difference from DALI are added to ``facts``.
    """
    return [
        _compared_peer(experiment, PEERS[name], devices, machine, facts)
        if name in PEERS
        else _compared_factory(experiment, name, devices[0], machine, facts)
        for name in names
    ]


def _compared_factory(
    experiment: SpeedExperiment,
    name: str,
    device: DecodeDevice,
    machine: Machine,
    facts: dict[str, Any],
) -> ComparedProgram:
    config = replace(config_of(experiment.graph, device), program=name, pipelines=1)
    if device == "mixed" and machine.no_gpu:
        return ComparedProgram(config, reason=refusal(EngineError(machine.no_gpu)))

    def jobs(workers: int) -> ConfigJobs:
        job = FactoryJob.here(name, experiment.data, config.batch_size, workers)
        return ConfigJobs(replace(config, threads=workers), (job,), decodes=False)

    def check(call: Callable[..., Any]) -> tuple[str, ...]:
        facts[name] = {"version": "", "runs": "factory", "difference": {"reason": OWN_WORK}}
        return (f"pixels {OWN_WORK}",)

    return ComparedProgram(config, jobs, check=check, searches=True)


def _compared_peer(
    experiment: SpeedExperiment,
    peer: Peer,
    devices: Sequence[DecodeDevice],
    machine: Machine,
    facts: dict[str, Any],
) -> ComparedProgram:
    config = replace(config_of(experiment.graph, peer.device), program=peer.name, pipelines=1)
    try:
        _require_usable(peer, devices, experiment.data)
        module = exported_module(experiment.resolved, peer.target, config)
    except (EngineError, GraphError) as error:
        return ComparedProgram(config, reason=refusal(EngineError(str(error))))
    runs = f"runs the exported module (workbench export --target {peer.target})"

    def jobs(workers: int) -> ConfigJobs:
        job = ExportedJob(module, experiment.data, config.batch_size, workers)
        threads = replace(config, threads=workers)
        return ConfigJobs(threads, (job,), notes=(runs,), decodes=False)

    def check(call: Callable[..., Any]) -> tuple[str, ...]:
        version = _version(peer.needs[-1])
        facts[peer.name] = {"version": version, "runs": "exported module", "target": peer.target}
        try:
            found = call(compare_with_peer, *_compared_programs(experiment, peer))
        except CancelledError:
            experiment.check_cancelled()
            facts[peer.name]["difference"] = {"reason": NOT_COMPARED}
            return (f"its pixels were {NOT_COMPARED}",)
        except EngineError as error:
            facts[peer.name]["difference"] = {"reason": refusal(error)}
            raise
        if found is None:
            other = EngineError(OTHER_SHAPES)
            facts[peer.name]["difference"] = {"reason": refusal(other)}
            raise other
        assert isinstance(found, PixelDifference)
        facts[peer.name]["difference"] = asdict(found)
        return () if found.is_same else (difference_note(found),)

    return ComparedProgram(config, jobs, check=check, searches=True)


def _require_usable(peer: Peer, devices: Sequence[DecodeDevice], data: Datasets) -> None:
    if peer.device not in devices:
        raise EngineError(f"it runs on {peer.device}, which was not requested with --device")
    if peer.missing:
        raise EngineError(f"{peer.missing} is not installed: pip install {peer.missing}")
    if not data:
        raise EngineError(f"{peer.name} reads a folder, but the graph sets its own files")


def difference_note(difference: PixelDifference) -> str:
    """Return a note for a peer whose pixels differ too much from DALI's."""
    return (
        f"not the same augmentation: pixels differ by {difference.mean:.3g} {difference.unit} on "
        f"average; the limit is {SAME[difference.unit]:g}"
    )


def _compared_programs(experiment: SpeedExperiment, peer: Peer) -> tuple[Code, Code, Datasets]:
    still = experiment.resolved.for_graph(without_randomness(experiment.resolved))
    config = replace(config_of(still.graph, "cpu"), batch_size=IMAGES, pipelines=1)
    source = script_of(with_config(still, config).sound())
    try:
        return source, exported_module(still, peer.target, config), experiment.data
    except GraphError as error:
        raise EngineError(str(error)) from None


@task
def compare_with_peer(
    worker: Worker, source: Code, module: Code, data: Datasets
) -> PixelDifference | None:
    """Task: compare DALI's and a peer's pixels for the first files, without random values.

    The difference of normalised floats is in units of the output.
    """
    ours = first_batch(source, data, "cpu")
    with library_errors():
        paths = sample_files(data)
        files = [paths[index % len(paths)] for index in range(len(ours))]
        theirs = first_outputs(module, files)
    return compare_cpu_with_mixed(
        ours, [_with_channels_like(a, b) for a, b in zip(theirs, ours, strict=True)]
    )


def _with_channels_like(image: NDArray[Any], ours: NDArray[Any]) -> NDArray[Any]:
    """Return the image with channels last if DALI's image ``ours`` has channels last."""
    if image.shape != ours.shape and image.ndim == ours.ndim == 3:
        return np.moveaxis(image, 0, -1)
    return image


def _version(package: str) -> str:
    names = packages_distributions().get(package, ())
    return version(names[0]) if names else "unknown"
