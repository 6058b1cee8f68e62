"""A random window of 2 x 2 images of the batch, with the boxes of all four.

Yields images (uint8 HWC [320, 320, 3]), boxes (float32 [N, 4]: left, top, right,
bottom, relative to the image size) and labels (int32 [N]). With device='mixed' boxes
and labels stay on the CPU.

Usage: python pipe.py --data COCO.json [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import json
import pathlib
import time
from typing import Any

from nvidia.dali import Pipeline, fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 16
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [320, 320]
CROP = [320, 320]


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


def crop_matrix(
    before: Any,
    after: Any,
    crop_pos_x: Any = 0.5,
    crop_pos_y: Any = 0.5,
) -> DataNode:
    """The matrix of a crop."""
    start = fn.stack(1.0 * crop_pos_x, 1.0 * crop_pos_y) * (before - after)
    start = fn.cast(start, dtype=types.INT32)
    return fn.transforms.translation(offset=-1.0 * start)


def joined(first: Any, second: Any) -> DataNode:
    """Concatenate rows of two numbers to rows of four."""
    return fn.reshape(fn.stack(first, second, axis=1), shape=[-1, 4])


def corners_of(boxes: DataNode) -> DataNode:
    """The corners of boxes, clockwise from left, top."""
    left, top, right, bottom = boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3]
    x, y = [left, right, right, left], [top, top, bottom, bottom]
    return fn.stack(fn.stack(*x, axis=1), fn.stack(*y, axis=1), axis=2)


def boxes_around(corners: DataNode) -> DataNode:
    """The bounding boxes of corners."""
    low, high = fn.reductions.min(corners, axes=1), fn.reductions.max(corners, axes=1)
    return joined(low, high)


def boxes_after_affine(boxes: DataNode, matrix: DataNode) -> DataNode:
    """The bounding boxes of boxes after an affine map."""
    return boxes_around(corners_after_affine(corners_of(boxes), matrix))


def corners_after_affine(corners: DataNode, matrix: DataNode) -> DataNode:
    """Apply an affine map to corners."""
    return fn.reshape(fn.coord_transform(corners, MT=matrix), shape=[-1, 4, 2])


def clipped_to(boxes: DataNode, size: DataNode) -> DataNode:
    """Clip boxes to an image of a size."""
    return math.min(math.max(boxes, 0.0), fn.cat(size, size))


def areas_of(boxes: DataNode) -> DataNode:
    """The areas (N, 1) of boxes."""
    sides = boxes[:, 2:4] - boxes[:, 0:2]
    return sides[:, 0:1] * sides[:, 1:2]


def visible_boxes(
    boxes: DataNode,
    size: DataNode,
    labels: Any = None,
    visible: float = 0.25,
) -> Any:
    """Boxes clipped to the image, and their labels, without boxes that are hardly visible.

    A box is dropped if less than the fraction ``visible`` of it is in the image.
    """
    inside = clipped_to(boxes, size)
    seen = areas_of(inside)
    kept = 1.0 * ((seen >= visible * areas_of(boxes)) & (seen > 0.0))
    # random_bbox_crop drops boxes whose centre is outside, and their labels. Its window is the
    # whole image here. The last entry is the full-image box, because at least one has to be inside.
    sides = fn.cat(size, size)
    inside = kept * (inside / sides) + (1.0 - kept)
    given = [fn.cat(inside, types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4]))]
    if labels is not None:
        labels = fn.cast(labels, dtype=types.INT32)
        given.append(fn.cat(labels, types.Constant([0], shape=[1])))
    found: Any = fn.random_bbox_crop(
        *given,
        bbox_layout="xyXY",
        aspect_ratio=[1.0, 1.0],
        scaling=[1.0, 1.0],
        thresholds=[0.0],
        allow_no_crop=False,
        total_num_attempts=1,
        seed=0,
    )
    boxes = found[2][:-1] * sides
    return boxes if labels is None else (boxes, found[3][:-1])


@pipeline_def
def mosaic_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, boxes, labels = fn.readers.coco(
        **find_annotations(data),
        ratio=True,
        ltrb=True,
        skip_empty=True,
        random_shuffle=True,
        seed=seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, device=device)
    tile = fn.resize(images, size=SIZE)
    order_1 = fn.batch_permutation(seed=seed + 1)
    tile_1 = fn.permute_batch(tile, indices=order_1)
    top = fn.cat(tile, tile_1, axis=1)
    order_2 = fn.batch_permutation(seed=seed + 2)
    tile_2 = fn.permute_batch(tile, indices=order_2)
    order_3 = fn.batch_permutation(seed=seed + 3)
    tile_3 = fn.permute_batch(tile, indices=order_3)
    bottom = fn.cat(tile_2, tile_3, axis=1)
    mosaic = fn.cat(top, bottom, axis=0)
    x = fn.random.uniform(range=[0.0, 1.0], seed=seed + 4)
    y = fn.random.uniform(range=[0.0, 1.0], seed=seed + 5)
    cut = fn.crop(mosaic, crop=CROP, crop_pos_x=x, crop_pos_y=y)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 6)
    images = fn.flip(cut, horizontal=mirror)
    boxes = boxes * 0.5
    boxes_1 = fn.permute_batch(boxes, indices=order_1)
    right = fn.constant(fdata=[0.5, 0.0, 0.5, 0.0], shape=[1, 4])
    add = boxes_1 + right
    boxes_2 = fn.permute_batch(boxes, indices=order_2)
    down = fn.constant(fdata=[0.0, 0.5, 0.0, 0.5], shape=[1, 4])
    add_2 = boxes_2 + down
    boxes_3 = fn.permute_batch(boxes, indices=order_3)
    add_2_2 = boxes_3 + right + down
    all_boxes = fn.cat(boxes, add, add_2, add_2_2, axis=0)
    labels_1 = fn.permute_batch(labels, indices=order_1)
    labels_2 = fn.permute_batch(labels, indices=order_2)
    labels_3 = fn.permute_batch(labels, indices=order_3)
    all_labels = fn.cat(labels, labels_1, labels_2, labels_3, axis=0)
    # Boxes follow the image through crop and flip
    matrix = crop_matrix(
        types.Constant([640.0, 640.0]),
        types.Constant([320.0, 320.0]),
        crop_pos_x=x,
        crop_pos_y=y,
    )
    boxes = boxes_after_affine(all_boxes * 640.0, matrix)
    boxes, labels = visible_boxes(boxes, types.Constant([320.0, 320.0]), all_labels)
    boxes = fn.bb_flip(boxes / 320.0, ltrb=True, horizontal=mirror)
    return images, boxes, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = mosaic_pipeline(
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
