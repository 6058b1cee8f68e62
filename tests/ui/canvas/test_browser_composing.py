"""Composing in a real JupyterLab and a real Panel app: by keyboard alone, and by mouse alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.canvas_page import EMPTY, argument, held, inspected, node
from tests.ui.hosts import PATIENCE, Host, part
from workbench.graph import Graph, Port, load_graph, load_recipe

pytestmark = pytest.mark.browser

JITTER = load_recipe("rotate-jitter")
TWISTS = {
    "brightness": (0.8, 1.2),
    "contrast": (0.8, 1.2),
    "hue": (-20, 20),
    "saturation": (0.7, 1.3),
}
FOCUSED = "el => el === el.getRootNode().activeElement"


def described(graph: Graph, port: Port) -> Any:
    """What comes out of a port, whatever the nodes are called and whatever they draw."""
    node = graph.node(port.node)
    inputs = {name: described(graph, source) for name, source in node.inputs.items()}
    return node.op, dict(node.args), inputs, port.output


def outputs_of(graph: Graph) -> dict[str, Any]:
    return {name: described(graph, port) for name, port in graph.outputs.items()}


def reach(page: Page, target: Locator) -> None:
    """Tab on until the control has the focus, as someone without a mouse does."""
    expect(target).to_be_visible()
    for _ in range(120):
        if target.evaluate(FOCUSED):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{target} cannot be reached with the Tab key")


def type_into(page: Page, target: Locator, value: float | str) -> None:
    reach(page, target)
    page.keyboard.press("Control+a")
    page.keyboard.type(str(value))
    page.keyboard.press("Enter")


def add_by_keyboard(page: Page, op: str, name: str) -> None:
    page.keyboard.press("/")
    search = part(page, "canvas").locator("[data-wb=search]")
    expect(search).to_be_focused()
    page.keyboard.type(op)
    chosen = part(page, "canvas").locator("[role=option][aria-selected=true]")
    expect(chosen).to_have_attribute("data-op", op)
    page.keyboard.press("Enter")
    inspected(page, name)
    expect(node(page, name)).to_be_focused()


def back_to_canvas(page: Page, name: str) -> None:
    """From the inspector back to the node, with Shift and Tab."""
    for _ in range(120):
        if node(page, name).evaluate(FOCUSED):
            return
        page.keyboard.press("Shift+Tab")
    raise AssertionError(f"{name} cannot be reached with Shift and Tab")


def draw_by_keyboard(page: Page, name: str, low: float, high: float) -> None:
    reach(page, argument(page, name).locator("[data-wb=dice]"))
    page.keyboard.press("Space")
    ends = argument(page, name).get_by_role("spinbutton")
    expect(ends).to_have_count(2)
    # from the dice the ends lie behind
    for index, value in ((1, high), (0, low)):
        for _ in range(12):
            if ends.nth(index).evaluate(FOCUSED):
                break
            page.keyboard.press("Shift+Tab")
        page.keyboard.press("Control+a")
        page.keyboard.type(f"{value:g}")
        page.keyboard.press("Enter")
        expect(ends.nth(index)).to_have_value(f"{value:g}")


@pytest.mark.thorough
def test_rotate_jitter_is_composed_by_keyboard_alone(host: Host, photos: Path) -> None:
    host.open(photos, EMPTY)
    page = host.page
    empty = part(page, "canvas").locator("[data-wb=first-search]")
    expect(empty).to_be_visible(timeout=PATIENCE)
    empty.focus()  # in JupyterLab, how the focus gets into a cell's output is Lab's affair
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    add_by_keyboard(page, "readers.file", "reader")
    reach(page, argument(page, "random_shuffle").get_by_role("checkbox"))
    page.keyboard.press("Space")
    back_to_canvas(page, "reader")
    add_by_keyboard(page, "decoders.image", "decode")
    add_by_keyboard(page, "resize", "resize")
    add_by_keyboard(page, "rotate", "rotate")
    draw_by_keyboard(page, "angle", -10, 10)
    back_to_canvas(page, "rotate")
    add_by_keyboard(page, "color_twist", "color_twist")
    for name, (low, high) in TWISTS.items():
        draw_by_keyboard(page, name, low, high)
    back_to_canvas(page, "color_twist")
    add_by_keyboard(page, "flip", "flip")
    reach(page, argument(page, "horizontal").locator("[data-wb=dice]"))
    page.keyboard.press("Space")
    expect(node(page, "flip")).to_have_accessible_name(re.compile("horizontal ~ p = 0.5"))

    graph = held(host)
    assert outputs_of(graph) == outputs_of(without_usual(JITTER))
    expect(part(page, "bar").locator("[data-wb=status]")).to_contain_text("ready")

    # Undo to empty, redo to full.
    steps = host.python("len(model.history._before)")
    back_to_canvas(page, "flip")
    for _ in range(steps):
        page.keyboard.press("Control+z")
    expect(part(page, "canvas").locator("[data-wb=empty]")).to_be_visible()
    assert load_graph(host.python("__import__('workbench').dump_graph(model.graph)")) == EMPTY
    part(page, "canvas").locator("[data-wb=first-search]").focus()
    for _ in range(steps):
        page.keyboard.press("Control+Shift+Z")
    expect(part(page, "canvas")).to_have_attribute("data-nodes", "6")
    assert held(host) == graph


def without_usual(graph: Graph) -> Graph:
    """The recipe without the values that say what DALI does anyway."""
    decode = graph.node("decode")
    mirror = graph.node("mirror")
    graph = graph.replace_node(replace(decode, args={}))
    return graph.replace_node(replace(mirror, args={"probability": 0.5}))


def add_by_mouse(page: Page, op: str, name: str) -> None:
    part(page, "canvas").locator("[data-wb=add]").click()
    part(page, "canvas").locator(f"[role=option][data-op='{op}']").click()
    inspected(page, name)


def draw_by_mouse(page: Page, name: str, low: float, high: float) -> None:
    row = argument(page, name)
    row.locator("[data-wb=dice]").click()
    thumbs = row.get_by_role("slider")
    expect(thumbs).to_have_count(2)
    for index, value in enumerate((low, high)):
        thumb = thumbs.nth(index)
        box = thumb.bounding_box()
        assert box
        least, most = (float(thumb.get_attribute(end) or "nan") for end in ("min", "max"))
        left, wide = box["x"] + 7, (box["width"] - 14) / (most - least)  # thumbs are 14 wide
        y = box["y"] + box["height"] / 2
        page.mouse.move(left + wide * (float(thumb.input_value()) - least), y)
        page.mouse.down()
        page.mouse.move(left + wide * (value - least), y, steps=8)
        page.mouse.up()


@pytest.mark.thorough
def test_rotate_jitter_is_composed_by_mouse_alone(host: Host, photos: Path) -> None:
    host.open(photos, EMPTY)
    page = host.page
    expect(part(page, "canvas").locator("[data-wb=empty]")).to_be_visible(timeout=PATIENCE)
    part(page, "canvas").locator("[data-wb=first]").click()
    inspected(page, "reader")
    argument(page, "random_shuffle").locator("label").first.click()
    for op, name in (
        ("decoders.image", "decode"),
        ("resize", "resize"),
        ("color_twist", "color_twist"),
        ("flip", "flip"),
    ):
        add_by_mouse(page, op, name)
    argument(page, "horizontal").locator("[data-wb=dice]").click()
    # The one in between goes into the edge.
    node(page, "color_twist").click()
    plus = part(page, "canvas").locator("[data-wb=plus][data-edge='color_twist:data']")
    plus.click()
    part(page, "canvas").locator("[role=option][data-op=rotate]").click()
    inspected(page, "rotate")
    draw_by_mouse(page, "angle", -10, 10)
    node(page, "color_twist").click()
    inspected(page, "color_twist")
    for name, (low, high) in TWISTS.items():
        draw_by_mouse(page, name, low, high)
    expect(part(page, "bar").locator("[data-wb=status]")).to_contain_text("ready", timeout=PATIENCE)

    graph = held(host)
    wanted = without_usual(JITTER)
    ranges = {}
    for edge in graph.edges:
        generator = graph.node(edge.source.node)
        if generator.op == "random.uniform":
            ranges[edge.input] = generator.args["range"]
            (same,) = (e for e in wanted.edges if e.input == edge.input)
            exact = wanted.node(same.source.node).args
            graph = graph.replace_node(replace(generator, args=exact))
    assert outputs_of(graph) == outputs_of(wanted)
    for name, (low, high) in {"angle": (-10, 10), **TWISTS}.items():
        found = ranges[name]
        slack = 0.25 * (high - low)  # the whole slider is a hundred pixels wide
        assert abs(found[0] - low) <= slack, f"{name}: {found}"
        assert abs(found[1] - high) <= slack, f"{name}: {found}"
