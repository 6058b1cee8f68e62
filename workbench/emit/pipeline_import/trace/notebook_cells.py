"""The cells of a notebook as one source, so that what stands in one sees what stands before it."""

from __future__ import annotations

import re
from collections.abc import Mapping

_CELL = re.compile(r"(?P<notebook>.+) cell (?P<number>\d+)", re.DOTALL)
"""The name of a cell among the sources of a pipeline."""


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


def _order(file: str) -> tuple[str, int]:
    found = _CELL.fullmatch(file)
    return (found["notebook"], int(found["number"])) if found else (file, 0)
