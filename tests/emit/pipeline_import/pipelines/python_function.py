"""A Python function in the middle: NumPy swaps two channels between two operators of DALI."""

import numpy as np
from nvidia.dali import fn, pipeline_def


def swap(image):
    return np.ascontiguousarray(image[:, :, ::-1])


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=171, exec_dynamic=True)
def with_python(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    images = fn.resize(fn.decoders.image(jpegs), size=(64, 64))
    images = fn.python_function(images, function=swap, num_outputs=1)
    images = fn.gaussian_blur(images, window_size=5)
    return images, labels
