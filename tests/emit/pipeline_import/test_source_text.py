"""The source of a pipeline: lines of scripts and notebooks, what DALI serialised, and seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.emit.pipeline_import.material import batches
from tests.emit.pipeline_import.traces import FILE, op, place, reader
from workbench.emit.core.seed_sequence import COUNT, assigned_seeds
from workbench.emit.pipeline_import.trace import serialized_pipeline
from workbench.emit.pipeline_import.trace.seeds import Seeds, assign_seeds
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
    assert KNOWN.data_function(READER) == ("find_files", "data")
    assert KNOWN.data_function(FLIP) is None


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
    with pytest.raises(PipelineFormatError, match="not a pipeline serialised by DALI"):
        read_pipeline(data)


def test_a_call_fed_by_nothing_is_refused() -> None:
    data = serialised()
    with pytest.raises(PipelineFormatError, match="no call produces the input of __Rotate"):
        read_pipeline(data.replace(b"\x0a\x0b__Uniform_1\x12", b"\x0a\x0b__Uniform_9\x12", 1))


def test_files_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialized_pipeline, "LARGEST", 100)
    with pytest.raises(PipelineFormatError, match="at most 100 are allowed"):
        read_pipeline(serialised())


NOWHERE = Lines({}, [])


def shared(*ops: TracedOp, pipeline: int | None = None, text: str = "") -> Seeds:
    lines = Lines({FILE: text} if text else {}, ops)
    return assign_seeds(ops, ops, lines, pipeline)


def test_the_smallest_is_the_graphs() -> None:
    seeds = shared(op("A", "a", seed=50), op("B", "b", seed=43), op("C", "c", seed=50))
    assert (seeds.base, seeds.own, seeds.changed) == (43, {"a": 7, "b": 0, "c": 7}, {})


def test_the_pipelines_goes_before() -> None:
    seeds = shared(op("A", "a", seed=50), pipeline=12)
    assert (seeds.base, seeds.own) == (12, {"a": 38})


def test_but_not_where_it_serves_fewer() -> None:
    seeds = shared(op("A", "a", seed=5), op("B", "b", seed=6), pipeline=12)
    assert (seeds.base, seeds.own, seeds.changed) == (5, {"a": 0, "b": 1}, {})


def test_what_the_source_counts_from_goes_before_all() -> None:
    text = "x = fn.a(seed=base + 4)\ny = fn.b(seed=base + 9)\n"
    ops = [
        op("A", "__A_0", seed=104, places=(place(1),)),
        op("B", "__B_1", seed=109, places=(place(2),)),
    ]
    seeds = shared(*ops, text=text, pipeline=7)
    assert (seeds.base, seeds.own) == (100, {"__A_0": 4, "__B_1": 9})


def test_calls_without_a_seed_get_what_dali_draws_for_them() -> None:
    calls = [op("A", "a"), op("B", "b", seed=20), op("C", "c")]
    seeds = shared(*calls, pipeline=9)
    first, second, *_ = assigned_seeds(9)
    assert {name: seeds.base + own for name, own in seeds.own.items()} == {
        "a": first, "b": 20, "c": second,
    }  # fmt: skip
    assert seeds.changed == {}


def test_a_negative_one_is_a_seed_and_cannot_be_held() -> None:
    seeds = shared(op("A", "a", seed=-1), op("B", "b"), pipeline=9)
    assert seeds.base + seeds.own["b"] == assigned_seeds(9)[0]
    assert seeds.changed.keys() == {"a"}


def test_also_where_a_call_between_them_cannot_be_held() -> None:
    calls = [op("A", "a"), op("Opaque", "b"), op("C", "c")]
    seeds = assign_seeds(calls, [calls[2], calls[0]], NOWHERE, 9)
    drawn = assigned_seeds(9)
    assert {name: seeds.base + own for name, own in seeds.own.items()} == {
        "c": drawn[2], "a": drawn[0],
    }  # fmt: skip


def test_without_any_seed_each_gets_its_own_and_is_told_of() -> None:
    seeds = shared(op("A", "a"), op("B", "b", seed=-1), reader("r"))
    assert seeds.base == 42
    assert sorted(seeds.own.values()) == [0, 1, 2]
    assert set(seeds.changed) == {"b"}, "-1 is a seed as any other"
    assert seeds.unseeded == ("a",), "a reader that does not shuffle draws nothing"
    assert shared(reader("r", random_shuffle=True)).unseeded == ("r",)


def test_seeds_out_of_reach_are_changed() -> None:
    seeds = shared(op("A", "a", seed=2**40), op("B", "b", seed=3))
    assert (seeds.base, seeds.own) == (3, {"b": 0, "a": 1})
    assert str(2**40) in seeds.changed["a"]
    assert shared(op("A", "a", seed=2**40), pipeline=2**40).base == 42


# The seeds that DALI assigns to operators, compared with DALI.


def test_the_sequence_is_long_and_has_no_pattern() -> None:
    seeds = assigned_seeds(1234)
    assert len(seeds) == COUNT == len(set(seeds))
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert seeds[:3] == (2101795843, 884893477, 2975149592)


@pytest.mark.parametrize("seed", [0, 1234, 2**31 - 1, 77_777_777_777])
def test_a_pipeline_draws_the_same_with_its_seeds_written_out(photos: Path, seed: int) -> None:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=seed)
    def drawn(one, two, three):
        jpegs, labels = fn.readers.file(file_root=str(photos), random_shuffle=True, **two)
        angle = fn.random.uniform(range=(-30, 30), **one)
        images = fn.rotate(fn.decoders.image(jpegs), angle=angle)
        return angle, labels, fn.random_resized_crop(images, size=32, **three)

    def run(seeds):
        pipe = drawn(*seeds)
        pipe.build()
        return batches(pipe, 2)

    given = [{"seed": number} for number in assigned_seeds(seed)[:3]]
    for left, right in zip(run([{}, {}, {}]), run(given), strict=True):
        for ours, theirs in zip(left, right, strict=True):
            assert all(map(np.array_equal, ours, theirs))
