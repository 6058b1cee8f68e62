"""rand-augment: ImageNet training with RandAugment as torchvision does it, N = 2 and M
= 9 of 31 (arXiv 1909.13719).

Batches as PyTorch tensors:

    for batch in Loader(build_pipeline("DIR", shard_id=rank, num_shards=world_size)):
        ...

Needs torch and nvidia-dali-cuda120.
"""

from collections.abc import Iterator

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug import rand_augment
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from torch import Tensor

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [224, 224]
OUTPUTS = ["images", "labels"]


@pipeline_def(enable_conditionals=True)
def rand_augment_pipeline(
    data: str, device: str, base_seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    jpegs, labels = fn.readers.file(
        file_root=data,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=base_seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_LINEAR,
        num_attempts=10,
        seed=base_seed + 1,
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 2)
    images = fn.flip(images, horizontal=mirror)
    images = rand_augment.rand_augment(images, n=2, m=9)
    return images, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
    shard_id: int = 0,
    num_shards: int = 1,
    device_id: int = 0,
    resumable: bool = False,
    checkpoint: bytes | None = None,
) -> Pipeline:
    """Return the built pipeline of one shard.

    ``device`` says where images are decoded, cpu or mixed; ``device_id`` on which GPU.
    A ``resumable`` one can tell where it stands: a ``checkpoint`` to go on from.
    """
    pipe = rand_augment_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # shards draw apart
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
        prefetch_queue_depth=2,
        enable_checkpointing=resumable or checkpoint is not None,
        seed=seed + 100_000 * shard_id,
        checkpoint=checkpoint,
    )
    pipe.build()
    return pipe


class Loader:
    """Batches as dictionaries of tensors: ``images``, ``labels``.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes. Labels are int64 of the shape [N].
    """

    def __init__(
        self, pipe: Pipeline, last_batch: LastBatchPolicy = LastBatchPolicy.PARTIAL
    ) -> None:
        self.batches = DALIGenericIterator(
            [pipe],
            OUTPUTS,
            reader_name="reader",  # it knows how long an epoch is
            last_batch_policy=last_batch,
            auto_reset=True,
        )

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        for (batch,) in self.batches:  # a list with one entry for each pipeline
            batch["labels"] = batch["labels"].squeeze(-1).long()
            yield batch

    def checkpoint(self) -> bytes:
        """Where the loader of a resumable pipeline stands now."""
        return self.batches.checkpoints()[0]
