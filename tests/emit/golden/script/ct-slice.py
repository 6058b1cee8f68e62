"""CT or MR slices for 2D training, as in nnU-Net (arXiv 1809.10486): each step with its
own p.

Yields images (float32 CHW [1, 256, 256]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

Usage: python pipe.py --data DIR [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import time

from nvidia.dali import Pipeline, fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [256, 256]


@pipeline_def(enable_conditionals=True)
def ct_slice_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=seed, name="reader"
    )
    images = fn.decoders.image(jpegs, output_type=types.GRAY, device=device)
    images = fn.resize(images, size=SIZE)
    images = fn.normalize(images, axis_names="HW", epsilon=1e-06)
    with_rotated = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 1)
    angle = fn.random.uniform(range=[-180, 180], seed=seed + 2)
    if with_rotated:
        images = fn.rotate(images, keep_size=True, fill_value=0, angle=angle)
    with_scaled = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 3)
    scale = fn.random.uniform(range=[0.7, 1.4], seed=seed + 4)
    if with_scaled:
        scaling = fn.transforms.scale(ndim=2, center=[128, 128], scale=scale)
        images = fn.warp_affine(images, fill_value=0, matrix=scaling)
    with_noisy = fn.random.coin_flip(probability=0.1, dtype=types.BOOL, seed=seed + 5)
    deviation = fn.random.uniform(range=[0, 0.1], seed=seed + 6)
    if with_noisy:
        images = fn.noise.gaussian(images, stddev=deviation, seed=seed + 7)
    with_blurred = fn.random.coin_flip(probability=0.1, dtype=types.BOOL, seed=seed + 8)
    sigma = fn.random.uniform(range=[0.5, 1], shape=[2], seed=seed + 9)
    if with_blurred:
        images = fn.gaussian_blur(images, sigma=sigma)
    with_brightened = fn.random.coin_flip(
        probability=0.15, dtype=types.BOOL, seed=seed + 10
    )
    brightness = fn.random.uniform(range=[0.75, 1.25], seed=seed + 11)
    if with_brightened:
        images = images * brightness
    with_contrasted = fn.random.coin_flip(
        probability=0.15, dtype=types.BOOL, seed=seed + 12
    )
    contrast = fn.random.uniform(range=[0.75, 1.25], seed=seed + 13)
    if with_contrasted:
        darkest = fn.reductions.min(images)
        brightest = fn.reductions.max(images)
        mean = fn.reductions.mean(images)
        apart = images - mean
        wider = apart * contrast
        recentred = wider + mean
        images = math.clamp(recentred, darkest, brightest)
    with_coarsened = fn.random.coin_flip(
        probability=0.125, dtype=types.BOOL, seed=seed + 14
    )
    resolution = fn.random.uniform(range=[0.5, 1], seed=seed + 15)
    if with_coarsened:
        side = resolution * 256.0
        coarse = fn.resize(
            images, interp_type=types.INTERP_NN, resize_x=side, resize_y=side
        )
        images = fn.resize(coarse, size=SIZE, antialias=False)
    with_inverted_gamma = fn.random.coin_flip(
        probability=0.1, dtype=types.BOOL, seed=seed + 16
    )
    curvature_1 = fn.random.uniform(range=[-1, 1], seed=seed + 17)
    if with_inverted_gamma:
        images = -images
        steep_1 = curvature_1 * 0.5
        flat_1 = curvature_1 * 0.3
        bend_1 = math.max(steep_1, flat_1)
        gamma_1 = bend_1 + 1.0
        low_1 = fn.reductions.min(images)
        high_1 = fn.reductions.max(images)
        span_1 = high_1 - low_1
        divisor_1 = math.max(span_1, 1e-07)
        shifted_1 = images - low_1
        unit_1 = shifted_1 / divisor_1
        curve_1 = math.fpow(unit_1, gamma_1)
        mean_1 = fn.reductions.mean(images)
        deviation_1 = fn.reductions.std_dev(images, mean_1)
        standard_1 = fn.normalize(curve_1, axis_names="HW", epsilon=1e-12)
        spread_1 = standard_1 * deviation_1
        restored_1 = spread_1 + mean_1
        images = -restored_1
    with_plain_gamma = fn.random.coin_flip(
        probability=0.3, dtype=types.BOOL, seed=seed + 18
    )
    curvature_2 = fn.random.uniform(range=[-1, 1], seed=seed + 19)
    if with_plain_gamma:
        steep_2 = curvature_2 * 0.5
        flat_2 = curvature_2 * 0.3
        bend_2 = math.max(steep_2, flat_2)
        gamma_2 = bend_2 + 1.0
        low_2 = fn.reductions.min(images)
        high_2 = fn.reductions.max(images)
        span_2 = high_2 - low_2
        divisor_2 = math.max(span_2, 1e-07)
        shifted_2 = images - low_2
        unit_2 = shifted_2 / divisor_2
        curve_2 = math.fpow(unit_2, gamma_2)
        mean_2 = fn.reductions.mean(images)
        deviation_2 = fn.reductions.std_dev(images, mean_2)
        standard_2 = fn.normalize(curve_2, axis_names="HW", epsilon=1e-12)
        spread_2 = standard_2 * deviation_2
        images = spread_2 + mean_2
    horizontal = fn.random.coin_flip(probability=0.5, seed=seed + 20)
    vertical = fn.random.coin_flip(probability=0.5, seed=seed + 21)
    images = fn.flip(images, horizontal=horizontal, vertical=vertical)
    images = fn.transpose(images, perm=[2, 0, 1])
    return images, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = ct_slice_pipeline(
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
