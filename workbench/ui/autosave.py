"""Edits kept on disk while they are made, and found again after a restart or a reload.

Every view-model writes to a file of its own, so that two tabs or two kernels on one folder destroy
nothing of each other's. What belongs together lies in one folder, named after the data folder and
the graph that the work began with::

    $XDG_STATE_HOME/dali-workbench/autosave/<hash of both>/<session>.json

Each is a graph file like any other. A new view-model starts with the newest of its folder; a page
that is loaded anew asks for its own by the session's name. ``DALI_WORKBENCH_STATE`` names another
folder than ``$XDG_STATE_HOME/dali-workbench`` (XDG Base Directory Specification 0.8).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from workbench.errors import GraphFormatError, SaveError
from workbench.files import write_text
from workbench.graph.layout import Document, dump_document, load_document

DELAY = 0.3
"""Seconds from an edit until it is on the disk; edits in between go with it."""
KEPT = 8
"""Files kept of one piece of work: those of the last sessions."""


_live: weakref.WeakSet[Autosave] = weakref.WeakSet()
"""The sessions of this process: one may have yet to write what another looks for."""
_live_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Restored:
    """What an earlier session left, and when it was last changed (local time)."""

    document: Document
    when: datetime

    def __str__(self) -> str:
        today = self.when.date() == datetime.now().date()
        when = f"{self.when:%H:%M}" if today else f"{self.when:%d %b, %H:%M}".lstrip("0")
        return f"Restored your edits of {when}; undo leads to the graph as it was given."


def state_folder() -> Path:
    """Where the workbench keeps what should outlive a session; it need not exist."""
    if named := os.environ.get("DALI_WORKBENCH_STATE"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_STATE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state"
    return root / "dali-workbench"


class Autosave:
    """The files of one piece of work. May be called from any thread."""

    def __init__(
        self,
        data: str | Path,
        given: Document,
        tell: Callable[[str], None] = lambda words: None,
        delay: float = DELAY,
    ) -> None:
        """``given`` is what the work began with; ``tell`` hears why something is not kept."""
        start = f"{os.path.realpath(os.path.expanduser(data))}\0{dump_document(given)}"
        name = hashlib.sha256(start.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        self.folder = state_folder() / "autosave" / name
        self.session = secrets.token_hex(8)
        self._own = self.folder / f"{self.session}.json"
        self._given = given
        self._tell = tell
        self._delay = delay
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._timer: threading.Timer | None = None
        self._waiting: Document | None = None
        self._closed = False
        with _live_lock:
            _live.add(self)

    def start(self) -> Restored | None:
        """What the newest session left, or None where that is nothing but what was given.

        A file that cannot be read is set aside under another name and the next one taken.
        """
        self._await_others()
        for path in self._files():
            found = self._read(path)
            if found is not None:
                if found.document == self._given:
                    return None
                self._adopt(path)
                return found
        return None

    def resume(self, session: str) -> Restored | None:
        """What the session of that name left, or None where there is no such.

        Its file becomes this session's: a page that is reloaded often leaves no copies, which
        would push out the files of others.
        """
        if not re.fullmatch(r"[0-9a-f]{16}", session):
            return None
        self._await_others()
        path = self.folder / f"{session}.json"
        found = self._read(path)
        if found is not None:
            with suppress(OSError):
                path.replace(self._own)
        return found

    def changed(self, document: Document) -> None:
        """Write this soon, in place of anything that waits."""
        with self._lock:
            if self._closed:
                return
            self._waiting = document
            if self._timer is None:
                self._timer = threading.Timer(self._delay, self._write)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Write what waits; nothing more is taken."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
        self._write()

    def _await_others(self) -> None:
        """Have this process's other sessions write what waits: a page may reload right after."""
        with _live_lock:
            others = [other for other in _live if other.folder == self.folder and other is not self]
        for other in others:
            other._write()

    def _write(self) -> None:
        with self._writing:
            with self._lock:
                document, self._waiting = self._waiting, None
                self._timer = None
            if document is None:
                return
            try:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_text(self._own, dump_document(document))
                for old in self._files()[KEPT:]:
                    old.unlink(missing_ok=True)
            except (OSError, SaveError) as error:
                tell, self._tell = self._tell, lambda words: None  # once is enough
                tell(f"Your edits are not kept for a restart: {error}")

    def _adopt(self, path: Path) -> None:
        """Go on in a file of one's own, of the same age."""
        with suppress(OSError):
            shutil.copy2(path, self._own)

    def _files(self) -> list[Path]:
        """The newest first."""
        found: list[tuple[int, Path]] = []
        with suppress(OSError):
            for path in self.folder.glob("*.json"):
                with suppress(OSError):  # another session may have removed it just now
                    found.append((path.stat().st_mtime_ns, path))
        return [path for _, path in sorted(found, reverse=True)]

    def _read(self, path: Path) -> Restored | None:
        try:
            when = datetime.fromtimestamp(path.stat().st_mtime)
            return Restored(load_document(path.read_text(encoding="utf-8")), when)
        except OSError:
            return None
        except (GraphFormatError, UnicodeDecodeError):
            aside = path.with_suffix(".damaged")
            with suppress(OSError):
                path.replace(aside)
            self._tell(f"Edits that were kept are damaged and were set aside: {aside}")
            return None
