"""Data that no decoder follows, in both hosts: arrays in a recipe, and the speed of sequences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.sources.test_video_frames import sequences
from tests.sources.written_pixels import write_arrays, write_frames, write_volumes
from tests.ui.hosts import PATIENCE, Host, await_cards, await_picture, part, small
from tests.ui.test_browser_speed import TINY, ended

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


def test_a_recipe_is_opened_on_arrays_and_then_on_images(
    host: Host, photos: Path, tmp_path: Path
) -> None:
    host.open(write_arrays(photos, tmp_path / "arrays"), small())
    page = host.page
    await_picture(page)
    await_cards(page, 2)
    ops = "[node.op for node in model.graph.nodes]"
    assert "decoders.image" not in host.python(ops)
    expect(part(page, "bar")).to_contain_text(
        f"arrays · {len(list(photos.glob('*/*')))} arrays", timeout=PATIENCE
    )
    part(page, "tabs").get_by_role("tab", name="Data").click()
    data = part(page, "data")
    expect(data.locator("[data-wb=formats] [data-name=NPY]")).to_be_visible(timeout=PATIENCE)
    expect(data.locator("[data-wb=classes] [data-name=cat]")).to_have_attribute("data-count", "10")
    page.screenshot(path=str(tmp_path / "arrays.png"))


def test_a_volume_shows_its_slices(host: Host, tmp_path: Path) -> None:
    host.open(write_volumes(tmp_path / "volumes"), small("medical-gray"))
    page = host.page
    await_picture(page)
    page.screenshot(path=str(tmp_path / "volumes.png"))


def test_the_speed_of_sequences_is_told_with_their_frames(host: Host, tmp_path: Path) -> None:
    host.open(write_frames(tmp_path / "frames"), sequences())
    page = host.page
    await_picture(page)
    host.python(TINY)
    part(page, "tabs").get_by_role("tab", name="Speed").click()
    speed = part(page, "speed")
    compare = speed.locator("[data-part=compare]")
    compare.locator("[data-wb=measure]").click()
    row = compare.locator("[data-wb=speed-row]").filter(has_text=re.compile("sequences/s"))
    expect(row.first).to_contain_text(re.compile(r"[\d.,]+ sequences/s[\d,]+ frames/s"))
    ended(speed)
    page.screenshot(path=str(tmp_path / "speed.png"))
    speed.get_by_role("radio", name="Stages", exact=True).click()
