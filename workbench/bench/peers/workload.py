"""Batches of a peer as a workload, and how a failure of its library is reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from workbench.errors import DataError, EngineError
from workbench.sources import Datasets, every_sample, load_source


class PeerWorkload:
    """Endless batches of a peer. ``lead`` is the number of batches that may be ready."""

    def __init__(self, batches: Iterator[Any], lead: int) -> None:
        self._batches = batches
        self.lead = lead

    def run(self) -> int:
        """Take the next batch and return the number of its images."""
        with library_errors():
            return images_in(next(self._batches))


def images_in(batch: Any) -> int:
    """The number of images in a batch: an array, or several outputs of which the first counts.

    Raises EngineError if it cannot be counted.
    """
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    first = batch[0] if isinstance(batch, list | tuple) and batch else batch
    try:
        return len(first)
    except TypeError:
        raise EngineError(
            f"A batch is {type(batch).__name__}. Return a tuple of outputs, each with an entry "
            "for each image."
        ) from None


@contextmanager
def library_errors() -> Iterator[None]:
    """Turn any error of a library into an EngineError of one line.

    DataError is turned too: it would end the comparison, and the other programs may read the file.
    A worker process of PyTorch's DataLoader puts its error after its traceback.
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
    """The files of the data. Raises DataError if its samples are not files."""
    for dataset in data.values():
        kind = load_source(dataset.kind)
        if not kind.in_files:
            raise DataError(
                f"{dataset} is a {kind.about}: the other libraries are compared on files. Give a "
                "folder of images."
            )
    return [sample.path for sample in every_sample(data)]
