"""Composing in a real JupyterLab and a real Panel app: by keyboard alone, and by mouse alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import (
    PATIENCE,
    Host,
    LabHost,
    PanelHost,
    await_cards,
    await_picture,
    await_python,
    part,
    small,
)
from workbench.graph import Graph, Port, dump_graph, load_graph, load_recipe

pytestmark = pytest.mark.browser

EMPTY = Graph(settings=small().settings)
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


def held(host: Host) -> Graph:
    """The graph that Python holds."""
    page = host.page
    expect(part(page, "canvas")).to_have_attribute("data-nodes", str(drawn(host)))
    return load_graph(host.python("__import__('workbench').dump_graph(model.graph)"))


def drawn(host: Host) -> int:
    return int(host.python("len(model.shown('canvas', 'nodes'))"))


def node(page: Page, name: str) -> Locator:
    return part(page, "canvas").locator(f"[data-node={name}]")


def argument(page: Page, name: str) -> Locator:
    return part(page, "inspector").locator(f"[data-arg={name}]")


def inspected(page: Page, name: str) -> None:
    expect(node(page, name)).to_have_attribute("aria-current", "true")
    expect(part(page, "inspector")).to_have_attribute("data-node", name)


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
    expect(node(page, "flip")).to_have_accessible_name(re.compile("horizontal ~ 0.5 yes"))

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


def refused(page: Page, source: str, target: str) -> str:
    """Drag an edge to a port that does not take it, and read the reason on the way."""
    handles = part(page, "canvas")
    start = handles.locator(f"[data-port='{source}']").bounding_box()
    end = handles.locator(f"[data-port='{target}']").bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=10)
    bubble = part(page, "canvas").locator("[data-wb=refusal]")
    expect(bubble).to_be_visible()
    text = bubble.inner_text()
    page.mouse.up()
    expect(bubble).to_be_hidden()
    return text


@pytest.mark.thorough
def test_what_cannot_be_says_why(host: Host, photos: Path) -> None:
    host.page.emulate_media(reduced_motion="reduce")  # what glides is hard to hit
    host.open(photos, small())
    page = host.page
    await_cards(page, 5)
    before = held(host)
    # Four edges that are refused while they are dragged: kind, cycle, a port in use, no image.
    assert "data takes image, and reader.labels gives label" in refused(
        page, "reader:out:labels", "resize:in:data"
    )
    assert "wait for each other" in refused(page, "flip:out:output", "rotate:in:data")
    assert "taken by rotate.output" in refused(page, "resize:out:output", "color:in:data")
    assert "data takes encoded" in refused(page, "reader:out:labels", "decode:in:data")
    assert held(host) == before

    # An operator that does not fit, greyed with its reason.
    node(page, "rotate").click()
    page.keyboard.press("/")
    page.keyboard.type("readers.coco")
    option = part(page, "canvas").locator("[role=option][data-op='readers.coco']")
    expect(option).to_have_attribute("aria-disabled", "true")
    assert len(option.locator("small").inner_text()) > 10
    page.keyboard.press("Escape")

    # An edge that is missing, named at its node and in the list, with a remedy at a click.
    node(page, "resize").click()
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    host.python("model.act('canvas', {'do': 'disconnect', 'edges': ['rotate:data']})")
    expect(node(page, "rotate")).to_have_attribute("data-fault", "true")
    status = part(page, "bar").locator("[data-wb=status]")
    expect(status).to_have_text("1 fault")
    status.click()
    fault = part(page, "bar").locator("[data-wb=fault]")
    expect(fault).to_contain_text("rotate.data: nothing feeds it")
    part(page, "bar").locator("[data-wb=fix]").first.click()
    expect(status).to_contain_text("ready", timeout=PATIENCE)
    assert not host.python("list(model.state.checked.faults)")


@pytest.mark.thorough
def test_a_reload_finds_the_graph_again(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    node(page, "rotate").click()
    page.keyboard.press("/")
    page.keyboard.type("gaussian_blur")
    page.keyboard.press("Enter")
    inspected(page, "gaussian_blur")
    graph = held(host)
    if isinstance(host, LabHost):
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        host.server.end_kernels()
        host.open(photos, small())
    else:
        page.reload()
    expect(node(page, "gaussian_blur")).to_be_visible(timeout=PATIENCE)
    assert held(host) == graph
    assert host.python("model.history.can_undo")


@pytest.mark.thorough
def test_nodes_are_pasted_into_a_second_notebook(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    node(page, "rotate").click()
    node(page, "color").click(modifiers=["Shift"])
    expect(part(page, "inspector")).to_contain_text("2 selected")
    page.keyboard.press("Control+c")
    expect(part(page, "canvas").locator("[data-wb=said]")).to_have_text("2 nodes copied")
    text = page.evaluate("() => navigator.clipboard.readText()")
    assert [n.op for n in load_graph(text).nodes].count("rotate") == 1
    page.evaluate("() => sessionStorage.clear()")  # as in another tab, which is another's work
    host.open(photos, EMPTY)
    expect(part(page, "canvas").locator("[data-wb=empty]")).to_be_visible(timeout=PATIENCE)
    part(page, "canvas").locator("[data-wb=first-search]").focus()
    page.keyboard.press("Control+v")
    expect(part(page, "canvas")).to_have_attribute("data-nodes", "2")
    assert [n.op for n in held(host).nodes].count("random.uniform") == 5
    page.keyboard.press("Control+z")
    expect(part(page, "canvas").locator("[data-wb=empty]")).to_be_visible()


@pytest.mark.thorough
def test_a_copy_that_is_ahead_of_its_text_waits_for_it(panel: PanelHost, photos: Path) -> None:
    panel.open(photos, small())
    page = panel.page
    await_picture(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    said = part(page, "canvas").locator("[data-wb=said]")
    node(page, "rotate").click()
    inspected(page, "rotate")
    with panel.sessions[-1].model.lock:  # the host is busy: the selection is not answered
        node(page, "color").click()
        page.keyboard.press("Control+c")
        expect(said).to_contain_text("Not copied yet")
    expect(said).to_have_text("color copied")
    text = page.evaluate("() => navigator.clipboard.readText()")
    assert "color_twist" in [node.op for node in load_graph(text).nodes]


@pytest.mark.thorough
def test_words_do_not_outlive_what_they_tell_of(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    said = part(page, "canvas").locator("[data-wb=said]")
    node(page, "rotate").click()
    page.keyboard.press("Delete")
    expect(said).to_have_text("rotate removed")
    expect(node(page, "rotate")).to_have_count(0)
    await_python(host, "model._done is model._asked", bool)
    expect(part(page, "bar")).to_contain_text("ready", timeout=PATIENCE)
    expect(part(page, "inspector")).not_to_have_attribute("data-node", "rotate")
    expect(said).to_have_text("rotate removed")
    page.keyboard.press("Control+z")
    expect(node(page, "rotate")).to_be_visible()
    expect(said).to_have_text("")

    tile = part(page, "preview").locator("[data-wb=tile] button").first
    tile.scroll_into_view_if_needed()
    tile.hover()
    tip = part(page, "preview").locator(".wb-tip")
    expect(tip).to_contain_text("angle")
    host.python("model.act('bar', {'do': 'recipe', 'name': 'imagenet-eval'})")
    expect(tip).not_to_contain_text("angle", timeout=PATIENCE)


@pytest.mark.thorough
def test_the_buttons_of_a_node_cover_no_other(host: Host, photos: Path) -> None:
    host.page.emulate_media(reduced_motion="reduce")  # what glides cannot be measured
    host.open(photos, load_recipe("simclr"))
    page = host.page
    await_picture(page)  # what is selected at first comes with it
    expect(node(page, "crop_1")).to_be_visible(timeout=PATIENCE)
    toolbar = part(page, "canvas").locator(".wb-toolbar")
    for name in ("crop_1", "color_1", "gray_1", "blur_1"):
        node(page, name).focus()
        page.keyboard.press("Enter")  # comes into sight, where a click could not reach it
        expect(toolbar.locator("[data-wb=remove]")).to_have_attribute(
            "aria-label", f"Remove {name}"
        )
        own = toolbar.bounding_box()
        assert own
        beside = toolbar.get_attribute("data-beside") is not None  # else there is no room for that
        covered = part(page, "canvas").locator(".wb-card") if beside else node(page, name)
        for other in covered.all():
            box = other.bounding_box()
            assert box
            apart = (
                own["x"] + own["width"] <= box["x"] + 1
                or box["x"] + box["width"] <= own["x"] + 1
                or own["y"] + own["height"] <= box["y"] + 1
                or box["y"] + box["height"] <= own["y"] + 1
            )
            assert apart, f"{name}: {other.get_attribute('data-node')} is covered"


@pytest.mark.thorough
def test_the_focus_is_back_before_another_key_can_come(host: Host, photos: Path) -> None:
    """Keys would reach the page, and in JupyterLab its own commands, if it came a frame later."""
    host.open(photos, load_recipe("rotate-jitter"))
    box = node(host.page, "rotate")
    box.focus()
    expect(box).to_be_focused()
    held = box.evaluate(
        """el => {
            const canvas = el.closest("[data-wb=canvas]");
            el.remove();
            const inside = () => canvas.contains(canvas.getRootNode().activeElement);
            return Promise.resolve().then(inside);
        }"""
    )
    assert held is True


@pytest.mark.thorough
def test_text_that_is_no_graph_is_not_pasted(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    before = held(host)
    for text in ('"); import os', "\U0001f600" * 100, "x" * 10_000, dump_graph(Graph())):
        page.evaluate("text => navigator.clipboard.writeText(text)", text)
        node(page, "rotate").click()
        page.keyboard.press("Control+v")
        expect(part(page, "bar").locator("[data-wb=message]")).not_to_be_empty()
        assert held(host) == before


def test_a_canvas_that_is_hidden_follows_the_graph(panel: PanelHost, photos: Path) -> None:
    """What has no size cannot glide to another view: its console stays empty (``page``)."""
    page = panel.page
    panel.open(photos, JITTER)
    await_cards(page, 5)
    canvas = part(page, "canvas")
    canvas.evaluate("(element) => { element.style.display = 'none'; }")
    panel.python("model.set_graph(__import__('workbench').load_recipe('simclr'))")
    count = str(drawn(panel))
    expect(canvas).to_have_attribute("data-nodes", count)
    canvas.evaluate("(element) => { element.style.display = ''; }")
    expect(node(page, "reader")).to_be_in_viewport()
