"""Convert batches of any library to fields, each with one value and one fingerprint per sample."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Id = int | str
_MOST_SORTED = 1_000_000
"""Maximum number of elements of a sample whose values are sorted for a fingerprint."""
VALUES = " (values)"
"""Suffix of fingerprints that ignore pixel positions: a flipped image has the same fingerprint."""


@dataclass(slots=True)
class ReadBatch:
    """A batch: its number of samples, and the scalars and fingerprints of its fields.

    ``ids`` are the results of the caller's function ``index``. ``images`` are the names of the
    fields with large arrays. ``colours`` maps field names to the median colours of the images.
    """

    size: int
    scalars: dict[str, list[Id]] = field(default_factory=dict)
    prints: dict[str, np.ndarray[Any, np.dtype[np.uint64]]] = field(default_factory=dict)
    images: set[str] = field(default_factory=set)
    colours: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    ids: list[Id] | None = None
    names: tuple[str, ...] = ()
    padding: int = 0
    """Number of padding samples, for which the batch's field ``valid`` is False."""


class FailedArgumentError(Exception):
    """Raised if the caller's function for the parameter ``argument`` fails.

    The error of that function is the ``__cause__``.
    """

    def __init__(self, argument: str) -> None:
        super().__init__(argument)
        self.argument = argument


@contextmanager
def blaming(argument: str) -> Iterator[None]:
    """Context manager that raises FailedArgumentError if the code in it raises an error."""
    try:
        yield
    except Exception as error:  # the user's code can raise anything
        raise FailedArgumentError(argument) from error


def read_batch(
    batch: Any, index: Callable[[Any], Any] | None = None, colours: bool = False
) -> ReadBatch:
    """Convert a batch (a tensor, a mapping, a sequence of these, or DALI outputs) to a ReadBatch.

    Raises FailedArgumentError if ``index`` fails or does not return one id per sample.
    """
    fields = dict(_fields("", batch))
    lengths = Counter(len(values) for values in fields.values())
    size = lengths.most_common(1)[0][0] if lengths else 0
    used = {name: values for name, values in fields.items() if len(values) == size}
    ids = None
    if index is not None:
        with blaming("index"):
            ids = [as_id(each) for each in _listed(index(batch))]
            if lengths and len(ids) != size and len(ids) not in lengths:
                raise ValueError(f"index returned {len(ids)} ids for {size} samples")
        if len(ids) != size:
            size = len(ids)
            used = {name: values for name, values in fields.items() if len(values) == size}
    read = ReadBatch(size, ids=ids, names=tuple(fields))
    keep = _valid(used.pop("valid", None), size)
    if keep is not None:
        read.size, read.padding = int(keep.sum()), int(size - keep.sum())
        read.ids = ids and [each for each, kept in zip(ids, keep, strict=True) if kept]
        used = {name: [v[i] for i in np.flatnonzero(keep)] for name, v in used.items()}
    for name, values in used.items():
        _read_field(read, name or "batch", values, colours)
    return read


def as_id(value: Any) -> Id:
    """Return a sample id as an integer or a string. Raises ValueError for other values."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, str):
        return value
    array = np.asarray(_converted(value))
    if array.size == 1 and array.dtype.kind in "iufb" and float(array.item()).is_integer():
        return int(array.item())
    raise ValueError(f"index returned {value!r}, which is neither an integer nor a string")


def _read_field(read: ReadBatch, name: str, values: Any, colours: bool) -> None:
    if isinstance(values, np.ndarray) and values.dtype.kind in "SUO":
        values = values.tolist()
    samples = [_converted(each) for each in values]
    arrays = [each for each in samples if isinstance(each, np.ndarray)]
    if len(arrays) < len(samples) or any(each.dtype.kind not in "iufb" for each in arrays):
        if all(isinstance(each, str | bytes) for each in samples):
            read.scalars[name] = [as_id(each) for each in samples]
        return
    if all(each.size == 1 and float(each.item()).is_integer() for each in arrays):
        read.scalars[name] = [int(each.item()) for each in arrays]
        return
    if arrays and all(each.ndim == 1 and np.count_nonzero(each) == 1 for each in arrays):
        return  # one-hot labels
    read.prints[name] = np.array([fingerprint(each) for each in arrays], np.uint64)
    if all(each.size >= 16 and (each.ndim > 1 or each.dtype.kind == "f") for each in arrays):
        read.images.add(name)
    if arrays and all(16 <= each.size <= _MOST_SORTED for each in arrays):
        ordered = [fingerprint(_sorted_values(each)) for each in arrays]
        read.prints[name + VALUES] = np.array(ordered, np.uint64)
    found = [median_colour(each) for each in arrays] if colours else []
    if found and all(each is not None for each in found):
        read.colours[name] = np.array(found)


def fingerprint(array: np.ndarray[Any, Any]) -> int:
    """Return a 64-bit hash of an array's type, shape and elements."""
    head = f"{array.dtype.str}{array.shape}".encode()
    code = hashlib.blake2b(head + np.ascontiguousarray(array).tobytes(), digest_size=8)
    return int.from_bytes(code.digest(), "little")


