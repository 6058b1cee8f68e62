"""The first picture of data with many entries: its time, and the memory of the process.

Data are opened as in the panel: without an index, the first picture is provisional.

pytest --thorough benchmarks/test_many_entries.py -s --entries 1000000
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchmarks.conftest import Table
from tests.sources.written import example
from workbench.engine.reading.encoded_images import placeholder_jpeg
from workbench.samples.records import add_to_tar, encode_tfrecord

CLASSES = 1000
"""Number of folders, each with one file and hard links to it."""

MEASURE = """
import sys, threading, time
from dataclasses import replace
from benchmarks.test_preview_latency import Nowhere, chain
from workbench.engine.run.worker import Worker
from workbench.graph.model import Source
from workbench.preview import PreviewRequest
from workbench.preview.requests.render import render
from workbench.sources import load_source
from workbench.sources.kinds.memory import open_images
from workbench.ui.data.data_panel import DataPanel
import nvidia.dali

given = sys.argv[1]
if given.endswith(".frame"):
    import pandas
    given = pandas.read_csv(given)

def private_mb():  # what is mapped of the files themselves is not counted
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024

graph, worker, before = chain(5, "cpu"), Worker(Nowhere()), private_mb()
given = open_images(sys.argv[1]) if ".py:" in sys.argv[1] else sys.argv[1]
start = time.perf_counter()
panel = DataPanel(given, threading.RLock(), lambda message: None)
data = panel.previewed
kind = data["data"].kind
read = lambda node: replace(node, kind=kind, op=load_source(kind).op)
nodes = tuple(read(node) if isinstance(node, Source) else node for node in graph.nodes)
preview = render(worker, PreviewRequest(replace(graph, nodes=nodes), data, tiles=16))
assert preview.image
panel.count_if_changed(data, "")
shown, used = time.perf_counter() - start, private_mb() - before
panel.scan()
for scan in [each for each in threading.enumerate() if each.name == "workbench-scan"]:
    scan.join()
assert panel.view["counted"] and not panel.view["provisional"], panel.view
print(shown, used, time.perf_counter() - start)
"""


def folder(place: Path, count: int) -> Path:
    """Class folders of links to one file each."""
    photo = placeholder_jpeg().tobytes()
    for number in range(min(CLASSES, count)):
        (place / f"{number:04}").mkdir(parents=True)
        first = place / f"{number:04}" / "00000000.jpg"
        first.write_bytes(photo)
        for copy in range(1, count // CLASSES):
            os.link(first, first.with_name(f"{copy:08}.jpg"))
    return place


def rows(place: Path, count: int, pattern: str) -> str:
    """Rows of a list that names the files of ``folder``."""
    root = folder(place.parent / "files", count)
    each = range(max(1, count // CLASSES))
    classes = range(min(CLASSES, count))
    return "".join(
        pattern.format(f"{root.name}/{label:04}/{copy:08}.jpg", label)
        for label in classes
        for copy in each
    )


def text_list(place: Path, count: int) -> Path:
    """A list of paths and numbers."""
    path = place.with_suffix(".txt")
    path.write_text(rows(place, count, "{} {}\n"))
    return path


def csv_list(place: Path, count: int) -> Path:
    """The same as a table, with class names."""
    path = place.with_suffix(".csv")
    path.write_text("path,label\n" + rows(place, count, "{},class {}\n"))
    return path


def frame(place: Path, count: int) -> Path:
    """The columns of a pandas data frame: absolute paths, class names."""
    root, path = place.parent, place.with_suffix(".frame")
    path.write_text("path,label\n" + rows(place, count, f"{root}/{{}},class {{}}\n"))
    return path


def tfrecord(place: Path, count: int) -> Path:
    """One file without an index."""
    record = encode_tfrecord(example(placeholder_jpeg().tobytes(), 1))
    path = place.with_suffix(".tfrecord")
    with path.open("wb") as file:
        for _ in range(count):
            file.write(record)
    return path


def webdataset(place: Path, count: int) -> Path:
    """One archive without an index."""
    photo, path = placeholder_jpeg().tobytes(), place.with_suffix(".tar")
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number in range(count):
            add_to_tar(archive, f"{number:08}.jpg", photo)
            add_to_tar(archive, f"{number:08}.cls", b"1")
            archive.members = []  # type: ignore[attr-defined]  # tarfile keeps all that it wrote
    return path


IN_MEMORY = """
import io
import numpy as np
from PIL import Image

photo = Image.new("RGB", (640, 480), (128, 128, 128))
file = io.BytesIO()
photo.save(file, "JPEG")

class Photos:
    def __len__(self):
        return {count}

    def __getitem__(self, index):
        return photo, index % 10

def encoded():
    return [(file.getvalue(), index % 10) for index in range({count})]

def array():
    return np.broadcast_to(np.asarray(photo), ({count}, 480, 640, 3))

def data_set():
    return Photos()
"""


def factory(name: str) -> Callable[[Path, int], str]:
    """A writer of a module that makes images in memory."""

    def write(place: Path, count: int) -> str:
        path = place.with_suffix(".py")
        path.write_text(IN_MEMORY.replace("{count}", str(count)))
        return f"{path}:{name}"

    return write


WRITERS: Mapping[str, Callable[[Path, int], Path | str]] = {
    "folder": folder,
    "text list": text_list,
    "CSV, classes by name": csv_list,
    "pandas frame": frame,
    "TFRecord": tfrecord,
    "WebDataset": webdataset,
    "encoded images in a list": factory("encoded"),
    "array": factory("array"),
    "data set with data[i]": factory("data_set"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_first_picture(
    name: str, tmp_path: Path, table: Table, request: pytest.FixtureRequest
) -> None:
    most = request.config.getoption("--entries")
    for count in (10**power for power in range(3, 7) if 10**power <= most):
        place = tmp_path / str(count) / "data"
        place.parent.mkdir()
        path = WRITERS[name](place, count)
        # In an interpreter of its own each time: the first also makes what indices it needs.
        command = [sys.executable, "-c", MEASURE, str(path)]
        found = [
            tuple(map(float, subprocess.check_output(command, text=True).split()[-3:]))
            for _ in range(3)
        ]
        first, again = found[0][0], [seconds for seconds, *_ in found[1:]]
        table.add(f"{name}, {count:,} entries: first picture", [first], "s", "3 s")
        table.add(f"{name}, {count:,} entries: once more", again, "s")
        table.add(f"{name}, {count:,} entries: memory", [mb for _, mb, _ in found], "MB")
        table.add(f"{name}, {count:,} entries: all counted", [found[0][2]], "s")
