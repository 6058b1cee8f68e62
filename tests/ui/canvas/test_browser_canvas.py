"""The canvas in both hosts: refusals, copies, names, muting, the history, frames and notes."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.app.test_browser_accessibility import serious_faults
from tests.ui.canvas_page import EMPTY, drawn, held, inspected, node
from tests.ui.hosts import (
    PATIENCE,
    Host,
    LabHost,
    PanelHost,
    await_cards,
    await_picture,
    await_python,
    drag,
    drag_card,
    open_page,
    part,
    point,
    small,
)
from workbench.graph import Graph, dump_graph, load_graph, load_recipe

pytestmark = pytest.mark.browser


# The canvas in a real JupyterLab and Panel app: what is refused, copied, said, found again.

JITTER = load_recipe("rotate-jitter")


def refused(page: Page, source: str, target: str) -> str:
    """Drag an edge to a port that does not take it, and read the reason on the way."""
    canvas = part(page, "canvas")
    page.mouse.move(*point(canvas.locator(f"[data-port='{source}']")))
    page.mouse.down()
    page.mouse.move(*point(canvas.locator(f"[data-port='{target}']")), steps=10)
    bubble = canvas.locator("[data-wb=refusal]")
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
    assert "'data' accepts images, but reader.labels outputs labels" in refused(
        page, "reader:out:labels", "resize:in:data"
    )
    assert "wait for each other" in refused(page, "flip:out:output", "rotate:in:data")
    assert "connected to rotate.output" in refused(page, "resize:out:output", "color:in:data")
    assert "'data' accepts encoded data" in refused(page, "reader:out:labels", "decode:in:data")
    assert held(host) == before

    # An operator that does not fit, greyed with its reason.
    node(page, "rotate").click()
    page.keyboard.press("/")
    page.keyboard.type("readers.coco")
    option = part(page, "canvas").locator("[role=option][data-op='readers.coco']")
    expect(option).to_have_attribute("aria-disabled", "true")
    assert len(option.locator("small").inner_text()) > 10
    page.keyboard.press("Escape")

    # A missing edge, reported at its node and in the list, with a one-click fix.
    node(page, "resize").click()
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    host.python("model.act('canvas', {'do': 'disconnect', 'edges': ['rotate:data']})")
    expect(node(page, "rotate")).to_have_attribute("data-fault", "true")
    status = part(page, "bar").locator("[data-wb=status]")
    expect(status).to_have_text("1 fault")
    status.click()
    fault = part(page, "bar").locator("[data-wb=fault]")
    expect(fault).to_contain_text("rotate.data: it is not connected")
    part(page, "bar").locator("[data-wb=fix]").first.click()
    expect(status).to_contain_text("ready", timeout=PATIENCE)
    assert not host.python("list(model.state.checked.faults)")


@pytest.mark.thorough
def test_a_reload_finds_the_graph_again(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    node(page, "rotate").click()
    page.keyboard.press("/")
    page.keyboard.type("gaussian_blur")
    page.keyboard.press("Enter")
    inspected(page, "gaussian_blur")
    graph = held(host)
    if isinstance(host, LabHost):
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        host.server.end_kernels()
        host.open(photos, small())  # its code goes first, and what was kept is offered
        part(page, "bar").locator("[data-wb=apply-kept]").click(timeout=PATIENCE)
    else:
        page.reload()
    expect(node(page, "gaussian_blur")).to_be_visible(timeout=PATIENCE)
    assert held(host) == graph
    assert host.python("model.history.can_undo")


@pytest.mark.thorough
def test_nodes_are_pasted_into_a_second_notebook(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
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
    page = open_page(panel, photos, small())
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    said = part(page, "canvas").locator("[data-wb=said]")
    node(page, "rotate").click()
    inspected(page, "rotate")
    with panel.sessions[-1].model.lock:  # the host is busy: the selection is not answered
        node(page, "color").click()
        page.keyboard.press("Control+c")
        expect(said).to_contain_text("the selection is still loading")
    expect(said).to_have_text("color copied")
    text = page.evaluate("() => navigator.clipboard.readText()")
    assert "color_twist" in [node.op for node in load_graph(text).nodes]


@pytest.mark.thorough
def test_words_do_not_outlive_what_they_tell_of(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
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
    for name in ("crop_1", "jitter_1", "gray_1", "blur_1"):
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
    page = open_page(host, photos, small())
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    before = held(host)
    for text in ('"); import os', "\U0001f600" * 100, "x" * 10_000, dump_graph(Graph())):
        page.evaluate("text => navigator.clipboard.writeText(text)", text)
        node(page, "rotate").click()
        page.keyboard.press("Control+v")
        expect(part(page, "bar").locator("[data-wb=message]")).not_to_be_empty()
        assert held(host) == before


@pytest.mark.thorough
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


# Muting, the history, frames and notes, in a real browser.


@pytest.fixture
def opened(host: Host, photos: Path) -> Host:
    open_page(host, photos, small())
    return host


def test_a_click_selects_the_node_that_a_new_view_moves_from_under_it(opened: Host) -> None:
    page, resize = opened.page, node(opened.page, "resize")
    node(page, "rotate").click()
    inspected(page, "rotate")
    x, y = point(resize, down=0.9)
    page.mouse.move(x, y)
    page.mouse.down()
    page.set_viewport_size({"width": 1280, "height": 500})  # the graph is fitted again
    while point(resize, down=1)[1] > y:
        page.evaluate("() => new Promise(requestAnimationFrame)")
    page.mouse.up()
    inspected(page, "resize")


def test_a_name_is_made_one_as_it_is_typed_and_stays_until_it_is_one(opened: Host) -> None:
    page = opened.page
    node(page, "rotate").click()
    page.keyboard.press("F2")
    field = part(page, "canvas").locator("[data-wb=rename]")
    expect(field).to_be_focused()
    page.keyboard.type("2 my turn")
    page.keyboard.press("Enter")
    expect(field).to_have_value("2_my_turn")
    page.keyboard.press("Home")
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")
    expect(node(page, "_my_turn")).to_be_visible()
    await_python(opened, "model.graph.has('_my_turn')", bool)


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
        "Undo: remove group Geometry"
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
    expect(entry).to_have_text(["Add an operator here", "RemoveDelete"])
    entry.last.click()
    await_python(opened, "'data' in model.graph.node('flip').inputs", lambda fed: not fed)
    page.keyboard.press("Control+z")
    await_python(opened, "'data' in model.graph.node('flip').inputs", bool)
    canvas.locator(".react-flow__pane").click(button="right", position={"x": 6, "y": 300})
    entry.filter(has_text="Add a note here").click()
    expect(canvas.locator("[data-wb=note-text]")).to_be_focused()


@pytest.mark.thorough
def test_selected_nodes_are_aligned_and_laid_out_automatically_again(opened: Host) -> None:
    page, canvas = opened.page, part(opened.page, "canvas")
    canvas.locator(".wb-canvas-box").focus()
    page.keyboard.press("Control+a")
    undo = part(page, "bar").locator("[data-wb=undo]")
    canvas.locator("[data-wb=align]").click()
    canvas.locator("[data-wb=choice][data-op=top]").click()
    places = "{k: v[1] for k, v in model.history.layout.positions.items()}"
    top = await_python(opened, places, bool)
    assert len({top[name] for name in ("reader", "decode", "resize", "rotate", "flip")}) == 1
    expect(undo).to_have_accessible_name("Undo: align top")
    assert serious_faults(page, "canvas") == []
    page.keyboard.press("a")
    canvas.locator("[data-wb=choice][data-op=automatic]").click()
    await_python(opened, places, lambda found: not found)
    expect(undo).to_have_accessible_name("Undo: automatic layout")
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
    left, top = point(canvas.locator(".wb-canvas-box"), 0, 0)
    page.mouse.dblclick(left + 20, top + 80)
    expect(search).to_be_focused()
    expect(canvas.locator(".wb-search-head small")).to_have_text("at the end")
    page.keyboard.press("Escape")

    x, y = point(canvas.locator("[data-port='rotate:out:output']"))
    drag(page, (x, y), (left + 30, y + 15))
    expect(search).to_be_focused()
    expect(canvas.locator(".wb-search-head small")).to_have_text("from rotate.output")
    expect(canvas.locator("[data-op='readers.file']")).to_have_count(0)
    page.keyboard.press("Escape")


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["toolbar", "menu", "key", "search"])
def test_a_branch_starts_at_the_selected_node(opened: Host, by: str) -> None:
    page, canvas = opened.page, part(opened.page, "canvas")
    fed = opened.python("model.graph.node('color').inputs['data']")
    node(page, "rotate").click(button="right" if by == "menu" else "left")
    if by == "toolbar":
        canvas.locator("[data-wb=branch]").click()
    elif by == "menu":
        canvas.locator("[data-wb=context]").filter(has_text="Branch from here").click()
    elif by == "key":
        page.keyboard.press("y")
    else:
        page.keyboard.press("Control+k")
        page.keyboard.type("branch")
        first = canvas.locator("[role=option]").first
        expect(first).to_have_attribute("data-op", "command:branch")
        first.click()
    expect(canvas.locator(".wb-search-head")).to_contain_text("from rotate.output")
    page.keyboard.type("gaussian_blur")
    expect(canvas.locator("[role=option]").first).to_have_attribute("data-op", "gaussian_blur")
    page.keyboard.press("Enter")
    inspected(page, "gaussian_blur")
    source = opened.python("model.graph.node('gaussian_blur').inputs['data'].node")
    assert source == "rotate"
    assert opened.python("model.graph.node('color').inputs['data']") == fed


@pytest.mark.thorough
def test_the_wheel_zooms_in_the_app_and_scrolls_in_a_notebook(opened: Host) -> None:
    page, canvas = opened.page, part(opened.page, "canvas")
    view = canvas.locator(".react-flow__viewport")

    def zoom() -> float:
        return float(view.evaluate("el => new DOMMatrix(getComputedStyle(el).transform).a"))

    left, top = point(canvas.locator(".wb-canvas-box"), 0, 0)
    page.mouse.move(left + 20, top + 60)
    before = zoom()
    page.mouse.wheel(0, 120)
    if "lab" in page.url:
        page.keyboard.down("Control")
        page.mouse.wheel(0, 120)
        page.keyboard.up("Control")
    expect(view).not_to_have_css("transform", f"matrix({before}, 0, 0, {before}, 0, 0)")
    assert zoom() < before


def drop_on_edge(page: Page, name: str, edge: str) -> None:
    """Drag a card so that its centre is on that of an edge."""
    x, y = point(part(page, "canvas").locator(f"[data-wb=plus][data-edge='{edge}']"))
    left, top = point(node(page, name))
    drag_card(node(page, name), (x - left, y - top))


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
