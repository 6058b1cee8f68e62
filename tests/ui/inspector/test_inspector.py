"""The inspector in a real JupyterLab and a real Panel app."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import Host, await_picture, await_python, part, preview_control, small
from workbench.catalog import load_catalog
from workbench.graph import Graph, Port, check_graph
from workbench.graph.edits.edit import insert_node, set_arg

pytestmark = pytest.mark.browser
CATALOG = load_catalog()


def argument(page: Page, name: str) -> Locator:
    return part(page, "inspector").locator(f"[data-arg={name}]")


def field(page: Page, name: str, number: int = 0) -> Locator:
    return argument(page, name).get_by_role("spinbutton").nth(number)


def give(page: Page, name: str, value: str, number: int = 0) -> None:
    field(page, name, number).fill(value)
    field(page, name, number).press("Enter")


def select(page: Page, node: str) -> None:
    part(page, "canvas").locator(f"[data-node={node}]").first.click()
    expect(part(page, "inspector")).to_have_attribute("data-node", node)


def with_ops(*ops: str) -> Graph:
    graph = small()
    for op in ops:
        graph, _ = insert_node(graph, CATALOG, op, "flip")
    assert check_graph(graph, CATALOG) == ()
    return graph


def of(host: Host, expression: str) -> Any:
    return host.python(f"model.graph.{expression}")


@pytest.mark.thorough
def test_the_dice_remembers_and_a_draw_is_shared(host: Host, photos: Path) -> None:
    graph = with_ops("rotate")
    graph = set_arg(graph, CATALOG, "rotate_2", "angle", 33)
    host.open(photos, graph)
    page = host.page
    await_picture(page)

    select(page, "rotate_2")
    row = argument(page, "angle")
    dice, source = row.locator("[data-wb=dice]"), row.locator("[data-wb=source]")
    dice.click()
    expect(row.get_by_role("slider")).to_have_count(2)
    give(page, "angle", "-25")
    give(page, "angle", "77", 1)
    dice.click()
    expect(field(page, "angle")).to_have_value("33")
    dice.click()
    expect(field(page, "angle", 1)).to_have_value("77")
    source.select_option("random.normal")
    expect(field(page, "angle")).to_have_value("26")
    source.select_option("random.uniform")
    expect(field(page, "angle")).to_have_value("-25")
    own = of(host, "node('rotate_2').inputs['angle'].node")
    assert list(of(host, f"node({own!r}).args['range']")) == [-25, 77]

    # Two nodes on one generator: what is changed at one is changed at both.
    source.select_option("link:angle.output")
    note = row.locator("[data-wb=note]")
    expect(note).to_contain_text("shared with rotate.angle")
    assert not of(host, f"has({own!r})")
    give(page, "angle", "3", 1)
    select(page, "rotate")
    expect(note).to_contain_text("shared with rotate_2.angle")
    expect(field(page, "angle", 1)).to_have_value("3")
    row.locator("[data-wb=own]").click()
    expect(note).to_be_empty()
    give(page, "angle", "4", 1)
    select(page, "rotate_2")
    expect(field(page, "angle", 1)).to_have_value("3")


@pytest.mark.thorough
def test_what_is_typed_stays_with_the_reason(host: Host, photos: Path) -> None:
    host.open(photos, with_ops("erase"))
    page = host.page
    await_picture(page)
    before = of(host, "settings.seed")

    select(page, "erase")
    row = argument(page, "shape")
    give(page, "shape", "0.x")
    expect(row).to_contain_text("'0.x' is not a number")
    expect(field(page, "shape")).to_have_value("0.x")
    expect(field(page, "shape")).to_have_attribute("aria-invalid", "true")
    row.locator("[data-wb=reset]").click()
    expect(field(page, "shape")).to_have_value("0.25")

    row = argument(page, "fill_value")
    row.locator("[data-wb=split]").click()
    give(page, "fill_value", "7x", 1)
    expect(row).to_contain_text("'7x' is not a number")
    give(page, "fill_value", "200", 1)
    expect(row.locator("[data-wb=swatch]")).to_have_value("#00c800")
    held = "list(model.graph.node('erase').args['fill_value'])"
    await_python(host, held, lambda value: value == [0, 200, 0])

    preview = part(page, "preview")
    for name, bad in (("seed", "1.5"), ("batch", "1000")):
        field_of = preview_control(page, name)
        field_of.fill(bad)
        field_of.press("Enter")
        expect(preview.locator("[data-wb=refused]")).to_contain_text(f"{bad} is no {name}")
        expect(preview.locator(f"[data-wb={name}]")).to_have_value(bad)
    assert of(host, "settings.seed") == before
    assert host.python("model.state.batch") == 0


@pytest.mark.thorough
def test_keys_move_sliders_and_are_one_step_of_undo(host: Host, photos: Path) -> None:
    host.open(photos, with_ops("rotate"))
    page = host.page
    await_picture(page)
    select(page, "rotate_2")
    expect(field(page, "angle")).to_have_value("15")
    argument(page, "angle").get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(field(page, "angle")).to_have_value("20.5")
    page.keyboard.press("Control+z")
    expect(field(page, "angle")).to_have_value("15")
    assert not host.python("model.history.can_undo")
    field(page, "angle").focus()
    page.keyboard.press("Shift+ArrowUp")
    expect(argument(page, "angle").get_by_role("slider")).to_have_value("20")
    page.keyboard.press("Tab")
    expect(argument(page, "angle").locator("[data-wb=dice]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(argument(page, "angle").locator("[data-wb=distribution]")).to_have_value(
        "random.uniform"
    )


@pytest.mark.thorough
def test_a_burst_of_keys_does_not_queue_behind_a_busy_host(panel: Any, photos: Path) -> None:
    panel.open(photos, with_ops("rotate"))
    page = panel.page
    await_picture(page)
    select(page, "rotate_2")
    argument(page, "angle").get_by_role("slider").focus()
    taken: list[Any] = []
    model = panel.sessions[-1].model
    do = model._do  # the page holds `take` already
    model._do = lambda component, edit: (taken.append(edit), do(component, edit))
    keys = 60
    with model.lock:  # the host is busy with something else
        for _ in range(keys):
            page.keyboard.press("ArrowRight")
    angle = float(field(page, "angle").input_value())
    assert angle == 15 + keys * 0.5
    await_python(panel, "model.graph.node('rotate_2').args['angle']", lambda now: now == angle)
    assert 0 < len(taken) < keys / 2
    assert taken[-1]["value"] == angle


@pytest.mark.thorough
def test_what_follows_a_drag_elsewhere_comes_after_its_last_value(panel: Any, photos: Path) -> None:
    panel.open(photos, with_ops("rotate"))
    page = panel.page
    await_picture(page)
    select(page, "rotate_2")
    before = of(panel, "node('rotate_2')")
    slider = argument(page, "angle").get_by_role("slider")
    box = slider.bounding_box()
    assert box
    taken: list[Any] = []
    model = panel.sessions[-1].model
    do = model._do

    def note(component: str, edit: dict[str, Any]) -> None:
        taken.append(edit.get("value", edit["do"]))
        do(component, edit)

    model._do = note
    with model.lock:  # the host is busy: no step of the drag is answered
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2, steps=8)
        page.mouse.up()
        last = float(slider.input_value())
        part(page, "canvas").locator("[data-node=flip]").first.click()
        page.keyboard.press("Control+z")
    await_python(panel, "None", lambda _: last in taken and "undo" in taken)
    assert taken[-1] == "undo"
    await_python(panel, "model.graph.node('rotate_2')", lambda now: now == before)


@pytest.mark.thorough
def test_an_operator_that_dali_lacks_is_shown_and_several_selected_are_counted(
    panel: Any, photos: Path
) -> None:
    graph = small()
    odd = dataclasses.replace(graph.node("flip"), id="odd", op="sharpen_2099", args={"x": (1, 2)})
    odd = dataclasses.replace(odd, inputs={"data": Port("flip", "output")})
    panel.open(photos, dataclasses.replace(graph, nodes=(*graph.nodes, odd)))
    page = panel.page
    select(page, "odd")
    inspector = part(page, "inspector")
    expect(inspector).to_contain_text("no such operator")
    kept = argument(page, "x").get_by_role("textbox")
    expect(kept).to_have_value("1, 2")
    expect(kept).not_to_be_editable()
    part(page, "canvas").locator("[data-node=rotate]").first.click(modifiers=["Shift"])
    expect(inspector.locator("[data-wb=many]")).to_contain_text("2 selected")
