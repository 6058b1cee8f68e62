"""The two hosts as the browser tests see them: a page, and what Python holds behind it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.labserver import LabServer, await_server, free_port
from workbench.graph import Graph, dump_graph, load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.roots import Roots
from workbench.ui import web
from workbench.ui.access import AccessPolicy

PATIENCE = 120_000
"""Milliseconds: a worker starts in one second, on a busy machine in twenty."""

# Playwright looks into shadow roots (Panel's) by itself; scripts in the page do not.
_MEAN = """([least, most]) => {
  const found = [];
  const walk = (root) => {
    found.push(...root.querySelectorAll(".wb-preview [data-wb=tile] canvas:last-child"));
    for (const el of root.querySelectorAll("*")) if (el.shadowRoot) walk(el.shadowRoot);
  };
  walk(document);
  let sum = 0, count = 0;
  for (const canvas of found) {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < data.length; i += 4) sum += data[i] + data[i + 1] + data[i + 2];
    count += data.length * 3 / 4;
  }
  const mean = count ? sum / count : null;
  return mean !== null && mean >= least && mean <= most ? { mean } : false;
}"""


def small(name: str = "rotate-jitter") -> Graph:
    """A recipe with batches of four."""
    return set_setting(load_recipe(name), batch_size=4, num_threads=2)


quick_in_lab = pytest.mark.parametrize(
    "host", [pytest.param("panel", marks=pytest.mark.thorough), "lab"], indirect=True
)
"""On the journey that ``make test`` takes in JupyterLab; others it takes in Panel, at a third of
the cost. ``make test-all`` takes all of them in both."""


class Host(Protocol):
    """Where the workbench runs."""

    page: Page
    work: Path
    """Where its files are saved."""

    def open(self, data: Path | str, graph: Graph | None) -> None:
        """Show a workbench of its own; without a graph as a newcomer sees it."""

    def python(self, expression: str) -> Any:
        """What an expression over ``model``, the view-model, is; a JSON value."""


class LabHost:
    def __init__(self, page: Page, server: LabServer) -> None:
        self.page, self.work, self.server = page, server.work, server

    def open(self, data: Path | str, graph: Graph | None, *more: str) -> None:
        given = repr(str(data))
        if graph is not None:
            (self.work / "start.json").write_text(dump_graph(graph))
            given += ", 'start.json'"
        cell = f"import workbench as wb\nw = wb.Workbench({given})\nw"
        self.server.open(self.page, [cell, *more])

    def python(self, expression: str) -> Any:
        return self.server.evaluate(f"(lambda model: {expression})(w._model)")


class PanelServer:
    """One server for all tests, in a thread of their process, so its sessions can be looked at.

    A test's own are what new pages show and ``sessions``; ``forget`` ends them with the test.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.shown: tuple[Path | str, Graph | None] | None = None
        """Folder and graph of the pages that are opened next."""
        self.roots: Roots | None = None
        """Below which they open and save; None: the usual ones."""
        self.sessions: list[web.Session] = []
        noted = self.sessions

        class Noted(web.Session):
            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments)
                noted.append(self)

        create_app = web.create_app

        def create_shown(*_: Any) -> Any:
            assert self.shown, "a page of a test that has ended"
            return create_app(*self.shown, roots=self.roots)

        patch.setattr(web, "Session", Noted)
        patch.setattr(web, "create_app", create_shown)
        port = free_port()
        access = AccessPolicy()
        self._server = web.start_server(".", None, port, access, threaded=True)
        self.url, self.link = access.url(port).removesuffix("/"), access.link(port)
        self.token = str(access.token)
        await_server(f"{self.url}/favicon.ico")

    def forget(self) -> None:
        self.shown = None
        for session in self.sessions:
            session.model.close()
        self.sessions.clear()

    def close(self) -> None:
        # Panel's own stop() first awaits every task of its sessions, and some never end: its
        # thread would then keep this process from ending.
        loop = self._server.asyncio_loop
        loop.call_soon_threadsafe(loop.stop)
        self._server.join(timeout=30)
        assert not self._server.is_alive(), "the web server did not end"


