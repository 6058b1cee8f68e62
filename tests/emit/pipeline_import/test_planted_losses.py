"""Losses planted in the source of a pipeline: each is in the graph, or the report names it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, NamedTuple

import pytest

import workbench as wb
from workbench.emit.core.python import constant
from workbench.emit.pipeline_import.graph import ImportedGraph, with_report
from workbench.emit.targets import export
from workbench.engine.importing import from_file
from workbench.graph import load_graph, load_recipe
from workbench.graph.edits.edit import rename_node
from workbench.graph.storage.import_report import ImportIssue, ImportReport, report_from_json
from workbench.graph.storage.io import dump_json, graph_to_json, parse_json
from workbench.graph.storage.layout import Document, dump_document, load_document

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
    """Whether the graph has what could be lost; None if it has to be in the report."""
    told: str = ""
    """What the report says; the report is then not exact."""
    name: str | None = None
    args: Mapping[str, object] = {}
    refused: str = ""
    """What the error says if the pipeline cannot be imported."""


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
        args={"data": "photos"},
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
        args={"data": "photos"},
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
        told="creates 2 different pipelines",
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
        refused="--arg crop=...",
    ),
    "a value of a method of the same name": Loss(
        pipe("return fn.resize(images, size=[crop, crop]), labels", "crop", after="""
class Other:
    def pipe(self, crop):
        return crop

value = Other().pipe(999)
"""),
        refused="--arg crop=...",
    ),
    "two calls with different values": Loss(
        pipe("return fn.resize(images, size=[side, side]), labels", "side", after="""
if __name__ == "__main__":
    pipe(96)
    pipe(48)
