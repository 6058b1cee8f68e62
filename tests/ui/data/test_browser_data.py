"""The data panel in both hosts: charts, classes, folders, other sources, arrays of a cell."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.sources.written import read_photos, write_parquet
from tests.ui.app.test_browser import tab
from tests.ui.hosts import PATIENCE, Host, await_picture, await_python, open_page, part, small
from tests.ui.labserver import LabServer
from workbench.graph import Graph, dump_graph
from workbench.graph.edits.edit import set_setting
from workbench.graph.model import Node, Port
from workbench.samples.records import add_to_tar
from workbench.sources import load_source

# What is in the data, in both hosts: charts, classes on tiles, folders to open.


@pytest.mark.browser
@pytest.mark.thorough
def test_a_class_is_chosen_in_its_chart_and_another_folder_is_found(
    host: Host, photos: Path
) -> None:
    page = open_page(host, photos, set_setting(small(), batch_size=16))
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


@pytest.mark.browser
@pytest.mark.thorough
def test_what_is_at_fault_is_read_whole_and_boxes_are_counted(
    host: Host, shapes: Path, tmp_path: Path
) -> None:
    """A box that is not a number, which its reader accepts silently, in data with boxes."""
    path = with_bad_box(shapes / "webdataset", tmp_path / "boxes" / "samples.tar")
    page = open_page(host, path, small("ssd"))
    note = part(page, "preview").locator("[data-wb=note]")
    expect(note).to_contain_text("1 of its first 24 samples are faulty; the first, samples.tar")
    expect(note).to_contain_text("Verify and the measurements exclude them")
    # The note is one line, so that the pictures stay in place: its tip has the whole text.
    expect(note).to_have_attribute("data-tip", note.inner_text())

    part(page, "tabs").get_by_role("tab", name="Data").click()
    data = part(page, "data")
    told = data.locator("[data-wb=at-fault]")
    expect(told).to_contain_text("1 of 24 samples is unusable; the first: samples.tar")
    classes = data.locator("[data-wb=classes]")
    expect(classes.locator("h3")).to_have_text("5 classes: boxes per class, in 23 images")
    # The image with the bad box, which has a star too, is not counted.
    expect(classes.locator("[data-name=star]")).to_have_attribute("data-count", "11")
    expect(classes.locator("[data-name=background]")).to_have_count(0)


def with_bad_box(folder: Path, path: Path) -> Path:
    """The samples of a folder's only archive; the third has a box with an invalid start."""
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


# Any source in any other's place, in both hosts: of the same graph, and of one that comes in.

_KINDS = "[source.kind for source in model.graph.sources]"
_GRAPH = "[[node.op for node in model.graph.nodes], [*map(str, model.graph.outputs.items())]]"
_TILES = "[(t.sample.error, len(t.augmented)) for t in model.state.preview.tiles]"


def choose(host: Host, data: Path, kind: str) -> None:
    """Open data in the panel, and wait for tiles of the graph on them, none of them bad."""
    tab(host.page, "Data")
    panel = part(host.page, "data")
    panel.locator("[data-wb=folder]").fill(str(data))
    panel.locator("[data-wb=open]").click()
    expect(panel.locator("[data-wb=facts]")).to_contain_text(
        load_source(kind).about, timeout=PATIENCE
    )
    expect(panel.locator("[data-wb=error]")).to_be_hidden()
    await_python(host, _KINDS, lambda kinds: kinds == [kind])
    expect(part(host.page, "bar").locator("[data-wb=status]")).to_contain_text(
        "ready", timeout=PATIENCE
    )
    tab(host.page, "Preview")
    tiles = await_python(host, _TILES, lambda tiles: len(tiles) == 4)
    assert [*map(tuple, tiles)] == [("", 1)] * 4, kind


