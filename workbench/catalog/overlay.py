"""The curated overlay: what DALI's schemas do not say, read from the TOML files in ``overlay/``.

A file holds one table per operator, named as in ``nvidia.dali.fn``::

    [rotate]
    category = "geometry"       # any of CATEGORIES
    label = "Rotate"
    image = true                # takes one image, gives one image
    alters = false              # its start values leave the pixels as they are
    needs_channels = 3          # DALI ends the process on any other number
    inputs = ["image"]          # port kinds, in order; image operators need none of these two
    outputs = { output = "image" }   # port names and kinds, in order
    unusable = "..."            # why it cannot be used; "" for "it can", against the rule
    exclusive = [["size", "scale"]]  # groups of arguments of which at most one can be given
    args.angle = { low = -180, high = 180, unit = "°", start = 15, advanced = false }

``[shared.args]`` holds rows for arguments that mean the same wherever they occur; an operator's
own row replaces single keys of it. ``shared.exclusive`` holds groups for every operator that has
all their arguments. Unknown operators, arguments and keys are errors.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.resources import files
from typing import Any, cast, get_args

from workbench.catalog.spec import ArgSpec, OpSpec, PortKind, PortSpec, Value
from workbench.catalog.usable import unusable_reason
from workbench.errors import CatalogError

_OP_KEYS = (
    *("category", "label", "image", "alters", "inputs", "outputs"),
    *("exclusive", "unusable", "args", "needs_channels"),
)
_ARG_KEYS = (
    *("label", "unit", "low", "high", "step", "minimum", "maximum"),
    *("choices", "start", "draw", "constant", "advanced"),
)
_KINDS: tuple[PortKind, ...] = get_args(PortKind)
CATEGORIES = (
    *("source", "decode", "geometry", "crop", "colour", "filter", "noise", "occlusion"),
    *("format", "random", "statistics", "boxes", "masks", "points", "transforms"),
    *("general", "video", "audio", "other"),
)
"""In the order in which a list of operators shows them."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Overlay:
    """The rows of all files: of operators by name, and what they share."""

    ops: Mapping[str, Row]
    shared: Mapping[str, Row]
    exclusive: tuple[tuple[str, ...], ...]
    origin: Mapping[str, str]
    """Operator name -> the file its row stands in."""


def read_overlay(texts: Mapping[str, str] | None = None) -> Overlay:
    """The overlay from TOML texts by file name; by default the files of this package.

    Raises CatalogError for text that is not TOML and for an operator with two rows.
    """
    ops: dict[str, Row] = {}
    origin: dict[str, str] = {}
    shared: dict[str, Row] = {}
    exclusive: list[tuple[str, ...]] = []
    for file, text in (_package_texts() if texts is None else texts).items():
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CatalogError(f"{file}: not TOML: {error}") from error
        common = tables.pop("shared", {})
        shared |= common.get("args", {})
        exclusive += map(tuple, common.get("exclusive", []))
        for name, row in tables.items():
            if name in ops:
                raise CatalogError(f"{file}: [{name}] has a row in {origin[name]} already")
            ops[name], origin[name] = row, file
    return Overlay(ops, shared, tuple(exclusive), origin)


def apply_overlay(
    ops: Iterable[OpSpec], overlay: Overlay, *, strict: bool = True
) -> dict[str, OpSpec]:
    """Operators by name with their rows merged in, and the reason why each is unusable.

    Raises CatalogError, naming file, row and nearest known name, for a row that fits no operator
    or argument and for an unknown key, kind or category. Unless ``strict``, rows for operators and
    arguments that this DALI lacks are passed over: an older or newer one must not end the program.
    """
    known = {op.name: op for op in ops}
    if not strict:
        overlay = _fitting(overlay, known)
    for name in overlay.ops:
        _demand(name, known, f"{overlay.origin[name]}: [{name}]: operator")
    return {name: _merged(op, overlay) for name, op in known.items()}


def _fitting(overlay: Overlay, known: Mapping[str, OpSpec]) -> Overlay:
    ops = {}
    for name, row in overlay.ops.items():
        if name in known:
            args = {arg: r for arg, r in row.get("args", {}).items() if arg in known[name].args}
            groups = [g for g in row.get("exclusive", []) if set(g) <= known[name].args.keys()]
            ops[name] = {**row, "args": args, "exclusive": groups}
    return replace(overlay, ops=ops)


