"""Regions as frames in a real JupyterLab and a real Panel app: nested, lit, edited, collapsed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.region_graphs import branching_graph
from tests.ui.hosts import PATIENCE, Host, PanelHost, await_picture, await_python, drag_card, part
from workbench.graph import Graph

pytestmark = pytest.mark.browser


def nested() -> Graph:
    """Of four samples, the first three go through ``outer.then``."""
    graph = branching_graph()
    return replace(graph, settings=replace(graph.settings, batch_size=5, num_threads=2))


def node(page: Page, name: str) -> Locator:
    return part(page, "canvas").locator(f"[data-node='{name}']")


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
    host.open(photos, nested())
    page = host.page
    await_picture(page)
    for name in ("noise", "inner", "rotate", "blur", "flip"):
        expect(node(page, name)).to_be_visible(timeout=PATIENCE)
    outer, inner = box(node(page, "outer")), box(node(page, "inner"))
    assert holds(outer, inner)
    cards = {name: box(node(page, name)) for name in ("noise", "rotate", "blur", "flip")}
    assert all(holds(outer, each) for each in cards.values())
    within = [name for name, each in cards.items() if holds(inner, each)]
    assert within == ["rotate", "blur"]
    each = [*cards.values(), box(node(page, "resize"))]
    assert all(apart(a, b) for at, a in enumerate(each) for b in each[:at])

    expect(node(page, "noise")).to_have_attribute("data-ran", "ran", timeout=PATIENCE)
    expect(node(page, "flip")).to_have_attribute("data-ran", "not")
    expect(node(page, "flip")).to_contain_text("not this time")
    title = node(page, "outer").locator("[data-wb=branch]")
    expect(title.last).to_have_text(" · then ran")
    choose(page, 4)
    expect(node(page, "flip")).to_have_attribute("data-ran", "ran", timeout=PATIENCE)
    expect(node(page, "noise")).to_contain_text("not this time")
    expect(node(page, "rotate")).to_contain_text("not this time")
    expect(title.last).to_have_text(" · else ran")


@pytest.mark.thorough
def test_what_stands_in_a_frame_is_edited_there(host: Host, photos: Path) -> None:
    host.page.emulate_media(reduced_motion="reduce")
    host.open(photos, nested())
    page = host.page
    await_picture(page)
    node(page, "blur").click()
    inspector = part(page, "inspector")
    expect(inspector.locator("[data-arg=sigma]")).to_be_visible(timeout=PATIENCE)
    expect(part(page, "canvas").locator("[data-wb=breadcrumb]")).to_have_count(0)

    page.keyboard.press("/")
    page.keyboard.type("flip")
    page.keyboard.press("Enter")
    await_python(host, "model.graph.has('flip_2')", bool)
    assert host.python("model.graph.scope_of('flip_2')") == "inner.else"
    expect(node(page, "flip_2")).to_be_focused(timeout=PATIENCE)
    assert holds(box(node(page, "inner")), box(node(page, "flip_2")))
    page.keyboard.press("Delete")
    expect(node(page, "flip_2")).to_have_count(0)
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    await_python(host, "not model.graph.has('flip_2')", bool)

    collapse = part(page, "canvas").get_by_role("button", name="Collapse inner")
    collapse.click()
    expect(node(page, "rotate")).to_have_count(0)
    expect(node(page, "noise")).to_be_visible()
    assert host.python("sorted(model.history.document.layout.collapsed)") == ["inner"]
    node(page, "inner").locator("b").dblclick()
    expect(node(page, "rotate")).to_be_visible()


@pytest.mark.thorough
def test_a_card_is_moved_within_its_frame(panel: PanelHost, photos: Path) -> None:
    # In the app alone: in a cell the canvas is too low to show these frames as large as life.
    panel.page.emulate_media(reduced_motion="reduce")
    panel.open(photos, nested())
    page = panel.page
    await_picture(page)
    expect(node(page, "blur")).to_be_visible(timeout=PATIENCE)
    graph = panel.python("__import__('workbench').dump_graph(model.graph)")
    before, outer = box(node(page, "blur")), box(node(page, "outer"))
    placed = part(page, "canvas").locator(".react-flow__node[data-id=blur]")
    transform = str(placed.evaluate("el => getComputedStyle(el).transform"))
    drag_card(node(page, "blur"), (40, 60))
    places = "model.history.layout.positions"
    await_python(panel, f"{{k: list(v) for k, v in {places}.items()}}", lambda at: "blur" in at)
    assert "outer" not in panel.python(f"list({places})")  # only its own body is kept as it is
    expect(part(page, "bar").locator("[data-wb=undo]")).to_have_accessible_name(
        "Undo: move on the canvas"
    )
    after = box(node(page, "blur"))
    assert after["x"] == pytest.approx(before["x"] + 40, abs=8)
    assert after["y"] == pytest.approx(before["y"] + 60, abs=8)
    assert holds(box(node(page, "inner")), after)
    assert box(node(page, "outer"))["height"] > outer["height"] + 10
    assert panel.python("__import__('workbench').dump_graph(model.graph)") == graph

    # Not out of it: the frame's edge and the body's bar hold it back.
    drag_card(node(page, "blur"), (-70, -110))
    back = box(node(page, "blur"))
    assert holds(box(node(page, "inner")), back)
    assert apart(back, box(node(page, "inner.else")))
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    await_python(panel, f"list({places})", lambda found: not found)
    expect(placed).to_have_css("transform", transform)
