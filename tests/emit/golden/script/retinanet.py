"""RetinaNet training on COCO, as in torchvision (arXiv 1708.02002).

Yields images (float32 CHW [3, H, W]), boxes (float32 [N, 4]: left, top, right,
bottom, in pixels) and labels (int32 [N]). With device='mixed' boxes and labels stay
on the CPU.

Usage: python pipe.py --data COCO.json [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import json
import pathlib
import time

from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 2
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


def sides_of(images: DataNode, layout: str = "HWC") -> DataNode:
    """Width, height, width, height of images, to convert boxes between pixels and relative."""
    shape = fn.cast(images.shape(), dtype=types.FLOAT)
    return fn.stack(*(shape[layout.index(side)] for side in "WHWH"))


@pipeline_def
def retinanet_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, boxes, labels = fn.readers.coco(
        **find_annotations(data),
        ltrb=True,
        include_iscrowd=False,
        skip_empty=True,
        random_shuffle=True,
        seed=seed,
        name="reader",
    )
    decoded = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    scaled = fn.resize(decoded, resize_shorter=800, max_size=1333)
    flip = fn.random.coin_flip(probability=0.5, seed=seed + 1)
    images = fn.crop_mirror_normalize(
        scaled, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD, mirror=flip
    )
    # bb_flip takes shares of the image, so from pixels to shares and back
    boxes = fn.bb_flip(boxes / sides_of(decoded), ltrb=True, horizontal=flip)
    boxes = boxes * sides_of(images, "CHW")
    return images, boxes, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = retinanet_pipeline(
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
