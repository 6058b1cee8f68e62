"""The preview in both hosts: what is done and seen, when a worker ends, clips, and filters."""

from __future__ import annotations

import os
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.block_graphs import branching_graph
from tests.sources.clips import write_clips
from tests.sources.test_video import LENGTH, a_graph
from tests.ui.hosts import (
    PATIENCE,
    Host,
    PanelHost,
    await_cards,
    await_mean,
    await_python,
    close_effect,
    open_page,
    part,
    preview_control,
    small,
)
from tests.ui.preview.test_filters import AUGMENTED
from tests.ui.preview_page import fixed, preview, show, slide
from workbench.catalog import load_catalog
from workbench.errors import WorkerTimeoutError
from workbench.graph.control_flow.options import set_probability
from workbench.graph.edits.edit import set_arg
from workbench.ui.preview import background_previews

pytestmark = pytest.mark.browser


# The preview in a real JupyterLab and a real Panel app: what is done, and what is seen.


@pytest.mark.thorough
def test_the_originals_are_seen_while_a_key_is_held(host: Host, photos: Path) -> None:
    page = open_page(host, photos, fixed(2.0))
    show(page, "Original")
    dark = await_mean(page)
    show(page, "Augmented")
    bright = await_mean(page, least=dark + 15)

    preview(page).locator("[data-wb=tile] button").first.focus()
    page.keyboard.down("o")
    assert await_mean(page, most=dark + 3) == pytest.approx(dark, abs=3)
    expect(preview(page)).to_have_attribute("data-show-original", "true")
    page.keyboard.up("o")
    assert await_mean(page, least=bright - 1) == pytest.approx(bright, abs=1)

    show(page, "Both")
    expect(preview(page).locator("[data-wb=tile]").first.locator("canvas")).to_have_count(2)
    eye = preview_control(page, "show-original")
    eye.hover()
    page.mouse.down()
    expect(eye).to_have_attribute("aria-pressed", "true")
    await_mean(page, most=dark + 3)
    assert host.python("model.state.show_original") is False  # they are in the sheet already
    page.mouse.up()
    await_mean(page, least=bright - 1)

    show(page, "Difference")
    expect(preview(page).locator("[data-wb=note]")).to_contain_text("images from resize.output")
    await_mean(page, most=bright - 15)


