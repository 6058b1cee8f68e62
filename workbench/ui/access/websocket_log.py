"""Log each malformed websocket message on one line.

By default, Bokeh logs the whole message and a traceback, so a logged-in user could fill the disk.
Errors raised by the workbench itself keep their traceback.
"""

from __future__ import annotations

import logging
import os
import traceback
from pathlib import Path

from bokeh.server.views import ws

MOST = 300
"""Maximum number of characters in a log line."""
_LOGGERS = ("bokeh.protocol", "bokeh.server.protocol_handler", "bokeh.server.views.ws")
_APPLICATION = "tornado.application"
"""Logger to which Tornado reports the exception of a refused connection."""
_WEBSOCKET = str(ws.__file__)
_PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"


class OneLineFilter(logging.Filter):
    """Shortens each log record to one line, except for errors raised by this package."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        refused = record.name == _APPLICATION
        if error is not None and _has_frame_in(error, _PACKAGE):
            return True
        if refused and (error is None or not _has_frame_in(error, _WEBSOCKET)):
            return True
        message = f"ERROR:{record.name}:{error!r}" if refused else record.getMessage()
        text = " ".join(message.split())
        text = text if len(text) <= MOST else f"{text[: MOST - 1]}…"
        record.msg, record.args, record.exc_info, record.exc_text = text, (), None, None
        return True


def _has_frame_in(error: BaseException, path: str) -> bool:
    """Return whether the error passed through code in the folder or file ``path``."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_filename.startswith(path) for frame, _ in frames)


def log_malformed_messages_in_one_line() -> None:
    """Add ``OneLineFilter`` to the loggers of this process. Repeated calls have no effect."""
    for name in (*_LOGGERS, _APPLICATION):
        logger = logging.getLogger(name)
        if not any(isinstance(each, OneLineFilter) for each in logger.filters):
            logger.addFilter(OneLineFilter())
