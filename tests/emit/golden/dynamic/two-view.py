"""two-view: Two normalised views near BYOL's by drawn arguments alone: for targets that
hold no if.

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
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
SIGMA_2_VALUES = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0]


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
    images = ndd.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = ndd.random_resized_crop(
        images, size=SIZE, random_area=[0.08, 1.0], rng=Draws(base_seed + 1, position)
    )
    brightness_1 = ndd.random.uniform(
        range=[0.6, 1.4], batch_size=batch_size, rng=Draws(base_seed + 2, position)
    )
    contrast_1 = ndd.random.uniform(
        range=[0.6, 1.4], batch_size=batch_size, rng=Draws(base_seed + 3, position)
    )
    hue_1 = ndd.random.uniform(
        range=[-36, 36], batch_size=batch_size, rng=Draws(base_seed + 4, position)
    )
    saturation_1 = ndd.random.uniform(
        range=[0.8, 1.2], batch_size=batch_size, rng=Draws(base_seed + 5, position)
    )
    view_1 = ndd.color_twist(
        view_1,
        brightness=brightness_1,
        contrast=contrast_1,
        hue=hue_1,
        saturation=saturation_1,
    )
    in_color_1 = ndd.random.uniform(
        values=[0, 1, 1, 1, 1],
        batch_size=batch_size,
        rng=Draws(base_seed + 6, position),
    )
    view_1 = ndd.saturation(view_1, saturation=in_color_1)
    sigma_1 = ndd.random.uniform(
        range=[0.1, 2.0], batch_size=batch_size, rng=Draws(base_seed + 7, position)
    )
    view_1 = ndd.gaussian_blur(view_1, sigma=sigma_1)
    mirror_1 = ndd.random.coin_flip(
        probability=0.5, batch_size=batch_size, rng=Draws(base_seed + 8, position)
    )
    view_1 = ndd.crop_mirror_normalize(
        view_1,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror_1,
    )
    view_2 = ndd.random_resized_crop(
        images, size=SIZE, random_area=[0.08, 1.0], rng=Draws(base_seed + 9, position)
    )
    brightness_2 = ndd.random.uniform(
        range=[0.6, 1.4], batch_size=batch_size, rng=Draws(base_seed + 10, position)
    )
    contrast_2 = ndd.random.uniform(
        range=[0.6, 1.4], batch_size=batch_size, rng=Draws(base_seed + 11, position)
    )
    hue_2 = ndd.random.uniform(
        range=[-36, 36], batch_size=batch_size, rng=Draws(base_seed + 12, position)
    )
    saturation_2 = ndd.random.uniform(
        range=[0.8, 1.2], batch_size=batch_size, rng=Draws(base_seed + 13, position)
    )
    view_2 = ndd.color_twist(
        view_2,
        brightness=brightness_2,
        contrast=contrast_2,
        hue=hue_2,
        saturation=saturation_2,
    )
    in_color_2 = ndd.random.uniform(
        values=[0, 1, 1, 1, 1],
        batch_size=batch_size,
        rng=Draws(base_seed + 14, position),
    )
    view_2 = ndd.saturation(view_2, saturation=in_color_2)
    sigma_2 = ndd.random.uniform(
        values=SIGMA_2_VALUES,
        batch_size=batch_size,
        rng=Draws(base_seed + 15, position),
    )
    view_2 = ndd.gaussian_blur(view_2, sigma=sigma_2)
    mirror_2 = ndd.random.coin_flip(
        probability=0.5, batch_size=batch_size, rng=Draws(base_seed + 16, position)
    )
    view_2 = ndd.crop_mirror_normalize(
        view_2,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror_2,
    )
    return view_1, view_2, labels


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
