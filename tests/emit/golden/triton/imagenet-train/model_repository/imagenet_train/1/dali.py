"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]).

A model of Triton's DALI backend: encoded images in, outputs of the pipeline out. The
backend serialises this file itself; if its Python has no DALI, do it in advance.

Random for each request: crop, mirror.

Usage: python dali.py [--out FILE] [--warm-up PHOTO]    (writes model.dali next to this file)

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
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


@autoserialize
@pipeline_def(
    batch_size=BATCH_SIZE,
    num_threads=NUM_THREADS,
    device_id=0 if DEVICE == "mixed" else None,
)
def imagenet_train_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.random_resized_crop(images, size=SIZE, seed=base_seed + 1)
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 2)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return (images,)


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
    """Let the server process this photo before it reports that it is ready."""
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
    parser.add_argument("--warm-up", type=Path, metavar="PHOTO", help="to run first")
    args = parser.parse_args()
    pipe = imagenet_train_pipeline()
    pipe.serialize(filename=str(args.out))
    if args.warm_up:
        warm_up(args.warm_up)
    print(args.out)


if __name__ == "__main__":
    main()
