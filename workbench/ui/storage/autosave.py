"""Autosave: sessions are stored continuously and can be restored after a restart or a reload.

Each session has its own files, named after its owner (see ``owner.py``)::

    $XDG_STATE_HOME/dali-workbench/sessions/<owner>.json   the session (see ``session_file.py``)
                                             /<owner>.webp   its last picture
                                             /<owner>.lock   locked while the session is open

The operating system releases a lock when its process ends, so any process can check whether a
session is open. ``DALI_WORKBENCH_STATE`` replaces ``$XDG_STATE_HOME/dali-workbench`` (XDG Base
Directory Specification 0.8).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from workbench.errors import GraphFormatError, SaveError
from workbench.files import write_bytes, write_text
from workbench.ui.state.owner import is_owner, new_owner
from workbench.ui.storage.session_file import Session, SessionSerializer, load_session
from workbench.ui.timer import Timeout

DELAY = 0.3
"""Seconds from a change until it is written, together with later changes."""
PICTURE_DELAY = 3.0
"""Seconds from a preview until its thumbnail is written."""
KEPT_DAYS = 90
"""Age in days at which sessions that are not open are removed."""

_open: weakref.WeakValueDictionary[str, Autosave] = weakref.WeakValueDictionary()
"""Open sessions of this process by owner. They may have unwritten changes."""
_open_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class Restored:
    """Session that was read from disk, and the local time of its last change."""

    session: Session
    when: datetime

    def __str__(self) -> str:
        count = f" with {self._count} to undo" if self.session.before else ""
        return f"Restored your work from {datetime_text(self.when)}{count}."

    @property
    def offer(self) -> str:
        """Message for a session that is offered but was not applied."""
        return (
            f"Not applied: {self._count} made in this cell's output at {datetime_text(self.when)}."
        )

    @property
    def _count(self) -> str:
        edits = len(self.session.before)
        return f"{edits} edit{'s' * (edits != 1)}"


def datetime_text(when: datetime) -> str:
    """Return a time as ``09:05`` if it is today, otherwise as ``4 Mar, 17:30``."""
    today = when.date() == datetime.now().date()
    return f"{when:%H:%M}" if today else f"{when:%d %b, %H:%M}".lstrip("0")


def state_folder() -> Path:
    """Return the folder for files that outlive a session. It may not exist yet."""
    if named := os.environ.get("DALI_WORKBENCH_STATE"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_STATE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state"
    return root / "dali-workbench"


def sessions_folder() -> Path:
    """Return the folder of the stored sessions. It may not exist yet."""
    return state_folder() / "sessions"


def is_open(path: Path) -> bool:
    """Return whether the session file ``path`` is open in this or another process."""
    with _open_lock:
        if path.stem in _open:
            return True
    with holding_lock(path.with_suffix(".lock")) as free:
        return not free


class Autosave:
    """Writes the file of one session. Thread-safe."""

    def __init__(
        self,
        owner: str = "",
        notify: Callable[[str], None] = lambda words: None,
        delay: float = DELAY,
    ) -> None:
        """``notify`` is called with a message if the session cannot be stored.

        If ``owner`` is empty, a new session is started.
        """
        self.folder = sessions_folder()
        self.owner = owner or new_owner()
        self.failure = ""
        """Reason why the last change could not be written; empty if it was written or is
        pending.
        """
        self._tell = notify
        self._delay = delay
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._timeout: Timeout[None] = Timeout(lambda _: self._write())
        self._picture_timer: threading.Timer | None = None
        self._waiting: Session | None = None
        self._picture: Callable[[], bytes] | None = None
        self._writer = SessionSerializer()
        self._file_lock: IO[bytes] | None = None
        self._closed = False

    def attach(self, owner: str, copy_of: str = "") -> Restored | None:
        """Use the file of ``owner`` from now on. Return its content, or None.

        If ``copy_of`` is set, the file of that owner is read instead. If another session of this
        process uses the file, that session saves its changes and continues with a new file. If
        another process has the file open, this session starts a new file instead.
        """
        with _open_lock:
            holders = {each: _open.get(each) for each in (owner, copy_of)}
        for each, holder in holders.items():
            if holder is not None and holder is not self:
                holder._write()
                if each == owner:
                    holder._hand_over()
        self._hand_over()
        with self._writing, _open_lock:
            self.owner = owner
            _open[owner] = self
            path = self.folder / f"{copy_of or owner}.json"
            if not path.exists():
                return None
            claimed = False
            with suppress(OSError):  # a failed write is reported with the first change
                claimed = self._claim()
            found = self.read(path)  # no other session writes it any more
            if not claimed:
                self._release_file()
            return found

    def copy_aside(self) -> None:
        """Copy the session's files to a new owner, so that the next change does not overwrite them.

        The new owner is a hash of the content, so equal sessions are copied only once.
        """
        with self._writing, suppress(OSError, SaveError):
            path = self.folder / f"{self.owner}.json"
            content = path.read_bytes()
            other = self.folder / hashlib.sha256(content).hexdigest()[:16]
            write_bytes(other.with_suffix(".json"), content)
            picture = path.with_suffix(".webp").read_bytes()
            write_bytes(other.with_suffix(".webp"), picture)

    def changed(self, session: Session) -> None:
        """Write ``session`` after a delay, in place of pending changes."""
        with self._lock:
            if self._closed:
                return
            if self._waiting is None:
                self._timeout.start(None, self._delay)
            self._waiting = session

    def store_thumbnail(self, picture: Callable[[], bytes]) -> None:
        """Write a thumbnail after a delay. ``picture`` is called then and returns a WebP."""
        with self._lock:
            if self._closed:
                return
            self._picture = picture
            if self._picture_timer is None:
                self._picture_timer = threading.Timer(PICTURE_DELAY, self._write_picture)
                self._picture_timer.name = "workbench-autosave"
                self._picture_timer.daemon = True
                self._picture_timer.start()

    def close(self) -> None:
        """Write pending changes, and ignore later ones."""
        with self._lock:
            self._closed = True
            timer = self._picture_timer
        self._timeout.close()
        if timer is not None:
            timer.cancel()
        self._write()
        self._write_picture()
        with _open_lock:
            self._unlock()

    def read(self, path: Path) -> Restored | None:
        """Load a session. If its file is invalid, rename the file and return None."""
        if not is_owner(path.stem):
            return None
        try:
            when = datetime.fromtimestamp(path.stat().st_mtime)
            return Restored(load_session(path.read_text(encoding="utf-8")), when)
        except OSError:
            return None
        except (GraphFormatError, UnicodeDecodeError):
            aside = path.with_suffix(".damaged")
            with suppress(OSError):
                path.replace(aside)
            self._tell(f"The stored edits cannot be read. Their file was renamed to {aside}.")
            return None

    def set_aside(self) -> None:
        """Rename the session's file, so that it is not restored or overwritten."""
        path = self.folder / f"{self.owner}.json"
        with suppress(OSError):
            path.replace(path.with_suffix(".damaged"))

    def _claim(self) -> bool:
        """Try to lock the file for this session. Call it with ``_open_lock`` held."""
        if self._file_lock is not None:
            return True
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file_lock = take_lock(self.folder / f"{self.owner}.lock")
        if self._file_lock is None:
            return False
        _open[self.owner] = self
        return True

    def _hand_over(self) -> None:
        with self._writing, _open_lock:
            self._release_file()

    def _release_file(self) -> None:
        """Release the file and continue as a new session. Call it with ``_open_lock`` held."""
        self._unlock()
        self.owner = new_owner()

    def _unlock(self) -> None:
        if _open.get(self.owner) is self:
            del _open[self.owner]
        if self._file_lock is not None:
            self._file_lock.close()
            self._file_lock = None

    def _write(self) -> None:
        with self._writing:
            with self._lock:
                session, self._waiting = self._waiting, None
            if session is None:
                return
            try:
                with _open_lock:
                    first = self._file_lock is None
                    path = self.folder / f"{self.owner}.json"
                    if not self._claim() or (first and path.exists()):
                        self._release_file()  # another process has, or had, the lock
                        self._claim()
                        path = self.folder / f"{self.owner}.json"
                write_text(path, self._writer.dump(session))
                self.failure = ""
                if first:
                    remove_old(self.folder)
            except (OSError, SaveError) as error:
                self.failure = str(error)
                tell, self._tell = self._tell, lambda words: None  # report once
                tell(f"Your edits cannot be stored and will be lost on restart: {error}")

    def _write_picture(self) -> None:
        with self._writing:
            with self._lock:
                picture, self._picture = self._picture, None
                self._picture_timer = None
            if picture is not None and self._file_lock is not None:
                with suppress(OSError, SaveError):
                    write_bytes(self.folder / f"{self.owner}.webp", picture())


