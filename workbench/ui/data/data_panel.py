"""Data panel: opens datasets, and counts and checks their samples in the background."""

from __future__ import annotations

import glob
import os
import shlex
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from workbench.catalog.spec import Value
from workbench.engine.protocol.exit_status import printable
from workbench.engine.protocol.heartbeat import warn_of_silence
from workbench.engine.protocol.progress import NO_ANSWER
from workbench.engine.resources.root_guard import require_listed
from workbench.errors import (
    DataError,
    GraphEditError,
    GraphExportError,
)
from workbench.graph.execution.dataset_parameters import (
    datasets_as_read,
    missing_ports,
    parameter_of,
    parameters,
)
from workbench.graph.model import Graph
from workbench.health import FolderCheck, FolderFacts, check_folder
from workbench.health.check import html_report
from workbench.roots import Roots
from workbench.sources import (
    NO_FACTS,
    PARAMETER,
    Data,
    DataFacts,
    Dataset,
    Datasets,
    Location,
    data_facts,
    describe_kind,
    list_samples,
    load_source,
    no_files_reason,
    open_datasets,
    require_dataset,
)
from workbench.sources.good_data import GoodData
from workbench.ui.contract.data_payloads import (
    DataParameter,
    DataView,
    FileFinding,
    FolderListing,
    unread_annotations,
)
from workbench.ui.contract.encoding import empty
from workbench.ui.contract.payloads import TextFile
from workbench.ui.data.data_texts import (
    counted_by_text,
    fault_text,
    no_classes_text,
    pillow_only_text,
    sizes_text,
)
from workbench.ui.data.folder_browser import NO_FOLDERS, list_folders
from workbench.ui.data.sampled_shares import sampled_shares, sampler_of
from workbench.ui.jobs.background_task import (
    SHARED_QUEUE,
    BackgroundTask,
    FunctionWork,
    MeasurementQueue,
    OnProgress,
    TaskListener,
    run_in_background,
)
from workbench.ui.jobs.sample_count import SampleCount

T = TypeVar("T")


_UNCHECKED = {"checked": False, "bad": 0, "damaged": 0, "findings": []}
_SHOWN = 200
"""Maximum number of files in the table of findings."""
_TOLD_EVERY = 0.5
"""Seconds between progress updates."""
_FIRST = 1024
"""Maximum number of samples in previews that are shown before the reader's index is built."""


_NOT_READ = (
    "The graph does not read these data: each of its sources is Python code or lists its own files."
)


