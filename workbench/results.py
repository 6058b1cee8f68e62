"""Represent the results of tools as documents: sentences, tables and pictures.

A tool such as ``watch`` returns a result whose class derives from `DocumentedResult` and describes
itself as a `ResultDocument`. Text, notebook output, data frame, file and the Results panel are all
made from that document, so they cannot disagree.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.files import write_text
from workbench.names import shortened

FORMAT, VERSION = "workbench result", 1
MOST_RESULTS = 50
"""Maximum number of results that a process stores; the oldest are dropped."""
_MOST_ROWS = 60
"""Maximum number of table rows in text and in a notebook output."""
_MOST_LETTERS = 300
_MOST_PICTURES = 60_000
"""Maximum number of bytes of the pictures in a notebook output."""

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of a result. ``rows`` have one cell per column. Floats are not rounded."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class ResultPicture:
    """A picture of a result: a caption and the bytes of a PNG, JPEG or WebP file."""

    caption: str
    data: bytes


class DocumentedResult(ABC):
    """Base class of results. All representations are derived from ``document()``."""

    __slots__ = ()

    @abstractmethod
    def document(self) -> ResultDocument:
        """Return the result as sentences, tables and pictures."""

    def lines(self) -> list[str]:
        """Return the result as lines of text: title, sentences and tables."""
        document = self.document()
        found = [document.title, *(f"  {sentence}" for sentence in document.sentences)]
        for table in document.tables:
            cells = [table.columns, *([cell_text(cell) for cell in row] for row in table.rows)]
            widths = [max(len(row[i]) for row in cells) for i in range(len(table.columns))]
            found += ["", table.title] if table.title else [""]
            for row in cells[: _MOST_ROWS + 1]:
                padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
                found.append("  " + "  ".join(padded).rstrip())
            if len(table.rows) > _MOST_ROWS:
                found.append(f"  and {len(table.rows) - _MOST_ROWS:,} more rows")
        return found

    def to_frame(self) -> Any:
        """Return the first table as a pandas data frame. Raises ImportError if pandas is missing.

        ::

            frame = wb.check_folder("photos", full=False).to_frame()
        """
        import pandas

        tables = self.document().tables
        if not tables:
            return pandas.DataFrame()
        return pandas.DataFrame(list(tables[0].rows), columns=list(tables[0].columns))

    def save(self, path: str | Path) -> Path:
        """Write the result as a JSON file, which `load_result` and the Results panel open.

        Raises SaveError if the file cannot be written.
        """
        return write_text(path, json.dumps(self.document().to_json(), indent=1) + "\n")

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        document = self.document()
        head = f"<b>{escape(document.title)}</b>"
        sentences = "".join(f"<p>{escape(each)}</p>" for each in document.sentences)
        sizes = accumulate(len(each.data) for each in document.pictures)
        shown = max(1, sum(size <= _MOST_PICTURES for size in sizes))
        pictures = "".join(map(_picture_html, document.pictures[:shown]))
        more = len(document.pictures) - shown
        rest = f"<p>and {more:,} more pictures in result.document().pictures</p>" * (more > 0)
        return head + sentences + "".join(map(_table_html, document.tables)) + pictures + rest


@dataclass(frozen=True, slots=True, repr=False)
class ResultDocument(DocumentedResult):
    """A result as data. The first of ``sentences`` is the verdict.

    ``kind`` is the name of the tool, and ``created`` the time in UTC as ISO 8601.
    """

    kind: str
    title: str
    sentences: tuple[str, ...]
    tables: tuple[ResultTable, ...] = ()
    pictures: tuple[ResultPicture, ...] = ()
    created: str = field(default_factory=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))

    def document(self) -> ResultDocument:
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the document as JSON values, with pictures in base64."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "title": self.title,
            "created": self.created,
            "sentences": list(self.sentences),
            "tables": [
                {"title": each.title, "columns": each.columns, "rows": each.rows}
                for each in self.tables
            ],
            "pictures": [
                {"caption": each.caption, "data": base64.b64encode(each.data).decode()}
                for each in self.pictures
            ],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ResultDocument:
        """Return the document that `to_json` encoded. Raises DataError for other values."""
        if values.get("format") != FORMAT or values.get("version") != VERSION:
            found = f"{values.get('format')!r}, version {values.get('version')!r}"
            raise DataError(
                f"The file has format {shortened(found, 80)}, but this workbench reads {FORMAT!r}, "
                f"version {VERSION}. Open a file written by result.save(path), or update the "
                "workbench."
            )
        try:
            tables = tuple(
                ResultTable(
                    str(each["title"]),
                    tuple(map(str, each["columns"])),
                    tuple(_checked_row(row, len(each["columns"])) for row in each["rows"]),
                )
                for each in values["tables"]
            )
            pictures = tuple(
                ResultPicture(str(each["caption"]), base64.b64decode(each["data"], validate=True))
                for each in values["pictures"]
            )
            kind, title, created = (str(values[name]) for name in ("kind", "title", "created"))
            sentences = tuple(map(str, values["sentences"]))
            return cls(kind, title, sentences, tables, pictures, created)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise DataError(
                f"The result is damaged and cannot be read ({type(error).__name__}: {error}). "
                "Save it again with result.save(path)."
            ) from error


def load_result(path: str | Path) -> ResultDocument:
    """Read a result that was written by ``result.save(path)``.

    Raises DataError if the file cannot be read or is not a result.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read as a result: {error}.") from error
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise DataError(f"{path} is not a result. Open a file written by result.save(path).")
    return ResultDocument.from_json(values)


