"""Undo history as a list of documents. All changes of one drag are undone together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from workbench.graph.model import Graph
from workbench.graph.storage.layout import Document, Layout
from workbench.ui.state.undo_labels import edit_label, shortened

LIMIT = 1000
"""Maximum number of edits. Graphs share unchanged parts, so an edit takes about a kilobyte."""
BURST = 1.0
"""Maximum seconds between two changes of a setting that are undone together."""


View = tuple[int, int]
"""Index of the displayed batch, and index of the photo that is repeated in it (-1 for none). An
edit may change both.
"""


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """Document that undo or redo returns to.

    ``views`` are the views before and after the edit, if it changed the view. ``label`` names the
    edit; if empty, the label is derived from the documents.
    """

    document: Document
    views: tuple[View, View] | None = None
    label: str = ""


class History:
    """Undo history: the current document, earlier documents, and undone documents."""

    def __init__(
        self,
        graph: Graph,
        layout: Layout | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.document = Document(graph, layout or Layout())
        self._before: list[HistoryStep] = []
        self._undone: list[HistoryStep] = []
        self._group = ""
        self._clock = clock
        self._burst = ("", 0.0, 0)
        self._labels: dict[tuple[int, int], tuple[Document, Document, str]] = {}
        self._left: list[Document] = []
        """Documents that were current when another document was opened."""
        self._first_number = 0
        """Number of the oldest graph of the history."""

    @classmethod
    def of(cls, document: Document) -> History:
        """Create a history without edits for a document."""
        made = cls(document.graph)
        made.document = document
        return made

    @property
    def now(self) -> Graph:
        return self.document.graph

    @property
    def layout(self) -> Layout:
        return self.document.layout

    def push(self, graph: Graph, group: str = "") -> None:
        """Make ``graph`` the current graph. Consecutive pushes of the same group are one edit."""
        self.push_document(self.document.with_graph(graph), group)

    def push_document(
        self,
        document: Document,
        group: str = "",
        views: tuple[View, View] | None = None,
        label: str = "",
    ) -> None:
        """Make ``document`` the current document. ``views`` are set if the edit changes the view.

        If the last change of a group restores the document before the group, no edit is added.
        ``label`` names an edit whose label cannot be derived from the documents.
        """
        if document == self.document and views is None:
            return
        if group and group == self._group and document == self._before[-1].document:
            self.document = self._before.pop().document  # back to the start: no step
            self._group = ""
            return
        if not group or group != self._group:
            self._before.append(HistoryStep(self.document, views))
            del self._before[:-LIMIT]
        self._before[-1] = replace(self._before[-1], label=label)
        self._group = group
        self._undone.clear()
        self.document = document

    def open(self, document: Document, label: str = "") -> None:
        """Open ``document`` as another graph. Undo returns to the previous document."""
        left = self.document
        self.push_document(document, label=label or shortened(f"open {document.graph.name}"))
        if left is not self.document:
            self._left = [*self._left[-LIMIT:], left]

    def replace_present(self, document: Document) -> None:
        """Replace the current document after other data was opened, without adding an edit.

        Earlier and later edits keep their labels.
        """
        for steps, label in ((self._before, self.undo_label), (self._undone, self.redo_label)):
            if steps:
                steps[-1] = replace(steps[-1], label=label)
        self._left = [document if each is self.document else each for each in self._left]
        self.document = document

    def return_to(self, document: Document) -> None:
        """Return to an earlier document without adding an edit."""
        if self._before and self._before[-1].document is document:
            self._before.pop()
        self._group = ""
        self.document = document

    @property
    def opened(self) -> Document:
        """Document of the current graph when it was opened, or the oldest available version."""
        line = [*(step.document for step in self._before), self.document]
        places = [at for at, one in enumerate(line[:-1], 1) if any(one is x for x in self._left)]
        return line[places[-1] if places else 0]

    @property
    def graph_number(self) -> int:
        """Number of the current graph: 0 for the first, and a new number for each opened graph."""
        before = [step.document for step in self._before]
        found = (n for n, left in enumerate(self._left, 1) if any(left is one for one in before))
        return self._first_number + max(found, default=0)

    @property
    def timeline(self) -> tuple[Document, ...]:
        """All documents, oldest first, including the current one and undone ones."""
        done = [step.document for step in self._before]
        return (*done, self.document, *(step.document for step in reversed(self._undone)))

    @property
    def before(self) -> tuple[HistoryStep, ...]:
        """Steps that undo returns to, oldest first."""
        return tuple(self._before)

    @property
    def undone(self) -> tuple[HistoryStep, ...]:
        """Steps that redo returns to; the last one is next."""
        return tuple(self._undone)

    def restore(
        self, document: Document, before: Iterable[HistoryStep], undone: Iterable[HistoryStep]
    ) -> None:
        """Restore a stored history. A graph that differs from the current one has a new number."""
        if document.graph != self.now:
            self._first_number += len(self._left) + 1
            self._left.clear()
        self._before, self._undone, self._group = list(before)[-LIMIT:], list(undone), ""
        self.document = document

    def burst(self, name: str) -> str:
        """Return a group name that is equal for changes within ``BURST`` seconds of each other."""
        last, when, number = self._burst
        now = self._clock()
        if name != last or now - when > BURST:
            number += 1
        self._burst = (name, now, number)
        return f"{name} {number}"

    def labels(self, limit: int) -> list[str]:
        """Return undo labels, oldest first: up to ``limit`` applied and ``limit`` undone edits."""
        done, undone = self._before[-limit:], self._undone[-limit:][::-1]
        line = [step.document for step in (*done, HistoryStep(self.document), *undone)]
        steps = zip((*done, *undone), pairwise(line), strict=True)
        return [self._label(step, one, other) for step, (one, other) in steps]

    @property
    def undo_label(self) -> str:
        """Label of the edit that undo reverts; empty if there is none."""
        if not self._before:
            return ""
        return self._label(self._before[-1], self._before[-1].document, self.document)

    @property
    def redo_label(self) -> str:
        """Label of the edit that redo applies; empty if there is none."""
        if not self._undone:
            return ""
        return self._label(self._undone[-1], self.document, self._undone[-1].document)

    def _label(self, step: HistoryStep, before: Document, after: Document) -> str:
        if step.label:
            return step.label
        key = id(before), id(after)
        if key not in self._labels:
            if len(self._labels) > LIMIT:
                self._labels.clear()
            self._labels[key] = before, after, edit_label(before, after)
        return self._labels[key][2]

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

    def target(self, back: bool) -> tuple[Document, View | None] | None:
        """Return the document and view after undo (``back``) or redo; None if there is no edit.

        The view is None if the edit does not change it.
        """
        source = self._before if back else self._undone
        if not source:
            return None
        step = source[-1]
        return step.document, step.views and step.views[0 if back else 1]

    def undo(self) -> bool:
        """Undo one edit. Return False if there is none."""
        return self._step(self._before, self._undone)

    def redo(self) -> bool:
        """Redo one edit. Return False if there is none."""
        return self._step(self._undone, self._before)

    def _step(self, source: list[HistoryStep], target: list[HistoryStep]) -> bool:
        if not source:
            return False
        step = source.pop()
        target.append(replace(step, document=self.document))
        self.document = step.document
        self._group = ""
        return True
