"""Members of DALI's enumerations by their numbers, as serialised pipelines hold them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any


@cache
def enum_names(enum: str) -> Mapping[int, str]:
    """Number -> name of each member of an enumeration in ``nvidia.dali.types``; imports DALI."""
    from nvidia.dali import types

    members: Mapping[str, Any] = getattr(types, enum).__members__
    return {int(member): name for name, member in reversed(list(members.items()))}
