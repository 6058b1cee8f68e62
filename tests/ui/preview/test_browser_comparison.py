"""Two graphs in one tile, and the originals while a key is held, in a browser."""

from __future__ import annotations

import io
import os
import re
import signal
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.ui.app.test_browser_accessibility import serious_faults
from tests.ui.hosts import (
    PATIENCE,
    Host,
    PanelHost,
    await_python,
    close_effect,
    drag,
    open_page,
    part,
    point,
    preview_mode,
    small,
)
from tests.ui.preview_page import preview, show, shown, slide
from workbench.catalog import load_catalog
from workbench.graph import dump_graph
from workbench.graph.edits.edit import set_arg

pytestmark = pytest.mark.browser


# Two graphs in one tile, in a real browser: the slider moves by keys and pointer.

DARK = set_arg(small(), load_catalog(), "color", "brightness", 0.0)


def compare_with_dark(page: Page, folder: Path) -> Locator:
    """Compare with a file of a black graph. Returns the preview."""
    preview = part(page, "preview")
    preview_mode(page, "Compare").click()
    file = folder / "dark.json"
    file.write_text(dump_graph(DARK))
    preview.locator("[data-wb=compare-file]").set_input_files(file)
    return preview


def pixels(tile: Locator) -> NDArray[np.int16]:
    """What is seen of a tile's picture."""
    shot = tile.locator(".wb-tile-frame").screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("L")).astype(np.int16)


