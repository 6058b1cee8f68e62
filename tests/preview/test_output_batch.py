from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.engine import Engine
from workbench.engine.build.kernel_program import build_pipeline
from workbench.errors import GraphError
from workbench.graph.model import Graph
from workbench.preview import PreviewRequest, preview_outputs
from workbench.sources import open_datasets


@pytest.fixture
def graph(photos: Path) -> Graph:
    drawn = wb.random.uniform(range=(-10, 10))
    made = wb.read(photos).decode().resize(size=(48, 48)).rotate(angle=drawn, keep_size=True)
    return made.with_p(0.5, lambda x: x.noise.gaussian(stddev=9.0)).with_settings(batch_size=6)


@pytest.mark.parametrize("number", [0, 1, 7])
def test_it_is_the_batch_of_the_exported_script(
    graph: Graph, number: int, engine: Engine, photos: Path
) -> None:
    found = preview_outputs(engine, PreviewRequest(graph, photos, number, 6, 8))
    pipe = build_pipeline(graph, open_datasets(photos))
    for _ in range(number + 1):
        images, labels = pipe.run()
    assert np.array_equal(found.images, np.stack([np.asarray(images[i]) for i in range(6)]))
    assert np.array_equal(found.labels, np.stack([np.asarray(labels[i]) for i in range(6)]))
    assert found.images.dtype == np.uint8
    assert found.layouts["images"] == "HWC"
    assert len(found.files) == 6
    assert {*found.draws} == {"angle", "chance"}
    assert all(-10 <= angle <= 10 for angle in found.draws["angle"])


def test_draws_tell_what_automatic_augmentation_did(graph: Graph, engine: Engine) -> None:
    made = graph.with_p(0.5, lambda x: x.rand_augment(n=2, m=9))
    found = preview_outputs(engine, PreviewRequest(made, graph.datasets, 1, 6, 8))
    *_, came = (name for name in found.draws if name.startswith("chance"))
    for drawn, text in zip(found.draws[came], found.draws["rand_augment"], strict=True):
        assert len(text.split(", ")) == 2 if drawn else text == ""
    assert "rand_augment" in found.to_frame()


def test_a_batch_of_many_pictures_shows_itself_in_less_than_100_kb(
    photos: Path, engine: Engine
) -> None:
    graph = wb.read(photos).decode().resize(size=(96, 96)).with_settings(batch_size=16)
    both = wb.outputs(before=graph.images, after=graph.images.flip(), again=graph.images)
    found = preview_outputs(engine, PreviewRequest(both, photos, 0, 16, 8))
    assert len(base64.b64encode(found._repr_mimebundle_()[0]["image/jpeg"])) < 100_000


def test_images_of_several_sizes_are_a_tuple(photos: Path, engine: Engine) -> None:
    graph = wb.read(photos).decode().with_settings(batch_size=64)
    found = preview_outputs(engine, PreviewRequest(graph, photos, 0, 64, 8))
    assert isinstance(found.images, tuple)
    assert "arrays, the first" in repr(found)


def test_it_shows_itself_and_turns_into_others(graph: Graph, engine: Engine, photos: Path) -> None:
    found = preview_outputs(engine, PreviewRequest(graph, photos, 0, 4, 8))
    shown, _ = found._repr_mimebundle_()
    assert shown["image/jpeg"][:2] == b"\xff\xd8"
    assert len(shown["image/jpeg"]) < 100_000
    assert "images: 4×48×48×3 uint8 HWC" in shown["text/plain"]
    torch = pytest.importorskip("torch")
    assert found.to("torch").images.dtype == torch.uint8
    frame = found.to_frame()
    assert list(frame.columns) == ["file", "labels", "angle", "chance"]
    assert {*found} == {"images", "labels"}


def test_what_is_not_there_is_told(graph: Graph, engine: Engine, photos: Path) -> None:
    found = preview_outputs(engine, PreviewRequest(graph, photos, 0, 2, 8))
    with pytest.raises(AttributeError, match="It has images, labels"):
        found.masks  # noqa: B018
    with pytest.raises(ValueError, match="Give one of numpy, torch, jax, cupy"):
        found.to("mxnet")
    with pytest.raises(GraphError):
        preview_outputs(engine, PreviewRequest(graph, photos, -1, 2, 8))
