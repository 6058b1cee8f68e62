"""The shared picture, drawn in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workbench.engine.protocol.process import Engine
from workbench.errors import CancelledError, SaveError, WorkbenchError
from workbench.graph.storage.layout import Document, dump_document
from workbench.preview import PreviewRequest
from workbench.preview.views.share import draw_sheet, share_sheet, write_shared
from workbench.ui.jobs.background_task import TaskListener, run_in_background


class ShareImageJob:
    """Draws one picture at a time."""

    def __init__(
        self,
        engine: Engine,
        lock: threading.RLock,
        changed: Callable[[], None],
        done: Callable[[Document, bytes | None, str], None],
    ) -> None:
        """``done`` is called with the picture, or None and what went wrong, then ``changed``."""
        self._handle = engine.handle()
        self._lock, self._changed, self._done = lock, changed, done
        self._asked: Document | None = None
        self._closed = False

    def start(self, document: Document, request: PreviewRequest | None, reason: str) -> None:
        """Draw this document, unless that is being done.

        Where it cannot be run (there is then no request), the picture says the ``reason``: it
        still carries the graph.
        """
        if self._closed or self._asked is document:
            return
        self._asked = document

        def ended(picture: bytes | None, wrong: str) -> None:
            if self._asked is document:
                self._asked = None
            if not self._closed:
                self._done(document, picture, wrong)

        listener = TaskListener(self._lock, self._changed, ended)
        run_in_background("picture", lambda: self._picture(document, request, reason), listener)

    def close(self) -> None:
        """Draw nothing any more; ``done`` is not called again for what is being drawn."""
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
        return write_shared(draw_sheet(document.graph.name, reason), text)
