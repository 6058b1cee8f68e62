"""Small images and labels in an ``.npz`` file, as for CIFAR: padded, cropped, mirrored."""

import os

import numpy as np
from nvidia.dali import fn, types
from nvidia.dali.pipeline import pipeline_def

MEAN = (0.4914 * 255, 0.4822 * 255, 0.4465 * 255)
STD = (0.2470 * 255, 0.2435 * 255, 0.2616 * 255)


class CifarInput:
    def __init__(self, path, batch_size):
        held = np.load(path)
        self.data, self.targets = held["images"], held["labels"]
        self.batch_size = batch_size
        self.rng = np.random.RandomState(0)

    def __iter__(self):
        self.i = 0
        order = self.rng.permutation(len(self.data))
        self.data, self.targets = self.data[order], self.targets[order]
        return self

    def __next__(self):
        if self.i + self.batch_size > len(self.data):
            raise StopIteration
        taken = slice(self.i, self.i + self.batch_size)
        self.i += self.batch_size
        return self.data[taken], self.targets[taken, None]


@pipeline_def(batch_size=6, num_threads=2, device_id=None, seed=77)
def cifar(data_dir):
    source = CifarInput(os.path.join(data_dir, "images.npz"), 6)
    images, labels = fn.external_source(source, num_outputs=2, layout=["HWC", ""], cycle="raise")
    images = fn.paste(images, ratio=1.25, fill_value=0)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        crop=(32, 32),
        crop_pos_x=fn.random.uniform(range=(0.0, 1.0), seed=1),
        crop_pos_y=fn.random.uniform(range=(0.0, 1.0), seed=2),
        mirror=fn.random.coin_flip(probability=0.5, seed=3),
        mean=MEAN,
        std=STD,
    )
    return images, labels
