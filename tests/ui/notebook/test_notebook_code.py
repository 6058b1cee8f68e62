"""A workbench used from a cell: nodes, parameters, batches, loaders, code, selected samples."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from threading import Event
from typing import Any

import ipywidgets
import pytest

import workbench as wb
from tests.ui.notebook.conftest import Open
from tests.ui.screen import PATIENCE, Make
from workbench.emit.embedded_graph import embedded_graph
from workbench.errors import EngineClosedError, GraphEditError, GraphExportError, GraphFaultsError
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.model import Graph
from workbench.ui.notebook.notebook_code import LiveNode

# A workbench used from a cell: nodes, parameters, batches, loaders, code.


@pytest.fixture
def graph(photos: Path) -> Graph:
    made = wb.read(photos).decode().resize(size=(32, 32)).rotate(angle=5, fill_value=0)
    return made.with_settings(batch_size=8)


@pytest.fixture
def w(open_workbench: Open, graph: Graph) -> wb.Workbench:
    return open_workbench(graph)


def test_it_reads_what_the_graph_was_made_to_read(w: wb.Workbench, photos: Path) -> None:
    assert w._model.data_panel.datasets["data"].location == str(photos)


def test_an_argument_is_set_and_taken_back(w: wb.Workbench) -> None:
    w["rotate"].angle = 7.5
    assert w["rotate"].angle == w.graph["rotate"].angle == 7.5
    assert w.undo()
    assert w["rotate"].angle == 5
    assert w.redo()
    assert not w.redo()
    assert w["rotate"].angle == 7.5
    w["rotate"].set(angle=wb.random.uniform(range=(-3, 3)), fill_value=9)
    assert w.graph.node("angle").op == "random.uniform"
    assert w.undo()  # both in one step
    assert w["rotate"].fill_value == 0
    assert "rotate" in w._ipython_key_completions_()


def test_a_slider_follows_and_leads(w: wb.Workbench) -> None:
    slider = ipywidgets.FloatSlider(value=3)
    ipywidgets.link((slider, "value"), (w.param("rotate.angle"), "value"))
    assert w["rotate"].angle == 3
    for value in (9, 10, 11):
        slider.value = value
    assert w["rotate"].angle == 11
    w["rotate"].angle = 4
    assert slider.value == 4
    w.undo()
    assert slider.value == 11
    w.undo()  # moves of one parameter are one step
    assert w["rotate"].angle == 5
    assert w.param("rotate.angle") is w.param("rotate.angle")
    w["rotate"].angle = wb.random.uniform(range=(-3, 3))
    assert slider.value == w.param("rotate.angle").value == 5  # drawn: it stays what it was
    slider.value = 6
    assert w["rotate"].angle == 6


def test_what_is_selected_stays_selected(w: wb.Workbench) -> None:
    w._model.act("canvas", {"do": "select", "nodes": ["resize"]})
    assert w._model.state.selected == ["resize"]
    w["rotate"].angle = 8
    assert w._model.state.selected == ["resize"]


def test_batches_and_loaders_come_from_it(w: wb.Workbench) -> None:
    pytest.importorskip("torch")
    batch = w.batch(1)
    assert batch.images.shape[0] == 8
    images, _ = next(iter(w.loader("torch")))
    assert images.shape[0] == 8
    assert len(w.pipeline(batch_size=2).run()[0]) == 2
    assert "def build_pipeline" in w.to_code()
    assert "class Loader" in w.to_code("pytorch")


def test_mistakes_are_one_sentence(w: wb.Workbench) -> None:
    for make, error, words in (
        (lambda: w["x"], GraphEditError, "There is no node 'x'"),
        (lambda: w["rotate"].set(angl=1), GraphEditError, "Did you mean angle?"),
        (lambda: setattr(w["rotate"], "angle", "a"), GraphFaultsError, "'a' is not a number"),
        (lambda: w.param("rotate.angl"), GraphEditError, "'angl'. Did you mean angle?"),
        (lambda: w.param("rotate"), GraphEditError, "Use node.argument"),
        (lambda: w.batch(0, samples=99), wb.ArgumentError, "Use 1 to 8"),
        (lambda: w.loader("tf"), GraphExportError, "Use one of torch, jax"),
        (lambda: w.to_cell(), GraphEditError, "only be inserted in a notebook"),
        (lambda: w.to_code("x"), GraphExportError, "There is no target"),
    ):
        with pytest.raises(error) as raised:  # type: ignore[call-overload]
            make()  # type: ignore[no-untyped-call]
        assert words in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_closed_one_says_so(w: wb.Workbench) -> None:
    w.close()
    with pytest.raises(EngineClosedError, match="closed"):
        w.batch(0)


def test_a_graph_in_two_workbenches_stays_what_it_is(open_workbench: Open, graph: Graph) -> None:
    one, two = (open_workbench(graph) for _ in range(2))
    one["rotate"].angle = 50
    assert two["rotate"].angle == graph["rotate"].angle == 5


def test_to_code_is_what_the_code_panel_shows_when_the_data_are_counted(
    open_workbench: Open, photos: Path
) -> None:
    w = open_workbench(wb.read(photos).decode().resize(size=(32, 32)))
    w.code.in_view = True
    code = _without_graph(w.to_code())  # it has the warnings about the data, counted or not
    assert "Warning: reader.random_shuffle" in code
    shown = Event()

    def look(_: object = None) -> None:
        if w.code.files[0]["text"] == code:
            shown.set()

    w.code.observe(look, "files")
    look()
    assert shown.wait(PATIENCE)
    w.target = "pytorch"
    assert _without_graph(w.to_code("pytorch")) == w.code.files[0]["text"]


def _without_graph(program: str) -> str:
    carrying = embedded_graph(program)
    assert carrying is not None
    return f"{carrying.code.rstrip()}\n"


def test_node_handles_of_a_workbench_change_the_workbench(w: wb.Workbench) -> None:
    handle = w["rotate"]
    handle.rename("turned")
    assert w.graph.has("turned")
    assert handle.angle == 5
    handle.mute()
    assert w.graph.node("turned").muted
    handle.mute(False)
    handle.angle = 9
    handle.fill_value = 7
    handle.reset("fill_value")
    assert handle.fill_value == 0
    handle.angle = wb.random.uniform(range=(-3, 3))
    handle.angle.range = (-4, 4)  # the node that the argument is drawn by
    assert w["angle"].range == (-4, 4)
    handle.remove()
    assert not w.graph.has("turned")
    while w.undo():
        pass
    assert w["rotate"].angle == 5


def test_every_edit_of_a_graph_handle_is_one_of_a_workbench_handle() -> None:
    edits = {
        name
        for name, member in vars(NodeHandle).items()
        if not name.startswith("_")
        and getattr(member, "__annotations__", {}).get("return") == "Graph"
    }
    assert edits == {"set", "reset", "remove", "mute", "rename"}
    assert edits <= vars(LiveNode).keys()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("batch_size", "w.settings.batch_size ="),
        ("seed", "w.settings.seed ="),
        ("grpah", "Did you mean graph?"),
        ("targte", "Did you mean target?"),
        ("canvas", "Workbench.canvas cannot be set"),
        ("bench", "Workbench.bench cannot be set"),
    ],
)
def test_an_attribute_that_does_not_exist_cannot_be_set(
    w: wb.Workbench, name: str, words: str
) -> None:
    with pytest.raises(AttributeError, match=re.escape(words)):
        setattr(w, name, 3)


def test_an_attribute_that_a_part_has_not_cannot_be_set(w: wb.Workbench) -> None:
    with pytest.raises(AttributeError, match=r"Did you mean batch\?"):
        w.preview.bacth = 3
    with pytest.raises(AttributeError, match=r"Did you mean value\?"):
        w.param("rotate.angle").vaule = 3
    w.preview.batch = 1
    w.layout.height = "400px"
    w._mine = 3


def test_a_slider_changes_nothing_by_being_displayed(w: wb.Workbench) -> None:
    w["rotate"].angle = 10.0
    slider = ipywidgets.FloatSlider(min=-30, max=30)
    ipywidgets.link((w.param("rotate.angle"), "value"), (slider, "value"))
    assert slider.value == 10
    slider.set_state({"value": 9.999999999999986})
    assert w["rotate"].angle == w.param("rotate.angle").value == 10
    w["rotate"].angle = 7.53
    slider.set_state({"value": 7.5})  # what the page makes of 7.53 at a step of 0.1
    assert w["rotate"].angle == 7.53
    slider.set_state({"value": 7.6})
    assert w["rotate"].angle == 7.6
    slider.value = 7.62  # from a cell
    assert w["rotate"].angle == 7.62


def test_the_echo_of_an_undo_keeps_what_can_be_redone(w: wb.Workbench) -> None:
    slider = ipywidgets.FloatSlider(min=-30, max=30, step=0.1)
    ipywidgets.link((w.param("rotate.angle"), "value"), (slider, "value"))
    for value in (10.0, 12.0, 14.0):
        w["rotate"].angle = value
    w.undo()
    w.undo()
    for echo in (11.999999999999986, 9.999999999999986):  # both come after both
        slider.set_state({"value": echo})
    assert w["rotate"].angle == 10
    assert w.redo()
    assert w.redo()
    assert w["rotate"].angle == 14


def test_a_displayed_slider_does_not_replace_a_random_argument(w: wb.Workbench) -> None:
    slider = ipywidgets.FloatSlider(min=-30, max=30, step=0.1)
    ipywidgets.link((w.param("rotate.angle"), "value"), (slider, "value"))
    w["rotate"].angle = wb.random.uniform(range=(-3, 3))
    slider.set_state({"value": 4.999999999999986})
    assert "angle" in w.graph.node("rotate").inputs


def test_the_documented_order_of_a_link_keeps_the_graph() -> None:
    readme = Path(wb.__file__).parent / "graph" / "README.md"
    assert 'link((w.param("rotate.angle"), "value"), (slider, "value"))' in readme.read_text()
    assert "(w.param" in (wb.Workbench.param.__doc__ or "").partition("link(")[2][:20]


def test_a_batch_of_changed_files_renews_the_pictures(
    open_workbench: Open, photos: Path, tmp_path: Path
) -> None:
    first, second = sorted(photos.rglob("*.jpg"))[:2]
    shutil.copy(first, tmp_path / "a.jpg")
    graph = wb.read(tmp_path).decode().resize(size=(32, 32)).with_settings(batch_size=1)
    w = open_workbench(graph)
    assert w._static_snapshot.pictured.wait(60)
    before, pictures = w.batch(0), w.preview.picture
    renewed = Event()
    w.preview.observe(lambda change: renewed.set(), "picture")
    shutil.copy(second, tmp_path / "a.jpg")
    after = w.batch(0)
    assert (after.images != before.images).any()
    assert renewed.wait(60)
    assert w.preview.picture != pictures


@pytest.fixture
def notebook_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if cells ran in a notebook: a workbench made again has the same owner."""
    monkeypatch.setattr("workbench.ui.notebook.widget.notebook_path", lambda: "/tmp/a.ipynb")
    monkeypatch.setattr("workbench.ui.notebook.widget.running_cell", lambda: "cell-1")


