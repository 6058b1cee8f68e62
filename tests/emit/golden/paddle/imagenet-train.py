"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

Batches as PaddlePaddle tensors. DALI's Paddle iterator requires a GPU, even if images
are decoded on the CPU.

Usage: python loader.py --data DIR [--device cpu|mixed] [--batch-size N] [--epochs N]
       python -m paddle.distributed.launch loader.py --data DIR    (one shard to a GPU)

Needs paddlepaddle-gpu and nvidia-dali-cuda120.
"""

import argparse
import os
import time
from collections.abc import Iterator

import paddle
from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.paddle import DALIGenericIterator
from paddle import Tensor

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "labels"]


@pipeline_def
def imagenet_train_pipeline(
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
    images = fn.random_resized_crop(images, size=SIZE, seed=seed + 1)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
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
    pipe = imagenet_train_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # different random values on each rank
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id,
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
            batch = {n: paddle.to_tensor(t) for n, t in batch.items()}
            batch["labels"] = batch["labels"].squeeze(-1).astype("int64")
            yield {name: values[: sizes[number]] for name, values in batch.items()}

    def checkpoint(self) -> bytes:
        """Return the state of the loader of a resumable pipeline."""
        return self._iterator.checkpoints()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description="Read the batches and print imgs/s.")
    parser.add_argument("--data", required=True, help="folder of images by class")
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per rank")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per rank")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    rank = int(os.environ.get("PADDLE_TRAINER_ID", "0"))  # the launcher sets it
    pipe = build_pipeline(
        args.data,
        args.batch_size,
        args.threads,
        args.device,
        shard_id=rank,
        num_shards=int(os.environ.get("PADDLE_TRAINERS_NUM", "1")),
        device_id=int(os.environ.get("PADDLE_LOCAL_RANK", "0")),
    )
    loader = Loader(pipe)
    for epoch in range(args.epochs):
        start = time.perf_counter()
        samples = sum(batch[OUTPUTS[0]].shape[0] for batch in loader)
        seconds = time.perf_counter() - start
        speed = f"{samples / seconds:.0f} imgs/s"
        print(f"rank {rank}, epoch {epoch}: {samples} samples, {speed}")


if __name__ == "__main__":
    main()
