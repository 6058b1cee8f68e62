"""HigherHRNet on COCO key points (arXiv 1908.10357): swap left and right if mirrored.

Yields images (float32 CHW [3, 512, 512]), points (float32 [N, 2]), visible (bool
[N]) and mirrored (int32). With device='mixed' points, visible and mirrored stay on
the CPU.

Warning: normalize.mirror: it mirrors images, but left and right key points are not
swapped, because their names are unknown. Export with --data, or set pairs of
follow_points (none: nothing is swapped).

Usage: python pipe.py --data COCO.json [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import atexit
import json
import pathlib
import tempfile
import time

import numpy as np
from nvidia.dali import Pipeline, fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 12
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


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


def keypoints_as_polygons(data: str) -> str:
    """Return the annotations as JSON, with key points as polygons, which DALI's reader supports."""
    annotations = json.loads(pathlib.Path(data).read_bytes())
    for annotation in annotations["annotations"]:
        points = np.array(annotation["keypoints"]).reshape(-1, 3)
        points[points[:, 2] == 0] = -1e6  # unlabelled: far outside, so never visible
        annotation["segmentation"] = [points[:, :2].ravel().tolist()]
    return json.dumps(annotations)


def find_keypoints(data: str) -> dict[str, str]:
    """Copy the annotations with key points as polygons, and return the COCO reader's arguments."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as copy:
        copy.write(keypoints_as_polygons(data))
    atexit.register(pathlib.Path(copy.name).unlink, missing_ok=True)
    return {**find_annotations(data), "annotations_file": copy.name}


def points_inside(points: DataNode, size: DataNode | float) -> DataNode:
    """Which points (N, 2) are inside an image of a size."""
    inside = fn.cast((points >= 0.0) & (points <= size), dtype=types.INT32)
    return fn.reductions.min(inside, axes=1) > 0


@pipeline_def
def key_points_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, _boxes, _labels, _polygons, points = fn.readers.coco(
        **find_keypoints(data),
        polygon_masks=True,
        skip_empty=True,
        random_shuffle=True,
        seed=seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    size = fn.peek_image_shape(jpegs, dtype=types.FLOAT)
    zoom = fn.random.uniform(range=[0.75, 1.5], seed=seed + 1)
    window = math.min(size[0], size[1]) * zoom
    shift = fn.random.uniform(range=[-0.2, 0.2], shape=[2], seed=seed + 2)
    centre = size[1::-1] * 0.5 + shift * window
    to_origin = fn.transforms.translation(offset=-centre)
    factor = 512.0 / window
    factors = fn.stack(factor, factor)
    scaled = fn.transforms.scale(to_origin, scale=factors)
    angle = fn.random.uniform(range=[-30, 30], seed=seed + 3)
    turned = fn.transforms.rotation(scaled, angle=angle)
    matrix = fn.transforms.translation(turned, offset=[256.0, 256.0])
    images = fn.warp_affine(
        images, size=[512, 512], fill_value=0, inverse_map=False, matrix=matrix
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 4)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    # Points follow the image through warp_affine and mirror
    points = fn.reshape(fn.coord_transform(points, MT=matrix), shape=[-1, 2])
    visible = points_inside(points, 512.0)
    points = fn.coord_flip(points, flip_x=mirror, center_x=256.0)
    return images, points, visible, mirror


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = key_points_pipeline(
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
    parser.add_argument(
        "--data", required=True, help="COCO key points (*keypoints*.json)"
    )
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
