"""Pipelines that Python code feeds: the source becomes a node with its code, and the same pixels.

The 25 scripts are written as public ones are; only their kinds are taken from there.

| kind | scripts |
|---|---|
| iterator of batches, endless | list_file_iterator, table_rows (pandas), cupy_or_numpy, ops_class |
| iterator of batches that ends | sharded_epochs (smaller last batch), npz_batches, clip_frames |
| several iterators | image_and_mask |
| callable of samples | parallel_callable, crop_values, detection_samples, lazy_memmap |
| data set of PyTorch | torch_dataset (by a callable), torch_loader (a DataLoader) |
| callable of batches | batch_number, batch_info, waveforms (audio), archive_members (a method) |
| generator | generator_object, generator_function (samples), prepared_batches (and a list) |
| lambda | lambda_matrices (and a reader), paths_to_read (names of files) |
| fed from outside | iter_setup, fed_by_name: refused, with the reason |
"""

from __future__ import annotations

import csv
import importlib
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.helpers import CATALOG, arrays_of, built, import_script, kept_runner, same
from workbench.emit import emit_script
from workbench.engine.importing import from_file
from workbench.graph import check_graph
from workbench.graph.user_functions.trust import is_trusted, trust_graph

pytestmark = pytest.mark.xdist_group("material")

SCRIPTS = Path(__file__).parent / "fed_from_python"
MADE_BY = {
    "archive_members": "from_archive",
    "batch_info": "by_info",
    "batch_number": "decoded_outside",
    "clip_frames": "build",
    "crop_values": "crop_pipe",
    "cupy_or_numpy": "noisy",
    "detection_samples": "detection",
    "generator_function": "thumbnails",
    "generator_object": "generated",
    "image_and_mask": "segmentation",
    "lambda_matrices": "warped",
    "lazy_memmap": "weather",
    "list_file_iterator": "photo_pipe",
    "npz_batches": "cifar",
    "ops_class": "main_pipe",
    "parallel_callable": "parallel_pipe",
    "paths_to_read": "read_by_name",
    "prepared_batches": "mixed_up",
    "sharded_epochs": "make",
    "table_rows": "from_table",
    "torch_dataset": "from_dataset",
    "torch_loader": "loaded",
    "waveforms": "mel",
}
"""Script -> its function that makes the pipeline."""
REFUSED = {
    "fed_by_name": ("inference", {}),
    "iter_setup": ("FedPipeline", {"data_dir": "x"}),
}
"""Script -> what makes the pipeline, and its arguments."""
EPOCHS = {"archive_members": 4, "batch_info": 2, "lazy_memmap": 3, "npz_batches": 3} | {
    "parallel_callable": 2,
    "sharded_epochs": 3,
    "torch_dataset": 3,
}
"""Script -> batches of an epoch."""
QUICK = ("sharded_epochs", "table_rows")


