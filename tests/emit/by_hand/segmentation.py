# mypy: ignore-errors
"""Semantic segmentation of COCO: images and masks with the same resize, mirror and crop."""

import os

from nvidia.dali import fn, pipeline_def, types

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "masks"]


@pipeline_def
def train_pipeline(data, device, shard_id=0, num_shards=1):
    jpegs, _, _, masks = fn.readers.coco(
        annotations_file=data,
        file_root=os.path.join(os.path.dirname(data), "images"),
        pixelwise_masks=True,
        skip_empty=True,
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=True,
        pad_last_batch=True,
        name="Reader",
    )
    images = fn.decoders.image(jpegs, device=device, output_type=types.RGB)
    side = fn.random.uniform(range=[260, 1040])
    mirror = fn.random.coin_flip(probability=0.5)
    x, y = fn.random.uniform(range=[0, 1]), fn.random.uniform(range=[0, 1])

    images = fn.resize(images, resize_shorter=side)
    images = fn.flip(images, horizontal=mirror)
    images = fn.pad(images, axis_names="HW", shape=[480, 480])
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=[480, 480],
        crop_pos_x=x,
        crop_pos_y=y,
        mean=MEAN,
        std=STD,
    )
    masks = fn.cast(masks, dtype=types.FLOAT)  # DALI resizes no int32
    masks = fn.resize(masks, resize_shorter=side, interp_type=types.INTERP_NN)
    masks = fn.flip(masks, horizontal=mirror)
    masks = fn.pad(masks, axis_names="HW", shape=[480, 480], fill_value=255)  # ignored
    masks = fn.crop(masks, crop=[480, 480], crop_pos_x=x, crop_pos_y=y)
    masks = fn.cast(masks, dtype=types.INT32)
    return images, masks


@pipeline_def
def val_pipeline(data, device, shard_id=0, num_shards=1):
    jpegs, _, _, masks = fn.readers.coco(
        annotations_file=data,
        file_root=os.path.join(os.path.dirname(data), "images"),
        pixelwise_masks=True,
        skip_empty=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        name="Reader",
    )
    images = fn.decoders.image(jpegs, device=device, output_type=types.RGB)
    images = fn.resize(images, resize_shorter=650)
    images = fn.pad(images, axis_names="HW", shape=[480, 480])
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=[480, 480],
        mean=MEAN,
        std=STD,
    )
    masks = fn.cast(masks, dtype=types.FLOAT)  # DALI resizes no int32
    masks = fn.resize(masks, resize_shorter=650, interp_type=types.INTERP_NN)
    masks = fn.pad(masks, axis_names="HW", shape=[480, 480], fill_value=255)  # ignored
    masks = fn.crop(masks, crop=[480, 480])
    masks = fn.cast(masks, dtype=types.INT32)
    return images, masks
