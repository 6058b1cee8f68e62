"""simclr: SimCLR's two views (arXiv 2002.05709): crop, flip, jitter 0.8, grey 0.2, blur
0.5.

A LightningDataModule of these batches:

    trainer.fit(model, datamodule=PipelineData("DIR", device="mixed"))

Needs lightning, torch and nvidia-dali-cuda120.
"""

from collections.abc import Iterator
from typing import Any

import lightning
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from torch import Tensor, distributed

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [224, 224]
OUTPUTS = ["view_1", "view_2", "labels"]


@pipeline_def(enable_conditionals=True)
def simclr_pipeline(
    data: str, device: str, seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    jpegs, labels = fn.readers.file(
        file_root=data,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=seed + 21,
    )
    mirror_1 = fn.random.coin_flip(probability=0.5, seed=seed + 22)
    view_1 = fn.flip(view_1, horizontal=mirror_1)
    with_jitter_1 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 23
    )
    brightness_1 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 24)
    contrast_1 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 25)
    saturation_1 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 26)
    hue_1 = fn.random.uniform(range=[-72, 72], seed=seed + 27)
    if with_jitter_1:
        view_1 = fn.color_twist(
            view_1,
            brightness=brightness_1,
            contrast=contrast_1,
            hue=hue_1,
            saturation=saturation_1,
        )
    with_gray_1 = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 28)
    if with_gray_1:
        view_1 = fn.saturation(view_1, saturation=0)
    with_blur_1 = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 29)
    sigma_1 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 30)
    if with_blur_1:
        view_1 = fn.gaussian_blur(view_1, window_size=23, sigma=sigma_1)
    view_2 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=seed + 31,
    )
    mirror_2 = fn.random.coin_flip(probability=0.5, seed=seed + 32)
    view_2 = fn.flip(view_2, horizontal=mirror_2)
    with_jitter_2 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 33
    )
    brightness_2 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 34)
    contrast_2 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 35)
    saturation_2 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 36)
    hue_2 = fn.random.uniform(range=[-72, 72], seed=seed + 37)
    if with_jitter_2:
        view_2 = fn.color_twist(
            view_2,
            brightness=brightness_2,
            contrast=contrast_2,
            hue=hue_2,
            saturation=saturation_2,
        )
    with_gray_2 = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 38)
    if with_gray_2:
        view_2 = fn.saturation(view_2, saturation=0)
    with_blur_2 = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 39)
    sigma_2 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 40)
    if with_blur_2:
        view_2 = fn.gaussian_blur(view_2, window_size=23, sigma=sigma_2)
    return view_1, view_2, labels


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
    pipe = simclr_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # shards draw apart
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
        prefetch_queue_depth=2,
        enable_checkpointing=resumable,
        checkpoint=checkpoint,
    )
    pipe.build()
    return pipe


class Loader:
    """Batches as dictionaries of tensors: ``view_1``, ``view_2``, ``labels``.

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


class PipelineData(lightning.LightningDataModule):
    """Each rank of the trainer reads its own shard on its own GPU; resumes with the trainer."""

    def __init__(
        self,
        data: str,
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
        resumable: bool = True,
    ) -> None:
        super().__init__()
        self.settings = (data, batch_size, num_threads, device, seed)
        self.resumable = resumable
        self.loader: Loader | None = None
        self.resume_from: list[bytes | None] = []

    def train_dataloader(self) -> Loader:
        assert self.trainer is not None, "a trainer calls this"
        rank = self.trainer.global_rank
        pipe = build_pipeline(
            *self.settings,
            shard_id=rank,
            num_shards=self.trainer.world_size,
            device_id=self.trainer.strategy.root_device.index or 0,
            resumable=self.resumable,
            checkpoint=self.resume_from[rank] if self.resume_from else None,
        )
        self.loader = Loader(pipe)
        return self.loader

    def state_dict(self) -> dict[str, Any]:
        # Every rank comes here, but the file of rank 0 is the one that is kept.
        mine = self.loader.checkpoint() if self.loader and self.resumable else None
        every = [mine]
        if distributed.is_available() and distributed.is_initialized():
            every = [None] * distributed.get_world_size()
            distributed.all_gather_object(every, mine)
        return {"loaders": every}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.resume_from = state_dict["loaders"]
