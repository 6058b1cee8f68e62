"""A function of the user in both hosts: that it is not exact, and what it costs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import workbench as wb
from tests.ui.hosts import PATIENCE, Host, PanelHost, await_picture, part, small
from tests.ui.speed.test_browser_speed import TINY, ended, turn_to
from workbench.graph import dump_graph
from workbench.graph.edits.edit import set_setting

pytestmark = pytest.mark.browser


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
    words = "not exact" if trusted else "is not trusted"
    expect(card).to_contain_text(words, timeout=PATIENCE)
    card.click()
    inspector = part(page, "inspector")
    expect(inspector.locator("[data-wb=caution]")).to_contain_text(
        "line 4: noise = np.random.default_rng()"
    )
    expect(inspector).to_contain_text("Let DALI draw")
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
        re.compile(r"shaken \(your function shaken\).* imgs/s with it, [\d,]+ without"),
        timeout=4 * PATIENCE,
    )
    ended(speed)


@pytest.mark.thorough
def test_what_was_drawn_before_untrusted_code_came_is_not_told_of_it(
    host: Host, photos: Path
) -> None:
    foreign = dump_graph(shaken.after(small(), "resize")).replace(", 0, 255)", ", 0, 254)")
    assert "254" in foreign
    host.open(photos, small("rand-augment"))
    page = host.page
    await_picture(page)
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
