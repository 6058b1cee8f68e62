"""Restrict the folders in which a thread and its children can write, with Linux's Landlock.

Audit hooks of Python see only the files that Python opens. The kernel also sees C++ libraries and
other programs. Constants: ``linux/landlock.h`` and
https://docs.kernel.org/userspace-api/landlock.html.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System call numbers, which are the same on every architecture."""
_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_WRITES = (
    (1, _WRITE_FILE | sum(1 << bit for bit in range(4, 13))),  # remove and create any entry
    (2, 1 << 13),  # link and rename across folders
    (3, _TRUNCATE),
)
"""Pairs of a Landlock version, and the flags of the kinds of write access that it introduced."""


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def restrict_writing(folders: Iterable[str]) -> bool:
    """Allow this thread, and children that it starts later, to write only below these folders.

    Open files are not affected. This is irreversible. Returns True if the kernel supports it: Linux
    5.13 or newer, unless Landlock is disabled.
    """
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))
    if version < 1:
        return False
    writes = sum(accesses for first, accesses in _WRITES if version >= first)
    handled = ctypes.c_uint64(writes)
    ruleset = call(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(8), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        for folder in folders:
            with suppress(OSError):  # not available
                _allow(call, ruleset, folder, writes)
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # required unless root
        return bool(call(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)) == 0)
    finally:
        os.close(ruleset)


def _allow(call: ctypes._NamedFuncPointer, ruleset: int, folder: str, rights: int) -> None:
    below = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        accesses = rights if os.path.isdir(folder) else rights & (_WRITE_FILE | _TRUNCATE)
        rule = _PathBeneath(accesses, below)
        call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(below)
