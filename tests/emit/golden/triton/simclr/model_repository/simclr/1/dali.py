"""simclr: Two views of each photo for contrastive learning: crop, colour, some in grey,
blur.

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
def simclr_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = fn.random_resized_crop(
        images, size=SIZE, random_area=[0.2, 1.0], seed=base_seed + 1
    )
    brightness_1 = fn.random.uniform(range=[0.6, 1.4], seed=base_seed + 2)
    contrast_1 = fn.random.uniform(range=[0.6, 1.4], seed=base_seed + 3)
    saturation_1 = fn.random.uniform(range=[0.6, 1.4], seed=base_seed + 4)
    hue_1 = fn.random.uniform(range=[-36, 36], seed=base_seed + 5)
    view_1 = fn.color_twist(
        view_1,
        brightness=brightness_1,
        contrast=contrast_1,
        hue=hue_1,
        saturation=saturation_1,
    )
    in_color_1 = fn.random.uniform(values=[0, 1, 1, 1, 1], seed=base_seed + 6)
    view_1 = fn.saturation(view_1, saturation=in_color_1)
    sigma_1 = fn.random.uniform(range=[0.1, 2.0], seed=base_seed + 7)
    view_1 = fn.gaussian_blur(view_1, sigma=sigma_1)
    view_2 = fn.random_resized_crop(
        images, size=SIZE, random_area=[0.2, 1.0], seed=base_seed + 8
    )
    brightness_2 = fn.random.uniform(range=[0.6, 1.4], seed=base_seed + 9)
    contrast_2 = fn.random.uniform(range=[0.6, 1.4], seed=base_seed + 10)
    saturation_2 = fn.random.uniform(range=[0.6, 1.4], seed=base_seed + 11)
    hue_2 = fn.random.uniform(range=[-36, 36], seed=base_seed + 12)
    view_2 = fn.color_twist(
        view_2,
        brightness=brightness_2,
        contrast=contrast_2,
        hue=hue_2,
        saturation=saturation_2,
    )
    in_color_2 = fn.random.uniform(values=[0, 1, 1, 1, 1], seed=base_seed + 13)
    view_2 = fn.saturation(view_2, saturation=in_color_2)
    sigma_2 = fn.random.uniform(range=[0.1, 2.0], seed=base_seed + 14)
    view_2 = fn.gaussian_blur(view_2, sigma=sigma_2)
    return view_1, view_2


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the serialised model.")
    parser.add_argument("--out", default=Path(__file__).with_name("model.dali"))
    path = parser.parse_args().out
    pipe = simclr_pipeline()
    pipe.serialize(filename=str(path))
    print(path)


if __name__ == "__main__":
    main()
