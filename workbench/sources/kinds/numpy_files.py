"""Read NumPy files (.npy) as arrays of pixels, which need no decoder.

The data are a file, a folder of files, class folders, a text file of lines ``path label``, or a
Python list. An array is an image (rows, columns) or (rows, columns, up to 4 channels), or a volume
(slices, rows, columns) or (slices, rows, columns, channels), which is read as a sequence of slices.
``roi_axes``, ``roi_start`` and ``roi_shape`` of ``readers.numpy`` select a part. Each sample has
the layout HWC or FHWC. All arrays must have the element type and number of axes of the first array,
because DALI batches them. Both are read from the header.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.errors import DataError
from workbench.sources import Dataset, Header, Sample, folder_of
from workbench.sources.class_folders import ClassFiles, files_of, require_whole_labels
from workbench.sources.kinds._sampler import Sampler

if TYPE_CHECKING:
    import numpy  # the exported program has these
    from nvidia.dali import fn, types

_SUFFIX = ".npy"
_HEAD = 2**16
"""Maximum size in bytes of a header in version 1 of the format."""
_EMPTY = "it is empty"
"""Fault of an empty array. DALI reads empty arrays, but later operators stop the run."""


def array_axes(path: str) -> list[int]:
    """Return the array axes of a file in the order of an image or sequence (-1: no channels).

    Raises ValueError for a file that DALI does not read.
    """
    from numpy.lib import format as npy

    with open(path, "rb") as file:
        if npy.read_magic(file) != (1, 0):
            raise ValueError("the version of the format is not 1")
        try:
            shape = npy.read_array_header_1_0(file)[0]
        except Exception as error:  # NumPy parses it as Python: damage raises errors of any type
            raise ValueError("its header cannot be read") from error
    if len(shape) not in (2, 3, 4) or min(shape) < 1:
        raise ValueError(f"its shape is {shape}")
    has_channels = len(shape) == 4 or (len(shape) == 3 and shape[-1] <= 4)
    return [*range(len(shape)), *([] if has_channels else [-1])]


def label_files(labels: Any) -> list[str]:
    """Write a temporary file for each distinct label, and return one of them for each array.

    A second reader reads these files in the order of the arrays.
    """
    import numpy

    folder = os.path.join(tempfile.gettempdir(), f"array-labels-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise PermissionError(
            f"{folder} belongs to another user. Set TMPDIR to a folder of your own"
        )
    paths = {label: os.path.join(folder, f"{label}.npy") for label in labels}
    for label, path in paths.items():
        if not os.path.isfile(path):
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                numpy.save(file, numpy.array([label], numpy.int32))
            os.replace(file.name, path)
    return [paths[label] for label in labels]


def find_arrays(data: Any) -> dict[str, Any]:
    """Return the files' paths and labels, and the array axes of the first readable file."""
    files, labels = files_of(data, (".npy",))
    axes = [0, 1, 2]
    for path in files:
        try:
            axes = array_axes(path)
            break
        except (OSError, ValueError):
            continue
    return {"files": files, "labels": labels, "axes": axes}


def read_arrays(files: Any, labels: Any, axes: Any, device: str, **options: Any) -> Any:
    """Return images or sequences and their labels, from two readers with the same shuffling."""
    images = fn.readers.numpy(files=files, **options)
    images = fn.reshape(images, src_dims=axes, layout="FHWC"[-len(axes) :])
    whole = {name: value for name, value in options.items() if "roi" not in name and name != "name"}
    labels = fn.readers.numpy(files=label_files(labels), **whole)
    return images if device == "cpu" else images.gpu(), labels


def read_sampled_arrays(
    name: str, files: Any, labels: Any, axes: Any, device: str, **options: Any
) -> Any:
    """Return images or sequences and their labels, in the order of a sampler."""
    sampler = Sampler(len(files), labels, **options)
    sampler.name_files(name, files)
    images = sampler.output(lambda places: [np.load(files[place]) for place in places])
    images = fn.reshape(images, src_dims=axes, layout="FHWC"[-len(axes) :])
    classes = np.asarray(labels, np.int32)[:, None]
    found = sampler.output(lambda places: classes[places])
    return images if device == "cpu" else images.gpu(), found


