"""Arithmetic with ``nvidia.dali.math``: gamma and a vignette of constants, clamped and cast."""

import nvidia.dali.math as dmath
from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=191)
def photometric(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    images = fn.resize(fn.decoders.image(jpegs), size=(64, 64))
    gamma = fn.random.uniform(range=(0.6, 1.6), seed=1)
    images = dmath.pow(images / 255.0, gamma) * 255.0
    noise = fn.random.normal(images, stddev=4.0, seed=2)
    images = dmath.clamp(images + noise, 0.0, 255.0)
    dark = fn.reductions.mean(images, axes=(0, 1, 2)) < 80
    return fn.cast(images, dtype=types.UINT8), dark, labels
