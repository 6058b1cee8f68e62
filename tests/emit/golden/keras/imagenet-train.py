"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

Batches for Keras 3 on any backend:

    pipe = build_pipeline("DIR")
    model.fit(batches(pipe), steps_per_epoch=steps(pipe), epochs=10)

Images are (C, H, W): keras.config.set_image_data_format("channels_first") first, or let
the pipeline give HWC.

Needs keras with jax, torch or tensorflow, and nvidia-dali-cuda120.
"""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


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

    ``device`` is where images are decoded, cpu or mixed; ``device_id`` is the GPU.
    """
    pipe = imagenet_train_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # different random values on each rank
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
    )
    pipe.build()
    return pipe


def steps(pipe: Pipeline) -> int:
    """Batches of an epoch."""
    read = pipe.reader_meta("reader")
    samples = read["epoch_size_padded"] // read["number_of_shards"]
    return -(-samples // pipe.max_batch_size)


def batches(pipe: Pipeline) -> Iterator[tuple[Any, ...]]:
    """Endless batches: inputs and targets. At the end of an epoch its last sample is repeated."""
    while True:
        images, targets = map(to_tensor, pipe.run())
        yield images, targets.reshape(-1)


def to_tensor(batch: Any) -> Any:
    """Convert a DALI batch to a tensor of the backend, on the same device."""
    backend, tensor = keras.backend.backend(), batch.as_tensor()
    if backend == "torch":
        import torch

        return torch.from_dlpack(tensor)
    if backend == "jax":
        import jax

        return jax.dlpack.from_dlpack(tensor)
    # TensorFlow copies the output of a generator through the host.
    return np.array(batch.as_cpu().as_tensor())
