"""Read the curated overlay: facts that DALI's schemas lack, from the TOML files in ``overlay/``.

A file contains one table per operator, named as in ``nvidia.dali.fn``::

    [rotate]
    category = "geometry"       # any of CATEGORIES, or of ``shared.categories``
    label = "Rotate"
    synonyms = ["turn"]         # other names, and those of other libraries
    image = true                # one image input and one image output
    alters = false              # its initial values do not change pixels
    needs_channels = 3          # DALI crashes with any other number; or an argument's name
    takes = ["UINT8"]           # element types of the first input; none for any; or a table of
                                # them by the input's name
    same_dtype = [["anchor", "shape_input"]]   # inputs that need equal element types
    inputs = ["image"]          # port kinds, in order; optional for image operators, like outputs
    outputs = { output = "image" }   # port names and kinds, in order; "same": the first input's
    layouts = { data = ["FHWC"] }    # accepted layouts, if the schema has none
    ports = 1                   # number of inputs that are offered; the others are not useful here
    adds.labels = { labels = "label" }   # outputs that an optional input adds when connected,
                                # or an argument when it is neither False nor "none"
    gives = { dtype = "input", layout = "input", shape = "canvas" }   # see ``OutputRule``; these
                                # three for every output, or a table of them by the output's name
    numbers.a = "population"    # an argument in place of an input: fn.f(3)
    feeds.mtx = { op = "transforms.rotation", args = { angle = 15 } }   # can feed a port
    unusable = "..."            # why it is not supported; "" declares it supported
    mutually_exclusive = [["size", "scale"]]  # at most one of each group
    together = [["crop_h", "crop_w"]]  # all or none of each group
    one_of = [["fdata", "idata"]]    # at least one of each group
    whole_batch = true          # the result depends on the other samples of the batch
    args.angle = { low = -180, high = 180, unit = "°", start = 15, advanced = false }
    args.size = { form = "fields", parts = ["h", "w"] }   # its control, see ``Form``
    args.dtype.refused.INT8 = "overflows"   # a value that must not be used, with the reason

The inspector and the code show an operator's arguments in the order of its rows. ``[shared.args]``
contains rows for arguments that mean the same everywhere; an operator's own row replaces single
keys. ``shared.mutually_exclusive`` contains groups for every operator that has all their arguments,
``shared.categories`` additional categories. Unknown operators, arguments and keys are errors.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.resources import files
from typing import Any, cast, get_args

from workbench.catalog.spec import (
    NOTHING_KNOWN,
    ArgSpec,
    Feed,
    Form,
    OpSpec,
    OutputRule,
    PortKind,
    PortSpec,
    ShapeWord,
    Value,
)
from workbench.errors import CatalogError
from workbench.sources import kind_of_reader, load_source

_OP_KEYS = (
    *("category", "label", "image", "alters", "inputs", "outputs"),
    *("mutually_exclusive", "unusable", "args", "needs_channels", "ports", "gives", "adds"),
    *("numbers", "feeds", "together", "one_of", "whole_batch", "layouts", "takes", "same_dtype"),
    "synonyms",
)
_ARG_KEYS = (
    *("label", "unit", "low", "high", "step", "minimum", "maximum"),
    *("choices", "start", "draw", "constant", "advanced", "form", "parts", "items", "elements"),
    *("volume_items", "refused", "members"),
)
_GIVES_KEYS = ("dtype", "layout", "shape")
_FEED_KEYS = ("op", "args", "output")
_WORDS: tuple[ShapeWord, ...] = get_args(ShapeWord)
_KINDS: tuple[PortKind, ...] = get_args(PortKind)
_FORMS: tuple[Form, ...] = get_args(Form)
CATEGORIES = (
    *("source", "decode", "geometry", "crop", "colour", "filter", "noise", "occlusion"),
    *("policy", "format", "arithmetic", "random", "statistics", "boxes", "masks", "points"),
    *("transforms", "general", "video", "audio", "other"),
)
"""Order of categories in a list of operators; categories of overlay files are appended."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Overlay:
    """Contents of all overlay files: rows by operator name, and shared rows."""

    ops: Mapping[str, Row]
    shared: Mapping[str, Row]
    mutually_exclusive: tuple[tuple[str, ...], ...]
    together: tuple[tuple[str, ...], ...]
    origin: Mapping[str, str]
    """Name of the file that contains each operator's row."""
    categories: tuple[str, ...] = CATEGORIES


