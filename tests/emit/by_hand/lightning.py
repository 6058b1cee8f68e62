# mypy: ignore-errors
"""The rest of a Lightning data module: shards, validation, and resuming with its trainer."""

import lightning
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from torch import distributed

from .imagenet_train import OUTPUTS, train_pipeline, val_pipeline  # in one file with it


class Loader:
    def __init__(self, pipe):
        self.iterator = DALIGenericIterator(
            [pipe],
            OUTPUTS,
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )

    def __len__(self):
        return len(self.iterator)

    def __iter__(self):
        for (batch,) in self.iterator:
            if "labels" in batch:
                batch["labels"] = batch["labels"].squeeze(-1).long()
            yield batch

    def checkpoint(self):
        return self.iterator.checkpoints()[0]


class DataModule(lightning.LightningDataModule):
    def __init__(
        self,
        data,
        val_data=None,
        batch_size=64,
        num_threads=4,
        device="cpu",
        seed=42,
        resumable=True,
    ):
        super().__init__()
        self.data = data
        self.val_data = val_data
        self.batch_size = batch_size
        self.num_threads = num_threads
        self.device = device
        self.seed = seed
        self.resumable = resumable
        self.loader = None
        self.resume_from = []

    def make_loader(self, pipeline, data, **options):
        rank = self.trainer.global_rank
        device_id = self.trainer.strategy.root_device.index or 0
        pipe = pipeline(
            data,
            self.device,
            rank,
            self.trainer.world_size,
            batch_size=self.batch_size,
            num_threads=self.num_threads,
            device_id=device_id if self.device == "mixed" else None,
            seed=self.seed + rank,
            prefetch_queue_depth=2,
            **options,
        )
        return Loader(pipe)

    def train_dataloader(self):
        rank = self.trainer.global_rank
        self.loader = self.make_loader(
            train_pipeline,
            self.data,
            enable_checkpointing=self.resumable,
            checkpoint=self.resume_from[rank] if self.resume_from else None,
        )
        return self.loader

    def val_dataloader(self):
        if self.val_data is None:
            return []
        return self.make_loader(val_pipeline, self.val_data)

    def state_dict(self):
        mine = self.loader.checkpoint() if self.loader and self.resumable else None
        every = [mine]
        if distributed.is_available() and distributed.is_initialized():
            every = [None] * distributed.get_world_size()
            distributed.all_gather_object(every, mine)
        return {"loaders": every}

    def load_state_dict(self, state_dict):
        self.resume_from = state_dict["loaders"]
