"""The preview in a browser when a worker ends, memory does not suffice, or files go."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.hosts import PATIENCE, Host, await_mean, await_picture, part, small
from tests.ui.preview_page import preview, slide

pytestmark = pytest.mark.browser


def works_again(host: Host, picture: str | None) -> None:
    """After a fault: another change gives another picture."""
    page = host.page
    slide(host, "rotate", "angle", "ArrowRight", 2)
    expect(preview(page).locator("[data-wb=stale]")).to_be_hidden(timeout=PATIENCE)
    expect(preview(page)).not_to_have_attribute("data-sheet", str(picture), timeout=PATIENCE)
    expect(part(page, "bar").locator("[data-wb=status]")).to_contain_text("ready", timeout=PATIENCE)


@pytest.mark.thorough
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSTOP], ids=["kill", "hang"])
def test_a_worker_that_ends_or_hangs_in_a_change(host: Host, photos: Path, by: int) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    before = await_mean(page)
    sheet = preview(page).get_attribute("data-sheet")
    pid = host.python("model.engine.pid")
    os.kill(pid, signal.SIGSTOP)  # so that it is in the middle of the call
    slide(host, "rotate", "angle", "ArrowLeft")
    status = part(page, "bar").locator("[data-wb=status]")
    expect(status).to_contain_text("computing")
    if by == signal.SIGKILL:
        os.kill(pid, signal.SIGKILL)
    else:
        expect(status).to_have_text("the worker does not answer")
    stale = preview(page).locator("[data-wb=stale]")
    words = "SIGKILL" if by == signal.SIGKILL else r"No sign of life for \d+ s"
    expect(stale).to_contain_text(re.compile(words), timeout=PATIENCE)
    expect(preview(page)).to_have_attribute("data-stale", "true")
    assert await_mean(page) == before
    works_again(host, sheet)
    assert host.python("model.engine.pid") != pid


@pytest.mark.thorough
def test_memory_that_does_not_suffice(host: Host, photos: Path) -> None:
    host.open(photos, small())
    page = host.page
    await_picture(page)
    before = await_mean(page)
    sheet = preview(page).get_attribute("data-sheet")
    # As a machine that has little more: the worker's address space ends not far from here.
    limit = (
        "(lambda r, pid: r.prlimit(pid, r.RLIMIT_AS, (%s, r.getrlimit(r.RLIMIT_AS)[1])))"
        "(__import__('resource'), model.engine.pid)"
    )
    host.python(limit % "int(open(f'/proc/{pid}/statm').read().split()[0]) * 4096 + 2**29")
    part(page, "canvas").locator("[data-node=resize]").click()
    sizes = part(page, "inspector").locator("[data-arg=size]").get_by_role("spinbutton")
    for at in range(2):
        sizes.nth(at).fill("9000")
        sizes.nth(at).press("Enter")
    stale = preview(page).locator("[data-wb=stale]")
    expect(stale).to_contain_text("memory", timeout=PATIENCE)
    expect(preview(page)).to_have_attribute("data-stale", "true")
    assert await_mean(page) == before
    part(page, "bar").locator("[data-wb=undo]").click()
    works_again(host, sheet)


@pytest.mark.thorough
def test_a_folder_that_goes_and_a_file_that_breaks(
    host: Host, photos: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("going") / "photos"
    folder.mkdir()
    for number, path in enumerate(sorted(photos.rglob("*.jpg"))[:4]):
        shutil.copy(path, folder / f"{number}.jpg")
    host.open(folder, small())
    page = host.page
    await_picture(page)
    sheet = preview(page).get_attribute("data-sheet")
    whole = (folder / "2.jpg").read_bytes()
    (folder / "2.jpg").write_bytes(b"no image at all")
    slide(host, "rotate", "angle", "ArrowLeft")
    bad = preview(page).locator("[data-error]")
    expect(bad).to_have_count(1, timeout=PATIENCE)
    expect(bad).to_contain_text("2.jpg")
    expect(preview(page).locator("[data-wb=shown]")).to_contain_text("3 of 4 shown · 1 left out")
    (folder / "2.jpg").write_bytes(whole[: len(whole) // 2])
    slide(host, "rotate", "angle", "ArrowLeft")
    expect(bad).to_contain_text("ends early", timeout=PATIENCE)
    (folder / "2.jpg").write_bytes(whole)

    folder.rename(folder.with_name("elsewhere"))
    slide(host, "rotate", "angle", "ArrowLeft")
    stale = preview(page).locator("[data-wb=stale]")
    expect(stale).to_contain_text("Still the last good picture: There is no", timeout=PATIENCE)
    folder.with_name("elsewhere").rename(folder)
    stale.locator("[data-wb=retry]").click()
    expect(stale).to_be_hidden(timeout=PATIENCE)
    works_again(host, sheet)
