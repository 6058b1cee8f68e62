"""Actions and payloads for the groups and notes on the canvas."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.edits.fragment import copy_fragment, with_generators
from workbench.graph.model import Graph, is_text
from workbench.graph.storage.io import parse_json
from workbench.graph.storage.layout import (
    LONGEST_NOTE,
    LONGEST_TITLE,
    MOST_REMARKS,
    Document,
    Frame,
    Layout,
    Note,
    dump_document,
    load_document,
    positions_from_json,
)
from workbench.ui.canvas.canvas_edit import CanvasEdit
from workbench.ui.contract.action import Edited
from workbench.ui.contract.payloads import FrameEntry, NoteEntry

_BESIDE = 36
"""Offset of a pasted note from the copied note, in pixels in x and y."""


class SetFrame(CanvasEdit, tag="frame", frozen=True):
    """Group nodes, or change the title or the nodes of an existing group."""

    title: str
    nodes: list[str]
    """Ids of the nodes in the group; empty to keep the nodes of an existing group."""
    frame: str = ""
    """Id of the group; empty to create a group."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        graph, layout = document.graph, document.layout
        title = _text(self.title, LONGEST_TITLE, "title of a group")
        known = _known(layout.frames, self.frame, "group")
        nodes = tuple(dict.fromkeys(node for node in self.nodes if node != graph.scope))
        if not nodes and known is not None:
            nodes = known.nodes
        if not nodes:
            raise GraphEditError("A group needs nodes. Select some.")
        for node in nodes:
            if graph.whole.scope_of(node) != graph.scope:
                raise GraphEditError(
                    f"{node} is in another body. A group can only contain nodes of one body."
                )
        return replace(document, layout=layout.with_frame(Frame(title, nodes), self.frame)), None


class RemoveFrame(CanvasEdit, tag="remove_frame", frozen=True):
    """Remove a group but not its nodes."""

    frame: str

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        frames = dict(document.layout.frames)
        _known(frames, self.frame, "group")
        frames.pop(self.frame, None)
        return replace(document, layout=replace(document.layout, frames=frames)), None


class SetNote(CanvasEdit, tag="note", frozen=True):
    """Add or change a note on the canvas. An empty text removes the note."""

    text: str
    x: float
    y: float
    note: str = ""
    """Id of the note; empty to create a note."""

    def edit_body(self, document: Document, catalog: Catalog) -> Edited:
        layout, graph = document.layout, document.graph
        _known(layout.notes, self.note, "note")
        if not self.text.strip():
            notes = {key: note for key, note in layout.notes.items() if key != self.note}
            return replace(document, layout=replace(layout, notes=notes)), None
        place = positions_from_json({"at": [self.x, self.y]}).get("at")
        if place is None:
            raise GraphEditError(
                f"A note cannot be placed at {self.x}, {self.y}, which is outside the canvas."
            )
        note = Note(_text(self.text, LONGEST_NOTE, "text of a note"), place, graph.scope)
        return replace(document, layout=layout.with_note(note, self.note)), None


def frame_entries(layout: Layout, body: Graph) -> list[FrameEntry]:
    """Return payloads for the groups in the visible body."""
    here = {node.id for node in body.nodes}
    return [
        {"id": key, "title": frame.title, "nodes": [node for node in frame.nodes if node in here]}
        for key, frame in layout.frames.items()
        if here.intersection(frame.nodes)
    ]


def note_entries(layout: Layout, body: Graph) -> list[NoteEntry]:
    """Return payloads for the notes in the visible body."""
    return [
        {"id": key, "text": note.text, "x": note.at[0], "y": note.at[1], "node": note.node}
        for key, note in layout.notes.items()
        if note.scope == body.scope
    ]


def copied_text(body: Graph, layout: Layout, nodes: Collection[str]) -> str:
    """Serialise nodes (see ``copy_fragment``), and the groups that contain only these nodes.

    If all nodes of a body are copied, the text also contains the body's notes.
    """
    text = copy_fragment(body, nodes)
    frames = {
        key: frame for key, frame in layout.frames.items() if set(nodes).issuperset(frame.nodes)
    }
    whole = with_generators(body, nodes).issuperset(node.id for node in body.nodes)
    notes = {
        key: replace(note, scope="")
        for key, note in layout.notes.items()
        if whole and note.scope == body.scope
    }
    if not frames and not notes:
        return text
    return dump_document(replace(load_document(text), layout=Layout(frames=frames, notes=notes)))


def with_pasted_remarks(document: Document, text: str, added: Sequence[str]) -> Document:
    """Add the groups and notes of a pasted text to the document.

    ``added`` are the ids of the pasted nodes, in the order of the text.
    """
    data = parse_json(text)
    if not isinstance(data, dict) or "layout" not in data:
        return document
    pasted = load_document(text)
    ids = dict(zip((node.id for node in pasted.graph.nodes), added, strict=False))
    layout = document.layout
    for frame in pasted.layout.frames.values():
        nodes = tuple(ids[node] for node in frame.nodes if node in ids)
        if nodes and len(layout.frames) < MOST_REMARKS:
            layout = layout.with_frame(Frame(frame.title, nodes))
    for note in pasted.layout.notes.values():
        if not note.scope and len(layout.notes) < MOST_REMARKS:
            place = note.at[0] + _BESIDE, note.at[1] + _BESIDE
            layout = layout.with_note(Note(note.text, place, document.graph.scope))
    return replace(document, layout=layout)


def _known(entries: Mapping[str, Any], key: str, noun: str) -> Any:
    """Return the entry for ``key``; None for an empty ``key``, which adds a new entry."""
    if key and key not in entries:
        raise GraphEditError(f"The {noun} {key[:40]!r} no longer exists.")
    if not key and len(entries) >= MOST_REMARKS:
        raise GraphEditError(f"A graph has at most {MOST_REMARKS} {noun}s. Remove one first.")
    return entries.get(key)


def _text(text: str, max_length: int, noun: str) -> str:
    text = text.strip()
    if not text:
        raise GraphEditError(f"The {noun} is empty. Enter text.")
    if len(text) > max_length:
        raise GraphEditError(
            f"The {noun} has {len(text)} characters; at most {max_length} are allowed."
        )
    if not is_text(text):
        raise GraphEditError(
            f"The {noun} contains a lone surrogate (half a character), which cannot be saved. "
            "Remove it."
        )
    return text
