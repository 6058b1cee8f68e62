"""Check Python objects with images before they are read.

Objects are recognised by their attributes, so this module imports none of the libraries.
"""

from __future__ import annotations

import inspect
import math
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from workbench.arguments import format_value, warn_caller
from workbench.errors import DataError
from workbench.sources.tables import label_column

IMAGE_COLUMNS = ("image", "img", "bytes", "photo")
"""Known names of the image column; case is ignored."""
LABEL_FAULT = "its label is"
"""Start of the error message for a label that is not an integer, which stops the run."""
MOST_ITERATED = 256
"""Number of samples that are used if the data can only be iterated over."""
_TRIED = 3
"""Number of leading samples that are read to test a dataset."""
_GIVE = (
    "Use a folder, a list of files (.txt or .csv), an array (N, height, width, 3), a data frame, "
    "a PyTorch or Hugging Face dataset, or a list of paths, arrays, PIL images or encoded bytes, "
    "alone or with labels."
)


def holds_images(frame: Any) -> bool:
    """Return whether a data frame or column contains images instead of paths."""
    if not hasattr(frame, "columns"):
        first = frame.to_list()[:1] if hasattr(frame, "to_list") else []
        return bool(first) and isinstance(first[0], bytes | bytearray | dict)
    columns = [frame[name] for name in frame.columns if str(name).lower() in IMAGE_COLUMNS]
    return any(not names_files(column.to_list()[:1]) for column in columns)


def names_files(data: Sequence[Any]) -> bool:
    """Return whether the first item of a list is a path, or a pair that starts with a path."""
    first = data[0] if len(data) else ""
    if isinstance(first, tuple) and first:
        first = first[0]
    return isinstance(first, str | Path)


def require_images(data: Any, split: Callable[[Any], tuple[Any, int]]) -> None:
    """Raise DataError, with a fix, if an object cannot be read as images.

    ``split`` returns image and label of one entry. Arrays and lists are checked completely except
    for their pixels; a dataset that loads samples on access is not read.
    """
    if isinstance(data, bytes | bytearray) or hasattr(data, "convert"):
        raise DataError(
            f"The data are a single image ({type(data).__name__}). Pass a list: [image]."
        )
    if hasattr(data, "ndim") and hasattr(data, "dtype"):
        _require_array(data)
    elif isinstance(data, list | tuple):
        _require_rows(data, split)
    else:
        _require_data_set(data)


def _require_array(array: Any) -> None:
    shape = tuple(map(int, array.shape))
    what = f"The array {shape} of {array.dtype}"
    is_text = str(array.dtype).startswith(("object", "<U", "str"))
    if (is_text or 2 <= len(shape) <= 4) and (reason := element_type_fault(array)):
        raise DataError(f"{what} {reason}")
    if len(shape) == 2 or (len(shape) == 3 and shape[-1] in (1, 3)):
        more = "[None]" if len(shape) == 3 else "[None, ..., None]"
        raise DataError(f"{what} is a single image. Pass a list of images, or array{more}.")
    if len(shape) == 3:
        first = "array.transpose(1, 2, 0)[None] for a single channels-first image, or "
        raise DataError(
            f"{what} has no channel axis at its end. Use "
            f"{first if shape[0] in (1, 3) else ''}array[..., None] for grey images."
        )
    if len(shape) != 4:
        raise DataError(
            f"{what} is not a batch of images. Use the shape (N, height, width, 1 or 3)."
        )
    if not shape[0]:
        raise DataError(f"{what} has no images. Add at least one.")
    _require_shape(what, shape[1:], _is_tensor(array), "array", ", batch")


def _require_shape(
    subject: str, shape: tuple[int, ...], tensor: bool, name: str, each: str
) -> None:
    """Raise DataError if a shape is not (height, width, channels)."""
    if 0 in shape:
        raise DataError(f"{subject} has no pixels. Remove it.")
    if len(shape) == 2 and not each:
        return
    batch = bool(each)
    if len(shape) != 3:
        raise DataError(f"{subject} is not an image. Use the shape (height, width, 1 or 3).")
    if shape[2] in (1, 3) or (tensor and shape[0] in (1, 3)):
        return
    if shape[0] in (1, 3):
        axes = "0, 2, 3, 1" if batch else "1, 2, 0"
        raise DataError(
            f"{subject} is channels-first. Put channels last: {name}.transpose({axes})."
        )
    remedy = f"{name}[..., :3]" if shape[2] > 3 else "1 or 3 of them"
    raise DataError(f"{subject} has {shape[2]} channels, but images have 1 or 3. Use {remedy}.")


