"""Store records that were measured in this session or earlier ones, or opened from files.

Records are stored in the format of ``--json`` in ``$XDG_STATE_HOME/dali-workbench/records`` (or
below ``DALI_WORKBENCH_STATE``), so the command line can read them.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from workbench.bench import Report
from workbench.bench.records.compare import read_report
from workbench.bench.records.plots import plot_record
from workbench.bench.records.record import dump_report
from workbench.bench.records.report_text import to_csv
from workbench.errors import DataError, GraphEditError, RecordFormatError
from workbench.figures import render_figure
from workbench.files import require_place, write_text
from workbench.ui.speed.chart_payloads import name_of
from workbench.ui.speed.record_payloads import require_drawable

KEPT = 200
"""Maximum number of records on disk. If there are more, the oldest records without a name are
removed.
"""
LONGEST_NAME = 80


class RecordStore:
    """Records by id, newest first. Without a folder, records are lost at the end of the session.

    Call methods with the view model's lock held, except ``read``.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._found: dict[str, Report] = {}
        self._reading = threading.Lock()
        self._seen: dict[Path, int] = {}

    @property
    def records(self) -> dict[str, Report]:
        found = sorted(self._found.items(), key=lambda item: (item[1].created, item[0]))
        return dict(reversed(found))

    def get(self, key: str) -> Report | None:
        return self._found.get(key)

    def require(self, key: str) -> Report:
        """Return the record with id ``key``. Raises GraphEditError if it does not exist."""
        found = self._found.get(key)
        if found is None:
            raise GraphEditError(f"The record {key[:60]!r} no longer exists. Select another.")
        return found

    def add(self, report: Report) -> str:
        """Add and store a record, unless it exists. Return its id. Raises SaveError on failure."""
        for key, known in self._found.items():
            if known == report:
                return key
        when = re.sub(r"[^0-9T]", "", report.created)[:15]
        key = "-".join(filter(None, [when, re.sub(r"\W", "", report.kind), secrets.token_hex(3)]))
        self._found[key] = report
        self._write(key)
        return key

    def require_writable(self) -> None:
        """Raise SaveError if no record can be written to the folder."""
        if self.folder is not None:
            with suppress(OSError):
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            require_place(self._path("new"))

    def rename(self, key: str, name: str) -> None:
        """Rename a record. Raises GraphEditError for an invalid name, SaveError on failure."""
        if len(name) > LONGEST_NAME:
            raise GraphEditError(
                f"The name has {len(name)} characters; at most {LONGEST_NAME} are allowed."
            )
        self._found[key] = replace(self.require(key), name=name.strip())
        self._write(key)

    def drop(self, key: str) -> None:
        self.require(key)
        del self._found[key]
        if self.folder is not None:
            with suppress(OSError):
                self._path(key).unlink(missing_ok=True)

    def read(self) -> dict[str, Report]:
        """Read the records on disk that are not in the store. Unreadable files are ignored."""
        if self.folder is None:
            return {}
        found: dict[str, Report] = {}
        with self._reading, suppress(OSError):
            for path in self.folder.glob("*.json"):
                with suppress(OSError, DataError, RecordFormatError):
                    changed = path.stat().st_mtime_ns
                    if self._seen.get(path) != changed:
                        self._seen[path] = changed
                        report = read_report(path)
                        require_drawable(report)
                        found[path.stem] = report
        return found

    def add_found(self, records: dict[str, Report]) -> None:
        self._found |= records

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{key}.json"

    def _write(self, key: str) -> None:
        if self.folder is None:
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = write_text(self._path(key), dump_report(self._found[key]))
        self._seen[path] = path.stat().st_mtime_ns
        unnamed = [old for old, report in self.records.items() if not report.name]
        for old in unnamed[KEPT:]:
            self.drop(old)


KINDS = {
    "csv": "text/csv",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
}


def export_file(kind: str, records: Mapping[str, Report]) -> tuple[str, str, bytes]:
    """Convert records to a file, and return its name, media type and content.

    Only CSV files can contain several records. Raises GraphEditError for an invalid request, and
    EngineError if a picture cannot be drawn.
    """
    if kind not in KINDS:
        raise GraphEditError(f"{kind[:40]!r} is not a file type. Use one of: {', '.join(KINDS)}.")
    if not records or (kind != "csv" and len(records) > 1):
        raise GraphEditError("Select one record." if records else "There are no records yet.")
    first = next(iter(records.values()))
    name = f"{file_name(first) if len(records) == 1 else 'speed'}.{kind}"
    if kind == "csv":
        return name, KINDS[kind], to_csv(records).encode()
    if kind == "json":
        return name, KINDS[kind], dump_report(first).encode()
    return name, KINDS[kind], render_figure(plot_record(first), "png" if kind == "png" else "svg")


def file_name(report: Report) -> str:
    """Return a portable file name for a record."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name_of(report)).strip("-.")[:80] or "record"
