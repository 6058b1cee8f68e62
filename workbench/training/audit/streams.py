"""Convert epochs to numbers: the id, batch, position and fingerprints of each delivered sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from workbench.training.audit.batches import Id
from workbench.training.audit.numbered import numbers_of
from workbench.training.audit.reading import EpochRead

_USUAL = ("index", "indices", "idx", "id", "ids", "sample", "number", "label", "labels", "target")
_INDICES = _USUAL[: _USUAL.index("label")]
"""Names of fields whose values may be ids even if many values repeat. Labels are excluded."""
_DISTINCT = 0.6
"""Minimum fraction of distinct values in a field of ids."""
_FEW = 8
_EXPECTED = 6.0
_RECURRING = 0.5
"""Minimum share of an epoch's ids that another epoch must contain too."""


@dataclass(slots=True)
class Stream:
    """The samples of one epoch of one rank, in order. ``ids`` is None if they are unknown."""

    rank: int
    epoch: int
    sizes: tuple[int, ...]
    ids: tuple[Id, ...] | None = None
    prints: dict[str, np.ndarray[Any, np.dtype[np.uint64]]] = field(default_factory=dict)
    length: int | None = None
    whole: bool = True
    padding: int = 0

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def batch(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The batch number of each sample."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def position(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The position of each sample in its batch."""
        return np.concatenate([np.arange(n) for n in (0, *self.sizes)])


def streams_of(reads: Sequence[EpochRead], id_field: str | None) -> list[Stream]:
    """Return the samples of each epoch as a stream.

    ``id_field`` is the result of ``find_id_field``.
    """
    return [
        Stream(
            read.rank,
            read.epoch,
            tuple(batch.size for batch in read.batches),
            _ids(read, id_field),
            _prints(read),
            read.length,
            read.whole,
            sum(batch.padding for batch in read.batches),
        )
        for read in reads
    ]


GIVEN, PIXELS = "the function index", "the pixels"


def find_id_field(reads: Sequence[EpochRead], count: int | None, generated: bool) -> str | None:
    """Return the field whose values identify samples, or None.

    ``count`` is the number of samples, if known. Labels of generated images are sample numbers. The
    values of a field must be distinct in each epoch of a rank, unless its name or ``count`` shows
    that they are indices, and must recur in other epochs. Fingerprints are used if the pixels of
    each sample are the same in all epochs.
    """
    batches = [batch for read in reads for batch in read.batches]
    if not batches:
        return None
    if all(batch.ids is not None for batch in batches):
        return GIVEN
    names = [n for n in batches[0].scalars if all(n in batch.scalars for batch in batches)]
    scored = [(score, name) for name in names if (score := _score(reads, name, count, generated))]
    if scored:
        return max(scored, key=lambda each: each[0])[1]
    fields = [n for n in batches[0].prints if all(n in batch.images for batch in batches)]
    same = [name for name in fields if not generated and _fingerprints_identify(reads, name)]
    return PIXELS + " of " + same[0] if same else None


def coloured_ids(reads: Sequence[EpochRead], count: int) -> bool:
    """Replace the ids of batches with the numbers of coloured images.

    Returns False if the numbers cannot be decoded.
    """
    batches = [batch for read in reads for batch in read.batches]
    for name in batches[0].colours if batches else ():
        if not all(name in batch.colours for batch in batches):
            continue
        colours = [row for batch in batches for row in batch.colours[name]]
        numbers = numbers_of(colours, count)
        if numbers is None:
            continue
        start = 0
        for batch in batches:
            batch.ids = [*numbers[start : start + batch.size]]
            start += batch.size
        return True
    return False


def _score(
    reads: Sequence[EpochRead], name: str, count: int | None, generated: bool
) -> tuple[int, float] | None:
    """Rate a field as a source of ids, or return None if its values are not ids.

    The rating consists of a rank for the field's name, and the share of distinct values.
    """
    epochs: dict[int, set[Id]] = {}
    share, distinct = 0.0, True
    for read in reads:
        values = [value for batch in read.batches for value in batch.scalars[name]]
        if values:
            share = max(share, len({*values}) / len(values))
            distinct &= len({*values}) == len(values)
            epochs.setdefault(read.epoch, set()).update(values)
    seen = set().union(*epochs.values())
    last = name.rsplit(".", 1)[-1].lower()
    usual = len(_USUAL) - _USUAL.index(last) if last in _USUAL else 0
    numbers = {value for value in seen if isinstance(value, int) and 0 <= value <= (count or 0)}
    counted = len(numbers) == len(seen) and len(seen) >= _DISTINCT * (count or 0)
    if generated:
        accepted = counted or len(numbers) == len(seen) >= _FEW
    else:
        accepted = _recur(list(epochs.values())) and (
            last in _INDICES
            or distinct
            or bool(count and counted)
            or _distinct_in_batches(reads, name, len(seen))
        )
    return (usual, share) if seen and accepted else None


def _distinct_in_batches(reads: Sequence[EpochRead], name: str, distinct: int) -> bool:
    """Return True if values repeat within an epoch, but never within a batch.

    Returns False if this could be a coincidence: if fewer than ``_EXPECTED`` repeats within batches
    would be expected of random labels. ``distinct`` is the number of different values.
    """
    batches = [batch.scalars[name] for read in reads for batch in read.batches]
    pairs = sum(len(values) * (len(values) - 1) / 2 for values in batches)
    return (
        pairs / max(1, distinct) >= _EXPECTED
        and all(len({*values}) == len(values) for values in batches)
        and distinct >= 2 * max(map(len, batches))
    )


def _recur(epochs: Sequence[set[Id]]) -> bool:
    """Return whether at least half of the ids of an epoch recur in another epoch.

    Returns True for fewer than two epochs.
    """
    if len(epochs) < 2:
        return True
    shares = [len(a & b) / max(1, min(len(a), len(b))) for a, b in combinations(epochs, 2)]
    return max(shares) >= _RECURRING


def _fingerprints_identify(reads: Sequence[EpochRead], name: str) -> bool:
    epochs: dict[int, set[int]] = {}
    distinct = 0.0
    for read in reads:
        found = [int(each) for batch in read.batches for each in batch.prints[name]]
        epochs.setdefault(read.epoch, set()).update(found)
        if found:
            distinct = max(distinct, len({*found}) / len(found))
    seen = set().union(*epochs.values())
    return (
        len(epochs) > 1
        and distinct >= _DISTINCT
        and all(len(found) >= 0.75 * len(seen) for found in epochs.values() if found)
    )


def _ids(read: EpochRead, source: str | None) -> tuple[Id, ...] | None:
    if source is None:
        return None
    found: list[Id] = []
    for batch in read.batches:
        if source == GIVEN:
            values: Sequence[Id] | None = batch.ids
        elif source.startswith(PIXELS):
            prints = batch.prints.get(source.removeprefix(PIXELS + " of "))
            values = None if prints is None else [int(each) for each in prints]
        else:
            values = batch.scalars.get(source)
        if values is None:
            return None
        found += values
    return tuple(found)


def _prints(read: EpochRead) -> dict[str, np.ndarray[Any, np.dtype[np.uint64]]]:
    names = read.batches[0].prints if read.batches else {}
    return {
        name: np.concatenate([batch.prints[name] for batch in read.batches])
        for name in names
        if all(name in batch.prints for batch in read.batches)
    }
