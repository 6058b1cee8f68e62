"""Read YOLO data: a text file of the same name for each image, with one object per line.

A line has the class number from 0 and the box (centre x, centre y, width, height), or the corners
of a polygon; an oriented box is a polygon of four corners. If ``data.yaml`` has ``kpt_shape``, the
key points follow the box. All coordinates are relative to the image size.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from workbench.errors import DataError
from workbench.sources import Dataset
from workbench.sources.class_folders import IMAGES, is_hidden
from workbench.sources.kinds._converted_boxes import (
    ConvertedBoxes,
    upright_sides,
    write_annotations,
)
from workbench.sources.kinds.folder import IMAGES_SOURCE, images_in

_LOOKED_AT = 100
"""Number of images whose label files are searched for a valid line to recognise the format."""
_SPLITS = ("train", "val", "test")
_OF_POINTS = ("kpt_shape", "kpt_names", "flip_idx")


def images_below(folder: str) -> list[str]:
    """Return the paths of all images in a folder and its subfolders, sorted."""
    found = []
    for place, inner, names in os.walk(folder, followlinks=True):
        above = {pathlib.Path(place).resolve(), *pathlib.Path(place).resolve().parents}
        places = {name: pathlib.Path(place, name).resolve() for name in inner}  # may be circular
        inner[:] = [name for name in inner if not is_hidden(name) and places[name] not in above]
        shown = [name for name in names if not is_hidden(name)]
        found += [os.path.join(place, name) for name in shown if name.lower().endswith(IMAGES)]
    return sorted(found)


def yolo_split(data: str) -> tuple[str, str]:
    """Return the path and the split of data.yaml:val. Without a name, the split is train."""
    path, _, split = data.rpartition(":")
    return (path, split) if path.lower().endswith((".yaml", ".yml")) else (data, "train")


def yolo_config(data: str) -> tuple[pathlib.Path | None, dict[str, Any]]:
    """Return the path and the content of data.yaml, which is data itself or belongs to its folder.

    For images/train or train/images, the file is one or two levels up.
    """
    place = pathlib.Path(yolo_split(data)[0]).absolute()
    if place.suffix.lower() not in (".yaml", ".yml"):
        folder = place if place.is_dir() else place.parent
        files = [each / "data.yaml" for each in (folder, *folder.parents[:2])]
        place = next((file for file in files if file.is_file()), pathlib.Path())
    if not place.name:
        return None, {}
    import yaml

    text = place.read_text(encoding="utf-8-sig")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise ValueError(f"{place} has an alias (*name), which can expand without limit.")
        config = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{place} is not valid YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(config, dict):
        raise ValueError(f"{place} has no entries. Add 'names' and 'train'.")
    return place, config


def yolo_places(data: str) -> list[pathlib.Path]:
    """Return the folders and lists of images to read: those of a split in data.yaml, or data."""
    path, split = yolo_split(data)
    place, (file, config) = pathlib.Path(path).absolute(), yolo_config(data)
    if file is None or place not in (file, file.parent):
        inner = place / "images"
        if not (inner.is_dir() and (place / "labels").is_dir()):
            return [place]
        splits = [path.name for path in sorted(inner.iterdir()) if path.is_dir()]
        splits = [name for name in splits if not is_hidden(name)]
        if not {"train", "val"} <= {*splits}:
            return [inner]
        raise ValueError(f"{inner} has the folders {', '.join(splits)}. Open one: {inner}/train.")
    if split not in config:
        known = ", ".join(each for each in ("train", "val", "test") if each in config)
        raise ValueError(f"{file} has no '{split}' (found: {known or 'no split'}). Add its path.")
    entries = config[split]
    entries = [entries] if isinstance(entries, str) else entries
    listed = isinstance(entries, list) and all(isinstance(each, str) for each in entries)
    if not entries or not listed:
        raise ValueError(
            f"'{split}' of {file} is {entries!r}. Use the path of a folder or list of images, or "
            "several in a list."
        )
    root = file.parent / str(config.get("path") or "")
    if not root.is_dir():
        raise ValueError(
            f"'path' of {file} is {root}, which does not exist. Correct or remove that entry."
        )
    found = [root / each for each in entries]
    # Roboflow writes ../train/images for a folder next to the file, which Ultralytics accepts.
    kept = [root / each.removeprefix("../") for each in entries]
    found = [each if each.exists() else other for each, other in zip(found, kept, strict=True)]
    if lost := [each for each in found if not each.exists()]:
        raise ValueError(
            f"'{split}' of {file} is {lost[0]}, which does not exist. Correct the path."
        )
    return found


def yolo_images(data: str) -> list[str]:
    """Return the paths of the images, in the order of the folders or lists."""
    found = []
    for place in yolo_places(data):
        if place.is_dir():
            found += images_below(str(place))
            continue
        try:
            lines = place.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise ValueError(f"{place} is neither a folder nor a text file in UTF-8.") from None
        lines = [line.strip() for line in lines if line.strip()]
        if wrong := [line for line in lines if not line.lower().endswith(IMAGES)]:
            raise ValueError(f"{place} lists {wrong[0][:60]!r}. Use the path of an image per line.")
        found += [os.path.normpath(place.parent / line) for line in lines]
    return found


def yolo_label_file(image: str) -> str:
    """Return the path of an image's label file: in labels instead of images, or next to it."""
    path = f"{os.path.splitext(image)[0]}.txt"
    before, images, after = path.rpartition(f"{os.sep}images{os.sep}")
    other = os.path.join(before, "labels", after)
    return other if images and os.path.isdir(os.path.dirname(other)) else path


