"""Generate a notebook cell that opens the current graph and creates it with method calls."""

from __future__ import annotations

import pprint
from dataclasses import replace
from textwrap import fill

from workbench.errors import GraphEditError
from workbench.graph.builder.graph_code import code_of
from workbench.graph.builder.method_calls import NotWritableError
from workbench.graph.storage.io import parse_json
from workbench.graph.storage.layout import Document, dump_document
from workbench.sources import PARAMETER, Dataset, Datasets
from workbench.ui.state.graph_argument import BESIDE

WIDTH = 96
MOST_FILES = 100
"""Maximum number of data files that the cell lists by name."""


def cell_source(data: Datasets, document: Document) -> str:
    """Return the code of a cell that opens a workbench with this graph and its layout.

    If the graph cannot be written as method calls, the code contains it as JSON, with the reason
    in a comment. Raises GraphEditError for too many data files.
    """
    arguments = {name: _argument(dataset) for name, dataset in data.items()}
    given = _written(arguments[PARAMETER] if list(arguments) == [PARAMETER] else arguments)
    whole = parse_json(dump_document(replace(document, origins={}, report=None)))
    read = {
        name: _written(each if name == PARAMETER else {name: each})
        for name, each in arguments.items()
    }
    try:
        made = code_of(document.graph, data, read)
    except NotWritableError as error:
        reason = f"This graph cannot be written as method calls: {str(error).removesuffix('.')}."
        reason = "".join(c if c.isprintable() else " " for c in reason)
        comment = fill(reason, WIDTH, initial_indent="# ", subsequent_indent="# ")
        made, shown = f"{comment}\ngraph = {_written(whole)}\n", "graph"
    else:
        beside = {name: whole[name] for name in sorted(BESIDE & whole.keys())}
        # Built by hand: a graph has no literal.
        shown = f'{{"graph": graph, {_written(beside)[1:]}' if beside else "graph"
    return f"import workbench as wb\n\n{made}w = wb.Workbench({given}, {shown})\nw\n"


def _written(value: object) -> str:
    return pprint.pformat(value, width=WIDTH, sort_dicts=False)


def _argument(dataset: Dataset) -> object:
    if dataset.location:
        return dataset.location
    if dataset.in_memory:
        raise GraphEditError(
            f"Python objects ({dataset}) cannot be written in a cell. Copy the graph from the Code "
            "panel and pass it with the data: wb.Workbench(data, graph)."
        )
    if len(dataset.items) > MOST_FILES:
        raise GraphEditError(
            f"A list of {len(dataset.items):,} files is too long for a cell. Write it to a file "
            "(.csv) and open that."
        )
    return list(dataset.items)
