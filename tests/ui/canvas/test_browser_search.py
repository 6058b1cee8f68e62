"""One search in a real browser: at a place by `/`, for everything by Ctrl K, by keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.app.test_accessibility import serious_faults
from tests.ui.canvas_page import EMPTY, argument, held, inspected, node
from tests.ui.hosts import PATIENCE, Host, PanelHost, await_picture, await_python, part, small
from workbench.catalog import load_catalog
from workbench.graph import check_graph

pytestmark = pytest.mark.browser


def search_field(page: Page) -> Locator:
    return part(page, "canvas").locator("[data-wb=search]")


def options(page: Page) -> Locator:
    return part(page, "canvas").locator("[role=option]")


def choose(page: Page, words: str, item: str, key: str = "/") -> None:
    """Open the search, type, and take what stands first."""
    page.keyboard.press(key)
    expect(search_field(page)).to_be_focused()
    page.keyboard.type(words)
    first = options(page).first
    expect(first).to_have_attribute("data-op", item)
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    if item.startswith("recipe:") or item == "command:new":  # replaces the graph: asks first
        expect(first).to_contain_text("Press Enter or click again")
        page.keyboard.press("Enter")
    expect(search_field(page)).to_have_count(0)


def test_enter_never_replaces_the_graph_unasked(panel: PanelHost, photos: Path) -> None:
    panel.open(photos, small("imagenet-eval"))
    page = panel.page
    await_picture(page)
    before = held(panel)
    last = before.nodes[-1].id  # its output is normalised: rotate does not fit
    node(page, last).click()
    inspected(page, last)
    for key, words in (("/", "rotate"), ("/", "simclr"), ("Control+k", "reset")):
        page.keyboard.press(key)
        page.keyboard.type(words)
        expect(options(page).first).to_be_visible()
        page.keyboard.press("Enter")
        assert held(panel) == before
        page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("simclr")
    row = part(page, "canvas").locator("[data-op='recipe:simclr']")
    row.click()
    expect(row).to_contain_text("Replaces the graph")
    row.click()
    expect(part(page, "bar").locator("[data-wb=title]")).to_have_text("simclr")
    part(page, "bar").locator("[data-wb=undo]").click()
    await_python(panel, "model.graph.name", lambda name: name == before.name)


def test_the_search_opens_wherever_the_last_click_was(panel: PanelHost, photos: Path) -> None:
    panel.open(photos, small("imagenet-eval"))
    page = panel.page
    await_picture(page)
    part(page, "bar").locator("[data-wb=recipes]").click()
    part(page, "bar").locator("[data-wb=recipe][data-name=simclr]").click()
    expect(part(page, "bar").locator("[data-wb=title]")).to_have_text("simclr")
    clicks = (
        None,
        part(page, "bar").locator("[data-wb=undo]"),
        part(page, "tabs").locator("[role=tab]").last,
    )
    for clicked in clicks:
        if clicked is not None:
            clicked.click()
        page.keyboard.press("/")
        expect(search_field(page)).to_be_focused()
        page.keyboard.type("a/b")  # text there
        expect(search_field(page)).to_have_value("a/b")
        page.keyboard.press("Escape")
        expect(search_field(page)).to_have_count(0)


@pytest.mark.thorough
def test_a_word_of_another_library_and_whatever_else_there_is(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    node(page, "resize").click()
    inspected(page, "resize")
    choose(page, "RandomSolarize", "template:solarize")
    inspected(page, "solarize")
    graph = held(host)
    assert graph.node("rotate").inputs["data"].node == "solarize"
    assert check_graph(graph, load_catalog()) == ()

    # From the inspector: a command, an argument of the node, another node.
    part(page, "inspector").locator("button:visible").first.focus()
    choose(page, "undo", "command:undo", "Control+k")
    expect(node(page, "solarize")).to_have_count(0)
    choose(page, "gaussian", "gaussian_blur", "Control+k")
    inspected(page, "gaussian_blur")
    # The node behind which it was opened goes while it is open: then it is the one inspected.
    page.keyboard.press("Control+k")
    expect(search_field(page)).to_be_focused()
    host.python("model.act('bar', {'do': 'undo'})")
    inspected(page, "color")
    page.keyboard.type("gaussian")
    expect(options(page).first).to_have_attribute("data-op", "gaussian_blur")
    page.keyboard.press("Enter")
    inspected(page, "gaussian_blur")
    assert held(host).node("gaussian_blur").inputs["data"].node == "color"
    choose(page, "sigma", "argument:sigma", "Control+k")
    row = argument(page, "sigma")
    expect(row).to_be_visible()
    assert row.evaluate("el => el.contains(el.getRootNode().activeElement)")
    choose(page, "show code", "command:show-code", "Control+k")
    expect(part(page, "code")).to_be_visible()
    choose(page, "new graph", "command:new", "Control+k")
    expect(part(page, "canvas").locator("[data-wb=empty]")).to_be_visible()
    choose(page, "medical", "recipe:medical-gray", "Control+k")
    expect(part(page, "bar").locator("[data-wb=title]")).to_have_text("medical-gray")
    choose(page, "simclr", "recipe:simclr")
    expect(part(page, "bar").locator("[data-wb=title]")).to_have_text("simclr")


@pytest.mark.thorough
def test_what_would_be_a_fault_is_not_added(host: Host, photos: Path) -> None:
    host.open(photos, EMPTY)
    page = host.page
    empty = part(page, "canvas").locator("[data-wb=first-search]")
    expect(empty).to_be_visible(timeout=PATIENCE)
    empty.click()
    expect(options(page).first).to_have_attribute("data-op", "readers.file")
    page.keyboard.type("gaussian blur")
    option = options(page).first
    expect(option).to_have_attribute("data-op", "gaussian_blur")
    expect(option).to_have_attribute("aria-disabled", "true")
    expect(option).to_contain_text("begin with a source")
    page.keyboard.press("Enter")
    expect(search_field(page)).to_be_focused()
    page.keyboard.press("Escape")
    assert held(host).nodes == ()

    # Found out only by trying: it gives what the next node does not take.
    host.python("model.act('canvas', {'do': 'recipe', 'name': 'rotate-jitter'})")
    node(page, "resize").click()
    inspected(page, "resize")
    before = held(host)
    page.keyboard.press("/")
    page.keyboard.type("crop_mirror")
    option = options(page).first
    expect(option).to_have_attribute("data-op", "crop_mirror_normalize")
    expect(option).to_contain_text("rotate.data: it takes HWC")
    page.keyboard.press("Enter")
    expect(search_field(page)).to_be_focused()
    page.keyboard.press("Escape")
    assert held(host) == before


@pytest.mark.thorough
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_it(host: Host, photos: Path, theme: str) -> None:
    host.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    host.open(photos, small())
    page = host.page
    await_picture(page)
    node(page, "rotate").click()
    for key, words in (("/", "crop"), ("Control+k", "s")):
        page.keyboard.press(key)
        expect(search_field(page)).to_be_focused()
        page.keyboard.type(words)
        expect(options(page).first).to_be_visible()
        assert serious_faults(page, "canvas") == []
        page.keyboard.press("Escape")
        expect(search_field(page)).to_have_count(0)
