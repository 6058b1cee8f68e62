"""``shuffle_after_epoch``: the order follows the seed, and is that of the preview."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.helpers import import_script
from workbench.emit.targets import export
from workbench.errors import GraphExportError
from workbench.graph import Graph
from workbench.graph.edits.edit import set_setting

BATCHES = 5
"""In an epoch of 20 images."""


@pytest.fixture(scope="module")
def greys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 images, each of one value: its number."""
    folder = tmp_path_factory.mktemp("greys")
    (folder / "all").mkdir()
    for number in range(20):
        image = Image.fromarray(np.full((8, 8, 3), number, np.uint8))
        image.save(folder / "all" / f"{number:02}.png")
    return folder


def shuffled(data: Path, pipelines: int = 1) -> Graph:
    graph = wb.read(data, shuffle_after_epoch=True).decode().resize(size=(8, 8))
    return set_setting(graph, batch_size=4, num_threads=1, pipelines=pipelines)


def values(images: Any) -> list[int]:
    return [int(np.asarray(image).flat[0]) for image in images]


def in_script(graph: Graph, data: Path, folder: Path, batches: int, **options: Any) -> Any:
    module: Any = import_script(wb.export(graph, "script").main.text, folder)
    if hasattr(module, "build_pipelines"):
        stream = module.in_turns(module.build_pipelines(str(data), **options))
        return [values(images.as_cpu()) for (images, *_) in islice(stream, batches)]
    pipe = module.build_pipeline(str(data), **options)
    return [values(pipe.run()[0].as_cpu()) for _ in range(batches)]


@pytest.mark.parametrize("pipelines", [1, 2])
def test_the_order_of_each_epoch_is_that_of_the_preview(
    pipelines: int, greys: Path, tmp_path: Path, engine: wb.Engine
) -> None:
    graph = shuffled(greys, pipelines)
    script = in_script(graph, greys, tmp_path, 3 * BATCHES)
    for batch in (0, 1, BATCHES, 3 * BATCHES - 1):
        request = wb.PreviewRequest(graph, str(greys), batch=batch, tiles=4)
        images = next(iter(wb.preview_outputs(engine, request).arrays.values()))
        assert values(images) == script[batch], batch


def test_the_order_follows_the_seed(greys: Path, tmp_path: Path) -> None:
    one, other = (
        in_script(shuffled(greys), greys, tmp_path, BATCHES, seed=seed) for seed in (1, 2)
    )
    assert one != other
    assert sorted(chain.from_iterable(one)) == sorted(chain.from_iterable(other)) == list(range(20))


@pytest.mark.parametrize("pipelines", [1, 2])
def test_a_resumable_loader_has_the_same_epochs(pipelines: int, greys: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    graph = shuffled(greys, pipelines)
    plain, resumable = (
        [values(images) for images, *_ in wb.loader(graph, greys, epochs=3, **options)]
        for options in ({}, {"resumable": True})
    )
    assert plain == resumable
    epochs = [
        plain[start : start + len(plain) // 3] for start in range(0, len(plain), len(plain) // 3)
    ]
    assert all(sorted(chain.from_iterable(epoch)) == list(range(20)) for epoch in epochs)


@pytest.mark.parametrize("target", ["tensorflow", "dynamic"])
def test_a_target_without_checkpoints_refuses(target: str, greys: Path) -> None:
    with pytest.raises(GraphExportError, match=r"shuffle_after_epoch: .*has no checkpoints"):
        export(shuffled(greys), target)


def test_an_operator_without_checkpoints_is_refused(greys: Path) -> None:
    graph = wb.read(greys, shuffle_after_epoch=True).decode().resize(size=(8, 8)).clahe(
        clip_limit=2.0, tiles_x=2, tiles_y=2
    )  # fmt: skip
    with pytest.raises(GraphExportError, match="DALI cannot checkpoint clahe"):
        export(graph, "pytorch")


def test_an_imported_pipeline_keeps_dalis_seed(greys: Path, tmp_path: Path) -> None:
    text = f"""\
from nvidia.dali import fn, pipeline_def

@pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=1)
def own():
    jpegs, labels = fn.readers.file(file_root={str(greys)!r}, shuffle_after_epoch=True)
    return fn.decoders.image(jpegs), labels
"""
    (tmp_path / "own.py").write_text(text)
    made = wb.from_file(tmp_path / "own.py")
    (source,) = made.document.graph.sources
    assert source.args["shuffle_after_epoch_seed"] == 524_287
    assert "order differs after the first epoch" in str(made.report.entries)
