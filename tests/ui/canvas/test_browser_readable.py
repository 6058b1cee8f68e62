"""A graph can be read as it is opened: fitted, no text below 11 px, as much room as it needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.canvas_page import EMPTY, inspected, node
from tests.ui.hosts import (
    PATIENCE,
    PanelHost,
    await_cards,
    await_picture,
    await_python,
    drag_card,
    open_page,
    part,
    point,
    small,
)
from workbench.catalog import load_catalog
from workbench.graph import Graph, Node, Port, dump_graph, load_recipes
from workbench.graph.edits.edit import insert_node, renamed_nodes

pytestmark = pytest.mark.browser

LEAST_TEXT = 11
SIZES = [(1440, 900), (1280, 720), (1024, 768)]
MEASURE = """async (canvas) => {
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  const box = canvas.querySelector(".wb-canvas-box").getBoundingClientRect();
  const view = canvas.querySelector(".react-flow__viewport");
  const { a: zoom } = new DOMMatrix(getComputedStyle(view).transform);
  const texts = [], walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const el = text.parentElement;
    const range = document.createRange();
    range.selectNodeContents(text);
    const seen = text.data.trim() && range.getBoundingClientRect().width > 0;
    if (seen && el.checkVisibility({ visibilityProperty: true }))
      texts.push([parseFloat(getComputedStyle(el).fontSize) * zoom, text.data]);
  }
  const cards = [...canvas.querySelectorAll("[data-wb=node], [data-wb=group]")];
  const inside = cards.filter((card) => {
    const { left, top, right, bottom } = card.getBoundingClientRect();
    return left >= box.left && top >= box.top && right <= box.right && bottom <= box.bottom;
  });
  return { zoom, texts, width: box.width, inside: inside.length, cards: cards.length };
}"""


def measured(page: Page) -> dict[str, Any]:
    """The zoom, each visible text with its pixels on the screen, and which cards are whole."""
    return dict(part(page, "canvas").evaluate(MEASURE))


def await_width(page: Page, low: float, high: float) -> None:
    """Wait until the canvas is wider than ``low`` and narrower than ``high`` pixels."""
    canvas = part(page, "canvas").element_handle()
    between = """([canvas, low, high]) => {
        const { width } = canvas.getBoundingClientRect();
        return low < width && width < high;
    }"""
    page.wait_for_function(between, arg=[canvas, low, high], timeout=PATIENCE)


def too_small(page: Page) -> list[Any]:
    return [text for text in measured(page)["texts"] if text[0] < LEAST_TEXT - 0.01]


def chain(count: int) -> Graph:
    """A chain of that many operators."""
    graph, after = small(), "resize"
    colours = ("brightness", "contrast", "saturation", "hue", "gaussian_blur", "rotate")
    operators = [node for node in graph.nodes if not node.op.startswith("random.")]
    for number in range(count - len(operators)):
        graph, after = insert_node(graph, load_catalog(), colours[number % len(colours)], after)
    return graph


def pan(page: Page, right: float, down: float) -> None:
    """Drag the canvas."""
    x, y = point(part(page, "canvas").locator(".wb-canvas-box"), 0.04, 0.5)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down, steps=4)
    page.mouse.up()


def places(page: Page) -> dict[str, dict[str, int]]:
    """The rectangle of each node on the screen."""
    source = """(nodes) => Object.fromEntries(nodes.map((node) => {
        const { left, top, right, bottom } = node.getBoundingClientRect();
        return [node.dataset.node, { left, top, right, bottom }];
    }))"""
    measured(page)  # which waits for the layout
    return dict(part(page, "canvas").locator("[data-wb=node]").evaluate_all(source))


def covers(one: dict[str, int], other: dict[str, int]) -> bool:
    across = one["left"] < other["right"] and other["left"] < one["right"]
    return across and one["top"] < other["bottom"] and other["top"] < one["bottom"]


def open_recipe(panel: PanelHost, name: str) -> None:
    """Open a recipe with its own layout."""
    panel.python(f"model.act('bar', {{'do': 'recipe', 'name': '{name}'}})")
    expect(part(panel.page, "bar").locator("[data-wb=title]")).to_have_text(name)


def show(panel: PanelHost, graph: Graph) -> None:
    """Open another graph in the page that is there."""
    before = panel.python("model.history.graph_number")
    panel.sessions[-1].model.act("bar", {"do": "open", "text": dump_graph(graph)})
    assert panel.python("model.history.graph_number") == before + 1
    count = panel.python("len(model.shown('canvas', 'nodes'))")
    expect(part(panel.page, "canvas")).to_have_attribute("data-nodes", str(count))


@pytest.fixture
def opened(panel: PanelHost, photos: Path) -> PanelHost:
    panel.page.emulate_media(reduced_motion="reduce")  # what glides cannot be measured
    open_page(panel, photos, small())
    return panel


SEEN_WHOLE = ["imagenet-train", "simclr", "ssd"]
"""Recipes whose names are read even if everything is shown in the smallest window."""


@pytest.mark.parametrize(
    "names",
    [
        SEEN_WHOLE,
        pytest.param(list(load_recipes()), marks=pytest.mark.thorough),
    ],
    ids=["some", "all"],
)
def test_no_text_of_a_graph_is_smaller_than_11_px(opened: PanelHost, names: list[str]) -> None:
    page = opened.page
    graphs = {name: small(name) for name in names}
    graphs |= {f"chain of {count}": chain(count) for count in (10, 40)}
    for name, graph in graphs.items():
        show(opened, graph)
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            assert too_small(page) == [], (name, width)
            assert measured(page)["texts"], (name, width)
        part(page, "canvas").locator("[data-wb=fit]").click()
        assert too_small(page) == [], (name, "everything")
        assert measured(page)["texts"] or name not in (*SEEN_WHOLE, "chain of 10"), name


@pytest.mark.thorough
def test_a_graph_of_ten_is_seen_whole_and_one_of_forty_is_panned(opened: PanelHost) -> None:
    page = opened.page
    show(opened, chain(10))
    for (width, height), least in zip(SIZES, (10, 8, 10), strict=True):
        page.set_viewport_size({"width": width, "height": height})
        found = measured(page)
        assert found["inside"] >= least
        assert found["cards"] == 10
    show(opened, chain(40))
    found = measured(page)
    assert 5 < found["inside"] < found["cards"] < 25
    assert found["zoom"] > 0.5


@pytest.mark.thorough
def test_long_chains_are_one_card_each_until_they_are_opened(opened: PanelHost) -> None:
    page = opened.page
    show(opened, chain(40))
    canvas = part(page, "canvas")
    groups = canvas.locator("[data-wb=group]")
    expect(groups).to_have_count(6)
    expect(groups.first).to_contain_text("operators")
    canvas.locator("[data-wb=fit]").click()
    first = groups.first.get_attribute("data-focus")
    groups.first.click()
    inspected(page, str(first).removesuffix("+"))
    expect(groups).to_have_count(5)
    page.keyboard.press("Control+k")  # what is in a closed one is found, too
    page.keyboard.type("hue_4")
    expect(canvas.locator("[role=option]").first).to_have_attribute("data-op", "node:hue_4")
    page.keyboard.press("Enter")
    inspected(page, "hue_4")
    expect(groups).to_have_count(4)
    canvas.locator("[data-wb=more]").click()
    canvas.locator("[data-wb=context]").filter(has_text="Collapse long chains").click()
    expect(groups).to_have_count(6)  # on both sides of what is selected


@pytest.mark.thorough
@pytest.mark.parametrize("moved", [0, -900, 900])
def test_what_an_edit_adds_is_in_sight(opened: PanelHost, moved: int) -> None:
    page = opened.page
    page.set_viewport_size({"width": 1024, "height": 768})
    show(opened, chain(14))
    box = part(page, "canvas").locator(".wb-canvas-box")
    known = set(places(page))
    for message in (
        {"do": "add_template", "template": "blend", "after": "decode"},
        {"do": "duplicate", "nodes": ["flip"]},
        {"do": "add_on", "op": "hue", "edge": "resize:data"},
        {"do": "undo"},
        {"do": "redo"},
    ):
        if moved:
            pan(page, 0, moved)
        count = len(known)
        opened.sessions[-1].model.act("canvas", message)
        page.wait_for_function(
            "([canvas, count]) => canvas.dataset.nodes !== count",
            arg=[part(page, "canvas").element_handle(), str(count)],
        )
        there = places(page)
        edges = box.evaluate("(box) => box.getBoundingClientRect().toJSON()")
        added = {name: at for name, at in there.items() if name not in known}
        assert all(
            edges["left"] <= at["left"]
            and at["right"] <= edges["right"]
            and edges["top"] <= at["top"]
            and at["bottom"] <= edges["bottom"]
            for at in added.values()
        ), (message, edges, added)
        assert too_small(page) == []
        known = set(there)


def renamed(name: str, title: str) -> Graph:
    """The small graph with another title and another name of a node."""
    graph = small().named(title)
    return replace(graph, nodes=renamed_nodes(graph.nodes, {"rotate": name}))


def long_chain(count: int) -> Graph:
    """The small graph with that many more operators at its end."""
    graph = small()
    last, nodes = graph.outputs["images"], []
    for number in range(count):
        name = f"brightness_{number}"
        nodes.append(Node(name, "brightness", {"brightness": 1.0}, {"data": last}))
        last = Port(name, "output")
    outputs = {**graph.outputs, "images": last}
    return replace(graph, nodes=(*graph.nodes, *nodes), outputs=outputs)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "graph",
    [
        renamed("r" * 300, "title " * 30),
        renamed("\u05e1\u05d9\u05d1\u05d5\u05d1", "\u05e9\u05dc\u05d5\u05dd"),
        long_chain(988),
    ],
    ids=["300 characters", "right to left", "1,000 nodes"],
)
def test_long_names_other_scripts_and_large_graphs_are_readable(
    opened: PanelHost, graph: Graph
) -> None:
    page = opened.page
    show(opened, graph)
    for width, height in (*SIZES, (720, 450)):  # the last is 1440x900 at 200 % zoom
        page.set_viewport_size({"width": width, "height": height})
        assert too_small(page) == []
        assert measured(page)["inside"] >= 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.thorough
def test_an_edge_that_is_cut_moves_nothing_and_dims_only_what_it_fed(opened: PanelHost) -> None:
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 640})
    await_cards(page, 5)
    before = places(page)
    opened.sessions[-1].model.act("canvas", {"do": "disconnect", "edges": ["color:data"]})
    dimmed = part(page, "canvas").locator(".react-flow__node:has([data-wb=look][data-stale])")
    expect(dimmed).to_have_count(2)
    ids = dimmed.evaluate_all("(nodes) => nodes.map((node) => node.dataset.id)")
    assert ids == ["color", "flip"]
    after = places(page)
    corners = [
        {name: (at["left"], at["top"]) for name, at in each.items()} for each in (before, after)
    ]
    assert corners[0] == corners[1]
    notes = part(page, "canvas").locator(".wb-card-note")
    expect(notes.first).to_contain_text("not connected")
    heights = notes.evaluate_all("(notes) => notes.map((note) => note.clientHeight)")
    assert set(heights) == {18}, "a note is one line"
    part(page, "canvas").locator(".wb-canvas-box").focus()
    page.keyboard.press("l")  # a new layout
    page.wait_for_function(
        "([card, left]) => card.getBoundingClientRect().left !== left",
        arg=[node(page, "flip").element_handle(), before["flip"]["left"]],
    )


def test_another_graph_is_fitted_also_after_one_has_panned(opened: PanelHost) -> None:
    page = opened.page
    pan(page, 0, 900)
    assert measured(page)["inside"] < 5
    pan(page, 0, 900)
    assert measured(page)["inside"] == 0
    opened.sessions[-1].model.act("canvas", {"do": "remove", "nodes": ["flip"]})
    expect(node(page, "flip")).to_have_count(0)
    found = measured(page)
    assert found["inside"] == found["cards"], "an edit never leaves an empty canvas"
    pan(page, 0, 900)
    open_recipe(opened, "imagenet-eval")
    found = measured(page)
    assert found["inside"] == found["cards"]
    page.reload()
    await_picture(page)
    found = measured(page)
    assert found["inside"] == found["cards"]


@pytest.mark.thorough
def test_the_pane_is_as_wide_as_its_graph_needs(opened: PanelHost) -> None:
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})
    show(opened, chain(10))
    await_width(page, 0, 320)
    show(opened, small("simclr"))
    await_width(page, 480, 1440)
    wide = measured(page)["width"]
    node(page, "decode").click()
    page.keyboard.press("Delete")  # an edit moves nothing
    expect(node(page, "decode")).to_have_count(0)
    assert measured(page)["width"] == wide
    show(opened, EMPTY)  # room for two columns
    await_width(page, 500, 530)


@pytest.mark.thorough
def test_the_canvas_fills_the_window_and_gives_it_back(opened: PanelHost) -> None:
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})
    fill = part(page, "canvas").locator("[data-wb=fill]")
    usual = measured(page)
    pan(page, 0, 700)
    assert measured(page)["inside"] < usual["cards"]
    fill.click()
    expect(part(page, "preview")).to_be_hidden(timeout=PATIENCE)
    await_width(page, 1400, 1441)
    filled = measured(page)
    assert filled["inside"] == filled["cards"]
    pan(page, 0, 700)
    fill.click()
    expect(part(page, "preview")).to_be_visible()
    await_width(page, 0, 1000)
    assert measured(page) == usual


@pytest.mark.thorough
def test_a_recipe_with_two_views_is_seen_whole(opened: PanelHost) -> None:
    """Its note, next to the graph, is not: cards have precedence."""
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})
    open_recipe(opened, "simclr")
    await_width(page, 600, 700)
    found = measured(page)
    assert found["inside"] == found["cards"]
    expect(part(page, "canvas").locator("[data-output=labels]")).to_be_in_viewport(ratio=0.99)
    assert opened.python("model.sessions.close()") is None  # what else comes 0.3 s later
    page.reload()  # shows rotate-jitter until the session is restored
    await_width(page, 600, 700)
    assert measured(page) | {"texts": found["texts"]} == found


@pytest.mark.parametrize("height", [620, 440])
def test_a_small_window_shows_a_recipe_with_two_views_with_its_chains_as_cards(
    opened: PanelHost, height: int
) -> None:
    """As in a cell of a notebook: whole if it is high enough, else with the selected node."""
    page = opened.page
    page.set_viewport_size({"width": 848, "height": height})
    open_recipe(opened, "simclr")
    canvas = part(page, "canvas")
    expect(canvas.locator("[data-wb=group]").first).to_contain_text("operators")
    assert too_small(page) == []
    selected = canvas.locator("[data-wb=node][aria-current=true]").bounding_box()
    footer = canvas.locator(".wb-canvas-hint").bounding_box()
    assert selected
    assert footer
    assert selected["y"] + selected["height"] < footer["y"]
    if height > 600:
        found = measured(page)
        assert found["inside"] == found["cards"]
        last = canvas.locator("[data-output=labels]").bounding_box()
        assert last
        assert last["y"] + last["height"] <= footer["y"]
        groups = canvas.locator("[data-wb=group]")
        before = [each.bounding_box() for each in groups.all()]
        drag_card(node(page, "decode"), (30, 25))
        await_python(opened, "[*model.history.layout.positions]", lambda found: "decode" in found)
        measured(page)
        assert [each.bounding_box() for each in groups.all()] == before


@pytest.mark.thorough
def test_a_long_note_covers_nothing_until_it_is_clicked(opened: PanelHost) -> None:
    open_recipe(opened, "auto-augment")
    note = part(opened.page, "canvas").locator("[data-wb=note]")
    words = note.locator("[data-wb=note-open]")
    measured(opened.page)
    box = note.evaluate("(note) => note.getBoundingClientRect().toJSON()")
    assert not any(covers(box, each) for each in places(opened.page).values())
    unseen = "(words) => words.scrollHeight - words.clientHeight"
    assert words.evaluate(unseen) > 50
    words.click()
    assert words.evaluate(unseen) == 0
    opened.page.keyboard.press("Escape")
    assert words.evaluate(unseen) > 50


@pytest.mark.thorough
def test_what_stands_around_a_block_makes_room_as_it_is_opened(opened: PanelHost) -> None:
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})
    open_recipe(opened, "simclr")
    before = places(page)
    node(page, "jitter_1").dblclick(position={"x": 110, "y": 12})
    expect(node(page, "color_1")).to_be_visible()
    after = places(page)
    block = after.pop("jitter_1")
    inner = {"jitter_1.then", "jitter_1.else", "color_1"}
    covered = [name for name, box in after.items() if name not in inner and covers(block, box)]
    assert covered == []
    part(page, "canvas").locator("[data-wb=collapse]").click()
    expect(node(page, "color_1")).to_have_count(0)
    assert places(page) == before


@pytest.mark.thorough
def test_a_drag_out_of_the_canvas_selects_no_text(opened: PanelHost) -> None:
    page = opened.page
    part(page, "inspector").get_by_text("angle").first.wait_for()
    pan(page, 600, -100)
    assert page.evaluate("getSelection().type") != "Range"
