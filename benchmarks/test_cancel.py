"""From the click on Cancel to "Cancelled." on the screen, for each kind of run, in both hosts.

Recorded, not judged. Each kind is cancelled while its first worker starts, and when it is well
under way: then all that it compares have a worker each.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchmarks.conftest import Table
from tests.ui.hosts import PATIENCE, Host, await_picture, part
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

# The frame after the one in which the panel was told that nothing runs any more.
_WATCH = """() => {
  const find = (root) => root.querySelector(".wb-speed") ||
    [...root.querySelectorAll("*")].flatMap((el) =>
      el.shadowRoot ? [find(el.shadowRoot)] : []).find(Boolean);
  const speed = find(document);
  const stops = (window.wbStops = []);
  let clicked = 0;
  speed.addEventListener("click", (event) => {
    if (event.target.closest("[data-wb=cancel]")) clicked = performance.now();
  }, true);
  new MutationObserver(() => {
    if (!clicked || speed.hasAttribute("data-running")) return;
    const began = clicked;
    clicked = 0;
    requestAnimationFrame(() => requestAnimationFrame(() => stops.push(performance.now() - began)));
  }).observe(speed, { attributes: true, attributeFilter: ["data-running"] });
}"""

EARLY, LATE = r"starting|building|probe 1 |\b1 of", r": round|probe 2 |\b2 of"
KINDS = {
    "compare": ("Compare", ""),
    "stages": ("Where the time goes", ""),
    "tuner": ("Tune", "Tuner"),
    "sweep": ("Tune", "All settings"),
    "threads": ("Scaling", ""),
    "peers": ("Libraries", ""),
}
"""Kind of run -> the section of the panel, and the options chosen there."""
PARTS = {"Where the time goes": "stages"}


def stops(page: Page) -> list[float]:
    found: Any = page.evaluate("() => window.wbStops")
    return list(found)


def test_cancel_to_stopped(host: Host, photos: Path, table: Table) -> None:
    graph = set_setting(load_recipe("rotate-jitter"), batch_size=16, num_threads=2)
    host.open(photos, graph)
    page = host.page
    await_picture(page)
    part(page, "tabs").get_by_role("tab", name="Speed").click()
    speed = part(page, "speed")
    page.evaluate(_WATCH)
    name = type(host).__name__.removesuffix("Host").lower()
    for kind, (label, choice) in KINDS.items():
        speed.get_by_role("radio", name=label, exact=True).click()
        shown = speed.locator(f"[data-part={PARTS.get(label, label.lower())}]")
        if choice:
            shown.get_by_role("radio", name=choice, exact=True).click()
        if choice == "Tuner":
            shown.locator("[data-wb=values]").click()
            shown.locator("[data-wb=try-batches]").fill("4, 8, 16, 32")
        spent = []
        for moment in (EARLY, EARLY, LATE, LATE):
            before = len(stops(page))
            shown.locator("[data-wb=measure]").click()
            expect(speed.locator("[data-wb=message]")).to_contain_text(
                re.compile(moment), timeout=PATIENCE
            )
            speed.locator("[data-wb=cancel]").click()
            page.wait_for_function("(n) => window.wbStops.length > n", arg=before, timeout=PATIENCE)
            expect(speed.locator("[data-wb=message]")).to_contain_text("Cancelled")
            spent.append(stops(page)[-1])
        assert host.python("model.speed.run is None")
        table.add(f"{name}: click on Cancel to stopped, {kind}", spent, "ms", "to reach: 500")
