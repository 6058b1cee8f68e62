# mypy: ignore-errors
"""The rest of a PyTorch loader: shards, and checkpoints to resume from."""

from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator

from .imagenet_train import OUTPUTS, train_pipeline  # in one file with it


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
        checkpoint=None,
    ):
        pipe = train_pipeline(
            data,
            device,
            shard_id,
            num_shards,
            batch_size=batch_size,
            num_threads=num_threads,
            device_id=device_id if device == "mixed" else None,
            seed=seed + shard_id,
            prefetch_queue_depth=2,
            enable_checkpointing=True,
            checkpoint=checkpoint,
        )
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
