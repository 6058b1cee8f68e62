"""The reader of images that a Python program holds: ``external_source`` with a reader's options."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import OpSpec
from workbench.sources import kind_of_reader, load_source

NAME = "external_source"


def python_reader(file_reader: OpSpec) -> OpSpec:
    """The operator as a source: what it gives and takes is as of DALI's file reader."""
    options = load_source(kind_of_reader(NAME)).options or frozenset()
    summary = "Reads arrays, encoded bytes, PIL images and data sets that a Python function gives."
    return replace(
        file_reader,
        name=NAME,
        schema="ExternalSource",
        args={name: arg for name, arg in file_reader.args.items() if name in options},
        mutually_exclusive=(),
        doc=summary,
        summary=summary,
        label="Images in Python",
        synonyms=("numpy", "array", "Dataset", "Hugging Face", "DataFrame", "Parquet", "generator"),
    )
