"""Read operators that are not DALI's own from the TOML files of this package.

A file has a table for each operator, with the fields of ``OpSpec``. ``inputs`` and ``outputs`` are
tables of the fields of ``PortSpec`` by port name, ``args`` is a table of the fields of ``ArgSpec``
by argument name. The order matters::

    [some_of]
    doc = "For each sample some of several bodies, one after another."
    summary = "..."                       # by default the ``doc``
    devices = ["cpu"]                     # by default the CPU and the GPU
    inputs.choice = { device = "cpu" }
    outputs.boxes = { gives = { dtype = "FLOAT", layout = "", shape = ["?", 4] } }
    args.count = { kind = "int", doc = "How many run.", low = 1, high = 8 }

``gives`` has the fields of ``OutputRule``, where ``?`` is a dimension that depends on the data.
``[shared]`` contains the ports and arguments that all operators of the file have in common. They
come after those of the operator, which may replace single keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.catalog.spec import ArgSpec, OpSpec, OutputRule, PortSpec
from workbench.catalog.tables import read_tables

Row = Mapping[str, Any]


def read_operators(file: str) -> Mapping[str, OpSpec]:
    """Read the operators of a TOML file of this package, by name."""
    tables = read_tables(f"extra_operators/{file}")
    shared = tables.pop("shared", {})
    return {name: _operator(name, row, shared) for name, row in tables.items()}


def _operator(name: str, row: Row, shared: Row) -> OpSpec:
    given = {**shared, **row}
    usual = {"schema": "", "devices": ("cpu", "gpu"), "summary": given["doc"]}
    fields: dict[str, Any] = {**usual, **given}
    for side in ("inputs", "outputs"):
        fields[side] = ports_of(_named(side, row, shared))
    args = _named("args", row, shared)
    fields["args"] = {arg: ArgSpec(arg, **table) for arg, table in args.items()}
    return OpSpec(name, **fields)


def _named(key: str, row: Row, shared: Row) -> dict[str, Row]:
    """Return the ports or arguments of an operator by name, merged with the shared ones."""
    own, usual = row.get(key, {}), shared.get(key, {})
    return {name: {**usual.get(name, {}), **own.get(name, {})} for name in {**own, **usual}}


def ports_of(tables: Mapping[str, Row]) -> tuple[PortSpec, ...]:
    """Create ports from tables of their fields, by port name."""
    ports = []
    for name, table in tables.items():
        rule = {key: _question_mark_as_none(value) for key, value in table.get("gives", {}).items()}
        ports.append(PortSpec(name, **{**table, "gives": OutputRule(**rule)}))
    return tuple(ports)


def _question_mark_as_none(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_question_mark_as_none, value))
    return None if value == "?" else value
