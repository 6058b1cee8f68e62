"""Render shards in worker processes, which take one shard after the other."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.engine.protocol.exit_status import describe_exit
from workbench.engine.protocol.progress import Progress
from workbench.engine.resources.machine import usable_cores
from workbench.errors import ArgumentError, EngineError, SaveError
from workbench.versions.plan import (
    Task,
    VersionPlan,
    shard_bounds,
)
from workbench.versions.records import WORK, record_path

_PROGRAM = "from workbench.versions.worker import main; main()"


_TICK = 0.2
"""Seconds without an answer after which progress is reported again."""


class ShardWorker:
    """A process that renders one shard after the other, and reports to a queue."""

    def __init__(self, folder: Path, threads: int, answers: queue.SimpleQueue[Any]) -> None:
        command = [sys.executable, "-P", "-c", _PROGRAM, str(folder), str(threads)]
        self.log = (folder / WORK / f"worker-{os.getpid()}-{id(self)}.log").open("w+b")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        threading.Thread(target=self._listen, args=(answers,), daemon=True).start()

    def _listen(self, answers: queue.SimpleQueue[Any]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answers.put((self, json.loads(line)))
        answers.put((self, None))

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def start(self, task: Task, method: str = "render") -> None:
        """Start a method of `ShardRenderer` with a shard."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it ended, which it reports
            print(json.dumps([*task, method]), file=self._process.stdin, flush=True)

    def end_text(self) -> str:
        """Describe why the process ended."""
        code = self._process.wait()
        self.log.seek(0)
        text = self.log.read().decode(errors="replace")
        lines = [line for line in text.splitlines() if line.strip() and "Traceback" in text]
        return ": ".join([f"A worker process {describe_exit(code, text)}", *lines[-1:]])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self.log.close()
        Path(self.log.name).unlink(missing_ok=True)


def require_workers(workers: int | None) -> None:
    """Raise ArgumentError for a number of processes below 1."""
    if workers is not None and workers < 1:
        raise ArgumentError(f"workers is {workers}. Use 1 or more, or omit it.")


def render_shards(
    folder: Path,
    plan: VersionPlan,
    tasks: Sequence[Task],
    workers: int | None,
    on_progress: Progress,
) -> None:
    """Render those shards that are not complete yet. Raises EngineError if one fails.

    ``on_progress`` is called at least every 0.2 s; an exception that it raises ends the processes.
    ``workers`` is the number of processes, by default one for two cores.
    """
    missing = [task for task in tasks if not record_path(folder, task).is_file()]
    if not missing:
        return
    workers = workers or usual_workers()
    counter = RunProgress(plan, missing, on_progress)
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    running: list[ShardWorker] = []
    waiting = deque(missing)
    threads = max(1, usable_cores() // workers)
    try:
        first = ShardWorker(folder, threads, answers)
        running.append(first)
        first.start(waiting[0], "measure")
        while running:
            try:
                worker, answer = answers.get(timeout=_TICK)
            except queue.Empty:
                counter.report()  # which can cancel the run
                continue
            if worker not in running:
                continue  # it has no more shards, and was ended
            _require_answer(worker, answer)
            if "bytes" in answer:
                counter.require_space(folder, answer["bytes"])
                for _number in range(min(workers, len(missing)) - 1):
                    running.append(ShardWorker(folder, threads, answers))
                for each in running:
                    if waiting:
                        each.start(waiting.popleft())
            elif "samples" in answer:
                counter.add(answer["samples"])
            elif waiting:
                worker.start(waiting.popleft())
            else:
                running.remove(worker)
                worker.close()
    finally:
        for worker in running:
            worker.close()


def usual_workers() -> int:
    """Return the default number of processes: one for two cores."""
    return max(1, usable_cores() // 2)


def ask_worker(
    folder: Path,
    task: Task,
    method: str,
    threads: int,
    on_progress: Progress = lambda share, text: None,
) -> dict[str, Any]:
    """Return the result of a method of `ShardRenderer`, called in a worker."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    worker = ShardWorker(folder, threads, answers)
    try:
        worker.start(task, method)
        while True:
            on_progress(0.0, "running the first samples")
            with contextlib.suppress(queue.Empty):
                _, answer = answers.get(timeout=_TICK)
                _require_answer(worker, answer)
                return dict(answer)
    finally:
        worker.close()


def _require_answer(worker: ShardWorker, answer: Any) -> None:
    """Raise EngineError if a worker ended, or reports an error."""
    if answer is None or "error" in answer:
        reason = answer["error"] if answer else worker.end_text()
        raise EngineError(f"{reason.rstrip('.')}.")


class RunProgress:
    """Counts rendered samples, and reports the rate, the remaining time and the disk space."""

    def __init__(self, plan: VersionPlan, missing: Sequence[Task], on_progress: Progress) -> None:
        counts = {task: shard_bounds(task, plan.split(task.split).samples) for task in missing}
        self.total = sum(last - first for first, last in counts.values())
        self.done = 0
        self._bytes = 0.0
        self._start = time.monotonic()
        self._on_progress = on_progress
        self._text = f"0 of {self.total:,} samples"
        self.report()

    def require_space(self, folder: Path, per_sample: float) -> None:
        """Raise SaveError if the samples do not fit on the disk. Restarts the clock."""
        self._bytes = per_sample
        self._start = time.monotonic()
        needed, free = per_sample * self.total, shutil.disk_usage(folder).free
        if needed > free:
            raise SaveError(
                f"{folder} needs about {size_text(needed)}, but {size_text(free)} are free. Free "
                "some space, or use quality, for JPEG instead of PNG."
            )
        self._update()

    def add(self, count: int) -> None:
        """Count rendered samples."""
        self.done += count
        self._update()

    def report(self) -> None:
        """Report the progress again, so that the callback can cancel the run."""
        self._on_progress(min(1.0, self.done / self.total), self._text)

    def _update(self) -> None:
        spent = time.monotonic() - self._start
        text = f"{self.done:,} of {self.total:,} samples"
        if self.done and spent > 0:
            rate = self.done / spent
            left = (self.total - self.done) / rate
            text += f", {rate:,.0f}/s, {duration_text(left)} left"
        if self._bytes:
            text += f", {size_text(self._bytes * self.total)} in all"
        self._text = text
        self.report()


def size_text(size: float) -> str:
    """Format a size in bytes: ``1.4 GB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def duration_text(seconds: float) -> str:
    """Format a duration: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
