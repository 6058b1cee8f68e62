"""The originals while a key is held: from every panel, in place, and closely."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import PATIENCE, Host, await_picture, await_python, part, preview_mode, small
from tests.ui.preview_page import preview, show, shown, slide

pytestmark = pytest.mark.browser


def note(page: Page) -> Locator:
    return preview(page).locator("[data-wb=note]")


def tops(page: Page) -> list[float]:
    """Where each tile and its picture begin, and the line under them."""
    found = preview(page).locator("[data-wb=tile], [data-wb=tile] button:first-child, .wb-foot")
    return found.evaluate_all("els => els.map((el) => el.getBoundingClientRect().y)")


@pytest.mark.thorough
def test_the_key_is_heard_wherever_the_focus_is(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)

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
    host.open(photos, small("imagenet-train"))
    page = host.page
    await_picture(page)
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
    host.open(photos, small())
    page = host.page
    await_picture(page)
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
    host.open(photos, small())
    page = host.page
    await_picture(page)
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
    host.open(photos, small("two-view"))
    page = host.page
    await_picture(page)
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
    host.open(photos, small())
    page = host.page
    await_picture(page)
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
