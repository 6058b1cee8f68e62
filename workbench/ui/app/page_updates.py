"""Transfer fields between the page and Python faster than Panel does.

Panel delays fields that the page sets, and treats fields set by Python as if the page had set them.
Bokeh sends each field as a separate message of three frames. Without this module, these transfers
take half of the time of a drag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from bokeh.document import Document
from bokeh.document.events import ModelChangedEvent
from panel.io.state import set_curdoc, state
from tornado.ioloop import IOLoop


def apply_at_once(
    part: Any,
    document: Document,
    ref: str,
    subpath: str | None,
    name: str,
    old: Any,
    new: Any,
) -> None:
    """Handle a field that the page has set, without the delay that Panel adds.

    This function replaces ``_server_change`` of a component.
    """
    part._events[name] = new
    try:
        part._change_event(document)
    except Exception as error:
        state._handle_exception(error)


@contextmanager
def in_one_message(document: Document | None) -> Iterator[None]:
    """Send all fields that are set in this context in one message. Use it in the document's thread.

    Change callbacks are not called. Before a page is connected, Bokeh queues the fields.
    """
    if document is None:
        yield
        return
    document.hold("combine")
    try:
        yield
    finally:
        queued = document.callbacks._held_events
        fields = [event for event in queued if isinstance(event, ModelChangedEvent)]
        context: Any = document.session_context
        session = context.session if context is not None else None
        if fields and session is not None and session._pending_writes is not None:
            document.callbacks._held_events = [each for each in queued if each not in fields]
            for connection in session._subscribed_connections:
                message = connection.protocol.create("PATCH-DOC", fields)
                session._pending_writes.append(connection._socket.send_message(message))
        document.unhold()


def scheduler(document: Document | None, run: Callable[[], None]) -> Callable[[], None]:
    """Return a thread-safe function that schedules ``run`` in the document's thread, with its lock.

    Call ``scheduler`` in the document's thread. Once the page is closed, the returned function does
    nothing.
    """
    context: Any = document.session_context if document is not None else None
    if context is None:
        return lambda: None
    loop = IOLoop.current()

    def run_locked(_: Document) -> None:
        with set_curdoc(document):
            run()

    async def enter_lock() -> None:
        if not context.destroyed:
            await context.with_locked_document(run_locked)

    return partial(loop.add_callback, enter_lock)
