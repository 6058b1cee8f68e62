"""Read a loader as a training loop does: all epochs of each rank, a partial and a resumed epoch."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal

import numpy as np

from workbench.errors import ArgumentError
from workbench.names import shortened
from workbench.training.audit.batches import FailedArgumentError, ReadBatch, blaming, read_batch
from workbench.training.audit.numbered import write_coloured, write_equal

End = Literal["end", "limit", "time", "raised", "interrupted"]
DATA = ("data", "folder", "root", "data_dir", "path", "images")
RANK = ("rank", "shard_id", "shard", "local_rank")
RANKS = ("ranks", "world_size", "num_shards", "num_replicas", "shards")
STATE = ("checkpoint", "state", "state_dict")
_ACCEPTED = (*DATA, *RANK, *RANKS, *STATE)
_SEED = 20_000
BEYOND = 20
"""Number of batches that are read beyond ``len(loader)`` to find the loader's end."""


@dataclass(slots=True)
class EpochRead:
    """The batches of one epoch of one rank.

    ``length`` is ``len(loader)`` before the epoch; ``end`` is the reason why the reading ended.
    ``argument`` names the argument of the audit that raised ``error``; it is empty if the loader
    raised it.
    """

    rank: int
    epoch: int
    length: int | None = None
    batches: list[ReadBatch] = field(default_factory=list)
    end: End = "end"
    error: str = ""
    argument: str = ""

    @property
    def whole(self) -> bool:
        return self.end == "end"

    @property
    def size(self) -> int:
        return sum(batch.size for batch in self.batches)


@dataclass(slots=True)
class ResumeRead:
    """Two runs: one reads ``taken`` and then ``rest``, the other resumes after ``taken``."""

    taken: EpochRead
    rest: list[EpochRead]
    resumed: list[EpochRead]


class Factory:
    """Creates loaders with the user's function, or returns the loader that the user passed."""

    def __init__(self, make_loader: Any, data: Any = None) -> None:
        is_function = callable(make_loader) and (
            isinstance(make_loader, type) or not hasattr(make_loader, "__iter__")
        )
        self.made = None if is_function else make_loader
        is_graph = hasattr(make_loader, "at_scope")
        is_loader = hasattr(make_loader, "__iter__") or hasattr(make_loader, "__getitem__")
        is_text = isinstance(make_loader, str | bytes)
        if is_graph or is_text or not (is_function or is_loader):
            raise ArgumentError(
                f"audit: make_loader has type {type(make_loader).__name__!r}. Pass a loader, or a "
                "function that returns one."
            )
        self._make = make_loader
        self.data = data
        self.needs_data = False
        names = self._parameters() if is_function else ()
        self.about = {role: name for name in names for role in _ROLES if name in _ROLES[role]}

    def _parameters(self) -> tuple[str, ...]:
        try:
            found = signature(self._make).parameters.values()
        except (TypeError, ValueError):
            return ()
        self.needs_data = any(p.name in DATA and p.default is Parameter.empty for p in found)
        kinds = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        for each in found:
            by_name = each.name in _ACCEPTED and each.kind is not Parameter.POSITIONAL_ONLY
            if each.default is Parameter.empty and each.kind not in kinds and not by_name:
                raise ArgumentError(
                    f"audit: the parameter {each.name!r} of make_loader has no default. Add a "
                    f"default, or use only these parameters: {', '.join(_ACCEPTED)}."
                )
        allowed = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        return tuple(each.name for each in found if each.kind in allowed)

    def accepts(self, role: str) -> bool:
        return role in self.about

    def __call__(self, rank: int, ranks: int, state: Any = None) -> Any:
        """Create the loader of a rank, with seeds that depend only on the rank."""
        if self.made is not None:
            return self.made
        seed_all(_SEED + 1_000 * rank)
        given = {"rank": rank, "ranks": ranks, "data": self.data, "state": state}
        used = {role: v for role, v in given.items() if role in self.about and v is not None}
        return self._make(**{self.about[role]: value for role, value in used.items()})


_ROLES = {"rank": RANK, "ranks": RANKS, "data": DATA, "state": STATE}


