"""simclr: SimCLR's two views (arXiv 2002.05709): crop, flip, jitter 0.8, grey 0.2, blur
0.5.

Usage: python pipe.py --data DIR [--device cpu|mixed] [--batch-size N] [--threads T]

Needs nvidia-dali-cuda120.
"""

import argparse
import time

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [224, 224]


@pipeline_def(enable_conditionals=True)
def simclr_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=seed, name="reader"
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=seed + 21,
    )
    mirror_1 = fn.random.coin_flip(probability=0.5, seed=seed + 22)
    view_1 = fn.flip(view_1, horizontal=mirror_1)
    with_jitter_1 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 23
    )
    brightness_1 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 24)
    contrast_1 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 25)
    saturation_1 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 26)
    hue_1 = fn.random.uniform(range=[-72, 72], seed=seed + 27)
    if with_jitter_1:
        view_1 = fn.color_twist(
            view_1,
            brightness=brightness_1,
            contrast=contrast_1,
            hue=hue_1,
            saturation=saturation_1,
        )
    with_gray_1 = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 28)
    if with_gray_1:
        view_1 = fn.saturation(view_1, saturation=0)
    with_blur_1 = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 29)
    sigma_1 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 30)
    if with_blur_1:
        view_1 = fn.gaussian_blur(view_1, window_size=23, sigma=sigma_1)
    view_2 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=seed + 31,
    )
    mirror_2 = fn.random.coin_flip(probability=0.5, seed=seed + 32)
    view_2 = fn.flip(view_2, horizontal=mirror_2)
    with_jitter_2 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 33
    )
    brightness_2 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 34)
    contrast_2 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 35)
    saturation_2 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 36)
    hue_2 = fn.random.uniform(range=[-72, 72], seed=seed + 37)
    if with_jitter_2:
        view_2 = fn.color_twist(
            view_2,
            brightness=brightness_2,
            contrast=contrast_2,
            hue=hue_2,
            saturation=saturation_2,
        )
    with_gray_2 = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 38)
    if with_gray_2:
        view_2 = fn.saturation(view_2, saturation=0)
    with_blur_2 = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 39)
    sigma_2 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 40)
    if with_blur_2:
        view_2 = fn.gaussian_blur(view_2, window_size=23, sigma=sigma_2)
    return view_1, view_2, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` says where images are decoded: cpu or mixed."""
    pipe = simclr_pipeline(
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
    parser.add_argument(
        "--data", required=True, help="folder with a folder of images for each class"
    )
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