class PanelHost:
    def __init__(self, page: Page, work: Path, server: PanelServer) -> None:
        self.page, self.work, self.server = page, work, server
        self.url = server.url

    @property
    def sessions(self) -> list[web.Session]:
        """Of the pages that this test has opened, in that order."""
        return self.server.sessions

    def open(self, data: Path | str, graph: Graph | None) -> None:
        self.server.shown = data, graph
        self.page.goto(self.server.link)
        self.page.wait_for_url(f"{self.url}/")  # the link leads on to the page

    def python(self, expression: str) -> Any:
        return eval(expression, {"model": self.sessions[-1].model})


def part(page: Page, name: str) -> Locator:
    return page.locator(f".wb-{name}")


def point(on: Locator, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
    """A point of an element, relative to its width and height."""
    box = on.bounding_box()
    assert box is not None
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Press the mouse at a point and release it at another, with moves on the way."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=8)
    page.mouse.up()


def drag_card(card: Locator, by: tuple[float, float]) -> None:
    """Drag a card by its name, which no port or picture takes part of."""
    x, y = point(card.locator("b").first)
    mouse = card.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x, y + 5)  # from here on it is a drag and no click
    mouse.move(x + by[0], y + by[1])
    mouse.up()


def preview_control(page: Page, name: str) -> Locator:
    """A control of the preview: where it has no room in the row, its menu is opened."""
    found = part(page, "preview").locator(f"[data-wb={name}]")
    if not found.is_visible():
        part(page, "preview").locator("[data-wb=more-controls]").click()
    return found


def preview_mode(page: Page, name: str) -> Locator:
    """What the preview can show: the menu of modes that the row does not show is opened."""
    preview = part(page, "preview")
    mode = preview.get_by_role("radio", name=name, exact=True)
    menu = preview.locator("[data-wb=mode], [data-wb=more-controls]").first
    expect(menu).to_be_visible()
    if not mode.first.is_visible() and menu.get_attribute("aria-expanded") != "true":
        menu.click()
    return mode


def await_picture(page: Page) -> None:
    """Until a sheet is painted; where edits are restored a second may follow at once."""
    expect(part(page, "preview")).to_have_attribute("data-sheet", re.compile("[1-9]"))


def open_page(host: Host, data: Path | str, graph: Graph | None) -> Page:
    """Open a workbench of its own and wait for its first picture."""
    host.open(data, graph)
    await_picture(host.page)
    return host.page


def await_cards(page: Page, count: int) -> None:
    """Wait until this number of cards on the canvas have thumbnails."""
    expect(part(page, "canvas").locator("[data-wb=look]:has(canvas)")).to_have_count(count)


def close_effect(host: Host) -> None:
    """Close the effect sheet, and wait until the worker computes nothing for it any more."""
    toggle = part(host.page, "inspector").locator("[data-wb=effect-open]")
    expect(toggle).to_be_visible()
    if toggle.get_attribute("aria-expanded") == "true":
        toggle.click()
    expect(toggle).to_have_attribute("aria-expanded", "false")
    await_python(host, "not model.state.effect_open", bool)
    await_python(host, "model.previewer._background_job is None", bool)


def await_mean(page: Page, least: float = 0, most: float = 255) -> float:
    """The mean of the augmented pixels on the screen, once it is between the two."""
    handle = page.wait_for_function(_MEAN, arg=[least, most], polling=100, timeout=PATIENCE)
    return float(handle.json_value()["mean"])


def await_python(host: Host, expression: str, holds: Callable[[Any], bool]) -> Any:
    """What an expression is, once it is as wanted: the last of many edits may be on its way."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not holds(found := host.python(expression)):
        assert time.monotonic() < deadline, f"{expression} is still {found!r}"
        host.page.evaluate("() => new Promise(requestAnimationFrame)")
    return found
