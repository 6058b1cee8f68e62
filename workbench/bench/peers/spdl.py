"""SPDL: its pipeline of threads and its decoder (FFmpeg's), with OpenCV's operators.

SPDL brings no augmentations of its own. It is imported in the worker only, where it is installed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.bench.peers.loader import AHEAD, EndlessBatchSampler
from workbench.bench.peers.opencv import operators
from workbench.bench.peers.program import Image, Peer, Program
from workbench.errors import EngineError

PEERS = (Peer("SPDL", "cpu", ("spdl", "spdl"), "SPDL", __name__),)


def decode(path: str, gray: bool) -> Image:
    """HWC, uint8, RGB or one channel."""
    import spdl.io

    try:
        packets = spdl.io.demux_image(path)
    except RuntimeError as error:
        if "libspdl" not in str(error):
            raise
        raise EngineError(
            "SPDL finds no shared libraries of FFmpeg. Install FFmpeg with them."
        ) from None
    words = spdl.io.get_filter_desc(packets, pix_fmt="gray" if gray else "rgb24")
    frames = spdl.io.decode_packets(packets, filter_desc=words)
    return np.array(spdl.io.to_numpy(spdl.io.convert_frames(frames)))


class SpdlWorkload:
    """Batches of a pipeline with so many threads."""

    def __init__(self, program: Program, files: list[str], batch_size: int, workers: int) -> None:
        import cv2
        from spdl.pipeline import PipelineBuilder

        cv2.setNumThreads(1)
        chance = random.Random(0)
        table = operators(chance)

        def indices() -> Iterator[str]:
            for batch in EndlessBatchSampler(len(files), batch_size):
                yield from (files[index] for index in batch)

        def one(path: str) -> list[Any]:
            return program.run(decode(path, program.gray), table, chance)

        def stack(samples: list[list[Any]]) -> list[Any]:
            return [
                np.stack(column) if len({each.shape for each in column}) == 1 else column
                for column in zip(*samples, strict=True)
            ]

        builder = PipelineBuilder().add_source(indices()).pipe(one, concurrency=workers)
        builder = builder.aggregate(batch_size).pipe(stack).add_sink(AHEAD)
        self._pipeline = builder.build(num_threads=workers + 1)
        self._pipeline.start()
        self._batches = iter(self._pipeline.get_iterator())
        self._size = batch_size
        self.lead = AHEAD + 2

    def run(self) -> int:
        next(self._batches)
        return self._size


def start(
    peer: Peer, program: Program, files: list[str], batch_size: int, workers: int
) -> SpdlWorkload:
    """Batches of the files."""
    return SpdlWorkload(program, files, batch_size, workers)


def images(peer: Peer, program: Program, files: list[str]) -> list[NDArray[Any]]:
    """The program's first output for each file, as arrays in DALI's layout."""
    chance = random.Random(0)
    table = operators(chance)
    made = [program.run(decode(file, program.gray), table, chance)[0] for file in files]
    return [np.atleast_3d(image) for image in made]
