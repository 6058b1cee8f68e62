"""Key points of COCO: annotations in a file that has ``keypoints`` in its name.

As COCO, whose reader knows no key points, but gives outlines: with ``polygon_masks`` the corners of
those in the file are ``vertices``, point for point in their order. So the reader is given the same
annotations with the key points in the place of outlines, in a temporary file. A key point that is
not labelled lies far outside of the image, and is therefore never visible.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from workbench.errors import DataError
from workbench.sources import Dataset, Sample
from workbench.sources.kinds._annotations import OUTLINES, annotations_of
from workbench.sources.kinds.coco import Coco, find_annotations


def find_keypoints(data: str) -> dict[str, Any]:
    """Arguments of the COCO reader for annotations with key points as outlines."""
    found = os.stat(data)
    known = f"{os.path.abspath(data)} {found.st_mtime_ns} {found.st_size}"
    folder = os.path.join(tempfile.gettempdir(), f"key-points-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise PermissionError(f"{folder} is another user's: set TMPDIR")
    name = hashlib.sha256(known.encode()).hexdigest()[:32]
    path = os.path.join(folder, f"{name}.json")
    if not os.path.isfile(path):
        with open(data, encoding="utf-8") as file:
            document = json.load(file)
        for one in document["annotations"]:
            flat = one["keypoints"]
            points: list[float] = []
            for at in range(0, len(flat), 3):
                points += flat[at : at + 2] if flat[at + 2] else [-1e6, -1e6]
            one["segmentation"] = [points]
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as made:
            json.dump(document, made)
        os.replace(made.name, path)
    return {**find_annotations(data), "annotations_file": path}


def _has_points(points: Any) -> bool:
    return isinstance(points, list) and len(points) >= 9 and len(points) % 3 == 0


class CocoKeypoints(Coco):
    """COCO's key points, read as outlines."""

    about = "COCO key points (*keypoints*.json)"
    begins: ClassVar = {"polygon_masks": True}
    find = staticmethod(find_keypoints)
    helpers = (find_annotations,)
    imports = ("hashlib", "json", "os", "pathlib", "tempfile")
    precedence = 4
    sample = "coco/keypoints.json"

    def require(self, dataset: Dataset) -> None:
        super().require(dataset)
        annotations = annotations_of(dataset)["annotations"]
        bad = [one for one in annotations if not _has_points(one.get("keypoints"))]
        if bad:
            raise DataError(
                f"{dataset}: {len(bad):,} annotations have no key points, the first of image "
                f"{bad[0].get('image_id')}. Write three or more of three numbers each, or leave "
                "keypoints out of the file's name."
            )

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """As of COCO, but for the outlines in the file, which are not read."""
        asked = tuple(option for option in dataset.options or () if option not in OUTLINES)
        return super().list_samples(replace(dataset, options=asked))

    def key_point_names(self, dataset: Dataset) -> list[str]:
        categories = annotations_of(dataset)["categories"]
        listed = [
            each["keypoints"] for each in categories if isinstance(each.get("keypoints"), list)
        ]
        return list(dict.fromkeys(str(name) for names in listed for name in names))

    def accepts(self, path: Path) -> bool:
        return super().accepts(path) and "keypoints" in path.name


SOURCE = CocoKeypoints()
