"""Photos from Python: a callable opens the files itself and feeds them by ``external_source``."""

from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def


class Files:
    """Encoded photos by sample index, in the order of their paths."""

    def __init__(self, folder, batch_size):
        self.paths = sorted(Path(folder).rglob("*.jpg"))
        self.batch_size = batch_size

    def __call__(self, info):
        path = self.paths[info.idx_in_epoch % len(self.paths)]
        label = np.int32([len(path.parent.name)])
        return np.frombuffer(path.read_bytes(), dtype=np.uint8), label


@pipeline_def(batch_size=5, num_threads=2, device_id=None, seed=91)
def from_python(data_dir):
    jpegs, labels = fn.external_source(source=Files(data_dir, 5), num_outputs=2, batch=False)
    images = fn.decoders.image(jpegs)
    images = fn.resize(images, size=(64, 64))
    images = fn.rotate(images, angle=fn.random.uniform(range=(-20, 20), seed=1), keep_size=True)
    return images, labels
