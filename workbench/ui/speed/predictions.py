"""Predict memory and decoders from the headers of the data, for the Speed panel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from workbench.engine.protocol.exit_status import printable
from workbench.errors import CancelledError, DataError
from workbench.graph.model import Graph
from workbench.health.decoders import DecoderCoverage, decoder_coverage
from workbench.health.memory import MemoryEstimate, as_mib, memory
from workbench.roots import Roots
from workbench.sources import Datasets
from workbench.ui.contract.speed_payloads import PredictionRow, PredictionView
from workbench.ui.jobs.background_task import (
    SHARED_QUEUE,
    BackgroundTask,
    FunctionWork,
    OnProgress,
    OwnedTasks,
    SessionTask,
    TaskListener,
)

Found = MemoryEstimate | DecoderCoverage
_NAMED = 3
_UPDATE = 1000


class Prediction:
    """Last prediction of one kind, ``memory`` or ``decoders``, for one page.

    ``changed`` is called after every change. Call methods with the lock held.
    """

    def __init__(
        self, kind: str, lock: threading.RLock, changed: Callable[[], None], roots: Roots | None
    ) -> None:
        """Files outside the ``roots`` are not read."""
        listener: TaskListener[Found] = TaskListener(lock, changed, lambda found, wrong: None)
        self.task: SessionTask[BackgroundTask[Found]] = SessionTask(listener, OwnedTasks())
        self.kind = kind
        self._roots = roots
        self._of: tuple[Graph | None, Datasets] | None = None

    def start(self, graph: Graph, data: Datasets) -> None:
        """Read the headers in the background; if this is running, stop it."""
        if self.task.running is not None:
            self.task.cancel()
            return
        self._of = self._subject(graph, data)
        unwanted = threading.Event()

        def predict(on_progress: OnProgress) -> Found:
            def count(done: int) -> None:
                if unwanted.is_set():
                    raise CancelledError("Cancelled.")
                if done % _UPDATE == 0:
                    on_progress(0.0, f"{done:,} headers read")

            if self.kind == "memory":
                return memory(graph, data, count, roots=self._roots)
            if len(data) != 1:
                number = f"{len(data)} data sets" if data else "no images"
                raise DataError(f"The graph reads {number}. Use a graph that reads one data set.")
            (dataset,) = data.values()
            return decoder_coverage(dataset, count, roots=self._roots)

        work = FunctionWork(predict, unwanted.set)
        queue = SHARED_QUEUE if self.kind == "decoders" else None  # on a GPU, times are measured
        self.task.start(BackgroundTask(self.kind, work, self.task.listener, queue))

    def cancel(self) -> None:
        """Stop the prediction if it is running."""
        self.task.cancel()

    def view(self, graph: Graph, data: Datasets) -> PredictionView | None:
        """Return the payload, marked as stale if the graph or its data changed afterwards."""
        task = self.task.last
        if task is None:
            return None
        shown: PredictionView = {
            "state": "running",
            "text": task.text,
            "stale": self._of != self._subject(graph, data),
            "heads": [],
            "rows": [],
            "notes": [],
            "warning": "",
        }
        if task.outcome is None:
            return shown
        found, wrong = task.outcome
        if isinstance(found, MemoryEstimate):
            return _memory_table(shown, found)
        if found is not None:
            return _decoder_table(shown, found)
        return {**shown, "state": "failed", "text": wrong or "Cancelled."}

    def _subject(self, graph: Graph, data: Datasets) -> tuple[Graph | None, Datasets]:
        return replace(graph, name="", about="") if self.kind == "memory" else None, data


def _memory_table(shown: PredictionView, found: MemoryEstimate) -> PredictionView:
    return {
        **shown,
        "state": "done",
        "text": "",
        "heads": ["node", "memory", "typical MiB", "worst MiB"],
        "rows": [
            {"cells": [name, side, as_mib(typical), as_mib(worst)], "node": node}
            for name, node, side, typical, worst in found.table()
        ],
        "notes": found.notes(),
        "warning": found.shortage,
    }


def _decoder_table(shown: PredictionView, found: DecoderCoverage) -> PredictionView:
    rows: list[PredictionRow] = []
    for use in found.uses:
        named = ", ".join(printable(name) for name in use.names[:_NAMED])
        cells = [use.decoder, f"{use.count:,}", f"{use.count / found.count:.1%}", use.format]
        cells += [use.reason, *([use.times] if found.gpu else [])]
        cells.append(f"{named}, ..." if use.count > _NAMED else named)
        rows.append({"cells": cells, "node": ""})
    notes = found.notes()
    if found.others:
        command = f"workbench check {found.data} --decoders --bad FILE"
        notes.append(f"`{command}` writes the names of the images to re-encode.")
    times = ["time per image"] if found.gpu else []
    heads = ["decoder", "images", "share", "format", "why not faster", *times, "files"]
    return {**shown, "state": "done", "text": "", "heads": heads, "rows": rows, "notes": notes}
