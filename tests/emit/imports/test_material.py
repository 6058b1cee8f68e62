"""Pipelines as people write them: what comes across, and the same pixels where all does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.emit.imports.material import (
    MATERIAL,
    PIPELINES,
    Data,
    Material,
    batches,
    folders,
    original,
)
from tests.helpers import import_script, same
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.emit.imports.graph import Imported
from workbench.engine.importing import from_file, from_pipeline
from workbench.errors import GraphFaultsError, ImportFailedError
from workbench.graph import check_graph
from workbench.graph.devices import infer_devices

pytestmark = pytest.mark.xdist_group("material")  # in one worker: all of it is imported once

CATALOG = load_catalog()
BATCHES = 3
named = pytest.mark.parametrize("material", MATERIAL, ids=lambda material: material.name)
EXACT = [material for material in MATERIAL if material.outcome == "exact"]
PARTLY = [material for material in MATERIAL if material.outcome == "partly"]
REFUSED = [material for material in MATERIAL if material.outcome == "refused"]


@pytest.fixture(scope="module")
def data(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Data, Path]:
    return folders(photos, tmp_path_factory.mktemp("material"))


@pytest.fixture(scope="module")
def imported(data: Mapping[Data, Path]) -> Mapping[str, Imported | ImportFailedError]:
    """What came of each, or the refusal."""
    found: dict[str, Imported | ImportFailedError] = {}
    for material in MATERIAL:
        folder = data[material.data]
        with pytest.MonkeyPatch.context() as patch:
            if material.variable:
                patch.setenv(material.variable, str(folder))
            name = None if material.variable else material.make
            try:
                made = from_file(material.path, name, material.arguments(folder))
            except ImportFailedError as error:
                found[material.name] = error
            else:
                found[material.name] = made
    return found


def brought(imported: Mapping[str, Imported | ImportFailedError], material: Material) -> Imported:
    found = imported[material.name]
    assert isinstance(found, Imported), str(found)
    return found


def outcome(found: Imported | ImportFailedError) -> str:
    if isinstance(found, ImportFailedError):
        return "refused"
    return "exact" if found.report.is_exact else "partly"


def test_totals(imported: Mapping[str, Imported | ImportFailedError]) -> None:
    for name, found in imported.items():
        print(f"{name:20}{outcome(found)}")
    totals = Counter(map(outcome, imported.values()))
    print(f"{len(imported)} pipelines: {dict(totals)}")
    assert totals == Counter(material.outcome for material in MATERIAL)
    assert (totals["exact"], totals["partly"], totals["refused"]) == (18, 7, 2)


@named
def test_outcome(imported: Mapping[str, Imported | ImportFailedError], material: Material) -> None:
    assert outcome(imported[material.name]) == material.outcome, str(imported[material.name])


def test_every_pipeline_is_in_the_table() -> None:
    files = {path.name for path in PIPELINES.iterdir() if path.is_file()}
    assert files - {"helper_augment.py"} == {material.file for material in MATERIAL}


@pytest.mark.parametrize("material", PARTLY, ids=lambda material: material.name)
def test_what_is_opaque_is_named_with_its_line_and_source(
    imported: Mapping[str, Imported | ImportFailedError], material: Material
) -> None:
    found = brought(imported, material)
    nodes = [found.graph.node(entry.node) for entry in found.report.opaque]
    assert {str(node.args["call"]) for node in nodes} >= set(material.opaque)
    if len(nodes) < 20:
        assert {str(node.args["call"]) for node in nodes} == set(material.opaque)
    lines = material.path.read_text().splitlines()
    for entry, node in zip(found.report.opaque, nodes, strict=True):
        file, _, number = entry.place.partition(":")
        assert file == material.file
        assert lines[int(number) - 1].strip()
        assert str(node.args["source"]).split("\n")[0] in material.path.read_text()
        assert found.document.origins[node.id] == entry.place
    with pytest.raises(GraphFaultsError, match=nodes[0].id):
        emit_script(found.graph, CATALOG)


@pytest.mark.parametrize("material", PARTLY, ids=lambda material: material.name)
def test_nothing_is_dropped(
    imported: Mapping[str, Imported | ImportFailedError], material: Material
) -> None:
    """Each node is told of once, and each is fed by what there is."""
    found = brought(imported, material)
    report = found.report
    told = [*report.exact, *(entry.node for entry in report.entries if entry.node)]
    assert Counter(told) == Counter(node.id for node in found.graph.nodes)
    for edge in found.graph.edges:
        assert found.graph.has(edge.source.node)
    whole = {fault.node for fault in check_graph(found.graph, CATALOG)} - {""}
    assert {entry.node for entry in report.opaque} <= whole


@pytest.mark.parametrize("material", REFUSED, ids=lambda material: material.name)
def test_a_refusal_says_why(
    imported: Mapping[str, Imported | ImportFailedError], material: Material
) -> None:
    assert material.why in str(imported[material.name])


def compare(material: Material, found: Imported, folder: Path, tmp_path: Path) -> None:
    text = emit_script(found.graph, CATALOG).text
    script = import_script(text, tmp_path)
    ours = batches(script.build_pipeline(str(folder)), BATCHES)
    theirs = batches(original(material, folder), BATCHES)
    for number, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        assert len(left) == len(right)
        for name, a, b in zip(found.graph.outputs, left, right, strict=True):
            assert same(a, b), f"batch {number}, {name}"


@pytest.mark.parametrize(
    "material", [m for m in EXACT if not m.gpu], ids=lambda material: material.name
)
def test_the_export_of_an_import_gives_the_same_pixels(
    material: Material,
    imported: Mapping[str, Imported | ImportFailedError],
    data: Mapping[Data, Path],
    tmp_path: Path,
) -> None:
    compare(material, brought(imported, material), data[material.data], tmp_path)


SIDES = {
    "resnet_train_mixed": ["cpu", "mixed", "gpu", "cpu", "gpu", "gpu"],
    "to_gpu": ["cpu", "cpu", "gpu", "cpu", "gpu", "gpu"],
}


@pytest.mark.parametrize("material", [m for m in EXACT if m.gpu], ids=lambda m: m.name)
def test_without_a_gpu_the_graph_of_one_says_what_runs_there(
    material: Material, imported: Mapping[str, Imported | ImportFailedError], tmp_path: Path
) -> None:
    graph = brought(imported, material).graph
    devices = infer_devices(graph, CATALOG)
    assert [devices[node.id] for node in graph.nodes] == SIDES[material.name]
    assert graph.settings.device == ("mixed" if "mixed" in devices.values() else "cpu")
    assert check_graph(graph, CATALOG) == ()
    script = import_script(emit_script(graph, CATALOG).text, tmp_path)
    assert callable(script.build_pipeline)


@pytest.mark.gpu
@pytest.mark.parametrize("material", [m for m in EXACT if m.gpu], ids=lambda m: m.name)
def test_the_same_pixels_on_the_gpu(
    material: Material,
    imported: Mapping[str, Imported | ImportFailedError],
    data: Mapping[Data, Path],
    tmp_path: Path,
) -> None:
    compare(material, brought(imported, material), data[material.data], tmp_path)


@pytest.mark.parametrize(
    "material", [m for m in MATERIAL if m.outcome != "refused"], ids=lambda m: m.name
)
def test_a_live_pipeline_gives_the_same_graph(
    material: Material,
    imported: Mapping[str, Imported | ImportFailedError],
    data: Mapping[Data, Path],
) -> None:
    """Before it is built; where it can be built here, after that too."""
    from_script = brought(imported, material)
    folder = data[material.data]
    live = from_pipeline(original(material, folder, build=False))
    assert live.graph.nodes == from_script.graph.nodes
    assert live.graph.outputs == from_script.graph.outputs
    assert live.graph.settings == from_script.graph.settings
    assert live.report.entries == from_script.report.entries
    if not material.gpu:
        assert from_pipeline(original(material, folder)).graph == live.graph
