"""A data set of PyTorch behind a callable: decoded photos and labels by sample index."""

from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def, types
from PIL import Image
from torch.utils.data import Dataset


class Photos(Dataset):
    def __init__(self, root, transform=None):
        self.transform = transform
        self.imgs = [(p, i % 3) for i, p in enumerate(sorted(Path(root).glob("*/*.jpg")))]

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, index):
        path, target = self.imgs[index]
        image = Image.open(path).convert("RGB")
        return (self.transform(image) if self.transform else image), target


class DatasetSource:
    def __init__(self, dataset, batch_size, shuffle=True):
        self.dataset = dataset
        self.steps = len(dataset) // batch_size
        self.order = np.random.RandomState(seed=4).permutation(len(dataset))

    def __call__(self, sample_info):
        if sample_info.iteration >= self.steps:
            raise StopIteration()
        image, target = self.dataset[int(self.order[sample_info.idx_in_epoch])]
        return np.array(image), np.array([target], dtype=np.int64)


@pipeline_def(num_threads=2, device_id=None, seed=6)
def dataset_pipe(source):
    images, labels = fn.external_source(
        source, num_outputs=2, batch=False, layout=["HWC", "C"], dtype=[types.UINT8, types.INT64]
    )
    return fn.random_resized_crop(images, size=(32, 32), seed=5), labels


def from_dataset(data_dir, size=4):
    source = DatasetSource(Photos(data_dir, lambda image: image.resize((64, 48))), size)
    return dataset_pipe(source, batch_size=size)
