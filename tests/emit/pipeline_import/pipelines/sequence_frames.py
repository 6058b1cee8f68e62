"""A clip without a video file: five copies of a photo as frames, each with an angle of its own."""

import numpy as np
from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=111)
def clip(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    image = fn.resize(fn.decoders.image(jpegs), size=(72, 72))
    frames = fn.stack(image, image, image, image, image, axis_name="F")
    start = fn.random.uniform(range=(-10, 10), seed=1)
    steps = types.Constant(np.float32([0, 4, 8, 12, 16]))
    frames = fn.rotate(frames, angle=fn.per_frame(steps) + start, keep_size=True)
    frames = fn.crop_mirror_normalize(
        frames,
        crop=(64, 64),
        mirror=fn.random.coin_flip(seed=2),
        dtype=types.FLOAT,
        output_layout="FCHW",
    )
    return frames, labels
