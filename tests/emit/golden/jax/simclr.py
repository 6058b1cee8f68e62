"""simclr: SimCLR's two views (arXiv 2002.05709): crop, flip, jitter 0.8, grey 0.2, blur
0.5.

Batches as JAX arrays that are split over all devices, of this process and of the others:

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
SEED = 42
SIZE = [224, 224]
OUTPUTS = ["view_1", "view_2", "labels"]


def augment(images: DataNode, seed: int) -> DataNode:
    images = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=seed,
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 1)
    images = fn.flip(images, horizontal=mirror)
    with_jitter = fn.random.coin_flip(probability=0.8, dtype=types.BOOL, seed=seed + 2)
    brightness = fn.random.uniform(range=[0.2, 1.8], seed=seed + 3)
    contrast = fn.random.uniform(range=[0.2, 1.8], seed=seed + 4)
    saturation = fn.random.uniform(range=[0.2, 1.8], seed=seed + 5)
    hue = fn.random.uniform(range=[-72, 72], seed=seed + 6)
    if with_jitter:
        images = fn.color_twist(
            images,
            brightness=brightness,
            contrast=contrast,
            hue=hue,
            saturation=saturation,
        )
    with_gray = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 7)
    if with_gray:
        images = fn.saturation(images, saturation=0)
    with_blur = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 8)
    sigma = fn.random.uniform(range=[0.1, 2.0], seed=seed + 9)
    if with_blur:
        images = fn.gaussian_blur(images, window_size=23, sigma=sigma)
    return images


@pipeline_def(enable_conditionals=True)
def simclr_pipeline(
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
    view_1 = augment(images, seed + 21)
    view_2 = augment(images, seed + 31)
    return view_1, view_2, labels


class Loader:
    """Batches as dictionaries of arrays: ``view_1``, ``view_2``, ``labels``.

    Each device reads one shard, with ``batch_size`` and ``num_threads`` of its own. Every
    batch has the same shapes, as ``jit`` likes them: where a shard ends, its last sample is
    repeated, and the boolean array ``valid`` says which samples count; in one epoch every
    sample does once.
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
        self.shards = [everywhere.index(place) for place in self.devices]
        self.num_shards = len(everywhere)
        self.batch_size = batch_size
        pipes = [
            simclr_pipeline(
                data,
                device,
                seed + 100_000 * shard_id,  # shards draw apart
                shard_id,
                self.num_shards,
                batch_size=batch_size,
                num_threads=num_threads,
                device_id=place.local_hardware_id if device == "mixed" else None,
                prefetch_queue_depth=2,
            )
            for shard_id, place in zip(self.shards, self.devices, strict=True)
        ]
        # An iterator for each device: one for all of them would want a GPU for each.
        self.iterators = [
            DALIGenericIterator([pipe], OUTPUTS, reader_name="reader", auto_reset=True)
            for pipe in pipes
        ]
        self.samples = pipes[0].reader_meta("reader")["epoch_size"]
        self.epoch, self.seen = 0, 0  # samples of each shard in this epoch

    def __len__(self) -> int:
        return len(self.iterators[0])

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        # With each epoch a reader goes on to the next shard.
        shards = (np.array(self.shards) + self.epoch) % self.num_shards
        ends = (shards + 1) * self.samples // self.num_shards
        sizes = ends - shards * self.samples // self.num_shards
        # Strict, so that each of them is asked for its end, where it begins anew.
        for parts in zip(*self.iterators, strict=True):
            batch = {name: self.join([p[name] for p in parts]) for name in OUTPUTS}
            batch["labels"] = batch["labels"].squeeze(-1)
            numbers = np.arange(self.seen, self.seen + self.batch_size)
            batch["valid"] = self.join([numbers < size for size in sizes])
            self.seen += self.batch_size
            yield batch
        self.epoch, self.seen = self.epoch + 1, 0

    def join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        shape = (self.num_shards * self.batch_size, *parts[0].shape[1:])
        placed = list(map(jax.device_put, parts, self.devices))
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
