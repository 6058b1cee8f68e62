"""SSD on COCO: the COCO reader, a crop that keeps boxes, colour, boxes encoded on anchors.

``data_dir`` contains the photos, ``annotations`` is COCO's JSON next to them.
"""

import os

from nvidia.dali import fn, pipeline_def, types

ANCHORS = [0.0, 0.0, 0.5, 0.5, 0.25, 0.25, 0.75, 0.75, 0.5, 0.5, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=31)
def ssd(data_dir, annotations="annotations.json"):
    jpegs, boxes, classes = fn.readers.coco(
        file_root=data_dir,
        annotations_file=os.path.join(data_dir, annotations),
        ratio=True,
        ltrb=True,
        random_shuffle=True,
        seed=1,
        name="Reader",
    )
    begin, extent, boxes, classes = fn.random_bbox_crop(
        boxes,
        classes,
        aspect_ratio=[0.5, 2.0],
        thresholds=[0, 0.1, 0.3],
        scaling=[0.3, 1.0],
        bbox_layout="xyXY",
        num_attempts=20,
        seed=2,
    )
    images = fn.decoders.image_slice(jpegs, begin, extent, output_type=types.RGB)
    images = fn.resize(images, resize_x=75, resize_y=75, min_filter=types.INTERP_TRIANGULAR)
    images = fn.hsv(
        images,
        hue=fn.random.uniform(range=[-18.0, 18.0], seed=3),
        saturation=fn.random.uniform(range=[0.5, 1.5], seed=4),
        dtype=types.FLOAT,
    )
    coin = fn.random.coin_flip(seed=5)
    images = fn.crop_mirror_normalize(
        images, crop=(75, 75), mean=[104.0, 117.0, 123.0], std=[1.0, 1.0, 1.0], mirror=coin
    )
    boxes = fn.bb_flip(boxes, ltrb=True, horizontal=coin)
    boxes, classes = fn.box_encoder(boxes, classes, criteria=0.5, anchors=ANCHORS)
    return images, boxes, classes
