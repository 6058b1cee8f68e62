"""Other libraries at the same work: the same files, sizes, draws and number of workers.

Adding one is adding a module here, with ``PEERS`` (each a library with a way to decode), ``start``,
which gives a workload of batches, and ``images``, which gives a program's first output for some
files, as arrays in DALI's layout. It imports its library in these two only, which the worker calls.

A peer that is not installed, or lacks an operator of the graph, is a row that says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from workbench.bench.config import Config, config_of, with_config
from workbench.bench.interleaved import ConfigJobs, without_traceback
from workbench.bench.measurement import Measurement
from workbench.bench.measurement_config import PROBE_CONFIG
from workbench.bench.peers.program import (
    NoCounterpartError,
    Peer,
    Program,
    program_of,
    without_randomness,
)
from workbench.bench.pixels import (
    IMAGES,
    LIMIT,
    SAME,
    PixelDifference,
    compare_cpu_with_mixed,
    first_batch,
)
from workbench.bench.speed_experiment import SpeedExperiment
from workbench.bench.workload import Workload
from workbench.catalog.spec import Catalog
from workbench.emit.code import Code
from workbench.emit.script import emit_script
from workbench.engine.machine import Machine
from workbench.engine.registry import sendable, task
from workbench.engine.worker import Worker
from workbench.errors import CancelledError, DataError, EngineError
from workbench.graph.model import DecodeDevice
from workbench.sources import Datasets, every_sample, load_source


def _peers() -> Iterator[Peer]:
    for module in iter_modules(__path__):
        found: Iterable[Peer] = getattr(import_module(f"{__name__}.{module.name}"), "PEERS", ())
        yield from found


_LONG = 300
"""Characters of a reason: a library that cannot be loaded may list every place it looked at."""
_CROWDED = 4
"""Workers for each core, at most."""
_PROBES_WITHIN = 3
"""So many probes of workers have room in the time that there is for them."""
CONTROL = "DALI again"
"""The same script beside itself: how far its ratio is from 1 is how far to trust the others'."""
PEERS = {peer.name: peer for peer in _peers()}


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
        files = sample_files(self.data)
        start = _module_of(self.peer).start
        workload: Workload = start(self.peer, self.program, files, self.batch_size, self.workers)
        return workload


def add_peers(
    experiment: SpeedExperiment,
    names: Sequence[str],
    devices: Sequence[DecodeDevice],
    catalog: Catalog,
    machine: Machine,
) -> tuple[list[ConfigJobs], list[Measurement], dict[str, Any]]:
    """Entries of the peers that can do an experiment's work, rows of those that cannot.

    The third is, for each that can, its version and how far its pixels lie from DALI's.
    """
    entries: list[ConfigJobs] = []
    refused: list[Measurement] = []
    facts: dict[str, Any] = {}
    for name in names:
        peer = PEERS[name]
        config = replace(config_of(experiment.graph, peer.device), program=name, pipelines=1)
        reason = "" if peer.device in devices else "its device was not asked for"
        if peer.device == "mixed" and machine.no_gpu:
            reason = machine.no_gpu
        elif find_spec(peer.needs[1]) is None:
            reason = f"{peer.needs[0]} is not installed"
        try:
            if reason:
                raise NoCounterpartError(reason)
            program = program_of(experiment.graph, catalog, OPERATORS, name)
            experiment.progress(0.0, f"comparing pixels: {name}")
            found = _pixels(experiment, catalog, peer)
        except CancelledError:
            raise
        except EngineError as error:
            words = without_traceback(error)
            words = words if len(words) < _LONG else f"{words[:_LONG]} …"
            refused.append(Measurement(config, reason=f"not measured: {words}"))
            continue
        facts[name] = {"version": _version(peer), "difference": asdict(found)}
        notes = () if found.is_same else (different_words(found),)

        def entry(
            workers: int, config: Config = config, peer: Peer = peer, program: Program = program,
            notes: tuple[str, ...] = notes,
        ) -> ConfigJobs:  # fmt: skip
            job = PeerJob(peer, program, experiment.data, config.batch_size, workers)
            own = replace(config, threads=workers)
            return ConfigJobs(own, (job,), notes=notes, decodes=False)

        best, facts[name]["workers"] = with_best_workers(
            experiment, entry, machine.cores, f"{name}: workers"
        )
        entries.append(best)
    return entries, refused, facts


def with_best_workers(
    experiment: SpeedExperiment,
    entry: Callable[[int], ConfigJobs],
    cores: int,
    words: str,
) -> tuple[ConfigJobs, dict[str, float | None]]:
    """The entry with the number of workers (or threads) that is fastest, and each that was tried.

    From all cores upwards as long as that brings more, else downwards, by twos. Where each has a
    limit, half of it is for this: all cores are tried, and others as long as there is time for one
    more.
    """
    tried: dict[int, float | None] = {}
    most = experiment.measurement_config.half().limit
    how = PROBE_CONFIG if most is None else replace(PROBE_CONFIG, limit=most / _PROBES_WITHIN)
    began, last = time.monotonic(), 0.0

    def rate(workers: int) -> float:
        nonlocal last
        start = time.monotonic()
        if workers not in tried and (not tried or most is None or start - began + last < most):
            progress = experiment.progress.part(0.0, 0.01, f"{words}: {workers}")
            best = max((one or 0.0 for one in tried.values()), default=0.0)
            tried[workers] = experiment.measure([entry(workers)], progress, how, best)[0].median
            last = time.monotonic() - start
        return tried.get(workers) or 0.0

    best = cores
    rate(best)
    for factor in (2.0, 0.5):
        while 1 <= (there := int(best * factor)) <= _CROWDED * cores and rate(there) > rate(best):
            best = there
        if best != cores:
            break
    told = ", ".join(f"{count}: {speed or 0:,.0f}" for count, speed in sorted(tried.items()))
    found = entry(best)
    found = replace(found, notes=(*found.notes, f"workers tried, imgs/s: {told}"))
    return found, {str(count): speed for count, speed in sorted(tried.items())}


def different_words(found: PixelDifference) -> str:
    """What is to be known of a peer whose pixels are too far from DALI's."""
    return (
        f"not the same augmentation: {found.mean:.3g} {found.unit} apart on average, and "
        f"{SAME[found.unit]:g} are allowed"
    )


def _pixels(experiment: SpeedExperiment, catalog: Catalog, peer: Peer) -> PixelDifference:
    """Raises NoCounterpartError where the peer's images have other shapes: that is other work."""
    graph = without_randomness(experiment.graph, catalog)
    program = program_of(graph, catalog, OPERATORS, peer.name)
    config: Config = replace(config_of(graph, "cpu"), batch_size=IMAGES)
    source = emit_script(with_config(graph, catalog, config), catalog)
    with experiment.progress.engine(experiment.stop) as engine:
        found = engine.call(compare_with_peer, source, program, peer, experiment.data, limit=LIMIT)
    if found is None:
        raise NoCounterpartError("its images have other shapes than DALI's")
    assert isinstance(found, PixelDifference)
    return found


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
    paths = sample_files(data)
    files = [paths[index % len(paths)] for index in range(len(ours))]
    theirs = _module_of(peer).images(peer, program, files)
    return compare_cpu_with_mixed(ours, theirs)


def _version(peer: Peer) -> str:
    """Of the package that brings the module: OpenCV comes in several."""
    packages = packages_distributions().get(peer.needs[1], ())
    return version(packages[0]) if packages else "unknown"
