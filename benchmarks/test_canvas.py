"""A graph of 150 nodes on the canvas, in both hosts: from a key to the frame that shows its edit,
and the frames while a node is dragged. Recorded, not judged, as all of time is.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.conftest import Table
from benchmarks.main_thread import traced_tasks
from benchmarks.test_preview_latency import chain
from tests.ui.hosts import PATIENCE, Host, await_picture, part
from workbench.graph.edits.edit import set_setting

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

NODES = 150
EDITS = 10
STEPS = 90
"""Moves of the mouse in a drag."""

_CANVAS = """() => {
  const find = (root) => root.querySelector(".wb-canvas") ||
    [...root.querySelectorAll("*")].flatMap((el) =>
      el.shadowRoot ? [find(el.shadowRoot)] : []).find(Boolean);
  return find(document);
}"""
# The canvas counts as painted in the frame after the one in which the number of nodes changed.
_WATCH = """(canvas) => {
  const notes = (window.wbNotes = { key: 0, painted: 0 });
  addEventListener("keydown", () => { notes.key = performance.now(); notes.painted = 0; }, true);
  new MutationObserver(() => requestAnimationFrame(() => requestAnimationFrame(() => {
    notes.painted = performance.now();
  }))).observe(canvas, { attributes: true, attributeFilter: ["data-nodes"] });
}"""
_FRAMES = """() => {
  const frames = (window.wbFrames = []);
  let last = performance.now();
  const step = (now) => {
    frames.push(now - last);
    last = now;
    if (window.wbFrames === frames) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}"""


def pressed(page: Page, key: str) -> float:
    """Milliseconds from a key to the frame that shows another number of nodes."""
    page.keyboard.press(key)
    page.wait_for_function("() => window.wbNotes.painted", timeout=PATIENCE)
    return float(page.evaluate("() => window.wbNotes.painted - window.wbNotes.key"))


def test_150_nodes(host: Host, photos: Path, table: Table) -> None:
    host.open(photos, set_setting(chain(NODES - 1, "cpu"), batch_size=1))
    page = host.page
    canvas = part(page, "canvas")
    expect(canvas).to_have_attribute("data-nodes", str(NODES), timeout=PATIENCE)
    await_picture(page)
    name = type(host).__name__.removesuffix("Host").lower()
    page.evaluate(_WATCH, page.evaluate_handle(_CANVAS))
    canvas.locator("[data-wb=group]").first.click()  # the chain that is collapsed in a long graph
    node = canvas.locator("[data-node=brightness_70]").first
    node.click()

    deleted, undone, longest = [], [], []
    for _ in range(EDITS):
        with traced_tasks(page) as tasks:
            deleted.append(pressed(page, "Delete"))
        longest.append(max(tasks))
        undone.append(pressed(page, "Control+z"))
        node.click()
    table.add(f"{name}: Delete to painted, {NODES} nodes", deleted, "ms", "to reach: 150")
    what = f"{name}: the browser's longest task of a Delete, CPU"
    table.add(what, longest, "ms", "to reach: 60")
    table.add(f"{name}: undo to painted, {NODES} nodes", undone, "ms", "to reach: 150")

    box = node.bounding_box()
    assert box is not None
    x, y = box["x"] + 20, box["y"] + 8
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(_FRAMES)
    for step in range(STEPS):
        page.mouse.move(x + step, y + step % 30)
    frames = page.evaluate(
        "() => { const found = window.wbFrames; window.wbFrames = null; return found; }"
    )
    page.mouse.up()
    assert len(frames) > 5
    table.add(f"{name}: frame while a node is dragged, {NODES} nodes", frames[1:], "ms")
