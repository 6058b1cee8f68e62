"""What is in the data, in both hosts: charts, classes on tiles, folders to open."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.hosts import PATIENCE, Host, await_picture, part, small
from workbench.graph.edit import set_setting

pytestmark = pytest.mark.browser


def test_a_class_is_chosen_in_its_chart_and_another_folder_is_found(
    host: Host, photos: Path
) -> None:
    host.open(photos, set_setting(small(), batch_size=16))
    page = host.page
    await_picture(page)
    part(page, "tabs").get_by_role("tab", name="Data").click()
    data, preview = part(page, "data"), part(page, "preview")
    bar = data.locator("[data-wb=classes] [data-name=cat]")
    expect(bar).to_have_attribute("data-count", "10", timeout=PATIENCE)
    expect(data.locator("[data-wb=formats] [data-name=JPEG]")).to_be_visible()
    expect(data.locator("[data-wb=size-counts] li").first).to_be_visible()

    bar.get_by_role("button").click()
    expect(preview).to_be_visible()
    tiles = preview.locator("[data-wb=tile]")
    names = host.python("[t.class_name for t in model.state.preview.tiles]")
    expect(tiles).to_have_count(names.count("cat"))
    expect(preview.locator("[data-wb=of-classes]")).to_contain_text(
        f"{names.count('cat')} of 16 in this batch"
    )
    for label in tiles.locator("[data-wb=label]").all():
        expect(label).to_have_text("cat")
    assert host.python("model.state.batch") == 0  # what is read is the same
    preview.locator("[data-wb=all-classes]").click()
    expect(tiles).to_have_count(16)

    part(page, "tabs").get_by_role("tab", name="Data").click()
    expect(data.locator("[data-wb=browse]")).to_be_visible()  # what is hidden takes no focus
    data.locator("[data-wb=browse]").focus()
    page.keyboard.press("Enter")
    row = data.locator(f"[data-folder={photos.name}]")
    expect(row).to_contain_text(f"{len(list(photos.iterdir()))} folders", timeout=PATIENCE)
    row.locator("[data-wb=look-into]").focus()
    page.keyboard.press("Enter")
    expect(data.locator("[data-folder=cat]")).to_contain_text("10 images", timeout=PATIENCE)
    data.locator("[data-folder=cat]").get_by_role("button", name="Open cat").click()
    expect(part(page, "bar")).to_contain_text("cat/ · 10 images", timeout=PATIENCE)