def element_type_fault(array: Any) -> str:
    """Return why the elements of an array are not pixels, or an empty string if they are."""
    kind = str(array.dtype).removeprefix("torch.")
    if kind == "uint8":
        return ""
    if kind == "object":
        return "holds Python objects. Use a list of uint8 arrays, one per image."
    if "float" in kind:
        values = np.asarray(array.detach().cpu().float() if _is_tensor(array) else array)
        if np.isnan(values).any():
            return "holds NaN, which is not a pixel value. Fill it, and use uint8 from 0 to 255."
        low, high = (values.min(), values.max()) if values.size else (0, 0)
        scaled = "(255 * array)" if low >= 0 and high <= 1 else "array.clip(0, 255)"
        as_bytes = "byte()" if _is_tensor(array) else "astype('uint8')"
        return f"has values from {low:.4g} to {high:.4g}. Use uint8: {scaled}.round().{as_bytes}."
    if kind == "bool":
        return "is not uint8. Use 255 * array.astype('uint8')."
    if kind.startswith(("<U", "str")):
        return "holds text. Pass paths as a list: array.tolist()."
    values = np.asarray(array.detach().cpu() if _is_tensor(array) else array)
    if values.dtype.kind not in "iu":
        return "is not uint8. Use uint8 from 0 to 255."
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    scale = "" if low >= 0 and high <= 255 else "Scale the values to 0 to 255, then "
    give = f"{scale}{'use' if scale else 'Use'} uint8: array.astype('uint8')."
    return f"has values from {low} to {high}. {give}"


def _is_tensor(array: Any) -> bool:
    return type(array).__module__.startswith("torch")


def _require_rows(rows: Sequence[Any], split: Callable[[Any], tuple[Any, int]]) -> None:
    numbers: list[int] = []
    if len(rows) == 2 and getattr(rows[0], "ndim", 0) == 4:  # images and labels
        _require_array(rows[0])
        if len(rows[0]) != len(rows[1]):
            raise DataError(
                f"There are {len(rows[0]):,} images but {len(rows[1]):,} labels. Pass one "
                "label per image."
            )
        for at, label in enumerate(rows[1]):
            try:
                numbers.append(split((None, label))[1])
            except ValueError as error:
                raise DataError(f"Item {at}: {error}.") from None
        warn_of_labels(numbers, "Item")
        return
    if len(rows) == 2 and all(isinstance(each, list) and len(each) > 2 for each in rows):
        raise DataError(
            "The data are two lists. Pass pairs of image and label: list(zip(images, labels))."
        )
    if isinstance(rows, tuple) and len(rows) == 2 and isinstance(rows[1], int):
        raise DataError(
            "The data are a single image with its label. Pass a list: [(image, label)]."
        )
    if not rows:
        raise DataError("The list is empty. Add at least one image.")
    channels, first = 0, 0
    for at, row in enumerate(rows):
        if isinstance(row, bytes):
            continue
        if names_files([row]):
            raise DataError(
                f"Item {at} is a path, but item 0 is an image. Pass only paths or only images."
            )
        try:
            image, number = split(row)
        except ValueError as error:
            raise DataError(f"Item {at}: {error}.") from None
        numbers.append(number)
        found = _channels(image, f"Item {at}")
        channels, first = (channels, first) if channels else (found, at)
        if found and found != channels:
            raise DataError(
                f"Item {at} has {found} channel{'s' * (found != 1)} but item {first} has "
                f"{channels}. All images need the same number: convert grey images with "
                "np.repeat(array, 3, axis=2)."
            )
    warn_of_labels(numbers, "Item")


def warn_of_labels(labels: Iterable[Any], row: str) -> None:
    """Warn about the first negative label. ``row`` is the noun for one entry of the data."""
    for at, label in enumerate(labels):
        text = str(label)
        if text.startswith("-") and text[1:].isdecimal():
            warn_caller(
                f"{row} {at} has the label {label}, which is not a class for most loss functions. "
                "Number the classes from 0."
            )
            return


