"""The canvas of an image that is turned by a fixed angle, beside what DALI gives."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from workbench.catalog import load_catalog
from workbench.graph.model import Node
from workbench.graph.types.shape_inference import SHAPE_RULES
from workbench.graph.types.tensor_type import TensorType, TypedCall

COUNT = 300


def test_it_has_the_size_that_dali_gives_it() -> None:
    from nvidia.dali import fn, pipeline_def

    draw = random.Random(0)
    usual = (0, 5, 20, 30, 45, -45, 60, 90, -90, 135, 180)
    cases = [
        (draw.randint(1, 300), draw.randint(1, 300), draw.choice([*usual, draw.uniform(-400, 400)]))
        for _ in range(COUNT)
    ]
    images = [np.zeros((height, width, 3), np.uint8) for height, width, _ in cases]
    angles = [np.float32(angle) for *_, angle in cases]

    @pipeline_def(batch_size=COUNT, num_threads=1, device_id=None)
    def turned() -> Any:
        image = fn.external_source([images], layout="HWC")
        return fn.rotate(image, angle=fn.external_source([angles]))

    (found,) = turned().run()
    told = [shape_of(height, width, angle) for height, width, angle in cases]
    known = [(one, tuple(found.at(index).shape)) for index, one in enumerate(told) if one[0]]
    assert len(known) > 0.8 * COUNT
    assert [one for one, _ in known] == [shape for _, shape in known]


def shape_of(height: int, width: int, angle: Any) -> tuple[int | None, ...]:
    spec = load_catalog()["rotate"]
    flow = TensorType(shape=(height, width, 3), layout="HWC")
    made = SHAPE_RULES["canvas"](TypedCall(Node("r", "rotate", {"angle": angle}), spec, {}), flow)
    assert made.shape is not None
    return made.shape


@pytest.mark.parametrize("angle", ["a", float("nan"), float("inf"), None, (1.0, 2.0)])
def test_another_angle_is_of_no_known_size(angle: Any) -> None:
    assert shape_of(10, 20, angle) == (None, None, 3)
