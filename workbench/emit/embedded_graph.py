"""Embed a graph in an exported program, and read it from there.

The graph is in a comment at the end of the program, or in the metadata of a notebook::

    # The graph of this program, for `workbench import`. It is not used if the code is changed.
    # sha256: 6a09e667...
    # eNq...

The hash is the SHA-256 of the code without the comment and without trailing whitespace. The rest
is the graph file and other inputs of the export, as JSON that is compressed by zlib and encoded in
base64. It is untrusted data and is checked like any graph file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import GraphFormatError

KEY = "dali-workbench-graph"
"""Key of the embedded graph in a notebook's metadata."""
_BEGIN = "# The graph of this program"
_FIRST = f"{_BEGIN}, for `workbench import`. It is not used if the code is changed."
_COMMENT = re.compile(
    rf"^{_BEGIN}.*\n"
    r"(?:# *sha256:(?P<sha256>.*)(?:\n|\Z))?"
    r"(?P<data>(?:# *[\w+/=]+[ \t]*(?:\n|\Z))*)",
    re.MULTILINE | re.ASCII,
)
_WIDTH = 96
"""Number of base64 characters per line of the comment."""
_LONGEST = 16_000_000
"""Maximum size of the uncompressed JSON in bytes."""
_INSTEAD = "Use another copy of the file, or export the graph again."


@dataclass(frozen=True, slots=True)
class EmbeddedGraph:
    """The graph embedded in a program, not yet decoded."""

    code: str
    """The program without the embedded graph."""
    fits: bool
    """True if the hash matches the code."""
    data: str
    """The embedded data, in base64."""

    def content(self) -> Mapping[str, Any]:
        """Decode and return the embedded values. Raises GraphFormatError if they are damaged."""
        unpack = zlib.decompressobj()
        try:
            text = unpack.decompress(base64.b64decode(self.data, validate=True), _LONGEST)
            found = json.loads(text) if unpack.eof else None
        except (ValueError, zlib.error, RecursionError):
            raise GraphFormatError(f"The stored graph is damaged. {_INSTEAD}") from None
        if not unpack.eof:
            raise GraphFormatError(
                f"The stored graph is damaged: it is cut off, or longer than {_LONGEST:,} bytes. "
                f"{_INSTEAD}"
            )
        if not isinstance(found, dict):
            raise GraphFormatError(
                f"The stored graph is damaged: it is not a JSON object. {_INSTEAD}"
            )
        return found


def embed_graph(program: str, content: Mapping[str, Any]) -> str:
    """Embed JSON values in a program: append a comment, or extend a notebook's metadata."""
    packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 9)
    data = base64.b64encode(packed).decode()
    notebook = _notebook(program)
    if notebook is not None:
        carried = {"sha256": code_hash(_code_cells(notebook)), "data": data}
        notebook["metadata"] = {**notebook["metadata"], KEY: carried}
        return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    rows = [f"# {data[at : at + _WIDTH]}" for at in range(0, len(data), _WIDTH)]
    comment = [_FIRST, f"# sha256: {code_hash(program)}", *rows]
    return "\n".join([program.rstrip("\n"), "", "", *comment, ""])


def embedded_graph(program: str) -> EmbeddedGraph | None:
    """Return the embedded graph of a program or notebook, or None if there is none."""
    notebook = _notebook(program)
    if notebook is not None:
        code, carried = _code_cells(notebook), notebook["metadata"].get(KEY)
        if not isinstance(carried, dict):
            return None
        fits = carried.get("sha256") == code_hash(code)
        return EmbeddedGraph(code, fits, str(carried.get("data")))
    program = re.sub(r"\r\n?", "\n", program)
    comments = list(_COMMENT.finditer(program))
    if not comments:
        return None
    found = comments[-1]  # others are in strings of the code
    code = program[: found.start()] + program[found.end() :]
    data = re.sub(r"[#\s]", "", found["data"])
    return EmbeddedGraph(code, (found["sha256"] or "").strip() == code_hash(code), data)


def code_of(program: str) -> str:
    """Return the program itself, or the code of the cells if it is a notebook."""
    notebook = _notebook(program)
    return program if notebook is None else _code_cells(notebook)


def code_hash(code: str) -> str:
    """Return the SHA-256 of the code. Line endings and trailing whitespace do not affect it."""
    lines = [line.rstrip() for line in re.split(r"\r\n?|\n", code)]
    return hashlib.sha256("\n".join(lines).rstrip("\n").encode()).hexdigest()


def _notebook(program: str) -> dict[str, Any] | None:
    """Parse the text as a notebook of format 4. Return None for any other text."""
    if not program.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(program)
    except (ValueError, RecursionError):
        return None
    is_notebook = isinstance(found, dict) and isinstance(found.get("cells"), list)
    return found if is_notebook and isinstance(found.get("metadata"), dict) else None


def _code_cells(notebook: Mapping[str, Any]) -> str:
    cells = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    sources = [cell.get("source") for cell in cells if cell.get("cell_type") == "code"]
    texts = ["".join(map(str, each)) if isinstance(each, list) else str(each) for each in sources]
    return "\n\n".join(texts)
