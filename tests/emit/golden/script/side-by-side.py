"""Erases a square at a random position in each photo (Cutout, DeVries and Taylor 2017).

Yields images (float32 CHW [3, 224, 224]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

Usage: python pipe.py --data DIR [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 64
NUM_THREADS = 4
PIPELINES = 2
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


@pipeline_def
def cutout_pipeline(
    data: str, device: str, seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    jpegs, labels = fn.readers.file(
        file_root=data,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.random_resized_crop(
        images, size=SIZE, random_area=[0.35, 1.0], seed=seed + 1
    )
    anchor = fn.random.uniform(range=[0, 0.75], shape=[2], seed=seed + 2)
    images = fn.erase(
        images,
        shape=[0.25, 0.25],
        normalized=True,
        axis_names="HW",
        fill_value=[124, 116, 104],
        anchor=anchor,
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 3)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return images, labels


def cores_without_interrupts() -> set[int]:
    """The cores that this thread may run on, without those that GPUs interrupt.

    JPEG engines do so tens of thousands of times a second: a DALI thread would run at a third of
    its speed there.
    """
    cores = os.sched_getaffinity(0)
    with suppress(OSError, ValueError):  # not reported by this system
        for line in Path("/proc/interrupts").read_text().splitlines():
            words = line.split()
            # The first interrupt of a GPU: a device's numbers start at a multiple of 2048.
            if words[-1] == "nvidia" and int(words[-2].split("-")[0]) % 2048 == 0:
                place = Path("/proc/irq", words[0][:-1], "effective_affinity_list")
                cores.discard(int(place.read_text()))
    return cores or os.sched_getaffinity(0)


def build_pipelines(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> list[Pipeline]:
    """Return the built pipelines, each with one shard of the data: see ``in_turns``.

    ``num_threads`` are those of each; ``device`` says where images are decoded: cpu or mixed.
    """
    pipes = []
    for shard in range(PIPELINES):
        pipe = cutout_pipeline(
            data,
            device,
            seed + 100_000 * shard,  # different random values on each rank
            shard,
            PIPELINES,
            batch_size=batch_size,
            num_threads=num_threads,
            device_id=0 if device == "mixed" else None,
        )
        cores = os.sched_getaffinity(0)
        if device == "mixed":
            os.sched_setaffinity(0, cores_without_interrupts())
        try:
            pipe.build()  # DALI's threads start here, on the cores of this thread
        finally:
            os.sched_setaffinity(0, cores)
        pipes.append(pipe)
    return pipes


def in_turns(pipes: Sequence[Pipeline]) -> Iterator[tuple[Any, ...]]:
    """Yield batches: batch k is from pipeline k mod N; meanwhile all prepare their next ones."""
    for pipe in pipes:
        pipe.schedule_run()
    for pipe in cycle(pipes):
        yield pipe.share_outputs()
        pipe.release_outputs()
        pipe.schedule_run()


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the pipelines and print imgs/s.")
    parser.add_argument("--data", required=True, help="folder of images by class")
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="of each")
    parser.add_argument("--batches", type=int, default=50)
    args = parser.parse_args()

    pipes = build_pipelines(args.data, args.batch_size, args.threads, args.device)
    batches = in_turns(pipes)
    for _ in range(5 * PIPELINES):  # the first batches fill queues and allocate memory
        next(batches)
    t0 = time.perf_counter()
    for _ in range(args.batches):
        next(batches)
    print(f"{args.batches * args.batch_size / (time.perf_counter() - t0):.0f} imgs/s")


if __name__ == "__main__":
    main()
