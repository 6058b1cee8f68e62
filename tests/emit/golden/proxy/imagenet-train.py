"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]).

DALI Proxy: data set, sampler and worker processes are PyTorch's. The workers read files, and
DALI decodes and augments the batches in the process that trains.

    with make_loader(build_pipeline(), Photos("DIR")) as loader:
        for batch in loader:
            ...

Any dataset whose samples are the bytes of an image file and a class number can replace
``Photos``, with any sampler, such as a WeightedRandomSampler. A rank passes its
``shard_id`` to both functions, and ``num_shards`` or a sampler of its own to ``make_loader``.

Needs nvidia-dali-cuda120 and a torch that is built with CUDA; a GPU is not needed.
"""

import gc
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.pytorch.experimental.proxy import DALIServer
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Sampler

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one changes no other
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
NUM_WORKERS = 2


IMAGES = (
    ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pnm", ".ppm",
    ".pgm", ".pbm", ".jp2", ".webp",
)  # fmt: skip


def is_hidden(name: str) -> bool:
    """Whether a file or folder is hidden or a system entry, judged by its name."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found")
    others = ("__pycache__", "system volume information")
    return name.startswith(".") or name.lower() in system + others


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether a folder entry is a folder; circular links are not."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def class_folders(data: str) -> list[str]:
    """The visible subfolders of a folder, sorted by name."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if is_folder(e) and not is_hidden(e.name))


def named_files(data: str, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
    """Relative path and label of each file in class folders or a flat folder."""
    found = []
    for label, folder in enumerate(class_folders(data) or [""]):
        with os.scandir(os.path.join(data, folder)) as entries:
            names = [entry.name for entry in entries if not is_folder(entry)]
        named = sorted(name for name in names if name.lower().endswith(suffixes))
        shown = [name for name in named if not is_hidden(name)]
        found += [(os.path.join(folder, name), label) for name in shown]
    return found


@pipeline_def
def imagenet_train_pipeline(device: str, seed: int) -> tuple[DataNode, ...]:
    jpegs = fn.external_source(name="jpegs", dtype=types.UINT8, ndim=1)
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
    return (images,)


def build_pipeline(
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
    shard_id: int = 0,
    device_id: int = 0,
) -> Pipeline:
    """Return the pipeline of one rank, whose inputs are the files that workers read.

    ``device`` says where images are decoded, cpu or mixed; ``device_id`` on which GPU.
    """
    seed += 100_000 * shard_id  # ranks draw apart
    return imagenet_train_pipeline(
        device,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
    )


class Photos(Dataset[tuple[bytes, int]]):
    """The photos of a folder with one of photos for each class: bytes and class number."""

    def __init__(self, data: str) -> None:
        self.data, self.files = data, named_files(data, IMAGES)
        if not self.files:
            raise FileNotFoundError(f"There is no image in {self.data}.")

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[bytes, int]:
        name, label = self.files[index]
        return Path(self.data, name).read_bytes(), label


class Augmented(Dataset[tuple[dict[str, Any], int]]):
    """Samples of a data set that DALI augments as soon as their batch is complete."""

    def __init__(self, dataset: Dataset[tuple[bytes, int]], proxy: Any) -> None:
        self.dataset, self.proxy = dataset, proxy

    def __len__(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]  # data sets with a sampler have one

    def __getitem__(self, index: int) -> tuple[dict[str, Any], int]:
        if not 0 <= index < len(self):
            raise IndexError(
                f"The sampler gave {index}; the data set has {len(self)} samples."
            )
        encoded, label = self.dataset[index]
        if not isinstance(encoded, bytes) or not encoded:
            raise TypeError(
                f"Sample {index} has {encoded!r:.30}, not the bytes of an image file."
            )
        output = self.proxy(jpegs=np.frombuffer(encoded, np.uint8))
        return {"images": output, "labels": label}, index


class Loader:
    """Batches as dictionaries of tensors: ``images``, ``labels``.

    One pass is one epoch of the sampler. The same samples in the same order give the same
    batches, whichever worker reads them: ``deterministic`` requests this from DALI, which would
    otherwise return batches of an unfinished epoch in the next one.
    """

    def __init__(self, server: DALIServer, batches: DataLoader[Any]) -> None:
        self.server, self.batches = server, batches
        self.epoch, self.failed = 0, False

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        if self.failed:
            raise RuntimeError("DALI's pipeline has failed before. Make another one.")
        if isinstance(self.batches.sampler, DistributedSampler):
            self.batches.sampler.set_epoch(self.epoch)  # another order in each epoch
        self.epoch += 1
        gc.collect()  # a forked worker that frees an old pipeline would wait for its threads
        ahead: deque[tuple[Tensor, Future[Any]]] = deque()
        # DALI makes a batch while the one before is used.
        with ThreadPoolExecutor(1) as thread:
            for batch, samples in self.batches:
                ahead.append((samples, thread.submit(self.server.produce_data, batch)))
                if len(ahead) > 1:
                    yield self.result(*ahead.popleft())
            while ahead:
                yield self.result(*ahead.popleft())

    def result(self, samples: Tensor, batch: Future[Any]) -> dict[str, Tensor]:
        """Return a batch as soon as it is made."""
        try:
            made: dict[str, Tensor] = batch.result()
            return made
        except RuntimeError as error:
            if not batch.done() or batch.exception() is not error:
                raise  # PyTorch's: a worker ended while DALI made the batch
            self.failed = True
            raise RuntimeError(
                f"DALI made no batch of the samples {samples.tolist()} of the data set. "
                "If one is damaged, leave it out. Make another pipeline and loader."
            ) from error


@contextmanager
def make_loader(
    pipe: Pipeline,
    dataset: Dataset[tuple[bytes, int]],
    sampler: Sampler[int] | None = None,
    num_workers: int = NUM_WORKERS,
    shard_id: int = 0,
    num_shards: int = 1,
) -> Iterator[Loader]:
    """Give a loader of batches of the pipeline's size; DALI's thread ends with the block.

    Without a ``sampler`` the ranks get parts of one size, in a new order each epoch: some samples
    are in two of them. A ``sampler`` is that of one rank; those of all need the same length.
    """
    if torch.version.cuda is None:
        raise RuntimeError(
            "DALI Proxy needs a PyTorch that is built with CUDA, also without a GPU: it calls NVTX. "
            f"This is {torch.__version__}."
        )
    size = len(dataset)  # type: ignore[arg-type]
    for made_for in ("weights", "data_source", "dataset"):
        found = len(getattr(sampler, made_for, range(size)))
        if found != size:
            raise ValueError(
                f"The sampler is for {found} samples; the data set has {size}."
            )
    if sampler is None:
        sampler = DistributedSampler(
            dataset, num_shards, shard_id, shuffle=True, seed=SEED
        )
    with DALIServer(pipe, deterministic=True) as server:
        batches = DataLoader(
            Augmented(dataset, server.proxy),
            pipe.max_batch_size,
            sampler=sampler,
            num_workers=num_workers,
        )
        yield Loader(server, batches)
