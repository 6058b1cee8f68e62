"""Read Pascal VOC data: an XML file with boxes for each image.

``Annotations/7.xml`` belongs to ``JPEGImages/7.jpg``; or the XML files are next to the images.
``ImageSets/Main/train.txt`` selects images by name. Corners are pixels counted from 1, and include
the last pixel, as in the VOC challenges; if a corner of any box is below 1, they count from 0.
Rotated boxes of roLabelImg (``robndbox``) are polygons.
"""

from __future__ import annotations

import math
import os
import pathlib
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.sources import Dataset
from workbench.sources.class_folders import IMAGES, is_hidden
from workbench.sources.kinds._converted_boxes import (
    ConvertedBoxes,
    upright_sides,
    write_annotations,
)
from workbench.sources.kinds.folder import IMAGES_SOURCE, images_in

_LOOKED_AT = 100
"""Number of XML files that are searched for annotations to recognise the format."""
_SETS = "ImageSets"


def visible_files(folder: pathlib.Path, suffixes: tuple[str, ...]) -> list[str]:
    """Return the names of the visible files in a folder that have one of the suffixes, sorted."""
    names = sorted(name for name in os.listdir(folder) if name.lower().endswith(suffixes))
    return [name for name in names if not is_hidden(name)]


def voc_folders(data: str) -> tuple[pathlib.Path, pathlib.Path, pathlib.Path]:
    """Return the folder of the data set, and the folders of its images and XML files."""
    place = pathlib.Path(data).absolute()
    root = place if place.is_dir() else place.parent.parent.parent
    if root != place and place.parent.parent.name != "ImageSets":
        raise ValueError(f"{place} is not a folder. Use one, or a list: ImageSets/Main/train.txt.")
    inner = {each.name.lower(): each for each in sorted(root.iterdir()) if each.is_dir()}
    images = (inner[name] for name in ("jpegimages", "images", "imgs") if name in inner)
    found = (inner[name] for name in ("annotations", "xmls") if name in inner)
    return root, next(images, root), next(found, root)


def voc_listed(data: str) -> set[str] | None:
    """Return the names in a list of ImageSets, or None for all images of a folder."""
    if os.path.isdir(data):
        return None
    lines = pathlib.Path(data).read_text(encoding="utf-8-sig").splitlines()
    names = {line.strip() for line in lines if line.strip()}
    if all(name.split()[-1] in ("-1", "0", "1") and len(name.split()) > 1 for name in names):
        raise ValueError(
            f"{data} has a second column, which marks images of one class. Use a list of names: "
            "ImageSets/Main/train.txt."
        )
    return names


def read_voc(path: str) -> Any:
    """Parse an XML file. Raises ValueError if it is invalid or declares a document type."""
    from xml.etree import ElementTree

    content = pathlib.Path(path).read_bytes()
    if b"<!" in content.replace(b"\0", b"").replace(b"<!--", b"").replace(b"<![CDATA[", b""):
        raise ValueError("it declares a document type or entities. Remove the declaration")
    try:
        return ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError) as error:
        raise ValueError(f"it is not valid XML ({error})") from None


def rotated_corners(one: Any) -> list[float]:
    """Return the corners x, y, x, y, ... of roLabelImg's ``robndbox``, in pixels from 0.

    Its angle is in radians, clockwise in the image.
    """
    texts = [one.findtext(f"robndbox/{side}") for side in ("cx", "cy", "w", "h", "angle")]
    try:
        x, y, width, height, angle = found = [float(text) for text in texts]
    except (TypeError, ValueError):
        found = []
    if not found or not all(abs(each) < float("inf") for each in found) or min(found[2:4]) <= 0:
        raise ValueError(f"has the robndbox {texts}. Use cx, cy, w and h above 0, and angle")
    cos, sin, polygon = math.cos(angle) / 2, math.sin(angle) / 2, []
    for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        polygon += [x + i * width * cos - j * height * sin, y + i * width * sin + j * height * cos]
    return polygon


