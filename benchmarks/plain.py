"""A plain script, as an expert would write it to see how fast DALI is; no workbench in it.

python benchmarks/plain.py --data DIR --what decode|train|heavy --device cpu|mixed --batch-size N
--threads T --seconds S prints imgs/s: once, or with --rounds once for each line of its input, so
that another program can be interleaved with it.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time

from nvidia.dali import fn, pipeline_def, types


def decoded(encoded, device: str, load: float):
    engines = {"hw_decoder_load": load} if device == "mixed" else {}
    return fn.decoders.image(encoded, device=device, output_type=types.RGB, **engines)


def normalized(images):
    return fn.crop_mirror_normalize(
        images,
        mirror=fn.random.coin_flip(probability=0.5),
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        dtype=types.FLOAT,
        output_layout="CHW",
    )


@pipeline_def
def decode(root: str, device: str, load: float):
    encoded, _ = fn.readers.file(file_root=root, random_shuffle=True)
    return decoded(encoded, device, load)


@pipeline_def
def train(root: str, device: str, load: float):
    encoded, labels = fn.readers.file(file_root=root, random_shuffle=True)
    images = decoded(encoded, device, load)
    images = fn.random_resized_crop(images, size=[224, 224])
    return normalized(images), labels


@pipeline_def
def heavy(root: str, device: str, load: float):
    encoded, labels = fn.readers.file(file_root=root, random_shuffle=True)
    images = decoded(encoded, device, load)
    images = fn.random_resized_crop(images, size=[224, 224])
    images = fn.rotate(
        images, angle=fn.random.uniform(range=[-10, 10]), keep_size=True, fill_value=0
    )
    images = fn.color_twist(
        images,
        brightness=fn.random.uniform(range=[0.8, 1.2]),
        contrast=fn.random.uniform(range=[0.8, 1.2]),
        saturation=fn.random.uniform(range=[0.7, 1.3]),
        hue=fn.random.uniform(range=[-20, 20]),
    )
    return normalized(images), labels


PIPELINES = {"decode": decode, "train": train, "heavy": heavy}


def rate(pipe, batch_size: int, seconds: float) -> float:
    steady = time.perf_counter() + min(0.2 * seconds, 1.0)  # clock frequencies rise, as in the lab
    for batch in itertools.count():
        if batch >= 4 and time.perf_counter() >= steady:  # the queues held 4 from a pause
            break
        pipe.run()
    batches = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pipe.run()
        batches += 1
    return batches * batch_size / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--what", choices=[*PIPELINES], required=True)
    parser.add_argument("--device", choices=["cpu", "mixed"], required=True)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--load", type=float, default=0.65)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", action="store_true")
    args = parser.parse_args()
    pipe = PIPELINES[args.what](
        args.data,
        args.device,
        args.load,
        batch_size=args.batch_size,
        num_threads=args.threads,
        device_id=0 if args.device == "mixed" else None,
        seed=42,
    )
    pipe.build()
    rate(pipe, args.batch_size, 2.0)
    for _ in sys.stdin if args.rounds else [""]:
        print(rate(pipe, args.batch_size, args.seconds), flush=True)


if __name__ == "__main__":
    main()
