"""A DataLoader of PyTorch as the source, with a collate function that returns lists of arrays."""

from pathlib import Path

import numpy as np
from nvidia.dali import fn
from nvidia.dali.pipeline import Pipeline
from torch.utils.data import DataLoader, Dataset


class EncodedPhotos(Dataset):
    def __init__(self, root):
        self.paths = sorted(Path(root).rglob("*.jpg"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return np.fromfile(self.paths[index], dtype=np.uint8), index


def as_lists(samples):
    return [image for image, _ in samples], np.array([[index] for _, index in samples])


def loaded(data_dir):
    loader = DataLoader(EncodedPhotos(data_dir), batch_size=4, collate_fn=as_lists, drop_last=True)
    pipe = Pipeline(batch_size=4, num_threads=2, device_id=None, prefetch_queue_depth=1)
    with pipe:
        jpegs, indices = fn.external_source(source=loader, num_outputs=2, cycle="quiet")
        images = fn.resize(fn.decoders.image(jpegs), size=(32, 32))
        pipe.set_outputs(images, indices)
    return pipe
