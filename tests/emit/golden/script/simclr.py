"""SimCLR training (arXiv 2002.05709): two views, colour jitter of strength 1 (p = 0.8).

Yields view_1 and view_2 (uint8 HWC [224, 224, 3]) and labels (int32 [1]). With
device='mixed' labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

Usage: python pipe.py --data DIR [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import time

from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]


def augment(images: DataNode, seed: int) -> DataNode:
    images = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=seed,
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 1)
    images = fn.flip(images, horizontal=mirror)
    with_jitter = fn.random.coin_flip(probability=0.8, dtype=types.BOOL, seed=seed + 2)
    brightness = fn.random.uniform(range=[0.2, 1.8], seed=seed + 3)
    contrast = fn.random.uniform(range=[0.2, 1.8], seed=seed + 4)
    saturation = fn.random.uniform(range=[0.2, 1.8], seed=seed + 5)
    hue = fn.random.uniform(range=[-72, 72], seed=seed + 6)
    if with_jitter:
        images = fn.color_twist(
            images,
            brightness=brightness,
            contrast=contrast,
            hue=hue,
            saturation=saturation,
        )
    with_gray = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 7)
    if with_gray:
        images = fn.saturation(images, saturation=0)
    with_blur = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 8)
    sigma = fn.random.uniform(range=[0.1, 2.0], seed=seed + 9)
    if with_blur:
        images = fn.gaussian_blur(images, window_size=23, sigma=sigma)
    return images


@pipeline_def(enable_conditionals=True)
def simclr_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=seed, name="reader"
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = augment(images, seed + 21)
    view_2 = augment(images, seed + 31)
    return view_1, view_2, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = simclr_pipeline(
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
    parser.add_argument("--data", required=True, help="folder of images by class")
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
