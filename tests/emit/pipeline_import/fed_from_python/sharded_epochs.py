"""An iterator of one shard that ends and reshuffles; the last batch of an epoch is smaller."""

import random
from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def


class ShardIterator:
    def __init__(self, root, batch_size, device_id, num_gpus, seed=5):
        files = sorted(Path(root).glob("*/*.jpg"))
        classes = sorted({file.parent.name for file in files})
        begin = len(files) * device_id // num_gpus
        self.files = files[begin : len(files) * (device_id + 1) // num_gpus]
        self.label_of = {name: number for number, name in enumerate(classes)}
        self.batch_size = batch_size
        self.random = random.Random(seed)

    def __iter__(self):
        self.i = 0
        self.random.shuffle(self.files)
        return self

    def __next__(self):
        if self.i >= len(self.files):
            raise StopIteration
        taken = self.files[self.i : self.i + self.batch_size]
        self.i += len(taken)
        encoded = [np.fromfile(file, dtype=np.uint8) for file in taken]
        labels = [np.int64([self.label_of[file.parent.name]]) for file in taken]
        return encoded, labels

    def __len__(self):
        return len(self.files)

    next = __next__


@pipeline_def
def train_pipe(data_dir, batch):
    shard = ShardIterator(data_dir, batch, device_id=0, num_gpus=2)
    encoded, labels = fn.external_source(source=shard, num_outputs=2, cycle="raise")
    images = fn.decoders.image_random_crop(encoded, seed=3)
    images = fn.resize(images, size=[40, 40])
    return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(seed=4)), labels


def make(data_dir):
    return train_pipe(data_dir, 3, batch_size=3, num_threads=2, device_id=None)