"""),
        refused="--arg side=...",
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
        lambda graph: sum(node.op == "flip" for node in graph.walk()) == 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_a_planted_loss_is_kept_or_reported(loss: Loss, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(loss.text)
    (tmp_path / "photos").mkdir()
    if loss.refused:
        with pytest.raises(wb.ImportFailedError, match=re.escape(loss.refused)):
            wb.from_file(file, loss.name)
        return
    found = wb.from_file(file, loss.name, loss.args)
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


# A value of a source that its graph does not hold is never counted as exact.

_TFRECORD = "fn.readers.tfrecord(path=['a.tfrecord'], index_path=['a.idx'], features={features})"
_IMAGE = "'image/encoded': tfrec.FixedLenFeature((), tfrec.string, '')"

LOST = {
    "numpy files": "return fn.readers.numpy(files=['a.npy', 'b.npy'])",
    "numpy one file": "return fn.readers.numpy(files=['a.npy'])",
    "numpy root and files": "return fn.readers.numpy(file_root='d', files=['a.npy', 'b.npy'])",
    "numpy filter": "return fn.readers.numpy(file_root='d', file_filter='*_x.npy')",
    "numpy list": "return fn.readers.numpy(file_root='d', file_list='l.txt')",
    "numpy root": "return fn.readers.numpy(file_root='d')",
    "numpy roi": "return fn.readers.numpy(file_root='d', roi_start=[0, 0], roi_shape=[8, 8])",
    "numpy two lists": (
        "return fn.readers.numpy(files=['a.npy']), fn.readers.numpy(files=['b.npy'])"
    ),
    "numpy two roots": ("return fn.readers.numpy(file_root='a'), fn.readers.numpy(file_root='b')"),
    "numpy two filters": (
        "return (fn.readers.numpy(file_root='d', file_filter='i*'),"
        " fn.readers.numpy(file_root='d', file_filter='m*'))"
    ),
    "record feature": f"""
        x = {_TFRECORD.format(features="{" + _IMAGE + "}")}
        return fn.decoders.image(x['image/encoded'])""",
    "record other feature": """
        x = fn.readers.tfrecord(path='a', index_path='i', features={
            'depth/encoded': tfrec.FixedLenFeature((), tfrec.string, ''),
            'image/encoded': tfrec.FixedLenFeature((), tfrec.string, '')})
        return fn.decoders.image(x['depth/encoded'])""",
    "record label": f"""
        x = fn.readers.tfrecord(path='a', index_path='i', features={{{_IMAGE},
            'fine/label': tfrec.FixedLenFeature([1], tfrec.int64, -1)}})
        return fn.decoders.image(x['image/encoded']), x['fine/label']""",
    "record varlen": f"""
        x = fn.readers.tfrecord(path='a', index_path='i', features={{{_IMAGE},
            'bbox/xmin': tfrec.VarLenFeature(tfrec.float32, 0.0)}})
        return fn.decoders.image(x['image/encoded']), x['bbox/xmin']""",
    "video files": (
        "return fn.readers.video(filenames=['a.mp4', 'b.mp4'], sequence_length=8, device='gpu')"
    ),
    "video list": (
        "return fn.readers.video(file_list='l.txt', sequence_length=8, device='gpu')[0]"
    ),
    "video normalised": (
        "return fn.readers.video(filenames=['a.mp4'], sequence_length=8, device='gpu',"
        " normalized=True)"
    ),
    "arrays from outside": "return fn.external_source(name='x')",
    "arrays from outside, resized": "return fn.resize(fn.external_source(name='x'), size=[8, 8])",
    "arrays and encoded": """
        x = fn.external_source(name='x')
        return fn.decoders.image(x), fn.cast(x, dtype=types.FLOAT)""",
    "sizes next to images": """
        x = fn.external_source(name='x')
        return fn.resize(fn.decoders.image(x), size=fn.external_source(name='size'))""",
    "python source": "return fn.external_source(source=lambda: [0], num_outputs=1)[0]",
}
"""Bodies of pipelines that a graph cannot hold completely."""

KEPT: dict[str, tuple[str, str, object]] = {
    "file files": (
        "return (*fn.readers.file(files=['a.jpg', 'b.jpg']),)",
        "files",
        ("a.jpg", "b.jpg"),
    ),
    "file list": (
        "return (*fn.readers.file(file_root='d', file_list='l.txt'),)",
        "file_list",
        "l.txt",
    ),
    "file filter": (
        "return (*fn.readers.file(file_root='d', file_filters=['*.x']),)",
        "file_filters",
        ("*.x",),
    ),
    "coco file": (
        "return (*fn.readers.coco(file_root='d', annotations_file='a.json'),)",
        "annotations_file",
        "a.json",
    ),
    "shuffle": (
        "return (*fn.readers.file(files=['a'], random_shuffle=True),)",
        "random_shuffle",
        True,
    ),
    "labels": ("return (*fn.readers.file(files=['a', 'b'], labels=[3, 1]),)", "labels", (3, 1)),
}


def _imported(body: str) -> ImportedGraph:
    namespace: dict[str, Any] = {}
    text = (
        "from nvidia.dali import fn, types, pipeline_def\n"
        "import nvidia.dali.tfrecord as tfrec\n"
        "@pipeline_def(batch_size=2, num_threads=1, device_id=0, seed=1)\n"
        f"def pipe():\n{indent(dedent(body).strip(), '    ')}\n"
    )
    exec(text, namespace)
    return wb.from_pipeline(namespace["pipe"]())


@pytest.mark.parametrize("name", LOST)
def test_a_lost_value_is_reported_at_its_node(name: str) -> None:
    report = _imported(LOST[name]).report
    assert not report.is_exact
    assert any(each.node for each in report.entries)
    assert report.headline.startswith("partly: ")


@pytest.mark.parametrize("name", ["numpy two lists", "numpy two roots", "numpy two filters"])
def test_readers_of_different_data_stay_two(name: str) -> None:
    sources = _imported(LOST[name]).graph.sources
    assert len({each.dataset for each in sources}) == 2


@pytest.mark.parametrize("name", KEPT)
def test_an_argument_is_kept_or_reported(name: str) -> None:
    body, argument, value = KEPT[name]
    found = _imported(body)
    held = [node.args[argument] for node in found.graph.walk() if argument in node.args]
    assert held == [value] or not found.report.is_exact


def _script(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(
        "from nvidia.dali import fn, pipeline_def\nfrom nvidia.dali.pipeline import Pipeline\n"
        "import nvidia.dali.ops as ops\n" + dedent(text)
    )
    return path


def test_a_helper_made_by_the_pipeline_is_not_imported(tmp_path: Path) -> None:
    path = _script(
        tmp_path,
        """
        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def count():
            return fn.readers.file(file_root="counted", name="Reader")

        @pipeline_def(batch_size=2, num_threads=1, device_id=None)
        def train():
            helper = count()
            helper.build()
            size = helper.epoch_size("Reader")
            jpegs, labels = fn.readers.file(file_root="trained", name="Reader")
            return fn.resize(fn.decoders.image(jpegs), size=[8, 8]), labels
        """,
    )
    found = wb.from_file(path, "train")
    assert found.data == "trained"
    assert [node.op for node in found.graph.walk()][-1] == "resize"


def test_the_class_that_is_named_is_imported(tmp_path: Path) -> None:
    path = _script(
        tmp_path,
        """
        class Train(Pipeline):
            def __init__(self):
                super().__init__(2, 1, 0)
                class Count(Pipeline):
                    def define_graph(self):
                        return ops.readers.File(file_root="counted")(name="Reader")
                count = Count(1, 1, 0)
                count.build()
                self.size = count.reader_meta("Reader")
                self.read = ops.readers.File(file_root="trained")
            def define_graph(self):
                return self.read(name="Reader")
        """,
    )
    assert wb.from_file(path, "Train").data == "trained"


@pytest.mark.parametrize(
    "name", ["a-b c", "it's, [one]", 'a "quoted" name', "é-è", "a" * 120, "tab\tname\\"]
)
def test_a_wrapped_list_is_the_same_list(name: str) -> None:
    values = [f"/data/{name}/{index}.jpg" for index in range(9)]
    (statement,) = ast.parse("\n".join(constant("FILES", repr(values)))).body
    assert isinstance(statement, ast.Assign)
    assert ast.literal_eval(statement.value) == values


COMPOSITION = """\
from torchvision import transforms as T
train = T.Compose([
    T.Resize((32, 32)),
    T.RandomPerspective(),
])
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "compose.py"
    path.write_text(COMPOSITION)
    return path


