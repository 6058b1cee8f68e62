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
    """Open ``link`` in the user's browser, if the machine has a display.

    The browser is started with the path of a private file that redirects to ``link``, because every
    user of the machine can read its command line, and ``link`` contains the token. The file is
    deleted when the context ends.
    """
    if not (sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:  # mode 0700
        page = Path(folder, "open.html")
        page.write_text(_PAGE.format(link=escape(link)), encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield
