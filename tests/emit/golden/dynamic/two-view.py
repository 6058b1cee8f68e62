"""two-view: Two normalised views near BYOL's by drawn arguments alone: for targets that
hold no if.

DALI reads hidden folders such as .ipynb_checkpoints as classes. If the folder of the
data has some, export again with it as data: the code then skips them.

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
        key = [seed & 0xFFFFFFFF, seed >> 32]
        self.words = iter([*key, 0, 0, position & 0xFFFFFFFF, position >> 32, 0])

    def __call__(self) -> int:
        return next(self.words)


def batches(
    data: str, batch_size: int = 64, device: str = "cpu", seed: int = 42
) -> Iterator[tuple[ndd.Batch, ...]]:
    """Yield batches without end; ``device`` says where images are decoded: cpu or gpu."""
    reader = ndd.readers.File(file_root=data, random_shuffle=True, seed=seed)
    first = 0  # the number of a batch's first sample, of all that were read
    while True:
        for jpegs, labels in reader.next_epoch(batch_size=batch_size):
            images = ndd.decoders.image(jpegs, output_type=types.RGB, device=device)
            view_1 = ndd.random_resized_crop(
                images, size=SIZE, random_area=[0.08, 1.0], rng=Draws(seed + 1, first)
            )
            brightness_1 = ndd.random.uniform(
                range=[0.6, 1.4],
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 2, first),
            )
            contrast_1 = ndd.random.uniform(
                range=[0.6, 1.4],
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 3, first),
            )
            hue_1 = ndd.random.uniform(
                range=[-36, 36], batch_size=jpegs.batch_size, rng=Draws(seed + 4, first)
            )
            saturation_1 = ndd.random.uniform(
                range=[0.8, 1.2],
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 5, first),
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
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 6, first),
            )
            view_1 = ndd.saturation(view_1, saturation=in_color_1)
            sigma_1 = ndd.random.uniform(
                range=[0.1, 2.0],
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 7, first),
            )
            view_1 = ndd.gaussian_blur(view_1, sigma=sigma_1)
            mirror_1 = ndd.random.coin_flip(
                probability=0.5, batch_size=jpegs.batch_size, rng=Draws(seed + 8, first)
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
                images, size=SIZE, random_area=[0.08, 1.0], rng=Draws(seed + 9, first)
            )
            brightness_2 = ndd.random.uniform(
                range=[0.6, 1.4],
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 10, first),
            )
            contrast_2 = ndd.random.uniform(
                range=[0.6, 1.4],
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 11, first),
            )
            hue_2 = ndd.random.uniform(
                range=[-36, 36],
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 12, first),
            )
            saturation_2 = ndd.random.uniform(
                range=[0.8, 1.2],
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 13, first),
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
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 14, first),
            )
            view_2 = ndd.saturation(view_2, saturation=in_color_2)
            sigma_2 = ndd.random.uniform(
                values=SIGMA_2_VALUES,
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 15, first),
            )
            view_2 = ndd.gaussian_blur(view_2, sigma=sigma_2)
            mirror_2 = ndd.random.coin_flip(
                probability=0.5,
                batch_size=jpegs.batch_size,
                rng=Draws(seed + 16, first),
            )
            view_2 = ndd.crop_mirror_normalize(
                view_2,
                dtype=types.FLOAT,
                output_layout="CHW",
                mean=MEAN,
                std=STD,
                mirror=mirror_2,
            )
            yield view_1, view_2, labels
            first += batch_size


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the operators and print imgs/s.")
    parser.add_argument("--data", required=True, help="folder of images by class")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--batches", type=int, default=50)
    args = parser.parse_args()

    ndd.set_num_threads(args.threads)  # before anything has run
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
