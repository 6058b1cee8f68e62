"""Open the app's link in the user's browser."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

_PAGE = '<!doctype html><meta http-equiv="refresh" content="0; url={link}"><title>…</title>'


@contextmanager
def open_in_browser(link: str) -> Iterator[None]:
    """Open a link if there is a display, through a file that only the user can read.

    Every user of the machine can read a browser's arguments, and the link contains the token.
    """
    if not (sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:  # mode 0700
        page = Path(folder, "open.html")
        page.write_text(_PAGE.format(link=escape(link)), encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield
