"""What every kind must do whose reader gives pixels: arrays, volumes, videos and frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import import_script, same, script_batches
from tests.sources.clips import write_clips
from tests.sources.test_kinds import SHORT
from tests.sources.test_numpy_files import a_recipe, slices
from tests.sources.test_video import a_graph
from tests.sources.test_video_frames import sequences
from tests.sources.written_pixels import write_arrays, write_frames, write_volumes
from workbench.bench import Benchmark
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.importing import from_file
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph, Node, Port
from workbench.preview.verify import Verifier
from workbench.sources import load_source, open_datasets

GRAPHS: dict[str, Callable[[], Graph]] = {
    "arrays": a_recipe,
    "volumes": lambda: slices(roi_axes=(0,), roi_start=(1,), roi_shape=(2,)),
    "video": a_graph,
    "frames": lambda: sequences(step=3, pad_mode="edge"),
}


@pytest.fixture(scope="module", params=sorted(GRAPHS))
def written(
    request: pytest.FixtureRequest, photos: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Graph, Path]:
    """A graph of a kind, and data for it."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    if name == "arrays":
        write_arrays(photos, folder)
    else:
        {"volumes": write_volumes, "video": write_clips, "frames": write_frames}[name](folder)
    return with_datasets(GRAPHS[name](), open_datasets(str(folder))), folder


def test_the_preview_is_the_script_to_batch_seven(
    written: tuple[Graph, Path], engine: Engine
) -> None:
    graph, data = written
    found = Verifier(graph, str(data), 8, engine=engine).run()
    assert found.exact, found.lines()


@pytest.mark.gpu
def test_behind_its_pixels_the_work_is_on_the_gpu(
    written: tuple[Graph, Path], engine: Engine
) -> None:
    graph, data = written
    if graph.sources[0].kind == "video":
        pytest.skip("motion JPEG is decoded on the CPU alone; test_video has clips for a GPU")
    graph = replace(graph, settings=replace(graph.settings, device="mixed"))
    found = Verifier(graph, str(data), 8, engine=engine).run()
    assert found.exact, found.lines()
    assert Benchmark(graph, str(data), ["mixed"], measurement_config=SHORT).run().best


def test_it_is_measured(written: tuple[Graph, Path]) -> None:
    graph, data = written
    assert Benchmark(graph, str(data), ["cpu"], measurement_config=SHORT).run().best


def test_the_exported_script_is_imported_back(written: tuple[Graph, Path], tmp_path: Path) -> None:
    graph, _ = written
    path = tmp_path / "pipe.py"
    path.write_text(export(graph, "script", load_catalog()).main.text)
    imported = from_file(path)
    assert not imported.report.faults
    (reader,) = imported.graph.sources
    (wanted,) = graph.sources
    assert (reader.op, reader.kind, reader.args) == (wanted.op, wanted.kind, wanted.args)
    assert len(imported.graph.nodes) == len(graph.nodes)
    assert imported.graph.outputs == graph.outputs


@pytest.mark.thorough
def test_its_pytorch_loader_gives_the_batches_of_the_script(
    written: tuple[Graph, Path], tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    graph, data = written
    name, port = next(iter(graph.outputs.items()))
    if graph.sources[0].kind == "numpy_files":  # PyTorch has no int16 images
        cast = Node("as_float", "cast", {"dtype": "FLOAT"}, {"data": port})
        outputs = {**graph.outputs, name: Port("as_float", "output")}
        graph = replace(graph, nodes=(*graph.nodes, cast), outputs=outputs)
    ((wanted, *_),) = script_batches(graph, data, 1, tmp_path)
    module = import_script(export(graph, "pytorch", load_catalog()).main.text, tmp_path)
    batch = next(iter(module.Loader(module.build_pipeline(str(data)))))
    assert same(list(batch[name].numpy()), wanted)


@pytest.mark.parametrize("target", ["script", "pytorch", "ray", "paddle", "jax", "lightning"])
def test_every_target_imports_what_finding_the_data_needs(
    target: str, written: tuple[Graph, Path]
) -> None:
    graph, _ = written
    text = export(graph, target, load_catalog()).main.text
    for module in load_source(graph.sources[0].kind).imports:
        assert f"\nimport {module}\n" in text
