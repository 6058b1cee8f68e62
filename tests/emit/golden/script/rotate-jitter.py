"""Turn by up to 10 degrees, vary colour and light, mirror half of them.

Yields images (uint8 HWC [224, 224, 3]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

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


@pipeline_def
def rotate_jitter_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=seed, name="reader"
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.resize(images, size=SIZE)
    angle = fn.random.uniform(range=[-10, 10], seed=seed + 1)
    images = fn.rotate(images, keep_size=True, fill_value=0, angle=angle)
    brightness = fn.random.uniform(range=[0.8, 1.2], seed=seed + 2)
    contrast = fn.random.uniform(range=[0.8, 1.2], seed=seed + 3)
    hue = fn.random.uniform(range=[-20, 20], seed=seed + 4)
    saturation = fn.random.uniform(range=[0.7, 1.3], seed=seed + 5)
    images = fn.color_twist(
        images, brightness=brightness, contrast=contrast, hue=hue, saturation=saturation
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 6)
    images = fn.flip(images, horizontal=mirror)
    return images, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = rotate_jitter_pipeline(
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
