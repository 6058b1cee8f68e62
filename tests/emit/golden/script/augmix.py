"""ImageNet training with AugMix, severity 1, width 3, depth 1 to 3, one view (arXiv
1912.02781).

Yields images (float32 CHW [3, 224, 224]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

Usage: python pipe.py --data DIR [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import time

from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.auto_aug import augmentations, auto_augment
from nvidia.dali.auto_aug.core import Policy
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
TRANSLATE_X = augmentations.translate_x_no_shape.augmentation((0, 75), True)
TRANSLATE_Y = augmentations.translate_y_no_shape.augmentation((0, 75), True)
POLICY = Policy(
    name="chain_1",
    num_magnitude_bins=11,
    sub_policies=[
        [(augmentations.auto_contrast, 1.0, None)],
        [(augmentations.equalize, 1.0, None)],
        [(augmentations.posterize, 1.0, 10)],
        [(augmentations.rotate, 1.0, 1)],
        [(augmentations.solarize, 1.0, 1)],
        [(augmentations.shear_x, 1.0, 1)],
        [(augmentations.shear_y, 1.0, 1)],
        [(TRANSLATE_X, 1.0, 1)],
        [(TRANSLATE_Y, 1.0, 1)],
    ],
)


@pipeline_def(enable_conditionals=True)
def augmix_pipeline(data: str, device: str, base_seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=base_seed, name="reader"
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_LINEAR,
        num_attempts=10,
        seed=base_seed + 1,
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 2)
    images = fn.flip(images, horizontal=mirror)
    chain_1 = auto_augment.apply_auto_augment(POLICY, images)
    two_1 = fn.random.coin_flip(probability=0.667, dtype=types.BOOL, seed=base_seed + 4)
    three_1 = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=base_seed + 3)
    if two_1:
        second_1 = auto_augment.apply_auto_augment(POLICY, chain_1)
        if three_1:
            second_1 = auto_augment.apply_auto_augment(POLICY, second_1)
    else:
        second_1 = chain_1
    chain_2 = auto_augment.apply_auto_augment(POLICY, images)
    two_2 = fn.random.coin_flip(probability=0.667, dtype=types.BOOL, seed=base_seed + 6)
    three_2 = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=base_seed + 5)
    if two_2:
        second_2 = auto_augment.apply_auto_augment(POLICY, chain_2)
        if three_2:
            second_2 = auto_augment.apply_auto_augment(POLICY, second_2)
    else:
        second_2 = chain_2
    chain_3 = auto_augment.apply_auto_augment(POLICY, images)
    two_3 = fn.random.coin_flip(probability=0.667, dtype=types.BOOL, seed=base_seed + 8)
    three_3 = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=base_seed + 7)
    if two_3:
        second_3 = auto_augment.apply_auto_augment(POLICY, chain_3)
        if three_3:
            second_3 = auto_augment.apply_auto_augment(POLICY, second_3)
    else:
        second_3 = chain_3
    share_1 = fn.random.beta(alpha=1.0, beta=2.0, seed=base_seed + 9)
    split = fn.random.beta(alpha=1.0, beta=1.0, seed=base_seed + 10)
    mixed = fn.random.beta(alpha=1.0, beta=1.0, seed=base_seed + 11)
    rest_1 = 1.0 - share_1
    share_2 = rest_1 * split
    share_3 = rest_1 - share_2
    part_1 = second_1 * share_1
    part_2 = second_2 * share_2
    part_3 = second_3 * share_3
    two_parts = part_1 + part_2
    mixture = two_parts + part_3
    kept = 1.0 - mixed
    own_part = images * kept
    mixture_part = mixture * mixed
    images = own_part + mixture_part
    images = fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    return images, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = augmix_pipeline(
        data,
        device,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=0 if device == "mixed" else None,
        seed=seed,
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
