"""The source of a pipeline: lines of scripts and notebooks, and what DALI serialised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.emit.pipeline_import.traces import FILE, op, place
from workbench.emit.pipeline_import.trace import serialized_pipeline
from workbench.emit.pipeline_import.trace.serialized_pipeline import read_pipeline, shortest_float32
from workbench.emit.pipeline_import.trace.source_lines import Lines, notebook_of, whole_text
from workbench.emit.pipeline_import.trace.traced import (
    TracedInput,
    TracedOp,
    TracedPipeline,
)
from workbench.errors import PipelineFormatError

SOURCE = """\
@pipeline_def
def pipe(data, base):
    jpegs, labels = fn.readers.file(
        **find_files(data), seed=base, name="reader"
    )
    images = fn.rotate(
        fn.decoders.image(jpegs),
        angle=fn.random.uniform(range=(-1, 1), seed=base + 3),
    )
    left, _ = fn.flip(images), fn.flip(images)
    self.kept = images * 2
    images = fn.flip(images, seed=7)
    if labels:
        pass
    return images.gpu(), labels
"""


def call(display: str, line: int, name: str, outputs: int = 1) -> TracedOp:
    text = SOURCE.splitlines()[line - 1].strip()
    return op("X", name, outputs=outputs, places=(place(line, text),), display=display)


READER = call("file", 3, "reader", 2)
DECODER = call("image", 7, "__Image_0")
UNIFORM = call("uniform", 8, "__Uniform_1")
ROTATE = call("rotate", 6, "__Rotate_2")
PAIR = [call("flip", 10, "__Flip_3"), call("flip", 10, "__Flip_4")]
TIMES = call("mul", 11, "__Mul_5")
FLIP = call("flip", 12, "__Flip_6")
OPS = [READER, DECODER, UNIFORM, ROTATE, *PAIR, TIMES, FLIP]
KNOWN = Lines({FILE: SOURCE}, OPS)
UNKNOWN = Lines({}, OPS)


def test_variables() -> None:
    assert KNOWN.targets(READER) == ("jpegs", "labels")
    assert KNOWN.targets(ROTATE) == ("images",)
    assert KNOWN.targets(TIMES) == ("kept",)
    for inner in (DECODER, UNIFORM, *PAIR):
        assert KNOWN.targets(inner) == ()


def test_variables_as_far_as_single_lines_tell() -> None:
    assert UNKNOWN.targets(READER) == ("jpegs", "labels")
    assert UNKNOWN.targets(ROTATE) == ("images",)
    assert UNKNOWN.targets(UNIFORM) == ("angle",)
    assert UNKNOWN.targets(DECODER) == ()


def test_sources() -> None:
    assert KNOWN.source(ROTATE).startswith("images = fn.rotate(\n")
    assert KNOWN.source(ROTATE).endswith(")")
    assert UNKNOWN.source(ROTATE) == "images = fn.rotate("
    unplaced = op("X", "__X_9")
    assert Lines({}, [unplaced]).source(unplaced) == ""
    branch = call("split", 13, "__Split_7")
    assert Lines({FILE: SOURCE}, [branch]).source(branch) == "if labels:"


def test_seeds_as_they_are_written() -> None:
    assert KNOWN.seed_term(READER) == 0
    assert KNOWN.seed_term(UNIFORM) == 3
    assert KNOWN.seed_term(FLIP) is None
    assert UNKNOWN.seed_term(READER) is None


def test_the_reader_of_our_own_scripts() -> None:
    assert KNOWN.found_by(READER) == ("find_files", "data")
    assert KNOWN.found_by(FLIP) is None


def test_what_is_returned() -> None:
    assert KNOWN.returned(OPS, 2) == ("images", "labels")
    assert KNOWN.returned(OPS, 3) == (None, None, None)
    assert UNKNOWN.returned(OPS, 2) == (None, None)


def test_the_innermost_line_outside_dali() -> None:
    deep = op(
        "X",
        "__X_0",
        places=(
            place(3),
            place(40, function="helper", file="/home/me/helper.py"),
            place(385, function="__add__", file="/lib/nvidia/dali/data_node.py"),
        ),
    )
    found = Lines({}, [deep]).place(deep)
    assert found is not None
    assert (found.file, found.line) == ("/home/me/helper.py", 40)


@pytest.mark.parametrize("text", ["def broken(:", "\0", "(" * 5000, ""])
def test_a_source_that_is_no_python(text: str) -> None:
    lines = Lines({FILE: text}, [ROTATE])
    assert lines.targets(ROTATE) == ("images",)
    assert lines.source(ROTATE) == "images = fn.rotate("


# The cells of a notebook are one source.


def test_a_cell_is_one_of_its_notebook() -> None:
    assert notebook_of("/home/a cell 1/look.ipynb cell 12") == "/home/a cell 1/look.ipynb"
    assert notebook_of("/home/train.py") == ""


def test_what_a_call_can_see_is_the_whole_notebook() -> None:
    sources = {"a.ipynb cell 2": "y = 2", "a.ipynb cell 1": "x = 1", "b.ipynb cell 1": "z = 3"}
    assert whole_text("a.ipynb cell 2", sources) == "x = 1\ny = 2"
    assert whole_text("train.py", {"train.py": "x = 1"}) == "x = 1"
    assert whole_text("other.py", sources) == ""


# What DALI serialised is read as it was written.


def serialised(**settings: Any) -> bytes:
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(**{"batch_size": 3, "num_threads": 7, "device_id": None} | settings)
    def pipe() -> Any:
        jpegs, labels = fn.readers.file(
            file_root="Zürich", random_shuffle=True, seed=-5, name="Reader"
        )
        images = fn.decoders.image(jpegs, output_type=types.GRAY)
        angle = fn.random.uniform(range=(-0.1, 1e-30))
        return fn.rotate(images, angle=angle, fill_value=0.3), labels

    return bytes(pipe().serialize())


def read(**settings: Any) -> TracedPipeline:
    return read_pipeline(serialised(**settings))


def test_calls_and_edges() -> None:
    pipeline = read()
    reader, decoder, angle, rotate = pipeline.ops
    assert (reader.schema, reader.name, reader.display) == ("readers__File", "Reader", "file")
    assert reader.args == {"file_root": "Zürich", "random_shuffle": True, "seed": -5}
    assert reader.module == "nvidia.dali.fn.readers"
    assert decoder.args == {"output_type": 2}
    assert angle.args == {"range": (-0.1, 1e-30)}
    assert rotate.args == {"fill_value": 0.3}
    assert rotate.inputs == (
        TracedInput(decoder.outputs[0][0], "cpu"),
        TracedInput(angle.outputs[0][0], "cpu", "angle"),
    )
    assert [edge.edge for edge in pipeline.outputs] == [rotate.outputs[0][0], "Reader[1]"]


def test_places() -> None:
    rotate = read().ops[-1]
    place = rotate.places[-1]
    assert place.file == __file__
    assert place.function == "pipe"
    assert place.text.startswith("return fn.rotate(")
    with open(__file__) as source:
        assert source.read().splitlines()[place.line - 1].strip() == place.text


def test_settings() -> None:
    usual = read()
    assert (usual.batch_size, usual.num_threads, usual.prefetch_queue_depth) == (3, 7, 2)
    assert (usual.seed, usual.device_id) == (None, None)
    given = read(seed=99, prefetch_queue_depth=5)
    assert (given.seed, given.prefetch_queue_depth) == (99, 5)
    assert read(seed=-1).seed is None


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_are_the_shortest_of_the_same_float32(value: float) -> None:
    short = shortest_float32(value)
    assert np.float32(short) == np.float32(value)
    assert len(repr(short)) <= len(repr(value))
    assert shortest_float32(float(np.float32(0.1))) == 0.1


@pytest.mark.parametrize("data", [b"", b"\x08\x01", b"PK\x03\x04", b"\xff" * 50, bytes(1000)])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(PipelineFormatError, match="not a pipeline that DALI serialised"):
        read_pipeline(data)


def test_a_call_fed_by_nothing_is_refused() -> None:
    data = serialised()
    with pytest.raises(PipelineFormatError, match="nothing makes what __Rotate"):
        read_pipeline(data.replace(b"\x0a\x0b__Uniform_1\x12", b"\x0a\x0b__Uniform_9\x12", 1))


def test_files_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialized_pipeline, "LARGEST", 100)
    with pytest.raises(PipelineFormatError, match="100 are the limit"):
        read_pipeline(serialised())
