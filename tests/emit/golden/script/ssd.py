"""ssd: SSD300 detection as NVIDIA trains it (arXiv 1512.02325): crops by overlap,
colour, mirror.

Usage: python pipe.py --data COCO.json [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import json
import pathlib
import time
from typing import Any

from nvidia.dali import fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline

BATCH_SIZE = 32
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
MEAN = [0.0]
STD = [255.0]


def find_annotations(data: str) -> dict[str, str]:
    """Arguments of the COCO reader for a file of annotations: the file, and its images' folder."""
    file = pathlib.Path(data).absolute()
    names = [i.get("file_name", "") for i in json.loads(file.read_bytes())["images"]]
    beside, above, split = file.parent, file.parent.parent, file.stem.rpartition("_")[2]
    folders = (beside, beside / "images", above / "images", above / split, beside / split)
    found = max(folders, key=lambda f: sum((f / name).is_file() for name in names[:100]))
    return {"annotations_file": data, "file_root": str(found)}


def clip_boxes(boxes: Any, axes: int = 2) -> Any:
    """Clip boxes (starts, ends) to the image: random_bbox_crop accepts no others.

    Boxes outside the image or in pixels are not clipped, so DALI raises for them.
    """
    starts, ends = boxes[:, :axes], boxes[:, axes:]
    before = math.min(math.min(starts + 1.0, ends), 0.0)
    after = math.max(math.max(ends - 1.0, starts) - 1.0, 0.0)
    low, high = math.max(starts, 0.0) + before, math.min(ends, 1.0) + after
    return fn.cat(low, high, axis=1)


