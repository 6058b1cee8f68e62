"""What every kind of source must do, on the same photos."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import import_script, same, script_batches
from tests.sources.written import WRITERS, read_photos
from tests.thorough import one_in
from workbench.bench import Benchmark
from workbench.bench.measuring.data_files import fingerprint
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.importing import from_file
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph
from workbench.health import scan_folder
from workbench.preview.verify import Verifier
from workbench.sources import (
    list_samples,
    load_source,
    open_dataset,
    open_datasets,
    require_dataset,
)

BATCH = 5
SHORT = MeasurementConfig(
    round_seconds=0.02, round_batches=2, rounds=2, warm_up_rounds=1, budget=0.0
)


@pytest.fixture(scope="module", params=sorted(WRITERS))
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def data(kind: str, photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return WRITERS[kind](read_photos(photos), tmp_path_factory.mktemp(kind) / kind)


FEW = pytest.mark.parametrize("kind", one_in(6, sorted(WRITERS)), indirect=True)
"""Every sixth kind; the others are thorough."""


def a_graph(*, shuffled: bool) -> Graph:
    graph = load_recipe("rotate-jitter")
    (reader,) = graph.sources
    reader = replace(reader, args={**reader.args, "random_shuffle": shuffled})
    nodes = tuple(reader if node.id == reader.id else node for node in graph.nodes)
    return replace(graph, nodes=nodes, settings=replace(graph.settings, batch_size=BATCH))


def test_its_samples_are_those_of_the_folder(kind: str, data: Path, photos: Path) -> None:
    dataset = open_dataset(data)
    assert dataset.kind == kind
    require_dataset(dataset)
    found, wanted = list(list_samples(dataset)), read_photos(photos)
    for sample, (image, label) in zip(found, wanted, strict=True):
        with sample.open() as file:
            assert file.read() == image
        assert sample.size == len(image)
        assert kind == "coco" or sample.label == label
    facts = scan_folder(data)
    assert facts.count == len(wanted)
    assert facts.largest == scan_folder(photos).largest
    assert facts.formats == {"JPEG": len(wanted)}
    formats = fingerprint(open_datasets(str(data))).formats
    assert formats == fingerprint(open_datasets(str(photos))).formats


def test_any_in_the_place_of_a_folder_gives_the_same_bits(
    kind: str, data: Path, photos: Path, tmp_path: Path
) -> None:
    graph = a_graph(shuffled=False)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    changed = with_datasets(graph, open_datasets(str(data)))
    assert changed.sources[0].kind == kind
    found = script_batches(changed, data, 2, ours)
    wanted = script_batches(graph, photos, 2, theirs)
    for one, other in zip(found, wanted, strict=True):
        assert same(one[0], other[0])
        assert kind == "coco" or same(one[1], other[1])


@FEW
def test_the_preview_is_the_script_to_batch_seven(data: Path, engine: Engine) -> None:
    found = Verifier(a_graph(shuffled=True), str(data), 8, engine=engine).run()
    assert found.exact, found.lines()


@pytest.mark.thorough
def test_of_two_pipelines_side_by_side_too(data: Path, engine: Engine) -> None:
    graph = set_setting(a_graph(shuffled=True), pipelines=2)
    found = Verifier(graph, str(data), 8, engine=engine).run()
    assert found.exact, found.lines()


@FEW
def test_it_is_imported_back(data: Path, tmp_path: Path) -> None:
    catalog = load_catalog()
    graph = with_datasets(a_graph(shuffled=True), open_datasets(str(data)))
    path = tmp_path / "pipe.py"
    path.write_text(export(graph, "script", catalog).main.text)
    imported = from_file(path)
    assert not imported.report.faults
    (reader,) = imported.graph.sources
    (wanted,) = graph.sources
    assert (reader.op, reader.kind, reader.args) == (wanted.op, wanted.kind, wanted.args)
    assert len(imported.graph.nodes) == len(graph.nodes)


@pytest.mark.thorough
def test_its_pytorch_loader_gives_the_batches_of_the_script(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    graph = with_datasets(a_graph(shuffled=True), open_datasets(str(data)))
    (wanted,) = script_batches(graph, data, 1, tmp_path)
    module = import_script(export(graph, "pytorch", load_catalog()).main.text, tmp_path)
    batch = next(iter(module.Loader(module.build_pipeline(str(data)))))
    assert same(list(batch["images"].numpy()), wanted[list(graph.outputs).index("images")])
    if graph.sources[0].kind == "coco":  # each image has another number of labels
        labels = [each.numpy() for each in batch["labels"]]
        assert same(labels, wanted[list(graph.outputs).index("labels")])


@pytest.mark.parametrize("target", ["script", "pytorch", "ray", "paddle", "jax", "lightning"])
def test_every_target_imports_what_finding_the_data_needs(target: str, data: Path) -> None:
    graph = with_datasets(a_graph(shuffled=True), open_datasets(str(data)))
    if target in ("paddle", "jax"):  # COCO's labels are no array
        graph = replace(graph, outputs={"images": graph.outputs["images"]})
    text = export(graph, target, load_catalog()).main.text
    for module in load_source(graph.sources[0].kind).imports:
        assert f"import {module}\n" in text


BAD = {3: b"", 7: b"no picture at all", -1: b"\xff\xd8\xff\xe0cut short"}
"""Samples that cannot be decoded, by their place."""


@pytest.fixture(scope="module")
def damaged(kind: str, photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoded = read_photos(photos)
    for place, content in BAD.items():
        encoded[place] = (content, encoded[place][1])
    return WRITERS[kind](encoded, tmp_path_factory.mktemp("damaged") / kind)


@FEW
def test_bad_samples_do_not_end_a_measurement(damaged: Path) -> None:
    graph = a_graph(shuffled=True)
    report = Benchmark(graph, str(damaged), ["cpu"], measurement_config=SHORT).run()
    assert len(report.left_out) == len(BAD)
    assert report.best


@pytest.mark.thorough
def test_automatic_augmentation_draws_as_in_the_script(data: Path, engine: Engine) -> None:
    graph = load_recipe("trivial-augment")
    graph = replace(graph, settings=replace(graph.settings, batch_size=BATCH))
    found = Verifier(graph, str(data), 3, engine=engine).run()
    assert found.exact, found.lines()
