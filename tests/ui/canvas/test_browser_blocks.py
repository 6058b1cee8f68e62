"""Blocks in both hosts: opened, edited inside, shown open, and conditions of an if."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.block_graphs import CATALOG, branching_graph, set_count
from tests.ui.hosts import (
    PATIENCE,
    Host,
    PanelHost,
    await_picture,
    await_python,
    drag_card,
    open_page,
    part,
    small,
)
from workbench.catalog import load_catalog
from workbench.graph import Graph, Settings, load_recipe
from workbench.graph.control_flow.options import add_option, fit_generator
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block

pytestmark = pytest.mark.browser


# A block in a real JupyterLab and a real Panel app: opened, edited inside, left again.

BRANCHED, BLOCK = wrap_in_block(small(), load_catalog(), ["rotate"])
LEAST = 24
"""Pixels of a control's side (WCAG 2.5.8)."""


def card(page: Page, name: str) -> Locator:
    return part(page, "canvas").locator(f"[data-node='{name}']")


def shown(page: Page, scope: str) -> Locator:
    return part(page, "canvas").locator(f"[data-wb=scope][data-scope='{scope}']")


@pytest.mark.thorough
def test_a_block_is_opened_edited_inside_and_left(host: Host, photos: Path) -> None:
    page = open_page(host, photos, BRANCHED)
    expect(card(page, "rotate")).to_be_visible()
    button = part(page, "canvas").get_by_role("button", name="Open then of branch")
    box = button.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= LEAST

    button.click()
    expect(shown(page, "branch.then")).to_have_attribute("aria-current", "true")
    expect(card(page, "branch.then")).to_be_visible()
    expect(card(page, "rotate")).to_have_attribute("aria-current", "true")
    angle = part(page, "inspector").locator("[data-arg=angle]")
    ends = angle.get_by_role("spinbutton")
    expect(ends).to_have_count(2)
    ends.nth(1).fill("33")
    ends.nth(1).press("Enter")
    value = "list(model.graph.node('angle').args['range'])"
    await_python(host, value, lambda found: found[1] == 33)

    card(page, "rotate").click()
    page.keyboard.press("Control+z")
    await_python(host, value, lambda found: found[1] == 10)
    expect(ends.nth(1)).to_have_value("10")

    page.keyboard.press("Control+c")
    expect(part(page, "canvas").locator("[data-wb=said]")).to_have_text("rotate copied")
    page.keyboard.press("Control+v")
    expect(card(page, "rotate_2")).to_be_visible(timeout=PATIENCE)
    assert host.python("model.graph.scope_of('rotate_2')") == "branch.then"

    shown(page, "branch.else").click()
    expect(card(page, "branch.else")).to_be_visible()
    expect(card(page, "rotate_2")).to_have_count(0)
    shown(page, "").click()
    expect(card(page, "branch")).to_have_attribute("aria-current", "true")
    expect(part(page, "canvas").locator("[data-wb=breadcrumb]")).to_have_count(0)
    expect(card(page, "rotate_2")).to_contain_text("it is not connected")
    block = part(page, "inspector").locator("[data-wb=block]")
    expect(block).to_contain_text("p = 0.5, from chance")