@pytest.fixture
def earlier_edit(notebook_cell: None, graph: Graph) -> None:
    """An edit of a workbench of the same cell, which has ended."""
    first = wb.Workbench(graph)
    first["rotate"].angle = 80
    first.preview.batch = 2
    first.close()


@pytest.mark.usefixtures("earlier_edit")
def test_the_code_wins_over_earlier_edits(
    open_workbench: Open, graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    assert capsys.readouterr().out == ""
    w = open_workbench(graph, restore=None)
    assert "1 edit made" in (line := capsys.readouterr().out)
    assert "restore=True" in line
    assert w.graph == w._model.graph == graph
    assert w.preview.batch == 0
    assert w.bar.restored["offered"]
    w._model.act("bar", {"do": "apply_kept"})
    assert w["rotate"].angle == 80
    assert w.bar.restored == {}
    w.undo()
    assert w.graph == graph


@pytest.mark.usefixtures("earlier_edit")
def test_the_line_about_earlier_edits_goes_once_they_are_applied(
    open_workbench: Open, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = open_workbench(graph, restore=None)
    shown: list[str] = []
    for method in ("display", "update"):
        monkeypatch.setattr(
            f"IPython.display.DisplayHandle.{method}",
            lambda _, bundle, **options: shown.append(bundle["text/plain"]),
        )
    monkeypatch.setattr("workbench.ui.notebook.widget.get_ipython", object)  # as in a notebook
    w._print_offer("Not applied")
    w._model.receive("canvas", "selected", ["resize"])
    assert shown == ["Not applied"]
    w._model.act("bar", {"do": "apply_kept"})
    assert shown == ["Not applied", ""]


@pytest.mark.usefixtures("earlier_edit")
def test_earlier_edits_are_applied_where_the_code_says_so(
    open_workbench: Open, graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    w = open_workbench(graph, restore=True)
    assert w["rotate"].angle == w._model.graph["rotate"].angle == 80
    assert "offered" not in w.bar.restored
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("earlier_edit")
def test_offered_edits_outlive_restarts_and_are_recent_work_once_others_are_made(
    graph: Graph,
) -> None:
    for _ in range(2):  # cells that are run again and not edited
        w = wb.Workbench(graph)
        w._model.receive("canvas", "selected", ["resize"])
        assert w.bar.restored["offered"]
        w.close()
    w = wb.Workbench(graph)
    w["rotate"].angle = 20
    w["rotate"].angle = 80  # the cells below are run again: nothing is left to offer
    assert w.bar.restored == {}
    w["rotate"].angle = 30
    w.close()
    w = wb.Workbench(graph, restore=True)
    assert w["rotate"].angle == 30
    w._model.act("bar", {"do": "list_recent"})
    (entry,) = w.bar.recent
    w._model.act("bar", {"do": "open_recent", "owner": entry["owner"]})
    assert w["rotate"].angle == 80
    w.close()


@wb.node(layouts="HWC")
def noisy(image: Any) -> Any:
    import numpy as np

    return image + np.random.randint(0, 9, image.shape).astype(image.dtype)


def test_a_batch_warns_of_a_function_that_is_another_at_each_call(
    open_workbench: Open, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by ``pytest.warns``: a thread that looks at photos exchanges filters meanwhile."""
    told: list[str] = []
    monkeypatch.setattr("workbench.arguments.warnings.warn", lambda text, **_: told.append(text))
    made = wb.read(photos).decode().resize(size=(32, 32))
    graph = noisy(made).with_settings(batch_size=2)
    (warning,) = [each for each in wb.check_warnings(graph) if each.code == "random"]
    assert "numpy.random.randint (line 4" in warning.message
    open_workbench(graph, trust=True).batch(0)
    assert any("noisy.source: numpy.random" in text for text in told)


def test_a_missing_library_is_one_sentence_with_the_command(
    w: wb.Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.arguments.find_spec", lambda name: None)
    for library in ("torch", "jax"):
        with pytest.raises(ImportError, match=f"Install it: pip install {library}") as raised:
            w.loader(library)
        assert isinstance(raised.value, wb.WorkbenchError)


# What a cell reads of the samples that are selected in the preview.


def test_the_marked_samples_else_the_one_on_the_cards(make: Make) -> None:
    model, screen = make()
    screen.wait_ready()
    assert model.state.preview is not None
    tiles = model.state.preview.tiles

    def selected() -> Any:
        return model.shown("preview", "selected")

    assert selected().files == (tiles[0].sample.file,)
    model.receive("preview", "marked", [3, 1, 1])
    assert selected().places == (1, 3)
    assert selected().labels == tuple(int(tiles[place].label) for place in (1, 3))
    assert selected().draws == {
        name: [tiles[1].values[name], tiles[3].values[name]] for name in tiles[0].values
    }
    assert list(selected().to_frame()["file"]) == list(selected().files)
    model.receive("preview", "batch", 1)
    assert model.shown("preview", "marked") == []