@pytest.mark.thorough
def test_a_slider_across_every_tile(host: Host, photos: Path, tmp_path: Path) -> None:
    page = open_page(host, photos, small())
    preview_mode(page, "Compare").click()
    error = part(page, "preview").locator("[data-wb=comparison-error]")
    expect(error).to_contain_text("There are no edits yet")
    preview = compare_with_dark(page, tmp_path)
    tiles = preview.locator("[data-wb=tile]")
    sliders = preview.get_by_role("slider")
    expect(sliders).to_have_count(4)
    expect(preview.locator("[data-wb=against]")).to_have_value("file")
    expect(preview.locator("[data-wb=comparison] tbody")).to_contain_text("brightness")
    expect(preview.locator("[data-wb=distance]").first).to_contain_text("Δ")

    sliders.first.focus()
    page.keyboard.press("Home")
    expect(sliders.first).to_have_attribute("aria-valuetext", "only the current graph")
    now = [pixels(tiles.nth(index)) for index in (0, 3)]
    page.keyboard.press("End")
    expect(sliders.nth(3)).to_have_attribute("aria-valuenow", "100")
    for index, seen in zip((0, 3), now, strict=True):
        other = pixels(tiles.nth(index))
        middle = other[20:-20, 20:-40]
        assert middle.mean() < 5 < seen.mean() - 20, "the other graph is black"
    page.keyboard.press("PageDown")
    expect(sliders.first).to_have_attribute("aria-valuenow", "90")

    drag(page, point(sliders.first), point(tiles.first.locator(".wb-tile-frame"), 0.25))
    expect(sliders.first).to_have_attribute("aria-valuenow", "25")
    seen, before = pixels(tiles.nth(3)), now[1]
    width = seen.shape[1]
    assert seen[20:-20, 4 : width // 4 - 16].mean() < 5, "left of the slider stands the other graph"
    right = slice(width // 4 + 16, width - 20)
    assert np.abs(seen[:, right] - before[:, right]).mean() < 2, "right of it the present one"
    assert host.python("model.graph.node('color').args.get('brightness')") is None
    preview_mode(page, "Augmented").click()
    expect(sliders).to_have_count(0)


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_two_outputs_have_a_slider_each_and_no_serious_fault(
    host: Host, photos: Path, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    host.page.emulate_media(color_scheme=scheme)
    page = open_page(host, photos, small("two-view"))
    preview = part(page, "preview")
    preview_mode(page, "Compare").click()
    preview.locator("[data-wb=against]").select_option("recipe simclr")
    handles = preview.locator("[data-wb=tile]").first.locator("[data-wb=split]")
    expect(handles).to_have_count(2)
    expect(preview.get_by_role("slider")).to_have_count(4)
    expect(preview.locator("[data-wb=distance]")).to_have_count(4)
    assert serious_faults(page, "preview") == []
    smallest = min(box["width"] for box in map(Locator.bounding_box, handles.all()) if box)
    assert smallest >= 24


@pytest.mark.thorough
def test_the_closeup_has_the_same_slider(host: Host, photos: Path, tmp_path: Path) -> None:
    page = open_page(host, photos, small())
    preview = compare_with_dark(page, tmp_path)
    tile = preview.locator("[data-wb=tile]").nth(2)
    slider = tile.get_by_role("slider")
    expect(slider).to_have_count(1)
    tile.locator(".wb-tile-frame").focus()
    page.keyboard.press("Enter")
    near = preview.locator("[data-wb=closeup]")
    split = near.get_by_role("slider")
    expect(split).to_have_attribute("aria-valuenow", "50")
    expect(near.locator("[data-wb=closeup-sides]")).to_contain_text("left: dark.json")
    page.keyboard.press("Tab")
    expect(split).to_be_focused()
    page.keyboard.press("End")
    assert seen_mean(near) < 5, "the other graph is black"
    page.keyboard.press("Home")
    assert seen_mean(near) > 20, "the present one is not"
    assert serious_faults(page, "preview") == []

    drag(page, point(split), point(near.locator("[data-wb=zoomable-image] > canvas"), 0.25, 0.2))
    expect(split).to_have_attribute("aria-valuenow", "25")
    page.keyboard.press("Escape")
    expect(slider).to_have_attribute("aria-valuenow", "25")


def seen_mean(near: Locator) -> float:
    """Of the middle of the close-up's picture."""
    shot = near.locator("[data-wb=zoomable-image] > canvas").screenshot()
    image = np.asarray(Image.open(io.BytesIO(shot)).convert("L"))
    width = image.shape[1]
    return float(image[20:-20, width // 5 : -width // 5].mean())


@pytest.mark.thorough
def test_tiles_are_in_sight_on_a_narrow_screen(
    panel: PanelHost, photos: Path, tmp_path: Path
) -> None:
    panel.page.set_viewport_size({"width": 390, "height": 844})
    page = open_page(panel, photos, small())
    preview = compare_with_dark(page, tmp_path)
    toggle = preview.locator("[data-wb=differences]")
    expect(toggle).to_have_attribute("aria-expanded", "false")
    expect(toggle).to_contain_text("2 differences, 1 remark")
    expect(preview.locator("[data-wb=tile]").first).to_be_in_viewport(ratio=0.5)
    toggle.focus()
    page.keyboard.press("Enter")
    expect(preview.locator("[data-wb=comparison] tbody tr")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(preview.locator("[data-wb=comparison] tbody tr")).to_have_count(0)


# The originals while a key is held: from every panel, in place, and closely.


def note(page: Page) -> Locator:
    return preview(page).locator("[data-wb=note]")


def tops(page: Page) -> list[float]:
    """Where each tile and its picture begin, and the line under them."""
    found = preview(page).locator("[data-wb=tile], [data-wb=tile] button:first-child, .wb-foot")
    return found.evaluate_all("els => els.map((el) => el.getBoundingClientRect().y)")


@pytest.mark.thorough
def test_the_key_is_heard_wherever_the_focus_is(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())

    def held(yes: bool) -> None:
        page.keyboard.down("o")
        if yes:
            expect(preview(page)).to_have_attribute("data-show-original", "true")
        page.keyboard.up("o")
        expect(preview(page)).not_to_have_attribute("data-show-original", "true")

    part(page, "canvas").locator("[data-node=rotate]").click()
    held(True)
    inspector = part(page, "inspector")
    inspector.locator("[data-arg=angle]").get_by_role("slider").first.focus()
    held(True)
    part(page, "tabs").get_by_role("tab", name="Preview").focus()
    held(True)

    # What is typed is no such key.
    field = inspector.locator("[data-arg=angle]").get_by_role("spinbutton").first
    field.focus()
    page.keyboard.down("o")
    expect(field).to_have_value("-10o")
    assert preview(page).get_attribute("data-show-original") is None
    page.keyboard.up("o")
    page.keyboard.press("Escape")


@pytest.mark.thorough
def test_nothing_moves_while_the_key_is_held(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small("imagenet-train"))
    show(page, "Augmented")
    sheet = shown(page, 1)
    expect(note(page)).to_contain_text("de-normalised")
    before = tops(page)

    part(page, "canvas").locator("[data-node]").first.click()
    page.keyboard.down("o")
    sheet = shown(page, sheet)
    expect(note(page)).to_have_text("originals")
    assert tops(page) == before
    page.keyboard.up("o")
    shown(page, sheet)
    expect(note(page)).to_contain_text("de-normalised")
    assert tops(page) == before


def look_closely(page: Page) -> Locator:
    """Open the first tile."""
    preview(page).locator("[data-wb=tile] button").first.click()
    closeup = preview(page).locator("[data-wb=closeup]")
    expect(closeup).to_have_attribute("data-painted", "1", timeout=PATIENCE)
    return closeup


@pytest.mark.thorough
def test_the_key_shows_the_original_closely(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    closeup = look_closely(page)
    stage = closeup.locator("[data-wb=zoomable-image]")
    expect(closeup).to_have_attribute("data-of", "images")
    fitted = stage.get_attribute("data-scale") or ""
    page.keyboard.press("+")
    expect(stage).not_to_have_attribute("data-scale", fitted)
    scale = stage.get_attribute("data-scale") or ""

    page.keyboard.down("o")
    expect(closeup).to_have_attribute("data-painted", "2", timeout=PATIENCE)
    expect(closeup).to_have_attribute("data-of", "original")
    expect(closeup.get_by_role("radio", name="Original")).to_be_checked()
    expect(closeup.locator(".wb-closeup-draws")).to_be_hidden()
    page.keyboard.up("o")
    expect(closeup).to_have_attribute("data-painted", "3", timeout=PATIENCE)
    expect(closeup).to_have_attribute("data-of", "images")
    expect(stage).to_have_attribute("data-scale", scale)
    assert host.python("model.state.show_original") is False  # no sheet was made for it

    # The modes are for all tiles.
    mode = preview_mode(page, "Difference")
    expect(mode).to_have_attribute("aria-disabled", "true")
    mode.click(force=True)
    assert host.python("model.state.mode") == "both"
    closeup.locator("[data-wb=closeup-close]").click()
    expect(closeup).to_be_hidden()
    show(page, "Original")
    shown(page, 1)
    preview(page).locator("[data-wb=tile] button").first.click()
    expect(closeup).to_have_attribute("data-of", "original", timeout=PATIENCE)


@pytest.mark.thorough
def test_values_that_a_worker_takes_along_are_asked_for_again(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    close_effect(host)
    closeup = look_closely(page)
    pid = host.python("model.engine.pid")
    os.kill(pid, signal.SIGSTOP)  # so that it is in the middle of the call
    reading = closeup.locator("[data-wb=reading]")
    page.keyboard.press("ArrowRight")
    expect(reading).to_have_text("…")
    await_python(host, "bool(model.previewer._background_job)", bool)
    os.kill(pid, signal.SIGKILL)
    expect(reading).to_contain_text("SIGKILL", timeout=PATIENCE)
    page.keyboard.press("ArrowRight")
    expect(reading).to_contain_text("uint8", timeout=PATIENCE)


@pytest.mark.thorough
def test_every_picture_is_named_and_originals_have_no_draws(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small("two-view"))
    names = ", ".join(host.python("list(model.graph.outputs)")[:2])
    expect(note(page)).to_contain_text(f"original, {names} side by side")
    caption = preview(page).locator("[data-wb=tile]").first.locator("p")
    frame = preview(page).locator("[data-wb=tile] button").first
    shape = host.python("model.state.preview.tiles[0].shape")
    assert shape in (frame.get_attribute("aria-label") or "")
    show(page, "Original")
    named, label = host.python(
        "[model.state.preview.tiles[0].class_name, model.state.preview.tiles[0].label]"
    )
    expect(caption.locator("[data-wb=label]")).to_have_text(named)
    expect(frame).to_have_attribute("aria-label", re.compile(f", {named}, label {label}$"))


@pytest.mark.thorough
def test_a_click_while_a_fault_stands_is_answered(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    slide(host, "rotate", "angle", "ArrowLeft")
    sheet = shown(page, 1)
    host.python("model.act('canvas', {'do': 'disconnect', 'edges': ['flip:data']})")
    expect(preview(page).locator("[data-wb=stale]")).to_be_visible()
    preview(page).locator("[data-wb=tile] button").first.click()
    expect(part(page, "bar")).to_contain_text("Sample 0 was not opened")
    part(page, "bar").locator("[data-wb=undo]").click()
    shown(page, sheet)
    expect(preview(page).locator("[data-wb=stale]")).to_be_hidden()
    expect(preview(page).locator("[data-wb=closeup]")).to_be_hidden()
