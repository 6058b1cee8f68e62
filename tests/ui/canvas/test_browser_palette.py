"""The palette of operators in a real browser: dragged from, and by keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.app.test_accessibility import serious_faults
from tests.ui.canvas_page import held, inspected, node
from tests.ui.hosts import (
    PATIENCE,
    Host,
    LabHost,
    await_cards,
    await_picture,
    await_python,
    part,
    small,
)

pytestmark = pytest.mark.browser


def item(page: Page, op: str) -> Locator:
    return part(page, "canvas").locator(f"[data-wb=palette-item][data-op='{op}']")


def middle(target: Locator) -> tuple[float, float]:
    box = target.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, op: str, to: tuple[float, float], words: str) -> None:
    """Drag an operator there, where the words beside the pointer are these."""
    page.mouse.move(*middle(item(page, op)))
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
    canvas.locator("[data-wb=palette-button]").click()
    box, column = (
        canvas.locator(selector).bounding_box() for selector in (".wb-canvas-box", ".wb-palette")
    )
    assert box
    assert column
    assert box["x"] >= column["x"] + column["width"]  # beside, not upon it
    canvas.locator("[data-wb=palette-filter]").fill("flip")
    flip = item(page, "flip")
    expect(flip).to_be_visible()

    into = middle(canvas.locator("[data-port='color:in:data']"))
    out = middle(canvas.locator("[data-port='rotate:out:output']"))
    between = (into[0] + out[0]) / 2, (into[1] + out[1]) / 2
    drag(page, "flip", between, "between rotate and color")
    inspected(page, "flip_2")
    assert held(host).node("flip_2").inputs["data"].node == "rotate"
    assert held(host).node("color").inputs["data"].node == "flip_2"
    page.keyboard.press("Control+z")
    expect(node(page, "flip_2")).to_have_count(0)

    drag(page, "flip", middle(node(page, "resize")), "after resize")
    inspected(page, "flip_2")  # else it would be undone before it is drawn, and not seen to go
    await_python(host, "model.graph.node('rotate').inputs['data'].node", lambda n: n == "flip_2")
    page.keyboard.press("Control+z")
    expect(node(page, "flip_2")).to_have_count(0)

    drag(page, "flip", middle(canvas.locator("[data-port='rotate:in:data']")), "into rotate.data")
    inspected(page, "flip_2")  # else it would be undone before it is drawn, and not seen to go
    await_python(host, "model.graph.node('rotate').inputs['data'].node", lambda n: n == "flip_2")
    page.keyboard.press("Control+z")
    expect(node(page, "flip_2")).to_have_count(0)

    pane = canvas.locator(".wb-canvas-box").bounding_box()
    assert pane is not None
    drag(page, "flip", (pane["x"] + 6, pane["y"] + 40), "on its own")
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
