"""Render the graph to a dataset version in the background, and prove the version."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import CancelledError, GraphEditError, SaveError, WorkbenchError
from workbench.graph.model import Graph
from workbench.roots import Roots
from workbench.sources import Datasets, every_sample
from workbench.ui.contract.action import Action
from workbench.ui.contract.payloads import VersionEntry
from workbench.ui.export.output_paths import OutputPath
from workbench.ui.jobs.background_task import (
    SHARED_QUEUE,
    BackgroundTask,
    FunctionWork,
    OnProgress,
    OwnedTasks,
    SessionTask,
    TaskListener,
)
from workbench.ui.state.view_state import blocking_faults
from workbench.versions.manifest import UNFINISHED, Version
from workbench.versions.plan import parse_shares
from workbench.versions.proof import Proof, prove
from workbench.versions.render import render

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

NOTHING = VersionEntry(state="none", text="", share=0.0, lines=[], provable=False)
_What = tuple[Graph, Datasets]


class VersionTask(BackgroundTask[Version | Proof]):
    """A version that is rendered, or a ``version`` that is proven."""

    def __init__(
        self,
        of: _What,
        run: Callable[[OnProgress], Version | Proof],
        listener: TaskListener[Version | Proof],
        version: Version | None = None,
    ) -> None:
        stop = threading.Event()

        def stoppable(on_progress: OnProgress) -> Version | Proof:
            def report(share: float, text: str) -> None:
                if stop.is_set():
                    raise CancelledError("Cancelled.")
                on_progress(share, text)

            return run(report)

        work = FunctionWork(stoppable, stop.set)
        super().__init__("dataset version", work, listener, SHARED_QUEUE)
        self.of = of
        self._given = version

    @property
    def version(self) -> Version | None:
        """The complete version, or None if there is none yet."""
        found = self.outcome[0] if self.outcome else None
        return found if isinstance(found, Version) else self._given

    def entry(self, now: _What) -> VersionEntry:
        """Return a payload with the progress or the result."""
        version = self.version
        lines = [] if version is None else [f"{version.path}", *version.lines()]
        entry = VersionEntry(
            state="running", text=self.text, share=self.share, lines=lines, provable=False
        )
        if self.outcome is None:
            return entry
        if lines and _without_texts(now) != _without_texts(self.of):
            lines.append("The graph or the data have changed since then.")
        entry["provable"] = version is not None
        found, error = self.outcome
        if isinstance(found, Proof):
            *more, text = found.lines()
            lines += more
            return {**entry, "state": "done" if found.proven else "failed", "text": text}
        if found is not None:
            return {**entry, "state": "done", "text": "Complete."}
        hint = "" if version else " Render again to continue with the missing shards."
        return {**entry, "state": "failed", "text": error or f"Cancelled.{hint}"}


VERSIONS: OwnedTasks[VersionTask] = OwnedTasks()
"""Running tasks of this process, and the last finished task of each session."""


class SessionVersions(SessionTask[VersionTask]):
    """Last version that a session rendered or proved. Call methods with the lock held."""

    def __init__(self, lock: threading.RLock, changed: Callable[[], None]) -> None:
        super().__init__(TaskListener(lock, changed, lambda found, error: None), VERSIONS)
        self.refusal: tuple[str, _What] | None = None
        """Reason why the last request was refused, with its graph and data."""

    def entry(self, graph: Graph, data: Datasets) -> VersionEntry:
        """Return the payload for the current graph and data."""
        entry = NOTHING if self.last is None else self.last.entry((graph, data))
        if self.running is None and self.refusal is not None and self.refusal[1] == (graph, data):
            return {**entry, "state": "failed", "text": self.refusal[0]}
        return entry

    def attach(self, owner: str) -> None:
        """Attach to a session. A task started by an earlier page is shown and continues."""
        if (found := self.adopt_session(owner)) is not None:
            found.listen(self.listener)


class RenderVersion(Action, tag="render_version", frozen=True):
    """Render the graph to a dataset version, or continue an unfinished one."""

    path: str
    format: str
    copies: int
    split: str
    """Shares of ``train``, ``val`` and ``test``, such as ``0.8,0.1,0.1``."""
    quality: int | None
    """Quality of JPEG; None for PNG."""
    originals: bool

    def apply(self, model: ViewModel) -> None:
        """Start to render, unless a task is running. The entry has the reason of a refusal."""
        model.versions.refusal = None
        try:
            self._start(model)
        except WorkbenchError as error:
            what = model.state.checked.active, model.data_panel.datasets
            model.versions.refusal = str(error), what

    def _start(self, model: ViewModel) -> None:
        if faults := blocking_faults(model.state):
            raise GraphEditError(f"The version was not rendered: {faults[0]}")
        if model.versions.running is not None:
            return
        options = {
            "format": self.format,
            "copies": self.copies,
            "split": parse_shares(self.split),
            "quality": self.quality,
            "originals": self.originals,
        }
        target = new_version_folder(self.path, model.roots)
        graph, data = model.state.checked.active, model.data_panel.datasets
        run = partial(_render, graph, target, data, model.roots, options)
        model.versions.start(VersionTask((graph, data), run, model.versions.listener))


class ProveVersion(Action, tag="prove_version", frozen=True):
    """Compare the last version with its manifest, and render 1 % of it again."""

    def apply(self, model: ViewModel) -> None:
        task = model.versions.last
        if task is None or task.outcome is None or task.version is None:
            raise GraphEditError("There is no complete version to prove. Render one.")
        listener, version = model.versions.listener, task.version
        run = partial(_prove, version)
        model.versions.start(VersionTask(task.of, run, listener, version))


class CancelVersion(Action, tag="cancel_version", frozen=True):
    """Stop to render or to prove."""

    def apply(self, model: ViewModel) -> None:
        model.versions.cancel()


def new_version_folder(path: str, roots: Roots | None) -> Path:
    """Return the absolute path of a version to render, whose folder exists below the ``roots``.

    Raises SaveError for a path that is not allowed.
    """
    target = OutputPath(path, "", roots).path.absolute()
    if roots is None:
        return target
    try:
        with roots.folder(target.parent):
            target = Path(os.path.realpath(target.parent), target.name)
    except OSError as error:
        raise SaveError(f"{target} was not written: {error.strerror or error}.") from None
    for place in (target, target.with_name(target.name + UNFINISHED)):
        if place.is_symlink():
            raise SaveError(f"{place} was not written: it is a symbolic link. Use another name.")
    return target


def _render(
    graph: Graph,
    target: Path,
    data: Datasets,
    roots: Roots | None,
    options: Mapping[str, Any],
    on_progress: OnProgress,
) -> Version:
    if roots is not None:
        roots.require(each.path for each in every_sample(data))
    return render(graph, target, data, on_progress=on_progress, **options)


def _prove(version: Version, on_progress: OnProgress) -> Proof:
    return prove(version, on_progress=on_progress)


def _without_texts(what: _What) -> _What:
    graph, data = what
    return replace(graph, name="", about=""), data
