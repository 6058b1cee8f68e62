"""Arrays by CuPy, or by NumPy where it is missing, in batches that draw their own noise."""

import os

import numpy as np
from nvidia.dali import fn, pipeline_def

try:
    import cupy as xp
except ImportError:
    xp = np


class NoisyImages:
    def __init__(self, batch_size, imgs):
        self.batch_size = batch_size
        self.imgs = imgs

    def __iter__(self):
        self.i = 0
        self.n = self.imgs.shape[0]
        self.noise = np.random.default_rng(17)
        return self

    def __next__(self):
        batch, labels = [], []
        for _ in range(self.batch_size):
            noise = self.noise.integers(-20, 20, self.imgs[self.i].shape)
            batch.append(xp.clip(self.imgs[self.i] + noise, 0, 255).astype(xp.uint8))
            labels.append(xp.array([self.i % 2], dtype=np.uint8))
            self.i = (self.i + 1) % self.n
        return (batch, labels)


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=12)
def noisy(data_dir):
    imgs = xp.array(np.load(os.path.join(data_dir, "images.npz"))["images"])
    images, labels = fn.external_source(
        source=NoisyImages(4, imgs), num_outputs=2, layout=["HWC", ""]
    )
    return fn.gaussian_blur(images, sigma=0.8), labels
