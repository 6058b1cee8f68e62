"""What is said of a shape is what was drawn."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from PIL import Image

from workbench.samples.shapes import (
    CLASSES,
    KEY_POINTS,
    OUTLINES,
    SCENES,
    Scene,
    inside,
    scenes,
    shape_at,
)


@cache
def grey(name: str) -> Image.Image:
    return Image.new("RGB", (600, 500), (128, 128, 128))


@pytest.fixture(scope="module")
def pictures() -> tuple[Scene, ...]:
    return scenes(grey, ("a", "b"))


def test_every_class_is_there_and_pictures_have_one_to_four(pictures: tuple[Scene, ...]) -> None:
    assert len(pictures) == SCENES
    assert {shape.name for one in pictures for shape in one.shapes} == set(CLASSES)
    assert {len(one.shapes) for one in pictures} == {1, 2, 3, 4}
    assert {one.label for one in pictures} == set(range(len(CLASSES)))


def test_a_mask_is_what_was_drawn(pictures: tuple[Scene, ...]) -> None:
    for one in pictures:
        for number, shape in enumerate(one.shapes):
            mask = one.instances == number + 1
            assert (one.classes[mask] == shape.label).all()
            colour = np.abs(one.pixels.astype(int) - shape.colour).sum(axis=2)
            changed = (one.pixels != 128).any(axis=2)
            left, top, right, bottom = shape.box
            rows, columns = np.nonzero(mask)
            assert left - 0.5 <= columns.min() <= left + 1.5
            assert top - 0.5 <= rows.min() <= top + 1.5
            assert right - 2.5 <= columns.max() <= right
            assert bottom - 2.5 <= rows.max() <= bottom
            full = inside(shape.corners, *one.size, fine=4)
            full = full.reshape(one.size[1], 4, one.size[0], 4).all(axis=(1, 3))
            assert (colour[full] == 0).all()
            assert changed[mask].all()
            assert mask.sum() == pytest.approx(shape.area, rel=0.03)
        background = one.classes == 0
        assert (one.pixels[background] == 128).all(axis=1).mean() > 0.97  # the rest are edges


def test_shapes_lie_inside_and_apart(pictures: tuple[Scene, ...]) -> None:
    for one in pictures:
        boxes = np.array([shape.box for shape in one.shapes])
        assert (boxes[:, :2] >= 0).all()
        assert (boxes[:, 2:] <= one.size).all()
        for index, box in enumerate(boxes):
            for other in boxes[index + 1 :]:
                assert (box[2:] < other[:2]).any() or (other[2:] < box[:2]).any()


@pytest.mark.parametrize("name", CLASSES)
def test_key_points_turn_with_their_shape(name: str) -> None:
    corners, points = OUTLINES[name]
    assert len(points) == len(KEY_POINTS)
    upright = shape_at(name, (50, 60), 20, 0, "red")
    assert upright.points[0][1] == min(y for _, y in upright.corners)  # the tip is above
    assert upright.points[1][0] > upright.points[4][0] > upright.points[3][0]
    turned = shape_at(name, (50, 60), 20, np.pi, "red")
    np.testing.assert_allclose(np.array(turned.points), [100, 120] - np.array(upright.points))
    assert len(turned.corners) == len(corners)


def test_inside_of_a_triangle_is_what_lies_right_of_its_sides() -> None:
    corners = [(10.3, 5.2), (52.9, 20.1), (30.4, 48.7)]
    wanted = np.ones((56, 64), np.bool_)
    y, x = np.mgrid[:56, :64] + 0.5
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        wanted &= (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0)
    assert (inside(corners, 64, 56) == wanted).all()
    assert wanted.sum() > 500