class _Array(NamedTuple):
    fault: str = ""
    """Reason why the array cannot be read or is not an image; empty if it can be used."""
    dtype: str = ""
    shape: tuple[int, ...] = ()


def _parse_header(path: str) -> _Array:
    """Parse the header of a file and compare it with the file's size."""
    try:
        with open(path, "rb") as file:
            size, head = os.fstat(file.fileno()).st_size, file.read(10)
            head += file.read(min(_HEAD, int.from_bytes(head[8:10], "little")))
    except OSError as error:
        return _Array(error.strerror or str(error))
    found = _parse_header_bytes(head)
    content = int(np.prod(found.shape, dtype=object)) * np.dtype(found.dtype or "u1").itemsize
    if not found.fault and size < len(head) + content:
        lacking = len(head) + content - size
        return _Array(f"ends early: {lacking:,} bytes of its array are missing")
    return found


@lru_cache(maxsize=1024)
def _parse_header_bytes(head: bytes) -> _Array:
    """Parse the bytes of a header. Cached, because similar arrays have equal headers."""
    if head[:6] != b"\x93NUMPY":
        return _Array("it is not a .npy file")
    if tuple(head[6:8]) != (1, 0):
        return _Array(f"it has version {head[6]}.{head[7]} of the format, and DALI reads 1.0")
    try:
        shape, _, dtype = np.lib.format.read_array_header_1_0(io.BytesIO(head[8:]))
    except Exception:  # NumPy parses it as Python: damage raises errors of any type
        return _Array("its header cannot be read")
    if dtype.hasobject:
        return _Array("it contains pickled objects, which are not opened: save numbers")
    if dtype.kind not in "buif" or dtype.itemsize > 8:
        return _Array(f"DALI does not read its element type {dtype}")
    if not dtype.isnative:
        return _Array(f"its byte order is not the machine's ({dtype.str}): save it as {dtype.name}")
    if min(shape, default=0) < 0:
        return _Array("its header cannot be read")
    if 0 in shape:
        return _Array(f"{_EMPTY}: its shape is {shape}")
    return _Array("", dtype.name, tuple(shape))


def _image_fault(array: _Array) -> str:
    """Return why an array is not read as an image or volume, or an empty string."""
    if array.fault or len(array.shape) in (2, 3, 4):
        return array.fault
    return f"its shape {array.shape} is neither an image nor a volume (2 to 4 axes)"


def _batching_fault(array: _Array, first: _Array) -> str:
    """Return why an array cannot be batched with the first array, or an empty string."""
    if fault := _image_fault(array):
        return fault
    if array.dtype != first.dtype:
        return f"its element type is {array.dtype}, but that of the first array is {first.dtype}"
    if len(array.shape) != len(first.shape):
        return f"it has {len(array.shape)} axes, but the first array has {len(first.shape)}"
    if len(array.shape) == 3 and (array.shape[-1] <= 4) != (first.shape[-1] <= 4):
        return f"its shape is {array.shape}, but that of the first array is {first.shape}"
    return ""


def _first_header(files: list[tuple[str, int]]) -> _Array | None:
    headers = (_parse_header(path) for path, _ in files)
    return next((each for each in headers if not _image_fault(each)), None)


