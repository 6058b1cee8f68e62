"""Boxes over the edge are clipped before ``random_bbox_crop``: sources, layouts, import."""

from __future__ import annotations

import builtins
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import nvidia.dali as dali
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.graph.annotations.test_mixes import start_of
from tests.helpers import CATALOG, import_script, script_batches, with_nodes, with_settings
from workbench.catalog.geometry import geometry_rules
from workbench.emit.annotations import helpers
from workbench.emit.annotations.copied_functions import (
    helper_sources,
    parameters_of,
    with_called,
)
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.importing import from_file
from workbench.errors import GraphError, PipelineError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.variants.source_annotations import with_opened
from workbench.health import check_folder, scan_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples.records import encode_example, encode_tfrecord, write_shard
from workbench.sources import data_facts, list_samples, open_dataset, open_datasets

OVER = ([60, 10, 20.3, 20], [10, -0.0001, 20, 20], [-0.4, 10, 20, 20], [50, 30, 45, 31])
"""Boxes (left, top, width, height) over the edge of an image of 80x60."""
KINDS = ("coco", "tfrecord_boxes", "webdataset_boxes")


def jpeg() -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(buffer, "JPEG")
    return buffer.getvalue()


def written(kind: str, folder: Path, boxes: list[list[float]]) -> str:
    """Data of a kind with one image for each box, which follows a box inside the image."""
    pairs = [([10.0, 10.0, 30.0, 30.0], box) for box in boxes]
    if kind == "tfrecord_boxes":
        names = ("xmin", "ymin", "xmax", "ymax")
        records = []
        for pair in pairs:
            corners = [(x / 80, y / 60, (x + w) / 80, (y + h) / 60) for x, y, w, h in pair]
            sides = {
                f"image/object/bbox/{name}": [float(each[at]) for each in corners]
                for at, name in enumerate(names)
            }
            labels = {"image/object/class/label": [1, 1]}
            records.append(
                encode_tfrecord(encode_example({"image/encoded": jpeg(), **sides, **labels}))
            )
        path = folder / "boxes.tfrecord"
        path.write_bytes(b"".join(records))
        return f"{kind}:{path}"
    objects = [[{"bbox": box, "category_id": 1} for box in pair] for pair in pairs]
    if kind == "webdataset_boxes":
        path = folder / "boxes.tar"
        write_shard([{"jpg": jpeg(), "json": json.dumps(each).encode()} for each in objects], path)
        return f"{kind}:{path}"
    for number in range(len(pairs)):
        (folder / f"{number}.jpg").write_bytes(jpeg())
    images = [
        {"id": at, "file_name": f"{at}.jpg", "width": 80, "height": 60} for at in range(len(pairs))
    ]
    annotations = [
        {"id": 2 * at + n, "image_id": at, "area": 9, "iscrowd": 0, **one}
        for at, pair in enumerate(objects)
        for n, one in enumerate(pair)
    ]
    path = folder / "annotations.json"
    categories = [{"id": 1, "name": "thing"}]
    document = {"images": images, "annotations": annotations, "categories": categories}
    path.write_text(json.dumps(document))
    return str(path)


def cropping(ltrb: bool = True, between: tuple[Node, ...] = (), **args: object) -> Graph:
    """A graph of a user's own whose ``random_bbox_crop`` reads the boxes of the source."""
    start = start_of("coco", ratio=True, ltrb=ltrb)
    layout = {"bbox_layout": "xyXY" if ltrb else "xyWH"}
    boxes = Port(between[-1].id, "output") if between else Port("reader", "boxes")
    inputs = {"boxes": boxes, "labels": Port("reader", "labels")}
    crop = Node(
        "crop", "random_bbox_crop", {**layout, "thresholds": (0.0,), **args}, inputs, seed=1
    )
    return with_nodes(
        start, *between, crop, boxes=Port("crop", "boxes"), labels=Port("crop", "labels")
    )


