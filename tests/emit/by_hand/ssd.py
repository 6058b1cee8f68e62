# mypy: ignore-errors
"""SSD300 detection of COCO, as NVIDIA's examples write it."""

import os

from nvidia.dali import fn, math, pipeline_def, types

MEAN = [0.0]
STD = [255.0]
OUTPUTS = ["images", "boxes", "labels"]


def clip_boxes(boxes):
    """random_bbox_crop accepts no box over the edge, which annotations have by rounding."""
    return math.clamp(boxes, 0.0, 1.0)


@pipeline_def
def train_pipeline(data, device, shard_id=0, num_shards=1):
    jpegs, boxes, labels = fn.readers.coco(
        annotations_file=data,
        file_root=os.path.join(os.path.dirname(data), "images"),
        ratio=True,
        ltrb=True,
        skip_empty=True,
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=True,
        pad_last_batch=True,
        name="Reader",
    )
    anchor, shape, boxes, labels = fn.random_bbox_crop(
        clip_boxes(boxes),
        labels,
        aspect_ratio=[0.5, 2.0],
        thresholds=[0, 0.1, 0.3, 0.5, 0.7, 0.9],
        scaling=[0.3, 1.0],
        bbox_layout="xyXY",
        allow_no_crop=True,
        num_attempts=1,
    )
    images = fn.decoders.image_slice(jpegs, anchor, shape, device=device, output_type=types.RGB)
    mirror = fn.random.coin_flip(probability=0.5)
    hue = fn.random.uniform(range=[-18, 18])
    saturation = fn.random.uniform(range=[0.5, 1.5])
    brightness = fn.random.uniform(range=[0.875, 1.125])
    contrast = fn.random.uniform(range=[0.5, 1.5])

    images = fn.flip(images, horizontal=mirror)
    boxes = fn.bb_flip(boxes, ltrb=True, horizontal=mirror)
    images = fn.resize(images, resize_x=300, resize_y=300)
    images = fn.hsv(images, dtype=types.FLOAT, hue=hue, saturation=saturation)
    images = fn.brightness_contrast(
        images,
        contrast_center=128,
        dtype=types.UINT8,
        brightness=brightness,
        contrast=contrast,
    )
    images = fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    return images, boxes, labels
