"""What is in the data, in both hosts: charts, classes on tiles, folders to open."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.hosts import PATIENCE, Host, await_picture, part, small
from workbench.graph.edits.edit import set_setting
from workbench.samples.records import add_to_tar

pytestmark = pytest.mark.browser


@pytest.mark.thorough
def test_a_class_is_chosen_in_its_chart_and_another_folder_is_found(
    host: Host, photos: Path
) -> None:
    host.open(photos, set_setting(small(), batch_size=16))
    page = host.page
    await_picture(page)
    part(page, "tabs").get_by_role("tab", name="Data").click()
    data, preview = part(page, "data"), part(page, "preview")
    bar = data.locator("[data-wb=classes] [data-name=cat]")
    expect(bar).to_have_attribute("data-count", "10", timeout=PATIENCE)
    expect(data.locator("[data-wb=formats] [data-name=JPEG]")).to_be_visible()
    expect(data.locator("[data-wb=size-counts] li").first).to_be_visible()

    bar.get_by_role("button").click()
    expect(preview).to_be_visible()
    tiles = preview.locator("[data-wb=tile]")
    names = host.python("[t.class_name for t in model.state.preview.tiles]")
    expect(tiles).to_have_count(names.count("cat"))
    expect(preview.locator("[data-wb=of-classes]")).to_contain_text(
        f"{names.count('cat')} of 16 in this batch"
    )
    for label in tiles.locator("[data-wb=label]").all():
        expect(label).to_have_text("cat")
    assert host.python("model.state.batch") == 0  # what is read is the same
    preview.locator("[data-wb=all-classes]").click()
    expect(tiles).to_have_count(16)

    part(page, "tabs").get_by_role("tab", name="Data").click()
    expect(data.locator("[data-wb=browse]")).to_be_visible()  # what is hidden takes no focus
    data.locator("[data-wb=browse]").focus()
    page.keyboard.press("Enter")
    row = data.locator(f"[data-folder={photos.name}]")
    expect(row).to_contain_text(f"{len(list(photos.iterdir()))} folders", timeout=PATIENCE)
    row.locator("[data-wb=look-into]").focus()
    page.keyboard.press("Enter")
    expect(data.locator("[data-folder=cat]")).to_contain_text("10 images", timeout=PATIENCE)
    data.locator("[data-folder=cat]").get_by_role("button", name="Open cat").click()
    expect(part(page, "bar")).to_contain_text("cat/ · 10 images", timeout=PATIENCE)


@pytest.mark.thorough
def test_what_is_at_fault_is_read_whole_and_boxes_are_counted(
    host: Host, shapes: Path, tmp_path: Path
) -> None:
    """A box of no number, which its reader takes in silence, in data with boxes beside images."""
    path = with_bad_box(shapes / "webdataset", tmp_path / "boxes" / "samples.tar")
    host.open(path, small("ssd"))
    page = host.page
    await_picture(page)
    note = part(page, "preview").locator("[data-wb=note]")
    expect(note).to_contain_text("1 at fault among its first 24 samples; of the first, samples.tar")
    expect(note).to_contain_text("Verify and the measurements leave them out")
    shown = "el => [el.scrollWidth <= el.clientWidth, el.scrollHeight <= el.clientHeight]"
    assert note.evaluate(shown) == [True, True]

    part(page, "tabs").get_by_role("tab", name="Data").click()
    data = part(page, "data")
    told = data.locator("[data-wb=at-fault]")
    expect(told).to_contain_text("1 of 24 samples is at fault; the first: samples.tar")
    classes = data.locator("[data-wb=classes]")
    expect(classes.locator("h3")).to_have_text("5 classes: boxes of each, in 23 images")
    # The image with the bad box, which has a star too, is not counted.
    expect(classes.locator("[data-name=star]")).to_have_attribute("data-count", "11")
    expect(classes.locator("[data-name=background]")).to_have_count(0)


def with_bad_box(folder: Path, path: Path) -> Path:
    """The samples of a folder's only archive, where the third has a box that begins nowhere."""
    path.parent.mkdir()
    (given,) = folder.glob("*.tar")
    with tarfile.open(given) as source, tarfile.open(path, "w") as archive:
        notes = [member.name for member in source if member.name.endswith(".json")]
        for member in source:
            opened = source.extractfile(member)
            assert opened is not None
            content = opened.read()
            if member.name == notes[2]:
                document = json.loads(content)
                document[0]["bbox"][0] = float("nan")
                content = json.dumps(document).encode()
            add_to_tar(archive, member.name, content)
    return path