@dataclass
class Reader:
    """Reads epochs of loaders, with limits on batches and time.

    ``limit`` is the maximum number of batches per epoch. Reading stops when ``time.monotonic()``
    reaches ``deadline``.
    """

    index: Callable[[Any], Any] | None
    before_epoch: Callable[[Any, int], None] | None
    limit: int
    deadline: float
    colours: bool = False
    notes: dict[str, None] = field(default_factory=dict)

    def epoch(
        self, loader: Any, rank: int, epoch: int, max_batches: int | None = None
    ) -> EpochRead:
        """Read one epoch, or its first ``max_batches`` batches. An error or interrupt ends it."""
        read = EpochRead(rank, epoch, length_of(loader))
        try:
            if self.before_epoch is not None:
                with blaming("before_epoch"):
                    self.before_epoch(loader, epoch)
            self._read(loader, read, max_batches)
            if epoch and not read.batches and read.whole and hasattr(loader, "reset"):
                loader.reset()
                self._read(loader, read, max_batches)
                self.notes["reset() was called before each epoch after the first."] = None
        except KeyboardInterrupt:
            read.end = "interrupted"
        except Exception as error:  # the user's code can raise anything
            read.end = "raised"
            if isinstance(error, FailedArgumentError) and isinstance(error.__cause__, Exception):
                read.argument, error = error.argument, error.__cause__
            read.error = f"{type(error).__name__}: {shortened(' '.join(str(error).split()), 300)}"
        return read

    def _read(self, loader: Any, read: EpochRead, max_batches: int | None) -> None:
        limit = self.limit if read.length is None else min(self.limit, read.length + BEYOND)
        for batch in loader:
            if len(read.batches) >= limit:
                read.end = "limit"
                return
            read.batches.append(read_batch(batch, self.index, self.colours))
            if len(read.batches) == max_batches:
                return
            if time.monotonic() > self.deadline:
                read.end = "time"
                return


def length_of(loader: Any) -> int | None:
    """Return ``len(loader)``, or None if the loader has no length."""
    try:
        return len(loader)
    except Exception:  # TypeError of most classes; some raise other errors
        return None


def dataset_size(loader: Any) -> int | None:
    """Return the length of a PyTorch loader's dataset, or None if its sampler may skip samples."""
    sampler = type(getattr(loader, "sampler", None)).__name__
    if sampler not in ("SequentialSampler", "RandomSampler", "DistributedSampler"):
        return None
    return length_of(getattr(loader, "dataset", None))


def resume(reader: Reader, factory: Factory, ranks: int) -> ResumeRead | str:
    """Save the state of rank 0 in the middle of an epoch, and resume a new loader from it.

    Returns the reason as text if the loader cannot be resumed.
    """
    loader = factory(0, ranks)
    save = next((getattr(loader, each) for each in ("checkpoint", "state_dict")
                 if callable(getattr(loader, each, None))), None)  # fmt: skip
    if save is None:
        return "the loader has neither state_dict() nor checkpoint()"
    loads = callable(getattr(loader, "load_state_dict", None))
    if not loads and not factory.accepts("state"):
        return "the loader has no load_state_dict(), and make_loader no parameter checkpoint"
    length = length_of(loader)
    if length is not None and length < 2:
        return "an epoch has fewer than two batches"
    taken = EpochRead(0, 0, length)
    state: Any = None
    rest = EpochRead(0, 0)
    half = max(1, length // 2) if length else 1
    if reader.before_epoch is not None:
        reader.before_epoch(loader, 0)
    for number, batch in enumerate(loader):
        read = read_batch(batch, reader.index, reader.colours)
        (taken if number < half else rest).batches.append(read)
        if number + 1 == half:
            try:
                state = save()
            except Exception as error:
                return f"its state cannot be saved: {shortened(str(error), 200)}"
        if number >= reader.limit or time.monotonic() > reader.deadline:
            rest.end = "limit"
            break
    if not rest.batches:
        cut = "the limits limit= or seconds= were reached"
        return "an epoch has fewer than two batches" if rest.whole else cut
    following = reader.epoch(loader, 0, 1) if rest.whole else EpochRead(0, 1, end="limit")
    if loads:
        again = factory(0, ranks)
        again.load_state_dict(state)
    else:
        again = factory(0, ranks, state)
    resumed = [reader.epoch(again, 0, 0)]
    if resumed[0].whole:
        resumed.append(reader.epoch(again, 0, 1))
    return ResumeRead(taken, [rest, following], resumed)


def seed_all(seed: int) -> None:
    """Seed the global random number generators of Python, NumPy and, if imported, PyTorch."""
    random.seed(seed)
    np.random.seed(seed)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)


@contextmanager
def restored_state() -> Iterator[None]:
    """Context manager that restores the global random states and the variables of ``set_rank``."""
    kept = {name: os.environ.get(name) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
    python, numpy_state = random.getstate(), np.random.get_state()
    torch = sys.modules.get("torch")
    torch_state = torch.get_rng_state() if torch else None
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy_state)
        if torch and torch_state is not None:
            torch.set_rng_state(torch_state)
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def set_rank(rank: int, ranks: int) -> None:
    """Set the environment variables that launchers such as torchrun set."""
    values: Mapping[str, int] = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks}
    os.environ.update({name: str(value) for name, value in values.items()})


@contextmanager
def generated_images(kind: Literal["equal", "coloured"], count: int) -> Iterator[Path]:
    """Context manager that writes images to a temporary folder and removes it at the end."""
    with tempfile.TemporaryDirectory(prefix="workbench-audit-") as folder:
        write = write_equal if kind == "equal" else write_coloured
        yield write(Path(folder), count)
