"""axe-core finds no serious fault, and targets of 24 px, in states that are reached by working."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.helpers import chain_graph
from tests.region_graphs import branching_graph
from tests.ui.app.test_accessibility import serious_faults, set_theme
from tests.ui.hosts import PATIENCE, Host, await_picture, part, preview_mode, small
from workbench.graph import Graph

pytestmark = pytest.mark.browser

LEAST = 24
"""Pixels of a target's sides (WCAG 2.2, 2.5.8)."""
# A link in a sentence, a canvas' own nodes (zoomed as one likes) and what lies under a label may
# be smaller; of a switch that is hidden the label is the target.
_SMALL = """(least) => {
  const found = [];
  const walk = (root) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.shadowRoot) walk(el.shadowRoot);
      if (!el.closest(".wb") || el.closest(".react-flow__viewport")) continue;
      if (!el.matches("button, select, input:not([type=file]), summary, [role=slider]")) continue;
      if (el.disabled || el.closest("label") || el.closest("[inert]")) continue;
      const { width, height } = el.getBoundingClientRect();
      if (width && height && (width < least - 0.5 || height < least - 0.5))
        found.push(`${width} × ${height}: ${el.outerHTML.slice(0, 160)}`);
    }
  };
  walk(document);
  return found;
}"""


def frames() -> Graph:
    """A region within a region."""
    graph = branching_graph()
    return replace(graph, settings=replace(graph.settings, batch_size=5, num_threads=2))


def look_at_frames(page: Page) -> None:
    noise = part(page, "canvas").locator("[data-node=noise]")
    expect(noise).to_have_attribute("data-ran", "ran", timeout=PATIENCE)


def look_at_palette(page: Page) -> None:
    part(page, "canvas").locator("[data-node=color]").click()
    page.keyboard.press("p")
    expect(part(page, "canvas").locator("[data-wb=palette-filter]")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(part(page, "canvas").locator("[data-wb=palette-item]").first).to_be_visible()


def look_at_effect(page: Page) -> None:
    part(page, "canvas").locator("[data-node=color]").click()
    inspector = part(page, "inspector")
    inspector.locator("[data-wb=effect-open]").click()
    expect(inspector.locator("[data-wb=effect-value]").first).to_be_visible(timeout=PATIENCE)


def learnt() -> Graph:
    """A policy that can be made one's own."""
    graph = chain_graph("resize", "auto_augment", resize={"size": (64.0, 64.0)})
    return replace(graph, settings=replace(graph.settings, batch_size=4, num_threads=2))


def look_at_policy(page: Page) -> None:
    part(page, "canvas").locator("[data-node=auto_augment]").click()
    part(page, "inspector").locator("[data-wb=own-policy]").click()
    picture = part(page, "inspector").locator("[data-wb=policy-picture]").first
    expect(picture).to_have_attribute("data-pictured", "true", timeout=PATIENCE)


def look_at_comparison(page: Page) -> None:
    preview_mode(page, "Compare").click()
    against = part(page, "preview").locator("[data-wb=against]")
    against.select_option("recipe simclr")
    expect(part(page, "preview").get_by_role("slider").first).to_be_visible(timeout=PATIENCE)


def look_at_charts(page: Page) -> None:
    part(page, "tabs").get_by_role("tab", name="Data").click()
    bar = part(page, "data").locator("[data-wb=classes] [data-name=cat]")
    expect(bar).to_have_attribute("data-count", "10", timeout=PATIENCE)


STATES = [
    (frames, look_at_frames),
    (small, look_at_palette),
    (small, look_at_effect),
    (learnt, look_at_policy),
    (small, look_at_comparison),
    (small, look_at_charts),
]


@pytest.mark.thorough
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("graph", "look"), STATES)
def test_no_serious_fault_and_no_small_target(
    graph: Callable[[], Graph], look: Callable[[Page], None], theme: str, host: Host, photos: Path
) -> None:
    page = host.page
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    host.open(photos, graph())
    set_theme(host, theme)
    try:
        expect(part(page, "canvas")).to_have_attribute("data-theme", theme, timeout=PATIENCE)
        await_picture(page)
        look(page)
        assert serious_faults(page) == []
        small = page.evaluate(_SMALL, LEAST)
        assert not small, "\n".join(small)
    finally:
        set_theme(host, "light")
