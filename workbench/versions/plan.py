"""Plan a dataset version: which samples each shard has, and which seed.

A version has splits, such as ``train``. Each split is rendered in copies with independent random
values, and each copy in shards. A shard is the unit of work and of proof: its content depends only
on the plan, so that shards can be rendered in any order, in any number of processes, and again.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from workbench.errors import ArgumentError, DataError

ORIGINAL = -1
"""Number of the copy that contains the samples without augmentation."""
SPLITS = ("train", "val", "test")
_MOST_SEED = 2**31 - 2**20
"""Upper limit of the seed of a shard. DALI's seeds are at most 2**31 - 1, and operators add to it.
"""


class Task(NamedTuple):
    """One shard of one copy of a split; ``copy`` is ``ORIGINAL`` for the unchanged samples."""

    split: str
    copy: int
    shard: int
    shards: int

    @property
    def name(self) -> str:
        """Name of the shard, which is also part of its file names."""
        copy = "original" if self.copy == ORIGINAL else f"copy{self.copy}"
        return f"{self.split}-{copy}-{self.shard:05}-of-{self.shards:05}"


class PlannedSplit(msgspec.Struct, frozen=True):
    """A split: its samples, and the graph that renders it, by key of ``VersionPlan.graphs``."""

    name: str
    samples: int
    copies: int
    graph: str
    originals: bool = False


class VersionPlan(msgspec.Struct, frozen=True):
    """All settings on which the bytes of a version depend.

    ``data`` has the location of each data parameter and ``main`` the parameter whose samples are
    rendered. ``classes`` are the class names in label order. ``encoding`` is ``png``, or ``jpeg``
    with ``quality``. ``excluded`` has the samples that cannot be read, with the reasons.
    ``libraries`` are the versions of the libraries that compute or encode pixels.
    """

    graphs: Mapping[str, dict[str, Any]]
    data: Mapping[str, str]
    data_hashes: Mapping[str, str]
    main: str
    splits: tuple[PlannedSplit, ...]
    shares: tuple[float, ...]
    format: str
    encoding: str
    quality: int
    arrays: bool
    shard_size: int
    seed: int
    classes: tuple[str, ...]
    excluded: Mapping[str, str]
    libraries: Mapping[str, str]
    notes: tuple[str, ...] = ()
    schema: int = 1
    pictures: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Outputs of unknown type that are pictures; unset, and not in the file, if there are none."""

    def tasks(self) -> Iterator[Task]:
        """Yield every shard, by split and copy."""
        for split in self.splits:
            shards = max(1, -(-split.samples // self.shard_size))
            copies = [*([ORIGINAL] if split.originals else []), *range(split.copies)]
            for copy in copies:
                for shard in range(shards):
                    yield Task(split.name, copy, shard, shards)

    def split(self, name: str) -> PlannedSplit:
        return next(each for each in self.splits if each.name == name)

    def graph_of(self, task: Task) -> dict[str, Any]:
        """Return the graph of a shard, as JSON."""
        return self.graphs[self.key_of(task)]

    def key_of(self, task: Task) -> str:
        """Return the key of the graph of a shard."""
        key = self.split(task.split).graph
        return f"original {key}" if task.copy == ORIGINAL else key

    @property
    def found_pictures(self) -> tuple[str, ...]:
        """Outputs whose type is unknown, and whose first samples are pictures, as all must be."""
        return () if isinstance(self.pictures, msgspec.UnsetType) else self.pictures

    def seed_of(self, task: Task) -> int:
        """Return the pipeline seed of a shard. Different shards have independent seeds."""
        text = f"{self.seed} {task.split} {task.copy} {task.shard} of {task.shards}"
        digest = hashlib.sha256(text.encode()).digest()
        return int.from_bytes(digest[:8], "big") % _MOST_SEED

    def dump(self) -> bytes:
        """Return the plan as JSON."""
        return json.dumps(msgspec.to_builtins(self), indent=1, ensure_ascii=False).encode()

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.dump()).hexdigest()

    def differences(self, other: VersionPlan) -> list[str]:
        """Return the names of the settings that differ."""
        return [
            each.name
            for each in msgspec.structs.fields(self)
            if getattr(self, each.name) != getattr(other, each.name)
        ]


def load_plan(text: bytes) -> VersionPlan:
    """Parse a plan. Raises DataError if it is from another version of the workbench."""
    try:
        plan = msgspec.json.decode(text, type=VersionPlan)
    except msgspec.DecodeError as error:
        raise DataError(f"The plan of the version cannot be read: {error}.") from None
    if plan.schema != 1:
        raise DataError(f"The plan has schema {plan.schema}, but only 1 is supported.")
    return plan


def parse_shares(text: str) -> tuple[float, ...]:
    """Parse the shares of splits, such as ``0.8,0.1,0.1``. Raises ArgumentError."""
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ArgumentError(
            f"split is {text!r}. Use numbers that add up to 1, such as 0.8,0.1,0.1."
        ) from None


def shard_bounds(task: Task, count: int) -> tuple[int, int]:
    """Return the first sample of a shard and the one after its last, as DALI's readers divide."""
    return task.shard * count // task.shards, (task.shard + 1) * count // task.shards


def divide(labels: Sequence[int], shares: Sequence[float], seed: int) -> list[list[int]]:
    """Divide samples, given their labels, at random by ``shares``; returns ascending indices.

    Each class is divided by the same shares, as far as it has enough samples.
    Raises ArgumentError if the shares do not add up to 1, or if a split would be empty.
    """
    if not 1 <= len(shares) <= len(SPLITS) or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
        raise ArgumentError(
            f"split is {', '.join(f'{each:g}' for each in shares)}. Use one to three positive "
            "numbers that add up to 1, such as 0.8,0.1,0.1."
        )
    if len(shares) == 1:
        return [list(range(len(labels)))]
    generator = random.Random(seed)
    ordered = sorted(range(len(labels)), key=lambda at: (labels[at], generator.random()))
    chosen: list[list[int]] = [[] for _ in shares]
    for place, at in enumerate(ordered, 1):  # to the split that lacks most
        lacking = [share * place - len(each) for share, each in zip(shares, chosen, strict=True)]
        chosen[lacking.index(max(lacking))].append(at)
    for name, each in zip(SPLITS, chosen, strict=False):
        if not each:
            raise ArgumentError(
                f"The split {name!r} would have no sample of {len(labels):,}. Use a larger share."
            )
    return [sorted(each) for each in chosen]