@pytest.mark.parametrize("ltrb", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_boxes_over_the_edge_are_clipped_whatever_the_source(
    kind: str, ltrb: bool, tmp_path: Path
) -> None:
    boxes = [*OVER, [10, 10, 20, 20]]
    place = written(kind, tmp_path, boxes)
    graph = with_opened(with_settings(cropping(ltrb), batch_size=5), open_datasets(place), CATALOG)
    dataset = open_dataset(place)
    (batch,) = script_batches(graph, dataset, 1, tmp_path)
    for found, (x, y, w, h) in zip(batch[1], boxes, strict=True):
        low = np.clip([x / 80, y / 60], 0, 1)
        high = np.clip([(x + w) / 80, (y + h) / 60], 0, 1)
        wanted = [*low, *(high if ltrb else high - low)]
        np.testing.assert_allclose(found[1], wanted, atol=1e-6)


def test_preview_and_export_agree_and_check_counts(engine: Engine, tmp_path: Path) -> None:
    place = written("coco", tmp_path, [*OVER])
    graph = with_settings(cropping(), batch_size=4)
    report = Verifier(graph, place, 1, engine=engine).run()
    assert report.exact, report.lines()
    assert not report.left_out
    (warning,) = preview_batch(engine, PreviewRequest(graph, place, tiles=2)).warnings
    assert warning.message.startswith("4 images have boxes beyond the edge, which are clipped")
    assert "0.jpg: the box [60, 10, 20.3, 20] of its annotation 1 reaches 0.3" in warning.message
    assert check_folder(place, full=False).counts["box"] == 4


@pytest.mark.parametrize("name", ["clip_boxes", "clip_sized_boxes"])
def test_boxes_inside_are_unchanged_and_clipped_ones_are_accepted(name: str) -> None:
    fn, pipeline_def = dali.fn, dali.pipeline_def
    sized = name == "clip_sized_boxes"
    layout = "xyWH" if sized else "xyXY"
    generator = np.random.default_rng(2)
    low = generator.uniform(-0.2, 0.8, (2000, 2)).astype(np.float32)
    high = low + generator.uniform(0.3, 0.5, (2000, 2)).astype(np.float32)
    read = np.concatenate([low, high - low if sized else high], axis=1)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=1)
    def pipe() -> Any:
        boxes = getattr(helpers, name)(fn.external_source(lambda: [read]))
        cropped = fn.random_bbox_crop(boxes, bbox_layout=layout)
        return boxes, cropped[2]

    boxes, cropped = (np.array(each[0]) for each in pipe().run())
    assert len(cropped)
    ends = read[:, :2] + read[:, 2:] if sized else read[:, 2:]
    inside = (read[:, :2] >= 0) & (ends <= 1)
    both = np.concatenate([inside, inside], axis=1)
    np.testing.assert_array_equal(boxes[both], read[both])
    assert 0.2 < inside.mean() < 0.8


@pytest.mark.parametrize("box", [[90, 10, 5, 5], [10, 61, 5, 5]])
def test_a_box_outside_the_image_is_not_made_one_without_an_area(
    box: list[float], tmp_path: Path
) -> None:
    place = written("webdataset_boxes", tmp_path, [box])
    graph = with_opened(with_settings(cropping(), batch_size=1), open_datasets(place), CATALOG)
    with pytest.raises((PipelineError, RuntimeError, ValueError)):
        script_batches(graph, open_dataset(place), 1, tmp_path)


@pytest.mark.parametrize("ltrb", [True, False])
def test_it_comes_back_from_a_script_as_it_was(ltrb: bool, tmp_path: Path) -> None:
    data = {"data": Port("reader", "boxes")}
    clamp = Node("clamp", "math.clamp", {"lo": 0.0, "hi": 1.0}, data)
    for number, graph in enumerate((cropping(ltrb), cropping(ltrb, (clamp,)))):
        path = tmp_path / f"pipe_{number}.py"
        path.write_text(export(graph, "script", CATALOG).main.text)
        assert "clip_" in path.read_text()
        imported = from_file(path)
        assert [(n.op, n.args) for n in imported.graph.nodes[1:]] == [
            (node.op, node.args) for node in graph.nodes[1:]
        ]
        assert len(imported.report.exact) == len(graph.nodes)


