"""The inspector in both hosts: values, effects, policies and functions of the user."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import workbench as wb
from tests.helpers import chain_graph, with_settings
from tests.ui.hosts import (
    PATIENCE,
    Host,
    PanelHost,
    await_picture,
    await_python,
    drag,
    open_page,
    part,
    point,
    preview_control,
    small,
)
from tests.ui.speed.test_browser_speed import TINY, ended, turn_to
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.auto_augment import SUITE
from workbench.graph import Graph, Port, check_graph, dump_graph
from workbench.graph.edits.edit import insert_node, set_arg, set_setting

pytestmark = pytest.mark.browser


# The inspector in a real JupyterLab and a real Panel app.

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


def open_effect(page: Page) -> Locator:
    """The effect sheet, which is open by itself where the inspector has room for it."""
    effect = part(page, "inspector").locator("[data-wb=effect]")
    toggle = effect.locator("[data-wb=effect-open]")
    expect(toggle).to_be_visible()
    if toggle.get_attribute("aria-expanded") != "true":
        toggle.click()
    return effect


SIZES = ((1440, 900), (1280, 720), (1024, 768))


@pytest.mark.thorough
def test_values_are_set_with_a_long_slider_keys_and_the_wheel(host: Host, photos: Path) -> None:
    graph = set_arg(with_ops("rotate"), CATALOG, "rotate_2", "angle", 30)
    page = open_page(host, photos, graph)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        part(page, "canvas").hover()
        part(page, "canvas").locator("[data-wb=fit]").click()  # a narrower canvas hides cards
        for name in ("rotate", "rotate_2"):
            select(page, name)
            for slider in argument(page, "angle").get_by_role("slider").all():
                box = slider.bounding_box()
                assert box is not None
                assert box["width"] >= 160, (width, name)

    number = field(page, "angle")
    number.hover()
    page.mouse.wheel(0, -100)
    expect(number).to_have_value("30")  # without the focus the wheel scrolls
    number.focus()
    page.keyboard.press("ArrowUp")
    expect(number).to_have_value("30.5")
    number.hover()  # the first turn has scrolled the notebook
    page.mouse.wheel(0, 100)
    expect(number).to_have_value("30")
    page.mouse.wheel(0, 100)
    expect(number).to_have_value("29.5")
    await_python(host, "model.graph.node('rotate_2').args['angle']", lambda angle: angle == 29.5)

    argument(page, "angle").locator("[data-wb=dice]").click()
    expect(field(page, "angle", 0)).to_have_value("19.5")
    expect(field(page, "angle", 1)).to_have_value("39.5")
    for end in (0, 1):
        assert field(page, "angle", end).evaluate("el => el.scrollWidth <= el.clientWidth")
    word = argument(page, "angle").locator("[data-wb=distribution]")
    assert word.evaluate("el => el.scrollWidth <= el.clientWidth"), "uniform is not cut"


def test_the_effect_is_open_where_there_is_room(panel: PanelHost, photos: Path) -> None:
    panel.page.set_viewport_size({"width": 1280, "height": 900})
    page = open_page(panel, photos, small())
    select(page, "rotate")
    toggle = part(page, "inspector").locator("[data-wb=effect-open]")
    values = part(page, "inspector").locator("[data-wb=effect-value]")
    expect(toggle).to_have_attribute("aria-expanded", "true")
    below = part(page, "inspector").locator("[data-wb=more]")
    _, before = point(below)
    expect(values).to_have_count(5)
    assert point(below)[1] == pytest.approx(before, abs=1), "pictures that arrive move nothing"
    page.set_viewport_size({"width": 1280, "height": 400})
    select(page, "resize")
    expect(toggle).to_have_attribute("aria-expanded", "false")
    toggle.click()
    select(page, "rotate")
    expect(toggle).to_have_attribute("aria-expanded", "true")


@pytest.mark.thorough
def test_the_dice_remembers_and_a_draw_is_shared(host: Host, photos: Path) -> None:
    graph = with_ops("rotate")
    graph = set_arg(graph, CATALOG, "rotate_2", "angle", 33)
    page = open_page(host, photos, graph)

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
    page = open_page(host, photos, with_ops("erase", "crop"))
    before = of(host, "settings.seed")

    select(page, "erase")
    row, error = argument(page, "shape"), part(page, "inspector").locator("[data-wb=row-error]")
    give(page, "shape", "0.x")
    expect(error).to_contain_text("'0.x' is not a number")
    expect(field(page, "shape")).to_have_value("0.x")
    expect(field(page, "shape")).to_have_attribute("aria-invalid", "true")
    row.locator("[data-wb=reset]").click()
    expect(field(page, "shape")).to_have_value("0.25")

    row = argument(page, "fill_value")
    row.locator("[data-wb=split]").click()
    give(page, "fill_value", "7x", 1)
    expect(error).to_contain_text("'7x' is not a number")
    give(page, "fill_value", "200", 1)
    expect(row.locator("[data-wb=swatch]")).to_have_value("#00c800")
    held = "list(model.graph.node('erase').args['fill_value'])"
    await_python(host, held, lambda value: value == [0, 200, 0])

    select(page, "crop")
    give(page, "crop", "-5", 0)
    expect(field(page, "crop")).to_have_attribute("aria-invalid", "true")
    expect(field(page, "crop", 1)).not_to_have_attribute("aria-invalid", "true")

    preview = part(page, "preview")
    for name, bad in (("seed", "1.5"), ("batch", "1000")):
        field_of = preview_control(page, name)
        field_of.fill(bad)
        field_of.press("Enter")
        expect(preview.locator("[data-wb=refused]")).to_contain_text(f"{bad} is not a valid {name}")
        expect(preview.locator(f"[data-wb={name}]")).to_have_value(bad)
    assert of(host, "settings.seed") == before
    assert host.python("model.state.batch") == 0


@pytest.mark.thorough
def test_keys_move_sliders_and_are_one_step_of_undo(host: Host, photos: Path) -> None:
    page = open_page(host, photos, with_ops("rotate"))
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
    page = open_page(panel, photos, with_ops("rotate"))
    select(page, "rotate_2")
    argument(page, "angle").get_by_role("slider").focus()
    taken: list[Any] = []
    model = panel.sessions[-1].model
    do = model._dispatch  # the page holds `take` already
    model._dispatch = lambda component, edit: (taken.append(edit), do(component, edit))
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
    page = open_page(panel, photos, with_ops("rotate"))
    select(page, "rotate_2")
    before = of(panel, "node('rotate_2')")
    slider = argument(page, "angle").get_by_role("slider")
    taken: list[Any] = []
    model = panel.sessions[-1].model
    do = model._dispatch

    def note(component: str, edit: dict[str, Any]) -> None:
        taken.append(edit.get("value", edit["do"]))
        do(component, edit)

    model._dispatch = note
    with model.lock:  # the host is busy: no step of the drag is answered
        drag(page, point(slider), point(slider, 0.9))
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
    expect(inspector).to_contain_text("does not have this operator")
    kept = argument(page, "x").get_by_role("textbox")
    expect(kept).to_have_value("1, 2")
    expect(kept).not_to_be_editable()
    part(page, "canvas").locator("[data-node=rotate]").first.click(modifiers=["Shift"])
    expect(inspector.locator("[data-wb=many]")).to_contain_text("2 selected")


# The effect sheet in the browser: what is seen, and what a click on a picture adopts.


@pytest.mark.thorough
def test_a_click_adopts_a_value(host: Host, photos: Path) -> None:
    page = open_page(host, photos, set_arg(small(), load_catalog(), "color", "saturation", 1.0))
    part(page, "canvas").locator("[data-node=color]").click()
    inspector = part(page, "inspector")
    open_effect(page)
    inspector.get_by_label("First argument to vary", exact=True).select_option("saturation")
    values = inspector.locator("[data-wb=effect-value]")
    present = inspector.locator("[data-wb=effect-value][aria-current]")
    expect(present).to_have_attribute("aria-label", "saturation 1: apply", timeout=PATIENCE)
    expect(values).to_have_count(5)
    present.focus()
    page.keyboard.press("ArrowRight")
    expect(values.nth(2)).to_be_focused()
    name = values.nth(4).get_attribute("aria-label") or ""
    values.nth(4).click()
    expect(present).to_have_attribute("aria-label", name)
    value = float(name.removeprefix("saturation ").removesuffix(": apply"))
    await_python(host, "model.graph.node('color').args['saturation']", lambda v: v == value)

    inspector.get_by_label("Second argument to vary").select_option("contrast")
    axes = inspector.locator("[data-wb=effect-axis]")
    expect(axes).to_have_count(8, timeout=PATIENCE)
    expect(axes.first).to_have_attribute("data-tip", "saturation")
    expect(axes.last).to_have_attribute("data-tip", "contrast")
    first = values.first.get_attribute("aria-label") or ""
    assert (
        first == f"saturation {axes.first.inner_text()}, contrast {axes.nth(4).inner_text()}: apply"
    )


# Automatic augmentation in a real JupyterLab and a real Panel app, by keyboard.

AUGMENTATION = "|".join(SUITE)
_READ = """el => {
  const texts = [...el.querySelectorAll(":scope > span")];
  const shown = texts.filter((text) => !("cut" in text.dataset));
  const box = el.getBoundingClientRect();
  const more = el.querySelector("[data-wb=fired-more]")?.getBoundingClientRect();
  const inside = shown.every((text) => {
    const { right, bottom } = text.getBoundingClientRect();
    const covered = more && bottom > more.top + 1 && right > more.left;
    return right <= box.right + 1 && bottom <= box.bottom + 1 && !covered;
  });
  return { shown: shown.length, cut: texts.length - shown.length, inside };
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("wide", [1600, 1100])
def test_captions_of_many_augmentations_are_read_whole_or_counted(
    host: Host, photos: Path, wide: int
) -> None:
    host.page.set_viewport_size({"width": wide, "height": 900})
    host.open(photos, small("augmix"))
    await_picture(host.page)
    tiles = part(host.page, "preview").locator("[data-wb=tile]")
    expect(tiles.locator("[data-wb=fired]")).to_have_count(4, timeout=PATIENCE)
    told = host.python("[[*t.applied, *t.branches] for t in model.state.preview.tiles]")
    for tile, texts in zip(tiles.all(), told, strict=True):
        caption = tile.locator("[data-wb=fired]")
        read = caption.evaluate(_READ)
        assert read["shown"] + read["cut"] == len(texts)
        assert read["shown"] >= 3
        assert read["inside"], "none is cut in two, and the count covers none"
        more = [] if not read["cut"] else [f"+{read['cut']} more"]
        expect(caption.locator("[data-wb=fired-more]")).to_have_text(more)
        name = tile.locator("button").first.get_attribute("aria-label") or ""
        for text in texts:
            assert text.replace(".", ": ") in name or text in name


@pytest.mark.thorough
def test_a_policy_is_found_set_and_told_under_the_tiles(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    canvas = part(page, "canvas")
    canvas.locator("[data-node='rotate']").click()
    page.keyboard.press("/")
    page.keyboard.type("RandAugment")
    page.keyboard.press("Enter")
    card = canvas.locator("[data-node='rand_augment']")
    expect(card).to_be_visible(timeout=PATIENCE)
    magnitude = part(page, "inspector").locator("[data-arg=m]").get_by_role("spinbutton")
    magnitude.fill("30")
    magnitude.press("Enter")
    await_python(host, "model.graph.node('rand_augment').args['m']", lambda found: found == 30)
    tile = part(page, "preview").locator("[data-wb=tile] button").first
    caption = part(page, "preview").locator("[data-wb=tile] [data-wb=fired]").first
    expect(caption).to_have_text(re.compile(AUGMENTATION), timeout=PATIENCE)
    expect(tile).to_have_accessible_name(re.compile(rf"rand_augment ({AUGMENTATION})"))
    magnitude.fill("31")
    magnitude.press("Enter")
    expect(canvas.locator("[data-node='rand_augment']")).to_contain_text(
        "there are 31 bins", timeout=PATIENCE
    )


# The editor of a policy of one's own, in both hosts, by keys; its pictures follow.

GRAPH = with_settings(
    chain_graph("resize", "auto_augment", resize={"size": (96.0, 96.0)}),
    batch_size=4, num_threads=2, seed=7,
)  # fmt: skip
POLICY = (
    "[[list(each) for each in sub] "
    "for sub in model.graph.node('auto_augment').args.get('policy', ())]"
)


@pytest.mark.thorough
def test_sub_policies_are_edited_by_keys_and_pictured(host: Host, photos: Path) -> None:
    page = open_page(host, photos, GRAPH)
    part(page, "canvas").locator("[data-node=auto_augment]").click()
    inspector = part(page, "inspector")
    press(inspector.locator("[data-wb=own-policy]"), "Enter")
    rows = inspector.locator("[data-wb=sub-policy]")
    expect(rows).to_have_count(25)
    first = rows.first.locator("[data-wb=policy-picture]")
    expect(first).to_have_attribute("data-pictured", "true", timeout=PATIENCE)
    assert len(host.python("model.state.policy_rows")) < 25, "those on the screen alone"

    press(inspector.locator("[data-wb=row-down]").first, "Enter")
    moved = await_python(
        host, POLICY, lambda p: len(p) > 1 and p[1][0][0] == "equalize" and len(p) == 25
    )
    expect(rows.nth(1).locator("[data-wb=row-down]")).to_be_focused()
    expect(rows.nth(1).locator("[data-wb=policy-picture]")).to_have_attribute(
        "data-pictured", "true", timeout=PATIENCE
    )
    page.keyboard.press("Tab")  # from "down" to "duplicate"
    page.keyboard.press("Enter")
    await_python(host, POLICY, lambda p: len(p) == 26 and p[1] == p[2] == moved[1])
    press(rows.nth(2).locator("[data-wb=row-remove]"), "Enter")
    await_python(host, POLICY, lambda p: p == moved)

    operation = rows.first.locator("[data-operation='0']")
    steps = host.python("len(model.history.before)")
    operation.locator("[data-wb=policy-magnitude]").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    await_python(host, POLICY, lambda p: p[0][0][2] == moved[0][0][2] - 3)
    assert host.python("len(model.history.before)") == steps + 1, "one step of undo"
    operation.locator("[data-wb=policy-name]").select_option("invert")
    await_python(host, POLICY, lambda p: p[0][0] == ["invert", moved[0][0][1]])
    expect(operation.locator("[data-wb=policy-magnitude]")).to_be_hidden()
    expect(first).to_have_attribute("data-pictured", "true", timeout=PATIENCE)

    press(rows.first.locator("[data-wb=policy-add-operation]"), "Enter")
    await_python(host, POLICY, lambda p: p[0][-1] == ["equalize", 0.5])
    press(rows.first.locator("[data-wb=operation-up]").last, "Enter")
    await_python(host, POLICY, lambda p: p[0][-2] == ["equalize", 0.5])
    field = operation.locator("[data-wb=policy-probability]")
    field.fill("2")
    field.press("Enter")
    expect(inspector.locator("[data-wb=node-error]")).to_contain_text(
        "sub-policy 1, operation 1: the probability of invert is 2", timeout=PATIENCE
    )
    inspector.locator("[data-wb=policy-learnt]").select_option("svhn")
    await_python(host, POLICY, lambda p: p[0][0] == ["shear_x", 0.9, 4])
    press(inspector.locator("[data-wb=policy-add]"), "Enter")
    await_python(host, POLICY, lambda p: len(p) == 26 and p[25][0][0] == "rotate")
    expect(rows.nth(25).locator("[data-wb=policy-name]")).to_be_focused()


def press(button: Locator, key: str) -> None:
    button.focus()
    button.press(key)


# A function of the user in both hosts: that it is not exact, and what it costs.


@wb.node(layouts="HWC")
def shaken(image: Any) -> Any:
    import numpy as np

    noise = np.random.default_rng().integers(0, 20, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


@pytest.mark.thorough
def test_its_card_and_its_inspector_say_that_it_is_not_exact(host: Host, photos: Path) -> None:
    host.open(photos, shaken.after(set_setting(small(), num_threads=1), "resize"))
    page = host.page
    card = part(page, "canvas").locator("[data-node=shaken]")
    trusted = isinstance(host, PanelHost)  # its process made the function
    words = "differs between calls" if trusted else "is not trusted"
    expect(card).to_contain_text(words, timeout=PATIENCE)
    card.click()
    inspector = part(page, "inspector")
    expect(inspector.locator("[data-wb=caution]")).to_contain_text(
        "line 4: noise = np.random.default_rng()"
    )
    expect(inspector).to_contain_text("Let DALI sample")
    expect(inspector.locator("[data-wb=device]")).not_to_contain_text("follows its input")
    if not trusted:
        return
    await_picture(page)
    host.python(TINY)
    part(page, "tabs").get_by_role("tab", name="Speed").click()
    speed = part(page, "speed")
    stages = turn_to(speed, "Where the time goes", "stages")
    stages.locator("[data-wb=measure]").click()
    expect(stages.locator("[data-wb=functions]")).to_contain_text(
        re.compile(r"shaken \(your function shaken\).* imgs/s with it, [\w ,]+ without"),
        timeout=4 * PATIENCE,
    )
    ended(speed)


@pytest.mark.thorough
def test_what_was_drawn_before_untrusted_code_came_is_not_told_of_it(
    host: Host, photos: Path
) -> None:
    foreign = dump_graph(shaken.after(small(), "resize")).replace(", 0, 255)", ", 0, 254)")
    assert "254" in foreign
    page = open_page(host, photos, small("rand-augment"))
    preview = part(page, "preview")
    fired = preview.locator("[data-wb=tile] [data-wb=fired]")
    expect(fired).to_have_count(4)
    expect(fired.first).to_be_visible()
    bar = part(page, "bar")
    bar.locator("[data-wb=open]").click()
    bar.locator("[data-wb=open-text]").fill(foreign)
    bar.locator("[data-wb=open-now]").click()
    expect(preview.locator("[data-wb=stale]")).to_contain_text("is not trusted", timeout=PATIENCE)
    for caption in fired.all():
        expect(caption).to_be_hidden()
    frame = preview.locator("[data-wb=tile] button").first
    expect(frame).not_to_have_accessible_name(re.compile("rand_augment"))
    status = part(page, "status")
    status.locator("[data-wb=status-faults]").click()
    status.get_by_role("button", name="Mute shaken").click()
    expect(preview.locator("[data-wb=stale]")).to_be_hidden(timeout=PATIENCE)
    assert host.python("model.graph.node('shaken').args['source']")