def read_overlay(texts: Mapping[str, str] | None = None) -> Overlay:
    """Parse overlay ``texts`` by file name. By default the files of this package are parsed.

    Raises CatalogError for text that is not TOML and for an operator with two rows.
    """
    ops: dict[str, Row] = {}
    origin: dict[str, str] = {}
    shared: dict[str, Row] = {}
    mutually_exclusive: list[tuple[str, ...]] = []
    together: list[tuple[str, ...]] = []
    categories = list(CATEGORIES)
    for file, text in (_package_texts() if texts is None else texts).items():
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CatalogError(f"{file} is not valid TOML: {error}.") from error
        common = tables.pop("shared", {})
        shared |= common.get("args", {})
        mutually_exclusive += map(tuple, common.get("mutually_exclusive", []))
        together += map(tuple, common.get("together", []))
        categories += common.get("categories", [])
        for name, row in tables.items():
            if name in ops:
                raise CatalogError(f"{file}: {origin[name]} already defines [{name}]. Remove one.")
            ops[name], origin[name] = row, file
    return Overlay(
        ops, shared, tuple(mutually_exclusive), tuple(together), origin, tuple(categories)
    )


def apply_overlay(
    ops: Iterable[OpSpec], overlay: Overlay, *, strict: bool = True
) -> dict[str, OpSpec]:
    """Return the operators by name, with the overlay merged and ``unusable`` set.

    If a row matches no operator or argument, or has an unknown key, kind or category, CatalogError
    names the file, the row and the nearest known name. Unless ``strict``, rows for operators and
    arguments that this DALI version lacks are skipped.
    """
    known = {op.name: op for op in ops}
    if not strict:
        overlay = _fitting(overlay, known)
    for name, row in overlay.ops.items():
        _require_known(name, known, f"{overlay.origin[name]}: [{name}]: operator")
        for fed, feed in row.get("feeds", {}).items():
            _require_known(
                feed.get("op", ""), known, f"{overlay.origin[name]}: [{name}]: feeds.{fed}: op"
            )
    return {name: _merged(op, overlay) for name, op in known.items()}


