"""To whom a session's work belongs: a tab of a browser, or a cell of a notebook.

An owner is 16 hexadecimal digits. A page keeps its tab's in ``sessionStorage`` and hands it in with
the action ``attach``, so a page that is loaded anew has the owner that it had before; in a notebook
it follows from the notebook's path, the cell, and what the cell asks for. ``ViewModel.owner`` is
what measurements and kept edits are found again by.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sys
import threading
import weakref
from typing import Any, Protocol


def new_owner() -> str:
    """An owner that nobody has yet."""
    return secrets.token_hex(8)


def is_owner(text: object) -> bool:
    """Whether a text from outside can be one."""
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{16}", text) is not None


def notebook_path() -> str:
    """The notebook that this kernel belongs to, or empty where the kernel cannot tell.

    Jupyter Server names it in ``JPY_SESSION_NAME``, Visual Studio Code in the user's namespace.
    """
    shell = _shell()
    named = shell.user_ns.get("__vsc_ipynb_file__", "") if shell is not None else ""
    path = named or os.environ.get("JPY_SESSION_NAME", "")
    return os.path.realpath(path) if shell is not None and path.endswith(".ipynb") else ""


def running_cell() -> str:
    """The id of the notebook's cell that runs now, or empty where the front end names none."""
    shell = _shell()
    parent = getattr(shell, "parent_header", None) or {}
    metadata = parent.get("metadata", {}) if isinstance(parent, dict) else {}
    return str(metadata.get("cellId", ""))


def notebook_owner(path: str, cell: str, start: str) -> str:
    """The owner of the work that a cell begins. ``start`` says what it begins with."""
    text = "\0".join((path, cell, start))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


class Page(Protocol):
    """A session of the server, as ``OpenTabs`` looks at it."""

    def is_connected(self) -> bool:
        """Whether its page is still there."""


class OpenTabs:
    """Which session of this server shows which tab. May be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: weakref.WeakValueDictionary[str, Page] = weakref.WeakValueDictionary()

    def claim(self, tab: str, page: Page) -> str:
        """The owner of a page that says it is ``tab``.

        Another one than that where a page that is still connected has it: a browser that
        duplicates a tab copies its ``sessionStorage`` too.
        """
        with self._lock:
            holder = self._pages.get(tab)
            taken = holder is not None and holder is not page and holder.is_connected()
            owner = new_owner() if taken or not is_owner(tab) else tab
            self._pages[owner] = page
            return owner
