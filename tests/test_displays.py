"""What the objects that code meets show of themselves: short, and never above 100 kB."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.bench.fakes import measured, report
from tests.thorough import one_in
from workbench.bench.records.record import load_report
from workbench.engine import Engine
from workbench.engine.reading.findings import CheckedFile, Finding
from workbench.errors import RecordFormatError
from workbench.figures import render_figure
from workbench.graph.storage.import_report import ImportIssue, ImportReport
from workbench.health.check import FolderCheck
from workbench.optimiser import Optimisation
from workbench.preview.verify import Deviation, Verification
from workbench.results import DocumentedResult
from workbench.sources import open_dataset
from workbench.ui.contract.selected_samples import SelectedSamples, selected_samples

MOST = 100_000
"""Bytes in a notebook's file."""


def size_of(shown: Any) -> int:
    bundle = shown._repr_mimebundle_() if hasattr(shown, "_repr_mimebundle_") else {}
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    if hasattr(shown, "_repr_html_"):
        bundle = {**bundle, "text/html": shown._repr_html_()}
    assert bundle, "it shows nothing but its repr"
    return sum(
        len(base64.b64encode(value)) if isinstance(value, bytes) else len(value)
        for value in bundle.values()
    )


@pytest.mark.parametrize("target", ["script", "pytorch", "triton"])
def test_an_export_shows_its_files(target: str) -> None:
    made = wb.export(wb.load_recipe("dino" if target == "script" else "imagenet-train"), target)
    assert size_of(made) < MOST
    assert repr(made).startswith(f"<export to {target}: ")
    assert len(repr(made)) < 300


def test_the_catalogue_shows_its_operators() -> None:
    catalog = wb.load_catalog()
    assert size_of(catalog) < MOST
    assert "rotate" in catalog._repr_html_()
    assert "usable>" in repr(catalog)


def test_a_preview_shows_its_picture(photos: Path, engine: Engine) -> None:
    request = wb.PreviewRequest(wb.load_recipe("simclr"), photos, tiles=64, tile_size=224)
    found = wb.preview_batch(engine, request)
    assert len(found.image) > MOST  # the sheet itself is larger than what a notebook keeps
    assert size_of(found) < MOST
    assert repr(found).startswith("<preview of batch 0: 64 samples of ")
    assert len(repr(found)) < 300


@pytest.mark.parametrize(
    "path", one_in(4, sorted(Path("assets/benchmarks").glob("*.json"))), ids=lambda path: path.stem
)
def test_every_record_shows_itself(path: Path) -> None:
    try:
        report = load_report(path.read_text())
    except RecordFormatError:
        pytest.skip(f"{path.name} is no record of the speed lab: figures of benchmarks")
    assert size_of(report) < MOST
    assert len(repr(report)) < MOST
    frame = report.to_frame()
    if report.kind == "stages":
        assert {"reader", "decode", "rotate"} <= {*frame["stage"]}
    else:
        assert len(frame) == len(report.measurements)
        best = max(report.measurements, key=lambda row: row.rate)
        assert best.rate_text in report._repr_html_()
        assert best.within_3_percent or f" {best.rate:,.0f} imgs/s" not in repr(report)
    assert report.plot()._repr_png_()[:4] == b"\x89PNG"


def test_a_panel_says_what_it_is(photos: Path) -> None:
    w = wb.Workbench(photos, restore=False)
    assert repr(w.preview).startswith("<preview panel of ")
    assert {"canvas", "preview", "code", "batch", "param", "undo"} <= {*dir(w)}
    assert "source" in dir(w.code)
    w.close()


def test_what_a_cell_holds_says_what_it_is(photos: Path) -> None:
    graph = wb.read(photos).decode().rotate(angle=5)
    w = wb.Workbench(graph, restore=False)
    assert repr(w).startswith("<workbench of ")
    assert repr(w).endswith(": untitled, 3 nodes>")
    assert repr(w.param("rotate.angle")) == "<rotate.angle = 5>"
    assert repr(w.panel("canvas")).startswith("Canvas(")
    w.close()
    assert repr(w) == "<workbench, closed>"
    assert repr(wb.Engine()) == "<engine without a worker>"
    speed = wb.Benchmark(graph, photos, "cpu")
    assert repr(speed) == "<benchmark of untitled: cpu; pipeline>"
    for operators in (wb.fn, wb.random):
        assert "__" not in repr(operators)
    assert "normal" in repr(wb.random)


def test_a_comparison_shows_both_and_what_differs(photos: Path) -> None:
    one = wb.read(photos).decode().resize(size=(64, 64)).rotate(angle=5, keep_size=True)
    found = wb.compare(one, one["rotate"].set(angle=40), samples=6)
    assert [(each.node, each.what, each.before, each.after) for each in found.differences] == [
        ("rotate", "angle", "5", "40")
    ]
    assert size_of(found) < MOST
    assert len(found.files) == len(found.to_frame()) == 6
    assert min(found.to_frame()["images"]) > 1
    assert " of 255 on average" in repr(found)
    assert found.plot()._repr_png_()[:4] == b"\x89PNG"
    shuffled = one["reader"].set(random_shuffle=True)
    order = wb.compare(one, shuffled, samples=2)
    assert [each.what for each in order.differences] == ["random_shuffle"]
    assert all(tile.same_photo for tile in order.distances)
    same = wb.compare(one, one, samples=2)
    assert same.differences == ()
    assert list(same.to_frame()["images"]) == [0, 0]
    assert "0 differences" in repr(same)


