"""Clips in both hosts: a strip of frames on tiles and cards, one frame in the close-up."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.sources.clips import write_clips
from tests.sources.test_video import LENGTH, a_graph
from tests.ui.hosts import PATIENCE, Host, await_cards, await_picture, await_python, part

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


def test_a_frame_is_chosen_by_slider_and_keys(host: Host, tmp_path: Path) -> None:
    host.open(write_clips(tmp_path / "clips"), a_graph())
    page = host.page
    await_picture(page)
    await_cards(page, 3)
    preview = part(page, "preview")
    expect(preview.locator("[data-wb=tile]")).to_have_count(4)

    preview.locator("[data-wb=tile]").first.dblclick()
    closeup = preview.locator("[data-wb=closeup]")
    expect(closeup).to_have_attribute("data-painted", "1", timeout=PATIENCE)
    expect(closeup).to_contain_text("128×96 px")  # four frames of 64 x 48
    expect(closeup).to_contain_text("All frames")
    slider = closeup.locator("[data-wb=closeup-frame]")
    slider.fill("2")
    expect(closeup).to_contain_text(f"Frame 3 of {LENGTH}")
    expect(closeup).to_contain_text("64×48 px", timeout=PATIENCE)
    closeup.locator("[data-wb=zoomable-image]").press(".")
    expect(closeup).to_contain_text(f"Frame 4 of {LENGTH}", timeout=PATIENCE)
    await_python(host, "model.state.closeup.frame", lambda frame: frame == 3)
    closeup.locator("[data-wb=closeup-next]").click()
    expect(closeup).to_have_attribute("data-index", "1", timeout=PATIENCE)
    expect(closeup).to_contain_text(f"Frame 4 of {LENGTH}")
