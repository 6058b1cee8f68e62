"""COCO: images of a folder, with the boxes and classes of an annotations file (.json).

The images lie beside the file, in ``images`` there or one folder above, or in the folder that the
file is named after: ``annotations/instances_train2017.json`` and ``train2017``.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind
from workbench.sources.kinds._annotations import (
    OUTLINES,
    annotations_of,
    faults_of,
    known_images,
    lacking_in,
    remarks_of,
    require_entries,
    require_sizes,
    sides_of,
    without_image,
)


def find_annotations(data: str) -> dict[str, str]:
    """Arguments of the COCO reader for a file of annotations: the file, and its images' folder."""
    file = pathlib.Path(data).absolute()
    names = [i.get("file_name", "") for i in json.loads(file.read_bytes())["images"]]
    beside, above, split = file.parent, file.parent.parent, file.stem.rpartition("_")[2]
    folders = (beside, beside / "images", above / "images", above / split, beside / split)
    found = max(folders, key=lambda f: sum((f / name).is_file() for name in names[:100]))
    return {"annotations_file": data, "file_root": str(found)}


@lru_cache(maxsize=8)
def _root_of(location: str, names: tuple[str, ...]) -> str:
    """The folder that ``find_annotations`` finds, of annotations that are read: 156 MB take 5 s.

    That one stands alone, as exported scripts have it.
    """
    file = pathlib.Path(location).absolute()
    beside, above, split = file.parent, file.parent.parent, file.stem.rpartition("_")[2]
    folders = (beside, beside / "images", above / "images", above / split, beside / split)
    return str(max(folders, key=lambda f: sum((f / name).is_file() for name in names)))


class Coco(SourceKind):
    """Images with COCO's annotations."""

    about = "COCO annotations (.json)"
    metavar = "COCO.json"
    op = "readers.coco"
    located_by = frozenset({"annotations_file", "file_root"})
    find = staticmethod(find_annotations)
    outputs = ("jpegs", "boxes", "labels")
    imports: tuple[str, ...] = ("json", "pathlib")
    targets = "boxes"
    sample = "coco/annotations.json"
    looks_ahead = True
    demanding = OUTLINES | {"ratio"}

    def require(self, dataset: Dataset) -> None:
        found = annotations_of(dataset)
        require_entries(dataset, found)
        require_sizes(dataset, found)
        try:
            known = known_images(found)
            classes = {category["id"] for category in found["categories"]}
            listed = list(self.list_samples(dataset))
            unnamed = {one.get("category_id") for one in found["annotations"]} - classes - {None}
        except KeyError as error:
            raise DataError(f"{dataset}: a category has no {error}. Write it.") from None
        if found["images"] and not known:
            raise DataError(f"{dataset}: no image has both id and file_name. Write them.")
        if not known and (lost := without_image(found)):
            raise DataError(f"{dataset}: {lost.fault}. List the images.")
        if unnamed and not classes:
            raise DataError(
                f"{dataset}: annotations are of category {next(iter(unnamed))}, and it lists no "
                "categories. Add them."
            )
        named = [each for each in listed if each.path]
        if named and not any(os.path.isfile(each.path) for each in listed):
            root = self.root(dataset)
            _root_of.cache_clear()  # they may be put there now
            raise DataError(
                f"{dataset}: none of its {len(known):,} images is in {root}, the first is "
                f"{named[0].name}. Put them there, or into a folder images beside."
            )

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """In the order of the file.

        An image is at fault without id or file_name, with the id of another, with a box or an
        outline that cannot be one, or with an annotation of a category that is not listed. So is,
        last, what stands for all annotations of images that are not listed.
        """
        root, found, faults = self.root(dataset), annotations_of(dataset), faults_of(dataset)
        remarks = remarks_of(dataset)
        for number, image in enumerate(found["images"]):
            if lacking := lacking_in(image):
                yield Sample("", f"images[{number}]", 0, fault=f"the entry has no {lacking}")
                continue
            name, fault = image["file_name"], faults.get(image["id"], "")
            remark = remarks.get(image["id"], "")
            path = os.path.join(root, name)
            yield Sample(path, name, 0, fault=fault, sides=sides_of(image), remark=remark)
        if lost := without_image(found):
            yield lost

    def leave_out(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """The annotations of the other images, beside a link to the folder of these."""
        place.mkdir()
        found = annotations_of(dataset)
        images = [
            image
            for image in found["images"]
            if not lacking_in(image) and image["file_name"] not in names
        ]
        known = {image["id"] for image in images}
        annotations = [one for one in found["annotations"] if one.get("image_id") in known]
        os.symlink(os.path.abspath(self.root(dataset)), place / "images")
        path = place / "annotations.json"
        left = {**found, "images": images, "annotations": annotations}
        path.write_text(json.dumps(left), encoding="utf-8")
        return path

    def root(self, dataset: Dataset) -> str:
        try:
            images = annotations_of(dataset)["images"][:100]
            return _root_of(dataset.location, tuple(each.get("file_name", "") for each in images))
        except (DataError, OSError, ValueError, TypeError, AttributeError):
            return os.path.dirname(os.path.abspath(dataset.location))

    def class_names(self, dataset: Dataset) -> list[str]:
        """DALI numbers the categories from 1, in the order in which the file lists them."""
        listed = annotations_of(dataset)["categories"]
        return ["background", *(str(category.get("name") or category["id"]) for category in listed)]

    def class_counts(self, dataset: Dataset) -> list[int]:
        """Annotations of each category, of those that the file lists."""
        found = annotations_of(dataset)
        times = Counter(one.get("category_id") for one in found["annotations"])
        return [0, *(times[category["id"]] for category in found["categories"])]

    def without_targets(self, dataset: Dataset) -> int:
        """Images that the file lists, and no annotation."""
        found = annotations_of(dataset)
        return len(known_images(found) - {one.get("image_id") for one in found["annotations"]})

    def nothing_found(self, dataset: Dataset) -> str:
        images = annotations_of(dataset)["images"]
        if not images:
            return f"{dataset} lists no images. Add them."
        return (
            f"{dataset}: none of its {len(images):,} images has an annotation, and images without "
            "one are skipped. Add annotations, or take skip_empty from the reader."
        )

    def accepts(self, path: Path) -> bool:
        return path.suffix.lower() == ".json" and not os.path.isdir(path)

    def write_placeholder(self, folder: Path) -> Path:
        path = folder / "annotations.json"
        path.write_text('{"images": [], "annotations": [], "categories": []}', encoding="utf-8")
        return path


SOURCE = Coco()
