"""Typical pipelines: what is imported, and equal pixels if everything is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.emit.pipeline_import.material import (
    MATERIAL,
    PIPELINES,
    Data,
    Material,
    batches,
    folders,
    original,
)
from tests.helpers import CATALOG, built, import_script, same
from workbench.emit import emit_script
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.engine.importing import from_file, from_pipeline
from workbench.errors import GraphFaultsError
from workbench.graph import check_graph
from workbench.graph.types.devices import infer_devices
from workbench.graph.user_functions.trust import trust_graph

pytestmark = pytest.mark.xdist_group("material")  # in one worker: all of it is imported once

BATCHES = 3
QUICK = (
    "resnet_train", "to_gpu", "multi_crop", "class_form", "conditionals", "detection_coco",
    "external_source",
)  # fmt: skip
"""Those that ``make test`` imports: each starts a worker of its own, for a second."""
EXACT = [material for material in MATERIAL if material.outcome == "exact"]
PARTLY = [material for material in MATERIAL if material.outcome == "partly"]


def each_of(materials: Iterable[Material]) -> pytest.MarkDecorator:
    """A test for each, most of them thorough."""
    cases = [
        pytest.param(each, marks=[pytest.mark.thorough] * (each.name not in QUICK))
        for each in materials
    ]
    return pytest.mark.parametrize("material", cases, ids=lambda material: material.name)


@pytest.fixture(scope="module")
def data(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Data, Path]:
    return folders(photos, tmp_path_factory.mktemp("material"))


Bring = Callable[[Material], ImportedGraph]


@pytest.fixture(scope="module")
def bring(data: Mapping[Data, Path]) -> Bring:
    """Import a pipeline; each is imported once."""

    @cache
    def bring(material: Material) -> ImportedGraph:
        folder = data[material.data]
        with pytest.MonkeyPatch.context() as patch:
            if material.variable:
                patch.setenv(material.variable, str(folder))
            name = None if material.variable else material.make
            found = from_file(material.path, name, material.arguments(folder))
            return replace(found, document=replace(found.document, graph=trust_graph(found.graph)))

    return bring


def outcome(found: ImportedGraph) -> str:
    return "exact" if found.report.is_exact else "partly"


@each_of(MATERIAL)
def test_outcome(bring: Bring, material: Material) -> None:
    assert outcome(bring(material)) == material.outcome, str(bring(material))


def test_every_pipeline_is_in_the_table() -> None:
    files = {path.name for path in PIPELINES.iterdir() if path.is_file()}
    assert files == {material.file for material in MATERIAL}


@each_of([material for material in PARTLY if material.opaque])
def test_what_is_opaque_is_named_with_its_line_and_source(bring: Bring, material: Material) -> None:
    found = bring(material)
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


@each_of(PARTLY)
def test_nothing_is_dropped(bring: Bring, material: Material) -> None:
    """Each node is reported once, and each input exists."""
    found = bring(material)
    report = found.report
    told = [*report.exact, *(entry.node for entry in report.entries if entry.node)]
    assert Counter(told) == Counter(node.id for node in found.graph.nodes)
    for edge in found.graph.edges:
        assert found.graph.has(edge.source.node)
    whole = {fault.node for fault in check_graph(found.graph, CATALOG)} - {""}
    assert {entry.node for entry in report.opaque} <= whole


def compare(material: Material, found: ImportedGraph, folder: Path, tmp_path: Path) -> None:
    text = emit_script(found.graph, CATALOG).text
    script = import_script(text, tmp_path)
    ours = batches(built(script, folder), BATCHES)
    theirs = batches(original(material, folder), BATCHES)
    for number, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        assert len(left) == len(right)
        for name, a, b in zip(found.graph.outputs, left, right, strict=True):
            assert same(a, b), f"batch {number}, {name}"


@each_of(m for m in MATERIAL if not m.gpu and (m in EXACT or m.data == "arrays"))
def test_the_export_of_an_import_gives_the_same_pixels(
    material: Material,
    bring: Bring,
    data: Mapping[Data, Path],
    tmp_path: Path,
) -> None:
    compare(material, bring(material), data[material.data], tmp_path)


SIDES = {
    "resnet_train_mixed": ["cpu", "mixed", "gpu", "cpu", "gpu", "gpu"],
    "to_gpu": ["cpu", "cpu", "gpu", "cpu", "gpu", "gpu"],
}


@each_of(material for material in EXACT if material.gpu)
def test_without_a_gpu_the_graph_of_one_says_what_runs_there(
    material: Material, bring: Bring, tmp_path: Path
) -> None:
    graph = bring(material).graph
    devices = infer_devices(graph, CATALOG)
    assert [devices[node.id] for node in graph.nodes] == SIDES[material.name]
    assert graph.settings.device == ("mixed" if "mixed" in devices.values() else "cpu")
    assert check_graph(graph, CATALOG) == ()
    script = import_script(emit_script(graph, CATALOG).text, tmp_path)
    assert callable(script.build_pipeline)


@pytest.mark.gpu
@each_of(material for material in EXACT if material.gpu)
def test_the_same_pixels_on_the_gpu(
    material: Material,
    bring: Bring,
    data: Mapping[Data, Path],
    tmp_path: Path,
) -> None:
    compare(material, bring(material), data[material.data], tmp_path)


@each_of([material for material in EXACT + PARTLY if material.live])
def test_a_live_pipeline_gives_the_same_graph(
    material: Material,
    bring: Bring,
    data: Mapping[Data, Path],
) -> None:
    """Before it is built; where it can be built here, after that too."""
    from_script = bring(material)
    folder = data[material.data]
    live = from_pipeline(original(material, folder, build=False))
    assert live.graph.nodes == from_script.graph.nodes
    assert live.graph.outputs == from_script.graph.outputs
    assert live.graph.settings == from_script.graph.settings
    assert live.report.entries == from_script.report.entries
    if not material.gpu:
        assert from_pipeline(original(material, folder)).graph == live.graph
