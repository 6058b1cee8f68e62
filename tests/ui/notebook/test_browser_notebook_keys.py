"""The widget in a notebook: its keys never act on cells, Ctrl+S saves; boxes; restarted kernels."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.ui.hosts import LabHost, await_picture, part, point, small

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


PRESSES = 1_000
ANY_KEYS = (*"abcdefhijklmnopqrstuvwxyz0123456789/?+-[]", "Shift+M", "Shift+L", "Enter", "Escape")
ANY_KEYS += ("Delete", "Backspace", "Space", "Tab", "ArrowDown", "ArrowUp", "Shift+Enter")
ANY_KEYS += ("Control+Enter", "Alt+Enter", "Control+x", "Control+v", "Control+Shift+-", "F2")


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_random_keys_in_random_places_change_no_cell(lab: LabHost, photos: Path) -> None:
    page, chosen = lab.page, random.Random(5)
    lab.open(photos, small(), "1 + 1")
    await_picture(page)
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
    cells: Any = page.evaluate(CELLS)
    screen = page.locator(".wb-screen").first
    for press in range(PRESSES):
        if press % 5 == 0:
            screen.scroll_into_view_if_needed()
            at = screen.bounding_box()
            assert at
            x, y = (chosen.uniform(4, at[side] - 4) for side in ("width", "height"))
            page.mouse.click(at["x"] + x, at["y"] + y)
        key = chosen.choice(ANY_KEYS)
        page.keyboard.press(key)
        if press % 10 == 9:
            assert page.evaluate(CELLS) == cells, (press, key)
    assert page.evaluate(CELLS) == cells


@pytest.mark.thorough
def test_parts_in_a_box_are_equally_tall_and_a_restart_in_a_drag_is_one_sentence(
    lab: LabHost, photos: Path
) -> None:
    page = lab.page
    box = "HBox([w.canvas, VBox([w.inspector]), w.preview])"
    lab.open(photos, small(), f"from ipywidgets import HBox, VBox\n{box}")
    parts = page.locator(".widget-hbox:not(.wb-screen-panes) .wb:not(.wb-screen *)")
    expect(parts).to_have_count(3)
    sizes = [parts.nth(number).bounding_box() for number in range(3)]
    assert len({size["height"] for size in sizes if size}) == 1
    assert len({size["y"] for size in sizes if size}) == 1

    slider = page.locator(".wb-inspector input[type=range]:visible").first
    x, y = point(slider)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 9, y, steps=3)
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    page.mouse.move(x - 20, y, steps=3)
    page.mouse.up()
    expect(page.locator("[data-wb=offline]:visible")).to_have_count(1)
    icons = """() => [...document.querySelectorAll(".jupyter-widgets-disconnected")]
      .filter((el) => getComputedStyle(el, "::before").display !== "none").length"""
    page.wait_for_function("() => document.querySelector('.jupyter-widgets-disconnected')")
    assert page.evaluate(icons) == 0
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
        " === 'idle'"
    )


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
