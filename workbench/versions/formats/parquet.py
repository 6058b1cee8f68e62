"""Parquet: one file per shard, with the columns that Hugging Face's ``datasets`` decodes.

Images and masks are structs of ``bytes`` and ``path``. ``boxes`` are left, top, width and height in
pixels, ``labels`` their classes, and ``keypoints`` (x, y, visibility) of each object. Arrays are in
NumPy's file format. Needs PyArrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from workbench.errors import ArgumentError, DataError
from workbench.versions.formats.format import (
    EncodedSample,
    VersionFormat,
    mask_ending,
    object_classes,
    shard_path,
)
from workbench.versions.outputs import Roles
from workbench.versions.plan import Task, VersionPlan
from workbench.versions.records import SampleRecord

_GROUP_BYTES = 1 << 28
"""Size of the values after which a row group is written, because they are held in memory."""
_FIXED = ("key", "image", "label", "boxes", "labels", "segmentation", "keypoints")


class ParquetFormat(VersionFormat):
    """Stores each sample as a row. The parts of a sample are its values."""

    name = "parquet"
    extra = "pyarrow"

    picture = "image"

    def require(self, roles: Roles, plan: VersionPlan) -> None:
        for name in (*roles.images[1:], *roles.masks, *roles.numbers, *roles.arrays):
            if name in _FIXED:
                raise ArgumentError(
                    f"The output {name!r} has the name of another column of the format 'parquet'. "
                    "Rename the output."
                )

    def write(
        self, samples: Iterator[EncodedSample], folder: Path, task: Task, plan: VersionPlan
    ) -> Iterator[tuple[EncodedSample, dict[str, str]]]:
        from pyarrow import Table
        from pyarrow.parquet import ParquetWriter

        first = next(samples, None)
        if first is None:
            return
        schema = _schema(first, plan)
        rows: list[dict[str, Any]] = []
        size = 0
        with ParquetWriter(shard_path(folder, task, "parquet"), schema, compression="none") as file:
            for each in chain([first], samples):
                rows.append(row := _row(each))
                parts = {name: _as_bytes(value) for name, value in row.items()}
                size += sum(map(len, parts.values()))
                yield each.with_parts(parts), {}
                if size > _GROUP_BYTES:
                    file.write_table(Table.from_pylist(rows, schema))
                    rows, size = [], 0
            if rows:
                file.write_table(Table.from_pylist(rows, schema))

    def read(
        self, folder: Path, task: Task, records: Sequence[SampleRecord], plan: VersionPlan
    ) -> Iterator[tuple[str, str, bytes | None]]:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        path = shard_path(folder, task, "parquet")
        try:
            with ParquetFile(path) as file:
                for batch in file.iter_batches(64):
                    for row in batch.to_pylist():
                        for name, value in row.items():
                            yield row["key"], name, _as_bytes(value)
        except (ArrowException, OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read: {str(error).rstrip('.')}.") from None


def _row(encoded: EncodedSample) -> dict[str, Any]:
    """Return the values of a sample by column."""
    sample, parts, roles = encoded.sample, encoded.parts, encoded.roles
    row: dict[str, Any] = {"key": sample.key}
    pictures = {name if at else "image": e for at, (e, name) in enumerate(encoded.pictures.items())}
    pictures |= {name: mask_ending(name) for name in sample.masks}
    for name, ending in pictures.items():
        row[name] = {"bytes": parts[ending], "path": f"{sample.key}.{ending}"}
    if sample.label is not None:
        row["label"] = sample.label
    if encoded.objects is not None:
        row["boxes"] = [one["bbox"] for one in encoded.objects]
        row["labels"] = [one["category_id"] for one in encoded.objects]
    if encoded.objects is not None and roles.points:
        name = "segmentation" if roles.outlines else "keypoints"
        row[name] = [one[name] for one in encoded.objects]
    row |= sample.numbers
    return row | {name: parts[f"{name}.npy"] for name in sample.arrays}


def _schema(encoded: EncodedSample, plan: VersionPlan) -> Any:
    """Return the schema of a version, with the metadata from which ``datasets`` decodes columns."""
    import pyarrow as pa

    numbers = pa.list_(pa.float64())
    types = {
        "key": pa.string(),
        "label": pa.int64(),
        "boxes": pa.list_(numbers),
        "labels": pa.list_(pa.int64()),
        "keypoints": pa.list_(numbers),
        "segmentation": pa.list_(pa.list_(numbers)),
    }
    scalars = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    found = {}
    for name, value in _row(encoded).items():
        found[name] = types.get(name) if name in _FIXED[:1] + _FIXED[2:] else None
        if found[name] is None and not isinstance(value, Mapping | bytes):
            found[name] = scalars[type(value)]
        elif found[name] is None:
            found[name] = picture if isinstance(value, Mapping) else pa.binary()
    classes = {
        "label": plan.classes,
        "labels": object_classes(plan, encoded.roles),
    }
    features = {name: _feature(each, classes.get(name, ())) for name, each in found.items()}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return pa.schema(found.items(), metadata)


def _feature(form: Any, classes: Sequence[str]) -> Any:
    """Return the feature of ``datasets`` of a column."""
    from pyarrow import types

    if types.is_list(form):
        return [_feature(form.value_type, classes)]
    if types.is_struct(form):
        return {"_type": "Image"}
    if classes and types.is_integer(form):
        return {"_type": "ClassLabel", "names": list(classes)}
    return {"_type": "Value", "dtype": {"double": "float64"}.get(str(form), str(form))}


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, Mapping) and "bytes" in value:
        return bytes(value["bytes"])
    return value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()


FORMAT = ParquetFormat()
