# mypy: ignore-errors
"""The rest of a program that measures a pipeline."""

import argparse
import time

from .imagenet_train import train_pipeline  # in one file with it


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--device", choices=["cpu", "mixed"], default="cpu")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    pipe = train_pipeline(
        args.data,
        args.device,
        batch_size=args.batch_size,
        num_threads=args.threads,
        device_id=0 if args.device == "mixed" else None,
        seed=args.seed,
        prefetch_queue_depth=2,
    )
    pipe.build()
    for _ in range(5):
        pipe.run()
    start = time.perf_counter()
    for _ in range(args.batches):
        pipe.run()
    seconds = time.perf_counter() - start
    print(f"{args.batches * args.batch_size / seconds:.0f} imgs/s")


if __name__ == "__main__":
    main()