_RESULTS: deque[ResultDocument] = deque(maxlen=MOST_RESULTS)
_LISTENERS: list[Callable[[ResultDocument], None]] = []


def record_result(result: DocumentedResult) -> None:
    """Store a result for the Results panels of this process, and notify open panels."""
    document = result.document()
    _RESULTS.append(document)
    for listener in tuple(_LISTENERS):
        listener(document)


def recorded_results() -> tuple[ResultDocument, ...]:
    """Return the results of this process, with the newest last."""
    return tuple(_RESULTS)


def on_result(listener: Callable[[ResultDocument], None]) -> Callable[[], None]:
    """Call ``listener`` for each new result. Returns a function that removes the listener."""
    _LISTENERS.append(listener)
    return lambda: _LISTENERS.remove(listener) if listener in _LISTENERS else None


def cell_text(cell: Cell) -> str:
    """Return a table cell as text: floats with four significant digits, None as a dash."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        text = f"{cell:,.0f}" if abs(cell) >= 1e4 else f"{cell:.4g}"
        return f"{cell:.{3 + int(text[-1])}f}".rstrip("0") if "e-0" in text else text
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return shortened(str(cell), _MOST_LETTERS)


def _checked_row(row: Any, columns: int) -> tuple[Cell, ...]:
    if len(row) != columns or not all(
        cell is None or isinstance(cell, str | int | float) for cell in row
    ):
        raise ValueError(f"each row must have {columns} texts or numbers")
    return tuple(row)


def _table_html(table: ResultTable) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell_text(cell))}</td>" for cell in row) + "</tr>"
        for row in table.rows[:_MOST_ROWS]
    )
    more = len(table.rows) - _MOST_ROWS
    rest = f"<p>and {more:,} more rows</p>" if more > 0 else ""
    title = f"<p>{escape(table.title)}</p>" if table.title else ""
    return f"{title}<table><tr>{head}</tr>{rows}</table>{rest}"


def _picture_html(picture: ResultPicture) -> str:
    from PIL import Image

    kind = Image.open(io.BytesIO(picture.data)).format or "PNG"
    code = base64.b64encode(picture.data).decode()
    return (
        "<figure><img alt='' style='max-width: 100%' "
        f"src='data:image/{kind.lower()};base64,{code}'>"
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )
