"""A loader of generated images in plain Python, with one fault planted at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Batch = dict[str, Any]


class Loader:
    """Shuffled shards of a class folder: crops of random place, and labels.

    ``fault`` changes one thing. The state of a loader is its epoch and its next batch.
    """

    def __init__(
        self, data: str, rank: int = 0, ranks: int = 1, fault: str = "", size: int = 6
    ) -> None:
        files = sorted(Path(data).rglob("*.*"))
        self.count, self.size = len(files), size
        first = Image.open(files[0]).resize((48, 40))
        self.pixels = np.asarray(first)
        self.rank, self.ranks, self.fault = rank, ranks, fault
        self.epoch, self.start = -1, 0

    def order(self) -> list[int]:
        """The samples of this rank in this epoch."""
        numbers = list(range(self.count))
        rank, ranks, seed = self.rank, self.ranks, self.epoch
        if self.fault == "overlapping_shards":
            ranks, rank = 1, 0
        if self.fault == "shards_never_rotate":
            own = numbers[rank::ranks]
            random.Random(seed).shuffle(own)
            return own
        if self.fault == "weak_shuffle":
            random.Random(seed).shuffle(numbers)
            return sorted(numbers[rank::ranks], key=lambda n: n // 8)
        if self.fault not in ("no_shuffle", "never_shuffled"):
            random.Random(seed).shuffle(numbers)
        own = numbers[rank::ranks]
        if self.fault == "uneven_ranks":
            own = numbers[:60] if not rank else numbers[60:]
        if self.fault == "missed":
            own = own[:30]
        if self.fault == "never_seen":
            own = [each for each in own if each < self.count - 12]
        if self.fault == "repeated":  # each of two workers reads everything
            parts = [own[i : i + self.size] for i in range(0, len(own), self.size)]
            own = [each for part in parts for each in (*part, *part)]
        if self.fault == "with_replacement":
            own = random.Random(seed * 31 + rank).choices(range(self.count), k=len(own))
        if self.fault == "padded_last_batch":
            own = own + own[: -len(own) % self.size]
        if self.fault == "dropped_remainder":
            own = own[: len(own) // self.size * self.size]
        return own

    def __len__(self) -> int:
        batches = -(-len(self.order()) // self.size)
        return batches + 1 if self.fault == "wrong_length" else batches

    def image(self, seed: Any) -> np.ndarray[Any, Any]:
        chance = np.random.default_rng(seed)
        y, x = chance.integers(0, (20, 24))
        return self.pixels[y : y + 20, x : x + 24] * np.float32(chance.uniform(0.5, 1))

    def values(self, batch: int, position: int, label: int) -> Any:
        """The seed of the random values of a sample."""
        where = (self.epoch + 1, self.rank, batch, position)
        if self.fault in ("repeated_across_workers", "repeated_before_a_flip"):
            return (*where[:2], batch // 2, position)
        if self.fault == "repeated_across_epochs":
            return (self.rank, batch, position)
        if self.fault == "repeated_per_sample":
            return (label,)
        if self.fault == "repeated_across_ranks":
            return (self.epoch + 1, batch, position)
        if self.fault == "repeated_across_samples":
            return where[:3]
        if self.fault == "not_reproducible":
            return None
        return where

    def __iter__(self) -> Iterator[Batch]:
        if not self.start:
            self.epoch += 1
        elif self.fault == "left_early":
            self.start += 2  # a thread had prepared two more
        if self.fault == "empty_epoch" and self.epoch:
            return
        order = self.order()
        continues, self.start = self.start, 0
        for number, first in enumerate(range(0, len(order), self.size)):
            if number < continues:
                continue
            self.start = number + 1
            labels = order[first : first + self.size]
            seeds = [self.values(number, place, each) for place, each in enumerate(labels)]
            views = [self.image(seed) for seed in seeds]
            batch: Batch = {"image": np.stack(views), "label": np.array(labels)}
            if self.fault == "repeated_before_a_flip":
                flips = np.random.default_rng((5, self.epoch + 1, self.rank, number))
                chosen = flips.random(len(labels)) < 0.5
                batch["image"][chosen] = batch["image"][chosen, :, ::-1]
            elif self.fault == "equal_views":
                batch["second"] = batch["image"].copy()
            elif self.fault == "raised" and number == 4 and self.epoch == 1:
                raise OSError("image file is truncated")
            elif self.fault == "changing_batches" and number == 3:
                del batch["image"]
            if number + 1 == len(range(0, len(order), self.size)):
                self.start = 0
            yield batch
            if self.fault == "two_views":
                batch["second"] = np.stack([self.image((1, *each)) for each in seeds])

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "start": self.start}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.epoch, self.start = state["epoch"], state["start"]
        if self.fault == "left_early":
            self.start -= 2
        if self.fault == "resume_restarts":
            self.epoch, self.start = state["epoch"] - 1, 0
        if self.fault == "resume_differs":
            self.start += 1


def factory(fault: str) -> Callable[..., Loader]:
    def make_loader(data: str, rank: int, ranks: int) -> Loader:
        return Loader(data, rank, ranks, fault)

    return make_loader
