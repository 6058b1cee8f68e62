"""Manage the list of results, and build the payload of the selected result."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from typing import Any

from workbench.errors import DataError, GraphEditError
from workbench.results import (
    MOST_RESULTS,
    ResultDocument,
    ResultPicture,
    ResultTable,
    cell_text,
    on_result,
    recorded_results,
)
from workbench.ui.contract.components import Empty
from workbench.ui.contract.results_payloads import (
    ResultEntry,
    ShownPicture,
    ShownResult,
    ShownTable,
)

LARGEST = 16_000_000
"""Maximum number of characters of a result file."""
_MOST_ROWS = 200
_MIMES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}


class ResultsPanel:
    """List of results, newest first. Call methods with the view model's lock held.

    With ``follows``, results of this process are added to the list. The web app does not set
    ``follows``, because its users share a process.
    """

    def __init__(
        self, lock: threading.RLock, refresh: Callable[[], object], *, follows: bool
    ) -> None:
        self._lock = lock
        self._refresh = refresh
        self._documents: dict[str, ResultDocument] = {}
        self._number = 0
        self.shown = ""
        """Id of the selected result; "" for none."""
        self.message = ""
        """Reason why the last file could not be opened, or ""."""
        self._view: ShownResult | Empty = {}
        self._stop = on_result(self._on_result) if follows else lambda: None
        for document in recorded_results() if follows else ():
            self.add(document)

    def close(self) -> None:
        """Stop adding results of this process."""
        self._stop()

    def _on_result(self, document: ResultDocument) -> None:
        with self._lock:
            self.add(document)
            self._refresh()

    def add(self, document: ResultDocument) -> None:
        """Add a result to the list and show it."""
        self._number += 1
        key = str(self._number)
        others = list(self._documents.items())[: MOST_RESULTS - 1]
        listed = [(key, document), *others]
        self._documents = dict(sorted(listed, key=lambda each: each[1].created, reverse=True))
        self.show(key)

    def show(self, key: str) -> None:
        """Select a result. Raises GraphEditError if it was removed."""
        if key not in self._documents:
            raise GraphEditError("This result was removed from the list.")
        self.shown = key
        self._view, self.message = _shown(key, self._documents[key]), ""

    def remove(self, key: str) -> None:
        """Remove a result from the list. If it was selected, select the newest result."""
        self._documents.pop(key, None)
        if key == self.shown:
            self.shown, self._view = "", {}
            if self._documents:
                self.show(next(iter(self._documents)))

    def open(self, text: str) -> None:
        """Add the result in the text of a result file. Raises DataError for an invalid text."""
        if len(text) > LARGEST:
            raise DataError(
                f"The file has {len(text):,} characters; at most {LARGEST:,} are allowed."
            )
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise DataError("The file is not a result. Open a file written by result.save(path).")
        self.add(ResultDocument.from_json(values))

    def fields(self) -> dict[str, Any]:
        """Return the fields of the component."""
        return {
            "entries": [_entry(key, each) for key, each in self._documents.items()],
            "shown": self._view,
            "message": self.message,
        }


def _entry(key: str, document: ResultDocument) -> ResultEntry:
    verdict = document.sentences[0] if document.sentences else ""
    return {
        "id": key,
        "kind": document.kind,
        "title": document.title,
        "verdict": verdict,
        "created": document.created,
    }


def _shown(key: str, document: ResultDocument) -> ShownResult:
    return {
        "id": key,
        "title": document.title,
        "created": document.created,
        "sentences": list(document.sentences),
        "tables": [_table(each) for each in document.tables],
        "pictures": [_picture(each) for each in document.pictures],
    }


def _table(table: ResultTable) -> ShownTable:
    kinds = (int, float)
    columns = range(len(table.columns))
    return {
        "title": table.title,
        "columns": list(table.columns),
        "numbers": [
            any(isinstance(row[at], kinds) for row in table.rows)
            and all(row[at] is None or isinstance(row[at], kinds) for row in table.rows)
            for at in columns
        ],
        "rows": [list(map(cell_text, row)) for row in table.rows[:_MOST_ROWS]],
        "more": max(0, len(table.rows) - _MOST_ROWS),
    }


def _picture(picture: ResultPicture) -> ShownPicture:
    mime = next((mime for head, mime in _MIMES.items() if picture.data.startswith(head)), "")
    code = base64.b64encode(picture.data).decode() if mime else ""
    return {
        "caption": picture.caption,
        "source": f"data:{mime};base64,{code}" if mime else "",
    }
