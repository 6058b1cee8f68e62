"""The code panel in a real JupyterLab and a real Panel app: targets, files, what cannot go."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import (
    Host,
    LabHost,
    PanelHost,
    await_picture,
    await_python,
    open_page,
    part,
    small,
)
from workbench.emit import emit_script
from workbench.emit.targets import export
from workbench.graph.edits.connect import set_output
from workbench.ui.export.exports import entry_names

pytestmark = pytest.mark.browser


def code(page: Page) -> Locator:
    return part(page, "code")


def open_code(host: Host, photos: Path) -> None:
    host.open(photos, small())
    await_picture(host.page)
    part(host.page, "tabs").get_by_role("tab", name="Code").click()
    expect(code(host.page).locator(".wb-line").first).to_be_visible()


def choose(page: Page, target: str) -> None:
    code(page).locator("[data-wb=target]").click()
    code(page).locator("[data-wb=target-filter]").fill(target)
    code(page).locator(f"[data-wb=target-row][data-name={target}]").click()
    expect(code(page).locator("[data-wb=target]")).to_contain_text(target)


@pytest.mark.thorough
def test_a_target_is_chosen_and_its_code_follows(host: Host, photos: Path) -> None:
    open_code(host, photos)
    page = host.page
    highlighted = code(page).locator("[data-highlighted]")
    expect(highlighted.first).to_contain_text(
        "fn.random.uniform("
    )  # the angle of the selected rotate

    code(page).locator("[data-wb=target]").click()
    rows = code(page).locator("[data-wb=target-row]")
    names = ["script", "pytorch", "lightning", "tensorflow", "jax", "notebook"]
    assert [row.get_attribute("data-name") for row in rows.all()] == names
    page.keyboard.type("jax")
    expect(rows).to_have_count(sum("jax" in name for name in entry_names()))
    page.keyboard.press("ArrowDown")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("Escape")
    choose(page, "pytorch")
    expect(code(page).locator("[data-wb=source]")).to_contain_text("class Loader")
    expect(code(page).locator("[data-wb=about]")).to_contain_text("can resume from a checkpoint")
    expect(code(page).locator("[data-wb=path]")).to_have_value("loader.py")
    assert host.python("model.state.target") == "pytorch"
    if isinstance(host, LabHost):
        assert host.server.evaluate("w.target") == "pytorch"

    # An edit shows in it, in the lines that are highlighted.
    part(page, "canvas").locator("[data-node=color]").click()
    expect(highlighted.filter(has_text="fn.color_twist(")).to_be_visible()
    page.keyboard.press("Delete")
    expect(code(page).locator("[data-wb=source]")).not_to_contain_text("fn.color_twist(")
    page.keyboard.press("Control+z")
    expect(code(page).locator("[data-wb=source]")).to_contain_text("fn.color_twist(")

    with page.expect_download() as download:
        code(page).locator("[data-wb=download]").click()
    assert download.value.suggested_filename == "loader.py"
    expect(code(page).locator("[data-wb=message]")).to_have_text("Downloaded loader.py.")
    assert Path(download.value.path()).read_text() == export(small(), "pytorch").main.text
    code(page).locator("[data-wb=save]").click()
    expect(code(page).locator("[data-wb=message]")).to_contain_text("Saved ")
    assert (host.work / "loader.py").read_text() == export(small(), "pytorch").main.text
    (host.work / "loader.py").unlink()


@pytest.mark.thorough
def test_all_targets_are_offered_and_the_code_of_one_is_seen_from_its_top(
    panel: PanelHost, photos: Path
) -> None:
    page = panel.page
    page.set_viewport_size({"width": 1440, "height": 900})
    open_page(panel, photos, small("simclr"))
    source = code(page).locator("[data-wb=source]")
    part(page, "tabs").get_by_role("tab", name="Code").click()
    expect(code(page).locator("[data-highlighted]").first).to_be_attached()
    assert source.evaluate("(list) => list.scrollTop") == 0  # no node was selected by hand yet
    for target in ("pytorch", "pytorch", "script"):
        part(page, "canvas").locator("[data-node=crop_2]").click()
        part(page, "bar").locator("[data-wb=export]").click()
        rows = part(page, "bar").locator("[data-wb=target-row]")
        more = part(page, "bar").locator("[data-wb=more-targets]")
        if more.get_attribute("aria-expanded") == "false":
            more.click()
        expect(rows).to_have_count(len(entry_names()))
        for row in rows.all():
            expect(row).to_be_in_viewport(ratio=1)
        await_python(panel, "model.state.selected", ["crop_2"].__eq__)
        rows.and_(page.locator(f"[data-name={target}]")).click()
        await_python(panel, "model.state.code_from_top", bool)
        expect(code(page).locator("[data-wb=target]")).to_contain_text(target)
        expect(code(page).locator("[data-highlighted]").first).to_be_attached()
        assert source.evaluate("(list) => list.scrollTop") == 0
        part(page, "canvas").locator("[data-node=flip_2]").click()
        expect(code(page).locator("[data-highlighted]").first).to_be_in_viewport()
        part(page, "tabs").get_by_role("tab", name="Preview").click()


@pytest.mark.thorough
def test_several_files_have_a_switch_and_a_zip(host: Host, photos: Path) -> None:
    open_code(host, photos)
    page = host.page
    part(page, "canvas").locator("[data-node=resize]").click()  # a served model keeps it
    choose(page, "triton")
    files = code(page).get_by_role("radio")
    expect(files).to_have_text(["dali.py", "config.pbtxt", "client.py"])
    expect(code(page).locator("[data-highlighted]").first).to_be_visible()
    files.nth(1).click()
    expect(code(page).locator("[data-wb=source]")).to_contain_text("max_batch_size: 4")
    expect(code(page).locator("[data-highlighted]")).to_have_count(0)
    with page.expect_download() as download:
        code(page).locator("[data-wb=download]").click()
    assert download.value.suggested_filename == "triton.zip"
    with zipfile.ZipFile(download.value.path()) as packed:
        found = {name: packed.read(name).decode() for name in packed.namelist()}
    assert found == {path: file.text for path, file in export(small(), "triton").files.items()}

    choose(page, "notebook")  # read cell by cell, not as JSON
    expect(files.first).to_be_hidden()
    expect(code(page).locator(".wb-line").first).to_have_text("# %% [markdown]\n")


@pytest.mark.thorough
def test_what_cannot_go_says_why_and_no_old_code_stays(host: Host, photos: Path) -> None:
    open_code(host, photos)
    page = host.page
    choose(page, "triton")
    expect(code(page).locator("[data-wb=source]")).to_contain_text("autoserialize")
    part(page, "canvas").locator("[data-output=images]").click()
    page.keyboard.press("Delete")
    stale = code(page).locator("[data-wb=stale]")
    expect(stale).to_contain_text("No code: reader: no output")
    expect(code(page).locator("[data-wb=source]")).not_to_contain_text("autoserialize")
    for name in ("copy", "download", "save"):
        expect(code(page).locator(f"[data-wb={name}]")).to_be_disabled()
    stale.locator("[data-wb=select]").click()
    expect(part(page, "inspector")).to_have_attribute("data-node", "reader")
    choose(page, "script")
    expect(stale).to_be_hidden()
    text = emit_script(set_output(small(), "images", None)).text
    assert host.python("model.state.checked.source.text") == text


def test_the_checkbox_stands_beside_the_target_on_a_small_screen(host: Host, photos: Path) -> None:
    host.page.set_viewport_size({"width": 1280, "height": 720})
    open_code(host, photos)
    page = host.page
    for target in ("notebook", "lightning"):
        choose(page, target)
        expect(code(page).locator("[data-wb=path]")).not_to_have_value("pipe.py")
        label = code(page).locator(".wb-check", has_text="Skip bad files").bounding_box()
        button = code(page).locator("[data-wb=target]").bounding_box()
        assert label is not None
        assert button is not None
        middle, other = (box["y"] + box["height"] / 2 for box in (label, button))
        assert label["height"] < 30, target
        assert abs(middle - other) < 6, target
    code(page).locator(".wb-check", has_text="Skip bad files").click()
    expect(code(page).locator("[data-wb=stale]")).to_contain_text("The files were not checked")


@pytest.mark.thorough
def test_a_dataset_version_is_rendered_and_proven(host: Host, photos: Path, tmp_path: Path) -> None:
    open_code(host, photos)
    panel = code(host.page)
    panel.locator("[data-wb=version] summary").click()
    folder = host.python("model.shown('code', 'save_folder')")
    name = f"version-{tmp_path.name}"
    panel.locator("[name=path]").fill(name)
    panel.locator("[name=copies]").fill("2")
    panel.locator("[name=split]").fill("0.5,0.5")
    panel.locator("[data-wb=render-version]").click()
    result = panel.locator("[data-wb=version-result]")
    expect(result).to_contain_text("Complete.")
    expect(result).to_contain_text("120 train, 60 val, folder, PNG")
    expect(panel.locator("[name=copies]")).to_have_value("2")  # not reset by new fields
    panel.locator("[data-wb=prove-version]").click()
    expect(result).to_contain_text("proven:")
    shutil.rmtree(Path(folder, name))
