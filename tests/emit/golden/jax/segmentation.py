"""segmentation: Semantic segmentation as torchvision trains DeepLabV3 (arXiv
1706.05587): 480 px, masks follow.

Batches as JAX arrays, through DALI's own data iterator:

    for batch in make_iterator("DIR"):
        images = batch["images"]

Needs jax and nvidia-dali-cuda120.
"""

import json
import os
from typing import Any

from nvidia.dali import fn, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.jax import DALIGenericIterator, data_iterator

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [480, 480]
MEAN = [123.675, 116.28, 103.53]
STD = [58.395, 57.12, 57.375]
OUTPUTS = ["images", "masks"]


def find_annotations(data: str) -> dict[str, Any]:
    """Arguments of the COCO reader for a file of annotations: the file, and its images' folder."""
    with open(data, encoding="utf-8") as file:
        images = json.load(file)["images"]
    beside = os.path.dirname(os.path.abspath(data))
    above = os.path.dirname(beside)
    named = os.path.splitext(os.path.basename(data))[0].rpartition("_")[2]
    places = [(beside, ""), (beside, "images"), (above, "images")]
    places += [(above, named), (beside, named)]
    folders = [os.path.join(*place) if place[1] else place[0] for place in places]
    first = images[0]["file_name"] if images else ""
    there = [each for each in folders if os.path.isfile(os.path.join(each, first))]
    return {"annotations_file": data, "file_root": [*there, beside][0]}


@data_iterator(output_map=OUTPUTS, reader_name="reader", auto_reset=True)
def segmentation_iterator(
    data: str, device: str, base_seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    base_seed += 100_000 * shard_id  # shards draw apart
    jpegs, _reader_boxes, _labels, masks = fn.readers.coco(
        **find_annotations(data),
        pixelwise_masks=True,
        skip_empty=True,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=base_seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    side = fn.random.uniform(range=[260, 1040], seed=base_seed + 1)
    resize = fn.resize(images, resize_shorter=side)
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 2)
    flip = fn.flip(resize, horizontal=mirror)
    pad = fn.pad(flip, axis_names="HW", shape=[480, 480])
    x = fn.random.uniform(range=[0, 1], seed=base_seed + 3)
    y = fn.random.uniform(range=[0, 1], seed=base_seed + 4)
    normalize = fn.crop_mirror_normalize(
        pad,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=CROP,
        mean=MEAN,
        std=STD,
        crop_pos_x=x,
        crop_pos_y=y,
    )
    # masks = follow_masks(masks, normalize)
    follow_masks_mask = fn.cast(masks, dtype=types.FLOAT)
    follow_masks_mask = fn.resize(
        follow_masks_mask, interp_type=types.INTERP_NN, resize_shorter=side
    )
    follow_masks_mask = fn.flip(follow_masks_mask, horizontal=mirror)
    follow_masks_mask = fn.pad(
        follow_masks_mask, axis_names="HW", shape=[480, 480], fill_value=0
    )
    follow_masks_mask = fn.crop(
        follow_masks_mask, crop=CROP, crop_pos_x=x, crop_pos_y=y
    )
    masks = fn.cast(follow_masks_mask, dtype=types.INT32)
    return normalize, masks


def make_iterator(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    seed: int = SEED,
    shard_id: int = 0,
    num_shards: int = 1,
) -> DALIGenericIterator:
    """Batches as dictionaries of arrays: ``images``, ``masks``.

    Where an epoch ends, the last sample is
    repeated: every batch has the same shapes, as ``jit`` likes them.
    """
    return segmentation_iterator(
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
