"""SSD300 training on COCO, as in NVIDIA's examples (arXiv 1512.02325).

Yields images (float32 CHW [3, 300, 300]), boxes (float32 [N, 4]: left, top, right,
bottom, relative to the image size) and labels (int32 [N]). With device='mixed' boxes
and labels stay on the CPU.

Usage: python pipe.py --data COCO.json [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import json
import pathlib
import time

from nvidia.dali import Pipeline, fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 32
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
MEAN = [0.0]
STD = [255.0]


def find_annotations(data: str) -> dict[str, str]:
    """Return the arguments of the COCO reader: the annotations file and the folder of its images.

    For annotations/instances_train2017.json the folders train2017, images/train2017, images and the
    file's own folder are searched, there and one level up; the one with the most images is used.
    Raises FileNotFoundError if none of these has an image.
    """
    file = pathlib.Path(data).absolute()
    names = [image.get("file_name") or "" for image in json.loads(file.read_bytes())["images"]]
    places = (split := file.stem.rpartition("_")[2], f"images/{split}", "images", "")
    folders = [parent / place for parent in file.parents[:2] for place in places]
    found = {f: f.is_dir() and sum((f / name).is_file() for name in names) for f in folders}
    if not any(found.values()):
        raise FileNotFoundError(f"No image of {data} is in {', '.join(map(str, folders))}")
    return {"annotations_file": data, "file_root": str(max(folders, key=found.__getitem__))}


def clip_boxes(boxes: DataNode) -> DataNode:
    """Clip boxes (left, top, right, bottom) to the image: random_bbox_crop requires this.

    Boxes that do not overlap the image, or are in pixels, are moved out: DALI raises for them.
    """
    low = types.Constant([-1.0, -1.0, 0.0, 0.0])
    high = types.Constant([1.0, 1.0, 2.0, 2.0])
    outside = fn.cast(boxes != math.clamp(boxes, low, high), dtype=types.FLOAT)
    moved = 2.0 * fn.reductions.max(outside, axes=1, keep_dims=True)
    return math.clamp(boxes, 0.0, 1.0) + moved


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
    images = fn.resize(images, resize_x=300, resize_y=300)
    hue = fn.random.uniform(range=[-18.0, 18.0], seed=seed + 3)
    saturation = fn.random.uniform(range=[0.5, 1.5], seed=seed + 4)
    images = fn.hsv(images, dtype=types.FLOAT, hue=hue, saturation=saturation)
    brightness = fn.random.uniform(range=[0.875, 1.125], seed=seed + 5)
    contrast = fn.random.uniform(range=[0.5, 1.5], seed=seed + 6)
    images = fn.brightness_contrast(
        images,
        contrast_center=128,
        dtype=types.UINT8,
        brightness=brightness,
        contrast=contrast,
    )
    flip = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    images = fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD, mirror=flip
    )
    boxes = fn.bb_flip(boxes, ltrb=True, horizontal=flip)
    return images, boxes, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = ssd_pipeline(
        data,
        device,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=0 if device == "mixed" else None,
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
    t0 = time.perf_counter()
    for _ in range(args.batches):
        pipe.run()
    print(f"{args.batches * args.batch_size / (time.perf_counter() - t0):.0f} imgs/s")


if __name__ == "__main__":
    main()
