"""Rows of a table of pandas: encoded photos with a class and two angles."""

import os

import numpy as np
import pandas as pd
from nvidia.dali import fn, pipeline_def


class TableIterator:
    def __init__(self, batch_size, data_frame, image_dir, shuffle=True):
        self.img_dir = image_dir
        self.batch_size = batch_size
        if shuffle:
            data_frame = data_frame.sample(frac=1, random_state=11)
        self.rows = [row._asdict() for row in data_frame.itertuples(index=False)]
        self.n = len(self.rows)

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        batch, labels, angles = [], [], []
        for _ in range(self.batch_size):
            row = self.rows[self.i]
            path = os.path.join(self.img_dir, row["filename"])
            batch.append(np.fromfile(path, dtype=np.uint8))
            labels.append(np.int32([row["label"]]))
            angles.append(np.array([row["angle"], -row["angle"]], dtype=np.float32))
            self.i = (self.i + 1) % self.n
        return batch, labels, angles


@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def table_pipe(eii):
    jpegs, labels, angles = fn.external_source(eii, num_outputs=3)
    images = fn.resize(fn.decoders.image(jpegs), size=(48, 48))
    images = fn.rotate(images, angle=angles[0], keep_size=True, fill_value=0)
    return images, labels, angles


def from_table(data_dir):
    frame = pd.read_csv(os.path.join(data_dir, "labels.csv"))
    frame = frame[frame.label != 1].reset_index(drop=True)
    return table_pipe(TableIterator(4, frame, data_dir))
