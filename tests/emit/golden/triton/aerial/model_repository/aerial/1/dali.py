"""aerial: Satellite and aerial photos have no up: a crop at any scale, quarter turns,
both mirrors.

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
SIZE = [256, 256]


@autoserialize
@pipeline_def(
    batch_size=BATCH_SIZE,
    num_threads=NUM_THREADS,
    device_id=0 if DEVICE == "mixed" else None,
)
def aerial_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.random_resized_crop(
        images, size=SIZE, random_area=[0.25, 1.0], seed=base_seed + 1
    )
    angle = fn.random.uniform(values=[0, 90, 180, 270], seed=base_seed + 2)
    images = fn.rotate(images, keep_size=True, interp_type=types.INTERP_NN, angle=angle)
    horizontal = fn.random.coin_flip(probability=0.5, seed=base_seed + 3)
    vertical = fn.random.coin_flip(probability=0.5, seed=base_seed + 4)
    images = fn.flip(images, horizontal=horizontal, vertical=vertical)
    brightness = fn.random.uniform(range=[0.8, 1.2], seed=base_seed + 5)
    contrast = fn.random.uniform(range=[0.8, 1.2], seed=base_seed + 6)
    images = fn.brightness_contrast(images, brightness=brightness, contrast=contrast)
    return (images,)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the serialised model.")
    parser.add_argument("--out", default=Path(__file__).with_name("model.dali"))
    path = parser.parse_args().out
    pipe = aerial_pipeline()
    pipe.serialize(filename=str(path))
    print(path)


if __name__ == "__main__":
    main()
