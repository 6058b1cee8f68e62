"""What an import lost, kept in the document: a note on the canvas and a sentence of the graph."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from workbench.emit.pipeline_import.report import ImportIssue, ImportReport
from workbench.graph.storage.layout import Document, Note

_MOST = 6
"""Issues that the note names."""
_LONGEST = 76
"""Characters of an issue."""
_ACROSS = 28
"""Characters in a row of a note, which is 240 pixels wide; a row is 18 pixels high."""
_ROW = 18.0
_ABOVE = 30.0
"""Pixels between the first node and what is above it, with the edges of the note."""
_SAID = re.compile(r"\s*Imported partly: [^.]*\.$")


def with_remark(document: Document, report: ImportReport) -> Document:
    """Add a note and a sentence on what an import left out, changed or assumed.

    The note is above the first node. The sentence ends the graph's ``about``. After an exact import
    the document is returned unchanged.
    """
    if report.is_exact:
        return document
    graph = document.graph
    lost = (*report.refused, *report.opaque, *report.changed)
    counts = [
        f"{count} {what}"
        for count, what in (
            (len(report.refused), "left out"),
            (len(report.opaque), "opaque"),
            (len(report.changed), "changed"),
            (len(report.assumed), "assumed"),
        )
        if count
    ]
    headline = f"Imported partly: {', '.join(counts)}."
    about = f"{_SAID.sub('', graph.about)} {headline}".lstrip()
    lines = [headline, *map(_line, lost[:_MOST])]
    lines += [f"and {len(lost) - _MOST} more"] * (len(lost) > _MOST)
    rows = sum(math.ceil(len(line) / _ACROSS) for line in lines)
    first = next((node.id for node in (*graph.sources, *graph.nodes)), "")
    note = Note("\n".join(lines), (0.0, -_ABOVE - _ROW * rows), node=first)
    layout = document.layout.noted(note)
    return replace(document, graph=replace(graph, about=about), layout=layout)


def _line(issue: ImportIssue) -> str:
    text = str(issue).removeprefix(issue.kind).strip()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