@pytest.mark.thorough
def test_tiles_of_a_size_and_one_photo_many_times(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    tiles = preview(page).locator("[data-wb=tile]")
    expect(tiles).to_have_count(4)
    expect(preview(page).locator("[data-wb=shown]")).to_contain_text("4 of 4 shown")
    preview(page).locator("[data-wb=shown]").click()
    preview(page).locator("[data-wb=size]").select_option("96")
    preview(page).locator("[data-wb=lossless]").check()
    page.keyboard.press("Escape")
    canvas = tiles.first.locator("canvas").last
    expect(canvas).to_have_attribute("width", "96", timeout=PATIENCE)
    assert canvas.evaluate("el => el.clientWidth") == 96
    assert host.python("model.previewer._thread.is_alive()")
    expect(preview(page)).to_have_attribute("data-mime", "image/x-rgba", timeout=PATIENCE)

    caption, frame = tiles.nth(1).locator("p"), tiles.nth(1).locator("button").first
    file = tiles.nth(1).get_attribute("data-file") or ""
    tile: dict[str, Any] = host.python(
        "[{'label': t.label, 'name': t.class_name, 'shape': t.shape, 'draws': list(t.draws)}"
        " for t in model.state.preview.tiles][1]"
    )
    expect(caption).to_contain_text(Path(file).name)
    expect(caption).to_contain_text(tile["name"])
    said = frame.get_attribute("aria-label") or ""
    for words in (f"{tile['name']}, label {tile['label']}", tile["shape"], *tile["draws"]):
        assert words in said
        assert words in (frame.get_attribute("data-tip") or "").replace("\n", ", ")

    tiles.nth(1).hover()
    tiles.nth(1).locator("[data-wb=tile-repeat]").click()
    expect(preview(page).locator("[data-wb=one]")).to_contain_text(f"4 random variants of {file}")
    expect(preview(page).locator(f"[data-file='{file}']")).to_have_count(4)
    draws = {tiles.nth(at).locator("button").first.get_attribute("data-tip") for at in range(4)}
    assert len(draws) == 4
    preview(page).locator("[data-wb=one]").click()
    expect(preview(page).locator(f"[data-file='{file}']")).to_have_count(1)


@pytest.mark.thorough
def test_pinned_and_kept_draws(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    seed = preview(page).locator("[data-wb=seed]")
    first = await_mean(page)
    preview_control(page, "saved-draws").click()
    preview(page).locator("[data-wb=keep]").click()
    saved = preview(page).locator("[data-wb=saved-draw]")
    expect(saved).to_contain_text("seed 42, batch 0 (size 4)")
    page.keyboard.press("Escape")

    preview_control(page, "reseed").click()
    expect(seed).not_to_have_value("42")
    preview_control(page, "batch-next").click()
    expect(preview(page)).to_have_attribute("data-batch", "1", timeout=PATIENCE)
    pin = preview_control(page, "pin")
    pin.click()
    expect(pin).to_have_attribute("aria-pressed", "true")
    expect(seed).to_be_disabled()
    expect(preview(page).locator("[data-wb=batch-next]")).to_be_disabled()
    assert host.python("model.state.pinned")

    preview_control(page, "saved-draws").click()
    saved.locator("button").first.click()
    expect(part(page, "bar")).to_contain_text("Unpin them to show the saved sample")
    expect(seed).not_to_have_value("42")
    pin.click()
    preview_control(page, "saved-draws").click()
    saved.locator("button").first.click()
    expect(seed).to_have_value("42")
    expect(preview(page)).to_have_attribute("data-batch", "0", timeout=PATIENCE)
    assert await_mean(page, first - 0.01, first + 0.01)
    assert host.python("'\"draws\"' in model.shown('bar', 'saved')")
    expect(seed).to_be_enabled()


@pytest.mark.thorough
def test_a_tile_closely(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    tile = preview(page).locator("[data-wb=tile]").nth(2)
    tile.locator("button").first.click()
    closeup = preview(page).locator("[data-wb=closeup]")
    expect(closeup).to_have_attribute("data-painted", "1", timeout=PATIENCE)
    expect(closeup).to_have_attribute("data-index", "2")
    stage = closeup.locator("[data-wb=zoomable-image]")
    expect(stage).to_be_focused()
    original = closeup.locator("[data-wb=closeup-original] canvas")
    box, beside = original.bounding_box(), stage.bounding_box()
    assert box is not None
    assert beside is not None
    assert box["width"] > 100
    assert box["x"] + box["width"] <= beside["x"]

    # The values are those of the output, as Python reads them.
    reading = closeup.locator("[data-wb=reading]")
    page.keyboard.press("ArrowRight")  # marks the pixel in the middle
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(reading).to_contain_text("uint8", timeout=PATIENCE)
    expect(closeup).to_contain_text("x 102  y 101")
    values = host.python(
        "[int(v) for v in __import__('workbench.preview').preview.preview_pixels("
        "model.engine, model._done, 2, 'images', 102, 101, 1, 1).values.reshape(-1)]"
    )
    expect(reading).to_contain_text(f"R {values[0]}  G {values[1]}  B {values[2]}")

    before = float(stage.get_attribute("data-scale") or 0)
    stage.hover()
    page.mouse.wheel(0, -100)
    expect(stage).not_to_have_attribute("data-scale", f"{before:.3f}")
    assert float(stage.get_attribute("data-scale") or 0) > before
    page.keyboard.press("0")
    expect(stage).to_have_attribute("data-scale", f"{before:.3f}")

    # It follows an edit.
    painted = int(closeup.get_attribute("data-painted") or 0)
    slide(host, "rotate", "angle", "ArrowLeft", 5)
    expect(closeup).not_to_have_attribute("data-painted", str(painted), timeout=PATIENCE)

    closeup.locator("[data-wb=closeup-next]").click()
    expect(closeup).to_have_attribute("data-index", "3")
    stage.focus()
    page.keyboard.press("Escape")
    expect(closeup).to_be_hidden()
    tile = preview(page).locator("[data-wb=tile]").nth(3)
    expect(tile.locator("button").first).to_be_focused()


def test_a_sample_is_seen_at_every_node(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    canvas = part(page, "canvas")
    expect(canvas).to_have_attribute("data-sample", "0", timeout=PATIENCE)
    tile = preview(page).locator("[data-wb=tile]").nth(1)
    file = tile.get_attribute("data-file")
    tile.hover()
    tile.locator("[data-wb=tile-choose]").click()
    expect(canvas).to_have_attribute("data-sample", "1", timeout=PATIENCE)
    await_cards(page, 5)
    expect(canvas.locator("[data-node=rotate]")).to_contain_text("angle ")

    canvas.get_by_role("button", name="Output of resize").click()
    detail = canvas.locator("[data-wb=detail]")
    expect(detail).to_contain_text("224×224×3 uint8 HWC")
    expect(detail).to_contain_text(file or "")
    expect(detail.locator("[data-wb=histogram]")).to_be_visible()
    expect(detail.locator("[data-wb=detail-time]")).to_contain_text(" ms for 4 samples")
    expect(canvas.locator("[data-node=resize]").first).to_have_attribute("aria-current", "true")
    page.keyboard.press("Escape")
    expect(detail).to_have_count(0)

    canvas.locator("[data-wb=sample-next]").click()
    expect(canvas).to_have_attribute("data-sample", "2", timeout=PATIENCE)
    canvas.locator("[data-node=rotate]").click()
    page.keyboard.press("PageUp")
    expect(canvas).to_have_attribute("data-sample", "1", timeout=PATIENCE)
    page.keyboard.press("d")
    expect(detail).to_have_attribute("data-node", "rotate")
    expect(detail).to_contain_text("angle ")


@pytest.mark.thorough
def test_the_preview_is_verified(host: Host, photos: Path) -> None:
    page = open_page(host, photos, small())
    verified = preview(page).locator("[data-wb=verification]")
    preview(page).locator("[data-wb=verify]").click()
    expect(verified).to_have_attribute("data-state", "identical", timeout=PATIENCE)
    expect(verified).to_contain_text("identical to export")
    found = preview(page).locator("[data-wb=found]")
    found.click()
    expect(preview(page)).to_contain_text("12 of 12 samples are bit-identical")
    page.keyboard.press("Escape")
    slide(host, "rotate", "angle", "ArrowLeft")
    expect(verified).to_have_attribute("data-stale", "true")
    expect(found).to_contain_text("before the last edit")

    # What runs ends where it is told to.
    preview(page).locator("[data-wb=verify]").click()
    preview(page).locator("[data-wb=stop]").click()
    expect(verified).to_have_attribute("data-state", "stopped", timeout=PATIENCE)


@pytest.mark.thorough
def test_a_wrong_mean_shows_and_figures_that_cannot_be_counted_say_why(
    panel: PanelHost, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise WorkerTimeoutError("The worker gave no answer.")

    graph, catalog = small("imagenet-train"), load_catalog()
    node = next(n.id for n in graph.nodes if n.op == "crop_mirror_normalize")
    graph = set_arg(graph, catalog, node, "mean", (0.485, 0.456, 0.406))
    page = open_page(panel, photos, set_arg(graph, catalog, node, "std", (0.229, 0.224, 0.225)))
    fold = preview(page).locator("[data-wb=measure-values]")
    figures = preview(page).locator("[data-wb=statistics]")
    with monkeypatch.context() as patch:
        patch.setattr(background_previews, "preview_statistics", fail)
        fold.click()
        said = preview(page).locator("[data-wb=statistics-pending]")
        expect(said).to_contain_text("Not computed: The worker gave no answer.")
    said.get_by_role("button", name="Try again").click()
    expect(figures.locator("[data-wb=hint]")).to_contain_text("Check mean and std")
    expect(figures.locator("tbody tr")).to_have_count(3)
    expect(said).to_be_empty()
    fold.click()
    expect(figures).to_be_hidden()
    await_python(panel, "model.state.show_statistics", lambda shown: shown is False)


# The preview in a browser when a worker ends, memory does not suffice, or files go.


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
    page = open_page(host, photos, small())
    before = await_mean(page)
    close_effect(host)
    sheet = preview(page).get_attribute("data-sheet")
    pid = host.python("model.engine.pid")
    os.kill(pid, signal.SIGSTOP)  # so that it is in the middle of the call
    slide(host, "rotate", "angle", "ArrowLeft")
    status = part(page, "bar").locator("[data-wb=status]")
    expect(status).to_contain_text("computing")
    if by == signal.SIGKILL:
        os.kill(pid, signal.SIGKILL)
    else:
        expect(status).to_have_text("worker not responding")
    stale = preview(page).locator("[data-wb=stale]")
    words = "SIGKILL" if by == signal.SIGKILL else r"No heartbeat for \d+ s"
    expect(stale).to_contain_text(re.compile(words), timeout=PATIENCE)
    expect(preview(page)).to_have_attribute("data-stale", "true")
    assert await_mean(page) == before
    works_again(host, sheet)
    assert host.python("model.engine.pid") != pid


@pytest.mark.thorough
def test_a_folder_that_goes_and_a_file_that_breaks(
    host: Host, photos: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("going") / "photos"
    folder.mkdir()
    for number, path in enumerate(sorted(photos.rglob("*.jpg"))[:4]):
        shutil.copy(path, folder / f"{number}.jpg")
    page = open_page(host, folder, small())
    sheet = preview(page).get_attribute("data-sheet")
    whole = (folder / "2.jpg").read_bytes()
    (folder / "2.jpg").write_bytes(b"no image at all")
    slide(host, "rotate", "angle", "ArrowLeft")
    bad = preview(page).locator("[data-error]")
    expect(bad).to_have_count(1, timeout=PATIENCE)
    expect(bad).to_contain_text("2.jpg")
    expect(preview(page).locator("[data-wb=shown]")).to_contain_text("3 of 4 shown · 1 skipped")
    (folder / "2.jpg").write_bytes(whole[: len(whole) // 2])
    slide(host, "rotate", "angle", "ArrowLeft")
    expect(bad).to_contain_text("ends early", timeout=PATIENCE)
    (folder / "2.jpg").write_bytes(whole)

    folder.rename(folder.with_name("elsewhere"))
    slide(host, "rotate", "angle", "ArrowLeft")
    stale = preview(page).locator("[data-wb=stale]")
    expect(stale).to_contain_text("Showing the last valid preview: There is no", timeout=PATIENCE)
    folder.with_name("elsewhere").rename(folder)
    stale.locator("[data-wb=retry]").click()
    expect(stale).to_be_hidden(timeout=PATIENCE)
    works_again(host, sheet)


# Clips in both hosts: a strip of frames on tiles and cards, one frame in the close-up.


@pytest.mark.thorough
def test_a_frame_is_chosen_by_slider_and_keys(host: Host, tmp_path: Path) -> None:
    page = open_page(host, write_clips(tmp_path / "clips"), a_graph())
    await_cards(page, 3)
    preview = part(page, "preview")
    expect(preview.locator("[data-wb=tile]")).to_have_count(4)

    preview.locator("[data-wb=tile]").first.dblclick()
    closeup = preview.locator("[data-wb=closeup]")
    expect(closeup).to_have_attribute("data-painted", "1", timeout=PATIENCE)
    expect(closeup).to_contain_text("128×96 px")  # four frames of 64 x 48
    expect(closeup).to_contain_text("All frames")
    slider = closeup.locator("[data-wb=closeup-frame]")
    slider.fill("2")
    expect(closeup).to_contain_text(f"Frame 3 of {LENGTH}")
    expect(closeup).to_contain_text("64×48 px", timeout=PATIENCE)
    closeup.locator("[data-wb=zoomable-image]").press(".")
    expect(closeup).to_contain_text(f"Frame 4 of {LENGTH}", timeout=PATIENCE)
    await_python(host, "model.state.closeup.frame", lambda frame: frame == 3)
    closeup.locator("[data-wb=closeup-next]").click()
    expect(closeup).to_have_attribute("data-index", "1", timeout=PATIENCE)
    expect(closeup).to_contain_text(f"Frame 4 of {LENGTH}")


# Tiles are filtered by what automatic augmentation chose, in both hosts, by keys.


@pytest.mark.thorough
def test_tiles_are_filtered_by_augmentation(host: Host, photos: Path) -> None:
    page = open_page(host, photos, AUGMENTED)
    preview = part(page, "preview")
    told = host.python("[list(t.augmentations) for t in model.state.preview.tiles]")
    seen = {key for keys in told for key in keys}
    wanted = next(key for key in sorted(seen))
    count = sum(wanted in keys for keys in told)
    name = wanted.removeprefix("trivial_augment_wide.")

    preview.locator("[data-wb=augmentation-filter]").focus()
    page.keyboard.press("Enter")
    group = preview.get_by_role("group", name="trivial_augment_wide")
    group.locator(f"[data-scope='{wanted}']").focus()
    page.keyboard.press("Space")
    expect(preview.locator("[data-wb=of-augmentations]")).to_have_text(
        f"{count} of 4 in this batch · trivial_augment_wide: {name}", timeout=PATIENCE
    )
    page.keyboard.press("Escape")
    expect(preview.locator("[data-wb=tile]")).to_have_count(count)
    preview.locator("[data-wb=find-next]").focus()
    page.keyboard.press("Enter")
    expect(preview.locator("[data-wb=find-back]")).to_be_enabled(timeout=PATIENCE)
    assert host.python("model.state.batch") > 0
    preview.locator("[data-wb=all-augmentations]").focus()
    page.keyboard.press("Enter")
    expect(preview.locator("[data-wb=tile]")).to_have_count(4)


# Which branch ran, in both hosts: told under the tiles, filtered, searched and counted by keys.


@pytest.mark.thorough
def test_tiles_are_filtered_by_branch_and_shares_are_told(host: Host, photos: Path) -> None:
    graph = set_probability(branching_graph(), "inner", 0.1)
    page = open_page(
        host, photos, replace(graph, settings=replace(graph.settings, batch_size=4, seed=7))
    )
    preview = part(page, "preview")
    fired = preview.locator("[data-wb=tile] [data-wb=fired]")
    expect(fired).to_have_count(4)
    told = host.python("[list(t.branches) for t in model.state.preview.tiles]")
    for caption, scopes in zip(fired.all(), told, strict=True):
        expect(caption).to_have_text(" · ".join(s.replace(".", ": ") for s in scopes))
    assert not any("inner.then" in scopes for scopes in told)

    preview.locator("[data-wb=branch-filter]").focus()
    page.keyboard.press("Enter")
    box = preview.get_by_role("group", name="inner").get_by_role("checkbox").first
    box.focus()
    page.keyboard.press("Space")
    expect(preview.locator("[data-wb=of-branches]")).to_have_text(
        "0 of 4 in this batch · inner: then", timeout=PATIENCE
    )
    page.keyboard.press("Escape")
    expect(preview.locator("[data-wb=none-in-batch]")).to_contain_text("None of the 4 samples")
    preview.locator("[data-wb=find-one]").focus()
    page.keyboard.press("Enter")
    expect(fired.first).to_have_text("outer: then · inner: then", timeout=PATIENCE)
    assert host.python("model.state.batch") > 0
    preview.locator("[data-wb=all-branches]").focus()
    page.keyboard.press("Enter")
    expect(fired).to_have_count(4)

    preview.locator("[data-wb=measure-values]").focus()
    page.keyboard.press("Enter")
    expect(preview.locator("[data-wb=branches-counted]")).to_have_text(
        "Branches over 1,000 batches, 4,000 samples", timeout=PATIENCE
    )
    shares = preview.locator("[data-wb=branch-shares]")
    expect(shares.get_by_role("img", name="expected 10.0 %")).to_have_count(1)
    expect(shares.locator("tbody tr")).to_have_count(4)
    shares.locator("[data-wb=count-branches]").press("Enter")
    expect(preview.locator("[data-wb=branches-counted]")).to_contain_text("10,000 batches")
