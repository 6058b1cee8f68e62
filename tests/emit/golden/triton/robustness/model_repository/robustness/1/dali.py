"""robustness: What a cheap camera does: blur, noise and JPEG artefacts, each of random
strength.

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
def robustness_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.resize(images, size=SIZE)
    sigma = fn.random.uniform(range=[0.1, 2.0], seed=base_seed + 1)
    images = fn.gaussian_blur(images, sigma=sigma)
    stddev = fn.random.uniform(range=[0, 30], seed=base_seed + 2)
    images = fn.noise.gaussian(images, stddev=stddev, seed=base_seed + 3)
    quality = fn.random.uniform(range=[10, 80], dtype=types.INT32, seed=base_seed + 4)
    images = fn.jpeg_compression_distortion(images, quality=quality)
    return (images,)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the serialised model.")
    parser.add_argument("--out", default=Path(__file__).with_name("model.dali"))
    path = parser.parse_args().out
    pipe = robustness_pipeline()
    pipe.serialize(filename=str(path))
    print(path)


if __name__ == "__main__":
    main()
