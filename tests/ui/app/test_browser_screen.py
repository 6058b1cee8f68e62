"""The arrangement: the node, its value and its images are visible together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import (
    PATIENCE,
    Host,
    PanelHost,
    await_cards,
    await_picture,
    await_python,
    drag,
    open_page,
    part,
    point,
    small,
)
from tests.ui.preview_page import fixed

pytestmark = pytest.mark.browser

Box = tuple[float, float, float, float]


def box(found: Locator) -> Box:
    """Left, top, right and bottom on the page."""
    at = found.bounding_box()
    assert at is not None
    return at["x"], at["y"], at["x"] + at["width"], at["y"] + at["height"]


def width(found: Locator) -> float:
    left, _, right, _ = box(found)
    return right - left


def is_within(inner: Box, outer: Box) -> bool:
    return (
        inner[0] >= outer[0] and inner[1] >= outer[1]
        and inner[2] <= outer[2] and inner[3] <= outer[3]
    )  # fmt: skip


def in_sight(page: Page, found: Locator) -> bool:
    size = page.viewport_size
    assert size is not None
    return is_within(box(found), (0, 0, size["width"], size["height"]))


def pane(page: Page, name: str) -> Locator:
    return page.locator(f".wb-pane-{name}")


@pytest.mark.thorough
def test_card_slider_and_pictures_are_in_sight_while_a_value_is_moved(
    host: Host, photos: Path
) -> None:
    host.page.set_viewport_size({"width": 1280, "height": 720})
    page = open_page(host, photos, fixed(1.0))
    page.locator(".wb-screen").scroll_into_view_if_needed()
    screen = page.locator(".wb-screen")
    expect(screen).to_have_attribute(
        "data-form", "wide" if isinstance(host, PanelHost) else "medium"
    )
    card = part(page, "canvas").locator("[data-node=color]")
    card.click()
    slider = part(page, "inspector").locator("[data-arg=brightness]").get_by_role("slider")
    before = part(page, "preview").get_attribute("data-sheet")
    expect(slider).to_be_in_viewport(ratio=0.9)
    slider.hover()  # once it stands still: a place that is measured before may be another's by now
    left, top, right, bottom = box(slider)
    page.mouse.down()
    page.mouse.move((left + right) / 2 + 20, (top + bottom) / 2, steps=4)
    expect(part(page, "preview")).not_to_have_attribute("data-sheet", str(before), timeout=PATIENCE)
    assert in_sight(page, card)
    assert in_sight(page, slider)
    buttons = box(part(page, "canvas").locator(".wb-canvas-hint"))
    assert box(card)[3] <= buttons[1], "the buttons do not stand on the card"
    tiles = part(page, "preview").locator("[data-wb=tile] button:first-child")
    seen = [in_sight(page, tile) for tile in tiles.all()]
    assert sum(seen) >= 4
    page.mouse.up()
    await_python(host, "model._done is model._asked", bool)


@pytest.mark.thorough
def test_edges_are_dragged_kept_and_reset(panel: PanelHost, photos: Path) -> None:
    panel.page.set_viewport_size({"width": 1440, "height": 900})
    page = open_page(panel, photos, small())
    canvas, edge = pane(page, "canvas"), page.locator("[data-wb=canvas-edge]")
    usual = width(canvas)
    x, y = point(edge)
    drag(page, (x, y), (x + 100, y))
    assert abs(width(canvas) - usual - 100) < 2
    page.reload()
    await_picture(page)
    assert abs(width(canvas) - usual - 100) < 2
    edge.focus()
    page.keyboard.press("ArrowLeft")
    assert abs(width(canvas) - usual - 84) < 2
    edge.dblclick()
    assert abs(width(canvas) - usual) < 2

    # A pane cannot push the others off the screen.
    for _ in range(100):
        page.keyboard.press("ArrowRight")
    assert in_sight(page, pane(page, "inspector"))
    assert width(pane(page, "panels")) >= 160

    # Nor does a width that a larger window kept, one after the other for every form.
    for size in (1000, 800):
        page.set_viewport_size({"width": size, "height": 900})
        page.reload()
        await_picture(page)
        for each in ("canvas", "inspector", "panels"):
            assert in_sight(page, pane(page, each))
            assert width(pane(page, each)) >= 159
    edge.dblclick()


@pytest.mark.thorough
def test_a_key_gives_one_pane_the_whole_screen_and_back(panel: PanelHost, photos: Path) -> None:
    page = open_page(panel, photos, small())
    part(page, "canvas").locator("[data-node=rotate]").click()
    page.keyboard.press("f")
    expect(pane(page, "panels")).to_be_hidden()
    assert width(pane(page, "canvas")) > 1200
    page.keyboard.press("f")
    expect(pane(page, "panels")).to_be_visible()
    part(page, "tabs").get_by_role("tab", name="Preview").focus()
    page.keyboard.press("f")
    expect(pane(page, "canvas")).to_be_hidden()
    expect(pane(page, "inspector")).to_be_hidden()
    page.keyboard.press("f")
    expect(pane(page, "canvas")).to_be_visible()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "size",
    [(800, 700), (640, 360), (390, 800)],
)
def test_a_narrow_window_keeps_the_pictures_in_sight(
    size: tuple[int, int], panel: PanelHost, photos: Path
) -> None:
    panel.page.set_viewport_size({"width": size[0], "height": size[1]})
    page = open_page(panel, photos, small())
    screen = page.locator(".wb-screen")
    expect(screen).to_have_attribute("data-form", "narrow" if size[0] < 640 else "medium")
    slider = part(page, "inspector").locator("[data-arg=angle]").get_by_role("slider").first
    if size[0] >= 640:
        part(page, "canvas").locator("[data-node=rotate]").click()
    slider.scroll_into_view_if_needed()
    assert in_sight(page, slider)
    top = box(pane(page, "panels"))[1]
    assert 0 <= top < size[1] / 2
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


PLACES = """() => {
  const found = {};
  const walk = (root) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.shadowRoot) walk(el.shadowRoot);
      const near = el.closest(".wb-notice, .wb-pop, .wb-canvas");
      if (near || !el.matches("button, input, select, canvas, [data-arg]")) continue;
      const { x, y, width, height } = el.getBoundingClientRect();
      const name = el.dataset.wb ?? el.dataset.arg ?? el.ariaLabel ?? el.textContent.slice(0, 30);
      if (width && height) (found[name] ??= []).push([Math.round(x), Math.round(y)]);
    }
  };
  walk(document);
  return found;
}"""


@pytest.mark.thorough
def test_a_message_moves_nothing(panel: PanelHost, photos: Path) -> None:
    panel.page.set_viewport_size({"width": 1280, "height": 720})
    page = open_page(panel, photos, small())
    part(page, "canvas").locator("[data-node=rotate]").click()
    inspector, bar, preview = part(page, "inspector"), part(page, "bar"), part(page, "preview")
    expect(inspector.locator("[data-wb=effect-value]")).to_have_count(5)
    before = page.evaluate(PLACES)

    def unmoved() -> None:
        """Controls that were there are where they were; others may have come."""
        after = page.evaluate(PLACES)
        moved = {
            name: (places, after[name])
            for name, places in before.items()
            if len(after.get(name, ())) == len(places) and after[name] != places
        }
        assert not moved

    bar.locator("[data-wb=open]").click()
    bar.locator("[data-wb=open-text]").fill("no graph")
    bar.locator("[data-wb=open-now]").click()
    expect(bar.locator("[data-wb=long-message]")).to_contain_text("The text is not valid JSON")
    unmoved()
    bar.get_by_role("button", name="Close the message").click()
    expect(bar.locator("[data-wb=long-message]")).to_be_hidden()
    bar.locator("[data-wb=open]").click()
    bar.locator("[data-wb=open-now]").click()  # what was pasted is kept, and the same is said
    expect(bar.locator("[data-wb=long-message]")).to_contain_text("The text is not valid JSON")
    bar.get_by_role("button", name="Close the message").click()

    batch = preview.locator("[data-wb=batch]")
    batch.fill("1.5")
    batch.press("Enter")
    expect(preview.locator("[data-wb=refused]")).to_be_visible()
    unmoved()

    angle, fill = (inspector.locator(f"[data-arg={name}]") for name in ("angle", "fill_value"))
    field, error = angle.locator("input.wb-val").first, inspector.locator("[data-wb=row-error]")
    field.fill("ten")
    field.press("Enter")
    expect(error).to_contain_text("'ten' is not a number")
    expect(field).to_have_attribute("aria-description", re.compile("'ten' is not a number"))
    for row in inspector.locator("[data-arg]:visible").all():
        row.locator(".wb-arg-name").hover()
        top, bottom = box(error)[1], box(error)[3]
        assert box(row)[3] <= top or box(row)[1] >= bottom, "the message covers a row in use"
    fill.locator("input.wb-val").click()
    expect(error).to_be_visible()
    unmoved()
    panel.sessions[-1].model.act("bar", {"do": "undo"})
    expect(angle).not_to_have_attribute("data-wrong", "error")
    unmoved()

    preview.locator("[data-wb=verify]").click()
    verified = preview.locator("[data-wb=verification]")
    expect(verified).to_have_attribute("data-state", "identical", timeout=PATIENCE)
    unmoved()
    model = panel.sessions[-1].model
    shuffled = {"do": "set", "node": "reader", "arg": "random_shuffle", "value": False}
    model.act("inspector", shuffled)
    expect(preview.locator("[data-wb=note]")).to_contain_text("does not shuffle", timeout=PATIENCE)
    unmoved()
    model.act("inspector", {"do": "set", "node": "resize", "arg": "size", "value": "1x"})
    expect(preview.locator("[data-wb=stale]")).to_contain_text("'1x' is not a number")
    unmoved()


CONTROLS = """() => {
  const kinds = "button, a[href], input, select, textarea, summary, [role=button], [tabindex='0']";
  const found = [];
  const walk = (root) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.shadowRoot) walk(el.shadowRoot);
      if (el.matches(kinds)) found.push(el);
    }
  };
  walk(document);
  const seen = found.filter((el) => {
    const { left, top, right, bottom, width, height } = el.getBoundingClientRect();
    const inside = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
    if (width < 4 || height < 4 || !inside) return false;
    if (!el.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    const middle = [(left + right) / 2, (top + bottom) / 2];
    const [x, y] = [Math.min(middle[0], innerWidth - 2), Math.min(middle[1], innerHeight - 2)];
    const hit = el.getRootNode().elementFromPoint(x, y);
    return hit && (el.contains(hit) || hit.contains(el));
  });
  const names = seen.map((el) => el.dataset.wb ?? el.ariaLabel ?? el.textContent.slice(0, 30));
  const shows = "[data-wb=tile] *, [data-wb=look], [data-wb=effect-value]";
  const pictures = seen.filter((el) => el.matches(shows));
  return { names, pictures: pictures.length };
}"""
MOST_CONTROLS = 45
SIZES = [
    (1440, 900),
    *(pytest.param(size, marks=pytest.mark.thorough) for size in ((1280, 720), (1024, 768))),
]


@pytest.mark.parametrize("size", SIZES)
def test_the_first_screen_has_few_controls_and_starting_points(
    size: tuple[int, int], panel: PanelHost, photos: Path
) -> None:
    panel.page.set_viewport_size({"width": size[0], "height": size[1]})
    page = open_page(panel, photos, None)
    start = part(page, "inspector").locator("[data-wb=start]")
    expect(start.locator("h3")).to_contain_text("Build DALI image augmentations")
    for name in ("recipe", "empty", "file"):
        expect(start.locator(f"[data-wb=start-{name}]")).to_be_in_viewport()
    expect(start.locator("img")).to_have_js_property("naturalWidth", 384)
    await_cards(page, 5)
    page.mouse.move(0, 0)
    seen = page.evaluate(CONTROLS)
    # Pictures of samples can be clicked too; how many there are is a matter of room.
    assert len(seen["names"]) - seen["pictures"] <= MOST_CONTROLS, seen["names"]
    start.locator("[data-wb=start-recipe]").click()
    expect(part(page, "bar").locator("[data-wb=title]")).to_have_text("imagenet-train")
    expect(start).to_have_count(0)
    page.locator("[data-wb=recipes]").click()
    page.locator("[data-wb=recipe][data-name=rotate-jitter]").click()
    expect(part(page, "inspector")).to_have_attribute("data-node", "rotate")
    await_cards(page, 5)
    page.mouse.move(0, 0)
    seen = page.evaluate(CONTROLS)
    assert len(seen["names"]) - seen["pictures"] <= MOST_CONTROLS, seen["names"]
