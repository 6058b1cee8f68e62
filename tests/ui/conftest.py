"""A browser with no way out, the two hosts in it, and view-models without either."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from tests.ui.hosts import PATIENCE, Host, LabHost, PanelHost, PanelServer, small
from tests.ui.labserver import LabServer
from tests.ui.screen import Make, Ready, Screen
from workbench.roots import Roots
from workbench.ui.app.view_model import ViewModel

expect.set_options(timeout=PATIENCE)
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page; at its end, nothing was requested outside this machine and no script failed.

    Nor was anything drawn with invalid numbers, which Chromium reports in its console.
    """
    scheme = getattr(request, "param", "light")
    context = browser.new_context(
        viewport={"width": 1280, "height": 1000}, color_scheme=scheme, accept_downloads=True
    )
    context.set_default_timeout(PATIENCE)
    asked: list[str] = []
    failed: list[str] = []

    def note(sent: Request) -> None:
        asked.append(sent.url)

    context.on("request", note)
    context.on("weberror", lambda error: failed.append(str(error.error)))
    context.on(
        "console",
        lambda said: (
            failed.append(said.text)
            if said.type == "error" and " attribute " in said.text
            else None
        ),
    )
    page = context.new_page()
    page.on("websocket", lambda socket: asked.append(socket.url))
    yield page
    context.close()
    outside = [
        url
        for url in asked
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1"
    ]
    assert asked
    assert outside == []
    assert failed == []


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    with LabServer(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture
def lab(page: Page, lab_server: LabServer) -> Iterator[LabHost]:
    page.set_viewport_size({"width": 1600, "height": 1000})  # three panes beside the file browser
    yield LabHost(page, lab_server)
    page.goto("about:blank")
    lab_server.end_kernels()
    lab_server.forget()


@pytest.fixture(scope="session")
def panel_server() -> Iterator[PanelServer]:
    with pytest.MonkeyPatch.context() as patch:
        server = PanelServer(patch)
        yield server
        server.close()


@pytest.fixture
def panel(
    page: Page,
    panel_server: PanelServer,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[PanelHost]:
    monkeypatch.chdir(tmp_path)
    panel_server.roots = Roots.of([tmp_path_factory.getbasetemp()])
    yield PanelHost(page, tmp_path, panel_server)
    page.goto("about:blank")
    panel_server.forget()


@pytest.fixture(params=["panel", pytest.param("lab", marks=pytest.mark.thorough)])
def host(request: pytest.FixtureRequest) -> Host:
    """Each test with it runs in JupyterLab and in Panel."""
    found: Host = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def start_graph() -> Any:
    """The graph of ``make`` where none is given; a module may have its own."""
    return "rotate-jitter"


@pytest.fixture
def make(photos: Path, start_graph: Any) -> Iterator[Make]:
    """Makes view-models that show four tiles, and closes them."""
    made: list[ViewModel] = []

    def make(
        data: Any = photos, graph: Any = start_graph, connected: bool = True, **options: Any
    ) -> Ready:
        screen = Screen()
        model = ViewModel(data, graph, screen.publish, connected=False, **options)
        made.append(model)
        model.receive("preview", "tiles", 4)  # before a first picture is asked for
        if connected:
            model.connect()
        return model, screen

    yield make
    for model in made:
        model.close()


@pytest.fixture
def ready(make: Make) -> Ready:
    model, screen = make()
    screen.wait_ready()
    screen.wait(lambda s: len(s.header["tiles"]) == 4, "four tiles")
    return model, screen


@pytest.fixture(scope="module")
def kept_model(photos: Path) -> Iterator[Ready]:
    """A view-model without pictures, for all tests of a module that leave its graph as it is."""
    screen = Screen()
    model = ViewModel(photos, small(), screen.publish, connected=False, restore=False)
    yield model, screen
    model.close()


@pytest.fixture
def unchanged(kept_model: Ready) -> Ready:
    kept_model[0].state.message = ""
    return kept_model
