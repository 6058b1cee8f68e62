"""DINO's multi-crop (arXiv 2104.14294): two global crops of 224, eight local ones of
96.

Yields global_1 and global_2 (float32 CHW [3, 224, 224]), local_1, local_2, local_3,
local_4, local_5, local_6, local_7 and local_8 (float32 CHW [3, 96, 96]) and labels
(int32 [1]). With device='mixed' labels stay on the CPU.

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
CROP_LOCAL_1_SIZE = [96, 96]
CROP_LOCAL_2_SIZE = [96, 96]
CROP_LOCAL_3_SIZE = [96, 96]
CROP_LOCAL_4_SIZE = [96, 96]
CROP_LOCAL_5_SIZE = [96, 96]
CROP_LOCAL_6_SIZE = [96, 96]
CROP_LOCAL_7_SIZE = [96, 96]
CROP_LOCAL_8_SIZE = [96, 96]


@pipeline_def(enable_conditionals=True)
def dino_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=seed, name="reader"
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    global_1 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.4, 1.0],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 1,
    )
    mirror_global_1 = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    global_1 = fn.flip(global_1, horizontal=mirror_global_1)
    with_jitter_global_1 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 3
    )
    brightness_global_1 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 4)
    contrast_global_1 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 5)
    saturation_global_1 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 6)
    hue_global_1 = fn.random.uniform(range=[-36, 36], seed=seed + 7)
    if with_jitter_global_1:
        global_1 = fn.color_twist(
            global_1,
            brightness=brightness_global_1,
            contrast=contrast_global_1,
            hue=hue_global_1,
            saturation=saturation_global_1,
        )
    with_gray_global_1 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 8
    )
    if with_gray_global_1:
        global_1 = fn.saturation(global_1, saturation=0)
    sigma_global_1 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 9)
    global_1 = fn.gaussian_blur(global_1, sigma=sigma_global_1)
    global_1 = fn.crop_mirror_normalize(
        global_1, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    global_2 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.4, 1.0],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 10,
    )
    mirror_global_2 = fn.random.coin_flip(probability=0.5, seed=seed + 11)
    global_2 = fn.flip(global_2, horizontal=mirror_global_2)
    with_jitter_global_2 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 12
    )
    brightness_global_2 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 13)
    contrast_global_2 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 14)
    saturation_global_2 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 15)
    hue_global_2 = fn.random.uniform(range=[-36, 36], seed=seed + 16)
    if with_jitter_global_2:
        global_2 = fn.color_twist(
            global_2,
            brightness=brightness_global_2,
            contrast=contrast_global_2,
            hue=hue_global_2,
            saturation=saturation_global_2,
        )
    with_gray_global_2 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 17
    )
    if with_gray_global_2:
        global_2 = fn.saturation(global_2, saturation=0)
    with_blur_global_2 = fn.random.coin_flip(
        probability=0.1, dtype=types.BOOL, seed=seed + 18
    )
    sigma_global_2 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 19)
    if with_blur_global_2:
        global_2 = fn.gaussian_blur(global_2, sigma=sigma_global_2)
    with_solarize_global_2 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 20
    )
    if with_solarize_global_2:
        bright_global_2 = global_2 >= types.Constant(128, types.UINT8)
        inverted_global_2 = bright_global_2 * types.Constant(255, types.UINT8)
        global_2 = global_2 ^ inverted_global_2
    global_2 = fn.crop_mirror_normalize(
        global_2, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    local_1 = fn.random_resized_crop(
        images,
        size=CROP_LOCAL_1_SIZE,
        random_area=[0.05, 0.4],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 21,
    )
    mirror_local_1 = fn.random.coin_flip(probability=0.5, seed=seed + 22)
    local_1 = fn.flip(local_1, horizontal=mirror_local_1)
    with_jitter_local_1 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 23
    )
    brightness_local_1 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 24)
    contrast_local_1 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 25)
    saturation_local_1 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 26)
    hue_local_1 = fn.random.uniform(range=[-36, 36], seed=seed + 27)
    if with_jitter_local_1:
        local_1 = fn.color_twist(
            local_1,
            brightness=brightness_local_1,
            contrast=contrast_local_1,
            hue=hue_local_1,
            saturation=saturation_local_1,
        )
    with_gray_local_1 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 28
    )
    if with_gray_local_1:
        local_1 = fn.saturation(local_1, saturation=0)
    with_blur_local_1 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=seed + 29
    )
    sigma_local_1 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 30)
    if with_blur_local_1:
        local_1 = fn.gaussian_blur(local_1, sigma=sigma_local_1)
    local_1 = fn.crop_mirror_normalize(
        local_1, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    local_2 = fn.random_resized_crop(
        images,
        size=CROP_LOCAL_2_SIZE,
        random_area=[0.05, 0.4],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 31,
    )
    mirror_local_2 = fn.random.coin_flip(probability=0.5, seed=seed + 32)
    local_2 = fn.flip(local_2, horizontal=mirror_local_2)
    with_jitter_local_2 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 33
    )
    brightness_local_2 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 34)
    contrast_local_2 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 35)
    saturation_local_2 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 36)
    hue_local_2 = fn.random.uniform(range=[-36, 36], seed=seed + 37)
    if with_jitter_local_2:
        local_2 = fn.color_twist(
            local_2,
            brightness=brightness_local_2,
            contrast=contrast_local_2,
            hue=hue_local_2,
            saturation=saturation_local_2,
        )
    with_gray_local_2 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 38
    )
    if with_gray_local_2:
        local_2 = fn.saturation(local_2, saturation=0)
    with_blur_local_2 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=seed + 39
    )
    sigma_local_2 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 40)
    if with_blur_local_2:
        local_2 = fn.gaussian_blur(local_2, sigma=sigma_local_2)
    local_2 = fn.crop_mirror_normalize(
        local_2, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    local_3 = fn.random_resized_crop(
        images,
        size=CROP_LOCAL_3_SIZE,
        random_area=[0.05, 0.4],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 41,
    )
    mirror_local_3 = fn.random.coin_flip(probability=0.5, seed=seed + 42)
    local_3 = fn.flip(local_3, horizontal=mirror_local_3)
    with_jitter_local_3 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 43
    )
    brightness_local_3 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 44)
    contrast_local_3 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 45)
    saturation_local_3 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 46)
    hue_local_3 = fn.random.uniform(range=[-36, 36], seed=seed + 47)
    if with_jitter_local_3:
        local_3 = fn.color_twist(
            local_3,
            brightness=brightness_local_3,
            contrast=contrast_local_3,
            hue=hue_local_3,
            saturation=saturation_local_3,
        )
    with_gray_local_3 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 48
    )
    if with_gray_local_3:
        local_3 = fn.saturation(local_3, saturation=0)
    with_blur_local_3 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=seed + 49
    )
    sigma_local_3 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 50)
    if with_blur_local_3:
        local_3 = fn.gaussian_blur(local_3, sigma=sigma_local_3)
    local_3 = fn.crop_mirror_normalize(
        local_3, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    local_4 = fn.random_resized_crop(
        images,
        size=CROP_LOCAL_4_SIZE,
        random_area=[0.05, 0.4],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 51,
    )
    mirror_local_4 = fn.random.coin_flip(probability=0.5, seed=seed + 52)
    local_4 = fn.flip(local_4, horizontal=mirror_local_4)
    with_jitter_local_4 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 53
    )
    brightness_local_4 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 54)
    contrast_local_4 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 55)
    saturation_local_4 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 56)
    hue_local_4 = fn.random.uniform(range=[-36, 36], seed=seed + 57)
    if with_jitter_local_4:
        local_4 = fn.color_twist(
            local_4,
            brightness=brightness_local_4,
            contrast=contrast_local_4,
            hue=hue_local_4,
            saturation=saturation_local_4,
        )
    with_gray_local_4 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 58
    )
    if with_gray_local_4:
        local_4 = fn.saturation(local_4, saturation=0)
    with_blur_local_4 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=seed + 59
    )
    sigma_local_4 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 60)
    if with_blur_local_4:
        local_4 = fn.gaussian_blur(local_4, sigma=sigma_local_4)
    local_4 = fn.crop_mirror_normalize(
        local_4, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    local_5 = fn.random_resized_crop(
        images,
        size=CROP_LOCAL_5_SIZE,
        random_area=[0.05, 0.4],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 61,
    )
    mirror_local_5 = fn.random.coin_flip(probability=0.5, seed=seed + 62)
    local_5 = fn.flip(local_5, horizontal=mirror_local_5)
    with_jitter_local_5 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 63
    )
    brightness_local_5 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 64)
    contrast_local_5 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 65)
    saturation_local_5 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 66)
    hue_local_5 = fn.random.uniform(range=[-36, 36], seed=seed + 67)
    if with_jitter_local_5:
        local_5 = fn.color_twist(
            local_5,
            brightness=brightness_local_5,
            contrast=contrast_local_5,
            hue=hue_local_5,
            saturation=saturation_local_5,
        )
    with_gray_local_5 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 68
    )
    if with_gray_local_5:
        local_5 = fn.saturation(local_5, saturation=0)
    with_blur_local_5 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=seed + 69
    )
    sigma_local_5 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 70)
    if with_blur_local_5:
        local_5 = fn.gaussian_blur(local_5, sigma=sigma_local_5)
    local_5 = fn.crop_mirror_normalize(
        local_5, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    local_6 = fn.random_resized_crop(
        images,
        size=CROP_LOCAL_6_SIZE,
        random_area=[0.05, 0.4],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 71,
    )
    mirror_local_6 = fn.random.coin_flip(probability=0.5, seed=seed + 72)
    local_6 = fn.flip(local_6, horizontal=mirror_local_6)
    with_jitter_local_6 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 73
    )
    brightness_local_6 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 74)
    contrast_local_6 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 75)
    saturation_local_6 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 76)
    hue_local_6 = fn.random.uniform(range=[-36, 36], seed=seed + 77)
    if with_jitter_local_6:
        local_6 = fn.color_twist(
            local_6,
            brightness=brightness_local_6,
            contrast=contrast_local_6,
            hue=hue_local_6,
            saturation=saturation_local_6,
        )
    with_gray_local_6 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 78
    )
    if with_gray_local_6:
        local_6 = fn.saturation(local_6, saturation=0)
    with_blur_local_6 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=seed + 79
    )
    sigma_local_6 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 80)
    if with_blur_local_6:
        local_6 = fn.gaussian_blur(local_6, sigma=sigma_local_6)
    local_6 = fn.crop_mirror_normalize(
        local_6, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    local_7 = fn.random_resized_crop(
        images,
        size=CROP_LOCAL_7_SIZE,
        random_area=[0.05, 0.4],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 81,
    )
    mirror_local_7 = fn.random.coin_flip(probability=0.5, seed=seed + 82)
    local_7 = fn.flip(local_7, horizontal=mirror_local_7)
    with_jitter_local_7 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 83
    )
    brightness_local_7 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 84)
    contrast_local_7 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 85)
    saturation_local_7 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 86)
    hue_local_7 = fn.random.uniform(range=[-36, 36], seed=seed + 87)
    if with_jitter_local_7:
        local_7 = fn.color_twist(
            local_7,
            brightness=brightness_local_7,
            contrast=contrast_local_7,
            hue=hue_local_7,
            saturation=saturation_local_7,
        )
    with_gray_local_7 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 88
    )
    if with_gray_local_7:
        local_7 = fn.saturation(local_7, saturation=0)
    with_blur_local_7 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=seed + 89
    )
    sigma_local_7 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 90)
    if with_blur_local_7:
        local_7 = fn.gaussian_blur(local_7, sigma=sigma_local_7)
    local_7 = fn.crop_mirror_normalize(
        local_7, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    local_8 = fn.random_resized_crop(
        images,
        size=CROP_LOCAL_8_SIZE,
        random_area=[0.05, 0.4],
        interp_type=types.INTERP_CUBIC,
        seed=seed + 91,
    )
    mirror_local_8 = fn.random.coin_flip(probability=0.5, seed=seed + 92)
    local_8 = fn.flip(local_8, horizontal=mirror_local_8)
    with_jitter_local_8 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 93
    )
    brightness_local_8 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 94)
    contrast_local_8 = fn.random.uniform(range=[0.6, 1.4], seed=seed + 95)
    saturation_local_8 = fn.random.uniform(range=[0.8, 1.2], seed=seed + 96)
    hue_local_8 = fn.random.uniform(range=[-36, 36], seed=seed + 97)
    if with_jitter_local_8:
        local_8 = fn.color_twist(
            local_8,
            brightness=brightness_local_8,
            contrast=contrast_local_8,
            hue=hue_local_8,
            saturation=saturation_local_8,
        )
    with_gray_local_8 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=seed + 98
    )
    if with_gray_local_8:
        local_8 = fn.saturation(local_8, saturation=0)
    with_blur_local_8 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=seed + 99
    )
    sigma_local_8 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 100)
    if with_blur_local_8:
        local_8 = fn.gaussian_blur(local_8, sigma=sigma_local_8)
    local_8 = fn.crop_mirror_normalize(
        local_8, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    return (
        global_1,
        global_2,
        local_1,
        local_2,
        local_3,
        local_4,
        local_5,
        local_6,
        local_7,
        local_8,
        labels,
    )


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = dino_pipeline(
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
