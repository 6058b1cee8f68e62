"""Losses planted in the source of a pipeline: each is kept in the graph, or the report names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import workbench as wb

HEAD = """
from nvidia.dali import pipeline_def, fn, types
from nvidia.dali.pipeline import Pipeline
import nvidia.dali.ops as ops
"""
PIPE = (
    HEAD
    + """
@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=1)
def pipe(DEFINED):
    jpegs, labels = fn.readers.file(file_root="photos", name="Reader")
    images = fn.decoders.image(jpegs)
    BODY
"""
)
COUNT = """
class Count(Pipeline):
    def __init__(self, data):
        super().__init__(batch_size=1, num_threads=1, device_id=0)
        self.input = ops.readers.File(file_root=data)
    def define_graph(self):
        return self.input(name="Reader")
"""


def pipe(body: str, defined: str = "", after: str = "") -> str:
    text = PIPE.replace("DEFINED", defined)
    return text.replace("BODY", body.replace("\n", "\n    ")) + after


def args(graph: wb.Graph, op: str) -> dict[str, object]:
    return next(dict(node.args) for node in graph.walk() if node.op == op)


class Loss(NamedTuple):
    text: str
    kept: Callable[[wb.Graph], bool] | None = None
    """Whether the graph has what could be lost; None where it has to be in the report."""
    told: str = ""
    """What the report says; the report is then not exact."""
    name: str | None = None


RESIZED = "return fn.resize(images, size=[64, 48]), labels"
LOSSES = {
    "a helper that the constructor builds": Loss(
        HEAD + COUNT + """
class Train(Pipeline):
    def __init__(self, data):
        super().__init__(batch_size=4, num_threads=2, device_id=0)
        self.input = ops.readers.File(file_root=data)
        self.decode = ops.decoders.Image()
        count = Count(data)
        count.build()
        self.size = count.epoch_size("Reader")
    def define_graph(self):
        jpegs, labels = self.input(name="Reader")
        return self.decode(jpegs), labels
""",
        lambda graph: graph.nodes[-1].op == "decoders.image",
        name="Train",
    ),
    "a helper that a function runs": Loss(
        pipe(RESIZED, after=COUNT + """
def make(data):
    count = Count(data)
    count.build()
    count.run()
    return pipe()
"""),
        lambda graph: args(graph, "resize")["size"] == (64, 48),
        name="make",
    ),
    "a helper at the top": Loss(
        pipe(RESIZED, after=COUNT + "count = Count('photos')\ncount.build()\ncount.run()\n"),
        told="it also defines pipe",
    ),
    "one of two pipelines that a function returns": Loss(
        pipe(RESIZED, after="""
@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def val():
    jpegs, labels = fn.readers.file(file_root="photos")
    return fn.decoders.image(jpegs), labels

def both():
    return [pipe(), val()]
"""),
        told="makes 2 different pipelines",
        name="both",
    ),
    "the pipeline that runs is not the last one built": Loss(
        HEAD + COUNT + """
def loader():
    a = pipe_of(64)
    b = Count("photos")
    a.build()
    b.build()
    from nvidia.dali.plugin.base_iterator import _DaliBaseIterator
    return _DaliBaseIterator([a], reader_name="Reader")

@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def pipe_of(side):
    jpegs, labels = fn.readers.file(file_root="photos", name="Reader")
    return fn.resize(fn.decoders.image(jpegs), size=[side, side]), labels
""",
        lambda graph: args(graph, "resize")["size"] == (64, 64),
        name="loader",
    ),
    "a value of another class's constructor": Loss(
        HEAD + """
class Train(Pipeline):
    def __init__(self, batch_size, data, crop):
        super().__init__(batch_size, 8, 3)
        self.read = ops.readers.File(file_root=data)
        self.decode = ops.decoders.Image()
        self.res = ops.Resize(size=[crop, crop])
    def define_graph(self):
        jpegs, labels = self.read(name="Reader")
        return self.res(self.decode(jpegs)), labels

class Loader:
    def __init__(self, data, crop, batch_size=8):
        self.pipe = Train(batch_size=batch_size, data=data, crop=crop)
""",
        told="crop=224",
    ),
    "a value of a method of the same name": Loss(
        pipe("return fn.resize(images, size=[crop, crop]), labels", "crop", after="""
class Other:
    def pipe(self, crop):
        return crop

value = Other().pipe(999)
"""),
        told="crop=224",
    ),
    "two calls with different values": Loss(
        pipe("return fn.resize(images, size=[side, side]), labels", "side", after="""
if __name__ == "__main__":
    pipe(96)
    pipe(48)
"""),
        told="side=96",
    ),
    "an argument of a statement that fails": Loss(
        pipe("angle = unknown_module_value['angle']\n"
             "return fn.rotate(images, angle=angle), labels"),
        told="angle",
    ),
    "a value that a missing module holds": Loss(
        "import not_installed_here as lib\n"
        + pipe("return fn.rotate(images, angle=lib.ANGLE), labels"),
        told="angle",
    ),
    "a branch that a missing module decides": Loss(
        "import not_installed_here as lib\n"
        + pipe("if lib.TURN:\n    images = fn.rotate(images, angle=10.0)\nreturn images, labels"),
        told="counts as false",
    ),
    "a device": Loss(
        PIPE.replace("device_id=None", "device_id=3").replace("DEFINED", "")
        .replace("BODY", RESIZED),
        told="device_id=3",
    ),
    "a batch size that a graph cannot hold": Loss(
        PIPE.replace("batch_size=4", "batch_size=10**7").replace("DEFINED", "")
        .replace("BODY", RESIZED),
        told="10000000",
    ),
    "a second output": Loss(
        pipe("small = fn.resize(images, size=[16, 16])\nreturn images, small, labels"),
        lambda graph: len(graph.outputs) == 3,
    ),
    "a step that a graph does not hold": Loss(
        pipe("images = fn.python_function(images, function=lambda x: x[::-1])\n"
             "return images, labels"),
        told="opaque",
    ),
    "a second step alike": Loss(
        pipe("images = fn.flip(fn.flip(images, horizontal=1), horizontal=1)\n"
             "return images, labels"),
        lambda graph: args(graph, "repeat")["times"] == 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_a_planted_loss_is_kept_or_reported(loss: Loss, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(loss.text)
    (tmp_path / "photos").mkdir()
    found = wb.from_file(file, loss.name)
    if loss.kept is not None:
        assert loss.kept(found.graph), found.report
    else:
        assert loss.told in str(found.report)
        assert not found.report.is_exact, found.report


def test_a_notebook_of_a_folder_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own folder becomes the current one, so a relative path must be resolved before."""
    (tmp_path / "sub").mkdir()
    cell = {"cell_type": "code", "source": pipe(RESIZED), "metadata": {}, "outputs": []}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "sub" / "x.ipynb").write_text(json.dumps(notebook))
    monkeypatch.chdir(tmp_path)
    assert args(wb.from_file("sub/x.ipynb").graph, "resize")["size"] == (64, 48)
