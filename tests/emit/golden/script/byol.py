"""BYOL's two views (arXiv 2006.07733): blur with p = 1 and 0.1, solarize with p = 0 and
0.2.

Yields view_1 and view_2 (float32 CHW [3, 224, 224]) and labels (int32 [1]). With
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
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


@pipeline_def(enable_conditionals=True)
def byol_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=seed, name="reader"
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 1,
    )
    mirror_1 = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    view_1 = fn.flip(view_1, horizontal=mirror_1)
    with_jitter_1 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 3
    )
    hue_1 = fn.random.uniform(range=[-36, 36], seed=seed + 4)
    saturation_1 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 5)
    contrast_1 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 6)
    brightness_1 = fn.random.uniform(range=[-0.4, 0.4], seed=seed + 7)
    if with_jitter_1:
        view_1 = fn.hsv(view_1, hue=hue_1, saturation=saturation_1)
        view_1 = fn.brightness_contrast(
            view_1, contrast=contrast_1, brightness_shift=brightness_1
        )
    with_gray_1 = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 8)
    if with_gray_1:
        view_1 = fn.saturation(view_1, saturation=0)
    sigma_1 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 9)
    view_1 = fn.gaussian_blur(view_1, window_size=23, sigma=sigma_1)
    view_1 = fn.crop_mirror_normalize(
        view_1, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    view_2 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 10,
    )
    mirror_2 = fn.random.coin_flip(probability=0.5, seed=seed + 11)
    view_2 = fn.flip(view_2, horizontal=mirror_2)
    with_jitter_2 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 12
    )
    hue_2 = fn.random.uniform(range=[-36, 36], seed=seed + 13)
    saturation_2 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 14)
    contrast_2 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 15)
    brightness_2 = fn.random.uniform(range=[-0.4, 0.4], seed=seed + 16)
    if with_jitter_2:
        view_2 = fn.hsv(view_2, hue=hue_2, saturation=saturation_2)
        view_2 = fn.brightness_contrast(
            view_2, contrast=contrast_2, brightness_shift=brightness_2
        )
    with_gray_2 = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 17)
    if with_gray_2:
        view_2 = fn.saturation(view_2, saturation=0)
    with_blur_2 = fn.random.coin_flip(probability=0.1, dtype=types.BOOL, seed=seed + 18)
    sigma_2 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 19)
    if with_blur_2:
        view_2 = fn.gaussian_blur(view_2, window_size=23, sigma=sigma_2)
    with_solarize_2 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 20
    )
    if with_solarize_2:
        bright_2 = view_2 >= types.Constant(128, types.UINT8)
        inverted_2 = bright_2 * types.Constant(255, types.UINT8)
        view_2 = view_2 ^ inverted_2
    view_2 = fn.crop_mirror_normalize(
        view_2, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    return view_1, view_2, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = byol_pipeline(
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
