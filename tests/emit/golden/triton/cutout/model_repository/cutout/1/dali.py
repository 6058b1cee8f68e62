"""cutout: A square of each photo is erased, at a random place (Cutout, DeVries and
Taylor 2017).

A model of Triton's DALI backend: encoded images in, what the pipeline gives out. The
backend serialises this file itself; where its Python has no DALI, do it beforehand.

Usage: python dali.py [--out FILE]    (writes model.dali beside this file)

Needs nvidia-dali-cuda120.
"""

import argparse
from pathlib import Path

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.triton import autoserialize

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [224, 224]
MEAN = [123.675, 116.28, 103.53]
STD = [58.395, 57.12, 57.375]


@autoserialize
@pipeline_def(
    batch_size=BATCH_SIZE,
    num_threads=NUM_THREADS,
    device_id=0 if DEVICE == "mixed" else None,
)
def cutout_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.random_resized_crop(
        images, size=SIZE, random_area=[0.35, 1.0], seed=base_seed + 1
    )
    anchor = fn.random.uniform(range=[0, 0.75], shape=[2], seed=base_seed + 2)
    images = fn.erase(
        images,
        shape=[0.25, 0.25],
        normalized=True,
        axis_names="HW",
        fill_value=[124, 116, 104],
        anchor=anchor,
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 3)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return (images,)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the serialised model.")
    parser.add_argument("--out", default=Path(__file__).with_name("model.dali"))
    path = parser.parse_args().out
    pipe = cutout_pipeline()
    pipe.serialize(filename=str(path))
    print(path)


if __name__ == "__main__":
    main()
