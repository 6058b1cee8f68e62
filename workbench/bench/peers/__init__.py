"""Other libraries at the same work: same files, sizes, draws and number of workers.

Adding one is adding a module here, with ``PEERS`` (each a library with a way to decode), ``start``,
which gives a workload of batches, and ``images``, which gives a program's first output for some
files, as arrays in DALI's layout. It imports its library in these two only, which the worker calls.

A peer that is not installed, or lacks an operator of the graph, is a row that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from workbench.bench.experiments.compared_program import ComparedProgram, refusal
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
from workbench.bench.measuring.workload import Workload
from workbench.bench.peers.program import (
    NoCounterpartError,
    Peer,
    Program,
    program_of,
    without_randomness,
)
from workbench.catalog.spec import Catalog
from workbench.emit.core.code import Code
from workbench.emit.script import emit_script
from workbench.engine.protocol.registry import sendable, task
from workbench.engine.resources.machine import Machine
from workbench.engine.run.worker import Worker
from workbench.errors import ArgumentError, CancelledError, DataError, EngineError
from workbench.graph.model import DecodeDevice
from workbench.sources import Datasets, every_sample, load_source


def _peers() -> Iterator[Peer]:
    for module in iter_modules(__path__):
        found: Iterable[Peer] = getattr(import_module(f"{__name__}.{module.name}"), "PEERS", ())
        yield from found


CONTROL = "DALI again"
"""The same script beside itself: how far its ratio is from 1 is how far to trust the others'."""
PEERS = {peer.name: peer for peer in _peers()}


def peers_named(words: Sequence[str]) -> tuple[str, ...]:
    """The peers whose names begin with one of some words, whatever their case.

    ``torchvision`` is three of them. Raises ArgumentError for a word that none begins with.
    """
    for word in words:
        if not any(_begins(name, word) for name in PEERS):
            raise ArgumentError(f"peer: {word[:40]!r} is none of {', '.join(PEERS)}.")
    return tuple(name for name in PEERS if any(_begins(name, word) for word in words))


def _begins(name: str, word: str) -> bool:
    return bool(word) and name.lower().startswith(word.lower())


def peer_options(names: Sequence[str]) -> list[str]:
    """The options of ``workbench bench`` that name these peers."""
    if set(names) == set(PEERS):
        return ["--peers"]
    return [word for name in names for word in ("--peer", name)]


def _module_of(peer: Peer) -> ModuleType:
    """Of the peer that is known by that name: a message names no module."""
    return import_module(PEERS[peer.name].module)


_TWIST = frozenset({"brightness", "contrast", "hue", "saturation"})
_CROP = frozenset({"crop", "crop_pos_x", "crop_pos_y"})
OPERATORS: Mapping[str, frozenset[str]] = {
    "random_resized_crop": frozenset({"size", "random_area", "random_aspect_ratio"}),
    "resize": frozenset({"size", "resize_shorter"}),
    "crop": _CROP,
    "crop_mirror_normalize": _CROP | {"mirror", "mean", "std", "dtype", "output_layout"},
    "rotate": frozenset({"angle", "fill_value", "keep_size"}),
    "color_twist": _TWIST,
    "saturation": frozenset({"saturation"}),
    "brightness": frozenset({"brightness"}),
    "brightness_contrast": frozenset({"brightness", "contrast"}),
    "flip": frozenset({"horizontal", "vertical"}),
    "gaussian_blur": frozenset({"sigma", "window_size"}),
}
"""The operators, and the arguments of each, that every peer has a counterpart of."""


@sendable
@dataclass(frozen=True, slots=True)
class PeerJob:
    """A peer's way to run a program over a folder."""

    peer: Peer
    program: Program
    data: Datasets
    batch_size: int
    workers: int

    def start(self) -> Workload:
        return PeerWorkload(self)


class PeerWorkload:
    """Batches of a peer, whose failures are its own: it becomes a row with the reason."""

    def __init__(self, job: PeerJob) -> None:
        start = _module_of(job.peer).start
        with told_as_failure():
            files = sample_files(job.data)
            found = start(job.peer, job.program, files, job.batch_size, job.workers)
        self._inner: Workload = found
        self.lead = self._inner.lead

    def run(self) -> int:
        with told_as_failure():
            return self._inner.run()


@contextmanager
def told_as_failure() -> Iterator[None]:
    """Make of whatever a library raises an EngineError, in a line.

    A DataError too: it would end the comparison, and the others may read the file. A process of
    PyTorch's DataLoader tells its error behind its traceback.
    """
    try:
        yield
    except EngineError:
        raise
    except Exception as error:
        words = str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        if "\nOriginal Traceback" in words:
            words = words.strip().rpartition("\n")[2]
        raise EngineError(words) from None


