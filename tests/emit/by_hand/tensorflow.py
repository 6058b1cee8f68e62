# mypy: ignore-errors
"""The rest of a TensorFlow loader: shards, and epochs with a short last batch."""

from math import ceil

import tensorflow as tf
from nvidia.dali.plugin.tf import DALIDataset

from .imagenet_train import OUTPUTS, train_pipeline  # in one file with it

DTYPES = {
    "images": tf.float32,
    "view_1": tf.uint8,
    "view_2": tf.uint8,
    "masks": tf.int32,
    "labels": tf.int32,
}


class Loader:
    def __init__(
        self,
        data,
        batch_size=64,
        num_threads=4,
        device="cpu",
        seed=42,
        shard_id=0,
        num_shards=1,
        device_id=0,
    ):
        device_id = device_id if device == "mixed" else None
        pipe = train_pipeline(
            data,
            device,
            shard_id,
            num_shards,
            batch_size=batch_size,
            num_threads=num_threads,
            device_id=device_id,
            seed=seed + shard_id,
            prefetch_queue_depth=2,
        )
        pipe.build()
        self.samples = pipe.reader_meta("Reader")["epoch_size"]
        self.shard_id, self.num_shards, self.batch_size = shard_id, num_shards, batch_size
        with tf.device("/cpu:0" if device_id is None else f"/gpu:{device_id}"):
            self.dataset = DALIDataset(
                pipe,
                batch_size=batch_size,
                num_threads=num_threads,
                device_id=device_id,
                output_dtypes=tuple(DTYPES[name] for name in OUTPUTS),
            )
        self.stream = iter(self.dataset)

    def __len__(self):
        return ceil(ceil(self.samples / self.num_shards) / self.batch_size)

    def __iter__(self):
        begin = self.shard_id * self.samples // self.num_shards
        left = (self.shard_id + 1) * self.samples // self.num_shards - begin
        for _ in range(len(self)):
            tensors = next(self.stream)
            batch = {name: t[:left] for name, t in zip(OUTPUTS, tensors, strict=True)}
            if "labels" in batch:
                batch["labels"] = tf.squeeze(batch["labels"], -1)
            left = max(0, left - self.batch_size)
            yield batch
        self.shard_id = (self.shard_id + 1) % self.num_shards
