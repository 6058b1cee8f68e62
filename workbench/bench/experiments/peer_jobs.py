"""Define jobs that run a peer library in a worker: an exported module, or a user's function."""

from __future__ import annotations

import itertools
import os
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.bench.measuring.config import Config, with_config
from workbench.catalog.spec import Value
from workbench.emit.core.code import Code
from workbench.emit.targets import export_resolved
from workbench.engine.protocol.registry import sendable
from workbench.errors import DataError, EngineError
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import ORDER_OPTIONS, Datasets, every_sample, load_source

# Batches of a peer as a workload, and error reports of its library.


class PeerWorkload:
    """Endless batches of a peer library. ``lead`` is the maximum number of prefetched batches."""

    def __init__(self, batches: Iterator[Any], lead: int) -> None:
        self._batches = batches
        self.lead = lead

    def run(self) -> int:
        """Fetch the next batch and return its number of images."""
        with library_errors():
            return images_in(next(self._batches))


def images_in(batch: Any) -> int:
    """Return the number of images in a batch, which is an array or several outputs.

    Raises EngineError if the number cannot be determined.
    """
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    first = batch[0] if isinstance(batch, list | tuple) and batch else batch
    try:
        return len(first)
    except TypeError:
        raise EngineError(
            f"A batch has type {type(batch).__name__!r}, not tuple. Return a tuple of outputs, "
            "each with one entry per image."
        ) from None


@contextmanager
def library_errors() -> Iterator[None]:
    """Convert any error of a library in this context to a one-line EngineError.

    DataError is converted too: it would stop the comparison, although other programs may be able to
    read the file. For an error in a DataLoader's worker process, the traceback is omitted.
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


def sample_files(data: Datasets) -> list[str]:
    """Return the paths of the data files. Raises DataError if the samples are not files."""
    for dataset in data.values():
        kind = load_source(dataset.kind)
        if not kind.in_files:
            raise DataError(
                f"{dataset} is a {kind.about}, but other libraries are compared on files. "
                "Use a folder of images."
            )
    return [sample.path for sample in every_sample(data)]


# Any other library as a peer: a user's function, named ``module:function``.
#
# It is called in the worker as ``function(files, batch_size, threads)``: image paths, images per
# batch, and the number of threads or worker processes. It returns an iterable of batches, each a
# tuple of outputs (arrays, tensors or lists) with one entry per image. When the iterable ends, the
# function is called again.

OWN_WORK = "not compared: the peer is your own function"
_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_AHEAD = 2
"""Number of prefetched batches per worker: the default ``prefetch_factor`` of PyTorch's
DataLoader.
"""

Factory = Callable[[list[str], int, int], Iterable[Any]]


def is_factory(name: str) -> bool:
    """Return whether a name refers to a user's factory, such as ``my_peers:opencv``."""
    return _NAME.fullmatch(name) is not None


@sendable
@dataclass(frozen=True, slots=True)
class FactoryJob:
    """Job that iterates over the batches of a user's factory.

    The factory's module is imported from ``folder`` if it is there.
    """

    name: str
    folder: str
    data: Datasets
    batch_size: int
    workers: int

    @classmethod
    def here(cls, name: str, data: Datasets, batch_size: int, workers: int) -> FactoryJob:
        """Create a job for a factory in a module of the current folder or an installed package."""
        return cls(name, os.getcwd(), data, batch_size, workers)

    def start(self) -> PeerWorkload:
        """Call the factory. Raises EngineError for any error in it."""
        with library_errors():
            factory = self._factory()
            files = sample_files(self.data)
            batches = _repeat_batches(
                self.name, lambda: factory(files, self.batch_size, self.workers)
            )
        return PeerWorkload(batches, _AHEAD * self.workers + 1)

    def _factory(self) -> Factory:
        module, _, function = self.name.partition(":")
        if self.folder not in sys.path:
            sys.path.insert(0, self.folder)
        found = getattr(import_module(module), function, None)
        if not callable(found):
            raise EngineError(
                f"The module {module!r} has no function {function!r}. Pass a function as "
                "module:function."
            )
        factory: Factory = found
        return factory


