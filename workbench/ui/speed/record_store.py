"""The records that the panel knows: runs made here, runs opened, runs of earlier sessions.

They lie as ``--json`` writes them in ``$XDG_STATE_HOME/dali-workbench/records`` (or below
``DALI_WORKBENCH_STATE``), so that the command line reads them too.
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
"""Records on the disk; of more, the oldest without a name go."""
LONGEST_NAME = 80


class RecordStore:
    """Records by id, the newest first. Without a folder they end with the session.

    The caller holds the view-model's lock, but for ``read``.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._found: dict[str, Report] = {}
        self._reading = threading.Lock()
        self._seen: dict[Path, int] = {}

    @property
    def records(self) -> dict[str, Report]:
        """All of them, by id."""
        found = sorted(self._found.items(), key=lambda item: (item[1].created, item[0]))
        return dict(reversed(found))

    def get(self, key: str) -> Report | None:
        """The record of an id, or None where there is none."""
        return self._found.get(key)

    def require(self, key: str) -> Report:
        """As ``get``; raises GraphEditError where there is none."""
        found = self._found.get(key)
        if found is None:
            raise GraphEditError(f"There is no record {key[:60]!r} any more.")
        return found

    def add(self, report: Report) -> str:
        """Keep a record; the same one is not kept twice. Returns its id. Raises SaveError."""
        for key, known in self._found.items():
            if known == report:
                return key
        when = re.sub(r"[^0-9T]", "", report.created)[:15]
        key = "-".join(filter(None, [when, re.sub(r"\W", "", report.kind), secrets.token_hex(3)]))
        self._found[key] = report
        self._write(key)
        return key

    def require_writable(self) -> None:
        """Raise SaveError where a record could not be written now."""
        if self.folder is not None:
            with suppress(OSError):
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            require_place(self._path("new"))

    def rename(self, key: str, name: str) -> None:
        """Give a record a name. Raises GraphEditError and SaveError."""
        if len(name) > LONGEST_NAME:
            raise GraphEditError(f"A name has at most {LONGEST_NAME} characters, not {len(name)}.")
        self._found[key] = replace(self.require(key), name=name.strip())
        self._write(key)

    def drop(self, key: str) -> None:
        """Keep a record no longer. Raises GraphEditError."""
        self.require(key)
        del self._found[key]
        if self.folder is not None:
            with suppress(OSError):
                self._path(key).unlink(missing_ok=True)

    def read(self) -> dict[str, Report]:
        """Records on the disk that are not known yet. What cannot be read is left where it is."""
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

    def add_found(self, found: dict[str, Report]) -> None:
        """Add what ``read`` found."""
        self._found |= found

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
    """Name, media type and content. Raises GraphEditError and, of a picture, EngineError.

    CSV holds all of the records; the other kinds are of one.
    """
    if kind not in KINDS:
        raise GraphEditError(f"{kind[:40]!r} is no kind of file. There are: {', '.join(KINDS)}.")
    if not records or (kind != "csv" and len(records) > 1):
        raise GraphEditError("Choose one record." if records else "There is no record yet.")
    first = next(iter(records.values()))
    name = f"{file_name(first) if len(records) == 1 else 'speed'}.{kind}"
    if kind == "csv":
        return name, KINDS[kind], to_csv(records).encode()
    if kind == "json":
        return name, KINDS[kind], dump_report(first).encode()
    return name, KINDS[kind], render_figure(plot_record(first), "png" if kind == "png" else "svg")


def file_name(report: Report) -> str:
    """A plain file name for a record."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name_of(report)).strip("-.")[:80] or "record"
