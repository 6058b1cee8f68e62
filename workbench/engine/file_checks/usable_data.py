"""Exclude bad files from datasets, because a single bad file would end a run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from workbench.engine.file_checks.file_check_pool import check_each
from workbench.engine.protocol.heartbeat import warn_of_silence
from workbench.engine.reading.findings import LINE_BREAK, MISREAD, CheckedFile, Finding
from workbench.errors import DataError
from workbench.roots import Roots
from workbench.sources import (
    Dataset,
    Datasets,
    fits_list,
    list_samples,
    load_source,
    no_files_reason,
    write_remaining,
)

_NAMED = 5


class UsableData:
    """Datasets without the bad files that have been found so far.

    The remaining samples keep their order and labels, and can be read by an unchanged program: as
    DALI's ``file_list``, or as the same record files with a new index.
    """

    def __init__(
        self,
        datasets: Datasets,
        roots: Roots | None = None,
        on_silence: Callable[[bool], None] = warn_of_silence,
        *,
        for_preview: bool = False,
    ) -> None:
        """Files outside the ``roots`` are excluded too, unless ``roots`` is None.

        ``for_preview`` also excludes images that are too large for the preview.
        ``on_silence`` is as for ``Engine``, and is used for the workers that check files.
        """
        self.given = datasets
        self.roots = roots
        self._on_silence = on_silence
        self._for_preview = for_preview
        self.datasets = datasets
        """The datasets without their bad files."""
        self.misread: dict[str, Finding] = {}
        """Files that DALI decodes to wrong values without an error. They are not excluded."""
        self._bad: dict[Dataset, dict[str, CheckedFile]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def excluded(self) -> tuple[CheckedFile, ...]:
        """Bad files, and files with names that a file list cannot contain."""
        return tuple(one for found in self._bad.values() for one in found.values())

    @property
    def reduced(self) -> list[str]:
        """Names of the parameters whose data have lost a file."""
        return [name for name, given in self.given.items() if self.datasets[name] != given]

    def exclude_bad(self, full: bool, stop: Callable[[], bool] = lambda: False) -> bool:
        """Check files and exclude bad ones. Returns True if this excluded any file.

        Headers are checked (0.1 ms per file) or, if ``full``, all files are decoded. Raises
        DataError if no file exists or remains, EngineError if no worker starts, and CancelledError.
        """
        more = False
        for dataset in dict.fromkeys(self.given.values()):
            if not load_source(dataset.kind).is_listed:
                continue
            known = self._bad.setdefault(dataset, {})
            before, count = len(known), 0
            files = list_samples(dataset)
            roots = None if dataset.in_memory else self.roots
            for one in check_each(files, full, stop, roots, self._on_silence):
                count += 1
                large = any(finding.kind == "large" for finding in one.findings)
                if one.level == "bad" or (large and self._for_preview):
                    known[one.file] = one
                for finding in one.findings:
                    if finding.kind in MISREAD:
                        self.misread[one.file] = finding
            if not count:
                raise DataError(no_files_reason(dataset))
            if len(known) > before:
                more = True
                self._replace(dataset)
        return more

    def close(self) -> None:
        """Delete the temporary file lists, which are otherwise deleted with this object."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _replace(self, dataset: Dataset) -> None:
        """Replace a dataset with its remaining samples, for all parameters that use it."""
        known = self._bad[dataset]
        for file in list_samples(dataset):
            if load_source(dataset.kind).lists_files and not fits_list(file):
                known.setdefault(file.name, CheckedFile(file.name, findings=(LINE_BREAK,)))
        if all(file.name in known for file in list_samples(dataset)):
            raise DataError(f"No file of {dataset} can be used: {describe_left_out(self.excluded)}")
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="workbench-good-")
        name = f"good{list(self._bad).index(dataset)}-{len(known)}"
        path = write_remaining(dataset, known, Path(self._folder.name, name))
        rest = replace(dataset, location=os.fspath(path), items=(), title=str(dataset))
        self.datasets = {
            name: rest if given == dataset else self.datasets[name]
            for name, given in self.given.items()
        }


def describe_left_out(files: tuple[CheckedFile, ...]) -> str:
    """Return a text with the number of excluded files and the first reasons, or "" if none."""
    if not files:
        return ""
    named = [f"{one.file} ({one.reason})" for one in files[:_NAMED]]
    if len(files) > _NAMED:
        named.append(f"and {len(files) - _NAMED:,} more, which `workbench check` names")
    bad = " bad" * all(one.level == "bad" for one in files)
    return f"{len(files):,}{bad} file{'s' * (len(files) != 1)} excluded: {', '.join(named)}"