def _channels(image: Any, subject: str) -> int:
    """Return the number of channels of an array, or 0 for encoded and Pillow images.

    Raises DataError if the array is not an image.
    """
    if isinstance(image, bytes | bytearray | memoryview | Mapping) or hasattr(image, "convert"):
        return 0
    if isinstance(image, str | Path):
        return 0  # a column of paths
    is_array = isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.size
    if is_array and image.ndim == 3 and image.shape[2] in (1, 3):
        return int(image.shape[2])  # checked first: there may be a million
    if not (hasattr(image, "ndim") and hasattr(image, "dtype")):
        raise DataError(
            f"{subject} is {repr(image)[:60]} ({type(image).__name__}), not an image. Use a "
            "uint8 array of shape (height, width, 3), a PIL image or encoded bytes."
        )
    shape = tuple(map(int, image.shape))
    if len(shape) == 1 and shape[0] and str(image.dtype) == "uint8":
        return 0
    subject = f"{subject}, an array {shape} of {image.dtype},"
    if 0 not in shape and (reason := element_type_fault(image)):
        raise DataError(f"{subject} {reason}")
    _require_shape(subject, shape, _is_tensor(image), "array", "")
    if len(shape) == 2:
        return 1
    return shape[2] if shape[2] in (1, 3) else shape[0]


def _require_data_set(data: Any) -> None:
    kind = type(data).__name__
    if isinstance(data, Mapping) or hasattr(data, "at_scope"):  # the latter is a graph
        raise DataError(f"{format_value(data)} cannot be read as data. {_GIVE}")
    if isinstance(data, type) or inspect.isroutine(data):
        raise DataError(
            f"{getattr(data, '__name__', kind)!r} is a function or class, and not data. Pass it to "
            "wb.source if it returns batches or samples, or pass what it returns."
        )
    if hasattr(data, "dataset") and hasattr(data, "batch_size"):
        raise DataError(
            f"Data of type {kind!r} yield batches in an order of their own. Pass the dataset that "
            "they read from: data.dataset."
        )
    if hasattr(data, "__iter__") and not hasattr(data, "__getitem__"):
        raise DataError(
            f"Data of type {kind!r} can only be iterated over, not shuffled or sharded. Pass a "
            "dataset with len() and data[i], or a list: list(itertools.islice(data, 1000))."
        )
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise DataError(f"{format_value(data)} cannot be read as data. {_GIVE}")
    if not len(data):
        raise DataError(f"The data of type {kind!r} are empty. Add at least one image.")


class FirstSamples(list[Any]):
    """The first samples of data that can only be iterated over."""

    def __init__(self, data: Any) -> None:
        """Read the samples. Raises DataError if iterating over the data raises an exception."""
        self.kind, self.classes = type(data).__name__, class_names_of(data)
        try:
            super().__init__(islice(data, MOST_ITERATED))
        except Exception as error:
            raise DataError(
                f"Reading data of type {self.kind!r} raises {type(error).__name__}: {error}."
            ) from None
        if not self:
            raise DataError(f"Data of type {self.kind!r} yield no sample. At least one is needed.")
        image = self[0][0] if isinstance(self[0], tuple | list) and self[0] else self[0]
        if isinstance(image, list) or getattr(image, "ndim", 0) == 4:
            raise DataError(
                f"Data of type {self.kind!r} yield batches instead of samples. Pass a function "
                "that creates them to wb.source."
            )
        count = f"first {len(self)}" if len(self) == MOST_ITERATED else f"{len(self)}"
        warn_caller(
            f"Data of type {self.kind!r} can only be iterated over, so each epoch uses their "
            f"{count} samples. Exported programs cannot read such data: write a generator "
            "function for wb.source(..., batch=False), or use a dataset with len() and data[i]."
        )


def is_iterable_only(data: Any) -> bool:
    """Return whether data are a stream of samples, which can only be iterated over."""
    if isinstance(data, Mapping | set | frozenset) or hasattr(data, "batch_size"):
        return False
    named = any("IterableDataset" in each.__name__ for each in type(data).__mro__)
    return named or (hasattr(data, "__iter__") and not hasattr(data, "__getitem__"))


def require_readable(data: Any, results: Iterator[Any]) -> None:
    """Raise DataError if none of the first samples of a dataset can be read as an image."""
    faults = []
    for _, each in zip(range(min(_TRIED, len(data))), results, strict=False):
        if not isinstance(each, Exception):
            return
        faults.append(each)
    where, hint = f"Sample 0 of {type(data).__name__}", f" {_GIVE}"
    if (raised := faults[0].__cause__) is not None:  # by the dataset itself
        library = sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"]
        frames = traceback.extract_tb(raised.__traceback__)[1:]
        own = [frame for frame in frames if not frame.filename.startswith(library)] or frames
        place = f" Line {own[-1].lineno}: {own[-1].line}" if own else ""
        raise DataError(f"{where} raises {type(raised).__name__}: {raised}.{place}") from raised
    hint = "" if re.search(r"\b(Use|Pass|Name) ", str(faults[0])) else hint
    raise DataError(f"{where}: {faults[0]}.{hint}")