@pytest.mark.thorough
def test_a_block_is_made_and_left_by_keyboard(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    card(page, "rotate").click()
    page.keyboard.press("i")
    expect(card(page, "branch")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card(page, "rotate")).to_be_focused()
    page.keyboard.press("Escape")
    expect(card(page, "branch")).to_be_focused()
    page.keyboard.press("Shift+I")
    expect(card(page, "rotate")).to_be_focused()
    expect(card(page, "branch")).to_have_count(0)
    same = "sorted(node.id for node in model.graph.nodes)"
    await_python(host, same, lambda found: found == sorted(node.id for node in small().nodes))


@pytest.mark.thorough
def test_one_of_several_is_made_and_weighed_by_keyboard(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    card(page, "rotate").click()
    page.keyboard.press("b")
    expect(card(page, "one_of")).to_be_visible(timeout=PATIENCE)
    inspector = part(page, "inspector")
    weights = inspector.get_by_role("textbox", name="weights of one_of")
    expect(weights).to_have_value("0.5, 0.5")
    weights.fill("3, 1")
    weights.press("Enter")
    expect(inspector.locator("[data-wb=share]")).to_have_text(["75 %", "25 %"])
    weights.fill("0, 0")
    weights.press("Enter")
    message = part(page, "bar").locator("[data-wb=message]")
    expect(message).to_contain_text("The weights are 0, 0", timeout=PATIENCE)
    expect(weights).to_have_value("0.75, 0.25")
    # The message goes while the button is pressed: had it moved then, there were no click.
    weights.fill("1, 3")
    inspector.get_by_role("button", name="Add an option").hover()
    page.mouse.down()
    await_python(host, "model.state.message", lambda found: not found)
    page.mouse.up()
    expect(inspector.locator("[data-wb=share]")).to_have_count(3)
    inspector.get_by_role("button", name="Remove option_0 of one_of").click()
    expect(inspector.locator("[data-wb=share]")).to_have_count(2)

    page.keyboard.press("Control+k")
    search = part(page, "canvas").get_by_role("combobox")
    search.fill("apply with probability")
    search.press("Enter")
    number = inspector.get_by_role("spinbutton", name="probability of branch, number")
    number.fill("0.8")
    number.press("Enter")
    slider = inspector.get_by_role("slider", name="probability of branch").bounding_box()
    assert slider is not None
    assert slider["width"] >= 160
    await_python(host, "model.graph.node('chance').args['probability']", lambda found: found == 0.8)


@pytest.mark.thorough
def test_undo_in_the_field_of_p_is_the_text_s_first_and_then_the_graph_s(
    host: Host, photos: Path
) -> None:
    page = open_page(host, photos, small())
    card(page, "rotate").click()
    page.keyboard.press("/")
    page.keyboard.type("apply with probability")
    page.keyboard.press("Enter")
    inspector = part(page, "inspector")
    field = inspector.get_by_role("spinbutton", name="probability of branch, number")
    p = "[n.args['probability'] for n in model.graph.walk() if n.id == 'chance']"
    field.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("0.8")
    await_python(host, p, lambda found: found == [0.8])
    page.keyboard.press("Control+z")
    expect(field).to_have_value("0.5")
    await_python(host, p, lambda found: found == [0.5])
    page.keyboard.press("Control+Shift+z")
    expect(field).to_have_value("0.8")
    page.keyboard.press("Control+z")
    expect(field).to_have_value("0.5")
    expect(field).to_be_focused()
    page.keyboard.type("x")  # no number, so it is not taken: its undo is the text's
    expect(field).to_have_value(re.compile("x"))
    page.keyboard.press("Control+z")
    expect(field).to_have_value("0.5")
    assert host.python(p) == [0.5]
    page.keyboard.press("Control+Shift+z")
    expect(field).to_have_value(re.compile("x"))
    page.keyboard.press("Control+z")
    expect(field).to_have_value("0.5")
    page.keyboard.press("Control+z")
    expect(card(page, "branch")).to_have_count(0)
    await_python(host, p, lambda found: found == [])
    expect(inspector).to_be_focused()  # else the next key were the page's
    page.keyboard.press("Control+Shift+z")
    await_python(host, p, lambda found: found == [0.5])


@pytest.mark.thorough
def test_some_of_and_repeat_are_made_by_keyboard(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    card(page, "rotate").click()
    page.keyboard.press("Shift+B")
    expect(card(page, "some_of")).to_contain_text("some_of 1 of 2", timeout=PATIENCE)
    inspector = part(page, "inspector")
    inspector.get_by_role("button", name="Move option_0 of some_of down").click()
    await_python(
        host,
        "len(model.graph.node('some_of').bodies['option_0'].nodes)",
        lambda found: found == 0,
    )
    inspector.locator("[data-arg=shuffled]").get_by_role("checkbox").press("Space")
    expect(card(page, "some_of")).to_contain_text("in random order", timeout=PATIENCE)
    card(page, "flip").click()
    page.keyboard.press("r")
    expect(card(page, "repeat")).to_contain_text("repeat 2 times", timeout=PATIENCE)


# Blocks as frames in a real JupyterLab and a real Panel app: nested, lit, edited, collapsed.


def nested() -> Graph:
    """Of four samples, the first three go through ``outer.then``."""
    graph = branching_graph()
    return replace(graph, settings=replace(graph.settings, batch_size=5, num_threads=2))


def box(found: Locator) -> FloatRect:
    rect = found.bounding_box()
    assert rect is not None
    return rect


def holds(outer: FloatRect, inner: FloatRect) -> bool:
    return (
        outer["x"] < inner["x"]
        and outer["y"] < inner["y"]
        and inner["x"] + inner["width"] < outer["x"] + outer["width"]
        and inner["y"] + inner["height"] < outer["y"] + outer["height"]
    )


def apart(a: FloatRect, b: FloatRect) -> bool:
    return (
        a["x"] + a["width"] <= b["x"]
        or b["x"] + b["width"] <= a["x"]
        or a["y"] + a["height"] <= b["y"]
        or b["y"] + b["height"] <= a["y"]
    )


def choose(page: Page, index: int) -> None:
    part(page, "canvas").locator(".wb-canvas-box").focus()
    for _ in range(index):
        page.keyboard.press("PageDown")
    sample = page.locator(f"[data-sample='{index}']")
    expect(sample).to_have_count(1, timeout=PATIENCE)


@pytest.mark.thorough
def test_frames_hold_their_nodes_and_the_branch_that_ran_is_lit(host: Host, photos: Path) -> None:
    host.page.emulate_media(reduced_motion="reduce")  # what glides cannot be measured
    page = open_page(host, photos, nested())
    for name in ("noise", "inner", "rotate", "blur", "flip"):
        expect(card(page, name)).to_be_visible(timeout=PATIENCE)
    outer, inner = box(card(page, "outer")), box(card(page, "inner"))
    assert holds(outer, inner)
    cards = {name: box(card(page, name)) for name in ("noise", "rotate", "blur", "flip")}
    assert all(holds(outer, each) for each in cards.values())
    within = [name for name, each in cards.items() if holds(inner, each)]
    assert within == ["rotate", "blur"]
    each = [*cards.values(), box(card(page, "resize"))]
    assert all(apart(a, b) for at, a in enumerate(each) for b in each[:at])

    expect(card(page, "noise")).to_have_attribute("data-ran", "ran", timeout=PATIENCE)
    expect(card(page, "flip")).to_have_attribute("data-ran", "not")
    expect(card(page, "flip")).to_contain_text("not run")
    title = card(page, "outer").locator("[data-wb=branch]")
    expect(title.last).to_have_text(" · then ran")
    choose(page, 4)
    expect(card(page, "flip")).to_have_attribute("data-ran", "ran", timeout=PATIENCE)
    expect(card(page, "noise")).to_contain_text("not run")
    expect(card(page, "rotate")).to_contain_text("not run")
    expect(title.last).to_have_text(" · else ran")


@pytest.mark.thorough
def test_what_stands_in_a_frame_is_edited_there(host: Host, photos: Path) -> None:
    host.page.emulate_media(reduced_motion="reduce")
    page = open_page(host, photos, nested())
    card(page, "blur").click()
    inspector = part(page, "inspector")
    expect(inspector.locator("[data-arg=sigma]")).to_be_visible(timeout=PATIENCE)
    expect(part(page, "canvas").locator("[data-wb=breadcrumb]")).to_have_count(0)

    page.keyboard.press("/")
    page.keyboard.type("flip")
    page.keyboard.press("Enter")
    await_python(host, "model.graph.has('flip_2')", bool)
    assert host.python("model.graph.scope_of('flip_2')") == "inner.else"
    expect(card(page, "flip_2")).to_be_focused(timeout=PATIENCE)
    assert holds(box(card(page, "inner")), box(card(page, "flip_2")))
    page.keyboard.press("Delete")
    expect(card(page, "flip_2")).to_have_count(0)
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    await_python(host, "not model.graph.has('flip_2')", bool)

    collapse = part(page, "canvas").get_by_role("button", name="Collapse inner")
    collapse.click()
    expect(card(page, "rotate")).to_have_count(0)
    expect(card(page, "noise")).to_be_visible()
    assert host.python("sorted(model.history.document.layout.collapsed)") == ["inner"]
    card(page, "inner").locator("b").dblclick()
    expect(card(page, "rotate")).to_be_visible()


@pytest.mark.thorough
def test_a_card_is_moved_within_its_frame(panel: PanelHost, photos: Path) -> None:
    # In the app alone: in a cell the canvas is too low to show these frames as large as life.
    panel.page.emulate_media(reduced_motion="reduce")
    page = open_page(panel, photos, nested())
    expect(card(page, "blur")).to_be_visible(timeout=PATIENCE)
    graph = panel.python("__import__('workbench').dump_graph(model.graph)")
    before, outer = box(card(page, "blur")), box(card(page, "outer"))
    placed = part(page, "canvas").locator(".react-flow__node[data-id=blur]")
    transform = str(placed.evaluate("el => getComputedStyle(el).transform"))
    drag_card(card(page, "blur"), (40, 60))
    places = "model.history.layout.positions"
    await_python(panel, f"{{k: list(v) for k, v in {places}.items()}}", lambda at: "blur" in at)
    assert "outer" not in panel.python(f"list({places})")  # only its own body is kept as it is
    expect(part(page, "bar").locator("[data-wb=undo]")).to_have_accessible_name(
        "Undo: move on the canvas"
    )
    after = box(card(page, "blur"))
    assert after["x"] == pytest.approx(before["x"] + 40, abs=8)
    assert after["y"] == pytest.approx(before["y"] + 60, abs=8)
    assert holds(box(card(page, "inner")), after)
    assert box(card(page, "outer"))["height"] > outer["height"] + 10
    assert panel.python("__import__('workbench').dump_graph(model.graph)") == graph

    # Not out of it: the frame's edge and the body's bar hold it back.
    drag_card(card(page, "blur"), (-70, -110))
    back = box(card(page, "blur"))
    assert holds(box(card(page, "inner")), back)
    assert apart(back, box(card(page, "inner.else")))
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    await_python(panel, f"list({places})", lambda found: not found)
    expect(placed).to_have_css("transform", transform)


# Bodies of a block in both hosts: all that ran are lit, named by hand, and counted.


@pytest.mark.thorough
def test_bodies_are_lit_named_and_counted(host: Host, photos: Path) -> None:
    graph, block = wrap_as_options(
        load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"], "some_of"
    )
    graph = fit_generator(add_option(graph, CATALOG, block), block)
    graph = set_count(graph, CATALOG, block, 2, shuffled=True)
    page = open_page(host, photos, replace(graph, settings=replace(Settings(), batch_size=4)))
    canvas, inspector = part(page, "canvas"), part(page, "inspector")
    lit = canvas.locator(".wb-body-bar[data-ran=ran]")
    expect(lit).to_have_count(2, timeout=PATIENCE)

    canvas.locator("[data-node=some_of] .wb-block-title").click()
    name = inspector.locator("[data-wb=body-title]").nth(1)
    name.fill("stronger")
    name.press("Enter")
    expect(canvas.locator("[data-node='some_of.option_1'] b")).to_have_text("stronger")
    assert host.python("model.graph.node('some_of').bodies['option_1'].title") == "stronger"

    expect(inspector.locator("[data-wb=body-share]")).to_have_count(3)
    inspector.locator("[data-wb=count-shares]").press("Enter")
    found = inspector.locator("[data-wb=counted-share]")
    expect(found).to_have_count(3, timeout=PATIENCE)
    expect(found.first).to_contain_text("expected 66.7 %")
    inspector.locator("[data-wb=count-shares]").scroll_into_view_if_needed()


# The condition of an if, set in a real JupyterLab and a real Panel app, by mouse and keyboard.

ASKS = "[node.op for node in model.graph.nodes if node.op.startswith('math.')]"


@pytest.mark.thorough
def test_a_class_is_chosen_by_name_and_an_elif_added(host: Host, photos: Path) -> None:
    page = open_page(host, photos, BRANCHED)
    card(page, BLOCK).click(position={"x": 20, "y": 12})
    inspector = part(page, "inspector")
    kind = inspector.get_by_role("combobox", name="condition of branch")
    expect(kind).to_have_value("chance")
    kind.select_option("label")
    await_python(host, ASKS, lambda found: found == ["math.eq"])
    inspector.locator("[data-wb=asks-classes]").click()
    inspector.get_by_role("checkbox", name="cat", exact=True).check()
    await_python(host, ASKS, lambda found: found == ["math.eq", "math.eq", "math.bitor"])
    expect(inspector.locator("[data-wb=asks-classes]")).to_contain_text("astronaut or cat")
    page.keyboard.press("Escape")
    kind.select_option("size")
    value = inspector.get_by_role("spinbutton", name="value of branch")
    expect(value).to_have_value("500")
    value.fill("400")
    value.press("Enter")
    await_python(host, "model.graph.node('gt').args['right']", lambda found: found == 400)
    inspector.get_by_role("button", name="Add an elif").click()
    expect(inspector.get_by_role("combobox", name="condition of branch_2")).to_have_value(
        "chance", timeout=PATIENCE
    )
    await_picture(page)


@pytest.mark.thorough
def test_so_it_is_by_keyboard(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    card(page, "rotate").click()
    page.keyboard.press("Control+k")
    search = part(page, "canvas").get_by_role("combobox")
    search.fill("apply by size")
    search.press("Enter")
    inspector = part(page, "inspector")
    kind = inspector.get_by_role("combobox", name="condition of branch")
    expect(kind).to_have_value("size", timeout=PATIENCE)
    measure = inspector.get_by_role("combobox", name="size measured by branch")
    measure.focus()
    page.keyboard.type("as")
    await_python(
        host,
        "model.graph.node('gt').args['right']",
        lambda found: found == 1,
    )
    page.keyboard.press("Control+z")
    await_python(host, "model.graph.node('gt').args['right']", lambda found: found == 500)
    card(page, BLOCK).focus()
    page.keyboard.press("Control+k")
    search.fill("add an elif")
    search.press("Enter")
    await_python(host, "model.graph.has('branch_2')", lambda found: found)


@pytest.mark.thorough
def test_one_operator_is_offered_measured_and_used(host: Host, photos: Path) -> None:
    graph, block = wrap_in_block(small(), load_catalog(), ["rotate"])
    page = open_page(host, photos, graph)
    card(page, block).click(position={"x": 20, "y": 12})
    inspector = part(page, "inspector")
    inspector.get_by_role("button", name="Measure both").click()
    figures = inspector.locator("[data-wb=fused-figures]")
    expect(figures).to_contain_text("× the speed of the if", timeout=120_000)
    expect(figures.locator("small")).to_have_count(2)
    inspector.get_by_role("button", name="Use rotate").press("Enter")
    await_python(host, f"model.graph.has('{block}')", lambda found: not found)
    await_picture(page)
