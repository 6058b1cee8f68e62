"""Import an exported program from its embedded graph, without running the program.

Anyone can write an embedded graph, and its hash only shows that the code is unchanged. Therefore
the graph is exported again, and is used only if the result equals the program's code.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from workbench import __version__
from workbench.catalog.spec import Catalog
from workbench.emit.embedded_graph import EmbeddedGraph, code_hash, code_of, embedded_graph
from workbench.emit.pipeline_import.graph import ImportedGraph, graph_faults
from workbench.emit.targets import Export, export_resolved
from workbench.errors import GraphFormatError, WorkbenchError
from workbench.graph.model import Graph
from workbench.graph.resolved import resolve
from workbench.graph.storage.import_report import ImportReport
from workbench.graph.storage.layout import Document, load_document
from workbench.graph.user_functions.trust import written_not_run

_READERS = frozenset({"file_root", "file_list"})
"""Reader arguments to which programs can pass the data path directly."""
_MOST_LONGER = 4
"""Maximum length of the exported text, relative to the program's length."""

_CHANGED = "The code was changed after the export."
_GRAPH_CHANGED = "The stored graph does not match the code, because one of them was changed."


def import_embedded(program: str, path: str, catalog: Catalog) -> ImportedGraph | None:
    """Import the embedded graph of a program or notebook. Returns None if there is none.

    The program is not run. Raises GraphFormatError if the graph is damaged, if the code or the
    graph was changed, or if this version of the workbench generates different code for the graph.
    """
    found = embedded_graph(program)
    if found is None:
        return None
    content = found.content()
    document = load_document(json.dumps(content.get("graph")))
    try:
        made = _exported_again(content, document.graph, catalog)
    except WorkbenchError as error:
        if not found.fits:
            raise GraphFormatError(_CHANGED) from None
        raise GraphFormatError(f"The graph cannot be exported on this machine: {error}") from None
    written = code_of(made.main.text)
    same_text = code_hash(found.code) == code_hash(written)
    if not same_text and not _is_same_code(found, written):
        if not found.fits:
            raise GraphFormatError(_CHANGED)
        by = str(content.get("workbench"))[:20]
        if by == __version__:
            raise GraphFormatError(_GRAPH_CHANGED)
        raise GraphFormatError(
            f"The program was written by version {by} of the workbench, and version {__version__} "
            "generates different code."
        )
    file = PurePath(path).name
    origins = {
        node: f"{file}:{lines.start}"
        for node, lines in made.main.lines.items()
        if same_text and lines and document.graph.has(node)
    }
    document = Document(document.graph, document.layout, origins=origins)
    note = f"the graph is the one at the end of {file}, which matches this code: nothing was run"
    if not found.fits:
        note += ". Only comments and formatting were changed since the export"
    report = ImportReport(
        tuple(node.id for node in document.graph.walk()),
        faults=tuple(graph_faults(document.graph, catalog, origins)),
        notes=(note,),
    )
    return ImportedGraph(replace(document, report=report))


def _exported_again(content: Mapping[str, Any], graph: Graph, catalog: Catalog) -> Export:
    """Export the graph with the recorded options. Raises WorkbenchError if that fails."""
    match content:
        case {
            "target": str(target),
            "options": {
                "with_": str(with_),
                "reads": dict(reads),
                "beside": dict(beside),
                **others,
            },
        }:
            file = str(others.get("file", ""))  # missing in programs of earlier versions
            known = all(argument in _READERS for argument in map(str, reads.values()))
            known = known and all(isinstance(ending, str) for ending in beside.values())
        case _:
            known = False
    if not known:
        raise GraphFormatError(
            "The stored export options are unknown to this version of the workbench."
        )
    with written_not_run():
        resolved = resolve(graph, catalog)
        return export_resolved(resolved, target, {}, with_, reads, beside, file)


def _is_same_code(embedded: EmbeddedGraph, program: str) -> bool:
    """Return True if the program differs from its export only in comments and formatting.

    A program's docstring can contain warnings about the data, which is unknown here. The docstring
    is therefore ignored if the hash matches.
    """
    if len(embedded.code) > _MOST_LONGER * len(program):
        return False
    try:
        one, other = ast.parse(embedded.code), ast.parse(program)
        for tree in (one, other) if embedded.fits else ():
            if ast.get_docstring(tree) is not None:
                del tree.body[0]
        return ast.dump(one) == ast.dump(other)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
