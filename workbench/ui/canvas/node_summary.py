"""What a card of the canvas says of a node at a glance: its role, and which values were changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.catalog.spec import ArgSpec, OpSpec
from workbench.graph.model import Node
from workbench.graph.model.policy import policy_text
from workbench.graph.types.devices import is_generator
from workbench.ui.contract.views import Role

_ROLES: dict[str, Role] = {
    "source": "read",
    "decode": "decode",
    "geometry": "geometry",
    "crop": "geometry",
    "transforms": "geometry",
    "occlusion": "geometry",
    "boxes": "geometry",
    "points": "geometry",
    "masks": "geometry",
    "colour": "colour",
    "filter": "colour",
    "noise": "colour",
    "policy": "colour",
    "arithmetic": "arithmetic",
    "statistics": "arithmetic",
    "random": "arithmetic",
    "format": "output",
}
"""By category of the catalogue; a category that is not here has no role."""
_FEW = 4
"""Values of a list that are told."""


def role_of(spec: OpSpec | None) -> Role:
    """What kind of work an operator does: the card's colour."""
    if spec is None:
        return "other"
    if spec.reads:
        return "read"
    return _ROLES.get(spec.category, "other")


def changed_values(node: Node, spec: OpSpec | None) -> str:
    """``size 256, fill_value 0``: the arguments with another value than they start with.

    A generator says what it draws instead.
    """
    if spec is None or is_generator(spec):
        return ""
    told = [
        policy_text(value) if arg.kind == "policy" else f"{name} {_short(value)}"
        for name, value in node.args.items()
        if (arg := spec.args.get(name)) is not None and _is_changed(arg, value)
    ]
    return ", ".join(told)


def _is_changed(arg: ArgSpec, value: Any) -> bool:
    usual = arg.default if arg.start is None else arg.start
    return arg.form != "shown" and bool(value != usual)


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    if isinstance(value, str):
        line = value.partition("\n")[0]
        return line if len(line) <= 24 else f"{line[:23]}…"
    if isinstance(value, Sequence):
        shown = [_short(each) for each in value[:_FEW]]
        return ", ".join([*shown, "…"] if len(value) > _FEW else shown)
    return "…"