def voc_objects(entry: Any) -> list[tuple[str, list[float], bool, list[float]]]:
    """Return the name, corners (left to bottom), ``difficult`` and polygon of each object.

    Only rotated boxes have a polygon.
    """
    found = []
    for number, one in enumerate(entry.findall("object"), 1):
        name = (one.findtext("name") or "").strip()
        if not name:
            raise ValueError(f"object {number} has no name")
        difficult = (one.findtext("difficult") or "").strip() == "1"
        if one.find("robndbox") is not None:
            try:
                polygon = rotated_corners(one)
            except ValueError as error:
                raise ValueError(f"object {number} ({name}) {error}") from None
            xs, ys = polygon[::2], polygon[1::2]
            found.append((name, [min(xs), min(ys), max(xs), max(ys)], difficult, polygon))
            continue
        texts = [one.findtext(f"bndbox/{side}") for side in ("xmin", "ymin", "xmax", "ymax")]
        try:
            left, top, right, bottom = corners = [float(text) for text in texts]
        except (TypeError, ValueError):
            corners = []
        if not corners or not all(abs(each) < float("inf") for each in corners):
            raise ValueError(f"object {number} ({name}) has the box {texts}. Use four numbers")
        if right < left or bottom < top or right == left == 0 or bottom == top == 0:
            shown = ", ".join(f"{each:g}" for each in corners)
            raise ValueError(
                f"object {number} ({name}) has the corners {shown}. xmax and ymax must be larger "
                "than xmin and ymin"
            )
        found.append((name, corners, difficult, []))
    return found


def voc_pairs(data: str) -> list[tuple[str, str]]:
    """Return the path of each image, sorted, and of its XML file; "" if it has none.

    They have the same name. An XML file without such an image belongs to its ``filename``.
    """
    _, images, folder = voc_folders(data)
    names, listed = visible_files(images, IMAGES), voc_listed(data)
    files = {os.path.splitext(name)[0]: name for name in visible_files(folder, (".xml",))}
    for stem in files.keys() - {os.path.splitext(name)[0] for name in names}:
        try:
            other = (read_voc(str(folder / files[stem])).findtext("filename") or "").strip()
        except ValueError:
            continue  # as an XML file without an image
        if other in names and os.path.splitext(other)[0] not in files:
            files[os.path.splitext(other)[0]] = files[stem]
    if listed is not None:
        stems = {os.path.splitext(name)[0] for name in names}
        if lost := sorted(listed - {*names} - stems):
            raise ValueError(
                f"{len(lost):,} names of {data} have no image in {images} (first: {lost[0]}). Add "
                "the images, or remove the names."
            )
        names = [name for name in names if {name, os.path.splitext(name)[0]} & listed]
    found = ((name, files.get(os.path.splitext(name)[0], "")) for name in names)
    return [(str(images / name), str(folder / file) if file else "") for name, file in found]


