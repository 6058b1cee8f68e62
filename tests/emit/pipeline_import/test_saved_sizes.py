"""Sizes that a resize saves, and shapes by DALI's older name, as values of ``shape``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from nvidia.dali import Pipeline, fn, types

import workbench as wb
from tests.helpers import arrays_of, same, script_batches


def made(what: str, photos: Path) -> Any:
    pipe = Pipeline(batch_size=4, num_threads=2, device_id=None, seed=3)
    with pipe, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        jpegs, _ = fn.readers.file(file_root=str(photos), name="reader")
        images = fn.decoders.image(jpegs)
        if what == "save_attrs":
            values = fn.resize(images, resize_shorter=64, save_attrs=True)
        else:
            dtype = {"dtype": types.FLOAT} if what == "FLOAT" else {}
            values = [fn.resize(images, resize_shorter=64), fn.shapes(images, **dtype)]
        pipe.set_outputs(*values)
    return pipe


@pytest.mark.parametrize("what", ["save_attrs", "shapes", "FLOAT"])
def test_the_values_are_those_of_the_original(what: str, photos: Path, tmp_path: Path) -> None:
    pipe = made(what, photos)
    found = wb.from_pipeline(pipe)
    assert found.report.is_exact, str(found.report)
    pipe.build()
    for batch in script_batches(found.graph, photos, 2, tmp_path):
        for ours, theirs in zip(batch, pipe.run(), strict=True):
            assert same(ours, arrays_of(theirs))


def test_what_sequences_save_stays_a_call_that_the_graph_cannot_hold() -> None:
    pipe = Pipeline(batch_size=2, num_threads=2, device_id=0)
    with pipe:
        frames = fn.readers.video(filenames=["a.mp4"], sequence_length=3, device="gpu")
        pipe.set_outputs(*fn.resize(frames, resize_shorter=64, save_attrs=True))
    assert "save_attrs" in str(wb.from_pipeline(pipe).report)


def test_shapes_of_images_on_the_gpu_are_copied_there() -> None:
    pipe = Pipeline(batch_size=2, num_threads=2, device_id=0, seed=3)
    with pipe, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        jpegs, _ = fn.readers.file(file_root="photos", name="reader")
        images = fn.decoders.image(jpegs, device="mixed")
        pipe.set_outputs(images, fn.shapes(images), fn.shapes(images, dtype=types.INT32))
    found = wb.from_pipeline(pipe)
    assert found.report.is_exact, str(found.report)
    assert not found.report.faults
    text = wb.export(found.graph).main.text
    assert text.count(".shape()") == 2
    assert text.count(".gpu()") == 2
