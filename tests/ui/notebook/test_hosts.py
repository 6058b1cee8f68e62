"""Hosts of the widgets: rules of VS Code and Colab, saved notebooks, Panel apps."""

from __future__ import annotations

import base64
import io
import queue
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import numpy as np
import panel as pn
import pytest
from IPython.display import HTML
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import workbench as wb
from tests.helpers import with_settings
from tests.ui.hosts import await_picture
from tests.ui.labserver import await_server, free_port
from tests.ui.notebook.conftest import Open
from workbench.engine import Engine
from workbench.errors import EngineClosedError
from workbench.graph import load_recipe
from workbench.preview import PreviewRequest, PreviewResult, preview_batch
from workbench.ui.contract.components import COMPONENTS, bundle_path
from workbench.ui.notebook.notebook_part import PARTS
from workbench.ui.notebook.panel_view import PanelView
from workbench.ui.notebook.static_snapshot import StaticSnapshot, snapshot_html

# Rules of hosts that are not run here (VS Code, Colab), and pages without a kernel.
#
# VS Code shows outputs in a page of its own, with its own sign of light and dark; Colab in a frame
# for each cell, and custom widgets only after ``enable_custom_widget_manager``; neither has
# JupyterLab's classes. Their kernels may be older than subshells.

FRONTEND = Path(wb.__file__).parent / "ui" / "frontend" / "src"
LAB_CLASS = re.compile(r"""[."'\s](?:jp|lm)-[A-Za-z]""")
"""``data-jp-theme-light`` and ``data-lm-suppress-shortcuts`` are attributes: elsewhere they do
nothing."""


@pytest.mark.parametrize(
    "path",
    [path for path in FRONTEND.rglob("*") if path.suffix in (".css", ".ts", ".tsx")],
    ids=lambda path: str(path.relative_to(FRONTEND)),
)
def test_no_class_of_a_host_is_named(path: Path) -> None:
    assert LAB_CLASS.findall(path.read_text()) == []


def test_modules_load_nothing_more() -> None:
    """A frame of Colab or VS Code has no server of Jupyter's behind it."""
    for component in COMPONENTS:
        text = bundle_path(component).read_text()
        assert not re.search(r"""(?:^|[;\n])import\s*["'{*(]""", text)


def test_colab_is_asked_for_its_widget_manager_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from anywidget import _util

    asked: list[str] = []
    colab = ModuleType("google.colab.output")
    vars(colab)["enable_custom_widget_manager"] = lambda: asked.append("asked")
    monkeypatch.setitem(sys.modules, "google.colab.output", colab)
    _util.enable_custom_widget_manager_once.cache_clear()
    for _ in range(2):
        PARTS["preview"]()
    assert asked == ["asked"]


def test_a_kernel_without_subshells_does() -> None:
    part = PARTS["preview"]()
    comm = SimpleNamespace(send=lambda *args, **kwargs: None)
    part._let_browser_choose()  # none yet
    part.comm = None
    part._let_browser_choose()
    assert "_reply_subshell_id" not in vars(comm)


