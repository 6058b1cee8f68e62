"""Automatic augmentation: the ImageNet policy of AutoAugment, as DALI's library brings it."""

from nvidia.dali import fn, pipeline_def
from nvidia.dali.auto_aug import auto_augment


@pipeline_def(batch_size=6, num_threads=2, device_id=None, seed=131, enable_conditionals=True)
def auto_augmented(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir, seed=1)
    images = fn.decoders.image(jpegs)
    images = fn.resize(images, size=(80, 80))
    images = auto_augment.auto_augment_image_net(images, shape=[80, 80], seed=7)
    images = fn.crop_mirror_normalize(images, mean=[128.0], std=[128.0])
    return images, labels
