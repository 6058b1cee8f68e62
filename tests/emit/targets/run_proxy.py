"""Runs an exported proxy program: ``python -m tests....run_proxy CASE FOLDER DATA``.

Prints what was found as JSON. The cases are functions of this module.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import distributed
from torch.utils.data import Sampler, SequentialSampler, WeightedRandomSampler

from tests.emit.targets.target_batches import digest, load, stand_in_for_nvtx


class Fixed(Sampler[int]):
    """These indices, in their order."""

    def __init__(self, indices: Sequence[int]) -> None:
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices)


def said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def labels(loader: Any) -> list[int]:
    found = []
    for batch in loader:
        assert len(batch["images"]) == len(batch["labels"])
        found += batch["labels"].tolist()
    return found


def samples_of(loader: Any) -> list[list[Any]]:
    return [
        [label, digest(image)]
        for batch in loader
        for image, label in zip(batch["images"], batch["labels"].tolist(), strict=True)
    ]


def ranks(module: Any, data: str) -> Any:
    """Of each rank the labels of two weighted epochs, and the samples of one without a sampler."""
    import torch

    distributed.init_process_group("gloo")
    rank, count = distributed.get_rank(), distributed.get_world_size()
    photos = module.Photos(data)
    weights = [float(label > 0) for _, label in photos.files]  # none for class 0
    generator = torch.Generator().manual_seed(rank)
    sampler = WeightedRandomSampler(weights, 40 // count, generator=generator)
    with module.make_loader(module.build_pipeline(shard_id=rank), photos, sampler) as loader:
        weighted = [labels(loader) for _ in range(2)]
    pipe = module.build_pipeline(shard_id=rank)
    with module.make_loader(pipe, photos, shard_id=rank, num_shards=count) as loader:
        part = samples_of(loader)
    every: list[Any] = [None] * count
    distributed.all_gather_object(every, [weighted, part])
    distributed.destroy_process_group()
    return every


def built_without_cuda(module: Any, data: str) -> Any:
    """What is raised with a PyTorch that is built for CPUs alone."""
    import torch

    torch.version.cuda = None
    try:
        with module.make_loader(module.build_pipeline(), module.Photos(data)):
            return ""
    except RuntimeError as error:
        return said(error)


def wrong_length(module: Any, data: str) -> Any:
    """What is raised for samplers of another number of samples."""
    photos = module.Photos(data)
    found = []
    for sampler in (
        WeightedRandomSampler([1.0] * (len(photos) - 1), 10),
        SequentialSampler(range(len(photos) + 3)),
        Fixed([0, 1, len(photos)]),
        Fixed([0, -1]),
    ):
        try:
            with module.make_loader(module.build_pipeline(), photos, sampler) as loader:
                labels(loader)
        except (ValueError, IndexError) as error:
            found.append(said(error))
    return found


def killed(module: Any, data: str) -> Any:
    """The error when a worker is killed, and the epoch that the same loader gives afterwards."""
    import psutil

    photos = module.Photos(data)
    # Enough batches that the workers are still reading after the first one.
    order = [index % len(photos) for index in range(160)]
    with module.make_loader(module.build_pipeline(), photos, Fixed(order)) as loader:
        message = ""
        try:
            for _ in loader:
                (first, *_) = psutil.Process().children()
                os.kill(first.pid, signal.SIGKILL)
        except RuntimeError as error:
            message = said(error)
        again = labels(loader)
    return {"error": message, "again": again == [photos.files[index][1] for index in order]}


def bad(module: Any, data: str) -> Any:
    """What comes before a file that is no image, and what is raised then."""
    photos = module.Photos(data)
    samples = [photos[index] for index in range(len(photos))]
    samples[9] = (b"no image" * 40, 0)
    found: dict[str, Any] = {"errors": [], "labels": []}
    with module.make_loader(module.build_pipeline(), samples, SequentialSampler(samples)) as loader:
        for _ in range(2):
            try:
                for batch in loader:
                    found["labels"] += batch["labels"].tolist()
            except RuntimeError as error:
                found["errors"].append(said(error))
    found["expected"] = [label for _, label in samples[:8]]
    for wrong in (b"", "a path"):
        samples[9] = (wrong, 0)  # type: ignore[assignment]
        try:
            with module.make_loader(
                module.build_pipeline(), samples, SequentialSampler(samples)
            ) as loader:
                labels(loader)
        except TypeError as error:
            found["errors"].append(said(error))
    return found


def left_early(module: Any, data: str) -> Any:
    """Whether an epoch after one that was left early has its own images, and is repeatable."""
    photos = module.Photos(data)
    samples = [photos[index] for index in range(len(photos))]

    def run(workers: int) -> list[Any]:
        pipe = module.build_pipeline()
        order = Fixed(range(len(samples)))
        with module.make_loader(pipe, samples, order, num_workers=workers) as loader:
            for _ in loader:
                break
            order.indices = range(len(samples) - 1, -1, -1)
            return samples_of(loader)

    first, again, alone = run(2), run(2), run(0)
    return {
        "labels": [label for label, _ in first] == [label for _, label in reversed(samples)],
        "repeats": first == again,
        "any_workers": first == alone,
        "images": [image for _, image in first],
    }


def classes(module: Any, data: str) -> Any:
    """Whether the labels that pass through DALI equal those that do not."""
    photos = module.Photos(data)
    with module.make_loader(module.build_pipeline(), photos) as loader:
        return [batch["classes"].argmax(1).tolist() == batch["labels"].tolist() for batch in loader]


if __name__ == "__main__":
    case, folder, data = sys.argv[1:]
    stand_in_for_nvtx()
    result = globals()[case](load(Path(folder, "loader.py")), data)
    if os.environ.get("RANK", "0") == "0":
        print(json.dumps(result))
