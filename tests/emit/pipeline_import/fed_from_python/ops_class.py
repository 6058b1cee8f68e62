"""A subclass of Pipeline with ``ops.ExternalSource``, fed by the iterator that it is given."""

import os

import numpy as np
from nvidia.dali import ops, types
from nvidia.dali.pipeline import Pipeline


class FolderIterator:
    def __init__(self, batch_size, image_dir):
        self.batch_size = batch_size
        self.samples = []
        for label, name in enumerate(sorted(os.listdir(image_dir))):
            folder = os.path.join(image_dir, name)
            if os.path.isdir(folder):
                for file in sorted(os.listdir(folder)):
                    if file.endswith(".jpg"):
                        self.samples.append((os.path.join(folder, file), label))

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        pictures, labels = [], []
        for _ in range(self.batch_size):
            path, label = self.samples[self.i % len(self.samples)]
            with open(path, "rb") as file:
                pictures.append(np.frombuffer(file.read(), dtype=np.uint8))
            labels.append(np.array([label], dtype=np.int64))
            self.i += 3
        return (pictures, labels)


class ExternalSourcePipeline(Pipeline):
    def __init__(self, batch_size, eii, num_threads, device_id):
        super().__init__(batch_size, num_threads, device_id, seed=12)
        self.source = ops.ExternalSource(source=eii, num_outputs=2)
        self.decode = ops.decoders.Image(device="cpu", output_type=types.RGB)
        self.enhance = ops.BrightnessContrast(device="cpu", contrast=2)
        self.res = ops.Resize(device="cpu", resize_x=40, resize_y=40)

    def define_graph(self):
        images, labels = self.source()
        return self.enhance(self.res(self.decode(images))), labels


def main_pipe(data_dir):
    eii = FolderIterator(5, data_dir)
    return ExternalSourcePipeline(batch_size=5, eii=iter(eii), num_threads=2, device_id=None)