def compared_peers(
    experiment: SpeedExperiment,
    names: Sequence[str],
    devices: Sequence[DecodeDevice],
    catalog: Catalog,
    machine: Machine,
    facts: dict[str, Any],
) -> list[ComparedProgram]:
    """Each peer at an experiment's work; one that cannot do it has the reason.

    ``facts`` gets, of each that was checked, its version and how far its pixels lie from DALI's.
    """
    return [
        _compared_peer(experiment, PEERS[name], devices, catalog, machine, facts) for name in names
    ]


def _compared_peer(
    experiment: SpeedExperiment,
    peer: Peer,
    devices: Sequence[DecodeDevice],
    catalog: Catalog,
    machine: Machine,
    facts: dict[str, Any],
) -> ComparedProgram:
    config = replace(config_of(experiment.graph, peer.device), program=peer.name, pipelines=1)
    reason = "" if peer.device in devices else "its device was not asked for"
    if peer.device == "mixed" and machine.no_gpu:
        reason = machine.no_gpu
    elif find_spec(peer.needs[1]) is None:
        reason = f"{peer.needs[0]} is not installed"
    try:
        if reason:
            raise NoCounterpartError(reason)
        program = program_of(experiment.graph, catalog, OPERATORS, peer.name)
    except EngineError as error:
        return ComparedProgram(config, reason=refusal(error))

    def jobs(workers: int) -> ConfigJobs:
        job = PeerJob(peer, program, experiment.data, config.batch_size, workers)
        return ConfigJobs(replace(config, threads=workers), (job,), decodes=False)

    def check(call: Callable[..., Any]) -> tuple[str, ...]:
        facts[peer.name] = {"version": _version(peer)}
        try:
            found = call(compare_with_peer, *_compared(experiment, catalog, peer))
        except CancelledError:
            experiment.check_cancelled()
            facts[peer.name]["difference"] = {"reason": NOT_COMPARED}
            return (f"its pixels were {NOT_COMPARED}",)
        except EngineError as error:
            facts[peer.name]["difference"] = {"reason": refusal(error)}
            raise
        if found is None:
            other = NoCounterpartError("its images have other shapes than DALI's")
            facts[peer.name]["difference"] = {"reason": refusal(other)}
            raise other
        assert isinstance(found, PixelDifference)
        facts[peer.name]["difference"] = asdict(found)
        return () if found.is_same else (different_words(found),)

    return ComparedProgram(config, jobs, check=check, searches=True)


def different_words(found: PixelDifference) -> str:
    """What is to be known of a peer whose pixels are too far from DALI's."""
    return (
        f"not the same augmentation: {found.mean:.3g} {found.unit} apart on average, and "
        f"{SAME[found.unit]:g} are allowed"
    )


def _compared(
    experiment: SpeedExperiment, catalog: Catalog, peer: Peer
) -> tuple[Code, Program, Peer, Datasets]:
    """The arguments of ``compare_with_peer`` for an experiment's graph."""
    graph = without_randomness(experiment.graph, catalog)
    program = program_of(graph, catalog, OPERATORS, peer.name)
    config = replace(config_of(graph, "cpu"), batch_size=IMAGES)
    source = emit_script(with_config(graph, catalog, config), catalog)
    return source, program, peer, experiment.data


def sample_files(data: Datasets) -> list[str]:
    """The files that the others read. Raises DataError where samples are no files."""
    for dataset in data.values():
        kind = load_source(dataset.kind)
        if kind.holder is not None:
            raise DataError(
                f"{dataset} is a {kind.about}: the other libraries are compared on files. Give a "
                "folder of images."
            )
    return [sample.path for sample in every_sample(data)]


@task
def compare_with_peer(
    worker: Worker, source: Code, program: Program, peer: Peer, data: Datasets
) -> PixelDifference | None:
    """Task: the first files through DALI and through a peer, without chance, compared.

    For an output of normalised floats, in its unit.
    """
    ours = first_batch(source, data, "cpu")
    with told_as_failure():
        paths = sample_files(data)
        files = [paths[index % len(paths)] for index in range(len(ours))]
        theirs = _module_of(peer).images(peer, program, files)
    return compare_cpu_with_mixed(ours, theirs)


def _version(peer: Peer) -> str:
    """Of the package that brings the module: OpenCV comes in several."""
    packages = packages_distributions().get(peer.needs[1], ())
    return version(packages[0]) if packages else "unknown"
