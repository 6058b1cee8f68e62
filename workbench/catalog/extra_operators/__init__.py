"""Define operators that are not part of DALI: blocks, followers, functions, arithmetic, readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.catalog.extra_operators.rows import read_operators
from workbench.catalog.extra_operators.user_functions import OWN_CODE
from workbench.catalog.spec import OpSpec
from workbench.catalog.tables import read_tables

BLOCKS = read_operators("blocks.toml")
"""Operators with bodies (``if``, one of, some of, repeat), exported as Python statements."""
FOLLOWERS = read_operators("followers.toml")
"""Operators that transform boxes, points, masks and labels in the same way as an image."""
CARRIERS = read_operators("carriers.toml")
"""Operators that pass the intermediate results of ``FOLLOWERS`` through blocks."""
BOX_FORMATS = FOLLOWERS["follow_boxes"].args["format"].choices
"""Formats of boxes: left, top, width, height; left, top, right, bottom; centre, width, height."""
STRUCTURE: Mapping[str, OpSpec] = {**BLOCKS, **OWN_CODE, **FOLLOWERS, **CARRIERS}
"""Operators that are defined here and not read from DALI's schemas, by name."""


@dataclass(frozen=True, slots=True)
class FusedForm:
    """Neutral argument values that let an operator replace an ``if`` block around it.

    The fields are documented in ``fused.toml``.
    """

    neutral: Mapping[str, int | float]
    requires: Mapping[str, bool] = field(default_factory=dict)
    types: tuple[str, ...] = ()


FUSED_FORMS: Mapping[str, FusedForm] = {
    op: FusedForm(**row) for op, row in read_tables("extra_operators/fused.toml").items()
}
"""The row of ``fused.toml`` for each operator."""
