"""The canvas in a real JupyterLab and Panel app: what is refused, copied, said, found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.canvas_page import EMPTY, drawn, held, inspected, node
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
from workbench.graph import Graph, dump_graph, load_graph, load_recipe

pytestmark = pytest.mark.browser

JITTER = load_recipe("rotate-jitter")


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
        host.open(photos, small())  # its code goes first, and what was kept is offered
        part(page, "bar").locator("[data-wb=apply-kept]").click(timeout=PATIENCE)
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
