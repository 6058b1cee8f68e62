"""Pages without a server and widgets without a kernel report it, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import PATIENCE, LabHost, await_picture, await_python, part, small
from tests.ui.labserver import await_server, free_port
from workbench.graph import dump_graph

pytestmark = pytest.mark.browser

TOKEN = "given-at-every-start"


class AppProcess:
    """The web app in a process of its own, which can be killed, stopped and started again."""

    def __init__(self, photos: Path, graph: Path) -> None:
        self.port = free_port()
        self._code = (
            "from workbench.ui.access.policy import AccessPolicy;"
            "from workbench.ui.web import serve;"
            f"serve({str(photos)!r}, {str(graph)!r}, {self.port}, AccessPolicy(token={TOKEN!r}))"
        )
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.url}/?token={TOKEN}"

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", self._code])
        await_server(f"{self.url}/favicon.ico", lambda: self.process.poll() is None)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def app(photos: Path, tmp_path: Path) -> Iterator[AppProcess]:
    graph = tmp_path / "start.json"
    graph.write_text(dump_graph(small()))
    app = AppProcess(photos, graph)
    yield app
    app.kill()


def offline(page: Page) -> Locator:
    return page.locator("[data-wb=offline]:visible")


def add_brightness(page: Page) -> None:
    canvas = part(page, "canvas")
    canvas.locator("[data-node=flip]").click()
    expect(part(page, "inspector")).to_have_attribute("data-node", "flip")
    page.keyboard.press("/")
    canvas.get_by_role("combobox").fill("brightn")
    page.keyboard.press("Enter")
    expect(part(page, "inspector")).to_have_attribute("data-node", "brightness_2")


def brightness(page: Page) -> Locator:
    return part(page, "inspector").locator("[data-arg=brightness]").get_by_role("slider")


def move(slider: Locator, value: float) -> None:
    slider.evaluate(
        "(el, value) => { el.value = value;"
        " el.dispatchEvent(new Event('input', {bubbles: true})) }",
        value,
    )


def expect_read_only(page: Page) -> None:
    """Taking a node away, by key, does nothing."""
    canvas = part(page, "canvas")
    canvas.locator("[data-node=brightness_2]").press("Delete")
    expect(canvas.locator("[data-node=brightness_2]")).to_be_visible()
    expect(part(page, "bar").locator("[data-wb=undo]")).to_be_disabled()


@pytest.mark.thorough
def test_a_page_survives_its_server(app: AppProcess, page: Page) -> None:
    page.goto(app.link)
    await_picture(page)
    add_brightness(page)
    undo = part(page, "bar").locator("[data-wb=undo]")
    expect(undo).to_be_enabled()
    saved = page.evaluate("sessionStorage.getItem('dali-workbench-tab')")
    state = Path(os.environ["DALI_WORKBENCH_STATE"]) / "sessions" / f"{saved}.json"
    while not (state.exists() and "brightness_2" in state.read_text()):
        page.evaluate("() => new Promise(requestAnimationFrame)")

    app.kill()
    expect(offline(page)).to_have_count(1)
    expect(offline(page)).to_contain_text("reconnects automatically")
    expect(part(page, "bar").locator("[data-wb=status]")).to_have_text("offline")
    expect_read_only(page)
    move(brightness(page), 2.75)

    app.start()
    restored = part(page, "bar").locator("[data-wb=restored]")
    expect(restored).to_be_visible(timeout=PATIENCE)
    expect(offline(page)).to_have_count(0)
    expect(part(page, "inspector")).to_have_attribute("data-node", "brightness_2")
    expect(brightness(page)).to_have_value("2.75")
    undo.click()
    expect(brightness(page)).not_to_have_value("2.75")
    undo.click()
    expect(part(page, "canvas").locator("[data-node=brightness_2]")).to_have_count(0)


@pytest.mark.thorough
def test_a_server_that_hangs_is_lost_too(app: AppProcess, page: Page) -> None:
    page.goto(app.link)
    await_picture(page)
    add_brightness(page)
    app.send(signal.SIGSTOP)
    expect(offline(page)).to_have_count(1)
    expect_read_only(page)
    move(brightness(page), 2.75)
    app.send(signal.SIGCONT)
    expect(offline(page)).to_have_count(0)
    expect(part(page, "bar").locator("[data-wb=undo]")).to_be_enabled()
    expect(brightness(page)).to_have_value("2.75")


@pytest.mark.thorough
def test_a_widget_says_that_its_kernel_is_gone(lab: LabHost, photos: Path) -> None:
    page = lab.page
    lab.open(photos, small(), "import os")
    await_picture(page)
    add_brightness(page)
    kernel = lab.server.evaluate("os.getpid()")
    os.kill(kernel, signal.SIGSTOP)
    expect(offline(page)).to_have_count(1)
    expect_read_only(page)
    move(brightness(page), 2.75)
    os.kill(kernel, signal.SIGCONT)
    expect(offline(page)).to_have_count(0)
    value = "model.graph.node('brightness_2').args['brightness']"
    await_python(lab, value, lambda held: held == 2.75)
    lab.python("model.sessions.close()")

    os.kill(kernel, signal.SIGKILL)
    expect(offline(page)).to_have_count(1)
    expect(offline(page)).to_have_text("The kernel was restarted. Run the cell again.")
    page.get_by_role("button", name="Ok").click()
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
        " === 'idle'"
    )
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    part(page, "bar").locator("[data-wb=apply-kept]").click(timeout=PATIENCE)
    expect(offline(page)).to_have_count(0)
    part(page, "canvas").locator("[data-node=brightness_2]").click()
    expect(brightness(page)).to_have_value("2.75")

    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    expect(offline(page)).to_have_text(
        "The kernel has ended. Start it again, then run the cell again."
    )


@pytest.mark.thorough
def test_the_graph_becomes_a_cell_that_shows_it(lab: LabHost, photos: Path) -> None:
    page = lab.page
    lab.open(photos, small())
    await_picture(page)
    add_brightness(page)
    part(page, "bar").locator("[data-wb=save]").click()
    part(page, "bar").locator("[data-wb=to-cell]").click()
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    expect(cells).to_have_count(2)
    expect(cells.nth(1)).to_contain_text("import workbench as wb")  # an editor draws what is seen
    edited = lab.python("str(model.graph)")
    page.evaluate(
        "() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1;"
        " return window.jupyterapp.commands.execute('notebook:run-cell') }"
    )
    shown = cells.nth(1).locator(".wb-canvas [data-node=brightness_2]")
    expect(shown).to_be_visible(timeout=PATIENCE)
    assert lab.python("str(model.graph)") == edited
    expect(cells.nth(1).locator("[data-wb=restored]")).to_be_hidden()


@pytest.mark.thorough
def test_recent_work_is_opened_from_a_list(app: AppProcess, page: Page) -> None:
    page.goto(app.link)
    await_picture(page)
    add_brightness(page)
    expect(part(page, "preview").locator("[data-wb=tile]").first).to_be_visible()
    other = page.context.new_page()
    other.goto(app.url)
    await_picture(other)
    expect(part(other, "canvas").locator("[data-node=brightness_2]")).to_have_count(0)
    expect(part(other, "bar").locator("[data-wb=restored]")).to_be_hidden()
    bar = part(other, "bar")
    entry = bar.locator("[data-wb=recent-entry]")
    while True:  # its picture comes three seconds after the edit
        bar.locator("[data-wb=open]").click()
        expect(entry).to_have_count(1)
        if entry.locator("img").count():
            break
        other.keyboard.press("Escape")
    expect(entry).to_contain_text("open now")
    entry.click()
    expect(part(other, "canvas").locator("[data-node=brightness_2]")).to_be_visible()
    other.close()


@pytest.mark.thorough
def test_where_no_cell_can_be_put_in_its_code_is_copied(lab: LabHost, photos: Path) -> None:
    """In front ends whose widgets do not know their notebook, and where the cell has gone."""
    page = lab.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    lab.open(photos, small())
    await_picture(page)
    lab.python("model.sessions._cell.update(after='gone')")
    part(page, "bar").locator("[data-wb=save]").click()
    part(page, "bar").locator("[data-wb=to-cell]").click()
    expect(part(page, "bar")).to_contain_text("Code copied. Paste it")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == lab.python("model.sessions._cell['source']")
    assert "wb.Workbench(" in copied
    expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(1)
