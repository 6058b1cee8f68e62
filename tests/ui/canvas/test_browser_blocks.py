"""Nodes saved as a block and put in elsewhere, in a real browser by keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.canvas.test_browser_search import choose, options, search_field
from tests.ui.canvas_page import held, inspected, node
from tests.ui.hosts import Host, await_picture, part, small
from workbench.catalog import load_catalog
from workbench.graph import check_graph

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


def test_a_block_is_saved_found_put_in_and_removed(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    node(page, "rotate").click()
    inspected(page, "rotate")
    page.keyboard.press("s")
    expect(search_field(page)).to_be_focused()
    page.keyboard.type("Tilted a bit")
    expect(options(page).first).to_contain_text("Save as “Tilted a bit”")
    page.keyboard.press("Enter")
    expect(part(page, "bar")).to_contain_text("The block 'Tilted a bit' is saved")
    expect(node(page, "rotate")).to_be_focused()

    choose(page, "tilted", "template:block:Tilted a bit")
    inspected(page, "rotate_2")
    graph = held(host)
    assert graph.node("rotate_2").inputs["data"].node == "rotate"
    assert graph.node("rotate_2").inputs["angle"] != graph.node("rotate").inputs["angle"]
    assert check_graph(graph, load_catalog()) == ()
    page.keyboard.press("Control+z")
    expect(node(page, "rotate_2")).to_have_count(0)

    node(page, "rotate").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("s")
    expect(options(page).first).to_contain_text("Tilted a bit")
    page.keyboard.press("Delete")
    expect(options(page)).to_have_count(0)
    expect(part(page, "bar")).to_contain_text("is removed")
