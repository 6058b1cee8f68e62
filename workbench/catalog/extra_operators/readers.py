"""Readers that DALI lacks: one for Python data, and those defined in ``readers.toml``.

The code of each reader is in the attribute ``reader`` of its ``SourceKind``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.catalog.extra_operators.rows import ports_of
from workbench.catalog.spec import OpSpec
from workbench.catalog.tables import read_tables
from workbench.sources import kind_of_reader, load_source

PYTHON_READER = "external_source"
_ROWS = read_tables("extra_operators/readers.toml")
_PORTS = _ROWS.pop("ports")
TARGET_READERS = frozenset(_ROWS)


def reader_arguments(ops: Mapping[str, OpSpec]) -> dict[str, OpSpec]:
    """Return the readers of ``readers.toml`` by name.

    Each reader has the arguments of the DALI reader that it extends, except arguments that locate
    the data.
    """
    made = {}
    for name, row in _ROWS.items():
        if (reader := ops.get(row["reader"])) is None:
            continue
        located = load_source(kind_of_reader(name)).located_by
        args = {key: arg for key, arg in reader.args.items() if key not in located}
        args |= {key: ops["readers.coco"].args[key] for key in row.get("options", ())}
        doc = f"{row['label']}; images are read as by {reader.name}."
        made[name] = replace(
            reader,
            name=name,
            schema=name,
            outputs=ports_of({port: _PORTS[port] for port in row["outputs"]}),
            args=args,
            mutually_exclusive=(),
            doc=doc,
            summary=doc,
            label=row["label"],
            synonyms=row["synonyms"],
        )
    return made


def python_reader(file_reader: OpSpec) -> OpSpec:
    """Return the reader of Python data, with the outputs and options of DALI's file reader."""
    options = load_source(kind_of_reader(PYTHON_READER)).options or frozenset()
    summary = "Reads arrays, encoded bytes, PIL images and datasets that a Python function returns."
    return replace(
        file_reader,
        name=PYTHON_READER,
        schema="ExternalSource",
        args={name: arg for name, arg in file_reader.args.items() if name in options},
        mutually_exclusive=(),
        doc=summary,
        summary=summary,
        label="Images in Python",
        synonyms=("numpy", "array", "Dataset", "Hugging Face", "DataFrame", "Parquet", "generator"),
    )
