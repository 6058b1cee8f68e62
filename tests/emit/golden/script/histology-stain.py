"""H&E tiles with jittered stains, HED-light of Tellez et al. (arXiv 1902.06543).

Yields images (uint8 HWC [224, 224, 3]) and labels (int32 [1]). With device='mixed'
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
SIZE = [224, 224]
HED_FROM_RGB_FDATA = [
    -1.877983, 0.065908, 0.601907, 1.007679, -1.13473, 0.480414, 0.556116, 0.135522,
    -1.573588,
]  # fmt: skip
RGB_FROM_HED_FDATA = [-0.65, -0.07, -0.27, -0.7, -0.99, -0.57, -0.29, -0.11, -0.78]


@pipeline_def
def histology_stain_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=seed, name="reader"
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.resize(images, size=SIZE)
    angle = fn.random.uniform(values=[0, 90, 180, 270], seed=seed + 1)
    images = fn.rotate(images, keep_size=True, interp_type=types.INTERP_NN, angle=angle)
    horizontal = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    vertical = fn.random.coin_flip(probability=0.5, seed=seed + 3)
    images = fn.flip(images, horizontal=horizontal, vertical=vertical)
    scale = fn.random.uniform(range=[0.8, 1.2], seed=seed + 4)
    scaling = fn.transforms.scale(ndim=2, center=[112, 112], scale=scale)
    zoom = fn.warp_affine(images, inverse_map=False, matrix=scaling)
    unit = zoom / 255.0
    above_two = unit + 2.0
    density = math.log(above_two)
    hed_from_rgb = fn.constant(fdata=HED_FROM_RGB_FDATA, shape=[3, 3])
    stains_row = fn.expand_dims(density, axes=[2], new_axis_names="S")
    stains_terms = stains_row * hed_from_rgb
    stains = fn.reductions.sum(stains_terms, axes=[3])
    gain = fn.random.uniform(range=[0.95, 1.05], shape=[3], seed=seed + 5)
    bias = fn.random.uniform(range=[-0.05, 0.05], shape=[3], seed=seed + 6)
    scaled = stains * gain
    stained = scaled + bias
    rgb_from_hed = fn.constant(fdata=RGB_FROM_HED_FDATA, shape=[3, 3])
    densities_row = fn.expand_dims(stained, axes=[2], new_axis_names="R")
    densities_terms = densities_row * rgb_from_hed
    densities = fn.reductions.sum(densities_terms, axes=[3])
    light = math.exp(densities)
    above_zero = light - 2.0
    levels = above_zero * 255.0
    tile = fn.reshape(levels, layout="HWC")
    stained_tile = fn.cast(tile, dtype=types.UINT8)
    brightness = fn.random.uniform(range=[0.65, 1.35], seed=seed + 7)
    brighten = fn.brightness(stained_tile, brightness=brightness)
    contrast = fn.random.uniform(range=[0.5, 1.5], seed=seed + 8)
    images = fn.contrast(brighten, contrast=contrast)
    deviation = fn.random.uniform(range=[0, 25.5], seed=seed + 9)
    images = fn.noise.gaussian(images, stddev=deviation, seed=seed + 10)
    sigma = fn.random.uniform(range=[0.1, 1], seed=seed + 11)
    images = fn.gaussian_blur(images, sigma=sigma)
    return images, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = histology_stain_pipeline(
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
