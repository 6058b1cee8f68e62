"""Muting, the history, frames and notes, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.app.test_accessibility import serious_faults
from tests.ui.hosts import Host, await_picture, await_python, drag_card, part, small

pytestmark = pytest.mark.browser


def node(page: Page, name: str) -> Locator:
    return part(page, "canvas").locator(f"[data-node={name}]")


@pytest.fixture
def opened(host: Host, photos: Path) -> Host:
    host.open(photos, small())
    await_picture(host.page)
    return host


@pytest.mark.thorough
def test_a_node_is_muted_by_key_and_by_button_and_the_history_leads_back(opened: Host) -> None:
    page, canvas, bar = opened.page, part(opened.page, "canvas"), part(opened.page, "bar")
    node(page, "rotate").click()
    page.keyboard.press("m")
    expect(node(page, "rotate")).to_have_attribute("data-muted", "true")
    expect(node(page, "rotate")).to_contain_text("muted")
    await_python(opened, "model.state.checked.source.text.count('fn.rotate(')", lambda n: n == 0)
    part(page, "inspector").locator("[data-wb=mute]").click()
    expect(node(page, "rotate")).not_to_have_attribute("data-muted", "true")
    undo = bar.locator("[data-wb=undo]")
    expect(undo).to_have_accessible_name("Undo: unmute rotate")
    undo.click()
    expect(undo).to_have_accessible_name("Undo: mute rotate")
    bar.locator("[data-wb=history]").click()
    steps = bar.locator("[data-wb=history-step]")
    expect(steps).to_have_text(["unmute rotate undone", "mute rotate", "start"])
    steps.last.click()
    expect(node(page, "rotate")).not_to_have_attribute("data-muted", "true")
    expect(bar.locator("[data-wb=history-step][aria-current]")).to_have_text("start")
    page.keyboard.press("Escape")
    expect(canvas.locator("[data-muted]")).to_have_count(0)


@pytest.mark.thorough
def test_frames_and_notes_are_written_moved_and_removed_by_keyboard(opened: Host) -> None:
    page, canvas = opened.page, part(opened.page, "canvas")
    node(page, "resize").click()
    node(page, "rotate").click(modifiers=["Control"])
    page.keyboard.press("g")
    field = canvas.locator("[data-wb=frame-text]")
    expect(field).to_be_focused()
    page.keyboard.type("Geometry")
    page.keyboard.press("Enter")
    title = canvas.locator("[data-wb=frame-open]")
    expect(title).to_have_text("Geometry")
    page.keyboard.press("n")
    expect(canvas.locator("[data-wb=note-text]")).to_be_focused()
    page.keyboard.type("as in the paper")
    page.keyboard.press("Control+Enter")
    note = canvas.locator("[data-wb=note-open]")
    expect(note).to_have_text("as in the paper")
    before = await_python(opened, "model.history.layout.notes['note'].at[0]", bool)
    note.focus()
    page.keyboard.press("ArrowRight")
    await_python(
        opened, "model.history.layout.notes['note'].at[0]", lambda x: x == round(before) + 18
    )
    note.focus()
    page.keyboard.press("Delete")
    expect(note).to_have_count(0)
    title.focus()
    page.keyboard.press("Delete")
    expect(canvas.locator("[data-wb=frame]")).to_have_count(0)
    expect(part(page, "bar").locator("[data-wb=undo]")).to_have_accessible_name(
        "Undo: remove frame Geometry"
    )
    page.keyboard.press("Control+z")
    expect(title).to_have_text("Geometry")


@pytest.mark.thorough
def test_the_other_button_opens_what_can_be_done_there(opened: Host) -> None:
    page, canvas = opened.page, part(opened.page, "canvas")
    menu = canvas.locator("[data-wb=context-menu]")
    entry = canvas.locator("[data-wb=context]")
    node(page, "color").click(button="right")
    expect(menu).to_have_accessible_name("color")
    entry.filter(has_text="Mute").click()
    expect(node(page, "color")).to_have_attribute("data-muted", "true")
    canvas.locator("[data-wb=edge][data-edge='flip:data']").dispatch_event("contextmenu")
    expect(entry).to_have_text(["Add an operator here", "CutDelete"])
    entry.last.click()
    await_python(opened, "'data' in model.graph.node('flip').inputs", lambda fed: not fed)
    page.keyboard.press("Control+z")
    await_python(opened, "'data' in model.graph.node('flip').inputs", bool)
    canvas.locator(".react-flow__pane").click(button="right", position={"x": 6, "y": 300})
    entry.filter(has_text="Note here").click()
    expect(canvas.locator("[data-wb=note-text]")).to_be_focused()


@pytest.mark.thorough
def test_selected_nodes_are_aligned_and_laid_out_automatically_again(opened: Host) -> None:
    page, canvas = opened.page, part(opened.page, "canvas")
    canvas.locator(".wb-canvas-box").focus()
    page.keyboard.press("Control+a")
    undo = part(page, "bar").locator("[data-wb=undo]")
    canvas.locator("[data-wb=align-top]").click()
    places = "{k: v[1] for k, v in model.history.layout.positions.items()}"
    top = await_python(opened, places, bool)
    assert len({top[name] for name in ("reader", "decode", "resize", "rotate", "flip")}) == 1
    expect(undo).to_have_accessible_name("Undo: align top")
    assert serious_faults(page, "canvas") == []
    page.keyboard.press("a")
    canvas.locator("[data-wb=choice][data-op=automatic]").click()
    await_python(opened, places, lambda found: not found)
    expect(undo).to_have_accessible_name("Undo: lay out anew")
    page.keyboard.press("Control+z")
    await_python(opened, places, lambda found: found == top)


@pytest.mark.thorough
def test_the_code_of_nodes_goes_onto_the_clipboard_or_into_a_card(opened: Host) -> None:
    page, canvas = opened.page, part(opened.page, "canvas")
    page.evaluate(
        """() => {
          const own = { writeText: async (text) => { window.copied = text; } };
          Object.defineProperty(navigator, "clipboard", { value: own, configurable: true });
        }"""
    )
    node(page, "rotate").click(button="right")
    canvas.locator("[data-wb=context]").filter(has_text="Copy as code").click()
    expect(canvas.locator("[data-wb=said]")).to_contain_text("2 lines of Python copied")
    lines = page.evaluate("window.copied")
    assert [line.partition("(")[0] for line in lines.splitlines()] == [
        "angle = fn.random.uniform",
        "images = fn.rotate",
    ]
    page.evaluate(
        """() => {
          Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
          document.execCommand = () => false;
        }"""
    )
    canvas.locator(".wb-canvas-box").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+C")
    text = canvas.locator("[data-wb=code-copy] textarea")
    expect(text).to_be_focused()
    script = opened.python("model.state.checked.source.text")
    whole = text.input_value().splitlines()
    assert "flip" in whole[-1]
    assert [line for line in whole if line not in script] == []
    page.keyboard.press("Escape")
    expect(text).to_have_count(0)


@pytest.mark.thorough
def test_the_search_opens_where_one_asks(opened: Host) -> None:
    page, canvas = opened.page, part(opened.page, "canvas")
    page.emulate_media(reduced_motion="reduce")
    search = canvas.locator("[data-wb=search]")
    box = canvas.locator(".wb-canvas-box").bounding_box()
    assert box is not None
    page.mouse.dblclick(box["x"] + 20, box["y"] + 80)
    expect(search).to_be_focused()
    expect(canvas.locator(".wb-search-head small")).to_have_text("at the end")
    page.keyboard.press("Escape")

    port = canvas.locator("[data-port='rotate:out:output']").bounding_box()
    assert port is not None
    page.mouse.move(port["x"] + 5, port["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 30, port["y"] + 20, steps=4)
    page.mouse.up()
    expect(search).to_be_focused()
    expect(canvas.locator(".wb-search-head small")).to_have_text("on rotate.output")
    expect(canvas.locator("[data-op='readers.file']")).to_have_count(0)
    page.keyboard.press("Escape")


@pytest.mark.thorough
def test_the_wheel_zooms_in_the_app_and_scrolls_in_a_notebook(opened: Host) -> None:
    page, canvas = opened.page, part(opened.page, "canvas")
    view = canvas.locator(".react-flow__viewport")

    def zoom() -> float:
        return float(view.evaluate("el => new DOMMatrix(getComputedStyle(el).transform).a"))

    box = canvas.locator(".wb-canvas-box").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + 60)
    before = zoom()
    page.mouse.wheel(0, 120)
    if "lab" in page.url:
        page.keyboard.down("Control")
        page.mouse.wheel(0, 120)
        page.keyboard.up("Control")
    expect(view).not_to_have_css("transform", f"matrix({before}, 0, 0, {before}, 0, 0)")
    assert zoom() < before


def drop_on_edge(page: Page, name: str, edge: str) -> None:
    """Drag a card so that its middle lies on an edge's."""
    plus = part(page, "canvas").locator(f"[data-wb=plus][data-edge='{edge}']").bounding_box()
    card = node(page, name).bounding_box()
    assert plus is not None
    assert card is not None
    across = plus["x"] + plus["width"] / 2 - card["x"] - card["width"] / 2
    down = plus["y"] + plus["height"] / 2 - card["y"] - card["height"] / 2
    drag_card(node(page, name), (across, down))