def test_a_clip_of_the_users_own_stays(tmp_path: Path) -> None:
    text = export(cropping(), "script", CATALOG).main.text
    path = tmp_path / "pipe.py"
    path.write_text(text.replace("math.clamp(boxes, 0.0, 1.0)", "math.clamp(boxes, 0.0, 0.9)"))
    assert "math.clamp" in [node.op for node in from_file(path).graph.nodes]


@pytest.mark.parametrize("target", ["pytorch", "dynamic", "notebook", "lightning", "ray"])
def test_every_target_clips(target: str) -> None:
    text = export(cropping(), target, CATALOG).main.text
    assert "clip_boxes(boxes)" in text
    assert "def clip_boxes(" in text


def test_dynamic_mode_clips_as_the_script(tmp_path: Path) -> None:
    place = written("coco", tmp_path, [*OVER])
    for ltrb in (True, False):
        graph = with_settings(cropping(ltrb), batch_size=4)
        module = import_script(export(graph, "dynamic", CATALOG).main.text, tmp_path)
        (expected,) = script_batches(graph, open_dataset(place), 1, tmp_path)
        boxes = next(module.batches(place, 4))[1]
        for ours, theirs in zip(boxes, expected[1], strict=True):
            np.testing.assert_array_equal(np.asarray(ours), theirs)


def test_a_function_of_the_same_name_is_refused() -> None:
    nodes = [*cropping().nodes, Node("own", "python_function", {"function": "clip_boxes"})]
    with pytest.raises(
        GraphError, match="Exported programs already define a function 'clip_boxes'"
    ):
        helper_sources({"clip_boxes"}, nodes)


def test_data_facts_tell_both_kinds_apart(tmp_path: Path) -> None:
    boxes = [*OVER, [10, 10, 0, 5], [10, 10, 0.05, 5], [10, 10, 5, 5]]
    for kind in KINDS:
        facts = data_facts(open_dataset(written(kind, tmp_path, [*boxes])))
        assert facts.outside == 4
        assert facts.without_area == (2 if kind == "coco" else 1)
        assert "beyond the edge" in facts.first_outside
        assert "has no width" in facts.first_without_area


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("box", [[90, 10, 5, 5], [10, 61, 5, 5]])
def test_a_box_outside_the_image_is_bad_in_check_panel_and_warning(
    kind: str, box: list[float], tmp_path: Path
) -> None:
    place = written(kind, tmp_path, [[10, 10, 5, 5], box, [60, 10, 20.3, 20]])
    (bad,) = check_folder(place, full=False).bad
    assert "is outside the image" in bad.reason
    counted = scan_folder(place)
    assert (counted.at_fault, counted.odd_boxes) == (1, 1)
    facts = data_facts(open_dataset(place))
    assert (facts.unusable, facts.outside) == (1, 1)
    assert "beyond the edge" in facts.first_outside


