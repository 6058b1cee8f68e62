"""Automatic augmentation: TrivialAugment Wide, with the magnitudes of the paper."""

from nvidia.dali import fn, pipeline_def
from nvidia.dali.auto_aug import trivial_augment


@pipeline_def(batch_size=6, num_threads=2, device_id=None, seed=141, enable_conditionals=True)
def trivially_augmented(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir, seed=1)
    images = fn.resize(fn.decoders.image(jpegs), size=(80, 80))
    images = trivial_augment.trivial_augment_wide(images, num_magnitude_bins=31, seed=8)
    return images, labels
