"""A workbench of Python on pages of a person's own Panel app."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import panel as pn
import pytest
from playwright.sync_api import Page, expect

import workbench as wb
from tests.ui.hosts import await_picture
from tests.ui.labserver import await_server, free_port
from workbench.errors import EngineClosedError
from workbench.ui.notebook.panel_view import PanelView


@pytest.fixture
def w(photos: Path) -> Iterator[wb.Workbench]:
    graph = wb.read(photos).decode().resize(size=(32, 32)).rotate(angle=5)
    made = wb.Workbench(graph.with_settings(batch_size=8), restore=False, roots=[photos])
    yield made
    made.close()


def test_pages_follow_each_other_and_cells(w: wb.Workbench) -> None:
    one, other = PanelView(w), PanelView(w)
    assert one.parts["bar"].title == w.bar.title
    one.parts["preview"].tiles = 8  # as its page sets it
    assert w.preview.tiles == other.parts["preview"].tiles == 8
    w.preview.tiles = 12
    assert one.parts["preview"].tiles == other.parts["preview"].tiles == 12
    other.parts["inspector"].outbox = [
        {"n": 9, "view": "v", "do": "set", "node": "rotate", "arg": "angle", "value": 7}
    ]
    assert w["rotate"].angle == 7
    assert w.undo()
    one.parts["preview"].batch = -3  # refused: everyone has the old one
    assert one.parts["preview"].batch == w.preview.batch == 0


def test_a_part_is_given_by_its_name(w: wb.Workbench) -> None:
    assert type(w.panel("preview")).__name__ == "Preview"
    whole = w.panel()
    assert "rotate" in whole.canvas.nodes
    assert type(whole.panels[0]).__name__ == "Tabs"
    with pytest.raises(wb.ArgumentError, match="Give one of: all, bar, canvas"):
        w.panel("previe")
    w.close()
    with pytest.raises(EngineClosedError, match="This workbench is closed"):
        w.panel()


def test_it_opens_and_saves_below_its_roots_only(w: wb.Workbench, tmp_path: Path) -> None:
    with pytest.raises(wb.SaveError, match="outside"):
        w.share(tmp_path / "sheet.png")


@pytest.mark.thorough
@pytest.mark.browser
def test_an_own_app_shows_it_and_reads_what_is_selected(w: wb.Workbench, page: Page) -> None:
    port = free_port()
    seen: list[tuple[str, ...]] = []
    w.preview.observe(lambda change: seen.append(change["new"].files), "selected")
    app = pn.serve(
        {"own": lambda: pn.Column("# Mine", w.panel())}, port=port, threaded=True, show=False
    )
    try:
        await_server(f"http://127.0.0.1:{port}/favicon.ico")
        page.goto(f"http://127.0.0.1:{port}/own")
        await_picture(page)
        frames = page.locator(".wb-tile-frame")
        frames.nth(1).click(modifiers=["Control"])
        frames.nth(2).focus()
        page.keyboard.press("x")
        expect(frames.nth(2)).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".wb-tile-frame[aria-pressed]")).to_have_count(2)
        assert w.preview.marked == [1, 2]
        assert len(w.preview.selected) == 2
        assert seen[-1] == w.preview.selected.files
        w["rotate"].angle = 9
        expect(page.locator(".wb-canvas")).to_contain_text(re.compile(r"angle\s*9"))
        edge, screen = page.locator("[data-wb=canvas-edge]"), page.locator(".wb-screen")
        edge.focus()
        width = edge.get_attribute("aria-valuenow") or ""
        page.keyboard.press("ArrowRight")
        expect(edge).not_to_have_attribute("aria-valuenow", width)
        expect(screen).to_have_attribute("data-form", "wide")
        page.set_viewport_size({"width": 500, "height": 800})
        expect(screen).to_have_attribute("data-form", "narrow")
    finally:
        app.stop()
