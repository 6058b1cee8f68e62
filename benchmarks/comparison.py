"""Compare two programs in interleaved rounds of one run, so that other load affects both.

Both are built several times: on a shared machine the same pipeline built twice differs by up to a
quarter (by where its memory and threads are placed). The median over the builds counts.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.conftest import Table

BUILDS = 9
ROUNDS = 3
SECONDS = 0.7
SAMPLES = 400
"""Minimum samples per round: the cost of a sample depends on its random values, by up to 16 times
in ``segmentation``, whose ratios scattered from 0.9 to 1.3 with the 80 samples of 0.7 seconds.
"""

Streams = Mapping[str, Callable[[], Iterator[int]]]
"""Name of each of two programs -> its builder: an iterator over the sizes of batches."""


def bare(pipe: Any) -> Iterator[int]:
    """The sizes of a pipeline's batches."""
    while True:
        yield len(pipe.run()[0])


def loaded(loader: Any) -> Iterator[int]:
    """The sizes of a loader's batches, epoch after epoch, once they are computed."""
    while True:
        for batch in loader:
            tensors = list(batch.values())
            for tensor in tensors:
                getattr(tensor, "block_until_ready", lambda: None)()  # of JAX
            yield len(tensors[0])


def add_comparison(
    table: Table,
    what: str,
    streams: Streams,
    settings: str = "",
    builds: int = BUILDS,
    finish: Callable[[], object] = lambda: None,
) -> None:
    """Add imgs/s of both programs, and the ratio of the first to the second."""
    figures = in_turns(streams, finish, builds)
    for name, values in figures.items():
        table.add(f"{what}, {name}{settings}", values, "imgs/s")
    ours, theirs = figures
    ratios = [a / b for a, b in zip(figures[ours], figures[theirs], strict=True)]
    row = table.add(f"{what}, {ours} / {theirs}{settings}", ratios, "x", "to reach: 0.97")
    assert row.runs == builds


def in_turns(streams: Streams, finish: Callable[[], object], builds: int) -> dict[str, list[float]]:
    """imgs/s of each program, a median for each build. ``finish`` waits until all is computed."""
    figures: dict[str, list[float]] = {name: [] for name in streams}
    order = random.Random(0)
    for _ in range(builds):
        built = {name: streams[name]() for name in order.sample(list(streams), 2)}
        rounds: dict[str, list[float]] = {name: [] for name in streams}
        for stream in built.values():
            for _ in range(8):
                next(stream)
        for _ in range(ROUNDS):
            for name in order.sample(list(built), 2):
                rounds[name].append(imgs_per_s(built[name], finish))
        for name, values in rounds.items():
            figures[name].append(statistics.median(values))
    return figures


def imgs_per_s(stream: Iterator[int], finish: Callable[[], object]) -> float:
    """imgs/s of one round."""
    for _ in range(4):  # what was made in the other's turn: a loader makes one batch more ahead
        next(stream)
    finish()
    samples = 0
    start = time.perf_counter()
    while samples < SAMPLES or time.perf_counter() - start < SECONDS:
        samples += next(stream)
    finish()
    return samples / (time.perf_counter() - start)