def test_a_comparison_asks_for_data(photos: Path) -> None:
    with pytest.raises(wb.DataError, match="Pass a folder"):
        wb.compare("rotate-jitter", "simclr")
    with pytest.raises(wb.GraphFormatError):
        wb.compare("rotate-jitte", "simclr", data=photos)


def test_faults_show_themselves() -> None:
    graph = wb.load_recipe("simclr")
    assert repr(wb.check_graph(graph)) == "no faults"
    assert size_of(wb.check_graph(graph)) < 100
    nodes = (*graph.nodes, *(wb.Node(f"n_{i}", "rotat<e>") for i in range(3000)))
    found = wb.check_graph(replace(graph, nodes=nodes))
    assert len(found) >= 3000
    assert size_of(found) < MOST
    assert len(repr(found)) < 10_000
    assert f"and {len(found) - 40} more" in repr(found)
    assert "<e>" not in found._repr_html_()


def test_a_check_of_files_shows_the_bad_ones(tmp_path: Path, photos: Path) -> None:
    shutil.copytree(photos / "coffee", tmp_path / "coffee")
    for number in range(300):
        (tmp_path / "coffee" / f"{number:03}{'x' * 200}.jpg").write_bytes(b"<b>")
    found = wb.check_folder(tmp_path, full=False)
    assert size_of(found) < MOST
    assert "300 bad" in repr(found)
    assert len(repr(found)) < 300
    assert "more files" in found._repr_html_()
    frame = found.to_frame()
    assert list(frame.columns) == ["file", "level", "size", "why"]
    assert len(frame) == len(found.files)


def test_an_import_shows_graph_and_report(photos: Path) -> None:
    w = wb.Workbench(wb.read(photos).decode().resize(size=(64, 64)), restore=False)
    found = wb.from_pipeline(w.pipeline())
    w.close()
    assert size_of(found) < MOST
    assert "<svg" in found._repr_mimebundle_()["text/html"]
    assert "3 of 3 steps exact" in repr(found)
    assert size_of(found.report) < MOST
    issues = tuple(ImportIssue("opaque", f"n{i}", f"t.py:{i}", "x" * 900) for i in range(900))
    crowded = ImportReport(entries=issues)
    assert size_of(crowded) < MOST
    assert len(repr(crowded)) < 5_000
    assert list(crowded.to_frame()["why"]) == ["x" * 900] * 900
    assert "and 889 more lines" in repr(crowded)


def results(photos: Path, engine: Engine) -> Iterator[Any]:
    """An object of every class of results, and of some an empty one; without DocumentedResult."""
    graph = wb.read(photos).decode().resize(size=(64, 64)).rotate(angle=5, keep_size=True)
    request = wb.PreviewRequest(graph, photos, tiles=12, tile_size=64)
    preview = wb.preview_batch(engine, request)
    yield from (preview, wb.preview_outputs(engine, request))
    yield wb.compare(graph, graph["rotate"].set(angle=40), samples=4)
    yield from (selected_samples(preview, [0, 3], 0), SelectedSamples())
    yield from (wb.check_graph(graph), wb.check_graph(replace(graph, outputs={})))
    dataset = open_dataset(photos)
    bad = CheckedFile("<a>.jpg", findings=(Finding("empty", "no image"),))
    yield from (FolderCheck(dataset, 3, False, (bad,)), FolderCheck(dataset, 0, True, ()))
    apart = Deviation(0, 3, "a.jpg", "images", "7 of 9 values differ", 7, 9, 2.0)
    yield Verification(4, 3, 1, "cpu", (apart,))
    yield Verification(4, 0, 0, "cpu", (), "The script ended.")
    opaque = ImportIssue("opaque", "cut", "train.py:3", "a function")
    yield from (ImportReport(("reader",), (opaque,)), ImportReport())
    record = report(measured(200), measured(100, device="mixed"))
    yield from (record, Optimisation(graph, record, (), (), None, None))


@pytest.mark.thorough
def test_every_result_shows_itself_and_gives_a_frame_and_a_figure(
    photos: Path, engine: Engine
) -> None:
    classes = [getattr(wb, name) for name in wb.__all__]
    wanted = {
        each
        for each in classes
        if isinstance(each, type)
        and {"to_frame", "plot"} & {*dir(each)}
        and not issubclass(each, DocumentedResult)
    }
    seen = set()
    for result in results(photos, engine):
        seen.add(type(result))
        assert size_of(result) < MOST
        assert len(repr(result)) < 10_000
        assert len(result.to_frame().columns) > 1
        figure = result.plot()
        figure.set_size_inches(8, 4)
        figure.axes[0].set_title("mine")
        is_grid = "_repr_html_" in vars(figure)
        shown = figure._repr_html_() if is_grid else base64.b64encode(figure._repr_png_())
        assert len(shown) < MOST
        assert b"mine" in render_figure(figure, "svg")
    assert seen == wanted
