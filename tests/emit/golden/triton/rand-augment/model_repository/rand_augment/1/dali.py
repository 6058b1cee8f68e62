"""rand-augment: ImageNet training with RandAugment as torchvision does it, N = 2 and M
= 9 of 31 (arXiv 1909.13719).

A model of Triton's DALI backend: encoded images in, what the pipeline gives out. The
backend serialises this file itself; where its Python has no DALI, do it beforehand.

Usage: python dali.py [--out FILE]    (writes model.dali beside this file)

Needs nvidia-dali-cuda120.
"""

import argparse
from pathlib import Path

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug import rand_augment
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.triton import autoserialize

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [224, 224]


@autoserialize
@pipeline_def(
    batch_size=BATCH_SIZE,
    num_threads=NUM_THREADS,
    device_id=0 if DEVICE == "mixed" else None,
    enable_conditionals=True,
    seed=SEED,
)
def rand_augment_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_LINEAR,
        num_attempts=10,
        seed=base_seed + 1,
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 2)
    images = fn.flip(images, horizontal=mirror)
    images = rand_augment.rand_augment(images, n=2, m=9)
    return (images,)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the serialised model.")
    parser.add_argument("--out", default=Path(__file__).with_name("model.dali"))
    path = parser.parse_args().out
    pipe = rand_augment_pipeline()
    pipe.serialize(filename=str(path))
    print(path)


if __name__ == "__main__":
    main()