def yolo_names(data: str) -> dict[int, str]:
    """Return the class names by number, from data.yaml or classes.txt; empty if there are none."""
    file, config = yolo_config(data)
    names = config.get("names")
    if isinstance(names, dict) and all(type(key) is int and 0 <= key < 100_000 for key in names):
        return {key: str(name) for key, name in sorted(names.items())}
    if isinstance(names, list):
        return dict(enumerate(map(str, names)))
    if names is not None:
        raise ValueError(f"'names' of {file} is {str(names)[:60]!r}. Use a list of class names.")
    place = yolo_places(data)[0]
    folder = place if place.is_dir() else place.parent
    labels = pathlib.Path(yolo_label_file(str(folder / "0.jpg"))).parent
    for each in (labels, folder, folder.parent):
        if (path := each / "classes.txt").is_file():
            return dict(enumerate(path.read_text(encoding="utf-8-sig").splitlines()))
    return {}


def yolo_rows(text: str, names: dict[int, str], shape: Any) -> list[list[float]]:
    """Parse a label file. Raises ValueError for the first invalid line.

    ``shape`` is ``kpt_shape`` of data.yaml: the number of key points and of numbers for each.
    """
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not (words := line.split()):
            continue
        try:
            row = [float(word) for word in words]
        except ValueError:
            raise ValueError(f"line {number} is not numbers only: {line[:40]!r}") from None
        count = len(row)
        fault = ""
        if not all(abs(value) < float("inf") for value in row):
            fault = "has a NaN or infinite number"
        elif not row[0].is_integer() or not 0 <= row[0] < 100_000:
            fault = f"has the class {row[0]:g}, which is not an integer from 0 to 99999"
        elif names and int(row[0]) not in names:
            fault = f"has the class {row[0]:g}, but the names end at {max(names)}"
        elif shape and count != 5 + shape[0] * shape[1]:
            fault = (
                f"has {count} numbers; with kpt_shape {shape}, {5 + shape[0] * shape[1]} are needed"
            )
        elif not shape and count == 6:
            fault = "has 6 numbers: class, box and, in predictions, a confidence. Remove the last"
        elif not shape and (count < 5 or count % 2 == 0):
            fault = (
                f"has {count} numbers. Use 5 (class, centre x, centre y, width, height), "
                "or the class and pairs x, y"
            )
        else:
            placed = row[1:5] if shape else row[1:]
            for at in range(5, count, shape[1]) if shape else ():
                labelled = shape[1] == 2 or row[at + 2] > 0
                placed += row[at : at + 2] if labelled else []
            for value in placed:
                if not 0 <= value <= 1:
                    fault = f"has {value:g}, which is not relative to the image (0 to 1)"
        if fault:
            raise ValueError(f"line {number} {fault}")
        rows.append(row)
    return rows


