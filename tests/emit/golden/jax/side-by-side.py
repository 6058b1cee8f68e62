"""cutout: A square of each photo is erased, at a random place (Cutout, DeVries and
Taylor 2017).

Batches as JAX arrays that are split over all devices, of this process and of the others:

    for batch in Loader("DIR", batch_size=64):
        ...

Needs jax and nvidia-dali-cuda120.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.jax import DALIGenericIterator

BATCH_SIZE = 64
NUM_THREADS = 4
PIPELINES = 2
DEVICE = "cpu"
SEED = 42
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "labels"]


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

    JPEG engines do so tens of thousands of times a second: a thread of DALI would have a
    third of its speed there.
    """
    cores = os.sched_getaffinity(0)
    with suppress(OSError, ValueError):  # a system that does not tell
        for line in Path("/proc/interrupts").read_text().splitlines():
            words = line.split()
            # The first of a GPU's: a device's numbers begin at a multiple of 2048.
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
    shard_id: int = 0,
    num_shards: int = 1,
    device_id: int = 0,
) -> list[Pipeline]:
    """Return the built pipelines of one shard, which read a part of it each and take turns.

    ``num_threads`` are those of each; ``device`` says where images are decoded, cpu or mixed;
    ``device_id`` on which GPU.
    """
    pipes = []
    for shard in range(PIPELINES * shard_id, PIPELINES * (shard_id + 1)):
        pipe = cutout_pipeline(
            data,
            device,
            seed + 100_000 * shard,  # shards draw apart
            shard,
            PIPELINES * num_shards,
            batch_size=batch_size,
            num_threads=num_threads,
            device_id=device_id if device == "mixed" else None,
            prefetch_queue_depth=2,
        )
        cores = os.sched_getaffinity(0)
        if device == "mixed":
            os.sched_setaffinity(0, cores_without_interrupts())
        try:
            pipe.build()  # DALI's threads begin here, on the cores of this one
        finally:
            os.sched_setaffinity(0, cores)
        pipes.append(pipe)
    return pipes


class Loader:
    """Batches as dictionaries of arrays: ``images``, ``labels``.

    Each device has ``PIPELINES`` of them, which read one shard each, with ``batch_size`` and
    ``num_threads`` of their own: batch k is that of its pipeline k mod N, and meanwhile the
    others work on their next ones. Every batch has the same shapes, as ``jit`` likes them:
    where a shard ends, its last sample is repeated, and the boolean array ``valid`` says
    which samples count; in one epoch every one does once.
    Labels have the shape [N].
    """

    def __init__(
        self,
        data: str,
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
    ) -> None:
        self.devices, everywhere = jax.local_devices(), jax.devices()
        mesh = Mesh(everywhere, ("batch",))
        self.sharding = NamedSharding(mesh, PartitionSpec("batch"))
        numbers = [everywhere.index(place) for place in self.devices]
        self.shards = [PIPELINES * number for number in numbers]  # those of turn 0
        self.num_shards = PIPELINES * len(everywhere)
        self.batch_size = batch_size
        pipes = [  # those of each device
            build_pipelines(
                data,
                batch_size,
                num_threads,
                device,
                seed,
                number,
                len(everywhere),
                place.local_hardware_id or 0,
            )
            for number, place in zip(numbers, self.devices, strict=True)
        ]
        self.samples = pipes[0][0].reader_meta("reader")["epoch_size"]
        self.epoch, self.given = 0, 0  # batches of this epoch
        # An iterator for each pipeline: one for all of them would want a GPU for each.
        self.iterators = [
            [
                DALIGenericIterator(
                    [pipe], OUTPUTS, reader_name="reader", auto_reset=True
                )
                for pipe in turn
            ]
            for turn in zip(*pipes, strict=True)
        ]

    def __len__(self) -> int:
        return sum(len(turn[0]) for turn in self.iterators)

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        for number in range(self.given, len(self)):
            run, turn = divmod(number, PIPELINES)
            # With each epoch a reader goes on to the next shard.
            shards = (np.array(self.shards) + turn + self.epoch) % self.num_shards
            ends = (shards + 1) * self.samples // self.num_shards
            sizes = ends - shards * self.samples // self.num_shards
            parts = [next(batches) for batches in self.iterators[turn]]
            if number + PIPELINES >= len(self):
                for batches in self.iterators[turn]:
                    next(batches, None)  # its epoch is over: it begins the next
            batch = {name: self.join([p[name] for p in parts]) for name in OUTPUTS}
            batch["labels"] = batch["labels"].squeeze(-1)
            seen = run * self.batch_size + np.arange(self.batch_size)
            batch["valid"] = self.join([seen < size for size in sizes])
            self.given = number + 1
            yield batch
        self.epoch, self.given = self.epoch + 1, 0

    def join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        batch_size = self.batch_size * (self.num_shards // PIPELINES)
        placed = list(map(jax.device_put, parts, self.devices))
        shape = (batch_size, *parts[0].shape[1:])
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
