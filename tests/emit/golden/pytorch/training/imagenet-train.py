"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

A PyTorch loader and a minimal training loop.

Usage: python loader.py --data DIR [--device cpu|mixed] [--epochs N] [--save FILE]
       torchrun --nproc-per-node 2 loader.py --data DIR    (each rank reads one shard)

Needs torch and nvidia-dali-cuda120.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

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


def loss_of(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """Cross entropy summed over the batch."""
    scores = model(batch["images"])
    return F.cross_entropy(scores, batch["labels"], reduction="sum")


def train(args: argparse.Namespace) -> None:
    """A minimal training loop; replace the model with yours."""
    rank = int(os.environ.get("RANK", "0"))  # torchrun sets these three
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    place = torch.device("cpu")
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        place = torch.device("cuda", local_rank)
    if world_size > 1:
        distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")

    model: nn.Module = nn.Sequential(
        nn.Conv2d(3, 32, kernel_size=7, stride=4),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, args.classes),
    ).to(place)
    if world_size > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    # Each rank reads its own shard and saves its own file.
    file = Path(f"{args.save}.{rank}") if args.save else None
    saved = {}
    if file and file.exists():
        saved = torch.load(file, map_location=place, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    pipe = build_pipeline(
        args.data,
        args.batch_size,
        args.threads,
        args.device,
        shard_id=rank,
        num_shards=world_size,
        device_id=local_rank,
        resumable=file is not None,
        checkpoint=saved.get("loader"),
    )
    # With a batch size of 1 a rank can have one batch less, and the others would wait for it.
    fill = world_size > 1 and args.batch_size == 1
    last_batch = LastBatchPolicy.FILL if fill else LastBatchPolicy.PARTIAL
    loader = Loader(pipe, last_batch)
    for epoch in range(saved.get("epochs", 0), args.epochs):
        total, count = torch.zeros((), device=place), 0
        for batch in loader:
            batch = {name: tensor.to(place) for name, tensor in batch.items()}
            loss = loss_of(model, batch)
            size = len(batch[OUTPUTS[0]])
            optimizer.zero_grad()
            (loss / size).backward()
            optimizer.step()
            total, count = total + loss.detach(), count + size
        print(f"rank {rank}, epoch {epoch}: {count} samples, loss {total / count:.3f}")
        if file:
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "loader": loader.checkpoint(),
                "epochs": epoch + 1,
            }
            torch.save(state, file)
    if world_size > 1:
        distributed.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train on the pipeline's batches.")
    parser.add_argument("--data", required=True, help="folder of images by class")
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per rank")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per rank")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--save", metavar="FILE", help="save epochs here, and resume")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
