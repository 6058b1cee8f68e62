"""Labels of every kind of source are one number a sample in the exported loaders."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.sources.written import WRITERS, Photos
from workbench.catalog import load_catalog
from workbench.emit.core.outputs import class_numbers
from workbench.emit.targets import export
from workbench.graph import Graph
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import list_samples, open_dataset

CATALOG = load_catalog()


@pytest.fixture(scope="module")
def photos() -> Photos:
    """Six images, whose labels are 10 to 15."""
    found: Photos = []
    for number in range(6):
        file = io.BytesIO()
        Image.fromarray(np.full((8, 8, 3), number, np.uint8)).save(file, "jpeg")
        found.append((file.getvalue(), 10 + number))
    return found


def graph_of(data: Path) -> Graph:
    return wb.read(data).decode().resize(size=(8, 8)).with_settings(batch_size=4, num_threads=1)


@pytest.mark.parametrize("kind", sorted(set(WRITERS) - {"coco"}))
def test_labels_are_class_numbers(kind: str, photos: Photos, tmp_path: Path) -> None:
    graph = graph_of(WRITERS[kind](photos, tmp_path / "data"))
    assert class_numbers(ResolvedGraph(graph, CATALOG).outputs) == ["labels"]
    for target in ("pytorch", "jax", "keras"):
        assert "LISTS" not in export(graph, target).main.text


def test_labels_of_record_io_come_as_int64(photos: Photos, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    graph = graph_of(WRITERS["record_io"](photos, tmp_path / "data"))
    labels = [labels for _, labels in wb.loader(graph)]
    assert [each.tolist() for each in labels] == [[10, 11, 12, 13], [14, 15]]
    assert {str(each.dtype) for each in labels} == {"torch.int64"}


def test_a_record_with_its_label_after_the_header_has_that_class(
    photos: Photos, tmp_path: Path
) -> None:
    """``im2rec`` can write one label as a list of one."""
    folder = WRITERS["record_io"](photos[:1], tmp_path / "data").parent
    content = struct.pack("<IfQQ", 1, 0.0, 0, 0) + struct.pack("<f", 7.0) + photos[0][0]
    head = struct.pack("<II", 0xCED7230A, len(content))
    (folder / "photos.rec").write_bytes(head + content + bytes(-len(content) % 4))
    (sample,) = list_samples(open_dataset(folder / "photos.rec"))
    assert sample.label == 7
    assert not sample.fault
