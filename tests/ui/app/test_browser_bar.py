"""The bar and the status line in both hosts: recipes, open, share, restore, faults."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.bench.fakes import measured
from tests.ui.app.test_browser_screen import box, in_sight
from tests.ui.hosts import (
    PATIENCE,
    Host,
    LabHost,
    PanelHost,
    await_picture,
    await_python,
    open_page,
    part,
    small,
)
from workbench.bench import Report
from workbench.bench.records.record import dump_report, graph_hash
from workbench.catalog import load_catalog
from workbench.emit.pipeline_import.graph import with_report
from workbench.engine.resources.machine import describe_machine
from workbench.graph import dump_graph, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.graph.storage.import_report import ImportIssue, ImportReport
from workbench.graph.storage.layout import Document, dump_document
from workbench.preview.requests.share import read_picture, write_shared
from workbench.sources import describe_datasets, open_datasets
from workbench.ui.storage.autosave import state_folder

pytestmark = pytest.mark.browser


# The bar in a real JupyterLab and a real Panel app: recipes, open, share, restore, faults.

_DROP = """([name, type, data]) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], name, { type }));
  return carried;
}"""

# Looked at in the same breath: without another such event it is taken away half a second later.
_HANG_OVER = """(el, [dataTransfer, bar]) => {
  const how = { dataTransfer, bubbles: true, cancelable: true, composed: true };
  el.dispatchEvent(new DragEvent("dragover", how));
  return "drop" in bar.dataset;
}"""


def bar(page: Page) -> Locator:
    return part(page, "bar")


def title(page: Page) -> Locator:
    return bar(page).locator("[data-wb=title]")


def message(page: Page) -> Locator:
    return bar(page).locator("[data-wb=message]")


def drop(page: Page, on: Locator, name: str, kind: str, content: bytes) -> None:
    """Let a file fall on an element, as from the desktop."""
    data = page.evaluate_handle(_DROP, [name, kind, base64.b64encode(content).decode()])
    assert on.evaluate(_HANG_OVER, [data, bar(page).element_handle()])
    on.dispatch_event("drop", {"dataTransfer": data})
    expect(bar(page)).not_to_have_attribute("data-drop", "")


def rename(page: Page, name: str) -> None:
    title(page).click()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(title(page)).to_have_text(name)


@pytest.mark.thorough
def test_recipes_have_pictures_and_keys_choose_one(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    bar(page).locator("[data-wb=recipes]").press("Enter")
    cards = bar(page).locator("[data-wb=recipe]")
    expect(cards.first).to_be_visible()
    pictures = cards.locator("img").all()
    assert len(pictures) >= 12
    for picture in pictures:
        expect(picture).to_have_js_property("naturalWidth", 384)
    expect(bar(page).locator("[data-wb=new]")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(cards.nth(0)).to_be_focused()
    page.keyboard.press("End")
    expect(cards.last).to_be_focused()
    name = cards.last.get_attribute("data-name")
    page.keyboard.press("Enter")
    expect(cards.first).to_be_hidden()
    expect(title(page)).to_have_text(str(name))
    assert host.python("model.graph.name") == name

    bar(page).locator("[data-wb=recipes]").click()
    bar(page).locator("[data-wb=new]").click()
    expect(title(page)).to_have_text("untitled")
    assert host.python("len(model.graph.nodes)") == 0
    rename(page, 'mine"); import os \N{FOX FACE}')
    await_python(host, "model.graph.name", lambda held: held == 'mine"); import os \N{FOX FACE}')
    for _ in range(3):
        bar(page).locator("[data-wb=undo]").click()
    expect(title(page)).to_have_text("rotate-jitter")
    expect(bar(page).locator("[data-wb=undo]")).to_be_disabled()


@pytest.mark.thorough
def test_the_name_of_the_file_follows_the_open_graph(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    path = bar(page).locator("[data-wb=save-path]")

    def offers(name: str) -> None:
        bar(page).locator("[data-wb=save]").click()
        expect(path).to_have_value(name)

    def close() -> None:
        page.keyboard.press("Escape")
        expect(path).to_be_hidden()

    offers("rotate-jitter.json")
    close()
    rename(page, "turned")
    offers("turned.json")
    path.fill("mine.json")
    close()
    offers("mine.json")
    close()
    bar(page).locator("[data-wb=recipes]").click()
    bar(page).locator("[data-wb=recipe][data-name=simclr]").click()
    expect(title(page)).to_have_text("simclr")
    offers("simclr.json")


@pytest.mark.thorough
def test_what_comes_in_is_opened_or_refused_with_the_reason(
    host: Host, photos: Path, tmp_path: Path
) -> None:
    page = open_page(host, photos, small())
    simclr, evaluation = load_recipe("simclr"), load_recipe("imagenet-eval")
    shared = write_shared(Image.new("RGB", (64, 64), "teal"), dump_graph(simclr))

    def paste(text: str) -> None:
        bar(page).locator("[data-wb=open]").click()
        bar(page).locator("[data-wb=open-text]").fill(text)
        bar(page).locator("[data-wb=open-now]").click()

    paste("import os")
    expect(message(page)).to_contain_text("A web page must not run code")
    expect(bar(page).locator("[data-wb=command]")).to_have_text(
        "workbench import pipeline.py -o pipeline.json"
    )
    bar(page).locator("[data-wb=copy-command]").click()
    expect(bar(page).locator("[data-wb=copy-command]")).to_have_text("Copied")
    expect(bar(page).locator("[data-wb=open-text]")).to_have_value("import os")
    paste(dump_graph(evaluation))
    expect(title(page)).to_have_text("imagenet-eval")

    canvas = part(page, "canvas")
    drop(page, canvas, "shared.png", "image/png", shared)
    expect(title(page)).to_have_text("simclr")
    assert host.python("model.graph.name") == "simclr"
    drop(
        page,
        part(page, "preview"),
        "graph.json",
        "application/json",
        dump_graph(evaluation).encode(),
    )
    expect(title(page)).to_have_text("imagenet-eval")

    plain = tmp_path / "plain.png"
    Image.new("RGB", (64, 64)).save(plain)
    drop(page, bar(page), "plain.png", "image/png", plain.read_bytes())
    expect(message(page)).to_contain_text("contains no graph")
    words = page.evaluate_handle(
        "() => { const d = new DataTransfer(); d.setData('text/plain', 'hello'); return d; }"
    )
    canvas.dispatch_event("drop", {"dataTransfer": words})
    expect(message(page)).to_contain_text("The text is not valid JSON")
    drop(page, bar(page), "photo.jpg", "image/jpeg", b"\xff\xd8\xff\xe0")
    expect(message(page)).to_contain_text("photo.jpg is not a PNG")
    expect(title(page)).to_have_text("imagenet-eval")

    path = tmp_path / "shared.png"
    path.write_bytes(shared)
    bar(page).locator("[data-wb=open]").click()
    with page.expect_file_chooser() as chooser:
        bar(page).locator("[data-wb=open-choose]").click()
    chooser.value.set_files(path)
    expect(title(page)).to_have_text("simclr")
    for _ in range(4):
        bar(page).locator("[data-wb=undo]").click()
    expect(title(page)).to_have_text("rotate-jitter")


@pytest.mark.thorough
def test_a_graph_is_shared_as_a_picture_and_in_the_app_as_a_link(
    host: Host, photos: Path, tmp_path: Path
) -> None:
    page = open_page(host, photos, small())
    rename(page, "to share")
    bar(page).locator("[data-wb=export]").click()
    bar(page).locator("[data-wb=share]").click()
    save = bar(page).locator("[data-wb=share-png]")
    expect(save).to_be_enabled(timeout=PATIENCE)
    expect(bar(page).locator("[data-wb=share-picture]")).to_be_visible()
    with page.expect_download() as download:
        save.click()
    assert download.value.suggested_filename == "to-share.png"
    expect(bar(page).locator("[data-wb=share-note]")).to_contain_text("Downloaded to-share.png.")
    path = tmp_path / "to-share.png"
    download.value.save_as(path)
    assert read_picture(path).name == "to share"

    link = bar(page).locator("[data-wb=share-link]")
    if isinstance(host, LabHost):
        expect(link).to_be_hidden()  # the address is JupyterLab's own
        return
    assert isinstance(host, PanelHost)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    link.click()
    expect(bar(page).locator("[data-wb=share-note]")).to_contain_text("Link copied")
    address = page.evaluate("() => navigator.clipboard.readText()")
    assert address.startswith(f"{host.url}/#graph=")
    assert len(address) < 2000
    other = page.context.browser.new_context().new_page()  # type: ignore[union-attr]
    host.server.shown = photos / "cat", small()  # another folder than the link's
    other.goto(address)
    other.get_by_label("Token").fill(host.server.token)
    other.get_by_role("button", name="Log in").click()  # the link outlives it
    expect(title(other)).to_have_text("to share", timeout=PATIENCE)
    expect(other).to_have_url(f"{host.url}/")
    expect(message(other)).to_have_text("Opened to share.")
    await_python(host, "model.sessions.fields()['opened']", lambda opened: opened == 0)  # drawn
    assert host.python("model.data_panel.data") == str(photos)
    gone = json.dumps(json.loads(dump_graph(small())) | {"session": {"data": {"data": "/gone"}}})
    drop(other, bar(other), "gone.json", "application/json", gone.encode())
    expect(bar(other).locator("[data-wb=restored]")).to_contain_text("/gone cannot be opened")
    bar(other).locator("[data-wb=choose-data]").click()
    expect(bar(other).locator("[data-wb=folder-typed]")).to_be_visible()
    other.goto(f"{host.url}/#graph=%%%")
    expect(message(other)).to_contain_text("The link does not contain a valid graph")
    other.context.close()


@pytest.mark.thorough
def test_the_report_of_an_import_is_read_kept_and_removed(panel: PanelHost, shapes: Path) -> None:
    page = open_page(panel, shapes / "coco", small())
    chip, rows = (
        bar(page).locator(f"[data-wb={name}]") for name in ("import-report", "import-row")
    )
    expect(chip).to_be_hidden()
    issues = (
        ImportIssue("changed", "resize", "train.py:3", "<i>linear</i>"),
        ImportIssue("refused", "Elastic", "train.py:4", "no operator"),
    )
    name = "contrastive pretraining of buildings"
    imported = with_report(Document(small().named(name)), ImportReport(("reader",), issues))
    drop(page, bar(page), "train.json", "application/json", dump_document(imported).encode())
    expect(chip).to_have_text("Imported: 1 of 2 steps exact, 1 changed, 1 omitted")
    page.set_viewport_size({"width": 1024, "height": 768})
    for each in ("title", "folder", "unread", "import-report", "export"):
        found = bar(page).locator(f"[data-wb={each}]")
        expect(found).to_be_in_viewport(ratio=1)
        assert found.evaluate("(chip) => chip.offsetWidth") > 70, f"{each} is cut"
    chip.click()
    expect(rows).to_have_text(
        ["changed · train.py:3resize: <i>linear</i>", "omitted · train.py:4Elastic: no operator"]
    )
    expect(bar(page).get_by_text("Later edits do not change this report")).to_be_visible()
    rows.first.click()
    expect(rows.first).to_be_hidden()
    await_python(panel, "model.state.selected", ["resize"].__eq__)
    assert panel.python("model.sessions.close()") is None
    page.reload()
    await_picture(page)
    chip.press("Enter")
    bar(page).locator("[data-wb=dismiss-report]").press("Enter")
    expect(chip).to_be_hidden()
    expect(rows.first).to_be_hidden()
    assert panel.python("model.history.document.report") is None
    bar(page).locator("[data-wb=undo]").click()
    expect(chip).to_be_visible()


@pytest.mark.thorough
def test_a_reload_or_a_restart_brings_the_edits_back(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    rename(page, "not lost")
    await_python(host, "model.graph.name", lambda held: held == "not lost")
    assert host.python("model.sessions.close()") is None  # what else comes 0.3 s later
    line = bar(page).locator("[data-wb=restored]")
    if isinstance(host, LabHost):
        page.goto("about:blank")
        host.server.end_kernels()
        host.open(photos, small())
        expect(line).to_have_text(
            re.compile(r"Not applied: 1 edit made in this cell's output at \d\d:\d\d"),
            timeout=PATIENCE,
        )
        expect(title(page)).to_have_text("rotate-jitter")
        printed = page.locator(".jp-OutputArea-output", has_text="Pass restore=True")
        expect(printed).to_have_count(1)
        line.locator("[data-wb=apply-kept]").click()
        expect(line).to_be_hidden()
        expect(printed).to_have_count(0)
        expect(title(page)).to_have_text("not lost")
        return
    page.reload()
    expect(title(page)).to_have_text("not lost", timeout=PATIENCE)
    expect(line).to_have_text(re.compile(r"Restored your work from \d\d:\d\d"))
    await_picture(page)
    bar(page).locator("[data-wb=undo]").click()
    expect(title(page)).to_have_text("rotate-jitter")
    expect(bar(page).locator("[data-wb=undo]")).to_be_disabled()
    bar(page).locator("[data-wb=redo]").click()
    bar(page).locator("[data-wb=start-afresh]").click()
    expect(title(page)).to_have_text("rotate-jitter")
    expect(line).to_be_hidden()
    bar(page).locator("[data-wb=undo]").click()
    expect(title(page)).to_have_text("not lost")


@pytest.mark.thorough
def test_each_tab_gets_its_own_edits_back(panel: PanelHost, photos: Path) -> None:
    page = open_page(panel, photos, small())
    other = page.context.new_page()
    other.goto(panel.url)
    await_picture(other)
    rename(page, "first tab")
    rename(other, "second tab")
    page.reload()
    expect(bar(page).locator("[data-wb=restored]")).to_be_visible(timeout=PATIENCE)
    expect(title(page)).to_have_text("first tab")
    other.reload()
    expect(title(other)).to_have_text("second tab", timeout=PATIENCE)
    other.close()


@pytest.mark.thorough
def test_all_faults_are_listed_and_lead_to_their_nodes(host: Host, photos: Path) -> None:
    catalog = load_catalog()
    graph = set_arg(small(), catalog, "rotate", "fill_value", "blue")
    graph = set_arg(graph, catalog, "resize", "mode", "sideways")
    host.open(photos, graph)
    page = host.page
    status = bar(page).locator("[data-wb=status]")
    expect(status).to_have_text("2 faults", timeout=PATIENCE)
    status.press("Enter")
    faults = bar(page).locator("[data-wb=fault]")
    expect(faults).to_have_count(2)
    expect(faults.first).to_be_focused()
    expect(faults.filter(has_text="sideways")).to_have_attribute("data-node", "resize")
    faults.filter(has_text="blue").click()
    expect(part(page, "inspector")).to_have_attribute("data-node", "rotate")
    status.click()
    fix = bar(page).locator("[data-wb=fix]").first
    label = fix.text_content()
    assert label
    before = host.python("str(model.graph)")
    fix.click()
    expect(status).to_have_text("1 fault")
    assert host.python("str(model.graph)") != before
    bar(page).locator("[data-wb=undo]").click()
    expect(status).to_have_text("2 faults")
    assert host.python("str(model.graph)") == before


# The status line: what is wrong, how fast this very graph was, what is kept.


@pytest.mark.parametrize("host", ["panel"], indirect=True)
def test_faults_speed_and_what_is_kept(host: Host, photos: Path) -> None:
    graph = small()
    there = Report(
        graph.name,
        describe_datasets(open_datasets(photos)),
        describe_machine(),
        (measured(1740.0, threads=2),),
        created=datetime.now(UTC).isoformat(),
        context={"graph_sha256": graph_hash(graph)},
    )
    records = state_folder() / "records"
    records.mkdir(parents=True, exist_ok=True)
    for name, record in {"a": there, "b": replace(there, context={})}.items():
        (records / f"{name}.json").write_text(dump_report(record))
    host.open(photos, graph)
    await_picture(host.page)
    line = part(host.page, "status")
    assert in_sight(host.page, line)
    assert box(line)[3] - box(line)[1] <= 30, "one line"
    expect(line.locator("[data-wb=status-faults]")).to_have_text("no faults")
    expect(line.locator("[data-wb=status-kept]")).to_have_text("autosaved on this machine")
    speeds = line.locator("[data-wb=status-speeds]")
    expect(speeds).to_contain_text("CPU 1,740 imgs/s")
    expect(speeds).to_contain_text("batch 64 · 2 threads · prefetch 2")
    host.python("model.act('canvas', {'do': 'disconnect', 'edges': ['flip:data']})")
    expect(speeds).to_have_text("speed not measured")
    host.python("model.act('canvas', {'do': 'select', 'node': 'rotate'})")
    button = line.get_by_role("button", name="1 fault")
    button.click()
    listed = line.get_by_role("dialog", name="Faults")
    fault = listed.locator("[data-wb=fault]")
    expect(fault).to_be_focused()
    assert box(listed)[3] <= box(line)[1], "above the line, whole"
    words = listed.locator("[data-wb=fault] span")
    assert words.evaluate("el => el.scrollWidth <= el.clientWidth"), "wrapped, not cut"
    fault.click()
    await_python(host, "model.state.selected", lambda selected: selected == ["flip"])
    button.focus()
    host.page.keyboard.press("Enter")
    expect(fault).to_be_focused()
    fixes = [fix.inner_text() for fix in listed.locator("[data-wb=fix]").all()]
    assert fixes == host.python("list(model.shown('bar', 'faults')[0]['fixes'])")
    host.page.keyboard.press("ArrowDown")
    expect(listed.get_by_role("button", name=fixes[0])).to_be_focused()
    host.page.keyboard.press("Enter")
    expect(line.locator("[data-wb=status-faults]")).to_have_text("no faults")
