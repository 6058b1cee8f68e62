"""Tiles are filtered by what automatic augmentation chose, in both hosts, by keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.hosts import PATIENCE, Host, await_picture, part
from tests.ui.preview.test_augmentation_filter import GRAPH

pytestmark = pytest.mark.browser


@pytest.mark.thorough
def test_tiles_are_filtered_by_augmentation(host: Host, photos: Path) -> None:
    host.open(photos, GRAPH)
    page = host.page
    await_picture(page)
    preview = part(page, "preview")
    told = host.python("[list(t.augmentations) for t in model.state.preview.tiles]")
    seen = {key for keys in told for key in keys}
    wanted = next(key for key in sorted(seen))
    count = sum(wanted in keys for keys in told)
    name = wanted.removeprefix("trivial_augment_wide.")

    preview.locator("[data-wb=augmentation-filter]").focus()
    page.keyboard.press("Enter")
    group = preview.get_by_role("group", name="trivial_augment_wide")
    group.locator(f"[data-scope='{wanted}']").focus()
    page.keyboard.press("Space")
    expect(preview.locator("[data-wb=of-augmentations]")).to_have_text(
        f"{count} of 4 in this batch · trivial_augment_wide: {name}", timeout=PATIENCE
    )
    page.keyboard.press("Escape")
    expect(preview.locator("[data-wb=tile]")).to_have_count(count)
    preview.locator("[data-wb=find-next]").focus()
    page.keyboard.press("Enter")
    expect(preview.locator("[data-wb=find-back]")).to_be_enabled(timeout=PATIENCE)
    assert host.python("model.state.batch") > 0
    preview.locator("[data-wb=all-augmentations]").focus()
    page.keyboard.press("Enter")
    expect(preview.locator("[data-wb=tile]")).to_have_count(4)
