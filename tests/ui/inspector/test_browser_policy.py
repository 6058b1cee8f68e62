"""The editor of a policy of one's own, in both hosts, by keys; its pictures follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.helpers import chain_graph, with_settings
from tests.ui.hosts import PATIENCE, Host, await_picture, await_python, part

pytestmark = pytest.mark.browser

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
    host.open(photos, GRAPH)
    page = host.page
    await_picture(page)
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
    expect(inspector.locator(".wb-policy .wb-arg-error")).to_contain_text(
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
