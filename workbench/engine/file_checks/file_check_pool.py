"""Check many files in several worker processes, and restart a worker that a file crashes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from queue import SimpleQueue

from workbench.engine.file_checks.file_check import check_decoding, check_header, check_headers
from workbench.engine.protocol.heartbeat import warn_of_silence
from workbench.engine.protocol.process import Engine
from workbench.engine.reading.findings import CheckedFile, Finding
from workbench.engine.resources.machine import usable_cores
from workbench.errors import (
    CancelledError,
    WorkerLostError,
    WorkerSilentError,
    WorkerTimeoutError,
)
from workbench.roots import Roots
from workbench.sources import Sample

HERE = 2_000
"""Maximum number of files whose headers are read in this process instead of in workers."""
_HEADERS_AT_ONCE, _DECODED_AT_ONCE = 512, 32
_DECODE_LIMIT = 60.0
"""Timeout for one file, in seconds."""


def check_each(
    files: Iterable[Sample],
    full: bool,
    stop: Callable[[], bool] = lambda: False,
    roots: Roots | None = None,
    on_silence: Callable[[bool], None] = warn_of_silence,
) -> Iterator[CheckedFile]:
    """Check files and yield the results in order.

    A file outside the ``roots`` is not read, and gets a finding. A file that crashes two workers,
    or makes one hang, gets a finding with this reason. ``stop`` is called after each file, and
    returns True to cancel. ``on_silence`` is as for ``Engine``. Raises CancelledError, and
    EngineError if no worker starts.
    """
    files = (file.with_location() for file in files)
    if roots is None:
        return _check_all(files, full, stop, on_silence)
    files = list(files)
    refused = {
        n: found for n, file in enumerate(files) if (found := check_outside_roots(roots, file))
    }
    inside = _check_all(
        (f for n, f in enumerate(files) if n not in refused), full, stop, on_silence
    )
    return (refused[n] if n in refused else next(inside) for n in range(len(files)))


def is_inside(roots: Roots | None, file: Sample) -> bool:
    """Return whether a file may be read. Without ``roots``, and in memory, every file may."""
    return roots is None or file.nbytes is not None or not roots.refusal(file.path)


def check_outside_roots(roots: Roots, file: Sample) -> CheckedFile | None:
    """Return a finding if a file, or the target of its symbolic links, is outside the roots."""
    reason = roots.refusal(file.path)
    return CheckedFile(file.name, findings=(Finding("unreadable", reason),)) if reason else None


def _check_all(
    files: Iterable[Sample],
    full: bool,
    stop: Callable[[], bool],
    on_silence: Callable[[bool], None],
) -> Iterator[CheckedFile]:
    remaining = iter(files)
    if full:
        return _checked_by_workers(remaining, full, stop, on_silence)
    first = list(islice(remaining, HERE + 1))
    if len(first) <= HERE:
        return _checked_here(first, stop)
    return _checked_by_workers(chain(first, remaining), full, stop, on_silence)


def _checked_here(files: Iterable[Sample], stop: Callable[[], bool]) -> Iterator[CheckedFile]:
    for file in files:
        yield check_header(file)
        _require_active(stop)


def _checked_by_workers(
    files: Iterator[Sample],
    full: bool,
    stop: Callable[[], bool],
    on_silence: Callable[[bool], None],
) -> Iterator[CheckedFile]:
    size = _DECODED_AT_ONCE if full else _HEADERS_AT_ONCE
    cancelled = threading.Event()
    engines = [
        Engine(_DECODE_LIMIT, stop=cancelled, on_silence=on_silence, measures=True)
        for _ in range(usable_cores())
    ]
    free: SimpleQueue[Engine] = SimpleQueue()
    for engine in engines:
        free.put(engine)

    def check(part: list[Sample]) -> list[CheckedFile]:
        engine = free.get()
        try:
            return _check_part(engine, part, full)
        finally:
            free.put(engine)

    with ThreadPoolExecutor(max_workers=len(engines)) as pool:
        waiting: deque[Future[list[CheckedFile]]] = deque()
        try:
            parts = iter(lambda: list(islice(files, size)), [])
            waiting.extend(pool.submit(check, part) for part in islice(parts, 3 * len(engines)))
            while waiting:
                for checked in _result(waiting.popleft(), stop):
                    yield checked
                    _require_active(stop)
                waiting.extend(pool.submit(check, part) for part in islice(parts, 1))
        finally:
            cancelled.set()
            for future in waiting:
                future.cancel()
            for engine in engines:
                engine.close()


def _result(future: Future[list[CheckedFile]], stop: Callable[[], bool]) -> list[CheckedFile]:
    while True:
        try:
            return future.result(timeout=0.2)
        except TimeoutError:
            _require_active(stop)


def _check_part(
    engine: Engine, files: list[Sample], full: bool, suspected: bool = False
) -> list[CheckedFile]:
    """Check files. If the worker crashes, find the file that causes it, and continue with the rest.

    A file is reported as bad if it times out, or if it crashes the worker again when it is checked
    alone (``suspected``). One crash is not enough, because the worker may have been killed.
    """
    if not files:
        return []
    begun = 0

    def store_progress(number: float | str) -> None:
        nonlocal begun
        begun = int(number)

    try:
        task = check_decoding if full else check_headers
        found: list[CheckedFile] = engine.call(task, files, on_report=store_progress)
        return found
    except WorkerLostError as error:
        if suspected or _is_timeout(error):
            at = [_crash_finding(files[begun], error)]
        else:
            at = _check_part(engine, [files[begun]], full, suspected=True)
        before, after = files[:begun], files[begun + 1 :]
        return [*_check_part(engine, before, full), *at, *_check_part(engine, after, full)]


def _is_timeout(error: WorkerLostError) -> bool:
    return isinstance(error, WorkerTimeoutError) and not isinstance(error, WorkerSilentError)


def _crash_finding(file: Sample, error: WorkerLostError) -> CheckedFile:
    words = str(error).partition(".")[0].replace("The worker", "the process that decoded it")
    crash = Finding("crashes the decoder", words)
    seen = check_header(file)
    return replace(seen, findings=(*seen.findings, crash))


def _require_active(stop: Callable[[], bool]) -> None:
    if stop():
        raise CancelledError("Cancelled.")