@pytest.fixture(scope="module")
def data(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small photos of three classes in a folder, a list, a table and an archive; and arrays."""
    folder, draw = tmp_path_factory.mktemp("fed"), np.random.default_rng(0)
    for name in ("masks", "waves"):
        (folder / name).mkdir()
    names = []
    for number, path in enumerate(sorted(photos.rglob("*.jpg"))[::9][:14]):
        name = f"class_{number % 3}/{number:02}.jpg"
        (folder / name).parent.mkdir(exist_ok=True)
        with Image.open(path) as image:
            image.convert("RGB").resize((90 + 3 * number, 70)).save(folder / name)
        mask = Image.fromarray(draw.integers(0, 255, (20, 30), dtype=np.uint8))
        mask.save(folder / "masks" / f"{number}.png")
        names.append(name)
    (folder / "train.txt").write_text("".join(f"{name} {name[6]}\n" for name in names))
    with open(folder / "labels.csv", "w", newline="") as file:
        rows = [[name, name[6], 5.5 * number - 20] for number, name in enumerate(names)]
        csv.writer(file).writerows([["filename", "label", "angle"], *rows])
    boxes = [[[0.1, 0.2, 0.5, 0.6, each] for each in range(n % 3)] for n in range(len(names))]
    (folder / "listed.json").write_text(json.dumps({"files": names, "boxes": boxes}))
    images = draw.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
    np.savez(folder / "images.npz", images=images, labels=np.arange(20) % 4)
    np.save(folder / "fields.npy", draw.normal(size=(12, 2, 8, 12)).astype(np.float32))
    for number in range(5):
        np.save(folder / "waves" / f"{number}.npy", draw.normal(size=3000 + 500 * number))
    with tarfile.open(folder / "photos.tar", "w") as archive:
        for name in names:
            archive.add(folder / name, name)
    return folder


def batches(pipe: Any) -> Iterator[list[list[NDArray[Any]]]]:
    """Batches of the original, which begins its source again at its end."""
    pipe.build()
    while True:
        try:
            outputs = pipe.run()
        except StopIteration:
            pipe.reset()
            outputs = pipe.run()
        yield [arrays_of(output) for output in outputs]


def test_every_script_is_in_the_table() -> None:
    files = {path.stem for path in SCRIPTS.glob("*.py")}
    assert files == MADE_BY.keys() | REFUSED.keys()
    assert len(files) == 25
    assert all(name in str(__doc__) for name in files)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.thorough] * (n not in QUICK)) for n in MADE_BY],
)
def test_the_source_is_a_node_and_gives_the_same_pixels(
    name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the preview and the exported script, up to the first batch of the second epoch."""
    if "torch" in name:
        pytest.importorskip("torch")
    found = from_file(SCRIPTS / f"{name}.py", MADE_BY[name], {"data_dir": str(data)})
    sources = [node for node in found.graph.sources if node.op == "python_source"]
    assert sources
    assert not found.report.opaque
    assert not any(map(is_trusted, sources))
    said = [note for note in found.report.notes if f"its code contains '{data}" in note]
    assert said or name == "lambda_matrices"
    graph = trust_graph(found.graph)
    assert check_graph(graph, CATALOG) == ()

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for folder in (SCRIPTS, tmp_path):  # for the processes of ``parallel=True``
        monkeypatch.syspath_prepend(folder)
    original = getattr(importlib.import_module(name), MADE_BY[name])
    script = import_script(emit_script(graph, CATALOG).text, tmp_path)
    monkeypatch.setitem(sys.modules, script.__name__, script)
    theirs, exported = batches(original(str(data))), batches(built(script, data))
    ports = list(graph.outputs.values())
    for number in range(EPOCHS.get(name, 2) + 1):
        wanted, ours = next(theirs), next(exported)
        shown = kept_runner().run(graph, data, number, graph.settings.batch_size, ports).batches
        for output, port, *values in zip(graph.outputs, ports, wanted, ours, strict=True):
            assert same(values[1], values[0]), f"script, batch {number}, {output}"
            assert same(shown[port].arrays(), values[0]), f"preview, batch {number}, {output}"


@pytest.mark.thorough
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_fed_from_outside_is_refused_with_the_reason(name: str) -> None:
    make, arguments = REFUSED[name]
    (entry,) = from_file(SCRIPTS / f"{name}.py", make, arguments).report.opaque
    assert "pass dtype and ndim to fn.external_source" in entry.why


_CHANGING = """
import threading

import numpy as np
from nvidia.dali import fn, pipeline_def

class Draws:
    def __init__(self, held):
        self.held = held

    def __call__(self):
        return np.zeros((2, 3), np.uint8)

@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def pipe():
{lines}
    return fn.external_source(source=Draws(held))
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("lines", "repeated"),
    [
        ("held = np.zeros(30000)\nheld[3] = 1", True),
        ("held = np.zeros(30000)\nif len(held) > 5:\n    held = held + 1", True),
        ("held = [str(n) for n in range(9000)]\nkept = held[:2]\nheld.reverse()", True),
        ("held = [str(n) for n in range(90)]", True),
        ("held = np.random.default_rng(3)", True),
        ("held = np.random.default_rng(3)\nfirst = held.random()", False),
        ("held = np.random.default_rng().random(30000)", False),
        ("at = 1\nheld = threading.Lock()", True),
        ("held = threading.Lock()\nheld = threading.Lock()", False),
    ],
)
def test_statements_are_repeated_only_if_they_create_the_same_value(
    lines: str, repeated: bool, tmp_path: Path
) -> None:
    path = tmp_path / "changing.py"
    path.write_text(_CHANGING.format(lines=indent(lines, "    ")))
    found = from_file(path, "pipe")
    assert bool(found.report.opaque) != repeated
    if repeated:
        (node,) = found.graph.nodes
        assert lines.splitlines()[-1].strip() in str(node.args["source"])
    else:
        (entry,) = found.report.opaque
        assert "held changes after it was created, or differs each time" in entry.why


@pytest.mark.thorough
def test_values_of_another_cell_of_a_notebook(tmp_path: Path) -> None:
    first, *rest = _CHANGING.format(lines="    ").split("class Draws")
    sources = ["held = np.arange(60000)", f"class Draws{rest[0]}", "pipe().run()"]
    cells = [{"cell_type": "code", "source": source} for source in (first, *sources)]
    path = tmp_path / "cells.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    (node,) = from_file(path).graph.nodes
    assert sources[0] in str(node.args["source"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("lines", "issue"),
    [
        (
            "held = Draws(0)\nfirst = fn.external_source(lambda: held())",
            "it shares a Draws with make_",
        ),
        ("held = lambda: np.random.rand(2, 3)", "it calls numpy.random.rand: its"),
        ("held = Draws(0)\nheld.held = 5", "'held' of its Draws is set or changed after its cre"),
        ("Draws.size = 5\nheld = Draws(0)", "'size' of its Draws is set or changed after its cr"),
        (
            "held = (lambda: lambda: np.zeros((2, 3)))()",
            "is created in a pipeline function with enable_conditionals=True; create it outside",
        ),
    ],
)
def test_what_a_node_cannot_repeat_is_reported(lines: str, issue: str, tmp_path: Path) -> None:
    text = _CHANGING.format(lines=indent(lines, "    "))
    text = text.replace("Draws(held))", "held)" + ", first" * ("first" in lines))
    if "enable" in issue:
        text = text.replace("device_id=None", "device_id=None, enable_conditionals=True")
    path = tmp_path / "reported.py"
    path.write_text(text)
    (entry,) = from_file(path, "pipe").report.entries
    assert issue in entry.why


def test_a_decorated_source_is_decorated_once(tmp_path: Path) -> None:
    path = tmp_path / "decorated.py"
    path.write_text(
        """
import numpy as np
from nvidia.dali import fn, pipeline_def


def doubled(function):
    return lambda number: [2 * each for each in function(number)]


@doubled
def numbers(number):
    return [np.array([number])] * 2


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def pipe():
    return fn.external_source(source=numbers)
"""
    )
    graph = from_file(path, "pipe").graph
    trust_graph(graph)
    assert graph.batch(2)["values"].tolist() == [[4], [4]]
