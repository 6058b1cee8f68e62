"""A generator function of single samples that DALI starts again at its end."""

from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def
from PIL import Image


@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def thumbnails(data_dir):
    def samples():
        for number, path in enumerate(sorted(Path(data_dir).glob("*/*.jpg"))[:6]):
            with Image.open(path) as image:
                small = image.convert("RGB").resize((40, 30))
            yield np.asarray(small), np.array(number, dtype=np.int16)

    images, numbers = fn.external_source(
        samples, num_outputs=2, batch=False, cycle="quiet", layout=["HWC", ""]
    )
    return fn.flip(images, horizontal=fn.random.coin_flip(seed=8)), numbers
