"""Inspect a batch of any library (number of samples, types, devices), and copy it.

A batch is an array, or lists, tuples and mappings of arrays. No library is imported: tensors are
recognised by their attributes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

_MOST_ARRAYS = 64
_CHANNELS = (1, 3, 4)


def length_of(loader: Any) -> int | None:
    """Return the number of batches per epoch; None if the loader does not report it."""
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return None


def arrays(batch: Any) -> Iterator[Any]:
    """Yield the arrays and tensors of a batch, at most 64."""
    found = [batch]
    count = 0
    while found and count < _MOST_ARRAYS:
        each = found.pop()
        if hasattr(each, "shape"):
            count += 1
            yield each
        elif isinstance(each, Mapping):
            found += reversed(list(each.values())[:_MOST_ARRAYS])
        elif isinstance(each, list | tuple):
            found += reversed(each[:_MOST_ARRAYS])


def sample_count(batch: Any) -> int | None:
    """Return the number of samples of a batch; None if it has no arrays.

    This is the first dimension of the first array. A list of images has one sample per image, and
    the list of a DALI iterator has the samples of all its pipelines.
    """
    if isinstance(batch, list | tuple) and batch:
        if all(isinstance(each, Mapping) for each in batch):
            counts = [sample_count(each) for each in batch]
            return None if None in counts else sum(count or 0 for count in counts)
        if all(map(_is_picture, batch)):
            return len(batch)
        return next((n for n in map(sample_count, batch) if n is not None), None)
    if isinstance(batch, Mapping):
        return next((n for n in map(sample_count, batch.values()) if n is not None), None)
    shape = getattr(batch, "shape", None)
    try:
        if callable(shape):  # of DALI's lists of tensors
            return len(batch)
        return int(shape[0]) if shape is not None and len(shape) else None
    except (TypeError, ValueError):
        return None


def _is_picture(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    return (
        isinstance(shape, tuple)
        and len(shape) == 3
        and (shape[0] in _CHANNELS or shape[-1] in _CHANNELS)
    )


def kind_of(batch: Any) -> tuple[Any, ...]:
    """Return a key that is equal for batches with equal container type, dtypes and ``ndim``."""
    found = tuple(
        (type(each).__name__, str(getattr(each, "dtype", "")), getattr(each, "ndim", None))
        for each in arrays(batch)
    )
    return type(batch).__name__, found


def devices_of(batch: Any) -> frozenset[str]:
    """Return the names of the devices of a batch's torch tensors, such as ``cuda:0``."""
    return frozenset(
        str(each.device)
        for each in arrays(batch)
        if hasattr(each, "is_cuda")  # not of NumPy 2
    )


def fingerprint(batch: Any) -> tuple[Any, ...]:
    """Return a value that usually changes if a step changes the batch in place.

    It is cheap: it covers the keys and lengths of containers, torch's version counters, and 16
    values of each array.
    """
    sizes = len(batch) if isinstance(batch, list | tuple | Mapping) else None
    names = tuple(map(str, batch)) if isinstance(batch, Mapping) else ()
    return sizes, names, tuple(map(_state, arrays(batch)))


def _state(array: Any) -> Any:
    try:
        version = getattr(array, "_version", None)
    except RuntimeError:  # tensors of torch.inference_mode have none
        version = 0
    if version is not None:
        return id(array), version
    flat = getattr(array, "flat", None)
    if flat is None or not getattr(array, "size", 0):
        return id(array)
    return tuple(str(flat[at]) for at in range(0, array.size, max(1, array.size // 16)))


def copy_batch(batch: Any, deep: bool) -> Any:
    """Copy the containers of a batch, and also its arrays if ``deep`` is true.

    Containers of unknown classes are copied with ``copy.copy``.
    """
    kind = type(batch)
    if kind is dict:
        return {name: copy_batch(each, deep) for name, each in batch.items()}
    if isinstance(batch, list | tuple):
        parts = [copy_batch(each, deep) for each in batch]
        if hasattr(batch, "_fields"):
            return kind(*parts)
        return kind(parts) if kind in (list, tuple) else batch
    if hasattr(batch, "shape"):
        if not deep:
            return batch
        return batch.clone() if hasattr(batch, "clone") else copy.copy(batch)
    if isinstance(batch, Mapping):
        return copy.deepcopy(batch) if deep else copy.copy(batch)
    return batch
