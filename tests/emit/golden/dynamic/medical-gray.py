"""medical-gray: X-ray or microscopy: one channel, local contrast (CLAHE), a small turn,
mirror half.

The pipeline in DALI's dynamic mode (experimental): each operator runs where it is called,
so its results can be looked at and changed in between. It gives what the pipeline gives,
bit for bit.

Usage: python dynamic.py --data DIR [--device cpu|gpu] [--batch-size N] [--threads T]

Needs nvidia-dali-cuda120>=2.4.
"""

import argparse
import time
from collections.abc import Iterator

import nvidia.dali.experimental.dynamic as ndd
from nvidia.dali import types

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [256, 256]
CROP = [224, 224]
MEAN = [127.5]
STD = [63.75]


class Draws(ndd.random.RNG):  # type: ignore[misc]  # it is marked final
    """The random state that an operator of a pipeline has at a sample.

    That is Philox with the operator's seed as its key and the samples so far as its position;
    an operator of the dynamic mode asks for it in seven words.
    """

    def __init__(self, seed: int, position: int) -> None:
        super().__init__(seed)
        key = [seed & 0xFFFFFFFF, seed >> 32]
        self._words = [*key, 0, 0, position & 0xFFFFFFFF, position >> 32, 0]

    def __call__(self) -> int:
        return self._words.pop(0)


def augment(
    jpegs: ndd.Batch, labels: ndd.Batch, device: str, base_seed: int, position: int
) -> tuple[ndd.Batch, ...]:
    """The operators of one batch, which begins at sample ``position`` of all."""
    batch_size = jpegs.batch_size
    images = ndd.decoders.image(jpegs, output_type=types.GRAY, device=device)
    images = ndd.resize(images, size=SIZE)
    images = ndd.clahe(images, clip_limit=2.0, tiles_x=8, tiles_y=8)
    angle = ndd.random.uniform(
        range=[-7, 7], batch_size=batch_size, rng=Draws(base_seed + 1, position)
    )
    images = ndd.rotate(images, keep_size=True, fill_value=0, angle=angle)
    mirror = ndd.random.coin_flip(
        probability=0.5, batch_size=batch_size, rng=Draws(base_seed + 2, position)
    )
    images = ndd.crop_mirror_normalize(
        images,
        crop=CROP,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return images, labels


def batches(
    data: str,
    batch_size: int = BATCH_SIZE,
    device: str = DEVICE,
    seed: int = SEED,
) -> Iterator[tuple[ndd.Batch, ...]]:
    """Yield batches without an end; ``device`` says where images are decoded: cpu or gpu."""
    reader = ndd.readers.File(file_root=data, random_shuffle=True, seed=seed)
    position = 0
    while True:
        for jpegs, labels in reader.next_epoch(batch_size=batch_size):
            yield augment(jpegs, labels, device, seed, position)
            position += batch_size


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the operators and print imgs/s.")
    parser.add_argument(
        "--data", required=True, help="folder with a folder of images for each class"
    )
    parser.add_argument("--device", choices=["cpu", "gpu"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS)
    parser.add_argument("--batches", type=int, default=50)
    args = parser.parse_args()

    ndd.set_num_threads(args.threads)  # before anything has run
    stream = batches(args.data, args.batch_size, args.device)
    for _ in range(5):  # the first batches allocate memory
        evaluate(next(stream))
    start = time.perf_counter()
    for _ in range(args.batches):
        evaluate(next(stream))
    seconds = time.perf_counter() - start
    print(f"{args.batches * args.batch_size / seconds:.0f} imgs/s")


def evaluate(outputs: tuple[ndd.Batch, ...]) -> None:
    """Wait for the operators, which run in the background."""
    for output in outputs:
        output.evaluate()


if __name__ == "__main__":
    main()
