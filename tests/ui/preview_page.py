"""The preview of a page: what it is asked to show, and values that are changed beside it."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import PATIENCE, Host, part, preview_mode, small
from workbench.catalog import load_catalog
from workbench.graph import Graph
from workbench.graph.edits.edit import set_arg


def fixed(brightness: float) -> Graph:
    """Photos that are made brighter, and nothing else."""
    graph, catalog = small(), load_catalog()
    values = {"brightness": brightness, "contrast": 1.0, "hue": 0.0, "saturation": 1.0}
    for arg, value in values.items():
        graph = set_arg(graph, catalog, "color", arg, value)
    graph = set_arg(graph, catalog, "rotate", "angle", 0.0)
    return set_arg(graph, catalog, "flip", "horizontal", 0)


def preview(page: Page) -> Locator:
    return part(page, "preview")


def show(page: Page, mode: str) -> None:
    preview_mode(page, mode).click()
    expect(preview(page)).to_have_attribute("data-mode", mode.lower())


def shown(page: Page, sheet: int) -> int:
    """The number of sheets painted, once there are more than ``sheet``."""
    page.wait_for_function(
        """(least) => {
          const find = (root) => root.querySelector(".wb-preview") ||
            [...root.querySelectorAll("*")].flatMap((el) =>
              el.shadowRoot ? [find(el.shadowRoot)] : []).find(Boolean);
          return Number(find(document)?.dataset.sheet) > least;
        }""",
        arg=sheet,
        timeout=PATIENCE,
    )
    return int(preview(page).get_attribute("data-sheet") or 0)


def slide(host: Host, node: str, arg: str, key: str, times: int = 1) -> None:
    """Change a value with the keys of its slider."""
    page = host.page
    part(page, "canvas").locator(f"[data-node={node}]").click()
    slider = part(page, "inspector").locator(f"[data-arg={arg}]").get_by_role("slider").first
    slider.focus()
    for _ in range(times):
        page.keyboard.press(key)
