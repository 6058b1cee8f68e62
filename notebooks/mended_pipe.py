"""train

Yields images (float32 CHW [3, 96, 96]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

Usage: python mended_pipe.py --data DIR [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import time

from nvidia.dali import Pipeline, fn, pipeline_def
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 32
NUM_THREADS = 2
DEVICE = "cpu"
SEED = 7  # operators get SEED + 1, + 2, ...: adding one changes no other
SIZE = [96]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


@pipeline_def
def train_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs, labels = fn.readers.file(
        file_root=data, random_shuffle=True, seed=seed + 1430822613, name="Reader"
    )
    images = fn.decoders.image(  # bad file? `workbench check DATA`
        jpegs, device=device
    )
    images = fn.random_resized_crop(images, size=SIZE, seed=seed + 2208556938)
    horizontal = fn.random.coin_flip(probability=0.5, seed=seed)
    images = fn.flip(images, horizontal=horizontal)
    angle = fn.random.uniform(range=[-10, 10], seed=seed + 3585591910)
    images = fn.rotate(images, keep_size=True, angle=angle)
    images = fn.crop_mirror_normalize(images, mean=MEAN, std=STD, output_layout="CHW")
    return images, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` says where images are decoded: cpu or mixed."""
    pipe = train_pipeline(
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


# The graph of this program, for `workbench import`. It is not used if the code is changed.
# sha256: 33a73938ed74b1f22c2726be52b37247cfdfea13bf2adfe38f1d7c04ed312ea4
# eNp1k0uToyAQx78LZ0OJrnld97LnvewhlaJQWmWiwCLOVCbld9/GVzKbzMWiX//+dQs38mHcJQdd1ORIYspoTCLihavAo6Mr
# nLIePcZ6ZXRHjjfyoXzNMYZeB0KOvt94AIfOUjXAnTGeDBHJoVMSMI7nEMB4C1qC5FZZoPYakionbB00SuNaEZpK0ajNirWZ
# EiLyDq5DBnJMI6JFG9S8E0pjSOSm9xNSB94rXY1UufBFzTv1iblpglV9y309QychFyQ57iIi4V0VQbCwPWpYByWE0r899MAl
# WF+PBQG7URqwnCF6Z3pXBON0IwqVljWEdaHlRquj4+gRuSgdckrTTDm445HSCS1Ny7u6L8uwI+96GBY49iON90myZelwxgGM
# fGwnoUDH0m6ysJ9qRRW8Stvejy2k8GLFo28WsPMwRLPMDOAgbErywqHcMsLL0EI+bfZ02J6HF90mHop/BgNknShJ4n2WbQ/p
# fgWojVOfRnvRfO1LC6M0Lxv12NQ6k4tcNcpfyTGm2Socr3pzxag0n5/oXky2oEaPQI906yxrJ6GrBv6D7rUKV/nrH67CojYs
# jlh8XonTDDdxYAd2R3fGC39XXKxF6QJg5ws9X5OnwcLA90kmwBn0mT+MzVvlnHFch/fXBO25+3fBBaYFga/xxJKUbndZxNiW
# JnscMKVZipe189jhlO1pesiibEdZEr7pLsPYBMIbcZ0e7s9ff8irYaYF3LnX0jFpvOjdd6T3JTQih6a7P4DZHobhH3fWqT0=
