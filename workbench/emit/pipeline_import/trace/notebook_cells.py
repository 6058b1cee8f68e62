"""The cells of a notebook as one source, so that what stands in one sees what stands before it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.emit.core.python import INDENT
from workbench.emit.pipeline_import.trace.traced import SourceLocation

_CELL = re.compile(r"(?P<notebook>.+) cell (?P<number>\d+)", re.DOTALL)
"""The name of a cell among the sources of a pipeline."""
_WITHIN = re.compile(r"with \w+:")
"""What the calls of a pipeline stand in that a notebook builds step by step."""


def notebook_of(file: str) -> str:
    """The notebook that a source is a cell of; empty for another file."""
    found = _CELL.fullmatch(file)
    return found["notebook"] if found else ""


def whole_text(file: str, sources: Mapping[str, str]) -> str:
    """The text of a file, or of all cells of the notebook that it is a cell of."""
    notebook = notebook_of(file)
    if not notebook:
        return sources.get(file, "")
    cells = [each for each in sorted(sources, key=_order) if notebook_of(each) == notebook]
    return "\n".join(sources[cell] for cell in cells)


def with_cells_joined(
    sources: Mapping[str, str], places: Mapping[str, SourceLocation | None]
) -> tuple[dict[str, str], dict[str, SourceLocation | None]]:
    """The sources, each notebook one, and where the nodes stand in these."""
    joined: dict[str, str] = {}
    first: dict[str, int] = {}  # how many lines stand before a cell
    for file in sorted(sources, key=_order):
        notebook = notebook_of(file)
        if notebook:
            first[file] = joined.get(notebook, "").count("\n")
            joined[notebook] = f"{joined.get(notebook, '')}{_flat(sources[file])}\n"
        else:
            joined[file] = sources[file]
    moved = {
        node: place
        if place is None or place.file not in first
        else place._replace(file=notebook_of(place.file), line=place.line + first[place.file])
        for node, place in places.items()
    }
    return joined, moved


def _order(file: str) -> tuple[str, int]:
    found = _CELL.fullmatch(file)
    return (found["notebook"], int(found["number"])) if found else (file, 0)


def _flat(text: str) -> str:
    """A cell without the ``with`` around its calls; its lines stay where they are."""
    lines = text.splitlines()
    if not lines or not _WITHIN.fullmatch(lines[0]):
        return "\n".join(lines)
    return "\n".join(["", *(line.removeprefix(INDENT) for line in lines[1:])])
