"""A generator with arguments, started before the pipeline: batches of encoded photos."""

from itertools import count
from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def

MEAN = np.array([118.0, 111.0, 103.0], dtype=np.float32).reshape(1, 1, 3)


def batches_of(folder, size):
    paths = sorted(Path(folder).rglob("*.jpg"))
    for first in count(0, size):
        taken = [paths[(first + k) % len(paths)] for k in range(size)]
        yield (
            [np.frombuffer(path.read_bytes(), np.uint8) for path in taken],
            np.int32([[len(path.stem)] for path in taken]),
        )


@pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=21)
def generated(data_dir):
    photos = batches_of(data_dir, 3)
    jpegs, lengths = fn.external_source(source=photos, num_outputs=2)
    images = fn.resize(fn.decoders.image(jpegs), size=(36, 48))
    images = fn.normalize(images, mean=MEAN, stddev=58.0)
    return images, lengths
