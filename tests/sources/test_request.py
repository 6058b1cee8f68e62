"""Requests: imported from a model of Triton, previewed with samples, and exported as its input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nvidia.dali import fn, pipeline_def, types

import workbench as wb
from tests.helpers import import_script, same, script_batches
from tests.sources.clips import write_clips
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.importing import from_file, from_pipeline
from workbench.errors import DataError, GraphExportError, PipelineError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.variants.source_annotations import with_opened
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.sources import list_samples, open_dataset, open_datasets


@pipeline_def(batch_size=4, num_threads=1, device_id=None)
def serve() -> Any:
    """As in the examples of Triton's DALI backend."""
    encoded = fn.external_source(device="cpu", name="DALI_INPUT_0")
    images = fn.decoders.image(encoded, device="cpu")
    images = fn.resize(images, size=[64, 64])
    return fn.crop_mirror_normalize(images, dtype=types.FLOAT, mean=[123.0], std=[58.0])


@pytest.fixture(scope="module")
def imported() -> Graph:
    found = from_pipeline(serve())
    assert found.report.is_exact
    return found.graph


def test_the_input_of_a_model_is_a_request(imported: Graph) -> None:
    (source,) = imported.sources
    assert (source.id, source.op, source.kind) == ("DALI_INPUT_0", "request", "request")
    assert check_graph(imported, load_catalog()) == ()


def test_samples_of_a_folder_stand_for_requests(
    imported: Graph, engine: Engine, photos: Path, tmp_path: Path
) -> None:
    data = open_datasets(photos)
    shown = preview_batch(engine, PreviewRequest(imported, data, tiles=4))
    assert [tile.sample.file for tile in shown.tiles] == [
        f"astronaut/astronaut_0{n}.jpg" for n in (1, 2, 3, 4)
    ]
    assert Verifier(imported, data, 2).run().identical == 8


def test_triton_is_given_what_the_preview_reads(
    imported: Graph, photos: Path, tmp_path: Path
) -> None:
    files = {name: code.text for name, code in export(imported, "triton").files.items()}
    config = next(text for name, text in files.items() if name.endswith("config.pbtxt"))
    assert 'name: "DALI_INPUT_0"' in config
    assert 'INPUT = "DALI_INPUT_0"' in files["client.py"]
    model = next(text for name, text in files.items() if name.endswith("dali.py"))
    script = import_script(model, tmp_path)
    (name,) = (name for name in vars(script) if name.endswith("_pipeline"))
    pipe = getattr(script, name)()
    samples = list(list_samples(open_dataset(photos)))[:4]
    pipe.feed_input("DALI_INPUT_0", [np.fromfile(each.path, np.uint8) for each in samples])
    (given,) = pipe.run()
    ((expected,),) = script_batches(imported, photos, 1, tmp_path)
    assert same([np.asarray(each) for each in given], expected)


def test_a_folder_of_a_recipe_becomes_a_request(photos: Path) -> None:
    graph, data = load_recipe("rotate-jitter"), open_datasets(f"request:{photos}")
    with pytest.raises(DataError, match="uses 'labels' of this source"):
        with_datasets(graph, data)
    opened = with_opened(graph, data, load_catalog())
    assert [source.kind for source in opened.sources] == ["request"]
    assert "labels" not in opened.outputs


def test_dali_does_not_feed_one_in_its_dynamic_mode(imported: Graph) -> None:
    with pytest.raises(GraphExportError, match="request"):
        export(imported, "dynamic")


@pytest.mark.parametrize("given", [{"ndim": 3}, {"layout": "HWC"}, {"dtype": types.UINT8}])
def test_arrays_without_a_declared_type_are_no_request(given: dict[str, Any]) -> None:
    @pipeline_def(batch_size=4, num_threads=1, device_id=None)
    def arrays() -> Any:
        return fn.resize(fn.external_source(name="images", **given), size=[64, 64])

    found = from_pipeline(arrays())
    assert not found.graph.sources
    assert "have no declared type: pass dtype and ndim" in found.report.opaque[0].why