def _fitting(overlay: Overlay, known: Mapping[str, OpSpec]) -> Overlay:
    ops = {}
    for name, row in overlay.ops.items():
        if name in known:
            numbers = row.get("numbers", {}).values()
            own = {*known[name].args, *numbers}
            args = {arg: r for arg, r in row.get("args", {}).items() if arg in own}
            count = max(len(known[name].inputs), len(row.get("inputs", ())))
            names = own | {known[name].input(i).name for i in range(count)}
            groups = {
                key: [group for group in row.get(key, []) if set(group) <= names]
                for key in ("mutually_exclusive", "together", "one_of", "same_dtype")
            }
            adds = {name: a for name, a in row.get("adds", {}).items() if name in names}
            feeds = {fed: f for fed, f in row.get("feeds", {}).items() if f.get("op") in known}
            ops[name] = {**row, "args": args, "feeds": feeds, "adds": adds, **groups}
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
        outputs = tuple(replace(port, gives=NOTHING_KNOWN) for port in op.outputs)
        op = replace(op, label=_label(op.name), outputs=outputs)
        return replace(op, unusable=unusable_reason(op, described=False))
    where = f"{overlay.origin[op.name]}: [{op.name}]"
    for key in row:
        _require_known(key, _OP_KEYS, f"{where}: key")
    category = row.get("category", "other")
    _require_known(category, overlay.categories, f"{where}: category")
    image = row.get("image", False)
    own, numbers = row.get("args", {}), row.get("numbers", {})
    for name in numbers:
        _require_known(name, [port.name for port in op.inputs], f"{where}: numbers: input")
    op = _with_numbers(op, numbers)
    for name in own:
        _require_known(name, op.args, f"{where}: argument")
    inputs = _input_kinds(op, row.get("inputs", ["image"] if image else []), where)
    outputs = _output_kinds(op, row.get("outputs", {"output": "image"} if image else {}), where)
    args = {
        name: _argument(op.args[name], {**overlay.shared.get(name, {}), **own.get(name, {})}, where)
        for name in dict.fromkeys((*own, *op.args))  # in row order
    }
    feeds = {name: _feed(table, f"{where}: feeds.{name}") for name, table in _feeds(row)}
    for name in feeds:
        _require_known(name, [*(port.name for port in inputs), *args], f"{where}: feeds: input")
    for name, ports in row.get("adds", {}).items():
        flags = [name for name in op.args if args[name].kind == "bool" or args[name].choices]
        optional = [port.name for port in inputs if port.optional]
        _require_known(name, [*optional, *flags], f"{where}: adds: input or flag")
        added = (PortSpec(n, _kind(k, f"{where}: adds"), needs=name) for n, k in ports.items())
        outputs = (*outputs, *added)
    layouts = row.get("layouts", {})
    for name in layouts:
        _require_known(name, [port.name for port in inputs], f"{where}: layouts: input")
    takes = row.get("takes", {})
    if not isinstance(takes, dict):
        takes = {inputs[0].name: takes}
    for name in takes:
        _require_known(name, [port.name for port in inputs], f"{where}: takes: input")
    inputs = tuple(
        replace(
            port,
            layouts=tuple(layouts.get(port.name, port.layouts)),
            dtypes=tuple(takes.get(port.name, ())),
        )
        for port in inputs
    )
    offered = row.get("ports", op.max_inputs)
    merged = replace(
        op,
        category=category,
        label=row.get("label", _label(op.name)),
        synonyms=tuple(row.get("synonyms", ())),
        image=image,
        alters=row.get("alters", True),
        needs_channels=row.get("needs_channels"),
        whole_batch=row.get("whole_batch", False),
        inputs=tuple(replace(p, feed=feeds.get(p.name)) for p in inputs[:offered]),
        max_inputs=offered,
        outputs=_output_ports(outputs, row, sourceless=not inputs, where=where),
        args={name: replace(arg, feed=feeds.get(name)) for name, arg in args.items()},
    )
    merged = replace(
        merged,
        mutually_exclusive=_groups(
            merged, row, "mutually_exclusive", overlay.mutually_exclusive, where
        ),
        together=_groups(merged, row, "together", overlay.together, where),
        one_of=_groups(merged, row, "one_of", (), where),
        same_dtype=_groups(merged, row, "same_dtype", (), where),
    )
    reason = row.get("unusable", unusable_reason(merged, described=True))
    return replace(merged, unusable=reason or None)


def _input_kinds(op: OpSpec, kinds: list[str], where: str) -> tuple[PortSpec, ...]:
    """Return an operator's inputs with these port kinds, adding unnamed inputs if needed."""
    if len(kinds) > (most := max(len(op.inputs), op.max_inputs)):
        raise CatalogError(
            f"{where}: 'inputs' lists {len(kinds)} kinds, but the operator has at most {most}. "
            "Remove the others."
        )
    further = (replace(op.input(i), optional=False) for i in range(len(op.inputs), len(kinds)))
    ports = (*op.inputs, *further)
    padded = [*kinds, *["any"] * (len(ports) - len(kinds))]
    return tuple(
        replace(port, kind=_kind(kind, f"{where}: inputs"))
        for port, kind in zip(ports, padded, strict=True)
    )


def _output_kinds(op: OpSpec, kinds: Mapping[str, str], where: str) -> tuple[PortSpec, ...]:
    if not kinds:
        return op.outputs
    arguments_say = op.reads and len(kinds) > len(op.outputs)  # some readers: the number of outputs
    if op.outputs and not arguments_say and len(kinds) != len(op.outputs):
        raise CatalogError(
            f"{where}: 'outputs' lists {len(kinds)} ports, but the operator has "
            f"{len(op.outputs)}. List one per output."
        )
    return tuple(
        PortSpec(name, follows=True)
        if kind == "same"
        else PortSpec(name, _kind(kind, f"{where}: outputs"))
        for name, kind in kinds.items()
    )


