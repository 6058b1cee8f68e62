"""The functions of DALI by which annotations follow: against NumPy, and as programs get them."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
import nvidia.dali as dali
import pytest
from numpy.typing import NDArray

from tests.helpers import CATALOG
from workbench.catalog.geometry import geometry_rules
from workbench.emit.annotations import helpers
from workbench.emit.annotations.copied_functions import (
    helper_sources,
    parameters_of,
    with_called,
)
from workbench.emit.targets import export
from workbench.graph import load_recipe

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
    assert "boxes = fn.bb_flip(boxes, ltrb=True, horizontal=mirror)\n" in text
