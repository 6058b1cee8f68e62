"""Data that no decoder follows, in both hosts: the speed of sequences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.sources.test_video_frames import sequences
from tests.sources.written_pixels import write_frames
from tests.ui.hosts import Host, await_picture, part
from tests.ui.speed.test_browser_speed import TINY, ended

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


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
    expect(row.first).to_contain_text(re.compile(r"[\d.,]+ sequences/s\s*[\d,]+ frames/s"))
    ended(speed)