@pytest.mark.parametrize("orientation", [1, 6])
def test_boxes_in_archives_are_compared_with_the_upright_image(
    orientation: int, tmp_path: Path
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    buffer = io.BytesIO()
    Image.new("RGB", (80, 60)).save(buffer, "JPEG", exif=exif, comment=b"x" * 65_500)
    note = json.dumps([{"bbox": [10, 10, 65, 45], "category_id": 1}]).encode()
    write_shard([{"jpg": buffer.getvalue(), "json": note}], tmp_path / "a.tar")
    (sample,) = list_samples(open_dataset(f"webdataset_boxes:{tmp_path / 'a.tar'}"))
    assert sample.remark.endswith("beyond the edge") == (orientation == 6)


Array = NDArray[Any]
BOXES = np.float32([[10, 20, 50, 40], [-5, 10, 20, 90], [200, 10, 260, 30], [90, 40, 140, 80]])
SIZE = np.float32([100, 80])
MATRIX = np.float32([[0.8, -0.6, 12], [0.5, 0.9, -7]])
PERSPECTIVE = np.float32([[1.1, 0.2, 3], [-0.1, 0.9, 5], [0.001, 0.002, 1]])
EVERY = [
    name
    for name, value in vars(helpers).items()
    if getattr(value, "__module__", "") == helpers.__name__
]


def batch_of(value: Array) -> Callable[[], list[Array]]:
    def give() -> list[Array]:
        return [value]

    return give


def run(function: Callable[..., Any], *given: Array) -> list[Array]:
    """What a function of nodes returns for arrays."""

    @dali.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipe() -> Any:
        fed = [dali.fn.external_source(batch_of(each)) for each in given]
        made = function(*fed)
        return made if isinstance(made, tuple) else (made,)

    built = pipe()
    built.build()
    return [np.array(each[0]) for each in built.run()]


def around(places: Array) -> Array:
    return np.concatenate([places.min(axis=1), places.max(axis=1)], axis=1)


def corners(boxes: Array) -> Array:
    return np.ascontiguousarray(boxes[:, [[0, 1], [2, 1], [2, 3], [0, 3]]])


@pytest.mark.parametrize("boxes", [BOXES, BOXES[:0]], ids=["four", "none"])
def test_boxes_after_an_affine_map(boxes: Array) -> None:
    (found,) = run(helpers.boxes_after_affine, boxes, MATRIX)
    wanted = around(corners(boxes) @ MATRIX[:, :2].T + MATRIX[:, 2]) if len(boxes) else boxes
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_places_after_a_perspective() -> None:
    points = np.float32([[3, 4], [50, 60], [0, 0]])
    moved = np.concatenate([points, np.ones((3, 1))], axis=1) @ PERSPECTIVE.T
    (found,) = run(helpers.points_after_perspective, points, PERSPECTIVE)
    np.testing.assert_allclose(found, moved[:, :2] / moved[:, 2:], rtol=1e-5)
    (of_boxes,) = run(helpers.corners_after_perspective, corners(BOXES), PERSPECTIVE)
    (one_by_one,) = run(
        helpers.points_after_perspective, corners(BOXES).reshape(-1, 2), PERSPECTIVE
    )
    np.testing.assert_array_equal(of_boxes, one_by_one.reshape(-1, 4, 2))


def test_inverses() -> None:
    (inverse,) = run(helpers.inverse_matrix, MATRIX)
    square = [np.vstack([each, [0, 0, 1]]) for each in (MATRIX, inverse)]
    np.testing.assert_allclose(square[0] @ square[1], np.eye(3), atol=1e-4)
    (inverse,) = run(helpers.inverse_perspective, PERSPECTIVE)
    product = PERSPECTIVE @ inverse
    np.testing.assert_allclose(product / product[2, 2], np.eye(3), atol=1e-4)


def test_what_is_hardly_seen_is_left_out_with_its_label() -> None:
    labels = np.int32([7, 8, 9, 10])
    for visible, kept in ((0.0, [0, 1, 3]), (0.25, [0, 1]), (0.8, [0])):

        def left(boxes: Any, size: Any, numbers: Any, share: float = visible) -> Any:
            return helpers.visible_boxes(boxes, size, numbers, share)

        boxes, numbers = run(left, BOXES, SIZE, labels)
        np.testing.assert_array_equal(numbers, labels[kept])
        wanted = np.clip(BOXES[kept], 0, np.tile(SIZE, 2))
        np.testing.assert_allclose(boxes, wanted, rtol=1e-5, atol=1e-4)
    for given in (BOXES[2:3], BOXES[:0]):
        boxes, numbers = run(helpers.visible_boxes, given, SIZE, labels[: len(given)])
        assert (boxes.shape, numbers.shape) == ((0, 4), (0,))
        (boxes,) = run(helpers.visible_boxes, given, SIZE)
        assert boxes.shape == (0, 4)


def test_corners_partly_outside_become_those_of_what_is_inside() -> None:
    turned = corners(BOXES[:1]) @ MATRIX[:, :2].T + np.array([20, 0])
    given = np.concatenate([turned, corners(BOXES[1:2])]).astype(np.float32)
    (found,) = run(helpers.clipped_corners, given, SIZE)
    np.testing.assert_array_equal(found[0], given[0])
    np.testing.assert_array_equal(found[1], corners(np.float32([[0, 10, 20, 80]]))[0])


@pytest.mark.parametrize("order", ["xywh", "cxcywh"])
def test_formats_there_and_back(order: str) -> None:
    (there,) = run(getattr(helpers, f"ltrb_to_{order}"), BOXES)
    sides = BOXES[:, 2:] - BOXES[:, :2]
    first = BOXES[:, :2] + (sides / 2 if order == "cxcywh" else 0)
    np.testing.assert_allclose(there, np.concatenate([first, sides], axis=1))
    (back,) = run(getattr(helpers, f"{order}_to_ltrb"), there)
    np.testing.assert_allclose(back, BOXES)


def test_points_inside_are_on_the_image_and_numbers() -> None:
    points = np.float32([[0, 0], [100, 80], [101, 10], [-1, 10], [np.nan, 3], [5, np.inf]])
    (found,) = run(helpers.points_inside, points, SIZE)
    assert found.tolist() == [True, True, False, False, False, False]


def test_polygons_count_the_boxes_that_are_left() -> None:
    rows = np.int32([[0, 0, 4], [1, 4, 8], [1, 8, 12], [3, 12, 16]])
    (found,) = run(helpers.renumbered_polygons, rows, np.int32([0, 3]))
    np.testing.assert_array_equal(found, [[0, 0, 4], [-1, 4, 8], [-1, 8, 12], [1, 12, 16]])
    (none,) = run(helpers.renumbered_polygons, rows[:0], np.int32([0, 3]))
    assert none.shape == (0, 3)


def test_defaults_of_matrices_are_those_of_dali() -> None:
    compared = 0
    for op, rules in geometry_rules().rules.items():
        args = CATALOG[op].args
        for rule in rules:
            if not rule.map or rule.map in rule.linked or rule.flips:
                continue  # whether an image is mirrored is always written
            for name, parameter in parameters_of(rule.map).items():
                if name in ("before", "after", "window") or name in rule.linked:
                    continue
                if name in rule.given and name in {each.name for each in CATALOG[op].inputs}:
                    continue
                assert name in args, f"{rule.map} of {op} has a parameter {name}"
                if parameter.default is parameter.empty:
                    assert name in rule.given or args[name].required, f"{rule.map} of {op}"
                elif name != "axes":
                    default = args[name].default
                    default = default[0] if isinstance(default, tuple) else default
                    assert parameter.default == default, f"{rule.map} of {op}: {name}"
                    compared += 1
    assert compared > 10


@pytest.mark.parametrize("name", EVERY)
def test_a_copy_needs_nothing_but_what_it_brings(name: str) -> None:
    """The text of a function and of those it calls runs where DALI alone is imported."""
    scope: dict[str, Any] = {"fn": dali.fn, "math": dali.math, "types": dali.types, "Any": Any}
    exec(helper_sources({name}, []), scope)
    brought = with_called([name])
    assert name in brought
    for each in brought:
        inner = scope[each].__code__
        for read in inner.co_names:
            known = read in scope or hasattr(builtins, read)
            assert known or not hasattr(helpers, read), f"{each} reads {read}"


def test_programs_get_the_functions_that_they_call_alone() -> None:
    text = export(load_recipe("ssd"), "script", CATALOG, plain=True).main.text
    assert [name for name in EVERY if f"def {name}(" in text] == ["clip_boxes"]
    assert "boxes = fn.bb_flip(boxes, ltrb=True, horizontal=flip)\n" in text