def voc_annotations(data: str, faults: dict[int, str] | None = None) -> dict[str, Any]:
    """Return VOC's XML files as COCO annotations; objects marked difficult have ``iscrowd``.

    The classes are those of classes.txt or, without it, the names in all XML files of the folder in
    alphabetical order. Images without an XML file have no boxes. Raises ValueError for an invalid
    XML file, unless ``faults`` is given: then its faults are added there by image id.
    """
    root, image_folder, folder = voc_folders(data)
    entries, errors = {}, {}
    for name in visible_files(folder, (".xml",)):
        path = str(folder / name)
        try:
            entry = read_voc(path)
            entries[path] = entry, voc_objects(entry)
        except ValueError as error:
            errors[path] = f"{path}: {error}"
    every = [one for _, objects in entries.values() for one in objects]
    upright = [corners for _, corners, _, polygon in every if not polygon]
    first = 0 if any(min(corners[:2]) < 1 for corners in upright) else 1
    names = sorted({name for name, *_ in every})
    if (file := root / "classes.txt").is_file():
        names = file.read_text(encoding="utf-8-sig").split("\n")
        names = [name.strip() for name in names if name.strip()]
    numbers = {name: number for number, name in enumerate(names, 1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, (image, path) in enumerate(voc_pairs(data)):
        entry, objects = entries.get(path, (None, []))
        fault, sides, stated = errors.get(path, ""), [1, 1], []
        if unknown := [name for name, *_ in objects if name not in numbers]:
            fault = f"{path}: the class {unknown[0]} is not in {file}"
        try:
            texts = [
                "" if entry is None else entry.findtext(f"size/{side}")
                for side in ("width", "height")
            ]
            stated = [int(text) for text in texts if text and text.strip().isdecimal()]
            known = len(stated) == 2 and all(0 < side < 1_000_000 for side in stated)
            stated = stated if known else []
            sides = stated or [*upright_sides(image)]
        except OSError as error:
            fault = fault or str(error)
        if fault and faults is None:
            raise ValueError(fault)
        if fault and faults is not None:
            faults[number] = fault
        named = {"id": number, "file_name": os.path.basename(image), "stated": stated}
        images.append({**named, "width": sides[0], "height": sides[1]})
        for name, (left, top, right, bottom), difficult, polygon in objects if not fault else ():
            by = 0 if polygon else first
            box = [left - by, top - by, right - left + by, bottom - top + by]
            one = {"id": len(annotations), "image_id": number, "category_id": numbers[name]}
            outline = {"segmentation": [polygon]} if polygon else {}
            annotations.append({**one, "bbox": box, "iscrowd": int(difficult), **outline})
    categories = [{"id": number, "name": name} for name, number in numbers.items()]
    found = {"images": images, "annotations": annotations, "categories": categories}
    return {"root": str(image_folder), "first": first, **found}


def find_voc(data: str) -> dict[str, str]:
    """Convert VOC's XML files to a temporary COCO file, and return COCO's reader arguments."""
    return write_annotations(voc_annotations(data))


class Voc(ConvertedBoxes):
    """Source kind for images with XML files of Pascal VOC."""

    about = "Pascal VOC annotations (a folder, or ImageSets/Main/train.txt)"
    find = staticmethod(find_voc)
    convert = staticmethod(voc_annotations)
    helpers = (
        *(IMAGES_SOURCE, is_hidden, visible_files, voc_folders, voc_listed, read_voc),
        *(rotated_corners, voc_objects, voc_pairs, voc_annotations),
        *ConvertedBoxes.helpers,
    )
    imports = (*ConvertedBoxes.imports, "math")
    sample = "voc"
    with_targets = ("image_masks",)

    def polygons_in(self, dataset: Dataset) -> str:
        """Return ``outlines`` if any object is a rotated box."""
        annotations = self.document(dataset)["annotations"]
        return "outlines" if any("segmentation" in one for one in annotations) else ""

    def accepts(self, path: Path) -> bool:
        try:
            of_set = path.suffix.lower() == ".txt" and path.parent.parent.name == _SETS
            if not os.path.isdir(path) and not of_set:
                return False
            _, images, folder = voc_folders(str(path))
            names = islice(visible_files(folder, (".xml",)), _LOOKED_AT)
            return bool(images_in(str(images))) and any(_is_annotation(folder / n) for n in names)
        except (OSError, ValueError):
            return False

    def files_of(self, dataset: Dataset) -> list[str]:
        root, images, folder = voc_folders(dataset.location)
        found = [images / name for name in visible_files(images, IMAGES)]
        found += [folder / name for name in visible_files(folder, (".xml",))]
        return [*map(str, found), str(root / "classes.txt"), dataset.location]

    def orphans(self, dataset: Dataset) -> list[str]:
        if voc_listed(dataset.location) is not None:
            return []  # other images have the other files
        folder = voc_folders(dataset.location)[2]
        known = {file for _, file in voc_pairs(dataset.location)}
        return [
            p for name in visible_files(folder, (".xml",)) if (p := str(folder / name)) not in known
        ]

    def nothing_found(self, dataset: Dataset) -> str:
        return f"{dataset}: there is no image in {self.root(dataset)}. Add images."

    def nothing_annotated(self, dataset: Dataset) -> str:
        folder = voc_folders(dataset.location)[2]
        return (
            f"{dataset}: no image has an object in an XML file of {folder}. Put the XML files "
            "there, with the names of the images."
        )

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        """Yield the notes, including how corners are counted and how to read a split."""
        first = self.document(dataset)["first"]
        why = "as in the VOC challenges" if first else "because a corner is below 1"
        yield f"Corners of the boxes are pixels that count from {first}, {why}."
        sets = os.path.join(dataset.location, _SETS, "Main")
        if os.path.isdir(sets) and (names := visible_files(Path(sets), (".txt",))):
            usual = ("train.txt", "trainval.txt", "val.txt", "test.txt")
            path = os.path.join(sets, next((name for name in usual if name in names), names[0]))
            yield f"All images are read. Open {path} to read those in the list."
        yield from super().unread_notes(dataset)

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Create links to the folders, and a list of the remaining images."""
        root, images, folder = voc_folders(dataset.location)
        (place / _SETS / "Main").mkdir(parents=True)
        (place / "JPEGImages").symlink_to(images)
        (place / "Annotations").symlink_to(folder)
        if (root / "classes.txt").is_file():
            (place / "classes.txt").symlink_to(root / "classes.txt")
        left = [each["file_name"] for each in self.document(dataset)["images"]]
        path = place / _SETS / "Main" / "remaining.txt"
        lines = "".join(f"{name}\n" for name in left if name not in names)
        path.write_text(lines, encoding="utf-8")
        return path

    def write_placeholder(self, folder: Path) -> Path:
        from PIL import Image

        Image.new("RGB", (1, 1)).save(folder / "0.jpg")
        return folder


def _is_annotation(path: Path) -> bool:
    with open(path, "rb") as file:
        return b"<annotation" in file.read(1000).replace(b"\0", b"")


SOURCES = {"voc": Voc()}
