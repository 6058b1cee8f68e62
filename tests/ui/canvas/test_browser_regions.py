"""A region in a real JupyterLab and a real Panel app: opened, edited inside, left again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import PATIENCE, Host, await_picture, await_python, part, small
from workbench.catalog import load_catalog
from workbench.graph.control_flow.regions import wrap_in_region

pytestmark = pytest.mark.browser

BRANCHED, REGION = wrap_in_region(small(), load_catalog(), ["rotate"])
LEAST = 24
"""Pixels of a control's side (WCAG 2.5.8)."""


def card(page: Page, name: str) -> Locator:
    return part(page, "canvas").locator(f"[data-node='{name}']")


def shown(page: Page, scope: str) -> Locator:
    return part(page, "canvas").locator(f"[data-wb=scope][data-scope='{scope}']")


@pytest.mark.thorough
def test_a_region_is_opened_edited_inside_and_left(host: Host, photos: Path) -> None:
    host.open(photos, BRANCHED)
    page = host.page
    await_picture(page)
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
    expect(card(page, "rotate_2")).to_contain_text("nothing feeds it")
    region = part(page, "inspector").locator("[data-wb=region]")
    expect(region).to_contain_text("0.5 yes, from chance")


@pytest.mark.thorough
def test_a_region_is_made_and_left_by_keyboard(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
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


def test_one_of_several_is_made_and_weighed_by_keyboard(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
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
    slider = inspector.get_by_role("spinbutton", name="probability of branch, number")
    slider.fill("0.8")
    slider.press("Enter")
    await_python(host, "model.graph.node('chance').args['probability']", lambda found: found == 0.8)


@pytest.mark.thorough
def test_undo_in_the_field_of_p_is_the_text_s_first_and_then_the_graph_s(
    host: Host, photos: Path
) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
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
    host.open(photos, small())
    page = host.page
    await_picture(page)
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
    expect(card(page, "some_of")).to_contain_text("in any order", timeout=PATIENCE)
    card(page, "flip").click()
    page.keyboard.press("r")
    expect(card(page, "repeat")).to_contain_text("repeat 2 times", timeout=PATIENCE)
