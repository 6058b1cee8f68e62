"""Keys pressed in the widget never act on the cells of the notebook; Ctrl+S saves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.ui.hosts import LabHost, await_picture, part, small

pytestmark = pytest.mark.browser

PARTS = ("bar", "status", "inspector", "preview", "canvas", "tabs")
PANELS = ("speed", "code", "data")
KEYS = ("x", "m", "r", "y", "b", "a", "z", "d", "d", "Shift+M", "Enter", "Escape")
POINTS = """(root, most) => {
  const focusable = "button, input, select, textarea, a[href], [tabindex], label, summary";
  const seen = new Map();
  for (const el of [root, ...root.querySelectorAll("*")]) {
    const { left, top, width, height } = el.getBoundingClientRect();
    for (const [fx, fy] of [[0.5, 0.5], [0.02, 0.5], [0.98, 0.96]]) {
      const [x, y] = [left + width * fx, top + height * fy];
      const hit = document.elementFromPoint(x, y);
      if (!hit || !root.contains(hit)) continue;
      const holder = hit.closest(focusable);
      if (holder && holder !== root && root.contains(holder)) continue;
      const kind = hit.dataset.wb || hit.className?.baseVal || hit.className || hit.tagName;
      if (!seen.has(kind)) seen.set(kind, [x, y]);
    }
  }
  return [...seen.values()].slice(0, most);
}"""
CELLS = """() => {
  const { cells } = window.jupyterapp.shell.currentWidget.content.model;
  const cell = (i) => [cells.get(i).type, cells.get(i).sharedModel.source];
  return Array.from({ length: cells.length }, (_, i) => cell(i));
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("most", [2, 12])
def test_keys_never_reach_the_cells(lab: LabHost, photos: Path, most: int) -> None:
    page = lab.page
    lab.open(photos, small(), "1 + 1")
    await_picture(page)
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
    cells: Any = page.evaluate(CELLS)
    lab.python("model.act('bar', {'do': 'title', 'name': 'mine'})")
    part(page, "bar").locator("[data-wb=undo]").click()  # nothing is left: it is disabled
    for key in KEYS:
        page.keyboard.press(key)
    assert page.evaluate(CELLS) == cells
    tried = 0
    for name in (*PARTS, *PANELS):
        if name in PANELS:
            part(page, "tabs").locator(f"[data-tab={name}]").click()
        root = part(page, name)
        root.scroll_into_view_if_needed()
        for x, y in root.evaluate(POINTS, most):
            page.keyboard.press("Escape")
            page.mouse.click(x, y)
            for key in KEYS:
                page.keyboard.press(key)
            tried += 1
            assert page.evaluate(CELLS) == cells, (name, x, y)
    assert tried > most * 5


COUNT_SAVES = """() => {
  window.saves = 0;
  window.jupyterapp.shell.currentWidget.context.saveState.connect((_, state) => {
    if (state === "completed") window.saves += 1;
  });
}"""


@pytest.mark.thorough
def test_ctrl_s_in_the_widget_saves_the_notebook(lab: LabHost, photos: Path) -> None:
    page = lab.page
    lab.open(photos, small())
    await_picture(page)
    page.evaluate(COUNT_SAVES)
    places = (
        part(page, "canvas").locator(".react-flow__node[data-id=rotate]"),
        part(page, "inspector").locator("input.wb-val").first,
        part(page, "bar").locator("[data-wb=title]"),
        page.locator("[data-wb=canvas-edge]"),
    )
    for count, place in enumerate(places, 1):
        place.click(timeout=20_000)
        page.keyboard.press("Control+s")
        page.wait_for_function("count => window.saves >= count", arg=count, timeout=20_000)
    expect(page.locator(":popover-open")).to_have_count(0)
