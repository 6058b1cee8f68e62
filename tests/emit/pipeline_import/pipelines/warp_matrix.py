"""A matrix from ``fn.transforms`` warps photo and points together."""

import numpy as np
from nvidia.dali import fn, pipeline_def, types

CORNERS = np.float32([[0, 0], [96, 0], [96, 96], [0, 96]])


@pipeline_def(batch_size=6, num_threads=2, device_id=None, seed=81)
def warped(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    images = fn.resize(fn.decoders.image(jpegs), size=(96, 96))
    scale = fn.transforms.scale(
        scale=fn.random.uniform(range=[0.7, 1.3], shape=[2], seed=1), center=(48.0, 48.0)
    )
    turn = fn.transforms.rotation(angle=fn.random.uniform(range=[-30, 30], seed=2), center=(48, 48))
    shear = fn.transforms.shear(shear=fn.random.uniform(range=[-0.2, 0.2], shape=2, seed=3))
    matrix = fn.transforms.combine(scale, turn, shear)
    images = fn.warp_affine(
        images,
        matrix=matrix,
        inverse_map=False,
        fill_value=128,
        interp_type=types.INTERP_LINEAR,
    )
    points = fn.coord_transform(types.Constant(CORNERS), MT=matrix)
    return images, points, labels
