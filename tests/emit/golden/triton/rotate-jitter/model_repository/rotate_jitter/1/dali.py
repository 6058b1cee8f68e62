"""rotate-jitter: Turn by up to 10 degrees, vary colour and light, mirror half of them.

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


@autoserialize
@pipeline_def(
    batch_size=BATCH_SIZE,
    num_threads=NUM_THREADS,
    device_id=0 if DEVICE == "mixed" else None,
)
def rotate_jitter_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.resize(images, size=SIZE)
    angle = fn.random.uniform(range=[-10, 10], seed=base_seed + 1)
    images = fn.rotate(images, keep_size=True, fill_value=0, angle=angle)
    brightness = fn.random.uniform(range=[0.8, 1.2], seed=base_seed + 2)
    contrast = fn.random.uniform(range=[0.8, 1.2], seed=base_seed + 3)
    hue = fn.random.uniform(range=[-20, 20], seed=base_seed + 4)
    saturation = fn.random.uniform(range=[0.7, 1.3], seed=base_seed + 5)
    images = fn.color_twist(
        images, brightness=brightness, contrast=contrast, hue=hue, saturation=saturation
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 6)
    images = fn.flip(images, horizontal=mirror)
    return (images,)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the serialised model.")
    parser.add_argument("--out", default=Path(__file__).with_name("model.dali"))
    path = parser.parse_args().out
    pipe = rotate_jitter_pipeline()
    pipe.serialize(filename=str(path))
    print(path)


if __name__ == "__main__":
    main()
