"""Read the rules for transforming boxes, points and masks with an image from ``geometry.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from workbench.catalog.spec import OpSpec, Value
from workbench.catalog.tables import read_tables


@dataclass(frozen=True, slots=True)
class MaskCall:
    """An operator call that replaces the image's operator for masks.

    ``args`` maps argument names of ``op`` to argument names of the image's operator.
    """

    op: str
    args: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GeometryRule:
    """One rule of an operator; the fields are documented in ``geometry.toml``."""

    given: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    map: str = ""
    homography: bool = False
    linked: Mapping[str, str] = field(default_factory=dict)
    flips: Mapping[str, str] | None = None
    """Argument that mirrors the image, for each direction; empty if there is none. None for
    operators that do not keep the whole image."""
    rounds: bool = False
    cuts: bool = False
    reveals: bool = False
    covers: bool = False
    """Whether the operator moves no pixels but covers some (set by ``geometry_path``)."""
    exact: bool = False
    mask: Mapping[str, Value] = field(default_factory=dict)
    calls: tuple[MaskCall, ...] | None = None
    """Calls that transform masks, or None if masks use the same operator as the image."""


@dataclass(frozen=True, slots=True)
class GeometryRules:
    """Geometry rules of all operators, and the operators that do not move pixels."""

    rules: Mapping[str, tuple[GeometryRule, ...]]
    """Rules of each operator. The first rule whose conditions are met applies."""
    kept_operators: frozenset[str]
    kept_categories: frozenset[str]

    def keeps_places(self, spec: OpSpec) -> bool:
        """Return whether an operator moves no pixels of an image."""
        return spec.name in self.kept_operators or (
            spec.category in self.kept_categories and spec.name not in self.rules
        )

    def moves(self, op: str) -> bool:
        """Return whether an operator moves boxes and points, because it has geometry rules."""
        return op in self.rules


@cache
def geometry_rules() -> GeometryRules:
    """Return the rules of ``geometry.toml``."""
    tables = read_tables("geometry.toml")
    keeps = tables.pop("keeps")
    return GeometryRules(
        {op: tuple(map(_rule, rows)) for op, rows in tables.items()},
        frozenset(keeps["operators"]),
        frozenset(keeps["categories"]),
    )


def _rule(row: Mapping[str, Any]) -> GeometryRule:
    calls = row.get("calls")
    made = tuple(MaskCall(**call) for call in calls) if calls is not None else None
    return GeometryRule(**{**row, "calls": made})
