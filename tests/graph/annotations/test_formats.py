"""Boxes, points and labels of a source: how they are written, and what keeps their meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.emit.test_box_clipping import jpeg
from tests.helpers import CATALOG, with_nodes
from tests.sources.written import read_photos, write_coco
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.errors import DataError
from workbench.graph import Port, check_graph, load_recipe
from workbench.graph.annotations.formats import box_format, is_relative, labels_source
from workbench.graph.edits.edit import set_arg
from workbench.graph.model import Graph, Node
from workbench.graph.variants.source_annotations import with_opened, without_missing_targets
from workbench.samples.records import write_shard
from workbench.sources import load_source, open_datasets

OTHERS = (
    *("key-points", "ssd", "retinanet", "segmentation", "mosaic", "copy-paste"),
    *("two-modalities", "video-clips"),
)
"""Recipes that do not read a folder of photos."""


@pytest.fixture(scope="module")
def annotations(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_coco(read_photos(photos), tmp_path_factory.mktemp("coco") / "coco")


def test_boxes_of_a_new_source_follow_and_go_with_it(annotations: Path, photos: Path) -> None:
    graph = load_recipe("rotate-jitter")
    opened = with_opened(graph, open_datasets(str(annotations)), CATALOG)
    assert opened.outputs == {
        **graph.outputs,
        "boxes": Port("follow_boxes", "boxes"),
        "labels": Port("follow_boxes", "labels"),
    }
    assert check_graph(opened, CATALOG) == ()
    assert with_opened(opened, open_datasets(str(annotations)), CATALOG) is opened
    assert with_opened(opened, open_datasets(str(photos)), CATALOG) == graph


@pytest.mark.parametrize("given", ["{}/segmentation", "webdataset_masks:{}/webdataset"])
def test_masks_take_the_place_of_labels_and_give_it_back(
    given: str, shapes: Path, photos: Path
) -> None:
    graph = load_recipe("rotate-jitter")
    opened = with_opened(graph, open_datasets(given.format(shapes)), CATALOG)
    assert opened.outputs == {
        "images": graph.outputs["images"],
        "masks": Port("follow_masks", "masks"),
    }
    assert check_graph(opened, CATALOG) == ()
    assert with_opened(opened, open_datasets(str(photos)), CATALOG) == graph


def test_what_a_person_took_out_stays_out(annotations: Path) -> None:
    data = open_datasets(str(annotations))
    opened = with_opened(load_recipe("rotate-jitter"), data, CATALOG)
    images = {"images": opened.outputs["images"]}
    nodes = tuple(node for node in opened.nodes if node.id != "follow_boxes")
    bare = replace(opened, nodes=nodes, outputs=images)
    assert with_opened(bare, data, CATALOG) is bare


@pytest.mark.parametrize("name", OTHERS)
def test_a_recipe_says_what_it_reads(name: str, photos: Path) -> None:
    graph = load_recipe(name)
    wanted = load_source(graph.sources[0].kind)
    with pytest.raises(
        DataError, match=f"(Disconnect these, or use|the graph needs) {re.escape(wanted.about)}"
    ) as found:
        with_opened(graph, open_datasets(str(photos)), CATALOG)
    assert (
        f"`workbench samples shapes --annotations` writes some: open shapes/{wanted.sample}."
        in str(found.value)
    )


@pytest.mark.parametrize("note", [{}, {"json": b'{"caption": "x"}'}, {"json": b"[1]"}])
def test_boxes_that_an_archive_does_not_have_are_named(
    note: dict[str, bytes], tmp_path: Path
) -> None:
    write_shard([{"jpg": jpeg(), "cls": b"1", **note}] * 3, tmp_path / "a.tar")
    data = open_datasets(str(tmp_path / "a.tar"))
    for recipe, has_fix in (("retinanet", True), ("ssd", False)):
        with pytest.raises(DataError, match="the graph reads 'boxes', but the data have none"):
            with_opened(load_recipe(recipe), data, CATALOG)
        fixed = without_missing_targets(load_recipe(recipe), data, CATALOG)
        assert (fixed is not None) == has_fix
        if fixed is not None:
            assert "boxes" not in fixed.outputs
            assert [source.op for source in fixed.sources] == ["readers.webdataset"]
            assert check_graph(fixed, CATALOG) == ()


@pytest.mark.parametrize("prefix", ["", "pillow_images:"])
def test_data_are_opened_for_a_graph_whose_reader_dali_does_not_have(
    prefix: str, photos: Path
) -> None:
    graph = load_recipe("rotate-jitter")
    (reader,) = graph.sources
    graph = graph.replace_node(replace(reader, op="readers.nothing", kind="coco"))
    assert "unknown_op" in {fault.code for fault in check_graph(graph, CATALOG)}
    opened = with_opened(graph, open_datasets(f"{prefix}{photos}"), CATALOG)
    assert opened.outputs == graph.outputs


# The formats of boxes and points of a graph, derived from their readers and operators.


def followed(**options: Value) -> Graph:
    reader = Node("reader", "readers.coco", options, seed=0)
    decode = Node("decode", "decoders.image", {}, {"data": Port("reader", "jpegs")})
    image = Port("decode", "output")
    boxes = Node("boxes", "follow_boxes", {}, {"boxes": Port("reader", "boxes"), "image": image})
    points = {"points": Port("reader", "vertices"), "image": image}
    nodes = (reader, decode, boxes, Node("points", "follow_points", {}, points))
    return Graph("written", nodes=nodes, outputs={"boxes": Port("boxes", "boxes")})


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({}, "absolute xywh"),
        ({"ltrb": True}, "absolute ltrb"),
        ({"ratio": True}, "relative xywh"),
        ({"ratio": True, "ltrb": True}, "relative ltrb"),
    ],
)
def test_a_reader_says_how_its_targets_are_written(options: dict[str, Value], written: str) -> None:
    graph = followed(**options)
    assert box_format(graph, graph.node("boxes")) == written
    assert is_relative(graph, graph.node("points")) == written.startswith("relative")


def test_a_follower_that_says_so_itself_is_believed() -> None:
    graph = set_arg(followed(ratio=True), load_catalog(), "boxes", "format", "absolute ltrb")
    assert box_format(graph, graph.node("boxes")) == "absolute ltrb"
    alone = replace(graph.node("boxes"), args={}, inputs={})
    assert box_format(graph, alone) is None


# Which operators leave the class of a label known.

LABELS = Port("reader", "labels")


@pytest.mark.parametrize(
    ("steps", "known"),
    [
        ([], True),
        ([("cast", {"dtype": "INT64"})], True),
        ([("cast", {"dtype": "UINT8"})], False),  # 300 becomes 44
        ([("one_hot", {"num_classes": 4}), ("copy", {})], True),
        ([("one_hot", {"num_classes": 4}), ("slice", {"start": 1, "end": 3})], False),
        ([("slice", {"start": 0, "end": 1}), ("one_hot", {"num_classes": 4})], True),
        ([("math.add", {"right": 1})], False),
        ([("reinterpret", {"dtype": "FLOAT"})], False),
    ],
)
def test_the_source_of_labels_whose_numbers_are_kept(
    steps: list[tuple[str, Mapping[str, Value]]], known: bool
) -> None:
    graph, port = load_recipe("rotate-jitter"), LABELS
    for number, (op, args) in enumerate(steps):
        node = Node(f"step_{number}", op, args, {"data": port})
        graph, port = with_nodes(graph, node), Port(node.id, "output")
    assert labels_source(graph, load_catalog(), port) == (LABELS if known else None)
