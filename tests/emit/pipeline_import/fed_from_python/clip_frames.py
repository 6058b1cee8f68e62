"""Clips of decoded frames from a class inside the function that builds the pipeline."""

import numpy as np
from nvidia.dali import fn, types
from nvidia.dali.pipeline import Pipeline


def build(data_dir, batch=2, length=4):
    frames = np.load(f"{data_dir}/images.npz")["images"]

    class ClipIterator:
        def __init__(self, stride):
            self.stride = stride

        def __iter__(self):
            self.at = 0
            return self

        def __next__(self):
            if self.at + batch * length > len(frames):
                raise StopIteration
            clips = []
            for _ in range(batch):
                clips.append(frames[self.at : self.at + length : self.stride].copy())
                self.at += length
            return clips

    pipe = Pipeline(batch_size=batch, num_threads=2, device_id=None, seed=2)
    with pipe:
        clip = fn.external_source(source=ClipIterator(2), cycle=True, layout="FHWC", ndim=4)
        clip = fn.crop(clip, crop=(28, 28), crop_pos_x=fn.random.uniform(range=(0.0, 1.0), seed=3))
        pipe.set_outputs(fn.cast(clip, dtype=types.FLOAT) / 255.0)
    return pipe