def served_models(graph: Graph, folder: Path) -> tuple[Any, Mapping[str, str]]:
    """The pipeline of the exported model, and all exported files."""
    files = {Path(name).name: code.text for name, code in export(graph, "triton").files.items()}
    script = import_script(files["dali.py"], folder)
    (name,) = (name for name in vars(script) if name.endswith("_pipeline"))
    return getattr(script, name)(prefetch_queue_depth=1), files


def test_images_and_sizes_from_outside_are_two_requests(engine: Engine, tmp_path: Path) -> None:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def arrays() -> Any:
        images = fn.external_source(name="PIXELS", dtype=types.UINT8, layout="HWC")
        size = fn.external_source(name="SIZE", dtype=types.FLOAT, ndim=1)
        return fn.resize(images, size=size)

    found = from_pipeline(arrays())
    assert found.report.is_exact
    assert [source.args["shape"] for source in found.graph.sources] == [(-1, -1, -1), (-1,)]
    pixels, sizes = tmp_path / "pixels", tmp_path / "sizes"
    values = np.random.default_rng(0)
    for number in range(3):
        for folder, array in (
            (pixels, values.integers(0, 256, (20 + number, 30, 3), np.uint8)),
            (sizes, np.array([10 + number, 12], np.float32)),
        ):
            folder.mkdir(exist_ok=True)
            np.save(folder / f"{number}.npy", array)
    data = open_datasets({"data": str(pixels), "data_size": f"array_request:{sizes}"})
    shown = preview_batch(engine, PreviewRequest(found.graph, data, tiles=2))
    assert [tile.shape for tile in shown.tiles] == ["10×12×3 u8", "11×12×3 u8"]
    assert Verifier(found.graph, data, 8, engine=engine).run().exact
    pipe, files = served_models(found.graph, tmp_path)
    pipe.feed_input("PIXELS", [np.load(pixels / f"{n}.npy") for n in range(2)])
    pipe.feed_input("SIZE", [np.load(sizes / f"{n}.npy") for n in range(2)])
    (given,) = pipe.run()
    assert [np.asarray(each).shape for each in given] == [(10, 12, 3), (11, 12, 3)]
    assert "data_type: TYPE_FP32\n    dims: [ -1 ]" in files["config.pbtxt"]
    assert '"SIZE": "FP32"' in files["client.py"]
    text = export(found.graph, "script").main.text
    (tmp_path / "edited.py").write_text(text.replace("BATCH_SIZE = 2", "BATCH_SIZE = 3"))
    again = from_file(tmp_path / "edited.py")
    assert again.report.is_exact
    assert again.graph.nodes == found.graph.nodes
    declared = {"dtype": "UINT8", "shape": [-1, -1, 3], "layout": "HWC"}
    built = wb.read(f"array_request:{pixels}", **declared).resize(size=(8, 8))
    assert wb.outputs(images=built).outputs == {"images": Port("resize", "output")}
    wrong = open_datasets({"data": f"array_request:{sizes}", "data_size": f"array_request:{sizes}"})
    with pytest.raises(PipelineError, match=r"the type float32 and the shape \[2\], but the"):
        preview_batch(engine, PreviewRequest(found.graph, wrong, tiles=2))


def test_whole_videos_from_outside_keep_the_name_of_the_input(
    engine: Engine, tmp_path: Path
) -> None:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def clips() -> Any:
        return fn.decoders.video(fn.external_source(name="CLIP"), sequence_length=4)

    graph = from_pipeline(clips()).graph
    data = open_datasets(write_clips(tmp_path / "clips", clips=2, frames=8))
    assert Verifier(graph, data, 3, engine=engine).run().exact
    opened = with_datasets(graph, data)
    (source,) = opened.sources
    assert (source.id, source.op, source.kind) == ("CLIP", "request", "request_videos")
    pipe, texts = served_models(opened, tmp_path)
    assert 'name: "CLIP"' in texts["config.pbtxt"]
    files = sorted((tmp_path / "clips").rglob("*.avi"))
    pipe.feed_input("CLIP", [np.fromfile(file, np.uint8) for file in files])
    ((sequences,),) = script_batches(opened, tmp_path / "clips", 1, tmp_path)
    assert same([np.asarray(each) for each in pipe.run()[0]], sequences)


