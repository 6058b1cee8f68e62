"""simclr: SimCLR's two views (arXiv 2002.05709): crop, flip, jitter 0.8, grey 0.2, blur
0.5.

DALI reads hidden folders such as .ipynb_checkpoints as classes. If the folder of the
data has some, export again with it as data: the code then skips them.

Batches for Keras 3 on any backend:

    pipe = build_pipeline("DIR")
    model.fit(batches(pipe), steps_per_epoch=steps(pipe), epochs=10)

Needs keras with jax, torch or tensorflow, and nvidia-dali-cuda120.
"""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline

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


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
    shard_id: int = 0,
    num_shards: int = 1,
    device_id: int = 0,
) -> Pipeline:
    """Return the built pipeline of one shard.

    ``device`` says where images are decoded, cpu or mixed; ``device_id`` on which GPU.
    """
    pipe = simclr_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # shards draw apart
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
        prefetch_queue_depth=2,
    )
    pipe.build()
    return pipe


def steps(pipe: Pipeline) -> int:
    """Batches of an epoch."""
    read = pipe.reader_meta("reader")
    samples = read["epoch_size_padded"] // read["number_of_shards"]
    return -(-samples // pipe.max_batch_size)


def batches(pipe: Pipeline) -> Iterator[tuple[Any, ...]]:
    """Batches without end: inputs and targets. Where an epoch ends, its last sample is repeated."""
    while True:
        batch = dict(zip(OUTPUTS, map(to_tensor, pipe.run()), strict=True))
        targets = batch.pop("labels").reshape(-1)
        yield batch, targets


def to_tensor(batch: Any) -> Any:
    """A batch of DALI as the backend has it, where it lies: on the GPU it stays there."""
    backend, tensor = keras.backend.backend(), batch.as_tensor()
    if backend == "torch":
        import torch

        return torch.from_dlpack(tensor)
    if backend == "jax":
        import jax

        return jax.dlpack.from_dlpack(tensor)
    # TensorFlow takes what a generator gives through the host.
    return np.array(batch.as_cpu().as_tensor())