class DataPanel:
    """The open datasets and their payload. ``changed`` is called with the lock held."""

    def __init__(
        self,
        data: Data,
        lock: threading.RLock,
        changed: Callable[[str | None], None],
        roots: Roots | None = None,
        queue: MeasurementQueue = SHARED_QUEUE,
    ) -> None:
        """``changed`` is called with a message for the user, or None.

        A file check waits in ``queue`` until no measurement runs, because they would slow each
        other down. Data outside ``roots`` are not opened.
        """
        self.datasets = open_datasets(data)
        """Dataset of each parameter of the exported program."""
        self.parameter = PARAMETER if PARAMETER in self.datasets else next(iter(self.datasets))
        """Parameter whose dataset is shown and checked."""
        self.dataset = self.datasets[self.parameter]
        self.data = str(self.dataset)
        self._lock = lock
        self._changed = changed
        self._closed = False
        self._roots = roots
        self._queue = queue
        self._check: BackgroundTask[FolderCheck] | None = None
        self._seen = ""
        self._sampler: dict[str, Value] = {}
        self._is_read = True
        self._indexed = self._pictured = False
        self.folders: FolderListing = NO_FOLDERS
        """Subfolders shown in the dialog that opens other data."""
        self._count: SampleCount | None = None
        self._read = self.dataset
        """The dataset as the graph's source reads it, for example with annotations."""
        self.found: FolderCheck | None = None
        """Result of the last file check of this data."""
        self._good: tuple[FolderCheck | None, GoodData | None] = (None, None)
        self.facts: dict[str, DataFacts] = {}
        """Facts about the counted data by parameter, from which warnings are derived."""
        self.report: TextFile = {"number": 0, "text": ""}
        """Last report as an HTML page."""
        kind = load_source(self.dataset.kind)
        about = describe_kind(self.dataset)
        self.view = empty(DataView, root=self.data, kind=about, noun=kind.noun)
        try:
            if roots is not None:
                require_listed(self.dataset)
                roots.require(each.location for each in self.datasets.values() if each.location)
            if not load_source(self.dataset.kind).is_listed:
                require_dataset(self.dataset)
            elif next(list_samples(self.dataset), None) is None:
                raise DataError(no_files_reason(self.dataset))
            self.view["provisional"] = load_source(self.dataset.kind).needs_index(self.dataset)
        except DataError as error:
            self.view["error"] = str(error)
            self.view["outside"] = self._addable()

    def _addable(self) -> str:
        """Return the first location outside the roots that the user may add to the roots, or ""."""
        roots = self._roots
        if roots is None or not roots.extensible:
            return ""
        places = (each.location for each in self.datasets.values() if each.location)
        outside = next((place for place in places if roots.refusal(place)), "")
        return "" if roots.is_missing(outside) else outside

    def fields(self, parameters: list[DataParameter]) -> dict[str, Any]:
        """Return the component's fields that depend only on the data."""
        summary: DataView = {**self.view, "parameters": parameters}
        if not self._is_read:
            summary |= {"error": "", "at_fault": _NOT_READ, "counted": True}
        return {"summary": summary, "report": self.report, "folders": self.folders}

    @property
    def error(self) -> str:
        """Reason why the data cannot be used; empty if they can, or if the graph reads none."""
        return self.view["error"] if self._is_read else ""

    @property
    def previewed(self) -> Datasets:
        """Datasets for the preview: only the first samples until the reader's index is built."""
        if not self.view["provisional"]:
            return self.datasets
        return {
            name: replace(each, first=_FIRST) if each == self.dataset else each
            for name, each in self.datasets.items()
        }

    def reads(self, data: Datasets) -> bool:
        """Return whether ``data`` is the open data, or only its first samples."""
        return {name: replace(each, first=0) for name, each in data.items()} == self.datasets

    def with_path(self, path: str) -> dict[str, Location]:
        """Return the datasets by parameter, with the displayed dataset replaced by ``path``."""
        return {**self.datasets, self.parameter: path}

    @property
    def chip(self) -> str:
        """Short text about the data for the bar: ``photos/ · 120 images``."""
        name = self.data
        if not self._is_read:
            return "no data folder"
        if self.dataset.in_memory and not self.dataset.location:
            return name  # the name contains the count
        if self.dataset.location:
            name = os.path.basename(os.path.abspath(self.data))
        name += "/" if self.dataset.kind == "folder" else ""
        count = self.view["count"]
        more = "" if self.view["counted"] else "+"
        return (
            f"{name} · {count:,}{more} {self.view['noun']}{'s' * (count != 1)}" if count else name
        )

    def opened(self, data: Data) -> DataPanel:
        """Return a panel for other data, or this panel with an error if the data cannot be used.

        Raises DataError if the data of this panel cannot be used either.
        """
        reason = outside = ""
        try:
            other = DataPanel(data, self._lock, self._changed, self._roots, self._queue)
            if not other.error or self.error:
                return other
            reason, outside = other.error, other.view["outside"]
            other.close()
        except DataError as error:
            if self.error:
                raise
            reason = str(error)
        refused = f"{reason} {self.chip} stays open."
        self.view = {**self.view, "refused": refused, "outside": outside}
        return self

    def scan(self) -> None:
        """Start to count the samples in the background."""
        if self._count is not None:
            self._count.close()
        if not self.view["error"] and load_source(self.dataset.kind).is_listed:
            self.view = {**self.view, "counting": True}
            self._count = SampleCount(
                replace(self.dataset, options=self._read.options),
                self._roots,
                lambda count: self._show(None, count=count, counted=False),
                self._on_indexed,
                self._store_count,
                self._read.kind,
            )
            self._count.start()

    def follow(self, graph: Graph) -> None:
        """Count the annotations that ``graph`` reads from this data."""
        self._is_read = not graph.sources or bool(parameters(graph.sources))
        read = datasets_as_read(graph, self.datasets)[self.parameter]
        sampler = sampler_of(graph, self.parameter)
        if sampler != self._sampler:
            self._sampler = sampler
            self.view = {**self.view, "sampled_shares": self._sampled_shares()}
        if read != self._read:
            self._read = read
            self.view = {**self.view, **self._outdated()}  # type: ignore[typeddict-item]
            self.scan()

    def _sampled_shares(self) -> list[float]:
        """Return the share of each counted class with the graph's sampler; empty if unknown."""
        counts = {each["name"]: each["count"] for each in self.view["class_counts"]}
        names = self.view["classes"] or list(counts)
        if not self._sampler or load_source(self._read.kind).targets or not counts:
            return []
        facts = self.facts.get(self.parameter, NO_FACTS)
        labels = () if facts.more else facts.labels
        shares = sampled_shares(self._sampler, [counts.get(n, 0) for n in names], labels)
        by_name = dict(zip(names, shares, strict=False))
        return [by_name.get(name, 0.0) for name in counts] if shares else []

    def count_if_changed(self, data: Datasets, state: str) -> None:
        """Count again if ``state``, the folder's version that the worker reports, has changed."""
        if data == self.previewed:
            self._pictured = True
            self._use_index()
        if self.dataset in data.values() and state != self._seen:
            known, self._seen = self._seen, state
            if known:
                self.scan()

    def is_new(self, state: str) -> bool:
        """Return whether ``state`` (see ``count_if_changed``) is newer than the pictures."""
        return self._seen not in ("", state)

    def _on_indexed(self) -> None:
        with self._lock:
            self._indexed = True
            self._use_index()

    def _use_index(self) -> None:
        """Preview all samples if the index is built and the first picture has arrived."""
        if self.view["provisional"] and self._indexed and self._pictured:
            self._show(None, provisional=False)

    def toggle_count(self) -> None:
        """Pause or resume the count."""
        if self._count is not None and not self.view["counted"]:
            self.view = {**self.view, "counting": self._count.toggle()}

    def browse(self, path: str) -> None:
        """List the subfolders of ``path`` in the background; "" means the data's parent folder."""
        start = path or os.path.dirname(os.path.abspath(self.dataset.root or "."))

        def on_end(found: FolderListing | None, error_text: str) -> None:
            self.folders = found or {**NO_FOLDERS, "error": error_text}
            self._show(None)

        self._run("listing", lambda: list_folders(start, self._roots, anywhere=not path), on_end)

    def check(self) -> None:
        """Decode every file in the background, resume a stopped check, or stop a running check."""
        if self._check is not None and self._check.outcome is None:
            self._check.cancel()
        elif not self.error:
            unwanted = threading.Event()
            work = FunctionWork(partial(self._check_files, unwanted), unwanted.set)
            listener: TaskListener[FolderCheck] = TaskListener(
                self._lock, self._on_check, self._store_check
            )
            self.view = {**self.view, "checking": True}
            self._check = BackgroundTask("check", work, listener, self._queue)
            self._check.start()

    @property
    def checked_share(self) -> float | None:
        """Progress of the running check from 0 to 1; None if no check runs."""
        return self._check.share if self.view["checking"] and self._check is not None else None

    def write_good(self) -> str:
        """Write a list of the usable files to the save folder and return its path.

        Raises GraphEditError if the files were not checked, and DataError if the list cannot be
        written.
        """
        if self.found is None:
            raise GraphEditError("There is no list of good files. Check the files first.")
        stem = f"{Path(self.dataset.root or 'data').name}-good"
        names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
        folder = self._roots.save_folder() if self._roots is not None else Path.cwd()
        free = (name for name in names if not any(folder.glob(f"{glob.escape(name)}*")))
        try:
            return self.found.write_good(str(folder / next(free)))
        except OSError as error:
            fix = "Write to another folder: `workbench check DATA --good NEW_FOLDER`."
            raise DataError(f"Cannot write to {folder}: {error.strerror}. {fix}") from None

    def good_data(self) -> GoodData:
        """Return the data without the files that the last check found bad or damaged.

        Raises GraphExportError if the files were not checked or the graph does not read a single
        folder or list of files, and DataError if no file is good.
        """
        if self.found is None:
            raise GraphExportError("The files were not checked. Check them in the Data panel.")
        if len(self.datasets) > 1 or not load_source(self.found.dataset.kind).lists_files:
            raise GraphExportError(
                "The app can only skip bad files if the graph reads one folder or list of files. "
                "Use `workbench export --skip-bad`."
            )
        checked, good = self._good
        if checked is not self.found or good is None:
            good = GoodData(
                {self.parameter: self.found.dataset}, {self.parameter: self.found.skipped}
            )
            self._good = self.found, good
        return good

    def make_report(self) -> None:
        """Create the report in the background. Raises GraphEditError without a file check."""
        found = self.found
        if found is None:
            raise GraphEditError("There is no report. Check the files first.")

        def on_end(text: str | None, error_text: str) -> None:
            if text is not None:
                self.report = {"number": self.report["number"] + 1, "text": text}
            self._show(error_text or "The report is ready.")

        self._run("report", lambda: html_report(found), on_end)

    def _run(self, name: str, run: Callable[[], T], ended: Callable[[T | None, str], None]) -> None:
        run_in_background(name, run, TaskListener(self._lock, lambda: None, ended))

    def close(self) -> None:
        """Stop the count and the file check. No more changes are reported."""
        self._closed = True
        if self._check is not None:
            self._check.cancel()
        if self._count is not None:
            self._count.close()

    def export_note(self, left_out: int = 0, skip_bad: bool = False) -> str:
        """Return a warning for users who run an exported program on this data, or "".

        With ``skip_bad``, the program reads a list of the good files, so bad files cannot stop it.
        ``left_out`` is the number of files that the preview skipped. It is used if neither the
        check nor the count has found bad files.
        """
        bad = self.view["bad"]
        if self.dataset.in_memory and not self.dataset.location:
            without = f" without the {bad:,} bad samples" if bad else ""
            return (
                "The data are Python objects, not files. Run the program with --data "
                "module:factory, "
                f"your function that returns them{without}."
            )
        if skip_bad:
            return ""
        if not bad and self.view["at_fault"]:
            return self.view["at_fault"]
        at_least = "" if bad else "At least "
        bad = bad or left_out
        if not bad:
            return ""
        files = "file of the data is" if bad == 1 else "files of the data are"
        note = f"{at_least}{bad:,} {files} bad, and this program stops at the first."
        place = self.data if self._read == self.dataset else self._read.text
        command = f"workbench check {shlex.quote(place)} --full --good "
        if not load_source(self.dataset.kind).lists_files:
            return (
                f"{note} Export with `workbench export --skip-bad`, or run `{command}good` to "
                "write a "
                "folder of the good files."
            )
        return (
            f"{note} Export with 'Skip bad files', or run `{command}good.txt` to list the good "
            "files, and open good.txt."
        )

    def _store_count(self, facts: FolderFacts | DataError) -> None:
        if isinstance(facts, DataError):
            self._show(None, error=str(facts), counting=False)
            return
        known = data_facts(self._read, _version(self._read))
        self.facts = {self.parameter: replace(known, unusable=facts.at_fault)}
        self._show(
            None,
            count=facts.count,
            counted=True,
            at_fault=fault_text(facts, self._read),
            unusable=facts.at_fault > 0,
            pillow_only=pillow_only_text(facts),
            read_all=f"pillow_images:{self.dataset.location}" if facts.pillow_only else "",
            also=unread_annotations(self.dataset, self._read),
            kind=_kind_text(self.dataset),
            counting=False,
            classes=list(facts.classes),
            class_counts=[{"name": n, "count": c} for n, c in facts.class_counts.items()],
            counted_by=counted_by_text(facts),
            no_classes=no_classes_text(facts),
            megabytes=facts.megabytes,
            formats=facts.formats,
            size_counts=facts.size_counts,
            sizes=sizes_text(facts),
            **({} if facts.count == (self.found and self.found.count) else self._outdated()),
        )

    def _outdated(self) -> dict[str, object]:
        self.found = None
        return _UNCHECKED

    def _check_files(self, cancelled: threading.Event, on_progress: OnProgress) -> FolderCheck:
        updated = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal updated
            if time.monotonic() - updated > _TOLD_EVERY:
                updated = time.monotonic()
                on_progress(done / max(1, total), f"Checked {done:,} of {total:,} files.")

        def on_silence(silent: bool) -> None:
            warn_of_silence(silent)
            if silent:
                on_progress(
                    self.checked_share or 0.0, f"The check is not progressing: {NO_ANSWER}."
                )

        return check_folder(
            self._read, progress, cancelled.is_set, roots=self._roots, on_silence=on_silence
        )

    def _on_check(self) -> None:
        if self._check is not None and self._check.outcome is None:
            self._show(self._check.text)

    def _store_check(self, check: FolderCheck | None, error_text: str) -> None:
        if check is None:
            stopped = "The check was stopped. The next check continues from here."
            self._show(error_text or stopped, checking=False)
            return
        self.found = check
        known = self.facts.get(self.parameter, NO_FACTS)
        self.facts = {self.parameter: replace(known, unusable=len(check.bad))}
        worst = [*check.bad, *check.of_level("damaged"), *check.of_level("unusual")]
        findings: list[FileFinding] = [
            {
                "file": printable(one.file),
                "level": finding.level,
                "kind": finding.kind,
                "reason": printable(finding.reason),
            }
            for one in worst[:_SHOWN]
            for finding in one.findings
        ]
        self._show(
            f"Checked {check.count:,} files.",
            checked=True,
            checking=False,
            bad=len(check.bad),
            damaged=len(check.of_level("damaged")),
            findings=findings,
        )

    def _show(self, message: str | None, **view: object) -> None:
        with self._lock:
            if not self._closed:
                self.view = {**self.view, **view}  # type: ignore[typeddict-item]
                if "class_counts" in view:
                    self.view["sampled_shares"] = self._sampled_shares()
                self._changed(message)


