"""A value of a source that its graph does not hold is never counted as exact."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

import workbench as wb
from workbench.emit.core.python import constant
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.engine.assumed_values.written_calls import MISSING, written_value

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


def test_an_assumed_value_is_in_the_headline(tmp_path: Path) -> None:
    path = _script(
        tmp_path,
        """
        @pipeline_def(batch_size=2, num_threads=1, device_id=None)
        def train(data, crop):
            jpegs, labels = fn.readers.file(file_root=data, name="Reader")
            return fn.resize(fn.decoders.image(jpegs), size=[crop, crop]), labels
        """,
    )
    report = wb.from_file(path).report
    assert not report.is_exact
    assert "2 assumed" in next(report.lines())


def test_a_notebook_is_imported_from_the_folder_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    cell = nbformat.v4.new_code_cell(
        "from nvidia.dali import fn, pipeline_def\n"
        "@pipeline_def(batch_size=2, num_threads=1, device_id=None)\n"
        "def pipe():\n    return fn.readers.file(file_root='d')[0]\n"
    )
    (tmp_path / "sub").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "sub" / "x.ipynb")
    monkeypatch.chdir(tmp_path)
    assert wb.from_file("sub/x.ipynb").graph.name == "pipe"


_CLASSES = """
class Other(Base):
    def __init__(self, size):
        super().__init__(size, 8, 3)
class Loader:
    def __init__(self, data, crop):
        self.pipe = Train(crop=crop)
class Train:
    def __init__(self, crop):
        pass
"""


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("", MISSING),
        ("Loader('d', 64)", 64),
        ("Base.__init__(self, 8, 3)", MISSING),
        ("Loader('d', crop=32)", 32),
    ],
)
def test_values_come_from_calls_of_the_same_class(call: str, value: object) -> None:
    tree = ast.parse(f"{_CLASSES}\n{call}")
    assert written_value("Train", ["crop"], "crop", [tree]) is value or (
        written_value("Train", ["crop"], "crop", [tree]) == value
    )


@pytest.mark.parametrize(
    "name", ["a-b c", "it's, [one]", 'a "quoted" name', "é-è", "a" * 120, "tab\tname\\"]
)
def test_a_wrapped_list_is_the_same_list(name: str) -> None:
    values = [f"/data/{name}/{index}.jpg" for index in range(9)]
    (statement,) = ast.parse("\n".join(constant("FILES", repr(values)))).body
    assert isinstance(statement, ast.Assign)
    assert ast.literal_eval(statement.value) == values
