"""Share one worker among all calls in this process that do not pass an engine."""

from __future__ import annotations

import threading
import weakref

from workbench.engine.protocol.process import Engine
from workbench.engine.resources.memory_budget import shared_budget

_lock = threading.Lock()
_own: Engine | None = None
_lent: list[weakref.ref[Engine]] = []
"""Engines of open workbenches, the most recent one last."""


def shared_engine() -> Engine:
    """Return the engine of the workbench opened last, or a default engine if none is open.

    The default engine's worker ends after some time without calls, and the next call starts a new
    worker.
    """
    global _own
    with _lock:
        _lent[:] = [each for each in _lent if (engine := each()) is not None and not engine.closed]
        for each in reversed(_lent):
            if (engine := each()) is not None:
                return engine
        if _own is None or _own.closed:
            _own = Engine(memory=shared_budget())
        return _own


def set_shared_engine(engine: Engine) -> None:
    """Make ``shared_engine`` return this engine until it is closed, and end the default worker."""
    with _lock:
        _lent.append(weakref.ref(engine))
        own = _own
    if own is not None:
        own.end_worker()
