"""Operators that are not part of DALI: blocks, followers, functions, arithmetic, readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.catalog.extra_operators.rows import read_operators
from workbench.catalog.extra_operators.user_functions import OWN_CODE
from workbench.catalog.spec import OpSpec
from workbench.catalog.tables import read_tables

BLOCKS = read_operators("blocks.toml")
"""Nodes with bodies of other nodes: Python statements."""
FOLLOWERS = read_operators("followers.toml")
"""Nodes that make boxes, points, masks and labels follow an image."""
CARRIERS = read_operators("carriers.toml")
"""Followers of images through blocks."""
BOX_FORMATS = FOLLOWERS["follow_boxes"].args["format"].choices
"""Left, top and width, height; left, top, right, bottom; or the centre and width, height."""
STRUCTURE: Mapping[str, OpSpec] = {**BLOCKS, **OWN_CODE, **FOLLOWERS, **CARRIERS}
"""Operators that do not require DALI."""


@dataclass(frozen=True, slots=True)
class FusedForm:
    """How one operator replaces an ``if`` block around it: a row of ``fused.toml``."""

    neutral: Mapping[str, int | float]
    requires: Mapping[str, bool] = field(default_factory=dict)
    types: tuple[str, ...] = ()


FUSED_FORMS: Mapping[str, FusedForm] = {
    op: FusedForm(**row) for op, row in read_tables("extra_operators/fused.toml").items()
}
"""By operator."""
