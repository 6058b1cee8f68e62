"""Read images that are not files: arrays, encoded bytes, PIL images, datasets of PyTorch, ...

The exported program receives ``module:factory`` and calls the factory to create the dataset. In the
workbench one process owns the objects (``stored_images``); other processes read them through a
folder in shared memory, which contains such a module.

Pixels are encoded as PNM, which DALI's decoders support, so these data work in every graph.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.arguments import warn_caller
from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind
from workbench.sources.kinds._sampler import Sampler
from workbench.sources.kinds.stored_images.cached_images import SAMPLES
from workbench.sources.kinds.stored_images.image_store import (
    CLASSES,
    ImageStore,
    loader_argument,
    objects_in,
    part_without,
    samples_at,
    samples_of,
    store_folder,
)
from workbench.sources.python_data import (
    LABEL_FAULT,
    class_names_of,
    describe,
    facts_of,
    require_images,
    require_readable,
)
from workbench.sources.tables import (
    BytesColumn,
    NumberedPairs,
    RowsWithClassNumbers,
    TableRows,
    categories_of,
    label_column,
    label_of,
    labels_read,
    number_classes,
    number_pairs,
    read_parquet,
    require_memory,
)

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has it


WORKERS = 0
_WORKERS = "WORKERS = 0  # processes that call the factory and read; 0: this one reads by itself\n"
"""Code line of the setting for the number of reader processes in exported programs."""


def open_images(data: Any) -> Any:
    """Return the dataset that ``module:factory`` or ``file.py:factory`` creates.

    The path of a Parquet file is accepted too.
    """
    if isinstance(data, str) and data.lower().endswith(".parquet"):
        data = read_parquet(data)
    elif isinstance(data, str):
        place, colon, factory = data.rpartition(":")
        if not colon or not factory.isidentifier():
            raise ValueError(
                f"{data!r} is not module:factory. Name a function that returns the data"
            )
        if place.endswith(".py"):
            spec: Any = importlib.util.spec_from_file_location("images", place)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
        data = getattr(module, factory)()
    for name, feature in dict(getattr(data, "features", None) or {}).items():
        if type(feature).__name__ == "Image":  # Hugging Face: keep the bytes, do not decode
            data = data.cast_column(name, type(feature)(decode=False))
    is_table = hasattr(data, "to_pylist") or hasattr(data, "iloc") or hasattr(data, "to_dicts")
    if is_table or hasattr(data, "cast_column"):
        return number_classes(TableRows(data) if is_table else data, data)
    if isinstance(data, tuple) and len(data) == 2 and getattr(data[0], "ndim", 0) == 4:
        data = list(zip(*data, strict=True))  # as Keras returns images and labels
    return number_pairs(data)


def split_row(row: Any) -> tuple[Any, int]:
    """Return the image and label of ``data[i]``: a pair, a row with named columns, or an image."""
    image, label = row, 0
    if isinstance(row, dict) and not row.keys() <= {"bytes", "path"}:
        known = {str(name).lower(): value for name, value in row.items()}
        named = [
            known[name] for name in ("image", "img", "bytes", "photo", "path") if name in known
        ]
        if not named:
            raise ValueError(
                f"it has no image, only {', '.join(map(repr, known))}. Name the image column "
                "'image'"
            )
        image = named[0]
        column = label_column(row)
        if column is None and len(row) > 1:
            raise ValueError(
                f"it has no column 'label', only {', '.join(map(repr, row))}. Pass "
                "label='COLUMN' to wb.read (label='' for no labels), or rename the column"
            )
        label = 0 if column is None else row[column]
    elif isinstance(row, tuple | list):
        if len(row) != 2:
            parts = f"{len(row)} part{'s' * (len(row) != 1)}"
            raise ValueError(f"it has {parts}. Use an image, or a pair of an image and its label")
        image, label = row
    if isinstance(label, int) and -(2**31) <= label < 2**31:
        return image, int(label)
    number = np.asarray(label)
    whole = number.dtype.kind in "iub" or (
        number.dtype.kind == "f" and (number == np.trunc(number)).all()
    )
    if number.shape not in ((), (1,)) or not whole:  # pandas converts a column with gaps to floats
        names = ", or set data.classes to their names" if number.dtype.kind == "U" else ""
        found = number.tolist()
        raise ValueError(
            f"its label is {repr(found)[:60]} ({type(found).__name__}). Use one integer per "
            f"sample, with classes numbered from 0{names}"
        )
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"its label is {label}, which exceeds 32 bits. Number the classes from 0")
    return image, int(number.item())


def encode_image(image: Any) -> Any:
    """Encode pixels (H, W, C) as PNM, and return encoded images unchanged."""
    if isinstance(image, dict):
        image = image["path"] if image.get("bytes") is None else image["bytes"]
    if image is None:
        raise ValueError("it is None. Use the bytes of an image, or its pixels")
    if isinstance(image, str | os.PathLike):
        return np.fromfile(image, np.uint8)
    if isinstance(image, bytes | bytearray | memoryview):
        return np.frombuffer(image, np.uint8)
    if hasattr(image, "convert") and hasattr(image, "mode"):  # Pillow image
        if image.format and "exif" in image.info:  # a file as opened from disk
            from PIL import ImageOps

            image = ImageOps.exif_transpose(image)
        deep = image.mode[0] in "IF"
        image = image if deep or image.mode in ("L", "RGB") else image.convert("RGB")
    pixels = np.asarray(image)
    if pixels.dtype == np.uint8 and pixels.ndim == 1:
        return pixels  # encoded
    if pixels.ndim not in (2, 3) or not pixels.size:
        raise ValueError(f"its shape is {pixels.shape}. Use (height, width, 1 or 3 channels)")
    ends = pixels.shape[0] in (1, 3), pixels.shape[-1] in (1, 3)
    if type(image).__module__.startswith("torch") and pixels.ndim == 3 and ends == (True, False):
        pixels = np.moveaxis(pixels, 0, 2)  # PyTorch puts channels first
    if pixels.dtype != np.uint8:
        raise TypeError(f"its values have type {pixels.dtype}. Use uint8 from 0 to 255")
    shape = (*pixels.shape, 1)[:3]
    if shape[2] not in (1, 3):
        raise ValueError(f"its shape is {pixels.shape}. Use (height, width, 1 or 3 channels)")
    head = f"P{5 if shape[2] == 1 else 6}\n{shape[1]} {shape[0]}\n255\n".encode()
    return np.concatenate([np.frombuffer(head, np.uint8), pixels.reshape(-1)])


class ImageBatches:
    """Batches of a dataset in the order of DALI's readers, epoch after epoch.

    For each epoch the whole dataset is reshuffled, identically for all shards, and then each shard
    is shuffled with its own seed. Shards rotate by one per epoch. With ``pad_last_batch``, an epoch
    ends with a batch that repeats its last sample.
    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        options: dict[str, Any],
    ) -> None:
        self.data, self.rows = data, open_images(data)
        self.size, self.batch_size = len(self.rows), batch_size
        self.options, self.seed = options, options.get("seed", 0)
        self.random_shuffle = options.get("random_shuffle", False)
        self.pad_last_batch = options.get("pad_last_batch", False)
        self.shard_id, self.num_shards = options.get("shard_id", 0), options.get("num_shards", 1)
        self._orders: dict[tuple[int, int], Any] = {}
        if not self.size:
            raise ValueError("the dataset is empty: it needs at least one image")
        if self.size < self.num_shards:
            raise ValueError(f"it has {self.size} samples, fewer than its {self.num_shards} shards")

    @property
    def meta(self) -> dict[str, Any]:
        """Metadata as in ``Pipeline.reader_meta``, plus the samples of each batch."""
        shard = -(-self.size // self.num_shards)
        return {
            "epoch_size": self.size,
            "epoch_size_padded": shard * self.num_shards,
            "number_of_shards": self.num_shards,
            "shard_id": self.shard_id,
            "pad_last_batch": int(self.pad_last_batch),
            "stick_to_shard": 0,
            "samples": self.indices,
        }

    def indices(self, batch: int) -> list[int]:
        """Return the sample indices of a batch. Batches are counted from 0."""
        size, shards = self.size, self.num_shards
        at = batch * self.batch_size + np.arange(self.batch_size)
        if self.pad_last_batch:
            whole = -(-size // shards)
            epochs, at = np.divmod(at, -(-whole // self.batch_size) * self.batch_size)
            shard = (self.shard_id + epochs) % shards
            first, last = size * shard // shards, size * (shard + 1) // shards - 1
            indices = np.minimum(first + at, np.maximum(last, 0))
        else:
            rounds, at = np.divmod(at, size)
            indices = (size * self.shard_id // shards + at) % size
            shard = ((indices + 1) * shards - 1) // size
            epochs = rounds * shards + (shard - self.shard_id) % shards
        if self.random_shuffle:
            found = zip(epochs, shard, indices, strict=True)
            indices = [self._order(*which)[at - size * which[1] // shards] for *which, at in found]
        return [int(place) for place in indices]

    def _order(self, epoch: int, shard: int) -> Any:
        """Return the sample indices of a shard in an epoch, shuffled."""
        which = epoch, shard
        if which not in self._orders:
            first, end = (self.size * (shard + step) // self.num_shards for step in (0, 1))
            whole = np.random.default_rng(epoch).permutation(self.size)[first:end]
            order = np.random.default_rng([self.seed, epoch]).permutation(whole)
            self._orders = {**dict([*self._orders.items()][-1:]), which: order}
        return self._orders[which]

    def __call__(self, batch: Any) -> tuple[list[Any], Any]:
        if self.rows is None:  # in a separate process
            self.rows = open_images(self.data)
        wanted = self.indices(batch.iteration)
        many = getattr(self.rows, "__getitems__", None)
        images, labels = [], []
        found = many(wanted) if many else map(self.rows.__getitem__, wanted)
        for at, row in zip(wanted, found, strict=True):
            try:
                image, label = split_row(row)
                images.append(encode_image(image))
                if not images[-1].size and not hasattr(self.rows, "fault"):
                    raise ValueError("it is empty. Use the bytes of an image, or its pixels")
            except (OSError, TypeError, ValueError) as error:
                raise ValueError(f"sample {at}: {error}") from None
            labels.append(label)
        return images, np.array(labels, np.int32)[:, None]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for worker processes, which call the factory themselves."""
        rows = None if isinstance(self.data, str) else self.rows
        return {**vars(self), "rows": rows, "_orders": {}}


def find_dataset(data: Any) -> dict[str, Any]:
    """Return the arguments of ``read_images`` for the data argument of a program."""
    return {"source": data}


class SampledImages(ImageBatches):
    """Batches of a dataset in the order of a sampler."""

    def __init__(self, data: Any, batch_size: int, options: dict[str, Any]) -> None:
        own = {name: value for name, value in options.items() if name != "fields"}
        super().__init__(data, batch_size, {k: v for k, v in options.items() if k not in own})
        by_class = own.get("sampler") == "balanced" or "weights" in own
        labels = labels_in(self.labelled_rows()) if by_class else None
        self.sampler = Sampler(self.size, labels, **own)

    def labelled_rows(self) -> Any:
        """Return the rows from which the labels are read."""
        return self.rows

    @property
    def meta(self) -> dict[str, Any]:
        """Metadata as in ``Pipeline.reader_meta``, plus the samples of each batch."""
        return {**self.sampler.meta, "samples": self.indices}

    def indices(self, batch: int) -> list[int]:
        """Return the sample indices of a batch. Batches are counted from 0."""
        return [int(at) for at in self.sampler.batch(batch)]


def labels_in(rows: Any) -> Any:
    """Return the label of each sample. Without a list of labels, all samples are read."""
    if hasattr(rows, "stored_labels"):
        return rows.stored_labels()
    data = getattr(rows, "rows", rows)
    labels, numbers = getattr(data, "targets", None), getattr(rows, "numbers", {})
    if labels is not None and not getattr(data, "target_transform", None):
        listed = labels.tolist() if hasattr(labels, "tolist") else labels
        return [numbers.get(label, label) for label in listed]
    return [split_row(rows[at])[1] for at in range(len(rows))]


def read_images(source: Any, name: str, **options: Any) -> Any:
    """Return encoded images and labels of a dataset, and set the pipeline's reader metadata."""
    from nvidia.dali.pipeline import Pipeline

    batches = ImageBatches(source, Pipeline.current().max_batch_size, options)
    return output_of(batches, name)


def read_sampled_images(source: Any, name: str, **options: Any) -> Any:
    """Return encoded images and labels of a dataset in the order of a sampler."""
    from nvidia.dali.pipeline import Pipeline

    batches = SampledImages(source, Pipeline.current().max_batch_size, options)
    return output_of(batches, name)


def output_of(batches: ImageBatches, name: str, count: int = 2) -> Any:
    """Return the pipeline outputs of batches, and set the metadata of the reader ``name``."""
    from nvidia.dali.pipeline import Pipeline

    pipe: Any = Pipeline.current()
    others = pipe.reader_meta

    def reader_meta(wanted: str | None = None) -> Any:
        if wanted is None:
            return {**others(), name: batches.meta}
        return batches.meta if wanted == name else others(wanted)

    pipe.reader_meta = reader_meta
    return fn.external_source(
        batches,
        num_outputs=count,
        batch=True,
        batch_info=True,
        parallel=WORKERS > 0,
        prefetch_queue_depth=WORKERS or None,
    )


def memory_dataset(
    data: Any, fields: Sequence[str] = (), as_array: Callable[[Any], Any] = np.asarray
) -> Dataset:
    """Return the dataset of an object whose images this process encodes on request.

    The named ``fields`` of each row are stored too, as the arrays that ``as_array`` returns. Raises
    DataError if the object does not contain images.
    """

    def split_text(row: Any) -> tuple[Any, int]:
        pair = isinstance(row, tuple | list) and len(row) == 2 and isinstance(row[1], str)
        return split_row((row[0], 0) if pair else row)

    of_texts = isinstance(data, tuple) or (
        isinstance(data, list) and isinstance(number_pairs(data), NumberedPairs)
    )
    require_images(data, split_text if of_texts else split_row)
    rows = open_images(data)
    count, unread = len(rows), set[str]()
    recent = dict[tuple[int, str], Any]()
    """Fields of the rows whose images were requested, because the fields are requested next."""

    def read(index: int, row: Any) -> tuple[Any, int] | Exception:
        try:
            image, label = split_row(row)
        except ValueError as error:
            if not str(error).startswith(LABEL_FAULT):
                return error
            raise DataError(f"Sample {index} of {type(data).__name__}: {error}.") from None
        if isinstance(row, dict) and not fields:
            unread.update(unread_columns(row))
        try:
            content = encode_image(image)
            for name in fields:
                recent[index, name] = as_array(row[name])
            return (content, label) if content.size else ValueError("it is empty: it has no bytes")
        except Exception as error:  # a user's dataset may raise anything
            return ValueError(_error_text(error))

    def read_row(index: int) -> tuple[Any, int] | Exception:
        try:
            row = rows[index]
        except Exception as error:
            raised = ValueError(_error_text(error))
            raised.__cause__ = error
            return raised
        return read(index, row)

    def read_field(index: int, name: str) -> tuple[Any, int] | Exception:
        if (index, name) not in recent and isinstance(found := read_row(index), Exception):
            return found
        content = io.BytesIO()
        np.save(content, recent.pop((index, name)))
        return np.frombuffer(content.getvalue(), np.uint8), 0

    def fetch(indices: Sequence[int]) -> Iterator[tuple[Any, int] | Exception]:
        if any(index >= count for index in indices):
            places = (divmod(index - count, len(fields)) for index in indices)
            return (read_field(row, fields[field]) for row, field in places)
        if hasattr(rows, "__getitems__"):
            try:
                found = rows.__getitems__(list(indices))
            except Exception:
                found = None  # one of them is faulty: fetch them one by one
            if found is not None:
                return map(read, indices, found)
        return map(read_row, indices)

    require_readable(data, fetch(range(min(count, 3))))
    if unread:
        warn_caller(
            f"Samples of {type(data).__name__} have {', '.join(sorted(unread))} besides image "
            "and label, which are not read. Name those to read: wb.read(data, features=[...])."
        )
    made = ImageStore(
        count,
        fetch,
        class_names_of(data) or class_names_of(rows),
        facts_of(data, rows, split_row),
        data,
        fields,
    )
    return Dataset(
        "memory_fields" if fields else "memory",
        items=((store_folder(made), count),),
        title=describe(data, count),
    )


def unread_columns(row: dict[str, Any]) -> Iterator[str]:
    """Yield the names of columns other than image and label that hold arrays, lists or images."""
    known = {"image", "img", "photo", "bytes", "path", label_column(row)}
    for name, value in row.items():
        is_scalar = isinstance(value, str | int | float | None) or getattr(value, "ndim", 1) == 0
        if not is_scalar and {name, str(name).lower()}.isdisjoint(known):
            yield str(name)


def _error_text(error: Exception) -> str:
    own = isinstance(error, OSError | TypeError | ValueError) and str(error)
    return own or f"{type(error).__name__}: {error}"


@lru_cache(maxsize=4)
def _parquet_store(path: str, time: int, size: int) -> Dataset:
    """Return the dataset of a Parquet file. This process encodes the images on request."""
    try:
        require_memory(path)
        return memory_dataset(read_parquet(path))
    except DataError:
        raise
    except ImportError:
        raise DataError(
            f"{path}: Parquet files need pyarrow. Install it: pip install pyarrow."
        ) from None
    except Exception as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}.") from None


class Memory(SourceKind):
    """Source kind for the images of a Python object, which one process serves to the others."""

    about = "dataset in Python (module:factory) or Parquet"
    op = "external_source"
    located_by: frozenset[str] = frozenset()
    find = staticmethod(find_dataset)
    reader = staticmethod(read_images)
    sampled: Callable[..., Any] | None = staticmethod(read_sampled_images)
    helpers: tuple[Any, ...] = (
        *(_WORKERS, label_column, categories_of, BytesColumn, TableRows, RowsWithClassNumbers),
        *(number_classes, NumberedPairs, label_of, labels_read, number_pairs),
        *(read_parquet, open_images),
        *(split_row, encode_image, ImageBatches, output_of),
    )
    sampler_helpers: tuple[Any, ...] = (Sampler, labels_in, SampledImages)
    in_files = False
    in_memory = True
    pipeline_arguments = ("py_num_workers=WORKERS", 'py_start_method="spawn"')
    metavar = "MODULE:FACTORY"
    imports = ("importlib.util", "numpy as np", "os")
    options: frozenset[str] = frozenset(
        {"random_shuffle", "num_shards", "shard_id", "pad_last_batch"}
    )

    def root(self, dataset: Dataset) -> str:
        """Return the folder with the stored images. Raises DataError if it no longer exists."""
        place = dataset.location or str(dataset.items[0][0])
        if self.accepts(Path(place)):
            try:
                found = os.stat(place)
            except OSError as error:
                raise DataError(f"{place} cannot be read: {error.strerror}.") from None
            cached = _parquet_store(os.path.abspath(place), found.st_mtime_ns, found.st_size)
            return str(cached.items[0][0])
        if not os.path.isdir(place):
            raise DataError(
                f"{dataset}: the process that held these images has ended. Load them again."
            )
        return place

    def accepts(self, path: Path) -> bool:
        return path.suffix.lower() == ".parquet" and not os.path.isdir(path)

    def identity(self, dataset: Dataset) -> object:
        return super().identity(dataset) if dataset.location else objects_in(self.root(dataset))

    def class_names(self, dataset: Dataset) -> list[str]:
        names: list[str] = json.loads(Path(self.root(dataset), CLASSES).read_text(encoding="utf-8"))
        return names

    def require(self, dataset: Dataset) -> None:
        self.root(dataset)

    def write_placeholder(self, folder: Path) -> Path:
        """Write a module that returns a single empty image; return ``path:factory``."""
        path = folder / "images.py"
        path.write_text("def images():\n    return [b'\\xff\\xd8\\xff\\xd9']\n", encoding="utf-8")
        return Path(f"{path}:images")

    def container_of(self, name: str) -> str:
        return SAMPLES

    def argument(self, dataset: Dataset) -> Any:
        return loader_argument(self.root(dataset))

    def samples_at(self, dataset: Dataset, indices: Sequence[int]) -> list[Sample]:
        return samples_at(self.root(dataset), indices)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        return samples_of(self.root(dataset))

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        place.mkdir()
        return part_without(self.root(dataset), names, place)

    def nothing_found(self, dataset: Dataset) -> str:
        return f"There is no image in {dataset}. Add at least one."


SOURCES = {"memory": Memory()}
