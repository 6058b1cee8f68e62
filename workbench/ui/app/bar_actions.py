"""Actions used by several components: undo, redo, retry, and sharing a picture."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.engine.protocol.process import Engine
from workbench.errors import CancelledError, GraphEditError, SaveError, WorkbenchError
from workbench.graph.storage.layout import Document, dump_document
from workbench.preview import PreviewRequest
from workbench.preview.requests.share import compose_sheet, share_sheet, write_shared
from workbench.ui.app.selection import follow_step
from workbench.ui.contract.action import Action
from workbench.ui.jobs.background_task import TaskListener, run_in_background
from workbench.ui.state.view_state import blocking_faults, request_of

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel


class HistoryAction(Action, frozen=True):
    """Base class of actions that move through the undo history and then adapt the selection."""

    def move(self, model: ViewModel) -> str:
        """Undo or redo edits and return a message. Raises GraphEditError if that is impossible."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> str:
        before, opened = model.history.document, model.history.graph_number
        note = self.move(model)
        if model.history.graph_number != opened:  # the message was about the other graph
            model.verification.forget()
        follow_step(model.state, before, model.history.document, model.catalog)
        return note


class Undo(HistoryAction, tag="undo", frozen=True):
    """Undo the last edit."""

    def move(self, model: ViewModel) -> str:
        return _step(model, back=True)


class Redo(HistoryAction, tag="redo", frozen=True):
    """Redo the last undone edit."""

    def move(self, model: ViewModel) -> str:
        return _step(model, back=False)


class GoToStep(HistoryAction, tag="go_to", frozen=True):
    """Undo or redo edits until ``step`` edits are applied."""

    step: int
    """Number of edits that are applied afterwards, from 0 to all edits in the history."""

    def move(self, model: ViewModel) -> str:
        done = len(model.history.before)
        there = done + len(model.history.undone)
        if not 0 <= self.step <= there:
            raise GraphEditError(f"There is no edit {self.step}. Use 0 to {there}.")
        for _ in range(abs(self.step - done)):
            said = _step(model, back=self.step < done)
            if said:
                return said
        return ""


def _step(model: ViewModel, *, back: bool) -> str:
    """Undo or redo one edit and return a message. Also restore the batch and photo of that edit."""
    state, history = model.state, model.history
    word = "undo" if back else "redo"
    target = history.target(back)
    if target is None:
        return f"There is nothing to {word}."
    document, view = target
    before = history.now.settings.seed, state.batch
    if state.pinned and before != (document.graph.settings.seed, view[0] if view else before[1]):
        raise GraphEditError(
            f"Seed and batch are pinned. Unpin them to {word} the change of seed or batch."
        )
    (history.undo if back else history.redo)()
    if view is not None:
        (state.batch, state.repeat), state.closeup = view, None
    return ""


class Retry(Action, tag="retry", frozen=True):
    """Retry the failed operation."""

    def apply(self, model: ViewModel) -> str | None:
        if model.data_panel.error:
            return model.open_data(model.data_panel.datasets)
        model.request_picture_again()
        return None


class DismissMessage(Action, tag="dismiss", frozen=True):
    """Clear the message, so that the same message can be reported again."""

    def apply(self, model: ViewModel) -> str:
        return ""


# The shared picture, rendered in the background.


class Share(Action, tag="share", frozen=True):
    """Render the contact sheet as a picture for sharing, which also contains the graph."""

    def apply(self, model: ViewModel) -> None:
        faults = blocking_faults(model.state)
        reason = model.data_panel.error or (
            f"The graph cannot run here: {faults[0]}" if faults else ""
        )
        request = None if reason else request_of(model.state, model.data_panel.datasets)
        model.share_image_job.start(model.history.document, request, reason)


class ShareImageJob:
    """Renders pictures for sharing in the background, one at a time."""

    def __init__(
        self,
        engine: Engine,
        lock: threading.RLock,
        changed: Callable[[], None],
        done: Callable[[Document, bytes | None, str], None],
    ) -> None:
        """``done(document, picture, error)`` and ``changed()`` are called after each picture.

        If rendering failed, ``picture`` is None and ``error`` is the reason.
        """
        self._handle = engine.handle()
        self._lock, self._changed, self._done = lock, changed, done
        self._asked: Document | None = None
        self._closed = False

    def start(self, document: Document, request: PreviewRequest | None, reason: str) -> None:
        """Render the picture of a document, unless the same document is being rendered.

        If ``request`` is None because the graph cannot run, the picture shows the ``reason``
        instead of images, and still contains the graph.
        """
        if self._closed or self._asked is document:
            return
        self._asked = document

        def on_end(picture: bytes | None, error_text: str) -> None:
            if self._asked is document:
                self._asked = None
            if not self._closed:
                self._done(document, picture, error_text)

        listener = TaskListener(self._lock, self._changed, on_end)
        run_in_background("picture", lambda: self._picture(document, request, reason), listener)

    def close(self) -> None:
        """Stop rendering. ``done`` is not called for an unfinished picture."""
        self._closed = True
        self._handle.interrupt()

    def _picture(self, document: Document, request: PreviewRequest | None, reason: str) -> bytes:
        text = dump_document(document)
        if request is not None:
            try:
                return share_sheet(self._handle, request, text)
            except (SaveError, CancelledError):
                raise
            except WorkbenchError as error:
                reason = str(error)
        return write_shared(compose_sheet(document.graph.name, reason), text)
