"""What operators do to a shape: a function for each ``ShapeWord`` of the overlay.

Each takes the call and what flows into it and gives what flows out, element type apart. Facts were
tried with DALI 2.4; the tests compare them with what comes out of every operator.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import ShapeWord
from workbench.graph.types.shape_inference.axes import AXIS_RULES
from workbench.graph.types.shape_inference.images import IMAGE_RULES
from workbench.graph.types.tensor_type import ShapeRule

SHAPE_RULES: Mapping[ShapeWord, ShapeRule] = {**IMAGE_RULES, **AXIS_RULES}