def median_colour(image: np.ndarray[Any, Any]) -> tuple[float, ...] | None:
    """Return the median of each of three channels, or None if the array is not a colour image."""
    if image.ndim < 3 or 3 not in (image.shape[-1], image.shape[-3]):
        return None
    axis = -1 if image.shape[-1] == 3 else -3
    channels = np.moveaxis(image, axis, 0).reshape(3, -1).astype(np.float64)
    return tuple(float(each) for each in np.median(channels, axis=1))


def _sorted_values(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype == np.uint8:
        return np.bincount(array.ravel(), minlength=256)
    return np.sort(array, axis=None)


def _valid(values: Any, size: int) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Return ``values`` as a mask that is False for padding samples, or None if it is not a mask.

    Batches of the JAX export contain this mask as the field ``valid``.
    """
    if values is None:
        return None
    marks = np.asarray(values)
    return marks.astype(bool) if marks.dtype == bool and marks.shape == (size,) else None


def _listed(values: Any) -> list[Any]:
    found = _converted(values)
    return list(found.ravel() if isinstance(found, np.ndarray) else found)


def _converted(value: Any) -> Any:
    """Convert a tensor of any library to a NumPy array, and return other values unchanged."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if isinstance(value, bool | int | float):
        return np.asarray(value)
    if hasattr(value, "detach") and "torch" in sys.modules:
        try:
            value = value.detach().cpu()
            return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
        except (TypeError, RuntimeError):  # sparse and nested tensors
            return None
    if type(value).__module__.startswith("cupy"):
        return value.get()
    if type(value).__module__.startswith("nvidia.dali"):
        return _dali_samples(value)
    if hasattr(value, "__array__") or hasattr(value, "numpy"):
        return np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return value


def _dali_samples(value: Any) -> Any:
    on_host = value.as_cpu() if hasattr(value, "as_cpu") else value
    if "TensorList" in type(value).__name__:
        return [np.array(each) for each in on_host]
    return np.array(on_host)


def _fields(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a batch that have one value per sample, as arrays or lists."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _fields(f"{name}.{key}" if name else str(key), each)
        return
    if isinstance(value, str | bytes):
        return
    found = _converted(value)
    if isinstance(found, np.ndarray):
        if found.ndim:
            yield name, found
    elif isinstance(found, list | tuple) and found:
        parts = [_converted(each) for each in found]
        if len(parts) == 1 and isinstance(parts[0], Mapping):  # DALI: one pipeline
            yield from _fields(name, parts[0])
        elif pipelines := _joined(parts):
            yield from pipelines.items()
        elif _are_samples(parts, nested=bool(name)):
            yield from _columns(name, found)
        else:
            for number, each in enumerate(parts):
                yield from _fields(f"{name}.{number}" if name else str(number), each)


def _columns(name: str, samples: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield a field for each key or position of samples that are mappings or sequences.

    Samples that differ in structure are yielded as one field.
    """
    first = samples[0]
    begin = f"{name}." if name else ""
    if all(isinstance(each, Mapping) and each.keys() == first.keys() for each in samples):
        for key in first:
            yield from _columns(f"{begin}{key}", [each[key] for each in samples])
    elif all(isinstance(each, list | tuple) and len(each) == len(first) for each in samples):
        for number in range(len(first)):
            yield from _columns(f"{begin}{number}", [each[number] for each in samples])
    else:
        yield name, samples


def _joined(parts: Sequence[Any]) -> dict[str, list[Any]]:
    """Concatenate the outputs of several DALI pipelines, which are mappings with equal names.

    Returns an empty dict if ``parts`` are not such mappings.
    """
    if not all(isinstance(each, Mapping) and each for each in parts):
        return {}
    names = set(parts[0])
    tables = [{key: _converted(each) for key, each in part.items()} for part in parts]
    for table in tables:
        sizes = {len(each) if getattr(each, "ndim", 0) else -1 for each in table.values()}
        if set(table) != names or len(sizes) != 1 or -1 in sizes:
            return {}
    return {str(key): [row for table in tables for row in table[key]] for key in parts[0]}


def _are_samples(parts: Sequence[Any], nested: bool) -> bool:
    """Return whether the parts of a sequence are samples rather than fields of a batch."""
    if all(isinstance(each, np.ndarray) for each in parts):
        shapes = [each.shape for each in parts]
        if any(not shape for shape in shapes) or len({shape[0] for shape in shapes}) > 1:
            return True
        alike = {each.ndim for each in parts} == {3} and len({e.dtype for e in parts}) == 1
        is_image = all(shape[0] in (1, 3, 4) or shape[-1] in (1, 3, 4) for shape in shapes)
        return (nested and all(len(shape) < 4 for shape in shapes)) or (alike and is_image)
    if all(isinstance(each, str | bytes | Mapping) for each in parts):
        return True
    if all(isinstance(each, list | tuple) for each in parts):  # tuple(zip(*batch)), or samples
        same_length = len({len(each) for each in parts}) == 1
        return not same_length or any(len({*map(type, each)}) > 1 for each in parts)
    return False
