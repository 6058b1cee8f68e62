"""A line in the server's log for each message of a websocket that nobody can understand.

Bokeh logs such a message whole and with a traceback, which anybody who is in could fill a disk
with. A fault of the workbench's own keeps its traceback.
"""

from __future__ import annotations

import logging
import os
import traceback
from pathlib import Path

from bokeh.server.views import ws

MOST = 300
"""Characters of a line."""
_LOGGERS = ("bokeh.protocol", "bokeh.server.protocol_handler", "bokeh.server.views.ws")
_APPLICATION = "tornado.application"
"""Where Tornado logs what a connection that is refused raises."""
_WEBSOCKET = str(ws.__file__)
_PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"


class OneLine(logging.Filter):
    """Makes one line, of limited length, of what is not a fault of this package."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        refused = record.name == _APPLICATION
        if error is not None and _passed(error, _PACKAGE):
            return True
        if refused and (error is None or not _passed(error, _WEBSOCKET)):
            return True
        said = f"ERROR:{record.name}:{error!r}" if refused else record.getMessage()
        text = " ".join(said.split())
        text = text if len(text) <= MOST else f"{text[: MOST - 1]}…"
        record.msg, record.args, record.exc_info, record.exc_text = text, (), None, None
        return True


def _passed(error: BaseException, place: str) -> bool:
    """Whether code of a folder or file was at work when it was raised."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_filename.startswith(place) for frame, _ in frames)


def log_malformed_messages_in_one_line() -> None:
    """For this process; once is enough, and more does no harm."""
    for name in (*_LOGGERS, _APPLICATION):
        logger = logging.getLogger(name)
        if not any(isinstance(each, OneLine) for each in logger.filters):
            logger.addFilter(OneLine())
