"""List the catalogue as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from workbench.catalog.overlay import CATEGORIES
from workbench.catalog.spec import Catalog, OpSpec


def list_operators(catalog: Catalog, as_json: bool = False) -> str:
    """Return a list of all operators, by category and name, as a table or as JSON.

    The table has one line per operator: name, category, devices, number of arguments, and ``yes``
    or the reason why the workbench cannot use it yet. The JSON is an object with ``dali`` (the
    version) and ``operators``, a list with every field of ``OpSpec``, ``ArgSpec`` and ``PortSpec``.
    """
    rank = {category: place for place, category in enumerate(CATEGORIES)}
    ops = sorted(
        catalog.values(), key=lambda op: (rank.get(op.category, len(rank)), op.category, op.name)
    )
    if as_json:
        document = {"dali": catalog.dali_version, "operators": [asdict(op) for op in ops]}
        return json.dumps(document, indent=2)
    usable = sum(op.unusable is None for op in ops)
    head = ("operator", "category", "devices", "arguments", "usable")
    total = f"{len(ops)} operators of DALI {catalog.dali_version}, {usable} usable."
    return "\n".join([*_aligned([head, *map(_table_row, ops)]), "", total])


def _table_row(op: OpSpec) -> tuple[str, ...]:
    current = sum(arg.deprecated is None for arg in op.args.values())
    return (op.name, op.category, " ".join(op.devices), str(current), _usable(op))


def _usable(op: OpSpec) -> str:
    if op.unusable:
        return f"no: {op.unusable}"
    return "yes, on a GPU" if op.devices == ("gpu",) else "yes"


def _aligned(rows: list[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
