"""Bodies of a region in both hosts: all that ran are lit, named by hand, and counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.region_graphs import CATALOG
from tests.ui.hosts import PATIENCE, Host, await_picture, part
from workbench.graph import Settings, load_recipe
from workbench.graph.control_flow.one_of import add_option, choose_one_of
from workbench.graph.control_flow.some_of import set_count, with_fitting_draw

pytestmark = pytest.mark.browser


@pytest.mark.thorough
def test_bodies_are_lit_named_and_counted(host: Host, photos: Path) -> None:
    graph, region = choose_one_of(
        load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"], "some_of"
    )
    graph = with_fitting_draw(add_option(graph, CATALOG, region), CATALOG, region)
    graph = set_count(graph, CATALOG, region, 2, shuffled=True)
    host.open(photos, replace(graph, settings=replace(Settings(), batch_size=4)))
    page = host.page
    await_picture(page)
    canvas, inspector = part(page, "canvas"), part(page, "inspector")
    lit = canvas.locator(".wb-body-bar[data-ran=ran]")
    expect(lit).to_have_count(2, timeout=PATIENCE)

    canvas.locator("[data-node=some_of] .wb-region-title").click()
    name = inspector.locator("[data-wb=body-title]").nth(1)
    name.fill("stronger")
    name.press("Enter")
    expect(canvas.locator("[data-node='some_of.option_1'] b")).to_have_text("stronger")
    assert host.python("model.graph.node('some_of').bodies['option_1'].title") == "stronger"

    expect(inspector.locator("[data-wb=body-share]")).to_have_count(3)
    inspector.locator("[data-wb=count-shares]").press("Enter")
    found = inspector.locator("[data-wb=counted-share]")
    expect(found).to_have_count(3, timeout=PATIENCE)
    expect(found.first).to_contain_text("asked 66.7 %")
    inspector.locator("[data-wb=count-shares]").scroll_into_view_if_needed()