def test_the_report_is_in_the_graph_file_and_follows_a_rename(script: Path) -> None:
    script.write_text(COMPOSITION.replace("32))", "32), interpolation=4)"))
    found = from_file(script)
    document = load_document(dump_document(found.document))
    assert document == found.document
    assert document.report == found.report
    changed, lost = found.report.entries
    assert (changed.kind, changed.node, changed.made) == ("changed", "Resize", "resize")
    assert (lost.kind, lost.node, lost.made) == ("refused", "RandomPerspective", "")
    renamed = document.renamed(rename_node(document.graph, "resize", "small"), "resize", "small")
    assert renamed.report is not None
    assert renamed.report.entries[0].made == "small"
    assert renamed.report.changed_nodes == ("small",)
    assert renamed.with_graph(load_recipe("rotate-jitter")).report == renamed.report


def test_the_report_is_no_part_of_the_graph(script: Path) -> None:
    document = from_file(script).document
    text = dump_document(document)
    assert "import_report" in text
    assert load_graph(text) == document.graph == load_document(text).graph
    older = parse_json(text)
    del older["import_report"]
    assert load_document(dump_json(older)) == replace(document, report=None)


@pytest.mark.parametrize(
    "data",
    [
        *(None, [], "exact", 5),
        {"exact": "reader"},
        {"exact": ["reader", 5]},
        {"notes": ["\ud800"]},
        {"assumed": ["crop", "224"]},
        {"assumed": {"crop": {"nested": 1}}},
        {"issues": [{"kind": "__class__", "node": "reader", "why": "no such kind"}]},
        {"issues": [{"kind": [], "node": "reader"}]},
        {"issues": [{"kind": "changed", "node": ["reader"]}, {"kind": "changed", "why": "well"}]},
        {"issues": ["changed"]},
    ],
)  # fmt: skip
def test_a_report_that_cannot_be_read_is_ignored_and_the_graph_is_kept(data: Any) -> None:
    graph = load_recipe("rotate-jitter")
    found = load_document(dump_json(graph_to_json(graph) | {"import_report": data}))
    assert found == Document(graph)


