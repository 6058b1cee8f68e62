"""The present graph as the code of a notebook's cell."""

from __future__ import annotations

import pprint
from dataclasses import replace

from workbench.errors import GraphEditError
from workbench.graph.io import parse_json
from workbench.graph.layout import Document, dump_document
from workbench.sources import PARAMETER, Dataset, Datasets

WIDTH = 96
MOST_FILES = 100
"""Files given in Python that a cell names one by one."""


def cell_source(data: Datasets, document: Document) -> str:
    """A cell that shows a workbench of this graph, its nodes where they stand.

    Raises GraphEditError for too many files.
    """
    arguments = {name: _argument(dataset) for name, dataset in data.items()}
    where = arguments[PARAMETER] if list(arguments) == [PARAMETER] else arguments
    given = pprint.pformat(where, width=WIDTH, sort_dicts=False)
    whole = parse_json(dump_document(replace(document, origins={})))
    described = pprint.pformat(whole, width=WIDTH, sort_dicts=False)
    return f"import workbench as wb\n\ngraph = {described}\nw = wb.Workbench({given}, graph)\nw\n"


def _argument(dataset: Dataset) -> object:
    if dataset.location:
        return dataset.location
    if dataset.in_memory:
        raise GraphEditError(
            f"The data, {dataset}, are objects of this kernel, which no cell can write down. Copy "
            "the graph from the Code panel, and give it with the data: wb.Workbench(data, graph)."
        )
    if len(dataset.items) > MOST_FILES:
        raise GraphEditError(
            f"The data are a list of {len(dataset.items):,} files given in Python, which a cell "
            "would have to name one by one. Write them into a file list (.csv) and open that."
        )
    return list(dataset.items)