@pytest.mark.browser
@pytest.mark.thorough
def test_each_kind_takes_the_place_of_the_others(
    host: Host, photos: Path, shapes: Path, tmp_path: Path
) -> None:
    listed = tmp_path / "photos.csv"
    listed.write_text("path,label\n" + "".join(f"{each},cat\n" for each in photos.glob("cat/*")))
    host.open(photos, small("imagenet-eval"))
    await_picture(host.page)
    before = host.python(_GRAPH)
    for kind, data in {
        "webdataset": shapes / "webdataset",
        "tfrecord": shapes / "tfrecord",
        "record_io": shapes / "recordio",
        "caffe_lmdb": shapes / "caffe",
        "caffe2_lmdb": shapes / "caffe2",
        "coco": shapes / "coco" / "annotations.json",
        "coco_keypoints": shapes / "coco" / "keypoints.json",
        "image_masks": shapes / "segmentation",
        "numpy_files": shapes / "numpy",
        "video": shapes / "video",
        "video_frames": shapes / "frames",
        "file_list": listed,
        "memory": write_parquet(read_photos(photos)[:8], tmp_path / "table"),
        "folder": photos,
    }.items():
        choose(host, data, kind)
    assert host.python(_GRAPH) == before


@pytest.mark.browser
@pytest.mark.thorough
def test_a_graph_that_comes_in_reads_the_data_that_are_open(
    host: Host, shapes: Path, tmp_path: Path
) -> None:
    """A recipe made for COCO finds its boxes in a TFRecord; an imported pipeline that was fed by
    a function, which no graph holds, has them by the remedy at its fault."""
    host.open(shapes / "tfrecord", small("imagenet-eval"))
    await_picture(host.page)
    open_graph(host, small("ssd"), tmp_path)
    await_python(host, _KINDS, lambda kinds: kinds == ["tfrecord_boxes"])
    marks = part(host.page, "preview").locator("[data-wb=marks]")
    expect(marks).to_have_count(8, timeout=PATIENCE)  # four photos, before and after

    fed = Node("feed", "opaque.2", {"call": "fn.external_source"})
    decode = Node("decode", "decoders.image", {}, {"data": Port("feed", "output_0")})
    resize = Node("resize", "resize", {"size": [64, 64]}, {"data": Port("decode", "output")})
    outputs = {"images": Port("resize", "output"), "labels": Port("feed", "output_1")}
    open_graph(host, Graph("imported", nodes=(fed, decode, resize), outputs=outputs), tmp_path)
    status = part(host.page, "bar").locator("[data-wb=status]")
    expect(status).to_have_text("1 fault", timeout=PATIENCE)
    status.click()
    fix = part(host.page, "bar").locator("[data-wb=fix]")
    fix.filter(has_text="Read your data instead").click()
    await_python(host, _KINDS, lambda kinds: kinds == ["tfrecord"])
    await_python(host, _TILES, lambda tiles: tiles and all(t[0] == "" for t in tiles))
    expect(status).to_contain_text("ready", timeout=PATIENCE)


def open_graph(host: Host, graph: Graph, folder: Path) -> None:
    """As a file, in the bar."""
    file = folder / f"{graph.name}.json"
    file.write_text(dump_graph(graph))
    part(host.page, "bar").locator("[data-wb=open-file]").set_input_files(file)


# Arrays in a cell of JupyterLab.

CELL = """
import numpy as np
import workbench as wb
from pathlib import Path
from PIL import Image

files = sorted(Path({photos!r}).rglob("*.jpg"))
images = [np.asarray(Image.open(file).convert("RGB")) for file in files]
w = wb.Workbench([(image, number % 3) for number, image in enumerate(images)], "rotate-jitter")
w
"""


@pytest.mark.thorough
def test_arrays_of_a_cell_are_shown(page: Page, lab_server: LabServer, photos: Path) -> None:
    lab_server.open(page, [CELL.format(photos=str(photos))])
    await_picture(page)
    count = len(list(photos.rglob("*.jpg")))
    expect(part(page, "bar")).to_contain_text(f"{count} images")
    asked = "(lambda model: model.data_panel.view['count'])(w._model)"
    assert lab_server.evaluate(asked) == count
    page.get_by_role("tab", name="Data").click()
    expect(part(page, "data")).to_contain_text("PNM")
    page.get_by_role("tab", name="Code").click()
    expect(part(page, "code")).to_contain_text("read_images")
    expect(part(page, "code")).to_contain_text("--data module:factory")
