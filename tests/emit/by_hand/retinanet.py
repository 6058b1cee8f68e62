# mypy: ignore-errors
"""RetinaNet detection of COCO: mirrored, 800 pixels, boxes in pixels."""

import os

from nvidia.dali import fn, pipeline_def, types

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "boxes", "labels"]


@pipeline_def
def train_pipeline(data, device, shard_id=0, num_shards=1):
    jpegs, boxes, labels = fn.readers.coco(
        annotations_file=data,
        file_root=os.path.join(os.path.dirname(data), "images"),
        ltrb=True,
        ratio=True,
        include_iscrowd=False,
        skip_empty=True,
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=True,
        pad_last_batch=True,
        name="Reader",
    )
    images = fn.decoders.image(jpegs, device=device, output_type=types.RGB)
    mirror = fn.random.coin_flip(probability=0.5)
    images = fn.flip(images, horizontal=mirror)
    boxes = fn.bb_flip(boxes, ltrb=True, horizontal=mirror)
    images = fn.resize(images, resize_shorter=800, max_size=1333)
    height, width = images.shape()[0], images.shape()[1]
    boxes *= fn.cast(fn.stack(width, height, width, height), dtype=types.FLOAT)
    images = fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    return images, boxes, labels
