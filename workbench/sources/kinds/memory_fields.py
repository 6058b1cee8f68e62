"""Read Python datasets whose samples have named fields in addition to an image and a label.

Each field is an output: ``wb.read(dataset, features=["boxes", "path"])``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import DataError
from workbench.sources import Dataset
from workbench.sources.kinds.memory import (
    ImageBatches,
    Memory,
    SampledImages,
    encode_image,
    memory_dataset,
    open_images,
    output_of,
)
from workbench.sources.python_data import FirstSamples, is_iterable_only
from workbench.sources.tables import label_column

if TYPE_CHECKING:
    from nvidia.dali import fn  # noqa: F401  # the exported program has it


class NamedRows:
    """Rows of a dataset as dictionaries with the image, its label, and named fields.

    A row is a dictionary, a named tuple, an image with a dictionary, or a tuple: the fields follow
    the image and, if there are more parts, the label.
    """

    def __init__(self, rows: Any, fields: Any) -> None:
        self.rows, self.fields = rows, list(fields)

    def __len__(self) -> int:
        return len(self.rows)

    def __getattr__(self, name: str) -> Any:
        if name not in ("classes", "targets", "categories"):
            raise AttributeError(name)
        return getattr(self.rows, name)

    def __getitem__(self, at: int) -> dict[str, Any]:
        row, found = self.rows[at], dict[str, Any]()
        if isinstance(row, tuple | list) and not hasattr(row, "_asdict"):
            image, *others = row
            if len(others) == 1 and isinstance(others[0], dict):
                found = {"image": image, **others[0]}
            else:
                names = [*["label"] * (len(others) > len(self.fields)), *self.fields]
                if len(names) != len(others):
                    raise ValueError(
                        f"it has {len(others)} parts after the image, but {len(names)} names: "
                        f"{', '.join(map(repr, names))}. Name each part after the label"
                    )
                found = {"image": image, **dict(zip(names, others, strict=True))}
        else:
            found = dict(row._asdict() if hasattr(row, "_asdict") else row)
        if missing := [name for name in self.fields if name not in found]:
            raise ValueError(f"it has no field {missing[0]!r}. It has {', '.join(map(str, found))}")
        return found if label_column(found) is not None else {**found, "label": 0}


def field_array(value: Any) -> Any:
    """Return a field as an array. Texts and paths become bytes, and images are encoded."""
    if isinstance(value, str | os.PathLike):
        return np.frombuffer(os.fsencode(value), np.uint8)
    if isinstance(value, bytes) or (hasattr(value, "convert") and hasattr(value, "mode")):
        return encode_image(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"its type is {array.dtype}. Use numbers, a text, or an image")
    if array.dtype == np.float64 and not hasattr(value, "dtype"):
        array = array.astype(np.float32)  # numbers of Python
    return array.reshape(1) if array.ndim == 0 else array


class FieldBatches(ImageBatches):
    """Batches of a dataset with its named fields."""

    def __init__(self, data: Any, batch_size: int, options: dict[str, Any]) -> None:
        super().__init__(data, batch_size, options)
        self.names = list(options["fields"])

    def __call__(self, batch: Any) -> tuple[Any, ...]:
        if self.rows is None:  # in a separate process
            self.rows = open_images(self.data)
        wanted, every = self.indices(batch.iteration), self.rows
        if hasattr(every, "fields_at"):  # of another process
            return (*super().__call__(batch), *every.fields_at(wanted, self.names))
        named = NamedRows(every, self.names)
        self.rows = {at: named[at] for at in wanted}
        try:
            images, labels = super().__call__(batch)
            fields = [[self.field(at, name) for at in wanted] for name in self.names]
        finally:
            self.rows = every
        return (images, labels, *fields)

    def field(self, at: int, name: str) -> Any:
        """Return a field of a row as an array."""
        try:
            return field_array(self.rows[at][name])
        except ValueError as error:
            raise ValueError(f"sample {at}, {name}: {error}") from None


class SampledFields(SampledImages, FieldBatches):
    """Batches of a dataset with its named fields, in the order of a sampler."""

    def labelled_rows(self) -> Any:
        """Return the rows from which the labels are read."""
        stored = hasattr(self.rows, "stored_labels")  # of another process
        return self.rows if stored else NamedRows(self.rows, self.names)


def find_fields(data: Any) -> dict[str, Any]:
    """Return the arguments of ``read_images_with_fields`` for the data argument of a program."""
    return {"source": data}


def read_images_with_fields(source: Any, name: str, **options: Any) -> Any:
    """Return encoded images, labels and the named fields of a dataset."""
    from nvidia.dali.pipeline import Pipeline

    batches = FieldBatches(source, Pipeline.current().max_batch_size, options)
    return output_of(batches, name, 2 + len(batches.names))


def read_sampled_fields(source: Any, name: str, **options: Any) -> Any:
    """Return images, labels and the named fields of a dataset, in the order of a sampler."""
    from nvidia.dali.pipeline import Pipeline

    batches = SampledFields(source, Pipeline.current().max_batch_size, options)
    return output_of(batches, name, 2 + len(batches.names))


def open_fields(data: Any, fields: Sequence[str]) -> Dataset:
    """Return the dataset of an object with images and named fields.

    Raises DataError if the object does not contain images, or if a field has an invalid name.
    """
    for name in fields:
        if not (isinstance(name, str) and name.isidentifier()) or name in Memory.outputs:
            raise DataError(
                f"features: {name!r} cannot be the name of an output. Use a Python name other than "
                f"{' and '.join(Memory.outputs)}."
            )
    if is_iterable_only(data):
        data = FirstSamples(data)
    rows = NamedRows(open_images(data), fields)
    try:
        for name in fields if len(rows) else ():
            field_array(rows[0][name])
    except (TypeError, ValueError) as error:
        raise DataError(f"Sample 0 of {type(data).__name__}: {error}.") from None
    return memory_dataset(rows, fields, field_array)


class MemoryFields(Memory):
    """Source kind for datasets whose samples have named fields."""

    about = "dataset in Python with named fields (module:factory)"
    op = "external_source_fields"
    takes = frozenset({"memory"})
    find = staticmethod(find_fields)
    reader = staticmethod(read_images_with_fields)
    sampled = staticmethod(read_sampled_fields)
    sampler_helpers = (*Memory.sampler_helpers, SampledFields)
    sampler_options = frozenset({"fields"})
    helpers = (*Memory.helpers, NamedRows, field_array, FieldBatches)
    options = Memory.options | {"fields"}

    def accepts(self, path: Any) -> bool:
        return False


SOURCES = {"memory_fields": MemoryFields()}
