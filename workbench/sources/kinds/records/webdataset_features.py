"""Read the components of WebDataset archives by name, with the types that the graph declares."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from workbench.errors import DataError
from workbench.sources import Dataset
from workbench.sources.class_folders import IMAGES
from workbench.sources.file_names import PATTERN_HELPERS
from workbench.sources.kinds.records._record_index import IndexedFiles
from workbench.sources.kinds.records._tar_samples import TarFile, first_samples, require_index
from workbench.sources.kinds.records.webdataset import (
    Pick,
    Picked,
    WebDataset,
    list_shards,
    read_digits,
    read_label,
)
from workbench.sources.record_features import COMPONENT_TYPES, Feature, features_in

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has them

_MISSING = "missing_component_behavior"
_SIZES = {"8": 1, "6": 2, "2": 4, "4": 8}
"""Size in bytes of a number type, by the last digit of the type's name."""


def find_archives(data: Any) -> dict[str, Any]:
    """Return the archives of the WebDataset reader, and their indices if each has one."""
    paths = list_shards(data)
    indices = [os.path.splitext(path)[0] + ".idx" for path in paths]
    found = {"index_paths": indices} if all(map(os.path.isfile, indices)) else {}
    return {"paths": paths, **found}


def read_array(encoded: Any) -> Any:
    """Return the array in the bytes of a .npy file."""
    import io

    import numpy as np

    return fn.python_function(
        encoded, function=lambda content: np.load(io.BytesIO(content.tobytes()))
    )


def _component(feature: Feature, parts: Mapping[str, TarFile]) -> TarFile | None:
    """Return the first file of a sample that a feature names. ``jpg;png`` matches both names."""
    names = feature.name.lower().split(";")
    return next((file for name, file in parts.items() if name in names), None)


class WebDatasetFeatures(WebDataset):
    """Source kind for tar archives whose components the graph names."""

    about = "WebDataset, components by name"
    op = "readers.webdataset_features"
    located_by = frozenset({"paths", "ext", "index_paths", "dtypes"})
    demanding = frozenset({"features"})
    begins: ClassVar[Mapping[str, Any]] = {
        "features": ("jpg;jpeg;png: image", "cls: digits"),
        "case_sensitive_extensions": False,
        _MISSING: "error",
    }
    find = staticmethod(find_archives)
    reader = None
    helpers = (*PATTERN_HELPERS, list_shards)
    optional_helpers = (read_digits, read_array)
    imports = ("glob", "os")
    unread: ClassVar[Mapping[str, Any]] = {"paths": ["-"]}
    suffixes = ()
    takes = frozenset({"webdataset"})
    with_targets = ()

    def accepts(self, path: Path) -> bool:
        return False  # by default, image and label are found without names

    def start_args(self, dataset: Dataset | None) -> Mapping[str, Any]:
        """Return all components of the first samples, images and labels first."""
        if dataset is None:
            return self.begins
        found = self._features(replace(dataset, options=None))
        return {**self.begins, "features": tuple(map(str, found))}

    def options_of(self, args: Mapping[str, Any]) -> tuple[str, ...]:
        features = tuple(map(str, features_in(args.get("features"), COMPONENT_TYPES)))
        return (*features, str(args.get(_MISSING, "")))

    def _features(self, dataset: Dataset) -> list[Feature]:
        """Return the components that the graph reads, or, if unknown, all of the first samples."""
        if dataset.options is not None:
            return features_in(dataset.options, COMPONENT_TYPES)
        samples = [*first_samples(self.files(dataset)[0]).values()]
        shared = set.intersection(*samples) if samples else set()
        images = [name for name in sorted(shared) if f".{name}" in IMAGES]
        plain = sorted(
            {n for each in samples for n in each if f".{n}" in IMAGES and n not in shared}
        )
        found = [Feature(name, "image") for name in images]
        if not images and plain:
            found.append(Feature(";".join(plain), "image"))
        for name in sorted(shared - {*images}, key=lambda name: (name != "cls", name)):
            last = name.rpartition(".")[2]
            kind = {"cls": "digits", "npy": "npy"}.get(
                last, "image" if f".{last}" in IMAGES else ""
            )
            found.append(Feature(name, kind or "bytes"))
        return found

    def require(self, dataset: Dataset) -> None:
        paths = self.files(dataset)
        for path in paths:
            require_index(path)
        samples = first_samples(paths[0])
        if not samples:
            raise DataError(f"The archive {paths[0]} is empty. Use one with samples.")
        present = set.union(*samples.values())
        for feature in self._features(dataset):
            if not present & {*feature.name.lower().split(";")}:
                raise DataError(
                    f"{paths[0]}: its first {len(samples)} samples have no component "
                    f"{feature.name!r} (found: {', '.join(sorted(present))}). Use the endings of "
                    "the files in the archive."
                )

    def picking(self, dataset: Dataset, paths: Sequence[str]) -> tuple[Pick, Collection[str]]:
        features = self._features(dataset)
        behaviour = (dataset.options or ("error",))[-1]

        def pick(opened: BinaryIO, parts: Mapping[str, TarFile]) -> Picked:
            found = [(each, _component(each, parts)) for each in features]
            missing = [each.name for each, file in found if file is None]
            if missing and behaviour == "skip":
                return Picked(None, is_skipped=True)
            image = next((file for each, file in found if each.type == "image"), None)
            first = next((file for _, file in found if file), None)
            label, fault = 0, ""
            if missing and (behaviour == "error" or image is None):
                shown = ", ".join(sorted(parts))
                fault = f"it has no component {missing[0]!r} (found: {shown})"
            for each, file in found:
                if file is None or fault:
                    continue
                if each.type == "digits":
                    number, fault = read_label(opened, each.name, file)
                    label = label or number
                elif each.shape and file.size % _SIZES[each.type[-1]]:
                    fault = (
                        f"its component {each.name!r} has {file.size} bytes, which is not a "
                        f"multiple of the size of {each.type}"
                    )
            return Picked(image, label, fault, first)

        images = next((each.name.split(";") for each in features if each.type == "image"), [])
        return pick, images

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        return IndexedFiles.unread_notes(self, dataset)

    def indexed(self, dataset: Dataset, paths: list[str], indices: list[str]) -> dict[str, Any]:
        return {"paths": paths, "index_paths": indices}


SOURCES = {"webdataset_features": WebDatasetFeatures()}
