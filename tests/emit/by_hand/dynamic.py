# mypy: ignore-errors
"""ResNet training in DALI's dynamic mode, with a program that measures it."""

import argparse
import time

import nvidia.dali.experimental.dynamic as ndd
from nvidia.dali import types

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def batches(data, batch_size=64, device="cpu", seed=42):
    reader = ndd.readers.File(file_root=data, random_shuffle=True, seed=seed)
    rng = ndd.random.RNG(seed)
    while True:
        for jpegs, labels in reader.next_epoch(batch_size=batch_size):
            images = ndd.decoders.image(jpegs, device=device, output_type=types.RGB)
            images = ndd.random_resized_crop(images, size=[224, 224], rng=rng)
            mirror = ndd.random.coin_flip(probability=0.5, batch_size=jpegs.batch_size, rng=rng)
            images = ndd.crop_mirror_normalize(
                images,
                dtype=types.FLOAT,
                output_layout="CHW",
                mean=MEAN,
                std=STD,
                mirror=mirror,
            )
            yield images, labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--batches", type=int, default=50)
    args = parser.parse_args()

    ndd.set_num_threads(args.threads)
    stream = batches(args.data, args.batch_size, args.device)
    for _ in range(5):
        evaluate(next(stream))
    start = time.perf_counter()
    for _ in range(args.batches):
        evaluate(next(stream))
    seconds = time.perf_counter() - start
    print(f"{args.batches * args.batch_size / seconds:.0f} imgs/s")


def evaluate(outputs):
    for output in outputs:
        output.evaluate()


if __name__ == "__main__":
    main()
