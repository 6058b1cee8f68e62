"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

The pipeline in DALI's dynamic mode (experimental): each operator runs when it is called,
so its results can be inspected and changed in between. Its outputs are bit-identical to the
pipeline's.

Usage: python dynamic.py --data DIR [--device cpu|gpu] [--batch-size N] [--threads T]

Needs nvidia-dali-cuda120>=2.4.
"""

import argparse
import time
from collections.abc import Iterator

import nvidia.dali.experimental.dynamic as ndd
from nvidia.dali import types

SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


class Draws(ndd.random.RNG):  # type: ignore[misc]  # it is marked final
    """The random state of a pipeline's operator at a sample.

    That is Philox with the operator's seed as key and the number of preceding samples as position;
    dynamic-mode operators expect it as seven words.
    """

    def __init__(self, seed: int, position: int) -> None:
        key = [seed & 0xFFFFFFFF, seed >> 32]
        self.words = iter([*key, 0, 0, position & 0xFFFFFFFF, position >> 32, 0])

    def __call__(self) -> int:
        return next(self.words)


def batches(
    data: str, batch_size: int = 64, device: str = "cpu", seed: int = 42
) -> Iterator[tuple[ndd.Batch, ...]]:
    """Yield batches endlessly, with images decoded on ``device``: cpu or gpu."""
    reader = ndd.readers.File(file_root=data, random_shuffle=True, seed=seed)
    first = 0  # index of the batch's first sample among all samples read
    while True:
        for jpegs, labels in reader.next_epoch(batch_size=batch_size):
            images = ndd.decoders.image(jpegs, output_type=types.RGB, device=device)
            images = ndd.random_resized_crop(
                images, size=SIZE, rng=Draws(seed + 1, first)
            )
            mirror = ndd.random.coin_flip(
                probability=0.5, batch_size=jpegs.batch_size, rng=Draws(seed + 2, first)
            )
            images = ndd.crop_mirror_normalize(
                images,
                dtype=types.FLOAT,
                output_layout="CHW",
                mean=MEAN,
                std=STD,
                mirror=mirror,
            )
            yield images, labels
            first += batch_size


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the operators and print imgs/s.")
    parser.add_argument("--data", required=True, help="folder of images by class")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--batches", type=int, default=50)
    args = parser.parse_args()

    ndd.set_num_threads(args.threads)  # before any operator runs
    stream = batches(args.data, args.batch_size, args.device)
    for number in range(5 + args.batches):
        if number == 5:  # the first batches allocate memory
            start = time.perf_counter()
        for output in next(stream):
            output.evaluate()  # operators run in the background
    seconds = time.perf_counter() - start
    print(f"{args.batches * args.batch_size / seconds:.0f} imgs/s")


if __name__ == "__main__":
    main()
