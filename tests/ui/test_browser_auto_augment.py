"""Automatic augmentation in a real JupyterLab and a real Panel app, by keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.hosts import PATIENCE, Host, await_picture, await_python, part, small
from workbench.catalog.auto_augment import SUITE

AUGMENTATION = "|".join(SUITE)

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


def test_a_policy_is_found_set_and_told_under_the_tiles(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    canvas = part(page, "canvas")
    canvas.locator("[data-node='rotate']").click()
    page.keyboard.press("/")
    page.keyboard.type("RandAugment")
    page.keyboard.press("Enter")
    card = canvas.locator("[data-node='rand_augment']")
    expect(card).to_be_visible(timeout=PATIENCE)
    magnitude = part(page, "inspector").locator("[data-arg=m]").get_by_role("spinbutton")
    magnitude.fill("30")
    magnitude.press("Enter")
    await_python(host, "model.graph.node('rand_augment').args['m']", lambda found: found == 30)
    tile = part(page, "preview").locator("[data-wb=tile] button").first
    caption = part(page, "preview").locator("[data-wb=tile] [data-wb=fired]").first
    expect(caption).to_have_text(re.compile(AUGMENTATION), timeout=PATIENCE)
    expect(tile).to_have_accessible_name(re.compile(rf"rand_augment ({AUGMENTATION})"))
    magnitude.fill("31")
    magnitude.press("Enter")
    expect(canvas.locator("[data-node='rand_augment']")).to_contain_text(
        "there are 31 steps", timeout=PATIENCE
    )
