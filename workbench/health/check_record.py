"""What is known of files from earlier checks, so that one that was stopped goes on.

A file below the user's cache (XDG Base Directory Specification 0.8), one for each folder and kind
of check::

    $XDG_CACHE_HOME/dali-workbench/checks/<hash of the folder>-full.jsonl
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from workbench.engine.reading.findings import KINDS, CheckedFile, Finding
from workbench.sources import Dataset

_VERSION = 2
"""To be raised where a check finds something else in the same file."""


def cache_folder() -> Path:
    """Where the workbench keeps what can be made again; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "dali-workbench"


class CheckRecord:
    """The files of one dataset that were checked. A record that cannot be kept is not kept."""

    def __init__(self, dataset: Dataset, full: bool) -> None:
        # Boxes of records are faults of one kind alone.
        read = f"{dataset.kind}\n{dataset.identity}"
        name = hashlib.sha256(os.fsencode(read)).hexdigest()[:24]
        kind = "full" if full else "quick"
        self.path = cache_folder() / "checks" / f"{name}-{kind}.jsonl"
        self._kept = not dataset.in_memory  # which goes with its process

    def load(self) -> dict[str, CheckedFile]:
        """Every file that is known, by its name."""
        known: dict[str, CheckedFile] = {}
        with suppress(OSError), self.path.open(encoding="ascii") as lines:
            for line in lines:
                if (one := _read(line)) is not None:
                    known[one.file] = one
        return known

    def append(self, files: Iterable[CheckedFile]) -> None:
        """Keep these too."""
        self._write("a", self.path, files)

    def replace(self, files: Iterable[CheckedFile]) -> None:
        """Keep these, and no others."""
        temporary = self.path.with_suffix(f".{os.getpid()}")
        self._write("w", temporary, files)
        with suppress(OSError):
            os.replace(temporary, self.path)

    def _write(self, mode: str, path: Path, files: Iterable[CheckedFile]) -> None:
        if not self._kept:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with path.open(mode, encoding="ascii") as file:
                file.writelines(_lines(files))


def _lines(files: Iterable[CheckedFile]) -> Iterator[str]:
    for one in files:
        findings = [[finding.kind, finding.reason] for finding in one.findings]
        row = [_VERSION, one.file, one.size, one.modified, findings, one.image_hash.hex()]
        yield json.dumps(row) + "\n"  # in ASCII: names need not be UTF-8


def _read(line: str) -> CheckedFile | None:
    """The file of a line; None for one that was cut short or is of another version."""
    try:
        version, file, size, modified, findings, image_hash = json.loads(line)
        found = tuple(Finding(kind, reason) for kind, reason in findings if kind in KINDS)
        known = CheckedFile(file, int(size), int(modified), found, bytes.fromhex(image_hash))
    except (ValueError, TypeError):
        return None
    return known if version == _VERSION else None