@pipeline_def
def ssd_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, boxes, labels = fn.readers.coco(
        **find_annotations(data),
        ratio=True,
        ltrb=True,
        skip_empty=True,
        random_shuffle=True,
        seed=seed,
        name="reader",
    )
    crop_anchor, crop_shape, boxes, labels = fn.random_bbox_crop(
        clip_boxes(boxes),
        labels,
        aspect_ratio=[0.5, 2.0],
        thresholds=[0, 0.1, 0.3, 0.5, 0.7, 0.9],
        scaling=[0.3, 1.0],
        bbox_layout="xyXY",
        allow_no_crop=True,
        num_attempts=1,
        seed=seed + 1,
    )
    images = fn.decoders.image_slice(
        jpegs, crop_anchor, crop_shape, output_type=types.RGB, device=device
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    flip = fn.flip(images, horizontal=mirror)
    resize = fn.resize(flip, resize_x=300, resize_y=300)
    hue = fn.random.uniform(range=[-0.5, 0.5], seed=seed + 3)
    saturation = fn.random.uniform(range=[0.5, 1.5], seed=seed + 4)
    hsv = fn.hsv(resize, dtype=types.FLOAT, hue=hue, saturation=saturation)
    brightness = fn.random.uniform(range=[0.875, 1.125], seed=seed + 5)
    contrast = fn.random.uniform(range=[0.5, 1.5], seed=seed + 6)
    light = fn.brightness_contrast(
        hsv,
        contrast_center=128,
        dtype=types.UINT8,
        brightness=brightness,
        contrast=contrast,
    )
    normalize = fn.crop_mirror_normalize(
        light, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    # Boxes in step with normalize, from images on: boxes, labels
    follow_boxes_corners = fn.cat(
        boxes, types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4])
    )
    follow_boxes_size_0 = fn.cast(images.shape(), dtype=types.FLOAT)
    follow_boxes_sides = fn.stack(
        follow_boxes_size_0[1],
        follow_boxes_size_0[0],
        follow_boxes_size_0[1],
        follow_boxes_size_0[0],
    )
    follow_boxes_corners = follow_boxes_corners * follow_boxes_sides
    follow_boxes_low = follow_boxes_corners[:, 0:2]
    follow_boxes_high = follow_boxes_corners[:, 2:4]
    follow_boxes_down = fn.cat(
        follow_boxes_high[:, 0:1], follow_boxes_low[:, 1:2], axis=1
    )
    follow_boxes_up = fn.cat(
        follow_boxes_low[:, 0:1], follow_boxes_high[:, 1:2], axis=1
    )
    follow_boxes_corners = fn.stack(
        follow_boxes_low, follow_boxes_down, follow_boxes_high, follow_boxes_up, axis=1
    )
    follow_boxes_map = fn.transforms.scale(
        scale=fn.stack(1.0 - 2.0 * mirror, 1.0 - 2.0 * 0),
        center=fn.stack(follow_boxes_size_0[1] / 2, follow_boxes_size_0[0] / 2),
    )
    follow_boxes_corners = fn.coord_transform(follow_boxes_corners, MT=follow_boxes_map)
    follow_boxes_size_1 = fn.cast(flip.shape(), dtype=types.FLOAT)
    follow_boxes_size_2 = fn.cast(resize.shape(), dtype=types.FLOAT)
    follow_boxes_map = fn.transforms.scale(
        scale=fn.stack(
            follow_boxes_size_2[1] / follow_boxes_size_1[1],
            follow_boxes_size_2[0] / follow_boxes_size_1[0],
        ),
    )
    follow_boxes_corners = fn.coord_transform(follow_boxes_corners, MT=follow_boxes_map)
    follow_boxes_size_3 = fn.cast(light.shape(), dtype=types.FLOAT)
    follow_boxes_size_4 = fn.cast(normalize.shape(), dtype=types.FLOAT)
    follow_boxes_map_x = fn.cast(
        0.5 * (follow_boxes_size_3[1] - follow_boxes_size_4[2]), dtype=types.INT32
    )
    follow_boxes_map_y = fn.cast(
        0.5 * (follow_boxes_size_3[0] - follow_boxes_size_4[1]), dtype=types.INT32
    )
    follow_boxes_map = fn.transforms.translation(
        offset=fn.stack(-1.0 * follow_boxes_map_x, -1.0 * follow_boxes_map_y)
    )
    follow_boxes_map = fn.transforms.scale(
        follow_boxes_map,
        scale=fn.stack(1.0 - 2.0 * 0, 1.0),
        center=fn.stack(follow_boxes_size_4[2] / 2, follow_boxes_size_4[1] / 2),
    )
    follow_boxes_corners = fn.coord_transform(follow_boxes_corners, MT=follow_boxes_map)
    follow_boxes_low = fn.reductions.min(follow_boxes_corners, axes=1)
    follow_boxes_high = fn.reductions.max(follow_boxes_corners, axes=1)
    follow_boxes_edge = fn.stack(follow_boxes_size_4[2], follow_boxes_size_4[1])
    follow_boxes_sides = follow_boxes_high - follow_boxes_low
    follow_boxes_area = follow_boxes_sides[:, 0:1] * follow_boxes_sides[:, 1:2]
    follow_boxes_low = math.min(math.max(follow_boxes_low, 0.0), follow_boxes_edge)
    follow_boxes_high = math.min(math.max(follow_boxes_high, 0.0), follow_boxes_edge)
    follow_boxes_sides = follow_boxes_high - follow_boxes_low
    follow_boxes_seen = follow_boxes_sides[:, 0:1] * follow_boxes_sides[:, 1:2]
    follow_boxes_enough = follow_boxes_seen >= 0.25 * follow_boxes_area
    follow_boxes_seen = 1.0 * (follow_boxes_enough & (follow_boxes_seen > 0.0))
    follow_boxes_kept = fn.cat(
        follow_boxes_low / follow_boxes_edge,
        follow_boxes_high / follow_boxes_edge,
        axis=1,
    )
    follow_boxes_left_out = 1.0 - follow_boxes_seen
    follow_boxes_kept = follow_boxes_seen * follow_boxes_kept + follow_boxes_left_out
    follow_boxes_kept = fn.cat(
        follow_boxes_kept[:-1], types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4])
    )
    follow_boxes_labels = fn.cat(labels, types.Constant([0], shape=[1]))
    _, _, follow_boxes_kept, follow_boxes_labels = fn.random_bbox_crop(
        follow_boxes_kept,
        follow_boxes_labels,
        bbox_layout="xyXY",
        aspect_ratio=[1.0, 1.0],
        scaling=[1.0, 1.0],
        thresholds=[0.0],
        allow_no_crop=False,
        total_num_attempts=1,
        seed=seed,
    )
    boxes = follow_boxes_kept[:-1]
    labels = follow_boxes_labels[:-1]
    return normalize, boxes, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` says where images are decoded: cpu or mixed."""
    pipe = ssd_pipeline(
        data,
        device,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=0 if device == "mixed" else None,
        prefetch_queue_depth=2,
    )
    pipe.build()
    return pipe


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the pipeline and print imgs/s.")
    parser.add_argument("--data", required=True, help="COCO annotations (.json)")
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS)
    parser.add_argument("--batches", type=int, default=50)
    args = parser.parse_args()

    pipe = build_pipeline(args.data, args.batch_size, args.threads, args.device)
    for _ in range(5):  # the first batches fill queues and allocate memory
        pipe.run()
    start = time.perf_counter()
    for _ in range(args.batches):
        pipe.run()
    seconds = time.perf_counter() - start
    print(f"{args.batches * args.batch_size / seconds:.0f} imgs/s")


if __name__ == "__main__":
    main()
