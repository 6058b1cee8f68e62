"""The oldest form: ``iter_setup`` of a subclass feeds each batch by ``feed_input``."""

from pathlib import Path

import numpy as np
from nvidia.dali import ops, types
from nvidia.dali.pipeline import Pipeline


class InputIterator:
    def __init__(self, root, batch_size):
        self.paths = sorted(Path(root).glob("*/*.jpg"))
        self.batch_size = batch_size

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        if self.i + self.batch_size > len(self.paths):
            raise StopIteration
        taken = self.paths[self.i : self.i + self.batch_size]
        self.i += self.batch_size
        images = [np.fromfile(path, dtype=np.uint8) for path in taken]
        return images, [np.array([len(path.name)], dtype=np.int32) for path in taken]


class FedPipeline(Pipeline):
    def __init__(self, data_dir, batch_size=4):
        super().__init__(batch_size, 2, None, seed=1)
        self.input = ops.ExternalSource()
        self.input_label = ops.ExternalSource()
        self.decode = ops.decoders.Image(device="cpu", output_type=types.RGB)
        self.resize = ops.Resize(size=(40, 40))
        self.external_data = InputIterator(data_dir, batch_size)
        self.iterator = iter(self.external_data)

    def define_graph(self):
        self.jpegs = self.input()
        self.labels = self.input_label()
        return self.resize(self.decode(self.jpegs)), self.labels

    def iter_setup(self):
        try:
            images, labels = next(self.iterator)
            self.feed_input(self.jpegs, images)
            self.feed_input(self.labels, labels)
        except StopIteration:
            self.iterator = iter(self.external_data)
            raise