def describe(data: Any, count: int) -> str:
    """Return a display name for data passed in Python, such as ``a list of 12 images``."""
    kind = type(data).__name__
    if hasattr(data, "ndim") and hasattr(data, "dtype"):
        return f"array {tuple(map(int, data.shape))}"
    if isinstance(data, FirstSamples):
        return f"the first {count:,} images of {data.kind}"
    if isinstance(data, list | tuple):
        return f"a list of {count:,} images"
    return f"{kind} of {count:,} images"


def class_names_of(data: Any) -> list[str]:
    """Return the class names of a torchvision or Hugging Face dataset, or an empty list."""
    for name, feature in dict(getattr(data, "features", None) or {}).items():
        if name == label_column(data.features) and hasattr(feature, "names"):
            return list(map(str, feature.names))
    names = getattr(data, "classes", None)
    return list(map(str, names)) if isinstance(names, list | tuple) else []


def facts_of(
    data: Any, rows: Any, split: Callable[[Any], tuple[Any, int]]
) -> Callable[[int], tuple[int, int]]:
    """Return a function that maps an image's index to its label and size in bytes (-1: unknown).

    The function does not read images.
    """
    if isinstance(rows, list | tuple):

        def of_row(at: int) -> tuple[int, int]:
            try:
                image, label = split(rows[at])
            except (ValueError, TypeError):
                return -1, -1  # faulty samples are reported when read
            return label, _size(image)

        return of_row
    if hasattr(rows, "ndim"):
        fixed = 0, _size(rows[0])
        return lambda at: fixed
    data = getattr(data, "table", data)
    numbers = getattr(rows, "numbers", {})

    def number(label: Any) -> Any:
        return numbers.get(label, label)

    labels = cache(lambda: _labels(data, len(rows), number if numbers else None))
    sizes = cache(lambda: _sizes(data, len(rows)))
    return lambda at: (int(labels()[at]), int(sizes()[at]))


def _labels(data: Any, count: int, number: Callable[[Any], Any] | None) -> Any:
    """Return the label of each sample, or -1. ``number`` converts text labels to numbers."""
    unknown = np.full(count, -1)
    try:
        if columns := _columns(data):
            found = label_column(columns.values())
            if found is not None and number is not None:
                column = data[found]
                texts = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
                numbers = map(number, texts)
                return np.array([each if isinstance(each, int) else -1 for each in numbers])
            return np.zeros(count, int) if found is None else np.asarray(data[found][:], int)
        targets = getattr(data, "targets", None)
        if targets is not None and not getattr(data, "target_transform", None):
            listed = targets.tolist() if hasattr(targets, "tolist") else targets
            labels = np.asarray([number(each) for each in listed] if number else targets, int)
            return labels if labels.shape == (count,) else unknown
    except (TypeError, ValueError):
        pass  # reported when they are read
    return unknown


def _sizes(data: Any, count: int) -> Any:
    if not hasattr(data, "to_pylist"):
        return np.full(count, -1)
    compute, columns = import_module("pyarrow.compute"), _columns(data)
    column = data[next(columns[name] for name in IMAGE_COLUMNS if name in columns)]
    if str(column.type).startswith("struct"):
        column = compute.struct_field(column, "bytes")
    return compute.fill_null(compute.binary_length(column), -1).to_numpy()


def _columns(data: Any) -> dict[str, Any]:
    """Map the lower-case form of each column name of a table to the name itself."""
    names = getattr(data, "column_names", None)
    names = getattr(data, "columns", None) if names is None else names
    return {str(name).lower(): name for name in ([] if names is None else names)}


def _size(image: Any) -> int:
    if isinstance(image, bytes | bytearray):
        return len(image)
    shape: tuple[int, ...] = tuple(map(int, getattr(image, "shape", ())))
    if len(shape) == 1:
        return int(shape[0])
    if len(shape) < 2:
        return -1
    height, width = shape[-2:] if _is_tensor(image) and shape[0] in (1, 3) else shape[:2]
    return math.prod(shape) + len(f"P6\n{width} {height}\n255\n")
