"""graph -> script -> import: what moves targets becomes the follower again."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.emit.pipeline_import.graphs import canonical, plain
from tests.emit.pipeline_import.test_roundtrip import there_and_back
from tests.emit.targets.test_annotations import with_reader
from tests.graph.annotations.geometry_chains import region_chain, whole_chain
from tests.graph.annotations.ramps import coco_start, write_ramps
from tests.helpers import with_nodes
from tests.placed import CATALOG
from tests.thorough import examples
from workbench.catalog.spec import Value
from workbench.emit import emit_script
from workbench.emit.pipeline_import.calls import follower_source
from workbench.graph import Graph, Node, Port, check_graph
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.edits.edit import insert_node


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ramps(tmp_path_factory.mktemp("coco"))


def _assert_same(graph: Graph, folder: Path) -> None:
    imported = there_and_back(graph, folder)
    assert imported.report.is_exact, str(imported.report)
    assert check_graph(imported.graph, CATALOG) == ()
    if any(node.op == "repeat" for node in graph.walk()):
        assert _nodes(imported.graph) == _nodes(graph)
    else:
        assert canonical(imported.graph) == canonical(graph)


def _nodes(graph: Graph) -> Counter[str]:
    """What stands in a graph, wherever; ``canonical`` knows no repetition."""
    return Counter(
        f"{node.op} {sorted((name, _number(plain(value))) for name, value in node.args.items())}"
        for node in graph.walk()
    )


def _number(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(map(_number, value))
    return float(value) if isinstance(value, int) else value


@examples(1, thorough=300)
@given(seed=st.integers(0, 100_000))
def test_any_chain_with_its_targets(seed: int, folder: Path) -> None:
    _assert_same(whole_chain(folder, seed), folder)


@pytest.mark.thorough
@examples(1, thorough=100)  # AutoGraph takes a second for each
@given(seed=st.integers(0, 100_000))
def test_any_chain_with_regions_and_targets(seed: int, folder: Path) -> None:
    _assert_same(region_chain(folder, seed), folder)


@pytest.mark.parametrize("labels", [True, False])
def test_polygons_that_count_the_boxes_anew(folder: Path, labels: bool) -> None:
    start = with_reader(coco_start(folder), polygon_masks=True)
    rows = {name: Port("reader", name) for name in ("polygons", "vertices")}
    given = {n: port for n, port in start.outputs.items() if labels or n != "labels"}
    start = replace(start, outputs={**given, **rows})
    graph, _ = insert_node(start, CATALOG, "rotate", "decode")
    graph = with_followers(start, graph, CATALOG)
    assert graph.outputs["polygons"] == Port("follow_boxes", "polygons")
    _assert_same(graph, folder)


def test_lines_that_were_changed_stay_plain_calls(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = whole_chain(folder, 1)
    text = emit_script(graph, CATALOG).text
    changed = text.replace("fn.reductions.max(", "fn.reductions.min(", 1)
    assert changed != text
    _export(monkeypatch, changed)
    imported = there_and_back(graph, folder)
    ops = [node.op for node in imported.graph.walk()]
    assert "follow_boxes" not in ops
    assert {"follow_points", "follow_masks", "random_bbox_crop"} <= set(ops)
    (note,) = imported.report.notes
    assert "no longer those of a follower" in note


def test_other_names_and_another_layout_of_the_lines_change_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = whole_chain(folder, 1)
    text = emit_script(graph, CATALOG).text.replace("follow_boxes_kept", "k")
    _export(monkeypatch, text.replace("fn.stack(", "fn.stack(\n        "))
    assert canonical(there_and_back(graph, folder).graph) == canonical(graph)


def _export(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    from tests.emit.pipeline_import import test_roundtrip
    from workbench.emit.core.code import Code

    monkeypatch.setattr(test_roundtrip, "emit_script", lambda *_: Code(text, {}))


@pytest.mark.parametrize(
    ("comment", "op", "targets", "inputs", "args"),
    [
        (
            "Masks in step with images",
            "masks",
            ("masks",),
            {"masks": "masks", "image": "images"},
            {},
        ),
        (
            'Boxes in step with cut, from whole on, visible=0.5, format="relative xywh": '
            "b, n -> c, m",
            "boxes",
            ("c", "m"),
            {"boxes": "b", "labels": "n", "image": "cut", "before": "whole"},
            {"visible": 0.5, "format": "relative xywh"},
        ),
        (
            "In step with the images: boxes, labels = follow_boxes(boxes, cut, labels, visible=1)",
            "boxes",
            ("boxes", "labels"),
            {"boxes": "boxes", "labels": "labels", "image": "cut"},
            {"visible": 1},
        ),
    ],
)
def test_what_a_comment_says(
    comment: str, op: str, targets: object, inputs: object, args: object
) -> None:
    """The last one is that of programs exported before 26 November 2026."""
    lines = "".join(
        f"{name} = fn.copy({name})\n" for name in ("masks", "boxes", "labels", "c", "m")
    )
    (found,) = follower_source.written_followers("pipe.py", f"# {comment}\n{lines}")
    assert (found.op, found.targets) == (f"follow_{op}", targets)
    assert (found.inputs, found.args) == (inputs, args)


def test_another_comment_is_only_a_comment() -> None:
    assert not follower_source.has_followers("# boxes = follow_me(boxes, images)")
    assert not follower_source.has_followers("# Boxes in step with the images of COCO")
    assert not [*follower_source.written_followers("pipe.py", "# Masks in step with images\n")]


def test_what_is_done_to_masks_afterwards_stays_apart(folder: Path) -> None:
    graph = whole_chain(folder, 1)
    cast = Node("whole", "cast", {"dtype": "FLOAT"}, {"data": graph.outputs["masks"]})
    changed = with_nodes(graph, cast, masks=Port("whole", "output"))
    assert "    masks = fn.cast(masks, dtype=types.FLOAT)\n" in emit_script(changed, CATALOG).text
    _assert_same(changed, folder)
