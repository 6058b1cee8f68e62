"""cutout: A square of each photo is erased, at a random place (Cutout, DeVries and
Taylor 2017).

DALI reads hidden folders such as .ipynb_checkpoints as classes. If the folder of the
data has some, export again with it as data: the code then skips them.

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


def batch_sizes(meta: dict[str, int], epoch: int, batch_size: int) -> list[int]:
    """Return the number of samples in each batch of one epoch of a reader's shard.

    All shards have the same number of batches, and no batch is empty: where the last one
    would be, the batch before it leaves it one sample. With a batch size of 1 this is not
    possible: a shard that has one sample less has one batch less.
    """
    samples, shards = meta["epoch_size"], meta["number_of_shards"]
    # A reader moves to the next shard after each epoch.
    shard = (meta["shard_id"] + (0 if meta["stick_to_shard"] else epoch)) % shards
    size = (shard + 1) * samples // shards - shard * samples // shards
    sizes = [min(batch_size, size - start) for start in range(0, size, batch_size)]
    if batch_size > 1 and size % batch_size == 0 and size * shards < samples:
        sizes[-1:] = [batch_size - 1, 1]  # another shard has one sample more
    return sizes


class Loader:
    """Batches as dictionaries of arrays: ``images``, ``labels``.

    Each device has ``PIPELINES`` of them, which read one shard each, with ``batch_size`` and
    ``num_threads`` of their own: batch k is that of its pipeline k mod N, and meanwhile the
    others work on their next ones. Every batch has the same shapes, as ``jit`` needs them:
    where a shard ends, its last sample is repeated, and the boolean array ``valid`` marks the
    samples that count: each one once in an epoch, and at least one in every batch.
    Labels have the shape [N].

    An epoch that is left early continues with the next ``iter``. One loader has one iterator
    at a time: the older one raises RuntimeError.
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
        self.numbers = [everywhere.index(place) for place in self.devices]
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
            for number, place in zip(self.numbers, self.devices, strict=True)
        ]
        # Those of all shards: device k has PIPELINES of them, one for each turn.
        meta, shards = pipes[0][0].reader_meta("reader"), range(self.num_shards)
        self.metas = [{**meta, "shard_id": shard} for shard in shards]
        self.epoch, self.given = 0, 0  # batches of this epoch
        self.newest: object = None
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

    def sizes(self) -> list[list[list[int]]]:
        """Return the number of samples in each batch of this epoch: turn -> device -> batch."""
        every = [batch_sizes(meta, self.epoch, self.batch_size) for meta in self.metas]
        return [every[turn::PIPELINES] for turn in range(PIPELINES)]

    def __len__(self) -> int:
        return sum(max(map(len, turn)) for turn in self.sizes())

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        self.newest = current = object()
        sizes = self.sizes()
        counts = [max(map(len, turn)) for turn in sizes]
        order = [
            (turn, run)
            for run in range(max(counts))
            for turn in range(PIPELINES)
            if run < counts[turn]
        ]
        for turn, run in order[self.given :]:
            if self.newest is not current:
                raise RuntimeError("a newer iterator has replaced this one")
            parts = [next(batches) for batches in self.iterators[turn]]
            if run + 1 == counts[turn]:
                for batches in self.iterators[turn]:
                    while next(batches, None):
                        pass  # its epoch is over: it begins the next
            self.given += 1
            if self.given == len(order):  # a consumer may stop here
                self.epoch, self.given = self.epoch + 1, 0
            batch = {name: self.join([p[name] for p in parts]) for name in OUTPUTS}
            batch["labels"] = batch["labels"].squeeze(-1)
            own = [sizes[turn][number] for number in self.numbers]
            # With batches of 1 sample a shard can have a batch less.
            valid = [each[run] if run < len(each) else 0 for each in own]
            batch["valid"] = self.join([np.arange(self.batch_size) < n for n in valid])
            yield batch

    def join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        batch_size = self.batch_size * (self.num_shards // PIPELINES)
        placed = list(map(jax.device_put, parts, self.devices))
        shape = (batch_size, *parts[0].shape[1:])
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
