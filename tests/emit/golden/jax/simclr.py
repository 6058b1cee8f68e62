"""simclr: SimCLR's two views (arXiv 2002.05709): crop, flip, jitter 0.8, grey 0.2, blur
0.5.

Batches as JAX arrays, through DALI's own data iterator:

    for batch in make_iterator("DIR"):
        images = batch["view_1"]

Needs jax and nvidia-dali-cuda120.
"""

import os
from typing import Any

from nvidia.dali import fn, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import do_not_convert
from nvidia.dali.plugin.jax import DALIGenericIterator, data_iterator

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [224, 224]
OUTPUTS = ["view_1", "view_2", "labels"]


IMAGES = (
    ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pnm", ".ppm",
    ".pgm", ".pbm", ".jp2", ".webp",
)  # fmt: skip


@do_not_convert
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
def simclr_iterator(
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
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=base_seed + 21,
    )
    mirror_1 = fn.random.coin_flip(probability=0.5, seed=base_seed + 22)
    view_1 = fn.flip(view_1, horizontal=mirror_1)
    with_jitter_1 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=base_seed + 23
    )
    brightness_1 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 24)
    contrast_1 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 25)
    saturation_1 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 26)
    hue_1 = fn.random.uniform(range=[-72, 72], seed=base_seed + 27)
    if with_jitter_1:
        view_1 = fn.color_twist(
            view_1,
            brightness=brightness_1,
            contrast=contrast_1,
            hue=hue_1,
            saturation=saturation_1,
        )
    with_gray_1 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=base_seed + 28
    )
    if with_gray_1:
        view_1 = fn.saturation(view_1, saturation=0)
    with_blur_1 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=base_seed + 29
    )
    sigma_1 = fn.random.uniform(range=[0.1, 2.0], seed=base_seed + 30)
    if with_blur_1:
        view_1 = fn.gaussian_blur(view_1, window_size=23, sigma=sigma_1)
    view_2 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=base_seed + 31,
    )
    mirror_2 = fn.random.coin_flip(probability=0.5, seed=base_seed + 32)
    view_2 = fn.flip(view_2, horizontal=mirror_2)
    with_jitter_2 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=base_seed + 33
    )
    brightness_2 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 34)
    contrast_2 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 35)
    saturation_2 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 36)
    hue_2 = fn.random.uniform(range=[-72, 72], seed=base_seed + 37)
    if with_jitter_2:
        view_2 = fn.color_twist(
            view_2,
            brightness=brightness_2,
            contrast=contrast_2,
            hue=hue_2,
            saturation=saturation_2,
        )
    with_gray_2 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=base_seed + 38
    )
    if with_gray_2:
        view_2 = fn.saturation(view_2, saturation=0)
    with_blur_2 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=base_seed + 39
    )
    sigma_2 = fn.random.uniform(range=[0.1, 2.0], seed=base_seed + 40)
    if with_blur_2:
        view_2 = fn.gaussian_blur(view_2, window_size=23, sigma=sigma_2)
    return view_1, view_2, labels


def make_iterator(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    seed: int = SEED,
    shard_id: int = 0,
    num_shards: int = 1,
) -> DALIGenericIterator:
    """Batches as dictionaries of arrays: ``view_1``, ``view_2``, ``labels``.

    Where an epoch ends, the last sample is
    repeated: every batch has the same shapes, as ``jit`` likes them.
    Labels have the shape [N, 1].
    """
    return simclr_iterator(
        data,
        DEVICE,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        prefetch_queue_depth=2,
        shard_id=shard_id,
        num_shards=num_shards,
        device_id=None,
        enable_conditionals=True,
    )