@pytest.mark.thorough
def test_a_card_dropped_on_an_edge_is_put_into_it(opened: Host) -> None:
    page = opened.page
    page.emulate_media(reduced_motion="reduce")
    undo = part(page, "bar").locator("[data-wb=undo]")
    opened.python("model.act('canvas', {'do': 'branch', 'op': 'flip', 'node': '', 'output': ''})")
    expect(node(page, "flip_2")).to_have_attribute("data-loose", "true")
    loose = opened.python("__import__('workbench').dump_graph(model.graph)")
    steps = opened.python("len(model.history._before)")
    drop_on_edge(page, "flip_2", "color:data")
    fed = "[model.graph.node(n).inputs['data'].node for n in ('flip_2', 'color')]"
    await_python(opened, "model.graph.node('color').inputs['data'].node", lambda n: n == "flip_2")
    assert opened.python(fed) == ["rotate", "flip_2"]
    assert opened.python("len(model.history._before)") == steps + 1
    expect(undo).to_be_enabled()
    page.keyboard.press("Control+z")
    await_python(opened, "__import__('workbench').dump_graph(model.graph)", lambda g: g == loose)


@pytest.mark.thorough
def test_with_alt_a_card_is_taken_out_of_its_place_and_into_another(opened: Host) -> None:
    page = opened.page
    page.emulate_media(reduced_motion="reduce")
    fed = "{n: model.graph.node(n).inputs['data'].node for n in ('rotate', 'color', 'flip')}"
    before = opened.python(fed)
    assert before["flip"] == "color"
    drag_card(node(page, "resize"), (0, 9))  # from now on all stand where they are put
    places = "{k: list(v) for k, v in model.history.layout.positions.items()}"
    kept = await_python(opened, places, bool)
    drawn = part(page, "canvas").locator(".react-flow__node[data-id=flip]")
    transform = str(drawn.evaluate("el => getComputedStyle(el).transform"))
    drop_on_edge(page, "flip", "color:data")  # joined to others, it is but moved
    moved = await_python(opened, places, lambda found: found != kept)
    assert opened.python(fed) == before
    page.keyboard.press("Control+z")
    await_python(opened, places, lambda found: found == kept)
    expect(drawn).to_have_css("transform", transform)
    page.keyboard.down("Alt")
    drop_on_edge(page, "flip", "color:data")
    page.keyboard.up("Alt")
    await_python(opened, fed, lambda found: found["color"] == "flip")
    assert opened.python(fed) == {**before, "flip": "rotate", "color": "flip"}
    assert opened.python(places)["flip"] == pytest.approx(moved["flip"], abs=3)
    page.keyboard.press("Control+z")
    await_python(opened, places, lambda found: found == kept)
    assert opened.python(fed) == before
