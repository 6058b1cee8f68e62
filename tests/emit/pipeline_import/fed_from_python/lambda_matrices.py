"""Files from a reader of DALI, and matrices and angles from lambdas that draw random numbers."""

import numpy as np
from nvidia.dali import fn, pipeline_def, types

batch_size = 4
rng = np.random.default_rng(31)


def gen_transform(dst_cx, dst_cy, src_cx, src_cy):
    scale = rng.uniform(0.8, 1.2)
    angle = rng.uniform(-0.4, 0.4)
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    shift = [src_cx - cos * dst_cx + sin * dst_cy, src_cy - sin * dst_cx - cos * dst_cy]
    return np.array([[cos, -sin, shift[0]], [sin, cos, shift[1]]], dtype=np.float32)


def gen_transforms(n):
    return np.stack([gen_transform(24, 24, 32, 32) for _ in range(n)])


@pipeline_def(batch_size=batch_size, num_threads=2, device_id=None, seed=3)
def warped(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir, random_shuffle=True, seed=2)
    images = fn.resize(fn.decoders.image(jpegs), size=(64, 64))
    matrix = fn.external_source(source=lambda: gen_transforms(batch_size))
    noise = fn.external_source(lambda info: np.float32(info.idx_in_epoch % 3), batch=False)
    images = fn.warp_affine(images, matrix, size=(48, 48), fill_value=0, inverse_map=True)
    return fn.cast_like(images + noise, images), labels, fn.cast(noise, dtype=types.INT32)
