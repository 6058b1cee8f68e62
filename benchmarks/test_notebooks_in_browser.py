"""The time of each notebook in JupyterLab and in Notebook 7, run cell by cell in Chromium.

Notebook 7 is not installed with the tests: ``pip install notebook``. Under ``$OUT`` each leaves a
picture of its cells and itself, with its outputs. ``-k 'jupyterlab and 06'`` runs one.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from benchmarks.conftest import Table
from tests.notebook_outputs import FOLDER
from tests.ui.hosts import PATIENCE
from tests.ui.labserver import LabServer

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SLOWEST = 400_000
"""Milliseconds."""
_COMMAND = "(name) => { window.jupyterapp.commands.execute(name); }"
_CELLS = """window.jupyterapp.shell.currentWidget.content.widgets
  .filter((cell) => cell.model.type === "code")"""
_OUTPUTS = f"{_CELLS}.flatMap((cell) => cell.model.outputs.toJSON())"
_ENDED = f"""() => {_OUTPUTS}.some((output) => output.output_type === "error")
  || {_CELLS}.every(({{ model }}) =>
    model.executionCount !== null && model.executionState !== "running")"""


@pytest.fixture(scope="module", params=["jupyterlab", "notebook"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, LabServer]]:
    """A host with the notebooks and the records that they read, as in a clone."""
    if not find_spec(request.param):
        pytest.skip(f"{request.param} is not installed: pip install {request.param}")
    with LabServer(tmp_path_factory.mktemp("host"), module=request.param) as server:
        for part in ("notebooks", "assets/benchmarks"):
            shutil.copytree(FOLDER.parent / part, server.work / part)
        yield request.param, server


@pytest.fixture
def tall_page(browser: Browser) -> Iterator[Page]:
    """A page for all cells at once. Notebook 7's own scripts may fail in it, and do."""
    page = browser.new_page(viewport={"width": 1280, "height": 5200})
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()


@pytest.mark.browser
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [path.name for path in NOTEBOOKS])
def test_a_notebook_runs_to_its_end(
    name: str, server: tuple[str, LabServer], tall_page: Page, table: Table
) -> None:
    (module, host), page = server, tall_page
    path = f"notebooks/{name}"
    host.reopen(page, path)
    page.evaluate(_COMMAND, "notebook:clear-all-cell-outputs")
    begun = time.monotonic()
    page.evaluate(_COMMAND, "notebook:run-all-cells")
    page.wait_for_function(_ENDED, timeout=SLOWEST)
    seconds = time.monotonic() - begun
    outputs: list[Any] = page.evaluate(f"() => {_OUTPUTS}")
    try:
        _keep(page, host.work / path, f"{module}-{name[:2]}")
    finally:
        host.end_kernels()
        host.forget()
    errors = [each for each in outputs if each["output_type"] == "error"]
    assert not errors
    assert not [each["text"] for each in outputs if each.get("name") == "stderr"]
    table.add(f"{path}, {module}", [seconds], "s", "to reach: 120")


def _keep(page: Page, notebook: Path, name: str) -> None:
    """The picture of the cells, and the notebook as it is saved, where ``$OUT`` is set."""
    if "OUT" not in os.environ:
        return
    page.wait_for_function("() => [...document.images].every((image) => image.complete)")
    folder = Path(os.environ["OUT"])
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    shutil.copy(notebook, folder / f"{name}.ipynb")
