"""How targets follow each geometric operator: the rules of ``geometry.toml`` as frozen data."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from workbench.catalog.spec import OpSpec, Value
from workbench.errors import CatalogError


@dataclass(frozen=True, slots=True)
class MaskCall:
    """A call that a mask goes through in place of the image's: its arguments, new -> old."""

    op: str
    args: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GeometryRule:
    """One rule of an operator; ``geometry.toml`` says what the fields mean."""

    given: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    map: str = ""
    homography: bool = False
    linked: Mapping[str, str] = field(default_factory=dict)
    flips: Mapping[str, str] | None = None
    """None: the image after is not the whole image before, mirrored at most."""
    rounds: bool = False
    cuts: bool = False
    reveals: bool = False
    exact: bool = False
    mask: Mapping[str, Value] = field(default_factory=dict)
    calls: tuple[MaskCall, ...] | None = None
    """None: the same call as the image's."""


@dataclass(frozen=True, slots=True)
class GeometryRules:
    """All rules."""

    rules: Mapping[str, tuple[GeometryRule, ...]]
    """By operator; the first that fits is taken."""
    kept_operators: frozenset[str]
    kept_categories: frozenset[str]

    def keeps_places(self, spec: OpSpec) -> bool:
        """Whether an operator leaves every pixel of an image in its place."""
        return spec.name in self.kept_operators or (
            spec.category in self.kept_categories and spec.name not in self.rules
        )

    def moves(self, op: str) -> bool:
        """Whether there are rules for an operator."""
        return op in self.rules


@cache
def geometry_rules() -> GeometryRules:
    """The rules of this package. Raises CatalogError for a key that is not known."""
    text = files("workbench.catalog").joinpath("geometry.toml").read_text("utf-8")
    tables: dict[str, Any] = tomllib.loads(text)
    keeps = tables.pop("keeps")
    return GeometryRules(
        {op: tuple(_rule(op, row) for row in rows) for op, rows in tables.items()},
        frozenset(keeps["operators"]),
        frozenset(keeps["categories"]),
    )


def _rule(op: str, row: Mapping[str, Any]) -> GeometryRule:
    unknown = _unknown(row, GeometryRule.__slots__)
    if unknown:
        raise CatalogError(
            f"geometry.toml: [{op}] has {unknown}. Known are {', '.join(GeometryRule.__slots__)}."
        )
    calls = row.get("calls")
    made: dict[str, Any] = {name: _frozen(value) for name, value in row.items()}
    made["values"] = {n: tuple(map(_frozen, each)) for n, each in row.get("values", {}).items()}
    made["mask"] = {name: _frozen(value) for name, value in row.get("mask", {}).items()}
    if calls is not None:
        made["calls"] = tuple(MaskCall(each["op"], each["args"]) for each in calls)
    return GeometryRule(**made)


def _unknown(row: Mapping[str, Any], known: Collection[str]) -> str:
    return ", ".join(name for name in row if name not in known)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
