"""PyTorch loaders of generated images, correct and with a fault planted, in real workers."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)

Make = Callable[..., Any]


class Photos(Dataset[Any]):
    """Random crops of the photos of a class folder, with PyTorch's global random numbers."""

    def __init__(self, data: str) -> None:
        files = sorted(Path(data).rglob("*.*"))
        self.labels = list(range(len(files)))
        self.pixels = np.asarray(Image.open(files[0]).resize((48, 40)))

    def __len__(self) -> int:
        return len(self.labels)

    def draw(self) -> float:
        return float(torch.rand(()))

    def crop(self) -> torch.Tensor:
        y, x = int(20 * self.draw()), int(24 * self.draw())
        bright = np.float32(0.5 + self.draw() / 2)
        return torch.tensor(self.pixels[y : y + 20, x : x + 24] * bright)

    def __getitem__(self, index: int) -> Any:
        return self.crop(), self.labels[index]


class NumpySeed(Photos):
    """The generator is copied into every worker, with the same state."""

    def __init__(self, data: str) -> None:
        super().__init__(data)
        self.chance = np.random.default_rng(0)

    def draw(self) -> float:
        return float(self.chance.random())


class Unseeded(NumpySeed):
    """As Albumentations without a seed: random numbers from the operating system."""

    def draw(self) -> float:
        return random.SystemRandom().random()


class SameViews(Photos):
    def __getitem__(self, index: int) -> Any:
        state = torch.get_rng_state()
        first = self.crop()
        torch.set_rng_state(state)
        return first, self.crop(), self.labels[index]


class TwoViews(Photos):
    def __getitem__(self, index: int) -> Any:
        return {"views": [self.crop(), self.crop()], "target": {"label": self.labels[index]}}


class Stream(IterableDataset[Any]):
    """A shuffled shard; with ``divided`` each worker reads a part of it."""

    def __init__(self, data: str, rank: int, ranks: int, divided: bool = True) -> None:
        self.photos, self.rank, self.ranks = Photos(data), rank, ranks
        self.divided, self.epoch = divided, 0

    def __iter__(self) -> Iterator[Any]:
        order = random.Random(self.epoch).sample(range(len(self.photos)), len(self.photos))
        own = order[self.rank :: self.ranks]
        info = get_worker_info()
        if self.divided and info is not None:
            own = own[info.id :: info.num_workers]
        for number in own:
            yield self.photos[number]


class SetEpoch:
    """A loader that sets the epoch of its sampler or dataset."""

    def __init__(self, loader: Any, target: Any, length: int | None = None) -> None:
        self.loader, self.target, self.epoch, self.length = loader, target, -1, length

    def __len__(self) -> int:
        return len(self.loader) if self.length is None else self.length

    def __iter__(self) -> Iterator[Any]:
        self.epoch += 1
        if hasattr(self.target, "set_epoch"):
            self.target.set_epoch(self.epoch)
        else:
            self.target.epoch = self.epoch
        return iter(self.loader)


class Resumable(SetEpoch):
    """Counts its batches; ``skips`` is whether a resumed run skips those that were delivered."""

    def __init__(self, loader: Any, target: Any, skips: bool) -> None:
        super().__init__(loader, target)
        self.done, self.skips, self.start = 0, skips, 0

    def __iter__(self) -> Iterator[Any]:
        start, self.start = self.start, 0
        torch.manual_seed(1000 * (1 + self.epoch) + self.target.rank)
        for number, batch in enumerate(super().__iter__()):
            if number >= start or not self.skips:
                self.done = number + 1
                yield batch

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.epoch, self.start = state["epoch"] - 1, state["done"]


def distributed(
    dataset: type[Photos] = Photos, workers: int = 0, size: int = 6, **options: Any
) -> Make:
    def make_loader(data: str, rank: int, ranks: int) -> SetEpoch:
        torch.manual_seed(rank)
        photos = dataset(data)
        sampler = DistributedSampler(photos, ranks, rank)
        made = DataLoader(photos, size, sampler=sampler, num_workers=workers, **options)
        return SetEpoch(made, sampler)

    return make_loader


def plain(dataset: type[Photos] = Photos, **options: Any) -> Make:
    def make_loader(data: str) -> Any:
        return DataLoader(dataset(data), **({"batch_size": 6, "shuffle": True} | options))

    return make_loader


def streaming(divided: bool) -> Make:
    def make_loader(data: str, rank: int, ranks: int) -> SetEpoch:
        torch.manual_seed(rank)
        stream = Stream(data, rank, ranks, divided)
        made = DataLoader(stream, 6, num_workers=2)
        length = sum(1 for _ in made)
        return SetEpoch(made, stream, length)

    return make_loader


def resumable(skips: bool) -> Make:
    def make_loader(data: str, rank: int, ranks: int) -> Resumable:
        photos = Photos(data)
        sampler = DistributedSampler(photos, ranks, rank)
        return Resumable(DataLoader(photos, 6, sampler=sampler), sampler, skips)

    return make_loader


def same_seed(worker: int) -> None:
    torch.manual_seed(0)


def never_rotates(data: str, rank: int, ranks: int) -> Any:
    photos = Photos(data)
    own = torch.utils.data.Subset(photos, range(rank, len(photos), ranks))
    return DataLoader(own, 6, shuffle=True)


