"""grid-mask: A grid of squares is removed, at a random scale, turn and place (GridMask,
Chen et al. 2020).

A model of Triton's DALI backend: encoded images in, what the pipeline gives out. The
backend serialises this file itself; where its Python has no DALI, do it beforehand.

Usage: python dali.py [--out FILE]    (writes model.dali beside this file)
"""

import argparse
from pathlib import Path

try:
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.data_node import DataNode
    from nvidia.dali.plugin.triton import autoserialize
except ImportError as error:
    raise ImportError(f"{error}. Needed: nvidia-dali-cuda120.") from None

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
def grid_mask_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.random_resized_crop(
        images, size=SIZE, random_area=[0.35, 1.0], seed=base_seed + 1
    )
    tile = fn.random.uniform(range=[96, 224], dtype=types.INT32, seed=base_seed + 2)
    angle = fn.random.uniform(range=[0, 1.5708], seed=base_seed + 3)
    shift_x = fn.random.uniform(range=[0, 224], seed=base_seed + 4)
    shift_y = fn.random.uniform(range=[0, 224], seed=base_seed + 5)
    images = fn.grid_mask(
        images, ratio=0.4, tile=tile, angle=angle, shift_x=shift_x, shift_y=shift_y
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 6)
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
    pipe = grid_mask_pipeline()
    pipe.serialize(filename=str(path))
    print(path)


if __name__ == "__main__":
    main()
