"""The background thread that turns requests into pictures: the newest request wins."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from workbench.engine.process import Engine
from workbench.errors import EngineError, WorkbenchError
from workbench.preview import Preview, PreviewRequest, preview_batch

PATIENCE = 0.2
"""Seconds before a request counts as slow and the screen says that it is being computed."""

Outcome = Preview | WorkbenchError


class Previewer:
    """Renders one request at a time; of those that wait, only the latest is rendered."""

    def __init__(
        self,
        engine: Engine,
        on_done: Callable[[PreviewRequest, Outcome], None],
        on_slow: Callable[[], None],
    ) -> None:
        """Both are called from threads of this object."""
        self._engine = engine
        self._on_done = on_done
        self._on_slow = on_slow
        self._condition = threading.Condition()
        self._waiting: PreviewRequest | None = None
        self._closed = False
        self.running: PreviewRequest | None = None
        """What is being rendered now."""
        self._thread = threading.Thread(target=self._work, name="workbench-preview", daemon=True)
        self._thread.start()

    def ask(self, request: PreviewRequest | None) -> None:
        """Render this next, in place of any request that waits; None only drops that one."""
        with self._condition:
            self._waiting = request
            self._condition.notify()

    def close(self) -> None:
        """End the thread; a rendering that runs is given up by closing the engine."""
        with self._condition:
            self._closed = True
            self._condition.notify()

    def _next(self) -> PreviewRequest | None:
        with self._condition:
            self._condition.wait_for(lambda: self._closed or self._waiting is not None)
            request, self._waiting = self._waiting, None
            return None if self._closed else request

    def _work(self) -> None:
        while (request := self._next()) is not None:
            self.running = request
            slow = threading.Timer(PATIENCE, self._on_slow)
            slow.daemon = True
            slow.start()
            try:
                outcome: Outcome = preview_batch(self._engine, request)
            except WorkbenchError as error:
                outcome = error
            except Exception as error:
                logging.getLogger(__name__).exception("The preview failed")
                outcome = EngineError(f"The preview failed: {type(error).__name__}: {error}")
            finally:
                slow.cancel()
            self.running = None
            if not self._closed:
                self._on_done(request, outcome)
