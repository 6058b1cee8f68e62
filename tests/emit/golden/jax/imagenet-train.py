"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

Batches as JAX arrays that are sharded over all devices, of this process and of the others:

    for batch in Loader("DIR", batch_size=64):
        ...

Needs jax and nvidia-dali-cuda120.
"""

from collections.abc import Iterator, Sequence

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.jax import DALIGenericIterator

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "labels"]


@pipeline_def
def imagenet_train_pipeline(
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
    images = fn.random_resized_crop(images, size=SIZE, seed=seed + 1)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return images, labels


def batch_sizes(meta: dict[str, int], epoch: int, batch_size: int) -> list[int]:
    """Return the number of samples in each batch of one epoch of a reader's shard.

    All ranks have the same number of steps, so none waits for another: if a shard would get an
    empty last batch, one sample of the previous batch moves there. With a batch size of 1 this is
    impossible: a shard with one sample less has one batch less.
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

    Each device reads one shard, with its own ``batch_size`` and ``num_threads``. Every batch
    has the same shapes, as ``jit`` requires: at the end of a shard its last sample is repeated.
    The boolean array ``valid`` marks the samples that count: each sample once per epoch, and with
    a batch size above 1 at least one of each device in every batch.
    Labels have shape [N].

    An unfinished epoch continues with the next ``iter``. A loader has one iterator at a time:
    an older one raises RuntimeError.
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
        self.shards = [everywhere.index(place) for place in self.devices]
        self.num_shards = len(everywhere)
        self._batch_size = batch_size
        pipes = [
            imagenet_train_pipeline(
                data,
                device,
                seed + 100_000 * shard_id,  # different random values on each rank
                shard_id,
                self.num_shards,
                batch_size=batch_size,
                num_threads=num_threads,
                device_id=place.local_hardware_id if device == "mixed" else None,
            )
            for shard_id, place in zip(self.shards, self.devices, strict=True)
        ]
        # One iterator per device: a common one would require one GPU per pipeline.
        self._iterators = [
            DALIGenericIterator([pipe], OUTPUTS, reader_name="reader", auto_reset=True)
            for pipe in pipes
        ]
        self._readers = [pipe.reader_meta("reader") for pipe in pipes]
        self._epoch, self._position = 0, 0  # and the next batch of it
        self._newest: object = None

    def __len__(self) -> int:
        return len(self._iterators[0])

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        self._newest = current = object()
        sizes = [
            batch_sizes(meta, self._epoch, self._batch_size) for meta in self._readers
        ]
        for number in range(self._position, len(self)):
            if self._newest is not current:
                raise RuntimeError("A newer iterator replaced this one. Use that one.")
            parts = [next(batches) for batches in self._iterators]
            self._position = number + 1
            if self._position == len(self):  # here: a break may follow the yield
                for batches in self._iterators:
                    next(batches, None)  # its epoch is over: it begins the next
                self._epoch, self._position = self._epoch + 1, 0
            batch = {name: self.join([p[name] for p in parts]) for name in OUTPUTS}
            batch["labels"] = batch["labels"].squeeze(-1)
            # With a batch size of 1 a shard can have one batch less.
            valid = [each[number] if number < len(each) else 0 for each in sizes]
            batch["valid"] = self.join([np.arange(self._batch_size) < n for n in valid])
            yield batch

    def join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        shape = (self.num_shards * self._batch_size, *parts[0].shape[1:])
        placed = list(map(jax.device_put, parts, self.devices))
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
