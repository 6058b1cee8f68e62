"""What DALI serialised is read as it was written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.emit.pipeline_import.trace import serialized_pipeline
from workbench.emit.pipeline_import.trace.serialized_pipeline import read_pipeline, shortest_float32
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedPipeline
from workbench.errors import PipelineFormatError


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
