"""Undo and redo: a list of documents, in which the steps of one drag are one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from workbench.graph.layout import Document, Layout
from workbench.graph.model import Graph

LIMIT = 1000
"""Steps kept. Graphs share what did not change, so a step costs about a kilobyte."""
BURST = 1.0
"""Seconds within which changes of one setting count as one step."""


View = tuple[int, int]
"""What a step may change besides the document: the batch that is shown, and the photo that stands
at every place (-1: none)."""


@dataclass(frozen=True, slots=True)
class Step:
    """The document that undo or redo leads to.

    ``views`` are those before and after the change, where it was one of the view too.
    """

    document: Document
    views: tuple[View, View] | None = None


class History:
    """The present document, those before it and those undone."""

    def __init__(
        self,
        graph: Graph,
        layout: Layout | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.document = Document(graph, layout or Layout())
        self._before: list[Step] = []
        self._undone: list[Step] = []
        self._group = ""
        self._clock = clock
        self._burst = ("", 0.0, 0)

    @property
    def now(self) -> Graph:
        """The present graph."""
        return self.document.graph

    @property
    def layout(self) -> Layout:
        """Where its nodes stand."""
        return self.document.layout

    def push(self, graph: Graph, group: str = "") -> None:
        """Make ``graph`` the present one. Pushes in a row that share a group are one step."""
        self.push_document(self.document.with_graph(graph), group)

    def push_layout(self, layout: Layout, group: str = "") -> None:
        """Arrange the present graph otherwise."""
        self.push_document(replace(self.document, layout=layout.within(self.now)), group)

    def push_document(
        self, document: Document, group: str = "", views: tuple[View, View] | None = None
    ) -> None:
        """As ``push``, for graph and layout, and with ``views`` for what is to be seen of them."""
        if document == self.document and views is None:
            return
        if not group or group != self._group:
            self._before.append(Step(self.document, views))
            del self._before[:-LIMIT]
        self._group = group
        self._undone.clear()
        self.document = document

    @property
    def before(self) -> tuple[Step, ...]:
        """What undo leads to, the next one last."""
        return tuple(self._before)

    @property
    def undone(self) -> tuple[Step, ...]:
        """What redo leads to, the next one last."""
        return tuple(self._undone)

    def restore(self, document: Document, before: Iterable[Step], undone: Iterable[Step]) -> None:
        """Go on where another history ended."""
        self._before, self._undone, self._group = list(before)[-LIMIT:], list(undone), ""
        self.document = document

    def burst(self, name: str) -> str:
        """A group for changes of ``name`` that follow each other within a second."""
        last, when, number = self._burst
        now = self._clock()
        if name != last or now - when > BURST:
            number += 1
        self._burst = (name, now, number)
        return f"{name} {number}"

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

    def target(self, back: bool) -> tuple[Document, View | None] | None:
        """What undo (``back``) or redo leads to, with the view where it takes that along."""
        source = self._before if back else self._undone
        if not source:
            return None
        step = source[-1]
        return step.document, step.views and step.views[0 if back else 1]

    def undo(self) -> bool:
        """Back by one step; whether there was one."""
        return self._step(self._before, self._undone)

    def redo(self) -> bool:
        """Forward by one undone step; whether there was one."""
        return self._step(self._undone, self._before)

    def _step(self, source: list[Step], target: list[Step]) -> bool:
        if not source:
            return False
        step = source.pop()
        target.append(Step(self.document, step.views))
        self.document = step.document
        self._group = ""
        return True
