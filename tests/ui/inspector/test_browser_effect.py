"""The effect sheet in the browser: what is seen, and what a click on a picture adopts."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.hosts import PATIENCE, Host, await_picture, await_python, part, small
from workbench.catalog import load_catalog
from workbench.graph.edits.edit import set_arg

pytestmark = pytest.mark.browser


@pytest.mark.thorough
def test_a_click_adopts_a_value(host: Host, photos: Path) -> None:
    host.open(photos, set_arg(small(), load_catalog(), "color", "saturation", 1.0))
    page = host.page
    await_picture(page)
    part(page, "canvas").locator("[data-node=color]").click()
    inspector = part(page, "inspector")
    inspector.locator("[data-wb=effect-open]").click()
    inspector.get_by_label("Argument whose effect is shown", exact=True).select_option("saturation")
    values = inspector.locator("[data-wb=effect-value]")
    present = inspector.locator("[data-wb=effect-value][aria-current]")
    expect(present).to_have_attribute("aria-label", "saturation 1, use it", timeout=PATIENCE)
    expect(values).to_have_count(5)
    present.focus()
    page.keyboard.press("ArrowRight")
    expect(values.nth(2)).to_be_focused()
    name = values.nth(4).get_attribute("aria-label") or ""
    values.nth(4).click()
    expect(present).to_have_attribute("aria-label", name)
    value = float(name.removeprefix("saturation ").removesuffix(", use it"))
    await_python(host, "model.graph.node('color').args['saturation']", lambda v: v == value)

    inspector.get_by_label("Second argument whose effect is shown").select_option("contrast")
    axes = inspector.locator("[data-wb=effect-axis]")
    expect(axes).to_have_count(8, timeout=PATIENCE)
    expect(axes.first).to_have_attribute("data-tip", "saturation")
    expect(axes.last).to_have_attribute("data-tip", "contrast")
    first = values.first.get_attribute("aria-label") or ""
    assert (
        first
        == f"saturation {axes.first.inner_text()}, contrast {axes.nth(4).inner_text()}, use it"
    )