@pytest.mark.browser
@pytest.mark.thorough
def test_a_page_without_a_kernel_shows_graph_and_picture(
    browser: Browser, photos: Path, tmp_path: Path
) -> None:
    import nbformat
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    cells = [
        f"import workbench as wb\ng = wb.read({str(photos)!r}).decode().resize(size=(64, 64))\n"
        "g = g.rotate(angle=20, keep_size=True).with_settings(batch_size=8)\ng",
        "w = wb.Workbench(g, restore=False)\nw",
        "assert w._static_snapshot.pictured.wait(60)\nw._static_snapshot._update()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    NotebookClient(notebook, timeout=180).execute()
    text, _ = HTMLExporter().from_notebook_node(notebook)
    path = tmp_path / "saved.html"
    path.write_text(text)
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    # require.js and MathJax, which nbconvert's page asks for, do not come without a network.
    page.goto(path.as_uri(), wait_until="domcontentloaded")
    graphs = page.locator("img[src^='data:image/svg+xml']")
    pictures = page.locator(".wb-static-snapshot figure img")
    expect(graphs).to_have_count(2)  # that of the graph's own cell, and the workbench's
    expect(pictures).to_have_count(8)
    for image in (*graphs.all(), *pictures.all()):
        expect(image).to_be_visible()
        assert image.evaluate("(image) => image.naturalWidth") > 100
    first = next(iter(sorted(photos.rglob("*.jpg"))))
    caption = page.locator(".wb-static-snapshot figcaption").first
    expect(caption).to_have_text(f"{first.parent.name} · {first.name}")
    page.screenshot(path=tmp_path / "saved.png", full_page=True)
    page.close()


# What a saved notebook shows where no kernel runs.


def test_pictures_stand_in_the_middle_of_nothing(engine: Engine, photos: Path) -> None:
    graph = with_settings(load_recipe("rotate-jitter"), batch_size=4)
    request = PreviewRequest(graph, str(photos), batch=1, tiles=4, lossless=True, raw=True)
    preview = preview_batch(engine, request)
    html = snapshot_html(graph, preview)
    assert "4 samples of batch 1: original, images. Run the cell to continue." in html
    urls = re.findall(r"webp;base64,([^\"]+)", html)
    assert len(urls) == 4
    for url, tile in zip(urls, preview.tiles, strict=True):
        assert f"{tile.class_name} · {Path(tile.sample.file).name}</figcaption>" in html
        image = Image.open(io.BytesIO(base64.b64decode(url))).getchannel("A")
        assert tile.original is not None
        *_, width, height = tile.original
        place = np.asarray(image.crop((0, 0, image.height, image.height)), float)
        if width < height:
            assert place[:, :4].mean() < 15 > place[:, -4:].mean()
        if height < width:
            assert place[:4].mean() < 15 > place[-4:].mean()


def test_a_first_picture_that_comes_late_fills_the_empty_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: queue.Queue[str] = queue.Queue()

    class Output:
        def display(self, html: HTML) -> None:
            told.put(f"display {html.data}")

        def update(self, html: HTML) -> None:
            told.put(f"update {html.data}")

    module = "workbench.ui.notebook.static_snapshot"
    monkeypatch.setattr(f"{module}.FIRST_PICTURE", 0.0)
    monkeypatch.setattr(f"{module}.DisplayHandle", Output)
    monkeypatch.setattr(f"{module}.snapshot_html", lambda graph, preview: "the picture")
    previews: list[PreviewResult] = []
    snapshot = StaticSnapshot(wb.Graph, lambda: previews[-1] if previews else None)
    snapshot.show()
    assert told.get(timeout=60) == 'display <div class="wb-static-snapshot"></div>'
    previews.append(cast(PreviewResult, object()))
    snapshot.changed()
    assert told.get(timeout=60) == "update the picture"
    snapshot.close()
    assert told.empty()


# A workbench of Python on pages of a person's own Panel app.


@pytest.fixture
def w(open_workbench: Open, photos: Path) -> wb.Workbench:
    graph = wb.read(photos).decode().resize(size=(32, 32)).rotate(angle=5)
    return open_workbench(graph.with_settings(batch_size=8), roots=[photos])


def test_pages_follow_each_other_and_cells(w: wb.Workbench) -> None:
    one, other = PanelView(w), PanelView(w)
    assert one.parts["bar"].title == w.bar.title
    one.parts["preview"].tiles = 8  # as its page sets it
    assert w.preview.tiles == other.parts["preview"].tiles == 8
    w.preview.tiles = 12
    assert one.parts["preview"].tiles == other.parts["preview"].tiles == 12
    other.parts["inspector"].outbox = [
        {"n": 9, "view": "v", "do": "set", "node": "rotate", "arg": "angle", "value": 7}
    ]
    assert w["rotate"].angle == 7
    assert w.undo()
    one.parts["preview"].batch = -3  # refused: everyone has the old one
    assert one.parts["preview"].batch == w.preview.batch == 0


def test_a_part_is_given_by_its_name(w: wb.Workbench) -> None:
    preview, whole = w.panel("preview"), w.panel()
    assert type(preview).__name__ == "Preview"
    for view, widget in ((preview, "w.preview"), (whole, "w")):  # in a cell, without an extension
        words = view._repr_mimebundle_()["text/plain"]
        assert words.startswith(f"Put {widget} on the last line of a cell.")
    assert "rotate" in whole.canvas.nodes
    assert type(whole.panels[0]).__name__ == "Tabs"
    with pytest.raises(wb.ArgumentError, match="Use one of: all, bar, canvas"):
        w.panel("previe")
    w.close()
    with pytest.raises(EngineClosedError, match="This workbench is closed"):
        w.panel()


def test_it_opens_and_saves_below_its_roots_only(w: wb.Workbench, tmp_path: Path) -> None:
    with pytest.raises(wb.SaveError, match="outside"):
        w.share(tmp_path / "sheet.png")


@pytest.mark.thorough
@pytest.mark.browser
def test_an_own_app_shows_it_and_reads_what_is_selected(w: wb.Workbench, page: Page) -> None:
    port = free_port()
    seen: list[tuple[str, ...]] = []
    w.preview.observe(lambda change: seen.append(change["new"].files), "selected")
    app = pn.serve(
        {"own": lambda: pn.Column("# Mine", w.panel())}, port=port, threaded=True, show=False
    )
    try:
        await_server(f"http://127.0.0.1:{port}/favicon.ico")
        page.goto(f"http://127.0.0.1:{port}/own")
        await_picture(page)
        frames = page.locator(".wb-tile-frame")
        frames.nth(1).click(modifiers=["Control"])
        frames.nth(2).focus()
        page.keyboard.press("x")
        expect(frames.nth(2)).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".wb-tile-frame[aria-pressed]")).to_have_count(2)
        assert w.preview.marked == [1, 2]
        assert len(w.preview.selected) == 2
        assert seen[-1] == w.preview.selected.files
        w["rotate"].angle = 9
        expect(page.locator(".wb-canvas")).to_contain_text(re.compile(r"angle\s*9"))
        edge, screen = page.locator("[data-wb=canvas-edge]"), page.locator(".wb-screen")
        edge.focus()
        width = edge.get_attribute("aria-valuenow") or ""
        page.keyboard.press("ArrowRight")
        expect(edge).not_to_have_attribute("aria-valuenow", width)
        expect(screen).to_have_attribute("data-form", "wide")
        page.set_viewport_size({"width": 500, "height": 800})
        expect(screen).to_have_attribute("data-form", "narrow")
    finally:
        app.stop()
