# mypy: ignore-errors
"""Key points of COCO: an affine map of image and points, a mirror, which points are seen."""

import json
import os
import tempfile

from nvidia.dali import fn, math, pipeline_def, types

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
SIDE = 512
FAR = -1e6
OUTPUTS = ["images", "points", "visible", "mirror"]


def write_outlines(data):
    """Write the annotations with key points as outlines, as DALI reads no key points."""
    with open(data, encoding="utf-8") as file:
        document = json.load(file)
    for annotation in document["annotations"]:
        points = []
        triples = iter(annotation["keypoints"])
        for x, y, labelled in zip(triples, triples, triples, strict=True):
            points += [x, y] if labelled else [FAR, FAR]
        annotation["segmentation"] = [points]
    handle, path = tempfile.mkstemp(suffix=".json")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


@pipeline_def
def train_pipeline(data, device, shard_id=0, num_shards=1):
    jpegs, _, _, _, points = fn.readers.coco(
        annotations_file=write_outlines(data),
        file_root=os.path.join(os.path.dirname(data), "images"),
        polygon_masks=True,
        skip_empty=True,
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=True,
        pad_last_batch=True,
        name="Reader",
    )
    images = fn.decoders.image(jpegs, device=device, output_type=types.RGB)
    zoom = fn.random.uniform(range=[0.75, 1.5])
    place = fn.random.uniform(range=[-0.2, 0.2], shape=[2])
    angle = fn.random.uniform(range=[-30, 30])
    mirror = fn.random.coin_flip(probability=0.5)

    shape = fn.cast(fn.peek_image_shape(jpegs), dtype=types.FLOAT)
    window = math.min(shape[0], shape[1]) * zoom
    centre = fn.stack(shape[1], shape[0]) / 2 + place * window
    scale = fn.stack(SIDE / window, SIDE / window)
    matrix = fn.transforms.translation(offset=-centre)
    matrix = fn.transforms.scale(matrix, scale=scale)
    matrix = fn.transforms.rotation(matrix, angle=angle)
    matrix = fn.transforms.translation(matrix, offset=[SIDE / 2, SIDE / 2])
    images = fn.warp_affine(
        images,
        size=[SIDE, SIDE],
        fill_value=0,
        inverse_map=False,
        matrix=matrix,
    )
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    points = fn.coord_transform(points, MT=matrix)
    inside = 1.0 * ((points >= 0.0) & (points <= float(SIDE)))
    visible = fn.reductions.min(inside, axes=1) > 0.5
    points = fn.coord_flip(points, flip_x=mirror, center_x=SIDE / 2)
    return images, points, visible, mirror
