"""What an if asks, chosen in a real JupyterLab and a real Panel app, by mouse and by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import PATIENCE, Host, await_picture, await_python, part, small
from workbench.catalog import load_catalog
from workbench.graph.control_flow.regions import wrap_in_region

pytestmark = pytest.mark.browser

CATALOG = load_catalog()
BRANCHED, REGION = wrap_in_region(small(), CATALOG, ["rotate"])
ASKS = "[node.op for node in model.graph.nodes if node.op.startswith('math.')]"


def card(page: Page, name: str) -> Locator:
    return part(page, "canvas").locator(f"[data-node='{name}']")


@pytest.mark.thorough
def test_a_class_is_chosen_by_name_and_an_elif_added(host: Host, photos: Path) -> None:
    host.open(photos, BRANCHED)
    page = host.page
    await_picture(page)
    card(page, REGION).click(position={"x": 20, "y": 12})
    inspector = part(page, "inspector")
    kind = inspector.get_by_role("combobox", name="when of branch")
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
    expect(inspector.get_by_role("combobox", name="when of branch_2")).to_have_value(
        "chance", timeout=PATIENCE
    )
    await_picture(page)


@pytest.mark.thorough
def test_so_it_is_by_keyboard(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    card(page, "rotate").click()
    page.keyboard.press("Control+k")
    search = part(page, "canvas").get_by_role("combobox")
    search.fill("apply by size")
    search.press("Enter")
    inspector = part(page, "inspector")
    kind = inspector.get_by_role("combobox", name="when of branch")
    expect(kind).to_have_value("size", timeout=PATIENCE)
    measure = inspector.get_by_role("combobox", name="measure of branch")
    measure.focus()
    page.keyboard.type("as")
    await_python(
        host,
        "model.graph.node('gt').args['right']",
        lambda found: found == 1,
    )
    page.keyboard.press("Control+z")
    await_python(host, "model.graph.node('gt').args['right']", lambda found: found == 500)
    card(page, REGION).focus()
    page.keyboard.press("Control+k")
    search.fill("add an elif")
    search.press("Enter")
    await_python(host, "model.graph.has('branch_2')", lambda found: found)


@pytest.mark.thorough
def test_one_operator_is_offered_measured_and_used(host: Host, photos: Path) -> None:
    graph, region = wrap_in_region(small(), CATALOG, ["rotate"])
    host.open(photos, graph)
    page = host.page
    await_picture(page)
    card(page, region).click(position={"x": 20, "y": 12})
    inspector = part(page, "inspector")
    inspector.get_by_role("button", name="Measure both").click()
    figures = inspector.locator("[data-wb=fused-figures]")
    expect(figures).to_contain_text("× the if", timeout=120_000)
    expect(figures.locator("small")).to_have_count(2)
    inspector.get_by_role("button", name="Use rotate alone").press("Enter")
    await_python(host, f"model.graph.has('{region}')", lambda found: not found)
    await_picture(page)