def _package_texts() -> dict[str, str]:
    folder = files("workbench.catalog") / "overlay"
    return {
        file.name: file.read_text("utf-8")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    }


def _merged(op: OpSpec, overlay: Overlay) -> OpSpec:
    row = overlay.ops.get(op.name)
    if row is None:
        op = replace(op, label=_label(op.name))
        return replace(op, unusable=unusable_reason(op, described=False))
    where = f"{overlay.origin[op.name]}: [{op.name}]"
    for key in row:
        _demand(key, _OP_KEYS, f"{where}: key")
    category = row.get("category", "other")
    _demand(category, CATEGORIES, f"{where}: category")
    image = row.get("image", False)
    own = row.get("args", {})
    for name in own:
        _demand(name, op.args, f"{where}: argument")
    merged = replace(
        op,
        category=category,
        label=row.get("label", _label(op.name)),
        image=image,
        alters=row.get("alters", True),
        needs_channels=row.get("needs_channels"),
        inputs=_input_kinds(op, row.get("inputs", ["image"] if image else []), where),
        outputs=_output_kinds(op, row.get("outputs", {"output": "image"} if image else {}), where),
        args={
            name: _argument(spec, {**overlay.shared.get(name, {}), **own.get(name, {})}, where)
            for name, spec in op.args.items()
        },
    )
    merged = replace(merged, exclusive=_exclusive(op, row, overlay.exclusive, where))
    reason = row.get("unusable", unusable_reason(merged, described=True))
    return replace(merged, unusable=reason or None)


def _input_kinds(op: OpSpec, kinds: list[str], where: str) -> tuple[PortSpec, ...]:
    if len(kinds) > len(op.inputs):
        raise CatalogError(
            f"{where}: inputs: {len(kinds)} kinds, but it has {len(op.inputs)} named inputs"
        )
    padded = [*kinds, *["any"] * (len(op.inputs) - len(kinds))]
    return tuple(
        replace(port, kind=_kind(kind, f"{where}: inputs"))
        for port, kind in zip(op.inputs, padded, strict=True)
    )


def _output_kinds(op: OpSpec, kinds: Mapping[str, str], where: str) -> tuple[PortSpec, ...]:
    if not kinds:
        return op.outputs
    if len(kinds) != len(op.outputs):
        raise CatalogError(
            f"{where}: outputs: {len(kinds)} ports, but it has {len(op.outputs)} outputs"
        )
    return tuple(PortSpec(name, _kind(kind, f"{where}: outputs")) for name, kind in kinds.items())


def _exclusive(
    op: OpSpec, row: Row, shared: tuple[tuple[str, ...], ...], where: str
) -> tuple[tuple[str, ...], ...]:
    own = [tuple(group) for group in row.get("exclusive", [])]
    for name in (name for group in own for name in group):
        _demand(name, op.args, f"{where}: exclusive: argument")
    return (*(group for group in shared if set(group) <= set(op.args)), *own)


def _kind(kind: str, where: str) -> PortKind:
    _demand(kind, _KINDS, f"{where}: kind")
    return cast(PortKind, kind)


def _argument(spec: ArgSpec, row: Row, where: str) -> ArgSpec:
    for key in row:
        _demand(key, _ARG_KEYS, f"{where}: args.{spec.name}: key")
    fields: dict[str, Any] = {key: _frozen(value) for key, value in row.items()}
    return replace(spec, **{"label": _label(spec.name), **fields})


def _frozen(value: Any) -> Value:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _label(name: str) -> str:
    words = name.rsplit(".", 1)[-1].replace("_", " ")
    return words[:1].upper() + words[1:]


def _demand(found: str, known: Iterable[str], what: str) -> None:
    names = list(known)
    if found in names:
        return
    near = get_close_matches(found, names, n=3)
    hint = f"Did you mean {', '.join(near)}?" if near else f"Known: {', '.join(names[:20])}."
    raise CatalogError(f"{what} {found!r} is not known. {hint}")
