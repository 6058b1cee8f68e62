"""Operators that are not DALI's own: blocks, followers, functions, arithmetic, readers."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.own_operators.blocks import BLOCKS
from workbench.catalog.own_operators.followers import CARRIERS, FOLLOWERS
from workbench.catalog.own_operators.own_code import OWN_CODE
from workbench.catalog.spec import OpSpec

STRUCTURE: Mapping[str, OpSpec] = {**BLOCKS, **OWN_CODE, **FOLLOWERS, **CARRIERS}
"""By name: the operators that DALI is not needed to know."""
