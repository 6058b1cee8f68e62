"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]).

DALI Proxy: dataset, sampler and worker processes are PyTorch's. The workers read files, and
DALI decodes and augments the batches in the training process.

    with make_loader(build_pipeline(), Photos("DIR")) as loader:
        for batch in loader:
            ...

Any dataset whose samples are the bytes of an image file and a class number can replace
``Photos``, with any sampler, such as a WeightedRandomSampler. A rank passes its
``shard_id`` to both functions, and ``num_shards`` or a sampler of its own to ``make_loader``.

Needs nvidia-dali-cuda120 and torch with CUDA support; a GPU is not required.
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
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
NUM_WORKERS = 2


IMAGES = (
    ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pnm", ".ppm",
    ".pgm", ".pbm", ".jp2", ".webp",
)  # fmt: skip


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is hidden or belongs to the system, judged by its name."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found")
    others = ("__pycache__", "system volume information", "thumbs.db", "desktop.ini")
    return name.startswith(".") or name.lower() in system + others


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether a folder entry is a folder; False for circular links."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def class_folders(data: str) -> list[str]:
    """Return the visible subfolders of a folder, sorted by name."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if is_folder(e) and not is_hidden(e.name))


def named_files(data: str, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return the relative path and label of each file in class folders or a flat folder."""
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
    """Return the pipeline of one rank; its inputs are the files that workers read.

    ``device`` is where images are decoded, cpu or mixed; ``device_id`` is the GPU.
    """
    seed += 100_000 * shard_id  # different random values on each rank
    return imagenet_train_pipeline(
        device,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
    )


class Photos(Dataset[tuple[bytes, int]]):
    """The photos of a folder with one subfolder per class: bytes and class number."""

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
    """Samples of a dataset that DALI augments as soon as their batch is complete."""

    def __init__(self, dataset: Dataset[tuple[bytes, int]], proxy: Any) -> None:
        self.dataset, self.proxy = dataset, proxy

    def __len__(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]  # datasets with a sampler have one

    def __getitem__(self, index: int) -> tuple[dict[str, Any], int]:
        if not 0 <= index < len(self):
            raise IndexError(
                f"The sampler returned {index}, but the dataset has {len(self)} samples."
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
            raise RuntimeError("DALI's pipeline has failed before. Build a new one.")
        if isinstance(self.batches.sampler, DistributedSampler):
            self.batches.sampler.set_epoch(self.epoch)  # another order each epoch
        self.epoch += 1
        gc.collect()  # a forked worker that frees an old pipeline would wait for its threads
        ahead: deque[tuple[Tensor, Future[Any]]] = deque()
        # DALI prepares a batch while the previous one is used.
        with ThreadPoolExecutor(1) as thread:
            for batch, samples in self.batches:
                ahead.append((samples, thread.submit(self.server.produce_data, batch)))
                if len(ahead) > 1:
                    yield self.result(*ahead.popleft())
            while ahead:
                yield self.result(*ahead.popleft())

    def result(self, samples: Tensor, batch: Future[Any]) -> dict[str, Tensor]:
        """Return a batch when it is ready."""
        try:
            made: dict[str, Tensor] = batch.result()
            return made
        except RuntimeError as error:
            if not batch.done() or batch.exception() is not error:
                raise  # from PyTorch: a worker ended meanwhile
            self.failed = True
            raise RuntimeError(
                f"DALI failed on the samples {samples.tolist()} of the dataset. "
                "If one is damaged, remove it. Then build a new pipeline and loader."
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
    """Return a loader with the pipeline's batch size; DALI's thread ends with the ``with`` block.

    Without a ``sampler`` the ranks get parts of equal size, in a new order each epoch: some samples
    are in two of them. A ``sampler`` is for one rank; all ranks need samplers of equal length.
    """
    if torch.version.cuda is None:
        raise RuntimeError(
            "DALI Proxy needs PyTorch with CUDA support, even without a GPU: it calls NVTX. "
            f"This is {torch.__version__}."
        )
    size = len(dataset)  # type: ignore[arg-type]
    for made_for in ("weights", "data_source", "dataset"):
        found = len(getattr(sampler, made_for, range(size)))
        if found != size:
            raise ValueError(
                f"The sampler is for {found} samples, but the dataset has {size}."
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
