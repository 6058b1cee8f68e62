"""medical-gray: X-ray or microscopy: one channel, local contrast (CLAHE), a small turn,
mirror half.

Batches as JAX arrays, through DALI's own data iterator:

    for batch in make_iterator("DIR"):
        images = batch["images"]

Needs jax and nvidia-dali-cuda120.
"""

import os
from typing import Any

from nvidia.dali import fn, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.jax import DALIGenericIterator, data_iterator

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [256, 256]
CROP = [224, 224]
MEAN = [127.5]
STD = [63.75]
OUTPUTS = ["images", "labels"]


IMAGES = (
    ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pnm", ".ppm",
    ".pgm", ".pbm", ".jp2", ".webp",
)  # fmt: skip


def find_files(data: str) -> dict[str, Any]:
    """Arguments of the file reader for class folders, a flat folder of images, or a list.

    The list is DALI's ``file_list``, with a path and a label on each line. It may leave out
    what DALI does not decode: one such file ends the program.
    """
    if os.path.isfile(data):
        return {"file_list": data}
    entries = [entry for entry in os.scandir(data) if not entry.name.startswith(".")]
    if any(entry.is_dir() for entry in entries):
        return {"file_root": data}
    files = sorted(e.name for e in entries if e.name.lower().endswith(IMAGES))
    return {"file_root": data, "files": files, "labels": [0] * len(files)}


@data_iterator(output_map=OUTPUTS, reader_name="reader", auto_reset=True)
def medical_gray_iterator(
    data: str, device: str, base_seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    base_seed += 100_000 * shard_id  # shards draw apart
    jpegs, labels = fn.readers.file(
        **find_files(data),
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=base_seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.GRAY, device=device)
    images = fn.resize(images, size=SIZE)
    images = fn.clahe(images, clip_limit=2.0, tiles_x=8, tiles_y=8)
    angle = fn.random.uniform(range=[-7, 7], seed=base_seed + 1)
    images = fn.rotate(images, keep_size=True, fill_value=0, angle=angle)
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 2)
    images = fn.crop_mirror_normalize(
        images,
        crop=CROP,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return images, labels


def make_iterator(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    seed: int = SEED,
    shard_id: int = 0,
    num_shards: int = 1,
) -> DALIGenericIterator:
    """Batches as dictionaries of arrays: ``images``, ``labels``.

    Where an epoch ends, the last sample is
    repeated: every batch has the same shapes, as ``jit`` likes them.
    Labels have the shape [N, 1].
    """
    return medical_gray_iterator(
        data,
        DEVICE,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        prefetch_queue_depth=2,
        shard_id=shard_id,
        num_shards=num_shards,
        device_id=None,
    )
