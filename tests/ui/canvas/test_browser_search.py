"""The search, the palette and saved snippets in a browser, by keyboard and by mouse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.app.test_browser_accessibility import serious_faults
from tests.ui.canvas_page import EMPTY, argument, held, inspected, node
from tests.ui.hosts import (
    PATIENCE,
    Host,
    LabHost,
    PanelHost,
    await_cards,
    await_picture,
    await_python,
    open_page,
    part,
    point,
    small,
)
from workbench.catalog import load_catalog
from workbench.graph import check_graph

pytestmark = pytest.mark.browser

COUNT = "len(model.graph.nodes)"


# One search in a real browser: at a place by `/`, for everything by Ctrl K, by keyboard alone.


def search_field(page: Page) -> Locator:
    return part(page, "canvas").locator("[data-wb=search]")


def options(page: Page) -> Locator:
    return part(page, "canvas").locator("[role=option]")


def choose(page: Page, words: str, item: str, key: str = "/") -> None:
    """Open the search, type, and choose the first result."""
    page.keyboard.press(key)
    expect(search_field(page)).to_be_focused()
    page.keyboard.type(words)
    first = options(page).first
    expect(first).to_have_attribute("data-op", item)
    expect(first).to_have_attribute("aria-selected", "true")
    empty = part(page, "canvas").get_attribute("data-nodes") == "0"
    page.keyboard.press("Enter")
    if not empty and (item.startswith("recipe:") or item == "command:new"):  # asks first
        expect(first).to_contain_text("Press Enter or click again")
        page.keyboard.press("Enter")
    expect(search_field(page)).to_have_count(0)


@pytest.mark.thorough
def test_enter_never_replaces_the_graph_unasked(panel: PanelHost, photos: Path) -> None:
    page = open_page(panel, photos, small("imagenet-eval"))
    before = held(panel)
    last = before.nodes[-1].id
    node(page, last).click()
    inspected(page, last)
    for key, words in (("/", "rotate-jitter"), ("/", "simclr"), ("Control+k", "reset")):
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


def test_enter_at_once_takes_what_fits_and_was_typed(panel: PanelHost, photos: Path) -> None:
    page = open_page(panel, photos, small("imagenet-train"))
    before = held(panel)
    for _ in range(3):
        page.keyboard.press("/")
        page.keyboard.type("rotate")
        page.keyboard.press("Enter")  # before it can be known whether it fits
        await_python(panel, COUNT, lambda count: count == len(before.nodes) + 1)
        graph = held(panel)
        (added,) = {each.id for each in graph.nodes} - {each.id for each in before.nodes}
        assert graph.node(added).op == "rotate"
        assert not check_graph(graph, load_catalog())
        expect(search_field(page)).to_have_count(0)
        page.keyboard.press("Control+z")
        await_python(panel, COUNT, lambda count: count == len(before.nodes))


@pytest.mark.thorough
def test_the_search_opens_wherever_the_last_click_was(panel: PanelHost, photos: Path) -> None:
    page = open_page(panel, photos, small("imagenet-eval"))
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
    page = open_page(host, photos, small())
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
    expect(option).to_contain_text("it needs an input: start with a source")
    page.keyboard.press("Enter")
    expect(search_field(page)).to_be_focused()
    page.keyboard.press("Escape")
    assert held(host).nodes == ()

    # Found out only by trying: it gives what the next node does not take. One more node mends it.
    host.python("model.act('canvas', {'do': 'recipe', 'name': 'rotate-jitter'})")
    node(page, "resize").click()
    inspected(page, "resize")
    before = held(host)
    page.keyboard.press("/")
    page.keyboard.type("crop_mirror_norm")
    option = options(page).first
    expect(option).to_have_attribute("data-op", re.compile("fix:.*:crop_mirror_normalize"))
    fix = option.locator("[data-wb=fix]")
    expect(fix).to_have_text("Insert crop_mirror_normalize, then transpose to HWC")
    page.keyboard.press("Enter")
    inspected(page, "crop_mirror_normalize")
    assert check_graph(held(host), load_catalog()) == ()
    page.keyboard.press("Control+z")
    expect(node(page, "crop_mirror_normalize")).to_have_count(0)
    assert held(host) == before


@pytest.mark.thorough
def test_two_nodes_are_selected_and_mixed(panel: PanelHost, photos: Path) -> None:
    page = open_page(panel, photos, small())
    node(page, "resize").click()
    node(page, "rotate").click(modifiers=["Shift"])
    expect(part(page, "inspector")).to_contain_text("2 selected")
    choose(page, "overlay", "template:mix")
    inspected(page, "share")
    share = part(page, "inspector").locator("[data-arg=right]")
    expect(share).to_contain_text("share")
    expect(share.get_by_role("slider")).to_have_attribute("max", "1")
    graph = held(panel)
    assert graph.node("color").inputs["data"].node == "mix"
    assert check_graph(graph, load_catalog()) == ()


@pytest.mark.thorough
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_it(host: Host, photos: Path, theme: str) -> None:
    host.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page = open_page(host, photos, small())
    node(page, "rotate").click()
    for key, words in (("/", "crop"), ("Control+k", "s")):
        page.keyboard.press(key)
        expect(search_field(page)).to_be_focused()
        page.keyboard.type(words)
        expect(options(page).first).to_be_visible()
        assert serious_faults(page, "canvas") == []
        page.keyboard.press("Escape")
        expect(search_field(page)).to_have_count(0)


# The palette of operators in a real browser: dragged from, and by keyboard alone.


def item(page: Page, op: str) -> Locator:
    return part(page, "canvas").locator(f"[data-wb=palette-item][data-op='{op}']")


def drag(page: Page, op: str, to: tuple[float, float], words: str) -> None:
    """Drag an operator to a position where the text next to the pointer is this."""
    page.mouse.move(*point(item(page, op)))
    page.mouse.down()
    page.mouse.move(to[0] + 3, to[1] + 3)
    page.mouse.move(*to)
    expect(part(page, "canvas").locator("[data-wb=palette-ghost]")).to_contain_text(words)
    page.mouse.up()


@pytest.mark.thorough
def test_an_operator_is_dragged_onto_an_edge_a_card_a_port_and_the_canvas(
    host: Host, photos: Path
) -> None:
    host.page.emulate_media(reduced_motion="reduce")  # what glides is hard to hit
    host.open(photos, small())
    page, canvas = host.page, part(host.page, "canvas")
    await_cards(page, 5)  # what comes later would move the places that are dragged to
    canvas.locator("[data-wb=more]").click()
    canvas.locator("[data-wb=context]").filter(has_text="Palette of operators").click()
    box, column = (
        canvas.locator(selector).bounding_box() for selector in (".wb-canvas-box", ".wb-palette")
    )
    assert box
    assert column
    assert box["x"] >= column["x"] + column["width"]  # beside, not upon it
    canvas.locator("[data-wb=palette-filter]").fill("flip")
    flip = item(page, "flip")
    expect(flip).to_be_visible()

    into = point(canvas.locator("[data-port='color:in:data']"))
    out = point(canvas.locator("[data-port='rotate:out:output']"))
    between = (into[0] + out[0]) / 2, (into[1] + out[1]) / 2
    drag(page, "flip", between, "between rotate and color")
    inspected(page, "flip_2")
    assert held(host).node("flip_2").inputs["data"].node == "rotate"
    assert held(host).node("color").inputs["data"].node == "flip_2"
    page.keyboard.press("Control+z")
    expect(node(page, "flip_2")).to_have_count(0)

    drag(page, "flip", point(node(page, "resize")), "after resize")
    inspected(page, "flip_2")  # else it would be undone before it is drawn, and not seen to go
    await_python(host, "model.graph.node('rotate').inputs['data'].node", lambda n: n == "flip_2")
    page.keyboard.press("Control+z")
    expect(node(page, "flip_2")).to_have_count(0)

    drag(page, "flip", point(canvas.locator("[data-port='rotate:in:data']")), "into rotate.data")
    inspected(page, "flip_2")  # else it would be undone before it is drawn, and not seen to go
    await_python(host, "model.graph.node('rotate').inputs['data'].node", lambda n: n == "flip_2")
    page.keyboard.press("Control+z")
    expect(node(page, "flip_2")).to_have_count(0)

    pane = canvas.locator(".wb-canvas-box").bounding_box()
    assert pane is not None
    drag(page, "flip", (pane["x"] + 6, pane["y"] + 40), "unconnected")
    expect(node(page, "flip_2")).to_be_visible()
    assert held(host).node("flip_2").inputs == {}
    assert host.python("model.history.undo_label") == "add flip_2"


@pytest.mark.thorough
def test_it_is_walked_through_and_added_from_by_keyboard(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page, canvas = host.page, part(host.page, "canvas")
    await_picture(page)
    node(page, "rotate").click()
    page.keyboard.press("p")
    expect(canvas.locator("[data-wb=palette-filter]")).to_be_focused()
    groups = canvas.locator("[data-wb=palette-group]")
    expect(groups.first).to_contain_text("Source")
    page.keyboard.press("ArrowDown")
    expect(groups.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(item(page, "readers.file")).to_be_visible()
    assert serious_faults(page, "canvas") == []
    assert canvas.locator(".wb-palette button").evaluate_all(
        "all => all.every((el) => el.offsetHeight >= 24 && el.offsetWidth >= 24)"
    )
    page.keyboard.press("ArrowLeft")
    expect(item(page, "readers.file")).to_have_count(0)
    page.keyboard.type("solarize")
    expect(item(page, "template:solarize")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(item(page, "template:solarize")).to_be_focused()
    page.keyboard.press("Enter")
    inspected(page, "solarize")
    assert held(host).node("color").inputs["data"].node == "solarize"
    expect(item(page, "template:solarize")).to_be_focused()  # so that the next can follow
    if isinstance(host, LabHost):  # whose reloaded page shows no widget before its cell runs
        host.open(photos, small())
    else:
        page.reload()
    expect(canvas.locator("[data-wb=palette]")).to_be_visible(timeout=PATIENCE)
    canvas.locator("[data-wb=palette-close]").click()
    expect(canvas.locator("[data-wb=palette]")).to_have_count(0)


# Nodes saved as a snippet and put in elsewhere, in a real browser by keyboard alone.


@pytest.mark.thorough
def test_a_snippet_is_saved_found_put_in_and_removed(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    node(page, "rotate").click()
    inspected(page, "rotate")
    page.keyboard.press("s")
    expect(search_field(page)).to_be_focused()
    page.keyboard.type("Tilted a bit")
    expect(options(page).first).to_contain_text("Save as “Tilted a bit”")
    page.keyboard.press("Enter")
    expect(part(page, "bar")).to_contain_text("Snippet 'Tilted a bit' saved")
    expect(node(page, "rotate")).to_be_focused()

    choose(page, "tilted", "template:snippet:Tilted a bit")
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
    expect(part(page, "bar")).to_contain_text("' removed")
