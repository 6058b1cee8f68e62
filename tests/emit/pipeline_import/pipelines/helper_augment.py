"""No pipeline: what ``imports_helper.py`` takes from beside it."""

from nvidia.dali import fn, types


def jitter(images):
    return fn.brightness_contrast(
        images,
        brightness=fn.random.uniform(range=(0.8, 1.2), seed=1),
        contrast=fn.random.uniform(range=(0.8, 1.2), seed=2),
    )


def normalise(images):
    return fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, mean=[127.5, 127.5, 127.5], std=[127.5, 127.5, 127.5]
    )
