"""Rules of hosts that are not run here (VS Code, Colab), and pages without a kernel.

VS Code shows outputs in a page of its own, with its own sign of light and dark; Colab in a frame
for each cell, and custom widgets only after ``enable_custom_widget_manager``; neither has
JupyterLab's classes. Their kernels may be older than subshells.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from playwright.sync_api import Browser, expect

import workbench as wb
from workbench.ui.contract.bundles import bundle_path
from workbench.ui.contract.components import COMPONENTS
from workbench.ui.notebook.notebook_part import PARTS

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
    picture = page.locator(".wb-static-snapshot img")
    expect(picture).to_be_visible()
    assert picture.evaluate("(image) => image.naturalWidth") > 200
    graph = page.locator("img[src^='data:image/svg+xml']")
    expect(graph).to_be_visible()
    assert graph.evaluate("(image) => image.naturalWidth") > 100
    page.screenshot(path=tmp_path / "saved.png", full_page=True)
    page.close()