def yolo_object(row: list[float], sides: tuple[int, int], shape: Any) -> dict[str, Any]:
    """Return the class, COCO box and polygon of a line; key points are corners of the polygon.

    Key points that are not labelled are far outside the image.
    """
    width, height = sides
    points = list(zip(row[1::2], row[2::2], strict=True)) if not shape else []
    if len(row) == 5 or shape:
        x, y, w, h = row[1:5]
        # An edge that is outside only because the numbers are rounded is on the edge.
        left, top, right, bottom = (
            min(max(each, 0.0), 1.0) if -1e-5 < each < 1 + 1e-5 else each
            for each in (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        )
        points = []
    else:
        left, top = (min(each) for each in zip(*points, strict=True))
        right, bottom = (max(each) for each in zip(*points, strict=True))
    polygon = [value for x, y in points for value in (x * width, y * height)]
    for at in range(5, len(row), shape[1]) if shape else ():
        seen = shape[1] == 2 or row[at + 2] > 0
        polygon += [row[at] * width, row[at + 1] * height] if seen else [-1e6, -1e6]
    box = [left * width, top * height, (right - left) * width, (bottom - top) * height]
    kept = {"segmentation": [polygon]} if polygon else {}
    return {"category_id": int(row[0]) + 1, "bbox": box, **kept}


def yolo_annotations(data: str, faults: dict[int, str] | None = None) -> dict[str, Any]:
    """Return YOLO label files as COCO annotations. Class 0 becomes category 1.

    Images without a label file have no boxes. Raises ValueError for an invalid label file unless
    ``faults`` is given, which then describes the fault by image id.
    """
    names, (_, config) = yolo_names(data), yolo_config(data)
    shape = config.get("kpt_shape")
    valid = isinstance(shape, list) and [*map(type, shape)] == [int, int]
    if shape is not None and not (valid and 0 < shape[0] < 10_000 and shape[1] in (2, 3)):
        raise ValueError(f"'kpt_shape' of data.yaml is {shape}. Use [points, 2] or [points, 3].")
    files = yolo_images(data)
    root = os.path.commonpath([os.path.dirname(path) for path in files] or [data])
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, path in enumerate(files):
        rows, sides, label_file = [], (1, 1), yolo_label_file(path)
        try:
            sides = upright_sides(path)
            if os.path.isfile(label_file):
                with open(label_file, encoding="utf-8-sig") as file:
                    rows = yolo_rows(file.read(), names, shape)
        except (OSError, ValueError) as error:
            message = f"{label_file}: {error}" if isinstance(error, ValueError) else str(error)
            if faults is None:
                raise ValueError(message) from None
            faults[number] = message
        name = os.path.relpath(path, root)
        images.append({"id": number, "file_name": name, "width": sides[0], "height": sides[1]})
        for row in rows:
            found = yolo_object(row, sides, shape)
            annotations.append({"id": len(annotations), "image_id": number, **found})
    most = max([*names, *(one["category_id"] - 1 for one in annotations)], default=-1)
    categories = [{"id": n + 1, "name": names.get(n, str(n))} for n in range(most + 1)]
    found = {"images": images, "annotations": annotations, "categories": categories}
    return {"root": root, **found}


def find_yolo(data: str) -> dict[str, str]:
    """Convert YOLO label files to a temporary COCO file, and return COCO's reader arguments."""
    return write_annotations(yolo_annotations(data))


def find_yolo_points(data: str) -> dict[str, str]:
    """Convert label files with key points, which are read as corners of polygons."""
    return find_yolo(data)


def _is_label_file(path: str) -> bool:
    """Return whether the first line of a text file has numbers only, and at least four."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return len([*map(float, file.readline().split())]) > 3
    except (OSError, ValueError):
        return False


def _first_images(path: Path) -> Iterator[str]:
    """Yield some images of a list or of a folder, which may have ``images`` and ``labels``."""
    if path.suffix.lower() == ".txt":
        with open(path, encoding="utf-8-sig") as file:
            lines = [line.strip() for line in islice(file, _LOOKED_AT)]
        yield from (str(path.parent / line) for line in lines if line.lower().endswith(IMAGES))
        return
    inner = path / "images"
    place = inner if inner.is_dir() and (path / "labels").is_dir() else path
    folders = (
        [place, *(each for each in place.iterdir() if each.is_dir())] if place == inner else [place]
    )
    for folder in folders:
        yield from (str(folder / name) for name in islice(images_in(str(folder)), _LOOKED_AT))


class Yolo(ConvertedBoxes):
    """Source kind for images with label files of YOLO."""

    about = "YOLO labels (data.yaml, or images and labels)"
    find = staticmethod(find_yolo)
    convert = staticmethod(yolo_annotations)
    helpers = (
        *(
            IMAGES_SOURCE,
            is_hidden,
            images_below,
            yolo_split,
            yolo_config,
            yolo_places,
            yolo_images,
        ),
        *(yolo_label_file, yolo_names, yolo_rows, yolo_object, yolo_annotations),
        *ConvertedBoxes.helpers,
    )
    sample = "yolo/data.yaml"

    def accepts(self, path: Path) -> bool:
        try:
            if yolo_split(str(path))[0].lower().endswith((".yaml", ".yml")):
                return not path.is_dir()
            if (path / "data.yaml").is_file() and yolo_config(str(path))[1].get("train"):
                return True
            if path.suffix.lower() != ".txt" and not path.is_dir():
                return False
            return any(_is_label_file(yolo_label_file(image)) for image in _first_images(path))
        except (OSError, ValueError):
            return False

    def _other_splits(self, dataset: Dataset) -> list[str]:
        """Return the locations of the splits of data.yaml that are not read."""
        path, split = yolo_split(dataset.location)
        file, config = yolo_config(path)
        if file is None or Path(path).absolute() not in (file, file.parent):
            return []
        others = [name for name in _SPLITS if config.get(name) not in (None, config.get(split))]
        return [f"{file}:{name}" for name in others]

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        """Also yield the folders of other splits, which the notes on unread files do not name."""
        yield from super().watched_paths(dataset)
        with suppress(OSError, ValueError):
            for place in map(yolo_places, self._other_splits(dataset)):
                yield from (str(path) for path in place if path.is_dir())

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        """Also name the splits of data.yaml that are not read."""
        yield from super().unread_notes(dataset)
        if others := self._other_splits(dataset):
            split = yolo_split(dataset.location)[1]
            yield f"Only {split} is read. Open {others[0]} to read {yolo_split(others[0])[1]}."

    def files_of(self, dataset: Dataset) -> list[str]:
        file, _ = yolo_config(dataset.location)
        images = yolo_images(dataset.location)
        lists = [str(place) for place in yolo_places(dataset.location) if place.is_file()]
        return [*([str(file)] if file else []), *lists, *images, *map(yolo_label_file, images)]

    def orphans(self, dataset: Dataset) -> list[str]:
        if any(place.is_file() for place in yolo_places(dataset.location)):
            return []  # a list may name a part of the images
        known = {yolo_label_file(image) for image in yolo_images(dataset.location)}
        found = []
        for folder in sorted({os.path.dirname(path) for path in known}):
            with suppress(OSError):
                names = sorted(name for name in os.listdir(folder) if not is_hidden(name))
                paths = [os.path.join(folder, name) for name in names if name.endswith(".txt")]
                others = [each for each in paths if each not in known]
                found += [each for each in others if _is_label_file(each)]
        return found

    def nothing_found(self, dataset: Dataset) -> str:
        return f"{dataset}: there is no image in {self.root(dataset)}. Add images."

    def nothing_annotated(self, dataset: Dataset) -> str:
        images = yolo_images(dataset.location)
        return (
            f"{dataset}: none of its {len(images):,} images has a line in a label file (first: "
            f"{yolo_label_file(images[0])}). Put the label files there."
        )

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Write a list of the remaining images, and a data.yaml with the same names."""
        import yaml

        place.mkdir()
        found, (_, config) = self.document(dataset), yolo_config(dataset.location)
        left = [each["file_name"] for each in found["images"] if each["file_name"] not in names]
        lines = "".join(f"{os.path.join(found['root'], name)}\n" for name in left)
        (place / "images.txt").write_text(lines, encoding="utf-8")
        named = yolo_names(dataset.location)
        kept = {key: config[key] for key in _OF_POINTS if key in config}
        kept |= {"names": named} if named else {}
        path = place / "data.yaml"
        path.write_text(yaml.safe_dump({"train": "images.txt", **kept}), encoding="utf-8")
        return path

    def write_placeholder(self, folder: Path) -> Path:
        from PIL import Image

        Image.new("RGB", (1, 1)).save(folder / "0.jpg")
        return folder


class YoloPose(Yolo):
    """Source kind for images with label files of YOLO that have key points."""

    about = "YOLO key points (data.yaml with kpt_shape)"
    begins: ClassVar = {"polygon_masks": True}
    sampled = None
    find = staticmethod(find_yolo_points)
    helpers = (*Yolo.helpers, find_yolo)
    polygons = "key points"
    precedence = 4
    sample = "yolo_pose/data.yaml"

    def accepts(self, path: Path) -> bool:
        if not super().accepts(path):
            return False
        try:
            return bool(yolo_config(str(path))[1].get("kpt_shape"))
        except (OSError, ValueError):
            return False

    def require(self, dataset: Dataset) -> None:
        super().require(dataset)
        _, config = yolo_config(dataset.location)
        if not config.get("kpt_shape"):
            raise DataError(
                f"{dataset}: data.yaml does not state the number of key points. Add kpt_shape: "
                "[17, 3], or the number that the labels have."
            )
        order, count = config.get("flip_idx"), config["kpt_shape"][0]
        swaps = isinstance(order, list) and sorted(map(str, order)) == sorted(
            map(str, range(count))
        )
        if order is not None and not (swaps and all(order[order[at]] == at for at in range(count))):
            raise DataError(
                f"{dataset}: flip_idx is {str(order)[:60]}. Use {count} numbers from 0, where each "
                "point and its mirrored one name each other."
            )

    def has_unread_masks(self, dataset: Dataset) -> bool:
        return False

    def key_point_names(self, dataset: Dataset) -> list[str]:
        """Return ``kpt_names``, which are the same for all classes, or numbers by default."""
        self.require(dataset)
        _, config = yolo_config(dataset.location)
        named = config.get("kpt_names")
        names = next(iter(named.values()), None) if isinstance(named, dict) else named
        count = config["kpt_shape"][0]
        listed = names if isinstance(names, list) and len(names) == count else range(count)
        return [*map(str, listed)]

    def key_point_pairs(self, dataset: Dataset) -> list[tuple[str, str]]:
        """Return the pairs in ``flip_idx`` of data.yaml. Without it, pair names by their side."""
        names = self.key_point_names(dataset)
        order = yolo_config(dataset.location)[1].get("flip_idx")
        if order is None:
            return super().key_point_pairs(dataset)
        return [(names[at], names[other]) for at, other in enumerate(order) if at < other]


SOURCES = {"yolo": Yolo(), "yolo_pose": YoloPose()}
