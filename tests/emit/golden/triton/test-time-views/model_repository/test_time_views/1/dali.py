"""test-time-views: Five crops of each photo, centre and corners, to average predictions
over.

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
MEAN = [123.675, 116.28, 103.53]
STD = [58.395, 57.12, 57.375]
CROP = [224, 224]


@autoserialize
@pipeline_def(
    batch_size=BATCH_SIZE,
    num_threads=NUM_THREADS,
    device_id=0 if DEVICE == "mixed" else None,
)
def test_time_views_pipeline(
    device: str = DEVICE, base_seed: int = SEED
) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(device="cpu", name="IMAGE", dtype=types.UINT8, ndim=1)
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.resize(images, resize_shorter=256)
    centre_view = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        crop=CROP,
        crop_pos_x=0.5,
        crop_pos_y=0.5,
    )
    top_left_view = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        crop=CROP,
        crop_pos_x=0.0,
        crop_pos_y=0.0,
    )
    top_right_view = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        crop=CROP,
        crop_pos_x=1.0,
        crop_pos_y=0.0,
    )
    bottom_left_view = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        crop=CROP,
        crop_pos_x=0.0,
        crop_pos_y=1.0,
    )
    bottom_right_view = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        crop=CROP,
        crop_pos_x=1.0,
        crop_pos_y=1.0,
    )
    return (
        centre_view,
        top_left_view,
        top_right_view,
        bottom_left_view,
        bottom_right_view,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the serialised model.")
    parser.add_argument("--out", default=Path(__file__).with_name("model.dali"))
    path = parser.parse_args().out
    pipe = test_time_views_pipeline()
    pipe.serialize(filename=str(path))
    print(path)


if __name__ == "__main__":
    main()
