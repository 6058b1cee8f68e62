"""The shared picture, drawn in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from workbench.engine.protocol.process import Engine
from workbench.errors import CancelledError, EngineError, SaveError, WorkbenchError
from workbench.graph.storage.layout import Document, dump_document
from workbench.preview import PreviewRequest
from workbench.preview.views.share import draw_sheet, share_sheet, write_shared


class ShareImageJob:
    """Draws one picture at a time; ``done`` is called with it, or with what went wrong."""

    def __init__(
        self, engine: Engine, done: Callable[[Document, bytes | WorkbenchError], None]
    ) -> None:
        self._handle = engine.handle()
        self._done = done
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
        threading.Thread(
            target=self._draw,
            args=(document, request, reason),
            name="workbench-share",
            daemon=True,
        ).start()

    def close(self) -> None:
        """Draw nothing any more; ``done`` is not called again for what is being drawn."""
        self._closed = True
        self._handle.interrupt()

    def _draw(self, document: Document, request: PreviewRequest | None, reason: str) -> None:
        outcome: bytes | WorkbenchError
        try:
            outcome = self._picture(document, request, reason)
        except WorkbenchError as error:
            outcome = error
        except Exception as error:
            logging.getLogger(__name__).exception("The picture failed")
            outcome = EngineError(f"The picture failed: {type(error).__name__}: {error}")
        if self._asked is document:
            self._asked = None
        if not self._closed:
            self._done(document, outcome)

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
