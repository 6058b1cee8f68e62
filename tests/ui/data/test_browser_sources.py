"""Any source in any other's place, in both hosts: of the same graph, and of one that comes in."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.sources.written import read_photos, write_parquet
from tests.ui.app.test_browser import tab
from tests.ui.hosts import PATIENCE, Host, await_picture, await_python, part, small
from workbench.graph import Graph, dump_graph
from workbench.graph.model import Node, Port
from workbench.sources import load_source

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

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
    fix.filter(has_text="Read your data in its place").click()
    await_python(host, _KINDS, lambda kinds: kinds == ["tfrecord"])
    await_python(host, _TILES, lambda tiles: tiles and all(t[0] == "" for t in tiles))
    expect(status).to_contain_text("ready", timeout=PATIENCE)


def open_graph(host: Host, graph: Graph, folder: Path) -> None:
    """As a file, in the bar."""
    file = folder / f"{graph.name}.json"
    file.write_text(dump_graph(graph))
    part(host.page, "bar").locator("[data-wb=open-file]").set_input_files(file)