class NumpyFiles(ClassFiles):
    """Source kind for images or volumes in NumPy files."""

    about = "NumPy files (.npy, or a folder of these)"
    op = "readers.numpy"
    located_by = frozenset({"file_root", "files", "file_list", "file_filter"})
    find = staticmethod(find_arrays)
    reader = staticmethod(read_arrays)
    sampled = staticmethod(read_sampled_arrays)
    sampler_helpers = (Sampler,)
    outputs = ("images", "labels")
    noun = "array"
    pixels = "images"
    helpers = (*ClassFiles.helpers, array_axes, label_files)
    imports = ("glob", "os", "tempfile")
    suffixes = (_SUFFIX,)
    has_sequences = True
    sample = "volumes/images"
    looks_ahead = True
    ends_process = _EMPTY

    def read_header(self, path: str) -> Header:
        """Return the width and height from a file's header, or why it cannot be read."""
        found = _parse_header(path)
        if found.fault or _image_fault(found):
            return Header(found.fault)
        has_channels = len(found.shape) == 4 or (len(found.shape) == 3 and found.shape[-1] <= 4)
        rows, columns = found.shape[-3:-1] if has_channels else found.shape[-2:]
        return Header("", (columns, rows))

    def read_content(self, path: str) -> str:
        """Report the number of NaN and infinite values in an array, or return an empty string."""
        array = np.load(path, mmap_mode="r")
        if array.dtype.kind != "f":
            return ""
        count = sum(np.count_nonzero(~np.isfinite(part)) for part in array)
        return f"{count:,} of its {array.size:,} numbers are NaN or infinite" if count else ""

    def samples_are_sequences(self, dataset: Dataset | None) -> bool:
        """Return whether the first readable array is a volume."""
        return dataset is not None and len(find_arrays(dataset.argument)["axes"]) == 4

    def require(self, dataset: Dataset) -> None:
        require_whole_labels(dataset, "an array")
        files = self.files(dataset)
        if not files:
            raise DataError(self.nothing_found(dataset))
        if _first_header(files) is None:
            path, _ = files[0]
            fault = _image_fault(_parse_header(path))
            raise DataError(f"No array of {dataset} can be read. The first is {path}: {fault}.")

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        files, root = self.files(dataset), folder_of(dataset)
        first = _first_header(files) or _Array()
        for path, label in files:
            fault = _batching_fault(_parse_header(path), first)
            yield Sample(path, os.path.relpath(path, root), label, fault=fault)

    def nothing_found(self, dataset: Dataset) -> str:
        return (
            f"There is no array in {dataset}. Use .npy files, in a folder or in "
            "class folders. Save each array of an .npz as a .npy file."
        )

    def write_placeholder(self, folder: Path) -> Path:
        path = folder / "array.npy"
        np.save(path, np.zeros((1, 1, 3), np.uint8))
        return path


def find_sample_arrays(data: Any) -> dict[str, Any]:
    """Return the arguments of the array reader for a file, a folder, class folders or a list."""
    files, _ = files_of(data, (".npy",))
    return {"files": files}


def read_sample_arrays(files: Any, dtype: Any, shape: Any, layout: str = "", **options: Any) -> Any:
    """Read sample arrays from files instead of using ``fn.external_source``."""
    for file in filter(os.path.getsize, files):  # DALI reports empty files
        found = numpy.load(file, mmap_mode="r")
        fits = len(found.shape) == len(shape) and all(
            wanted in (-1, side) for wanted, side in zip(shape, found.shape, strict=True)
        )
        if not fits or found.dtype != types.to_numpy_type(dtype):
            raise ValueError(
                f"{file} has the type {found.dtype} and the shape {list(found.shape)}, but the "
                f"request has {dtype.name} and {list(shape)}"
            )
    arrays = fn.readers.numpy(files=files, **options)
    return fn.reshape(arrays, layout=layout) if layout else arrays


class ArrayRequest(ClassFiles):
    """Source kind for arrays that clients send to a server; without one, .npy files are read."""

    about = "arrays in place of requests (.npy, or a folder of these)"
    op = "array_request"
    located_by = frozenset({"files"})
    find = staticmethod(find_sample_arrays)
    reader = staticmethod(read_sample_arrays)
    outputs = ("array",)
    options = frozenset({"dtype", "shape", "layout"})
    seeded = False
    takes = frozenset({"numpy_files"})
    precedence = 0
    noun = "array"
    suffixes = (".npy",)
    imports = (*ClassFiles.imports, "numpy")
    lists_files = False

    def accepts(self, path: Path) -> bool:
        return False  # arrays are read as images, unless a graph has this source

    def class_names(self, dataset: Dataset) -> list[str]:
        return []

    def require(self, dataset: Dataset) -> None:
        if not self.files(dataset):
            raise DataError(self.nothing_found(dataset))

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        root = folder_of(dataset)
        for path, label in self.files(dataset):
            fault = _parse_header(path).fault
            yield Sample(path, os.path.relpath(path, root), label, fault=fault)

    def nothing_found(self, dataset: Dataset) -> str:
        return f"There is no array in {dataset}. Use .npy files, in a folder or in class folders."

    def write_placeholder(self, folder: Path) -> Path:
        path = folder / "array.npy"
        path.touch()
        return path


SOURCES = {"numpy_files": NumpyFiles(), "array_request": ArrayRequest()}