def no_set_epoch(data: str, rank: int, ranks: int) -> Any:
    photos = Photos(data)
    return DataLoader(photos, 6, sampler=DistributedSampler(photos, ranks, rank))


def overlapping(data: str, rank: int, ranks: int) -> Any:
    return DataLoader(Photos(data), 6, shuffle=True)


def same_seed_on_ranks(data: str, rank: int, ranks: int) -> Any:
    torch.manual_seed(0)
    photos = Photos(data)
    sampler = DistributedSampler(photos, ranks, rank)
    return SetEpoch(DataLoader(photos, 6, sampler=sampler), sampler)


class WrongLength(SetEpoch):
    def __len__(self) -> int:
        return len(self.loader) - 1


def wrong_length(data: str, rank: int, ranks: int) -> Any:
    right = distributed()(data, rank, ranks)
    return WrongLength(right.loader, right.target)


class Numbers(IterableDataset[int]):
    """The user's own data: no images are generated."""

    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(101).tolist()


def own_numbers() -> Any:
    return DataLoader(Numbers(), 8, num_workers=2)


FAULTS: dict[str, tuple[str, Make]] = {
    "one NumPy generator for all workers": (
        "repeated_across_workers", distributed(NumpySeed, workers=2)),
    "one seed in worker_init_fn": (
        "repeated_across_workers", distributed(workers=2, worker_init_fn=same_seed)),
    "unseeded augmentation": ("not_reproducible", distributed(Unseeded)),
    "no shuffle": ("no_shuffle", plain(shuffle=False)),
    "set_epoch is not called": ("no_shuffle", no_set_epoch),
    "dropped remainder": ("dropped_remainder", plain(drop_last=True)),
    "overlapping shards": ("overlapping_shards", overlapping),
    "shards that never rotate": ("shards_never_rotate", never_rotates),
    "len off by one": ("wrong_length", wrong_length),
    "resume at the first sample": ("resume_restarts", resumable(skips=False)),
    "equal random values for both views": ("equal_views", distributed(SameViews)),
    "one seed for all ranks": ("repeated_across_ranks", same_seed_on_ranks),
    "every worker reads all of the user's numbers": ("repeated", own_numbers),
    "every worker reads everything": ("repeated", streaming(divided=False)),
}  # fmt: skip
"""What is wrong: the kind of finding, and the loader."""


def seeded(data: str) -> Any:
    chance = torch.Generator().manual_seed(3)
    return DataLoader(Photos(data), 6, shuffle=True, generator=chance)


def bucketed(data: str) -> Any:
    photos = Photos(data)
    batches = BatchSampler(RandomSampler(photos), 5, drop_last=False)
    return DataLoader(photos, batch_sampler=batches)


def as_lists(data: str) -> Any:
    return DataLoader(
        Photos(data), 6, shuffle=True, collate_fn=lambda rows: [*zip(*rows, strict=True)]
    )


def as_pairs(data: str) -> Any:
    return DataLoader(Photos(data), 6, shuffle=True, collate_fn=list)


def without_labels(data: str) -> Any:
    def crops(rows: list[str]) -> torch.Tensor:
        found = []
        for path in rows:
            pixels = np.asarray(Image.open(path).resize((48, 40)), np.float32) / 255 - 0.5
            y, x = torch.randint(20, (2,)).tolist()
            found.append(torch.tensor(pixels[y : y + 20, x : x + 24]).permute(2, 0, 1))
        return torch.stack(found)

    files = [*map(str, sorted(Path(data).rglob("*.*")))]
    return DataLoader(files, 6, shuffle=True, collate_fn=crops)  # type: ignore[arg-type]


def evaluation(data: str) -> Any:
    class Fixed(Photos):
        def draw(self) -> float:
            return 0.5

    return DataLoader(Fixed(data), 6)


def indices_only(rank: int, ranks: int) -> Any:
    numbers = torch.arange(101)
    dataset = torch.utils.data.TensorDataset(numbers)
    sampler = DistributedSampler(dataset, ranks, rank)
    return SetEpoch(DataLoader(dataset, 7, sampler=sampler), sampler)


def from_environment(data: str, rank: int) -> Any:
    photos = Photos(data)
    ranks = int(os.environ["WORLD_SIZE"])
    torch.manual_seed(int(os.environ["RANK"]))
    sampler = DistributedSampler(photos, ranks, int(os.environ["LOCAL_RANK"]))
    return SetEpoch(DataLoader(photos, 6, sampler=sampler), sampler)


CORRECT: dict[str, Make] = {
    "distributed": distributed(),
    "distributed, workers": distributed(workers=2),
    "distributed, persistent workers": distributed(workers=2, persistent_workers=True),
    "distributed, large batches": distributed(size=13),
    "two views": distributed(TwoViews),
    "shuffled": plain(),
    "shuffled, workers": plain(num_workers=3),
    "batches of one": plain(batch_size=1),
    "one batch": plain(batch_size=200),
    "seeded": seeded,
    "stream": streaming(divided=True),
    "resumable": resumable(skips=True),
    "batch sampler": bucketed,
    "lists": as_lists,
    "pairs": as_pairs,
    "without labels": without_labels,
    "evaluation": evaluation,
    "indices": indices_only,
    "environment": from_environment,
}


def weighted(data: str) -> Any:
    photos = Photos(data)
    sampler = WeightedRandomSampler([1.0] * len(photos), len(photos))
    return DataLoader(photos, 6, sampler=sampler)
