"""The widgets without a browser."""

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

import workbench as wb
from tests.ui.notebook.conftest import Open
from workbench.catalog import load_catalog
from workbench.graph.edits.edit import set_arg
from workbench.graph.storage.io import load_graph
from workbench.ui.contract.components import COMPONENTS, TABS
from workbench.ui.notebook import notebook_part
from workbench.ui.notebook import widget as notebook
from workbench.ui.notebook.notebook_part import PARTS
from workbench.ui.notebook.widget import Workbench


@pytest.fixture
def widget(open_workbench: Open, photos: Path) -> Workbench:
    return open_workbench(photos, restore=None)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_traits_are_made_from_the_table(component) -> None:  # type: ignore[no-untyped-def]
    part = PARTS[component.name]
    for field in component.fields:
        trait = getattr(part, field.name)
        assert trait.metadata["sync"] == (field.direction != "python")
        assert trait.default() == field.default
    assert part.__doc__ == component.doc
    assert {"outbox", "ack"} <= set(part.class_trait_names(sync=True))


def test_parts_are_widgets_of_their_own(widget: Workbench) -> None:
    assert "def rotate_jitter_pipeline(" in widget.code.source
    assert widget.bar.title == "rotate-jitter"
    assert [node["op"] for node in widget.canvas.nodes][:2] == ["readers.file", "decoders.image"]
    parts = [getattr(widget, name) for name in TABS]
    assert set(PARTS) <= set(dir(widget))
    _bar, panes, status = widget.children
    assert status is widget.status
    tabs, *panels = panes.children[-1].children
    assert tabs is widget.tabs
    assert [panel.children for panel in panels] == [(part,) for part in parts]
    displayed = [
        name for name, panel in zip(TABS, panels, strict=True) if panel.layout.display is None
    ]
    assert displayed == ["preview"]
    widget.tabs.tab = "code"
    displayed = [
        name for name, panel in zip(TABS, panels, strict=True) if panel.layout.display is None
    ]
    assert displayed == ["code"]
    assert [part.layout.display for part in parts] == [None] * len(parts), (
        "each can be shown by itself"
    )
    with pytest.raises(wb.ArgumentError):
        widget.tabs.tab = "kitchen"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"layout": "sideways"}, "layout is 'sideways'. Use one of: side, stacked."),
        ({"layout": None}, "layout is None"),
        ({"height": 40}, "height is 40. Use an integer, at least 320 pixels"),
        ({"height": "tall"}, "height is 'tall'"),
        ({"height": True}, "height is True"),
    ],
    ids=str,
)
def test_another_arrangement_is_refused(photos: Path, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(wb.ArgumentError, match=words):
        wb.Workbench(photos, **wrong)


def test_the_layout_is_chosen(open_workbench: Open, photos: Path) -> None:
    widget = open_workbench(photos, layout="stacked", height=800)
    assert "wb-screen-stacked" in widget._dom_classes
    assert widget.layout.height == "800px"


def test_a_notebook_holds_one_picture_wherever_panels_are_put(
    widget: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs: dict[str, str] = {}  # as a notebook's file keeps them: by display id

    def publish(data: dict[str, str], transient: dict[str, str], **_: Any) -> None:
        outputs[transient["display_id"]] = data["text/html"]

    def render(self: Any, html: Any, **options: Any) -> None:
        publish({"text/html": html.data}, {"display_id": self.display_id})

    monkeypatch.setattr("IPython.display.DisplayHandle.display", render)
    monkeypatch.setattr("IPython.display.DisplayHandle.update", render)
    for module in (notebook, notebook_part):
        monkeypatch.setattr(module, "display", lambda *_, **__: None)
    assert widget._static_snapshot.pictured.wait(60)
    notebook._show_box(ipywidgets.HBox([widget.canvas, ipywidgets.VBox([widget.inspector])]))
    widget.preview._ipython_display_()
    notebook._show_box(ipywidgets.HBox([ipywidgets.Label("no panel")]))
    notebook._show_box(widget)
    assert len(outputs) == 3
    assert [html.count("<figure") > 0 for html in outputs.values()] == [False, False, True]


def test_the_graph_can_be_set_and_read(widget: Workbench) -> None:
    widget.graph = "simclr"
    assert widget.graph == wb.load_recipe("simclr")
    assert widget.bar.title == "simclr"
    with pytest.raises(wb.GraphFormatError, match="Did you mean simclr"):
        widget.graph = "simclrr"
    widget.canvas.outbox = [{"n": 1, "view": "v", "do": "undo"}]
    assert widget.canvas.ack == 1
    assert widget.graph == wb.load_recipe("rotate-jitter")


@pytest.fixture
def other_photos(photos: Path, tmp_path: Path) -> Path:
    """Two of the photos, in a folder of their own."""
    (tmp_path / "other" / "one").mkdir(parents=True)
    for path in sorted(photos.rglob("*.jpg"))[:2]:
        shutil.copy(path, tmp_path / "other" / "one")
    return tmp_path / "other"


def _reading(folder: Path) -> wb.Graph:
    return wb.read(folder).decode().resize(size=(32, 32)).with_settings(batch_size=2)


@pytest.mark.parametrize("angle", [None, 10])
def test_a_graph_that_reads_other_data_opens_these(
    open_workbench: Open, photos: Path, other_photos: Path, angle: int | None
) -> None:
    w = open_workbench(_reading(photos))
    graph = _reading(other_photos)
    w.graph = graph if angle is None else graph.rotate(angle=angle)
    assert repr(w).startswith("<workbench of other/")
    assert w.data.summary["root"] == str(other_photos)
    assert all(file.startswith("one/") for file in w.batch(0).files)
    w.graph = "rotate-jitter"  # names no data
    assert repr(w).startswith("<workbench of other/")
    assert w.undo()
    assert w.graph == (graph if angle is None else graph.rotate(angle=angle))
    assert repr(w).startswith("<workbench of other/")


def test_an_edit_keeps_the_data_that_the_panel_has_opened(
    open_workbench: Open, photos: Path, other_photos: Path
) -> None:
    w = open_workbench(_reading(photos))
    w._model.act("data", {"do": "open", "path": str(other_photos)})
    assert repr(w).startswith("<workbench of other/")
    w["resize"].size = (16, 16)
    w.graph = w.graph.rotate(angle=10)
    assert repr(w).startswith("<workbench of other/")
    assert w.graph.datasets == w._model.data_panel.datasets
    w.graph = _reading(photos)
    assert repr(w).startswith(f"<workbench of {photos.name}/")


def test_a_graph_whose_data_are_gone_changes_nothing(
    open_workbench: Open, photos: Path, other_photos: Path
) -> None:
    w = open_workbench(_reading(photos))
    before, gone = w.graph, _reading(other_photos).rotate(angle=10)
    shutil.rmtree(other_photos)
    with pytest.raises(wb.DataError, match="other"):
        w.graph = gone
    assert w.graph == before == w._model.graph
    assert repr(w).startswith(f"<workbench of {photos.name}/")


def test_graphs_of_different_data_are_not_compared(
    open_workbench: Open, photos: Path, other_photos: Path
) -> None:
    w = open_workbench(_reading(photos))
    with pytest.raises(wb.ArgumentError, match=f"reads {photos}, the other {other_photos}"):
        w.compare(_reading(other_photos))
    w.compare(_reading(photos).rotate(angle=10))
    assert w.preview.mode == "compare"
    with pytest.raises(wb.ArgumentError, match="pass data="):
        wb.compare(_reading(photos), _reading(other_photos))


def test_the_graph_can_be_observed(widget: Workbench) -> None:
    seen: list[tuple[str, int]] = []
    start = len(widget.graph.nodes)

    def note(change: dict[str, Any]) -> None:
        seen.append((change["new"].name, len(change["new"].nodes)))

    widget.observe(note, "graph")
    add = {"n": 1, "view": "v", "do": "add", "op": "gaussian_blur", "after": "flip"}
    widget.canvas.outbox = [add]
    widget.graph = "simclr"
    widget.canvas.outbox = [{"n": 2, "view": "v", "do": "undo"}]
    simclr = len(wb.load_recipe("simclr").nodes)
    assert seen == [("rotate-jitter", start + 1), ("simclr", simclr), ("rotate-jitter", start + 1)]


def test_edits_by_a_person_and_by_code_are_both_undoable(widget: Workbench) -> None:
    start = widget.graph
    widget.canvas.outbox = [{"n": 1, "view": "v", "do": "remove", "nodes": ["flip"], "edges": []}]
    by_person = widget.graph
    widget.graph = edited = set_arg(by_person, load_catalog(), "rotate", "angle", 5.0)
    assert widget.graph == edited
    undo = {"view": "v", "do": "undo"}
    widget.canvas.outbox = [{"n": 2, **undo}]
    assert widget.graph == by_person
    widget.canvas.outbox = [{"n": 3, **undo}]
    assert widget.graph == start


def test_who_observes_may_change_something_at_once(widget: Workbench) -> None:
    def follow(change: dict[str, Any]) -> None:
        widget.preview.seed = len(widget.graph.nodes)

    widget.code.observe(follow, "source")
    widget.graph = "imagenet-eval"
    assert widget.graph.settings.seed == len(widget.graph.nodes)
    assert load_graph(widget.bar.saved) == widget.graph
    assert f"SEED = {widget.graph.settings.seed}" in widget.code.source


def test_parts_can_be_linked(widget: Workbench) -> None:
    slider = ipywidgets.IntSlider(7, 0, 100)
    ipywidgets.link((slider, "value"), (widget.preview, "seed"))
    assert widget.graph.settings.seed == 7
    slider.value = 9
    assert widget.graph.settings.seed == 9
    assert ipywidgets.HBox([widget.canvas, widget.inspector]).children[0] is widget.canvas


def test_fields_of_both_sides_can_be_set_from_a_cell(widget: Workbench) -> None:
    widget.preview.seed = 7
    assert widget.graph.settings.seed == 7
    widget.preview.tiles = 1000
    assert widget.preview.tiles == 64
    widget.canvas.selected = ["resize"]
    assert widget.inspector.node["op"] == "resize"


def test_a_field_that_a_cell_sets_wrong_says_why(widget: Workbench) -> None:
    with pytest.raises(wb.GraphEditError, match=r"Batch 5000 cannot be shown\. Use 0 to 999"):
        widget.preview.batch = 5000
    assert widget.preview.batch == 0
    widget.preview.set_state({"batch": -3})  # as the browser sets it
    assert widget.preview.batch == 0
    assert "Batch -3" in widget.bar.message


def test_widget_and_preview_alone_leave_a_picture(
    widget: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    updated: list[str] = []
    done = threading.Semaphore(0)

    class Handle:
        def display(self, html: Any) -> None:
            shown.append(html.data)

        def update(self, html: Any) -> None:
            updated.append(html.data)
            done.release()

    def display(data: Any, **options: Any) -> None:
        shown.append(data["application/vnd.jupyter.widget-view+json"]["model_id"])

    for module in (notebook, notebook_part):
        monkeypatch.setattr(module, "display", display)
    monkeypatch.setattr("workbench.ui.notebook.static_snapshot.DisplayHandle", Handle)
    assert widget._static_snapshot.pictured.wait(60)
    widget._ipython_display_()
    widget.preview._ipython_display_()
    widget.canvas._ipython_display_()
    assert shown[0::2] == [widget.model_id, widget.preview.model_id, widget.canvas.model_id]
    snapshots = shown[1::2]
    assert len(snapshots) == 2
    assert all(html.startswith('<div class="wb-static-snapshot">') for html in snapshots)
    assert "<img" not in updated[0], "what stood beside the first is emptied"
    while "of batch 2:" not in updated[-1]:
        widget.preview.batch = 2
        assert done.acquire(timeout=60)
    assert "as last seen" not in updated[-1]


def test_of_several_widgets_one_keeps_a_worker(
    widget: Workbench, open_workbench: Open, photos: Path
) -> None:
    assert widget._static_snapshot.pictured.wait(60)
    pid = widget._model.engine.pid
    assert pid
    open_workbench(photos)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_of_many_widgets_the_latest_alone_keeps_threads(open_workbench: Open, photos: Path) -> None:
    def threads() -> int:
        return sum(each.name == "workbench-preview" for each in threading.enumerate())

    before = threads()
    widgets = [open_workbench(photos) for _ in range(5)]
    assert all(each._static_snapshot.pictured.wait(60) for each in widgets)
    until = time.monotonic() + 60
    while threads() > before + 1 and time.monotonic() < until:
        time.sleep(0.01)
    assert threads() <= before + 1
    widgets[0].graph = widgets[0].graph.with_settings(batch_size=3)
    assert len(widgets[0].batch(0).files) == 3, "an idle workbench starts its worker again"


def test_several_of_one_cell_each_show_their_pictures(open_workbench: Open, photos: Path) -> None:
    widgets = [open_workbench(photos) for _ in range(3)]
    assert all(each._static_snapshot.pictured.wait(60) for each in widgets)


def test_closing_ends_the_worker_and_the_widgets(widget: Workbench) -> None:
    assert widget._static_snapshot.pictured.wait(60)
    pid = widget._model.engine.pid
    assert pid
    widget.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert widget.canvas.comm is None
    widget.close()


@pytest.mark.parametrize("missing", ["gone", "gone.csv"])
def test_data_that_are_missing_raise_and_leave_no_widget(tmp_path: Path, missing: str) -> None:
    before = set(ipywidgets.widgets.widget._instances)
    with pytest.raises(wb.DataError, match=missing):
        wb.Workbench(tmp_path / missing)
    assert set(ipywidgets.widgets.widget._instances) == before


def test_an_unknown_recipe_is_raised(photos: Path) -> None:
    before = set(ipywidgets.widgets.widget._instances)
    with pytest.raises(wb.GraphFormatError, match="rotate-jitter"):
        wb.Workbench(photos, "rotate-jiter")
    assert set(ipywidgets.widgets.widget._instances) == before


def test_what_is_published_of_a_part_goes_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    part, sent = PARTS["canvas"](), []
    monkeypatch.setattr(part, "_send", lambda message, buffers=None: sent.append(message["state"]))

    def beat() -> None:
        part.beat = 7

    with part.one_message():
        part.nodes = [{"id": "a"}]
        heartbeat = threading.Thread(target=beat)
        heartbeat.start()
        heartbeat.join()
        part.edges = []  # as before: nothing to tell
        with part.one_message():
            part.selected = ["a"]
    part.selected = []
    assert sent == [{"beat": 7}, {"nodes": [{"id": "a"}], "selected": ["a"]}, {"selected": []}]
    with part.one_message():
        pass
    assert len(sent) == 3


def test_samples_are_selected_by_their_places(widget: Workbench) -> None:
    assert widget._static_snapshot.pictured.wait(60)
    seen: list[tuple[int, ...]] = []
    widget.preview.observe(lambda change: seen.append(change["new"].places), "selected")
    widget.preview.selected = [2, 0]
    assert widget.preview.selected.places == (0, 2) == tuple(widget.preview.marked)
    chosen = widget.preview.selected
    widget.preview.selected = [1]
    widget.preview.selected = chosen
    assert seen[-3:] == [(0, 2), (1,), (0, 2)]
    with pytest.raises(wb.GraphEditError, match=r"The batch has no sample 99999\. Use 0 to "):
        widget.preview.selected = [99999]
    assert widget.preview.selected.places == (0, 2) == tuple(widget.preview.marked)


def test_what_is_closed_shows_that_it_is(
    widget: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    for module in (notebook, notebook_part):
        monkeypatch.setattr(module, "display", lambda data, **_: shown.append(data))
    widget.close()
    widget._ipython_display_()
    widget.preview._ipython_display_()
    assert shown == [
        {"text/plain": "<workbench, closed>"},
        {"text/plain": "<preview panel, closed>"},
    ]


def test_a_graph_without_data_reads_no_folder_unasked(
    open_workbench: Open, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(photos)
    graph = wb.load_recipe("simclr")
    for make in (
        lambda: wb.Workbench(graph, restore=False),
        lambda: wb.Workbench(graph=graph, restore=False),
        lambda: wb.Workbench(graph="simclr", restore=False),
    ):
        with pytest.raises(wb.ArgumentError, match=r"has no data.*'\.' for the working folder"):
            make()
    open_workbench(".", graph)
    monkeypatch.chdir(tmp_path)
    empty = open_workbench()
    assert empty._model.data_panel.view["error"] == "The folder . is empty. Use a folder of images."
