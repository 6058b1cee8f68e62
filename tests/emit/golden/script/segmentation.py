"""DeepLabV3 training, as in torchvision (arXiv 1706.05587): base size 520 times 0.5 to
2.

Yields images (float32 CHW [3, 480, 480]) and masks (int32 HWC [H, W, 1]). With
device='mixed' masks stay on the CPU.

Usage: python pipe.py --data COCO.json [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import json
import pathlib
import time

from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
CROP = [480, 480]
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


@pipeline_def
def segmentation_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, _boxes, _labels, masks = fn.readers.coco(
        **find_annotations(data),
        pixelwise_masks=True,
        skip_empty=True,
        random_shuffle=True,
        seed=seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    side = fn.random.uniform(range=[260, 1040], seed=seed + 1)
    images = fn.resize(images, resize_shorter=side)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    images = fn.flip(images, horizontal=mirror)
    images = fn.pad(images, axis_names="HW", shape=CROP)
    crop_x = fn.random.uniform(range=[0, 1], seed=seed + 3)
    crop_y = fn.random.uniform(range=[0, 1], seed=seed + 4)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=CROP,
        mean=MEAN,
        std=STD,
        crop_pos_x=crop_x,
        crop_pos_y=crop_y,
    )
    # The same resize, flip, pad and crop for masks. Nearest neighbour keeps class
    # numbers. 255: not in the image.
    masks = fn.cast(masks, dtype=types.FLOAT)
    masks = fn.resize(masks, interp_type=types.INTERP_NN, resize_shorter=side)
    masks = fn.flip(masks, horizontal=mirror)
    masks = fn.pad(masks, axis_names="HW", shape=CROP, fill_value=255)
    masks = fn.crop(masks, crop=CROP, crop_pos_x=crop_x, crop_pos_y=crop_y)
    masks = fn.cast(masks, dtype=types.INT32)
    return images, masks


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = segmentation_pipeline(
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
