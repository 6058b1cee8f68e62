"""Datasets whose samples have more than an image and a label: each named field is an output."""

from __future__ import annotations

import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.helpers import import_script
from workbench.engine import Engine
from workbench.preview.verify import Verifier
from workbench.sources.kinds.memory_fields import field_array

Row = namedtuple("Row", "image label weight")


def pixels(at: int) -> Any:
    return np.full((8, 8, 3), at, np.uint8)


class Rows:
    """Seven samples in the form that ``shape`` names."""

    def __init__(self, shape: str = "dict") -> None:
        self.shape, self.read = shape, 0

    def __len__(self) -> int:
        return 7

    def __getitem__(self, at: int) -> Any:
        self.read += 1
        crops = np.zeros((at, 4), np.float32)
        match self.shape:
            case "dict":
                found = {
                    "image": pixels(at),
                    "label": at % 2,
                    "weight": at / 2,
                    "path": f"{at}.jpg",
                }
                return {**found, "crops": crops, "second": Image.fromarray(pixels(9 - at))}
            case "named tuple":
                return Row(pixels(at), at % 2, at / 2)
            case "target":
                return pixels(at), {"weight": at / 2, "labels": np.arange(at)}
        return pixels(at), at % 2, at / 2


@pytest.mark.parametrize("shape", ["dict", "named tuple", "target", "tuple"])
def test_a_field_is_named_in_every_form_of_a_row(engine: Engine, shape: str) -> None:
    graph = wb.read(Rows(shape), features=["weight"]).with_settings(batch_size=3)
    batch = graph.batch(1)
    assert [float(each[0]) for each in batch["weight"]] == [1.5, 2, 2.5]


def test_eight_batches_of_fields_are_those_of_the_script(engine: Engine) -> None:
    rows = Rows()
    graph = wb.read(rows, features=["crops", "path", "second"], random_shuffle=True)
    images = graph.jpegs.decoders.image().resize(size=(6, 6))
    second = graph.second.decoders.image()
    graph = wb.outputs(images=images, crops=graph.crops, path=graph.path, second=second)
    graph = graph.with_settings(batch_size=3)
    report = Verifier(graph, graph.datasets or {}, 8, engine=engine).run()
    assert report.lines() == ["identical: 24 of 24"]
    assert rows.read < 30  # each row once, and the first rows to test them


def test_boxes_of_a_field_have_a_declared_format() -> None:
    rows = [{"image": pixels(1), "boxes": np.float32([[0, 0, 4, 2]])}] * 3
    graph = wb.read(rows, features=["boxes"]).decode().flip()
    graph = graph.with_settings(batch_size=3)
    with pytest.raises(wb.GraphFaultsError, match="Set it to one of relative xywh, relative"):
        graph.batch(0)
    batch = graph["follow_boxes"].set(format="absolute ltrb").batch(0)
    assert batch.boxes[0].tolist() == [[4, 0, 8, 2]]


@pytest.mark.thorough
def test_a_loader_returns_the_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    graph = wb.read(Rows(), features=["weight"]).decode().resize(size=(6, 6))
    text = wb.export(graph.with_settings(batch_size=4), "pytorch").main.text
    monkeypatch.setitem(sys.modules, "rows_of_a_test", sys.modules[__name__])
    program = import_script(text, tmp_path)
    loader = program.Loader(program.build_pipeline("rows_of_a_test:Rows"))
    found = [batch["weight"].reshape(-1).tolist() for batch in loader]
    assert found == [[0, 0.5, 1, 1.5], [2, 2.5, 3]]


@pytest.mark.parametrize(
    ("shape", "features", "said"),
    [
        ("dict", ["depth"], "Sample 0 of Rows: it has no field 'depth'. It has image, label"),
        ("tuple", ["a", "b", "c"], "it has 2 parts after the image, but 3 names: 'a', 'b', 'c'"),
        ("dict", ["image size"], "'image size' cannot be the name of an output"),
    ],
)
def test_a_wrong_name_is_said(shape: str, features: list[str], said: str) -> None:
    with pytest.raises(wb.DataError) as raised:
        wb.read(Rows(shape), features=features)
    assert said in str(raised.value)


def test_values_become_arrays_of_their_type() -> None:
    assert field_array("a.jpg").tobytes() == b"a.jpg"
    assert (field_array([0.5]).dtype, field_array(3).shape) == (np.float32, (1,))
    assert field_array(np.float64([0.5])).dtype == np.float64
    with pytest.raises(ValueError, match="its type is object"):
        field_array([None])
