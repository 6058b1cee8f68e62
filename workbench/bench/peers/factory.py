"""Any other library as a peer: a function of the user's own, named ``module:function``.

It is called in the worker as ``function(files, batch_size, threads)``: paths of the images, images
in a batch, and how many threads or worker processes it may use. It returns an iterable of batches,
each a tuple of outputs (arrays, tensors or lists) with an entry for each image. When its batches
end it is called again.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from workbench.bench.peers.workload import PeerWorkload, library_errors, sample_files
from workbench.engine.protocol.registry import sendable
from workbench.errors import EngineError
from workbench.sources import Datasets

OWN_WORK = "not compared: the peer is a function of your own, which decides what it does"
_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_AHEAD = 2

Factory = Callable[[list[str], int, int], Iterable[Any]]


def is_factory(name: str) -> bool:
    """True for a name such as ``my_peers:opencv``."""
    return _NAME.fullmatch(name) is not None


@sendable
@dataclass(frozen=True, slots=True)
class FactoryJob:
    """A factory that reads the files of a data set. ``folder`` is searched for its module first."""

    name: str
    folder: str
    data: Datasets
    batch_size: int
    workers: int

    @classmethod
    def here(cls, name: str, data: Datasets, batch_size: int, workers: int) -> FactoryJob:
        """The job for a module of the current folder, or of an installed package."""
        return cls(name, os.getcwd(), data, batch_size, workers)

    def start(self) -> PeerWorkload:
        """Call the factory. Raises EngineError for any error of it."""
        with library_errors():
            factory = self._factory()
            files = sample_files(self.data)
            batches = _endless(self.name, lambda: factory(files, self.batch_size, self.workers))
        return PeerWorkload(batches, _AHEAD * self.workers + 1)

    def _factory(self) -> Factory:
        module, _, function = self.name.partition(":")
        if self.folder not in sys.path:
            sys.path.insert(0, self.folder)
        found = getattr(import_module(module), function, None)
        if not callable(found):
            raise EngineError(f"{module} has no function {function}")
        factory: Factory = found
        return factory


def _endless(name: str, make: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    while True:
        batch = None
        for batch in make():
            yield batch
        if batch is None:
            raise EngineError(f"{name} returned no batch")
