"""The data as the data panel shows it: counted and checked in the background."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from workbench.errors import CancelledError, DataError
from workbench.graph.model import Graph
from workbench.graph.sources import parameters
from workbench.health import FolderFacts, check_folder, scan_folder
from workbench.health.scan import SAMPLE
from workbench.roots import Roots
from workbench.sources import (
    PARAMETER,
    Data,
    Datasets,
    list_files,
    load_source,
    nothing_found,
    open_datasets,
    require_dataset,
)
from workbench.ui.views import DataParameter, DataView


class DataPanel:
    """What is read. ``changed`` is called, with the lock held, after every change."""

    def __init__(
        self,
        data: Data,
        lock: threading.RLock,
        changed: Callable[[str | None], None],
        roots: Roots | None = None,
    ) -> None:
        """``changed`` hears what to tell the user: a text, or None for nothing new.

        What lies outside ``roots`` is not opened.
        """
        self.datasets = open_datasets(data)
        """What each parameter of the graph's program is given."""
        self.parameter = PARAMETER if PARAMETER in self.datasets else next(iter(self.datasets))
        """The one whose data are shown and looked through."""
        self.dataset = self.datasets[self.parameter]
        self.data = str(self.dataset)
        self._lock = lock
        self._changed = changed
        self._closed = False
        self._checking = False
        self._seen = ""
        self.view: DataView = {
            "root": self.data,
            "kind": load_source(self.dataset.kind).about,
            "parameters": [],
            "error": "",
            "refused": "",
            "count": 0,
            "classes": [],
            "class_counts": [],
            "megabytes": 0.0,
            "formats": {},
            "sizes": "",
            "checked": False,
            "unreadable": [],
        }
        try:
            if roots is not None:
                roots.require(each.location for each in self.datasets.values() if each.location)
            if next(list_files(self.dataset), None) is None:
                raise DataError(nothing_found(self.dataset))
        except DataError as error:
            self.view["error"] = str(error)

    @property
    def error(self) -> str:
        """Why the folder cannot be used, or empty."""
        return self.view["error"]

    @property
    def chip(self) -> str:
        """``photos/ · 120 images``."""
        name = self.data
        if self.dataset.location:
            name = os.path.basename(os.path.abspath(self.data))
        name += "/" if self.dataset.kind == "folder" else ""
        count = self.view["count"]
        return f"{name} · {count:,} image{'s' * (count != 1)}" if count else name

    def refuse(self, reason: str) -> None:
        """Say why another folder did not take this one's place; empty takes it back."""
        self.view = {**self.view, "refused": reason}

    def scan(self) -> None:
        """Count in the background."""
        if not self.error:
            threading.Thread(target=self._scan, name="workbench-scan", daemon=True).start()

    def seen(self, data: Datasets, state: str) -> None:
        """Count anew where ``state``, what a worker took the folder for, is another than before."""
        if self.dataset in data.values() and state != self._seen:
            known, self._seen = self._seen, state
            if known:
                self.scan()

    def check(self) -> None:
        """Open and decode every file in the background, unless that runs already."""
        if not self.error and not self._checking:
            self._checking = True
            threading.Thread(target=self._check, name="workbench-check", daemon=True).start()

    def close(self) -> None:
        """Let a check that runs end early; it reports nothing more."""
        self._closed = True

    def _scan(self) -> None:
        try:
            facts = scan_folder(self.dataset)
        except DataError as error:
            self._show(None, error=str(error))
            return
        self._show(
            None,
            count=facts.count,
            classes=list(facts.classes),
            class_counts=list(facts.class_counts),
            megabytes=facts.megabytes,
            formats=facts.formats,
            sizes=_sizes(facts),
            **({} if facts.count == self.view["count"] else {"checked": False, "unreadable": []}),
        )

    def _check(self) -> None:
        total = self.view["count"]

        def progress(done: int) -> None:
            if done % 100 == 0:
                self._show(f"Checked {done:,} of {total:,} files.")

        try:
            bad = check_folder(self.dataset, progress, lambda: self._closed)
        except CancelledError:
            return
        except DataError as error:
            self._show(str(error))
            return
        finally:
            self._checking = False
        self._show(
            f"Checked {total:,} files.",
            checked=True,
            unreadable=[{"file": file.file, "reason": file.reason} for file in bad],
        )

    def _show(self, message: str | None, **view: object) -> None:
        with self._lock:
            if not self._closed:
                self.view = {**self.view, **view}  # type: ignore[typeddict-item]
                self._changed(message)


def data_parameters(graph: Graph, data: Datasets) -> list[DataParameter]:
    """Every parameter of a graph's program that names data, and what it is given."""
    found: list[DataParameter] = []
    for name, kind in parameters(graph.sources).items():
        dataset = data.get(name)
        error = ""
        if dataset is None:
            error = f"nothing is given: Workbench({{{name!r}: ...}}) in Python gives it"
        elif load_source(dataset.kind).op != kind.op:
            error = f"{dataset} is a {load_source(dataset.kind).about}"
        else:
            try:
                require_dataset(dataset)
            except DataError as problem:
                error = str(problem)
        reads = str(dataset) if dataset is not None else ""
        found.append({"name": name, "about": kind.about, "reads": reads, "error": error})
    return found


def _sizes(facts: FolderFacts) -> str:
    if facts.smallest is None or facts.largest is None:
        return ""
    ends = list(dict.fromkeys([facts.smallest, facts.largest]))
    about = "about " if facts.count > SAMPLE else ""
    return about + " … ".join(f"{width}×{height}" for width, height in ends)
