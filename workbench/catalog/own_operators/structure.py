"""The workbench's own nodes: blocks, followers, and functions. DALI is not needed to know them."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.own_operators.blocks import BLOCKS
from workbench.catalog.own_operators.followers import CARRIERS, FOLLOWERS
from workbench.catalog.own_operators.own_code import OWN_CODE
from workbench.catalog.spec import OpSpec

STRUCTURE: Mapping[str, OpSpec] = {**BLOCKS, **OWN_CODE, **FOLLOWERS, **CARRIERS}
"""By name."""
