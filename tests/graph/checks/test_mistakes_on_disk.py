"""Acceptance of the hints about data that are read from disk: mistakes are named, nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.graph.checks.test_planted_mistakes import HINTS
from tests.graph.checks.test_warnings import BYTES, UNIT
from tests.helpers import CATALOG
from tests.sources.test_turned_annotations import write_turned
from tests.sources.written import WRITERS
from workbench.commands.options import graph_warnings
from workbench.graph import Graph
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph

SORTED, MIXED = [n // 100 for n in range(400)], [n % 4 for n in range(400)]
SHUFFLED = {"random_shuffle": True}
SMALL, WHOLE = {**SHUFFLED, "initial_fill": 64}, {**SHUFFLED, "initial_fill": 400}
NAMES = {
    "tfrecord": {"features": {"image/encoded": "image", "image/class/label": "int64"}},
    "webdataset": {"features": {"jpg": "image", "cls": "digits"}},
}
Write = Callable[[Path], Any]
"""A function that writes data to a folder and returns what is opened."""


def photo(orientation: int = 1) -> bytes:
    exif, buffer = Image.Exif(), io.BytesIO()
    exif[0x0112] = orientation
    Image.new("RGB", (12, 8)).save(buffer, "JPEG", exif=exif)
    return buffer.getvalue()


def array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((4, 4, 3), np.uint8))
    return buffer.getvalue()


def classes(labels: list[int], suffix: str = ".jpg", pattern: str = "") -> Write:
    def write(folder: Path) -> Any:
        content = photo() if suffix == ".jpg" else array()
        for number, label in enumerate(labels):
            (folder / f"c{label}").mkdir(exist_ok=True)
            (folder / f"c{label}" / f"{number:03}{suffix}").write_bytes(content)
        return f"{folder}/{pattern}" if pattern else folder

    return write


def listed(labels: list[int], suffix: str = "") -> Write:
    def write(folder: Path) -> Any:
        image, path = folder / "a.jpg", folder / f"list{suffix}"
        image.write_bytes(photo())
        rows = [f"a.jpg,k{n}\n" if suffix == ".csv" else f"a.jpg {n}\n" for n in labels]
        path.write_text("".join(rows))
        return path if suffix else [(image, label) for label in labels]

    return write


def records(kind: str, labels: list[int]) -> Write:
    return lambda folder: WRITERS[kind]([(photo(), label) for label in labels], folder / "data")


def boxes(kind: str, orientation: int, sizes: str = "stored") -> Write:
    """Photos with a box; VOC and COCO state the size ``stored`` or ``upright``."""
    width, height = (12, 8) if sizes == "stored" else (8, 12)
    corners = "<xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax>"
    size = f"<size><width>{width}</width><height>{height}</height></size>"
    entry = f"<object><name>a</name><bndbox>{corners}</bndbox></object>"
    texts = {"voc": f"<annotation>{size}{entry}</annotation>", "yolo": "0 0.5 0.5 0.5 0.5"}

    def write(folder: Path) -> Any:
        if kind == "coco":
            return write_turned(folder, sizes, range(orientation, orientation + 1))
        for n in range(4):
            (folder / f"{n}.jpg").write_bytes(photo(orientation))
            (folder / f"{n}.{'xml' if kind == 'voc' else 'txt'}").write_text(texts[kind])
        return folder

    return write


Case = tuple[Write, dict[str, Any], dict[str, Any]]
"""How data are written, options of the reader, and constants of ``crop_mirror_normalize``."""
MISTAKES: dict[str, tuple[str, Case]] = {
    "folder": ("unshuffled", (classes(SORTED), {}, {})),
    "pattern": ("unshuffled", (classes(SORTED, pattern="**/*.jpg"), {}, {})),
    "arrays": ("unshuffled", (classes(SORTED, ".npy"), {}, {})),
    "text": ("unshuffled", (listed(SORTED, ".txt"), {}, {})),
    "csv": ("unshuffled", (listed(SORTED, ".csv"), {}, {})),
    "pairs": ("unshuffled", (listed(SORTED), {}, {})),
    "webdataset": ("unshuffled", (records("webdataset", SORTED), {}, {})),
    "record_io": ("unshuffled", (records("record_io", SORTED), {}, {})),
    "tfrecord": ("buffer", (records("tfrecord", SORTED), SMALL, {})),
    "features": ("buffer", (records("tfrecord", SORTED), SMALL | NAMES["tfrecord"], {})),
    "components": ("buffer", (records("webdataset", SORTED), SMALL | NAMES["webdataset"], {})),
    "few files": ("buffer", (classes(MIXED), {**SHUFFLED, "initial_fill": 5000}, {})),
    **{kind: ("orientation", (boxes(kind, 6), {}, {})) for kind in ("coco", "voc", "yolo")},
    "unit": ("scale", (classes([0]), {}, UNIT)),
}
CLEAN: dict[str, Case] = {
    "folder": (classes(SORTED), SHUFFLED, {}),
    "pattern": (classes(SORTED, pattern="**/*.jpg"), SHUFFLED, {}),
    "arrays": (classes(SORTED, ".npy"), WHOLE, {}),
    "one class": (classes([0] * 200), {}, {}),
    "balanced": (classes(SORTED), {"sampler": "balanced"}, {}),
    "text": (listed(MIXED, ".txt"), {}, {}),
    "csv": (listed(MIXED, ".csv"), {}, {}),
    "pairs": (listed(MIXED), {}, {}),
    "webdataset": (records("webdataset", MIXED), {}, {}),
    "record_io": (records("record_io", MIXED), {}, {}),
    "tfrecord": (records("tfrecord", SORTED), WHOLE, {}),
    "features": (records("tfrecord", MIXED), NAMES["tfrecord"], {}),
    "components": (records("webdataset", SORTED), WHOLE | NAMES["webdataset"], {}),
    **{f"upright {kind}": (boxes(kind, 6, "upright"), {}, {}) for kind in ("coco", "voc")},
    **{f"plain {kind}": (boxes(kind, 1), {}, {}) for kind in ("coco", "voc", "yolo")},
    "bytes": (classes([0]), {}, BYTES),
}


def hints(graph: Graph) -> list[Any]:
    assert graph.datasets
    found = graph_warnings(graph, graph.datasets)
    return [each for each in found if each.code in HINTS]


def opened(case: Case, folder: Path) -> Graph:
    write, options, constants = case
    folder.mkdir(exist_ok=True)
    graph = wb.read(write(folder), **options).with_settings(batch_size=64)
    if graph.sources[0].kind != "numpy_files":
        graph = graph.decode()
    return graph.crop_mirror_normalize(**constants) if constants else graph


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_data_on_disk_is_named_with_a_fix(name: str, tmp_path: Path) -> None:
    code, case = MISTAKES[name]
    graph = opened(case, tmp_path)
    (found,) = hints(graph)
    assert found.code == code
    (fix, *_) = fixes(ResolvedGraph(graph, CATALOG), found)
    assert not hints(fix.graph)


def test_right_data_on_disk_have_no_false_alarm(tmp_path: Path) -> None:
    for name, case in CLEAN.items():
        assert not hints(opened(case, tmp_path / name)), name
