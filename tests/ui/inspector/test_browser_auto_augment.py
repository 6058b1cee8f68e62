"""Automatic augmentation in a real JupyterLab and a real Panel app, by keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.hosts import PATIENCE, Host, await_picture, await_python, part, small
from workbench.catalog.own_operators.auto_augment import SUITE

AUGMENTATION = "|".join(SUITE)

_READ = """el => {
  const texts = [...el.querySelectorAll(":scope > span")];
  const shown = texts.filter((text) => !("cut" in text.dataset));
  const box = el.getBoundingClientRect();
  const more = el.querySelector("[data-wb=fired-more]")?.getBoundingClientRect();
  const inside = shown.every((text) => {
    const { right, bottom } = text.getBoundingClientRect();
    const covered = more && bottom > more.top + 1 && right > more.left;
    return right <= box.right + 1 && bottom <= box.bottom + 1 && !covered;
  });
  return { shown: shown.length, cut: texts.length - shown.length, inside };
}"""

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


@pytest.mark.parametrize("wide", [1600, 1100])
def test_captions_of_many_augmentations_are_read_whole_or_counted(
    host: Host, photos: Path, wide: int
) -> None:
    host.page.set_viewport_size({"width": wide, "height": 900})
    host.open(photos, small("augmix"))
    await_picture(host.page)
    tiles = part(host.page, "preview").locator("[data-wb=tile]")
    expect(tiles.locator("[data-wb=fired]")).to_have_count(4, timeout=PATIENCE)
    told = host.python("[[*t.applied, *t.branches] for t in model.state.preview.tiles]")
    for tile, texts in zip(tiles.all(), told, strict=True):
        caption = tile.locator("[data-wb=fired]")
        read = caption.evaluate(_READ)
        assert read["shown"] + read["cut"] == len(texts)
        assert read["shown"] >= 3
        assert read["inside"], "none is cut in two, and the count covers none"
        more = [] if not read["cut"] else [f"+{read['cut']} more"]
        expect(caption.locator("[data-wb=fired-more]")).to_have_text(more)
        name = tile.locator("button").first.get_attribute("aria-label") or ""
        for text in texts:
            assert text.replace(".", ": ") in name or text in name


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
