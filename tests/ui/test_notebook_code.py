"""A workbench used from a cell: nodes, parameters, batches, loaders, code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ipywidgets
import pytest

import workbench as wb
from workbench.errors import EngineClosedError, GraphEditError, GraphExportError, GraphFaultsError
from workbench.graph.model import Graph


@pytest.fixture
def graph(photos: Path) -> Graph:
    made = wb.read(photos).decode().resize(size=(32, 32)).rotate(angle=5, fill_value=0)
    return made.with_settings(batch_size=8)


@pytest.fixture
def w(graph: Graph) -> Iterator[wb.Workbench]:
    made = wb.Workbench(graph, restore=False)
    yield made
    made.close()


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
        (lambda: w.param("rotate"), GraphEditError, "Give node.argument"),
        (lambda: w.batch(0, samples=99), GraphEditError, "Give 1 to 8"),
        (lambda: w.loader("tf"), GraphExportError, "Give one of torch, jax"),
        (lambda: w.to_cell(), GraphEditError, "There is no notebook"),
        (lambda: w.to_code("x"), GraphExportError, "There is no target"),
    ):
        with pytest.raises(error) as raised:  # type: ignore[call-overload]
            make()  # type: ignore[no-untyped-call]
        assert words in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_closed_one_says_so(graph: Graph) -> None:
    w = wb.Workbench(graph, restore=False)
    w.close()
    with pytest.raises(EngineClosedError, match="closed"):
        w.batch(0)


def test_a_graph_in_two_workbenches_stays_what_it_is(graph: Graph) -> None:
    one, two = (wb.Workbench(graph, restore=False) for _ in range(2))
    one["rotate"].angle = 50
    assert two["rotate"].angle == graph["rotate"].angle == 5
    one.close()
    two.close()


def test_to_code_is_what_the_code_panel_shows(photos: Path) -> None:
    w = wb.Workbench(wb.read(photos).decode().resize(size=(32, 32)), restore=False)
    w.code.in_view = True
    for target in ("script", "pytorch"):
        w.target = target
        assert w.to_code(target) == w.code.files[0]["text"]
    w.close()
