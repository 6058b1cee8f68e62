"""Owner of a session: the id of a browser tab or notebook cell.

An owner is a string of 16 hexadecimal digits. A page stores its owner in ``sessionStorage`` and
sends it with the action ``attach``, so the owner is the same after a reload. In a notebook, the
owner is derived from the notebook's path, the cell, and the arguments of the workbench.
Measurements and stored edits are found by ``ViewModel.owner``.
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
    """Return a new random owner."""
    return secrets.token_hex(8)


def is_owner(text: object) -> bool:
    """Return whether an untrusted value is a valid owner."""
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{16}", text) is not None


def notebook_path() -> str:
    """Return the path of the kernel's notebook; "" if unknown.

    Jupyter Server sets ``JPY_SESSION_NAME``; Visual Studio Code sets a variable in the namespace.
    """
    shell = _shell()
    named = shell.user_ns.get("__vsc_ipynb_file__", "") if shell is not None else ""
    path = named or os.environ.get("JPY_SESSION_NAME", "")
    return os.path.realpath(path) if shell is not None and path.endswith(".ipynb") else ""


def running_cell() -> str:
    """Return the id of the running notebook cell; "" if the front end does not send it."""
    shell = _shell()
    parent = getattr(shell, "parent_header", None) or {}
    metadata = parent.get("metadata", {}) if isinstance(parent, dict) else {}
    return str(metadata.get("cellId", ""))


def notebook_owner(path: str, cell: str, start: str) -> str:
    """Return the owner for a notebook cell. ``start`` describes the workbench's arguments."""
    text = "\0".join((path, cell, start))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


class Page(Protocol):
    """An open page, which claims an owner in ``OpenTabs``."""

    def is_connected(self) -> bool:
        """Return whether the page is still open."""


class OpenTabs:
    """Open pages of this server by session owner. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: weakref.WeakValueDictionary[str, Page] = weakref.WeakValueDictionary()

    def claim(self, tab: str, page: Page) -> str:
        """Return the owner for a page that sends the id ``tab``.

        The owner is ``tab``, unless another connected page has it: browsers copy
        ``sessionStorage`` when a tab is duplicated. The page then gets a new owner.
        """
        with self._lock:
            holder = self._pages.get(tab)
            taken = holder is not None and holder is not page and holder.is_connected()
            owner = new_owner() if taken or not is_owner(tab) else tab
            self._pages[owner] = page
            return owner