def _output_ports(
    ports: tuple[PortSpec, ...], row: Row, sourceless: bool, where: str
) -> tuple[PortSpec, ...]:
    table = row.get("gives", {})
    by_name = all(isinstance(value, dict) for value in table.values())
    for name in table if by_name else ():
        _require_known(name, [port.name for port in ports], f"{where}: gives: output")
    tables = {port.name: table.get(port.name, {}) if by_name else table for port in ports}
    usual = NOTHING_KNOWN if sourceless else OutputRule()
    return tuple(
        replace(port, gives=_rule(tables[port.name], usual, f"{where}: gives")) for port in ports
    )


def _rule(table: Row, usual: OutputRule, where: str) -> OutputRule:
    for key in table:
        _require_known(key, _GIVES_KEYS, f"{where}: key")
    fields: dict[str, Any] = {key: None if value == "?" else value for key, value in table.items()}
    shape = fields.get("shape")
    if isinstance(shape, str):
        for word in shape.split():
            _require_known(word, _WORDS, f"{where}: shape: word")
        fields["shape"] = tuple(shape.split())
    elif shape is not None:
        fields["shape"] = tuple(None if extent == "?" else int(extent) for extent in shape)
    return replace(usual, **fields)


def _feeds(row: Row) -> Iterable[tuple[str, Row]]:
    feeds: Mapping[str, Row] = row.get("feeds", {})
    return feeds.items()


def _feed(table: Row, where: str) -> Feed:
    for key in table:
        _require_known(key, _FEED_KEYS, f"{where}: key")
    args = {name: _frozen(value) for name, value in table.get("args", {}).items()}
    return Feed(table["op"], args, table.get("output", "output"))


def _groups(
    op: OpSpec, row: Row, key: str, shared: tuple[tuple[str, ...], ...], where: str
) -> tuple[tuple[str, ...], ...]:
    own = [tuple(group) for group in row.get(key, [])]
    names = [*op.args, *(port.name for port in op.inputs)]
    for name in (name for group in own for name in group):
        _require_known(name, names, f"{where}: {key}: argument")
    return (*(group for group in shared if set(group) <= set(op.args)), *own)


def _kind(kind: str, where: str) -> PortKind:
    _require_known(kind, _KINDS, f"{where}: kind")
    return cast(PortKind, kind)


def _with_numbers(op: OpSpec, numbers: Mapping[str, str]) -> OpSpec:
    """Add an integer argument for each input that may be an integer constant.

    ``numbers`` maps input names to argument names.
    """
    if not numbers:
        return op
    inputs = (replace(p, optional=p.optional or p.name in numbers) for p in op.inputs)
    args = {
        name: ArgSpec(name, "int", f"Used instead of {port}.") for port, name in numbers.items()
    }
    return replace(
        op,
        inputs=tuple(inputs),
        args={**args, **op.args},
        written_numbers=dict(numbers),
    )


def _argument(spec: ArgSpec, row: Row, where: str) -> ArgSpec:
    for key in row:
        _require_known(key, _ARG_KEYS, f"{where}: args.{spec.name}: key")
    _require_known(row.get("form", ""), _FORMS, f"{where}: args.{spec.name}: form")
    fields: dict[str, Any] = {key: _frozen(value) for key, value in row.items()}
    return replace(spec, **{"label": _label(spec.name), **fields})


def _frozen(value: Any) -> Value:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _label(name: str) -> str:
    words = name.rsplit(".", 1)[-1].replace("_", " ")
    return words[:1].upper() + words[1:]


def _require_known(name: str, known: Iterable[str], subject: str) -> None:
    names = list(known)
    if name in names:
        return
    near = get_close_matches(name, names, n=3)
    hint = f"Did you mean {', '.join(near)}?" if near else f"Known: {', '.join(names[:20])}."
    raise CatalogError(f"{subject} {name!r} is not known. {hint}")


# Which operators the workbench supports, and why not the others.


def unusable_reason(op: OpSpec, *, described: bool) -> str | None:
    """Return why the workbench does not support an operator, or None if it does.

    ``described`` is true if the operator has a row in the overlay.
    """
    if not described:
        return "not described in the overlay yet"
    if op.category == "source" and not kind_of_reader(op.name):
        return "no source of the workbench uses it"
    kind = kind_of_reader(op.name)
    found = load_source(kind).located_by if kind else frozenset()
    needed = (arg for arg in op.args.values() if arg.required and arg.name not in found)
    if any(arg.kind == "object" for arg in needed):
        return "calls a Python function: define yours in Python with @workbench.node"
    return None
