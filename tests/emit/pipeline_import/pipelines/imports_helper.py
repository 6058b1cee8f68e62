"""A pipeline that takes its augmentations from a module beside it."""

from helper_augment import jitter, normalise
from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=201)
def train(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    images = fn.resize(fn.decoders.image(jpegs), size=(64, 64))
    return normalise(jitter(images)), labels
