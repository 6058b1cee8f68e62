# mypy: ignore-errors
"""The rest of a JAX loader: a shard for each device, arrays split over all, a mask of the padding.

DALI's ``data_iterator`` cannot be used: its sharding requires a GPU, and it does not report
padding.
"""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from nvidia.dali.plugin.jax import DALIGenericIterator

from .imagenet_train import OUTPUTS, train_pipeline  # in one file with it


class Loader:
    def __init__(self, data, batch_size=64, num_threads=4, device="cpu", seed=42):
        devices = jax.devices()
        self.devices = jax.local_devices()
        self.sharding = NamedSharding(Mesh(devices, ("batch",)), PartitionSpec("batch"))
        self.batch_size = batch_size
        self.num_shards = len(devices)
        self.shards = [devices.index(place) for place in self.devices]
        pipes = [
            train_pipeline(
                data,
                device,
                shard,
                self.num_shards,
                batch_size=batch_size,
                num_threads=num_threads,
                device_id=place.local_hardware_id if device == "mixed" else None,
                seed=seed + shard,
                prefetch_queue_depth=2,
            )
            for shard, place in zip(self.shards, self.devices, strict=True)
        ]
        self.iterators = [
            DALIGenericIterator([pipe], OUTPUTS, reader_name="Reader", auto_reset=True)
            for pipe in pipes
        ]
        self.samples = pipes[0].reader_meta("Reader")["epoch_size"]
        self.epoch = 0

    def __len__(self):
        return len(self.iterators[0])

    def __iter__(self):
        shards = (np.array(self.shards) + self.epoch) % self.num_shards
        ends = (shards + 1) * self.samples // self.num_shards
        sizes = ends - shards * self.samples // self.num_shards
        for number, parts in enumerate(zip(*self.iterators, strict=True)):
            batch = {name: self.join([part[name] for part in parts]) for name in OUTPUTS}
            if "labels" in batch:
                batch["labels"] = batch["labels"].squeeze(-1)
            places = number * self.batch_size + np.arange(self.batch_size)
            batch["valid"] = self.join([places < size for size in sizes])
            yield batch
        self.epoch += 1

    def join(self, parts):
        shape = (self.num_shards * self.batch_size, *parts[0].shape[1:])
        placed = [
            jax.device_put(part, place) for part, place in zip(parts, self.devices, strict=True)
        ]
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