@pytest.mark.gpu
def test_a_video_from_outside_is_decoded_on_the_gpu(tmp_path: Path) -> None:
    """As by ``experimental.inputs.video`` of the device mixed."""

    @pipeline_def(batch_size=3, num_threads=1, device_id=0)
    def clips() -> Any:
        options = {"sequence_length": 7, "last_sequence_policy": "partial"}
        return fn.experimental.inputs.video(name="CLIP", device="mixed", **options)

    graph = from_pipeline(clips()).graph
    assert graph.settings.device == "mixed"
    clip = Path(__file__).with_name("golden") / "h264.mp4"
    theirs = clips(prefetch_queue_depth=1)
    theirs.build()
    theirs.feed_input("CLIP", [np.fromfile(clip, np.uint8)])
    expected = [np.asarray(each) for each in theirs.run()[0].as_cpu()]
    assert [len(each) for each in expected] == [7, 7, 6]
    ((sequences,),) = script_batches(graph, clip, 1, tmp_path)
    assert same(sequences, expected)
    assert Verifier(graph, open_datasets(clip), 2).run().exact


@pytest.mark.parametrize("policy", ["partial", "pad"])
def test_a_video_from_outside_is_read_in_sequences(
    policy: str, engine: Engine, tmp_path: Path
) -> None:
    """As by ``experimental.inputs.video``, whose batches end with each video."""

    @pipeline_def(batch_size=4, num_threads=1, device_id=None)
    def clips() -> Any:
        options = {"sequence_length": 6, "last_sequence_policy": policy}
        return fn.experimental.inputs.video(name="CLIP", device="cpu", **options)

    found = from_pipeline(clips())
    assert found.report.is_exact
    data = write_clips(tmp_path / "clips", clips=2, frames=8)
    files = sorted(data.rglob("*.avi"))
    theirs = clips(prefetch_queue_depth=1)
    theirs.build()
    expected = []
    for file in files:
        theirs.feed_input("CLIP", [np.fromfile(file, np.uint8)])
        expected += [np.asarray(each) for each in theirs.run()[0]]
    ((sequences,),) = script_batches(found.graph, data, 1, tmp_path)
    assert same(sequences, expected)
    assert [len(each) for each in sequences] == [6, 2 if policy == "partial" else 6] * 2
    assert Verifier(found.graph, open_datasets(data), 8, engine=engine).run().exact
    text = export(found.graph, "script").main.text
    (tmp_path / "edited.py").write_text(text.replace("BATCH_SIZE = 4", "BATCH_SIZE = 3"))
    again = from_file(tmp_path / "edited.py")
    assert again.report.is_exact
    assert again.graph.nodes == found.graph.nodes
    whole = wb.read(str(data), sequence_length=4)
    with pytest.raises(GraphExportError, match="arrays or videos, but experimental"):
        export(whole, "triton")
    if policy == "partial":
        with pytest.raises(GraphExportError, match="Set last_sequence_policy to pad"):
            export(found.graph, "triton")
        return
    pipe, texts = served_models(found.graph, tmp_path)
    pipe.feed_input("CLIP", [np.fromfile(files[0], np.uint8)])
    assert same([np.asarray(each) for each in pipe.run()[0]], expected[:2])
    assert "decoupled: True" in texts["config.pbtxt"]
    assert "dims: [ -1, 6, -1, -1, 3 ]" in texts["config.pbtxt"]
    assert "async_stream_infer" in texts["client.py"]


def test_nothing_is_set_of_a_request(imported: Graph) -> None:
    source = replace(imported.sources[0], args={"layout": "HWC"})
    (fault,) = check_graph(imported.replace_node(source), load_catalog())
    assert "has no such argument" in str(fault)
