"""Two iterators, of photos and of masks, and one array for every batch."""

from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def, types


class EncodedFiles:
    def __init__(self, paths, batch_size):
        self.paths, self.batch_size = paths, batch_size

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        taken = [self.paths[(self.at + k) % len(self.paths)] for k in range(self.batch_size)]
        self.at += self.batch_size
        return [np.fromfile(path, dtype=np.uint8) for path in taken]


def files(root, ending):
    return sorted(Path(root).rglob(f"*.{ending}"))


@pipeline_def(batch_size=3, num_threads=2, device_id=None)
def segmentation(data_dir):
    photos = EncodedFiles(files(data_dir, "jpg"), 3)
    masks = EncodedFiles(files(data_dir, "png"), 3)
    weights = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    images = fn.decoders.image(fn.external_source(photos))
    targets = fn.decoders.image(fn.external_source(masks), output_type=types.GRAY)
    scale = fn.external_source(source=lambda: weights, name="weights")
    images = fn.resize(images, size=(40, 56))
    targets = fn.resize(targets, size=(40, 56), interp_type=types.INTERP_NN)
    return images, targets, scale
