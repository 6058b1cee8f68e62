"""Tasks that the worker process imports by name: good ones, and every way to fail."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from workbench.engine.file_checks.file_check import check_header
from workbench.engine.protocol.registry import task
from workbench.engine.reading.findings import CheckedFile
from workbench.engine.run.worker import Worker
from workbench.errors import PipelineError
from workbench.sources import Sample


@task
def echo(_: Worker, value: Any) -> Any:
    return value


@task
def where(_: Worker) -> tuple[int, str]:
    """Process id and folder for temporary files; leaves one there."""
    folder = tempfile.gettempdir()
    Path(folder, "left behind").write_text("x")
    return os.getpid(), folder


@task
def count_calls(worker: Worker) -> int:
    worker.kept["calls"] = int(worker.kept.get("calls", 0)) + 1
    return int(worker.kept["calls"])


@task
def report(worker: Worker, times: int) -> str:
    for number in range(times):
        worker.report(number)
    return "done"


@task
def report_for_ever(worker: Worker) -> NoReturn:
    while True:
        worker.report("still here")


@task
def hang(worker: Worker) -> None:
    worker.report("hanging")
    threading.Event().wait()


@task
def run_nodes_and_hang(worker: Worker) -> None:
    worker.runner._report_running(["rotate", "hue"])
    hang(worker)


@task
def fail(_: Worker) -> NoReturn:
    raise ValueError("seven is not eight")


@task
def refuse(_: Worker) -> NoReturn:
    raise PipelineError("rotate: no", "rotate")


@task
def run_out_of_memory(worker: Worker) -> NoReturn:
    worker.kept["much"] = "of it"
    worker.runner._report_running(["rotate", "hue"])
    raise MemoryError


@task
def kept(worker: Worker) -> list[Any]:
    return list(worker.kept)


@task
def spoil_the_gpu(_: Worker) -> NoReturn:
    raise PipelineError("CUDA runtime API error cudaErrorIllegalAddress (700)")


@task
def give_a_lambda(_: Worker) -> Any:
    return lambda: None


@task
def garble(worker: Worker, data: bytes) -> None:
    """Write into the connection to the kernel, as a script may."""
    print("\x1b[31mred", flush=True)
    os.write(worker.channel.fileno(), data)
    threading.Event().wait()


@task
def abort(_: Worker) -> None:
    print("terminate called: the last words", file=sys.stderr, flush=True)
    os.abort()


@task
def end_by_while_decoding(worker: Worker, number: int, files: list[str]) -> None:
    """End as a decoder that crashes on one of these files."""
    worker.report_running(["decode"], files)
    end_by(worker, number)


@task
def end_by(_: Worker, number: int) -> None:
    os.kill(os.getpid(), number)
    threading.Event().wait()


@task
def read_while_it_is_cut_short(worker: Worker, path: str) -> int:
    """As DALI's reader does, which maps its files."""
    worker.runner._report_running(["reader"])
    with open(path, "rb+") as file, mmap.mmap(file.fileno(), 0) as mapped:
        file.truncate(2)
        return mapped[len(mapped) - 1]


@task
def leave(_: Worker, code: int) -> None:
    os._exit(code)


@task
def leave_politely(_: Worker, code: int) -> None:
    sys.exit(code)


@task
def fill_and_free(_: Worker, size: int) -> None:
    """Take memory in small pieces and free all but the last, so that the heap does not shrink."""
    pieces = [bytes(1000) for _ in range(size // 1000)]
    del pieces[:-1]


@task
def start_a_process(_: Worker, size: int) -> None:
    """A value of this many bytes that lives as long as the worker."""
    code = f"held = b'x' * {size}; print(len(held), flush=True); input()"
    started = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert started.stdout is not None
    started.stdout.readline()


@task
def wait_for_a_newer_request(worker: Worker) -> None:
    """Come to one stage after the other, until given up."""
    worker.report("running")
    while True:
        worker.report_running(["rotate"])
        threading.Event().wait(0.001)


def until(true: Callable[[], bool], seconds: float) -> None:
    """Wait until it is so, or fail after these seconds."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never was"
        threading.Event().wait(0.01)


@task
def check_deadly_files(worker: Worker, files: Sequence[Sample]) -> list[CheckedFile]:
    """As ``check_decoding``, where some files end the process and one never ends."""
    for number, file in enumerate(files):
        worker.report(number)
        if "deadly" in file.name:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "endless" in file.name:
            threading.Event().wait()
    return [check_header(file) for file in files]


@task
def check_files_of_a_killed_worker(worker: Worker, files: Sequence[Sample]) -> list[CheckedFile]:
    """Like ``check_decoding``, in a worker that is killed once, at the file with a marker."""
    for number, file in enumerate(files):
        worker.report(number)
        marker = Path(file.path).with_suffix(".kill")
        if marker.exists():
            marker.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
    return [check_header(file) for file in files]
