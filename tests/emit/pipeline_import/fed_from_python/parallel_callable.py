"""A callable with random access in worker processes: a new permutation in each epoch."""

import glob
import os

import numpy as np
from nvidia.dali import fn, pipeline_def, types


class ExternalInputCallable:
    def __init__(self, images_dir, batch_size, shard_id=0, num_shards=1):
        self.files = sorted(glob.glob(os.path.join(images_dir, "*", "*.jpg")))
        names = sorted({os.path.basename(os.path.dirname(file)) for file in self.files})
        self.labels = [names.index(os.path.basename(os.path.dirname(f))) for f in self.files]
        self.shard_size = len(self.files) // num_shards
        self.shard_offset = self.shard_size * shard_id
        self.full_iterations = self.shard_size // batch_size
        self.perm = None
        self.last_seen_epoch = None

    def __call__(self, sample_info):
        if sample_info.iteration >= self.full_iterations:
            raise StopIteration
        if self.last_seen_epoch != sample_info.epoch_idx:
            self.last_seen_epoch = sample_info.epoch_idx
            generator = np.random.default_rng(seed=42 + sample_info.epoch_idx)
            self.perm = generator.permutation(len(self.files))
        at = self.perm[sample_info.idx_in_epoch + self.shard_offset]
        with open(self.files[at], "rb") as file:
            encoded = np.frombuffer(file.read(), dtype=np.uint8)
        return encoded, np.int32([self.labels[at]])


@pipeline_def(num_threads=2, device_id=None, py_num_workers=1, py_start_method="spawn")
def callable_pipeline(source):
    jpegs, labels = fn.external_source(
        source=source, num_outputs=2, batch=False, parallel=True, dtype=[types.UINT8, types.INT32]
    )
    images = fn.decoders.image(jpegs)
    return fn.resize(images, resize_shorter=32), labels


def parallel_pipe(data_dir, batch_size=5):
    return callable_pipeline(ExternalInputCallable(data_dir, batch_size), batch_size=batch_size)
