"""Anchors, sizes and a probability for each encoded photo, computed in Python."""

import json
import random
from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def, types


def scaled_crop(generator, scales=(1.0, 0.875, 0.75)):
    w, h = generator.choice(scales), generator.choice(scales)
    x, y = (1.0 - w) * generator.random(), (1.0 - h) * generator.random()
    return np.array([x, y], dtype=np.float32), np.array([w, h], dtype=np.float32)


class CropSource:
    def __init__(self, params):
        self.params = params
        listed = json.loads(Path(params["folder"], "listed.json").read_text())
        self.files = [Path(params["folder"], name) for name in listed["files"]]

    def __call__(self, sample_info):
        generator = random.Random(self.params["seed"] + sample_info.idx_in_epoch)
        index = sample_info.idx_in_epoch % len(self.files)
        anchor, shape = scaled_crop(generator)
        flipped = np.array(generator.random() < self.params["flip"], dtype=np.int32)
        return np.fromfile(self.files[index], dtype=np.uint8), anchor, shape, flipped


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=1)
def cropped(source_params):
    jpegs, anchor, shape, flipped = fn.external_source(
        source=CropSource(source_params),
        num_outputs=4,
        batch=False,
        dtype=[types.UINT8, types.FLOAT, types.FLOAT, types.INT32],
        ndim=[1, 1, 1, 0],
    )
    images = fn.decoders.image_slice(jpegs, anchor, shape, axis_names="WH")
    images = fn.flip(images, horizontal=flipped)
    return fn.resize(images, size=(32, 32)), flipped


def crop_pipe(data_dir):
    return cropped({"folder": data_dir, "seed": 100, "flip": 0.5})
