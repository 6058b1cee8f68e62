"""From a key press to painted pixels, in both hosts, as a person meets it: real DALI, real browser.

The page notes the time of each key and of each frame in which a sheet was painted. Recorded, not
judged: a machine that others share says little about time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.perf.conftest import Table
from tests.perf.test_preview_latency import chain
from tests.ui.hosts import PATIENCE, Host, await_picture, part
from workbench.catalog import load_catalog
from workbench.graph import Graph
from workbench.graph.edit import set_arg, set_setting

pytestmark = pytest.mark.browser

KEYS = 40
BURST = 60
SETTLED = 1_000
"""Milliseconds without a sheet after which no further one is on its way."""

# A sheet counts as painted in the frame after the one in which it was drawn.
_WATCH = """() => {
  const find = (root) => root.querySelector(".wb-preview") ||
    [...root.querySelectorAll("*")].flatMap((el) =>
      el.shadowRoot ? [find(el.shadowRoot)] : []).find(Boolean);
  const preview = find(document);
  const notes = (window.wbNotes = { keys: [], sheets: [] });
  addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) notes.keys.push(performance.now());
  }, true);
  new MutationObserver(() => requestAnimationFrame(() =>
    notes.sheets.push(performance.now())
  )).observe(preview, { attributes: true, attributeFilter: ["data-sheet"] });
}"""
_ANSWERED = """([keys, settled]) => {
  const { keys: pressed, sheets } = window.wbNotes;
  const last = sheets.at(-1) ?? 0;
  const done = pressed.length >= keys && last > pressed.at(-1);
  return done && performance.now() - last > settled;
}"""

_MODEL = "__import__('workbench.ui.view_model', fromlist=['x'])"
_REQUEST = "__import__('workbench.ui.state', fromlist=['x']).request_of"
_SENT = {
    "bare pixels": f"setattr({_MODEL}, 'request_of', {_REQUEST})",
    "PNG": f"(lambda m, r: setattr(m, 'request_of', lambda s, d: "
    f"__import__('dataclasses').replace(r(s, d), raw=False)))({_MODEL}, {_REQUEST})",
}


def five_nodes() -> Graph:
    """decode, resize, rotate, color_twist, normalise: the last but one is changed."""
    graph = set_setting(chain(5, "cpu"), batch_size=64)
    return set_arg(graph, load_catalog(), "rotate", "angle", 5.0)


def notes(page: Page) -> dict[str, list[float]]:
    found: Any = page.evaluate("() => window.wbNotes")
    return dict(found)


def pressed_keys(page: Page, before: int, count: int) -> list[float]:
    """Milliseconds from each of some keys to its sheet; ``before`` were pressed already."""
    spent = []
    for number in range(before, before + count):
        page.keyboard.press("ArrowRight")
        page.wait_for_function(_ANSWERED, arg=[number + 1, 0], timeout=PATIENCE)
        found = notes(page)
        key = found["keys"][-1]
        spent.append(next(sheet for sheet in found["sheets"] if sheet > key) - key)
    return spent


def shown_slider(host: Host, photos: Path) -> Locator:
    """The slider of a node in a chain of five, whose augmented photos are on the screen."""
    host.open(photos, five_nodes())
    page = host.page
    await_picture(page)
    part(page, "preview").get_by_role("radio", name="Augmented", exact=True).click()
    expect(part(page, "preview")).to_have_attribute("data-mode", "augmented")
    part(page, "canvas").locator("[data-node=color_twist]").click()
    slider = part(page, "inspector").locator("[data-arg=hue]").get_by_role("slider").first
    slider.focus()
    return slider


def test_lossless_as_bare_pixels_and_as_png(host: Host, photos: Path, table: Table) -> None:
    slider = shown_slider(host, photos)
    page = host.page
    name = type(host).__name__.removesuffix("Host").lower()
    page.evaluate(_WATCH)
    part(page, "preview").locator("[data-wb=shown]").click()
    part(page, "preview").locator("[data-wb=lossless]").check()
    page.keyboard.press("Escape")
    slider.focus()
    found: dict[str, list[float]] = {"bare pixels": [], "PNG": []}
    pressed = 0
    for turn in range(6):
        kind = ("bare pixels", "PNG")[turn % 2]
        host.python(_SENT[kind])
        pressed_keys(page, pressed, 2)  # what is on its way is sent as before
        found[kind] += pressed_keys(page, pressed + 2, 8)
        pressed += 10
    for kind, spent in found.items():
        table.add(f"{name}: key to painted, lossless as {kind}, 16 tiles", spent, "ms", "")


def test_key_to_painted_pixels(host: Host, photos: Path, table: Table) -> None:
    slider = shown_slider(host, photos)
    page = host.page
    name = type(host).__name__.removesuffix("Host").lower()
    page.keyboard.press("ArrowRight")  # warms up what is built once
    expect(part(page, "bar").locator("[data-wb=status]")).to_contain_text("ready", timeout=PATIENCE)
    page.evaluate(_WATCH)

    spent = pressed_keys(page, 0, KEYS)
    table.add(f"{name}: key to painted, 16 tiles, 5 nodes", spent, "ms", "to reach: 100, p95 200")

    lags = []
    for number in range(5):
        for _ in range(BURST):
            page.keyboard.press("ArrowLeft" if number % 2 else "ArrowRight")
        pressed = KEYS + (number + 1) * BURST
        page.wait_for_function(_ANSWERED, arg=[pressed, SETTLED], timeout=PATIENCE)
        found = notes(page)
        lags.append(found["sheets"][-1] - found["keys"][-1])
    table.add(f"{name}: last key of {BURST} to the last sheet", lags, "ms", "to reach: 250")
    hue = host.python("model.graph.node('color_twist').args['hue']")
    assert float(slider.input_value()) == pytest.approx(hue)
