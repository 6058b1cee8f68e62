"""Requests: imported from a model of Triton, previewed with samples, and exported as its input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nvidia.dali import fn, pipeline_def, types

from tests.helpers import import_script, same, script_batches
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.importing import from_pipeline
from workbench.errors import DataError, GraphExportError
from workbench.graph import Graph, check_graph, load_recipe
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
    with pytest.raises(DataError, match="uses labels of its source"):
        with_datasets(graph, data)
    opened = with_opened(graph, data, load_catalog())
    assert [source.kind for source in opened.sources] == ["request"]
    assert "labels" not in opened.outputs


def test_dali_does_not_feed_one_in_its_dynamic_mode(imported: Graph) -> None:
    with pytest.raises(GraphExportError, match="request"):
        export(imported, "dynamic")


@pytest.mark.parametrize("given", [{"ndim": 3}, {"layout": "HWC"}])
def test_what_is_fed_arrays_is_no_request(given: dict[str, Any]) -> None:
    @pipeline_def(batch_size=4, num_threads=1, device_id=None)
    def arrays() -> Any:
        return fn.resize(fn.external_source(name="images", **given), size=[64, 64])

    assert [source.kind for source in from_pipeline(arrays()).graph.sources] == []


def test_nothing_is_set_of_a_request(imported: Graph) -> None:
    source = replace(imported.sources[0], args={"layout": "HWC"})
    (fault,) = check_graph(imported.replace_node(source), load_catalog())
    assert "has no such argument" in str(fault)