def _repeat_batches(name: str, make: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    while True:
        batch = None
        for batch in make():
            yield batch
        if batch is None:
            raise EngineError(f"{name!r} yielded no batches. Yield one tuple of outputs per batch.")


# The exported module of a graph as a peer: its dataset and transforms, in endless batches.
#
# Its library is imported only in the worker.


def exported_module(resolved: ResolvedGraph, target: str, config: Config) -> Code:
    """Return the module exported for a target, with the settings of a configuration.

    Raises GraphError if the graph has faults, or cannot be exported to the target.
    """
    return export_resolved(with_config(resolved, config).sound(), target, {}).main


@sendable
@dataclass(frozen=True, slots=True)
class ExportedJob:
    """Job that runs an exported module on the files of a dataset."""

    module: Code
    data: Datasets
    batch_size: int
    workers: int

    def start(self) -> PeerWorkload:
        """Start the worker processes. Raises EngineError for any error of the library."""
        with library_errors():
            loader = self._loader()
        return PeerWorkload(iter(loader), _AHEAD * self.workers + 1)

    def _loader(self) -> Any:
        """Return the module's loader, changed to continue from one epoch into the next."""
        from torch.utils.data import DataLoader

        made = _loader_of(self.module, sample_files(self.data), self.batch_size, self.workers)
        sampler: Any = EndlessBatchSampler(len(made.dataset), self.batch_size)
        return DataLoader(
            made.dataset,
            batch_sampler=sampler,
            num_workers=self.workers,
            worker_init_fn=made.worker_init_fn,
            generator=made.generator,
            multiprocessing_context="fork" if self.workers else None,
        )


class EndlessBatchSampler:
    """Yields batches of indices, reshuffled each epoch. A batch may span two epochs."""

    def __init__(self, count: int, batch_size: int) -> None:
        self._count, self._batch_size = count, batch_size

    def __iter__(self) -> Iterator[list[int]]:
        rng = random.Random(0)
        epochs = (rng.sample(range(self._count), self._count) for _ in itertools.count())
        indices = itertools.chain.from_iterable(epochs)
        while True:
            yield list(itertools.islice(indices, self._batch_size))


def first_outputs(module: Code, files: Sequence[str]) -> list[NDArray[Any]]:
    """Return the first output of an exported module for each file."""
    samples = _loader_of(module, files, 1, 0).dataset
    return [np.atleast_3d(np.asarray(samples[index][0])) for index in range(len(files))]


def _loader_of(source: Code, files: Sequence[str], batch_size: int, workers: int) -> Any:
    """Return the module's loader for these files instead of a folder.

    Threads of OpenCV and torch are disabled: a worker process must use only one core, and a process
    forked from one that has such threads can deadlock.
    """
    import torch

    torch.set_num_threads(1)
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # it checks the network for updates
    if find_spec("cv2") is not None:
        import cv2

        cv2.setNumThreads(0)
    module: Any = ModuleType("dataset")
    exec(compile(source.text, "dataset.py", "exec", dont_inherit=True), module.__dict__)
    module.class_folders = lambda folder: []
    module.named_files = lambda folder, endings: [(file, 0) for file in files]
    return module.make_loader(str(Path.cwd()), batch_size=batch_size, num_workers=workers)


def without_randomness(resolved: ResolvedGraph) -> Graph:
    """Return a graph without random values and with image outputs only, to compare its pixels.

    A random number becomes the value at three quarters of its range (mid-range values often have no
    effect and would hide a wrong sign), and a coin flip becomes 1. A random crop becomes the whole
    image, because its position cannot be fixed. Files are read in order.
    """
    graph = resolved.graph
    fixed: dict[str, Value] = {}
    for node in graph.nodes:
        if node.op == "random.coin_flip":
            fixed[node.id] = 1
        elif node.op == "random.uniform":
            values = node.args.get("values") or node.args.get("range") or (-1.0, 1.0)
            assert isinstance(values, Sequence)
            numbers = [float(v) for v in values if isinstance(v, int | float)]
            low, high = numbers[0], numbers[-1]
            fixed[node.id] = low if "values" in node.args else low + 0.75 * (high - low)
    nodes = tuple(_without_random_arguments(resolved, node, fixed) for node in graph.nodes)
    outputs: Mapping[str, Port] = resolved.images
    return replace(graph, nodes=nodes, outputs=outputs)


def _without_random_arguments(
    resolved: ResolvedGraph, node: Node, fixed: Mapping[str, Value]
) -> Node:
    numbers = {
        name: fixed[port.node]
        for name, port in node.inputs.items()
        if port.node in fixed and name in resolved.spec(node).args
    }
    args = {**node.args, **numbers}
    if node.op == "random_resized_crop":
        node = replace(node, op="resize", seed=None)
        args = {"size": args["size"]}
    if isinstance(node, Source):
        args = {name: value for name, value in args.items() if name not in ORDER_OPTIONS}
    inputs = {name: port for name, port in node.inputs.items() if name not in numbers}
    return replace(node, args=args, inputs=inputs)
