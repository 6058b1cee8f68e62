"""Satellite and aerial photos, which have no upright: crops at any scale, quarter
turns, both flips.

Yields images (uint8 HWC [256, 256, 3]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

A LightningDataModule of these batches:

    trainer.fit(model, datamodule=PipelineData("DIR", device="mixed"))

Needs lightning, torch and nvidia-dali-cuda120.
"""

from collections.abc import Iterator
from typing import Any

import lightning
from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from torch import Tensor, distributed

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [256, 256]
OUTPUTS = ["images", "labels"]


@pipeline_def
def aerial_pipeline(
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
    images = fn.random_resized_crop(
        images, size=SIZE, random_area=[0.25, 1.0], seed=seed + 1
    )
    angle = fn.random.uniform(values=[0, 90, 180, 270], seed=seed + 2)
    images = fn.rotate(images, keep_size=True, interp_type=types.INTERP_NN, angle=angle)
    horizontal = fn.random.coin_flip(probability=0.5, seed=seed + 3)
    vertical = fn.random.coin_flip(probability=0.5, seed=seed + 4)
    images = fn.flip(images, horizontal=horizontal, vertical=vertical)
    brightness = fn.random.uniform(range=[0.8, 1.2], seed=seed + 5)
    contrast = fn.random.uniform(range=[0.8, 1.2], seed=seed + 6)
    images = fn.brightness_contrast(images, brightness=brightness, contrast=contrast)
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

    ``device`` is where images are decoded, cpu or mixed; ``device_id`` is the GPU.
    With ``resumable`` the loader can save its state; ``checkpoint`` resumes from a saved one.
    """
    pipe = aerial_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # different random values on each rank
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
        enable_checkpointing=resumable or checkpoint is not None,
        checkpoint=checkpoint,
    )
    pipe.build()
    return pipe


def batch_sizes(meta: dict[str, int], epoch: int, batch_size: int) -> list[int]:
    """Return the number of samples in each batch of one epoch of a reader's shard.

    All ranks have the same number of steps, so none waits for another: if a shard would get an
    empty last batch, one sample of the previous batch moves there. With a batch size of 1 this is
    impossible: a shard with one sample less has one batch less.
    """
    samples, shards = meta["epoch_size"], meta["number_of_shards"]
    # A reader moves to the next shard after each epoch.
    shard = (meta["shard_id"] + (0 if meta["stick_to_shard"] else epoch)) % shards
    size = (shard + 1) * samples // shards - shard * samples // shards
    sizes = [min(batch_size, size - start) for start in range(0, size, batch_size)]
    if batch_size > 1 and size % batch_size == 0 and size * shards < samples:
        sizes[-1:] = [batch_size - 1, 1]  # another shard has one sample more
    return sizes


class Loader:
    """Batches as dictionaries of tensors: ``images``, ``labels``.

    One pass is one epoch of the pipeline's shard: every sample once; the last batch may be
    shorter. Every rank has the same number of batches, and none is empty: see
    ``batch_sizes``. ``last_batch`` can repeat the last sample (FILL) or drop a short batch
    (DROP) instead.
    An unfinished epoch continues with the next ``iter``, or is skipped with ``restart=True``.
    A loader has one iterator at a time: an older one raises RuntimeError.
    Labels are int64 of shape [N].
    """

    def __init__(
        self,
        pipe: Pipeline,
        last_batch: LastBatchPolicy = LastBatchPolicy.PARTIAL,
        restart: bool = False,
    ) -> None:
        self._partial = last_batch == LastBatchPolicy.PARTIAL
        self._restart = restart
        self._reader_meta = pipe.reader_meta("reader")
        self._batch_size = pipe.max_batch_size
        self._iterator = DALIGenericIterator(
            [pipe],
            OUTPUTS,
            reader_name="reader",  # defines the length of an epoch
            last_batch_policy=LastBatchPolicy.FILL if self._partial else last_batch,
            auto_reset=True,
        )
        # The next batch of the epoch: DALI has counted one more, which it has prepared.
        # It has no public fields for this and for the shard: checked with DALI 2.4.
        self._position = max(0, int(self._iterator._counter) // self._batch_size - 1)
        self._newest: object = None

    def _sizes(self) -> list[int]:
        """Return the number of samples in each batch of the current epoch."""
        if not self._partial:
            return [self._batch_size] * len(self._iterator)
        epoch = int(self._iterator._shards_id[0]) - self._reader_meta["shard_id"]
        return batch_sizes(self._reader_meta, epoch, self._batch_size)

    def __len__(self) -> int:
        return len(self._sizes())

    def _end_epoch(self) -> None:
        """Skip the rest of the epoch."""
        while next(self._iterator, None):
            pass
        self._position = 0

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        self._newest = current = object()
        if self._restart and self._position:
            self._end_epoch()
        sizes = self._sizes()
        for number in range(self._position, len(sizes)):
            if self._newest is not current:
                raise RuntimeError("A newer iterator replaced this one. Use that one.")
            (batch,) = next(self._iterator)  # a list with one entry for each pipeline
            self._position = number + 1
            if self._position == len(sizes):
                self._end_epoch()  # here: a break may follow the yield
            batch["labels"] = batch["labels"].squeeze(-1).long()
            yield {name: values[: sizes[number]] for name, values in batch.items()}

    def checkpoint(self) -> bytes:
        """Return the state of the loader of a resumable pipeline."""
        return self._iterator.checkpoints()[0]


class PipelineData(lightning.LightningDataModule):
    """Each rank of the trainer reads its own shard on its own GPU; resumes with the trainer.

    With ``limit_train_batches`` an epoch continues where the previous one stopped.
    """

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
        self.data = data
        self.batch_size, self.num_threads = batch_size, num_threads
        self.device, self.seed = device, seed
        self.resumable = resumable
        self.loader: Loader | None = None
        self.saved: bytes | None = None  # state to resume from, once

    def last_batch(self) -> LastBatchPolicy:
        """Return the policy with which all ranks have the same number of batches."""
        assert self.trainer is not None, "a trainer calls this"
        # With a batch size of 1 a rank can have one batch less, and the others would wait.
        fill = self.trainer.world_size > 1 and self.batch_size == 1
        return LastBatchPolicy.FILL if fill else LastBatchPolicy.PARTIAL

    def train_dataloader(self) -> Loader:
        assert self.trainer is not None, "a trainer calls this"
        pipe = build_pipeline(
            self.data,
            self.batch_size,
            self.num_threads,
            self.device,
            self.seed,
            shard_id=self.trainer.global_rank,
            num_shards=self.trainer.world_size,
            device_id=self.trainer.strategy.root_device.index or 0,
            resumable=self.resumable,
            checkpoint=self.saved,
        )
        self.loader, self.saved = Loader(pipe, self.last_batch()), None
        return self.loader

    def state_dict(self) -> dict[str, Any]:
        # Called on every rank, but only the file of rank 0 is saved.
        mine = self.loader.checkpoint() if self.loader and self.resumable else None
        every = [mine]
        if distributed.is_available() and distributed.is_initialized():
            every = [None] * distributed.get_world_size()
            distributed.all_gather_object(every, mine)
        return {"loaders": every}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        assert self.trainer is not None, "a trainer calls this"
        every, ranks = state_dict["loaders"], self.trainer.world_size
        if len(every) != ranks:
            raise ValueError(f"resume with {len(every)} ranks as saved, not {ranks}")
        self.saved = every[self.trainer.global_rank]
