"""A loop of the program feeds the input by its name before each run."""

from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def

BATCH = 4


@pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)
def inference():
    arrays = fn.external_source(name="DALI_INPUT_0", no_copy=False)
    return fn.crop_mirror_normalize(arrays, crop=(24, 24), mean=[128.0], std=[64.0])


def batches(pipe, data_dir, count):
    images = np.load(Path(data_dir) / "images.npz")["images"]
    for number in range(count):
        taken = [images[(number * BATCH + k) % len(images)] for k in range(BATCH)]
        pipe.feed_input("DALI_INPUT_0", taken, layout="HWC")
        yield pipe.run()
