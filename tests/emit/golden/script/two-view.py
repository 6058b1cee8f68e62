"""Two normalised views similar to BYOL, without if blocks, for targets that do not
support them.

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
SIGMA_2_VALUES = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0]


@pipeline_def
def two_view_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=seed, name="reader"
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = fn.random_resized_crop(
        images, size=SIZE, random_area=[0.08, 1.0], seed=seed + 1
    )
    brightness_1 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 2)
    contrast_1 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 3)
    hue_1 = fn.random.uniform(range=[-36, 36], seed=seed + 4)
    saturation_1 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 5)
    view_1 = fn.color_twist(
        view_1,
        brightness=brightness_1,
        contrast=contrast_1,
        hue=hue_1,
        saturation=saturation_1,
    )
    in_color_1 = fn.random.uniform(values=[0, 1, 1, 1, 1], seed=seed + 6)
    gray_1 = fn.saturation(view_1, saturation=in_color_1)
    sigma_1 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 7)
    view_1 = fn.gaussian_blur(gray_1, sigma=sigma_1)
    mirror_1 = fn.random.coin_flip(probability=0.5, seed=seed + 8)
    view_1 = fn.crop_mirror_normalize(
        view_1,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror_1,
    )
    view_2 = fn.random_resized_crop(
        images, size=SIZE, random_area=[0.08, 1.0], seed=seed + 9
    )
    brightness_2 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 10)
    contrast_2 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 11)
    hue_2 = fn.random.uniform(range=[-36, 36], seed=seed + 12)
    saturation_2 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 13)
    view_2 = fn.color_twist(
        view_2,
        brightness=brightness_2,
        contrast=contrast_2,
        hue=hue_2,
        saturation=saturation_2,
    )
    in_color_2 = fn.random.uniform(values=[0, 1, 1, 1, 1], seed=seed + 14)
    gray_2 = fn.saturation(view_2, saturation=in_color_2)
    sigma_2 = fn.random.uniform(values=SIGMA_2_VALUES, seed=seed + 15)
    view_2 = fn.gaussian_blur(gray_2, sigma=sigma_2)
    mirror_2 = fn.random.coin_flip(probability=0.5, seed=seed + 16)
    view_2 = fn.crop_mirror_normalize(
        view_2,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror_2,
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
    pipe = two_view_pipeline(
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
