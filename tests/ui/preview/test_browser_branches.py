"""Which branch ran, in both hosts: told under the tiles, filtered, searched and counted by keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.region_graphs import CATALOG, branching_graph
from tests.ui.hosts import PATIENCE, Host, await_picture, part
from workbench.graph.control_flow.chance import set_probability

pytestmark = pytest.mark.browser


@pytest.mark.thorough
def test_tiles_are_filtered_by_branch_and_shares_are_told(host: Host, photos: Path) -> None:
    graph = set_probability(branching_graph(), CATALOG, "inner", 0.1)
    host.open(photos, replace(graph, settings=replace(graph.settings, batch_size=4, seed=7)))
    page = host.page
    await_picture(page)
    preview = part(page, "preview")
    fired = preview.locator("[data-wb=tile] [data-wb=fired]")
    expect(fired).to_have_count(4)
    told = host.python("[list(t.branches) for t in model.state.preview.tiles]")
    for caption, scopes in zip(fired.all(), told, strict=True):
        expect(caption).to_have_text(" · ".join(s.replace(".", ": ") for s in scopes))
    assert not any("inner.then" in scopes for scopes in told)

    preview.locator("[data-wb=branch-filter]").focus()
    page.keyboard.press("Enter")
    box = preview.get_by_role("group", name="inner").get_by_role("checkbox").first
    box.focus()
    page.keyboard.press("Space")
    expect(preview.locator("[data-wb=of-branches]")).to_have_text(
        "0 of 4 in this batch · inner: then", timeout=PATIENCE
    )
    page.keyboard.press("Escape")
    expect(preview.locator("[data-wb=none-in-batch]")).to_contain_text("None of the 4 samples")
    preview.locator("[data-wb=find-one]").focus()
    page.keyboard.press("Enter")
    expect(fired.first).to_have_text("outer: then · inner: then", timeout=PATIENCE)
    assert host.python("model.state.batch") > 0
    preview.locator("[data-wb=all-branches]").focus()
    page.keyboard.press("Enter")
    expect(fired).to_have_count(4)

    preview.locator("[data-wb=measure-values]").focus()
    page.keyboard.press("Enter")
    expect(preview.locator("[data-wb=branches-counted]")).to_have_text(
        "Branches over 1,000 batches from 0 on, 4,000 samples", timeout=PATIENCE
    )
    shares = preview.locator("[data-wb=branch-shares]")
    expect(shares.get_by_role("img", name="asked for 10.0 %")).to_have_count(1)
    expect(shares.locator("tbody tr")).to_have_count(4)
    shares.locator("[data-wb=count-branches]").press("Enter")
    expect(preview.locator("[data-wb=branches-counted]")).to_contain_text("10,000 batches")
