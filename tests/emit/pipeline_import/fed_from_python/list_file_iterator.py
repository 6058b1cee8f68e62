"""An endless iterator over the lines of a list file: batches of encoded photos and labels."""

import os
from random import Random

import numpy as np
from nvidia.dali import fn, types
from nvidia.dali.pipeline import Pipeline

batch_size = 4


class ExternalInputIterator:
    def __init__(self, batch_size, images_dir):
        self.images_dir = images_dir
        self.batch_size = batch_size
        with open(os.path.join(images_dir, "train.txt")) as f:
            self.files = [line.rstrip() for line in f if line != ""]
        Random(7).shuffle(self.files)

    def __iter__(self):
        self.i = 0
        self.n = len(self.files)
        return self

    def __next__(self):
        batch, labels = [], []
        for _ in range(self.batch_size):
            name, label = self.files[self.i].split(" ")
            with open(os.path.join(self.images_dir, name), "rb") as f:
                batch.append(np.frombuffer(f.read(), dtype=np.uint8))
            labels.append(np.array([label], dtype=np.uint8))
            self.i = (self.i + 1) % self.n
        return batch, labels


def photo_pipe(data_dir):
    eii = ExternalInputIterator(batch_size, data_dir)
    pipe = Pipeline(batch_size=batch_size, num_threads=2, device_id=None, seed=12)
    with pipe:
        jpegs, labels = fn.external_source(source=eii, num_outputs=2, dtype=types.UINT8)
        images = fn.decoders.image(jpegs, output_type=types.RGB)
        images = fn.resize(images, resize_x=48, resize_y=48)
        pipe.set_outputs(images, labels)
    return pipe
