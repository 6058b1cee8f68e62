"""What peers share: batches of indices, and PyTorch's DataLoader with worker processes."""

from __future__ import annotations

import itertools
import random
import resource
from collections.abc import Callable, Iterator
from typing import Any

AHEAD = 2
"""Batches that each worker of the DataLoader has ready: its default ``prefetch_factor``."""


class EndlessBatchSampler:
    """Batches of indices, shuffled anew each epoch; the last batch goes on into the next epoch."""

    def __init__(self, count: int, batch_size: int) -> None:
        self._count, self._batch_size = count, batch_size

    def __iter__(self) -> Iterator[list[int]]:
        chance = random.Random(0)
        epochs = (chance.sample(range(self._count), self._count) for _ in itertools.count())
        indices = itertools.chain.from_iterable(epochs)
        while True:
            yield list(itertools.islice(indices, self._batch_size))


def stack_outputs(samples: list[list[Any]]) -> list[Any]:
    """Outputs of a batch (tensors or arrays), stacked where they have one shape."""
    import torch

    columns = [[torch.as_tensor(one) for one in column] for column in zip(*samples, strict=True)]
    return [
        torch.stack(column) if len({one.shape for one in column}) == 1 else column
        for column in columns
    ]


def allow_open_files() -> None:
    """Let this process have as many files open as it may.

    A tensor that comes from a worker is an open file: where those of a batch have several sizes,
    each of its images is one, and 1,024 (the usual limit) are soon reached by 16 workers.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class LoaderWorkload:
    """Batches of a DataLoader with worker processes. ``dataset[i]`` gives a sample's outputs.

    ``then`` is what the main process does with a batch.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        workers: int,
        collate: Callable[[list[Any]], Any] = stack_outputs,
        then: Callable[[Any], Any] = lambda batch: None,
    ) -> None:
        from torch.utils.data import DataLoader

        allow_open_files()
        sampler: Any = EndlessBatchSampler(len(dataset), batch_size)
        loader = DataLoader(
            dataset,
            batch_sampler=sampler,
            num_workers=workers,
            prefetch_factor=AHEAD,
            collate_fn=collate,
        )
        self._batches = iter(loader)
        self._size = batch_size
        self._then = then
        self.lead = AHEAD * workers + 1

    def run(self) -> int:
        self._then(next(self._batches))
        return self._size
