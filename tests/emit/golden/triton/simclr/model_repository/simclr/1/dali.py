"""simclr: SimCLR's two views (arXiv 2002.05709): crop, flip, jitter 0.8, grey 0.2, blur
0.5.

A model of Triton's DALI backend: encoded images in, what the pipeline gives out. The
backend serialises this file itself; where its Python has no DALI, do it beforehand.

It draws anew for each request: crop_1, mirror_1, with_jitter_1, with_gray_1,
with_blur_1, crop_2, ....

Usage: python dali.py [--out FILE] [--warm-up PHOTO]    (writes model.dali beside this file)

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


@autoserialize
@pipeline_def(
    batch_size=BATCH_SIZE,
    num_threads=NUM_THREADS,
    device_id=0 if DEVICE == "mixed" else None,
    enable_conditionals=True,
)
def simclr_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=base_seed + 21,
    )
    mirror_1 = fn.random.coin_flip(probability=0.5, seed=base_seed + 22)
    view_1 = fn.flip(view_1, horizontal=mirror_1)
    with_jitter_1 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=base_seed + 23
    )
    brightness_1 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 24)
    contrast_1 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 25)
    saturation_1 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 26)
    hue_1 = fn.random.uniform(range=[-72, 72], seed=base_seed + 27)
    if with_jitter_1:
        view_1 = fn.color_twist(
            view_1,
            brightness=brightness_1,
            contrast=contrast_1,
            hue=hue_1,
            saturation=saturation_1,
        )
    with_gray_1 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=base_seed + 28
    )
    if with_gray_1:
        view_1 = fn.saturation(view_1, saturation=0)
    with_blur_1 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=base_seed + 29
    )
    sigma_1 = fn.random.uniform(range=[0.1, 2.0], seed=base_seed + 30)
    if with_blur_1:
        view_1 = fn.gaussian_blur(view_1, window_size=23, sigma=sigma_1)
    view_2 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=base_seed + 31,
    )
    mirror_2 = fn.random.coin_flip(probability=0.5, seed=base_seed + 32)
    view_2 = fn.flip(view_2, horizontal=mirror_2)
    with_jitter_2 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=base_seed + 33
    )
    brightness_2 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 34)
    contrast_2 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 35)
    saturation_2 = fn.random.uniform(range=[0.2, 1.8], seed=base_seed + 36)
    hue_2 = fn.random.uniform(range=[-72, 72], seed=base_seed + 37)
    if with_jitter_2:
        view_2 = fn.color_twist(
            view_2,
            brightness=brightness_2,
            contrast=contrast_2,
            hue=hue_2,
            saturation=saturation_2,
        )
    with_gray_2 = fn.random.coin_flip(
        probability=0.2, dtype=types.BOOL, seed=base_seed + 38
    )
    if with_gray_2:
        view_2 = fn.saturation(view_2, saturation=0)
    with_blur_2 = fn.random.coin_flip(
        probability=0.5, dtype=types.BOOL, seed=base_seed + 39
    )
    sigma_2 = fn.random.uniform(range=[0.1, 2.0], seed=base_seed + 40)
    if with_blur_2:
        view_2 = fn.gaussian_blur(view_2, window_size=23, sigma=sigma_2)
    return view_1, view_2


WARM_UP = """
model_warmup [
  {
    name: "a photo"
    batch_size: BATCH_SIZE
    inputs {
      key: "IMAGE"
      value: { data_type: TYPE_UINT8 dims: [ SIZE ] input_data_file: "photo" }
    }
  }
]
"""


def warm_up(photo: Path) -> None:
    """Let the server answer for this photo before it says that it is ready."""
    folder = Path(__file__).parents[1]
    folder.joinpath("warmup").mkdir(exist_ok=True)
    folder.joinpath("warmup", "photo").write_bytes(photo.read_bytes())
    config = folder.joinpath("config.pbtxt")
    text = WARM_UP.replace("BATCH_SIZE", str(BATCH_SIZE))
    text = text.replace("SIZE", str(photo.stat().st_size))
    config.write_text(config.read_text().partition("\nmodel_warmup")[0] + text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the serialised model.")
    parser.add_argument("--out", default=Path(__file__).with_name("model.dali"))
    parser.add_argument("--warm-up", type=Path, metavar="PHOTO", help="to answer first")
    args = parser.parse_args()
    pipe = simclr_pipeline()
    pipe.serialize(filename=str(args.out))
    if args.warm_up:
        warm_up(args.warm_up)
    print(args.out)


if __name__ == "__main__":
    main()
