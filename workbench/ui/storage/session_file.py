"""Read and write session files: graph files with an additional entry.

Any workbench can open the file as a graph file. The entry ``session`` has the rest::

    "session": {"data": {"data": "/photos"}, "selected": ["rotate"], "scope": "", "edits": 12,
               "view": {"tab": "preview", "batch": 3, ...},
               "history": "<base64 of zlib of JSON: the documents of undo and redo>"}
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import GraphFormatError
from workbench.graph.storage.io import dump_json, parse_json
from workbench.graph.storage.layout import Document, dump_document, load_document
from workbench.ui.state.history import HistoryStep

STEPS = 100
"""Maximum number of stored edits, for undo and redo each. All are read when a page is reloaded."""
_MOST = 64_000_000
"""Maximum size in bytes of a history that is read. Histories written by this module are smaller."""


@dataclass(frozen=True, slots=True)
class Session:
    """State of a session to store: document, undo history, data, selection and view settings."""

    document: Document
    before: tuple[HistoryStep, ...] = ()
    undone: tuple[HistoryStep, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    """Location of each parameter's data; empty for data passed in Python."""
    selected: tuple[str, ...] = ()
    scope: str = ""
    view: Mapping[str, Any] = field(default_factory=dict)
    """View settings, as returned by ``view_settings``."""

    @property
    def edited(self) -> bool:
        """True if there is anything to undo or redo."""
        return bool(self.before or self.undone)


class SessionSerializer:
    """Serialises sessions to text.

    Serialised documents are cached, because the history does not change while a value is dragged.
    """

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Document, str]] = {}
        self._steps: tuple[tuple[HistoryStep, ...], tuple[HistoryStep, ...]] = ((), ())
        self._history = self._pack()

    def dump(self, session: Session) -> str:
        steps = session.before[-STEPS:], session.undone[-STEPS:]
        if steps != self._steps:
            self._steps = steps
            self._history = self._pack()
        data = parse_json(dump_document(session.document))
        data["session"] = {
            "data": dict(session.data),
            "selected": list(session.selected),
            "scope": session.scope,
            "view": dict(session.view),
            "edits": len(session.before),
            "history": self._history,
        }
        return dump_json(data)

    def _pack(self) -> str:
        last, self._texts = self._texts, {}

        def text(document: Document) -> str:
            found = last.get(id(document)) or (document, dump_document(document))
            self._texts[id(document)] = found
            return found[1]

        steps = [
            [[text(step.document), step.views, step.label] for step in each] for each in self._steps
        ]
        return base64.b64encode(zlib.compress(json.dumps(steps).encode(), 1)).decode()


def load_session(text: str) -> Session:
    """Parse the text of a session file. A plain graph file becomes a session without history.

    Raises GraphFormatError for an invalid graph. Other entries that are invalid are ignored.
    """
    document = load_document(text)
    entry = parse_json(text).get("session")
    if not isinstance(entry, dict):
        return Session(document)
    before, undone = _history(entry.get("history"))
    selected = entry.get("selected")
    scope = entry.get("scope")
    view = entry.get("view")
    return Session(
        document,
        before,
        undone,
        _dataset_locations(entry),
        tuple(node for node in selected if isinstance(node, str))
        if isinstance(selected, list)
        else (),
        scope if isinstance(scope, str) else "",
        view if isinstance(view, dict) else {},
    )


def data_of(text: str) -> dict[str, str]:
    """Return the location of each parameter's data in a session's text; empty for other texts."""
    try:
        found = parse_json(text)
    except GraphFormatError:  # a program
        return {}
    entry = found.get("session") if isinstance(found, dict) else None
    return _dataset_locations(entry) if isinstance(entry, dict) else {}


def _dataset_locations(entry: Mapping[str, Any]) -> dict[str, str]:
    data = entry.get("data")
    data = data if isinstance(data, dict) else {}
    return {name: place for name, place in data.items() if isinstance(place, str)}


def _history(packed: Any) -> tuple[tuple[HistoryStep, ...], tuple[HistoryStep, ...]]:
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(base64.b64decode(packed, validate=True), _MOST)
        before, undone = json.loads(text)
        return tuple(map(_step, before)), tuple(map(_step, undone))
    except (ValueError, TypeError, zlib.error, GraphFormatError):
        return (), ()


def _step(entry: Any) -> HistoryStep:
    text, views, *labels = entry  # earlier versions stored no label
    label = str(labels[0]) if labels else ""
    if views is None:
        return HistoryStep(load_document(text), label=label)
    (batch, repeat), (batch_after, repeat_after) = views
    shown = (int(batch), int(repeat)), (int(batch_after), int(repeat_after))
    return HistoryStep(load_document(text), shown, label)