def _kind_text(dataset: Dataset) -> str:
    """Describe how a dataset is read. For COCO, the text also names the folder of the images."""
    about = describe_kind(dataset)
    if load_source(dataset.kind).op != "readers.coco":
        return about
    return f"{about}, images in {dataset.root}"


def _version(dataset: Dataset) -> str:
    with suppress(OSError):
        return str(os.stat(dataset.location).st_mtime_ns) if dataset.location else ""
    return ""


def data_parameters(graph: Graph, data: Datasets) -> list[DataParameter]:
    """Return payloads of the exported program's data parameters, with their current data."""
    found: list[DataParameter] = []
    for name, kind in parameters(graph.sources).items():
        dataset = data.get(name)
        error = ""
        if dataset is None:
            error = f"no data: pass it in Python with Workbench({{{name!r}: ...}})"
        elif missing := _missing(graph, name, dataset):
            about = load_source(dataset.kind).about
            error = f"{dataset}, read as {about}, has no {' and no '.join(missing)}"
        else:
            try:
                require_dataset(dataset)
            except DataError as problem:
                error = str(problem)
        reads = str(dataset) if dataset is not None else ""
        found.append({"name": name, "about": kind.about, "reads": reads, "error": error})
    return found


def _missing(graph: Graph, name: str, dataset: Dataset) -> list[str]:
    reading = [source for source in graph.sources if parameter_of(source) == name]
    found = (port for each in reading for port in missing_ports(graph, each, dataset.kind))
    return list(dict.fromkeys(found))