def remove_old(folder: Path) -> None:
    """Remove old sessions that are not open, and old renamed files."""
    oldest = time.time() - KEPT_DAYS * 86_400
    for path in folder.glob("*.json"):
        with suppress(OSError):  # another process may have removed it just now
            if path.stat().st_mtime >= oldest:
                continue
            with _open_lock, holding_lock(path.with_suffix(".lock")) as free:
                if free and path.stem not in _open:
                    for suffix in (".json", ".webp", ".lock"):
                        path.with_suffix(suffix).unlink(missing_ok=True)
    for path in folder.glob("*.damaged"):
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


_TRIES = 40
_PAUSE = 0.004
"""Seconds between attempts to acquire the lock. Processes that only check the lock hold it for
microseconds, but may check often.
"""


def take_lock(path: Path) -> IO[bytes] | None:
    """Open (or create) and lock a file. Return None if another process holds the lock.

    Closing the file unlocks it. Raises OSError if it can be neither created nor opened.
    """
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        lock = path.open("ab")
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _still_exists(path, lock):
                return lock
        lock.close()
    return None


@contextmanager
def holding_lock(path: Path) -> Iterator[bool]:
    """Yield True if the lock is free, and hold it in this context. Does not create the file."""
    try:
        lock = path.open("rb")
    except FileNotFoundError:
        yield True
        return
    except OSError:
        yield False
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = _still_exists(path, lock)
        except OSError:
            free = False
        yield free


def _still_exists(path: Path, lock: IO[bytes]) -> bool:
    """Return whether ``path`` is still the locked file; locking a removed file has no effect."""
    return os.path.samestat(os.fstat(lock.fileno()), path.stat())
