"""Samples of detection: an encoded photo, boxes and classes in varying number, and an id."""

import json
import os
from abc import ABC, abstractmethod

import numpy as np
from nvidia.dali import fn, pipeline_def, types


class Source(ABC):
    def __init__(self, root, seed):
        self.root, self.seed = root, seed
        self.load()

    @abstractmethod
    def load(self): ...

    @abstractmethod
    def sample(self, index): ...

    def __call__(self, info):
        order = np.random.default_rng(self.seed + info.epoch_idx).permutation(len(self))
        return self.sample(order[info.idx_in_epoch % len(self)])


class Boxes(Source):
    def load(self):
        with open(os.path.join(self.root, "listed.json")) as file:
            content = json.load(file)
        self.names, self.targets = content["files"], content["boxes"]

    def __len__(self):
        return len(self.names)

    def sample(self, index):
        target = np.array(self.targets[index], dtype=np.float32).reshape(-1, 5)
        encoded = np.fromfile(os.path.join(self.root, self.names[index]), dtype=np.uint8)
        return (
            encoded,
            target[:, :4].copy(),
            np.int32(target[:, 4]),
            np.array(index, dtype=np.int64),
        )


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=44)
def detection(data_dir):
    jpegs, boxes, classes, index = fn.external_source(
        source=Boxes(data_dir, seed=1), num_outputs=4, batch=False
    )
    images = fn.resize(fn.decoders.image(jpegs, output_type=types.RGB), size=(48, 64))
    flip = fn.random.coin_flip(probability=0.5, seed=5)
    images = fn.flip(images, horizontal=flip)
    boxes = fn.bb_flip(boxes, ltrb=True, horizontal=flip)
    return images, fn.pad(boxes, fill_value=-1), fn.pad(classes, fill_value=-1), index
