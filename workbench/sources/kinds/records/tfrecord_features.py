"""Read the features of TFRecord files by name, with the types that the graph declares.

The features are declared on the source: see ``record_features``. If a feature is missing, has
the wrong type or has too few values, DALI silently returns uninitialised memory. Such records are
reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.errors import DataError
from workbench.sources import Dataset, Sample
from workbench.sources.file_names import PATTERN_HELPERS
from workbench.sources.kinds.records._record_index import IndexedFiles, index_of, index_place
from workbench.sources.kinds.records.tfrecord import (
    TFRecord,
    fields_of,
    list_records,
    next_record,
    read_features,
    records_of,
    scan_records,
    varints_of,
)
from workbench.sources.record_features import RECORD_TYPES, Feature, features_in

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has it

_LOOKED_AT = 64
"""Number of leading records that are searched for features."""
_HEADS = (b"\xff\xd8", b"\x89PNG", b"BM", b"II*\0", b"MM\0*", b"RIFF", b"P5", b"P6")
"""First bytes of encoded images."""
_IN_GRAPH = {"float": "float32"}
_OF_DALI = {"image": "bytes", "float32": "float"}
"""Feature types in a graph that have a different name in a record, mapped to that name."""


def find_record_files(data: Any) -> dict[str, Any]:
    """Return the files of the TFRecord reader and their indices."""
    paths = list_records(data)
    return {"path": paths, "index_path": [index_of(path, scan_records) for path in paths]}


def require_shape(values: Any, shape: Any = None) -> Any:
    """Return the values of a feature, in a shape if it is given.

    DALI stops at a record without the feature, which has no axis, or with more or fewer values.
    """
    values = fn.cat(values, axis=0)
    return values if shape is None else fn.reshape(values, shape=shape)


def _counts(record: bytes) -> dict[str, tuple[str, int]]:
    """Return the type and the number of values of each feature of a record."""
    found = {}
    for _, start, end in fields_of(record, 0, len(record)):
        for _, first, last in fields_of(record, start, end):
            name, value = list(fields_of(record, first, last))[:2]
            key = record[name[1] : name[2]].decode()
            found[key] = "empty", 0
            for number, begin, stop in fields_of(record, value[1], value[2]):
                kind = {1: "bytes", 2: "float", 3: "int64"}[number]
                places = [place[1:] for place in fields_of(record, begin, stop)]
                count = len(places)
                if kind != "bytes" and places and record[begin] & 7 == 2:  # packed numbers
                    varints = (len(list(varints_of(record, *each))) for each in places)
                    count = sum((to - at) // 4 for at, to in places)
                    count = count if kind == "float" else sum(varints)
                found[key] = kind, count
    return found


def _fault(found: Mapping[str, tuple[str, int]], wanted: Feature) -> str:
    """Return why DALI cannot read a feature of a record as declared, or an empty string."""
    kind, count = found.get(wanted.name, ("missing", 0))
    expected = _OF_DALI.get(wanted.type, wanted.type)
    if kind != expected and not (kind != "missing" and count == 0 and None in wanted.shape):
        return f"its feature {wanted.name!r} is {kind}, not {expected}"
    sizes = [each or 1 for each in wanted.shape]
    if None in wanted.shape:
        fits, words = count % prod(sizes) == 0, f"a multiple of {prod(sizes)}"
    else:
        fits, words = count == prod(sizes), str(prod(sizes))
    return "" if fits else f"its feature {wanted.name!r} has {count} values, not {words}"


class TFRecordFeatures(TFRecord):
    """Source kind for TFRecord files whose features the graph names."""

    about = "TFRecord, features by name"
    op = "readers.tfrecord_features"
    located_by = frozenset({"path", "index_path", "feature_names"})
    demanding = frozenset({"features"})
    begins: ClassVar[Mapping[str, Any]] = {
        "features": ("image/encoded: image", "image/class/label: int64")
    }
    find = staticmethod(find_record_files)
    reader = None
    program_note = (
        "The program stops at a record that lacks a feature or has another number of values. "
        "Features of any length ([?]) are not checked: if a record has another type, they are "
        "empty. `workbench export --skip-bad` excludes such records."
    )
    helpers = (
        *PATTERN_HELPERS,
        *(list_records, scan_records, next_record, index_place, index_of, fields_of),
    )
    optional_helpers = (require_shape,)
    unread: ClassVar[Mapping[str, Any]] = {"path": ["-"], "index_path": ["-"]}
    suffixes = ()
    takes = frozenset({"tfrecord"})
    with_targets = ()
    ends_process = "its feature "

    def accepts(self, path: Path) -> bool:
        return False  # by default, image and label are found without names

    def start_args(self, dataset: Dataset | None) -> Mapping[str, Any]:
        """Return all features of the first records, images and labels first."""
        if dataset is None:
            return self.begins
        return {"features": tuple(map(str, self._features(replace(dataset, options=None))))}

    def options_of(self, args: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(map(str, features_in(args.get("features"), RECORD_TYPES)))

    def _features(self, dataset: Dataset) -> list[Feature]:
        """Return the features that the graph reads, or, if unknown, those of the first records."""
        if dataset.options is not None:
            return features_in(dataset.options, RECORD_TYPES)
        sizes: dict[str, list[int]] = {}
        kinds: dict[str, str] = {}
        for path in self.files(dataset):
            for _, record in islice(records_of(path), _LOOKED_AT):
                with suppress(IndexError, KeyError, ValueError):  # it is damaged
                    content = record or b"\xff"
                    places = read_features(content)
                    for name, (kind, count) in _counts(content).items():
                        at = places.get(name, ("", 0))[1]
                        is_image = kind == "bytes" and content[at : at + 4].startswith(_HEADS)
                        if kind != "empty" and (count or kind not in kinds):
                            kinds[name] = "image" if is_image else _IN_GRAPH.get(kind, kind)
                        sizes.setdefault(name, []).append(count)
        found, records = [], max(map(len, sizes.values()), default=0)
        for name, kind in sorted(kinds.items()):
            if len(sizes[name]) < records:
                continue  # some records lack it
            single = {*sizes[name]} == {1}
            if kind not in ("image", "bytes"):
                found.append(Feature(name, kind, (1,) if single else (None,)))
            elif single:  # of several texts DALI reads only the first
                found.append(Feature(name, kind))
        if not found:
            super().require(dataset)  # explains why
        return sorted(
            found,
            key=lambda each: (each.type != "image", not each.is_label, "image" not in each.name),
        )

    def require(self, dataset: Dataset) -> None:
        features = self._features(dataset)
        samples = list(islice(self.examples(dataset), _LOOKED_AT))
        whole = [(sample, record) for sample, record in samples if not sample.fault]
        found = {name for _, record in whole for name in read_features(record)}
        if not whole:
            super().require(dataset)  # explains why no record can be read
        elif missing := [each.name for each in features if each.name not in found]:
            raise DataError(
                f"{dataset}: its first {len(whole)} records have no feature {missing[0]!r} "
                f"(found: {', '.join(sorted(found)) or 'none'}). Use the names in the records."
            )

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples in index order. Records without a declared feature are faulty."""
        features = self._features(dataset)
        image = next((each.name for each in features if each.type == "image"), "")
        label = next((each.name for each in features if each.is_label), "")
        for sample, record in self.examples(dataset):
            if sample.fault:
                yield sample
                continue
            counts = _counts(record)
            found = read_features(record)
            fault = next(filter(None, (_fault(counts, each) for each in features)), "")
            value = 0
            if label and not fault:
                _, at, stop = found[label]
                value = next(varints_of(record, at, stop), at)
            _, start, end = found.get(image, ("", 0, len(record))) if not fault else ("", 0, 0)
            offset, size = sample.offset + start, end - start
            yield sample._replace(
                label=value, offset=offset, nbytes=size, fault=fault, has_image=bool(image)
            )

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        return IndexedFiles.unread_notes(self, dataset)

    def indexed(self, dataset: Dataset, paths: list[str], indices: list[str]) -> dict[str, Any]:
        return {"path": paths, "index_path": indices}


SOURCES = {"tfrecord_features": TFRecordFeatures()}