def test_what_a_later_version_adds_to_a_report_is_ignored() -> None:
    data = {"exact": ["reader"], "issues": [{"kind": "changed", "why": "w", "later": 1}], "more": 2}
    assert report_from_json(data) == ImportReport(
        ("reader",), (ImportIssue("changed", "", "", "w"),)
    )


def test_the_exported_program_says_so_and_an_import_of_it_does_not_repeat_it(
    script: Path, tmp_path: Path
) -> None:
    made = tmp_path / "pipe.py"
    made.write_text(export(from_file(script).graph).main.text)
    assert made.read_text().startswith('"""Imported partly: 1 omitted.\n')
    again = from_file(made, args={"data": "photos"})
    assert again.graph.about == "Imported partly: 1 omitted."


def test_the_sentence_of_the_graph_is_that_of_the_last_import() -> None:
    document = Document(load_recipe("rotate-jitter"))
    assert with_report(document, ImportReport()).graph is document.graph
    issues = tuple(ImportIssue("changed", f"node_{n}", "", "reason") for n in range(20))
    found = with_report(document, ImportReport(entries=issues))
    about = document.graph.about
    assert found.graph.about == f"{about} Imported partly: 20 changed."
    fewer = with_report(found, ImportReport(entries=issues[:2], assumed={"crop": "224"}))
    assert fewer.graph.about == f"{about} Imported partly: 2 changed, 1 assumed."


# The report says what came across and what did not, in few lines.


def test_lines() -> None:
    report = ImportReport(
        exact=("reader",),
        entries=(
            ImportIssue("refused", "", "", "batch_size: too large"),
            *(
                ImportIssue("opaque", f"split_{n}", "t.py:3", "fn.split: no conditions")
                for n in range(5)
            ),
            ImportIssue("opaque", "other", "t.py:4", "fn.split: no conditions"),
            ImportIssue("changed", "angle", "", "it had no seed"),
        ),
        faults=(ImportIssue("fault", "rotate", "t.py:9", "angle: needs it"),),
        notes=("name the folder",),
    )
    assert str(report).splitlines() == [
        "partly: 1 of 8 steps exact, 1 changed, 6 opaque, 1 omitted",
        "omitted  batch_size: too large",
        "opaque   split_0, split_1, split_2 and 2 more (t.py:3): fn.split: no conditions",
        "opaque   other (t.py:4): fn.split: no conditions",
        "changed  angle: it had no seed",
        "fault    rotate (t.py:9): angle: needs it",
        "note     name the folder",
    ]
    assert not report.is_exact
    assert [entry.node for entry in report.changed] == ["angle"]
    assert len(report.opaque) == 6
    assert len(report.refused) == 1


def test_what_was_assumed_is_named_with_how_to_give_another() -> None:
    values = {"crop": "224", "mean": "[0.5, 0.5, 0.5]"}
    report = ImportReport(exact=("reader",), assumed=values, notes=("name the folder",))
    assert str(report).splitlines()[1:] == [
        "assumed  crop=224, mean=[0.5, 0.5, 0.5]",
        "         set others by --arg crop=... --arg mean=...",
        "note     name the folder",
    ]
    assert not report.is_exact
    assert report.headline == "partly: 1 of 1 steps exact, 2 assumed"
    assert list(report.to_frame().why) == ["crop=224", "mean=[0.5, 0.5, 0.5]"]
    many = {f"a{n}": str(n) for n in range(8)}
    lines = str(ImportReport(assumed=many)).splitlines()[1:]
    assert lines == [
        "assumed  a0=0, a1=1, a2=2, a3=3, a4=4, a5=5",
        "assumed  a6=6, a7=7",
        "         set others by --arg a0=... --arg a1=... --arg a2=... and so on",
    ]


def test_all_of_it() -> None:
    report = ImportReport(exact=("reader",))
    assert report.is_exact
    assert str(report) == "1 of 1 steps exact"
