"""What is done to a worker, to a folder and to a disk."""

from __future__ import annotations

import resource
import signal
from contextlib import ExitStack
from pathlib import Path

import psutil

from tests.faults.table import Row

ROOM = 2**20
"""Bytes that a process which meets its limit of memory may still take."""


def hit(worker: psutil.Process, fault: str) -> None:
    if fault == "memory limit":
        _, most = worker.rlimit(psutil.RLIMIT_AS)
        worker.rlimit(psutil.RLIMIT_AS, (ROOM, most))  # nothing more is given
    else:
        worker.send_signal(signal.Signals[fault])


def vanish(row: Row, data: Path, stack: ExitStack) -> None:
    """The folder is gone, until the stack ends."""
    if row.fault == "data gone":
        away = data.with_name("elsewhere")
        data.rename(away)
        stack.callback(away.rename, data)


def full_disk(pid: int, stack: ExitStack) -> None:
    """No file that this process, or one that it starts, writes may have a byte."""
    process = psutil.Process(pid)
    usual = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    stack.callback(process.rlimit, psutil.RLIMIT_FSIZE, usual)


def slow_script(work: Path, seconds: float = 60) -> Path:
    """A script with a pipeline, which says that it runs and then takes its time."""
    path = work / "train.py"
    path.write_text(
        "import bisect, time\nfrom pathlib import Path\n"
        "from nvidia.dali import fn, pipeline_def\n"
        f"Path({str(work / 'began')!r}).touch()\n"
        f"end = time.monotonic() + {seconds}\n"
        "while time.monotonic() < end:\n    time.sleep(0.05)\n    bytearray(2**22)\n"
        "@pipeline_def(batch_size=4, num_threads=1, device_id=None)\ndef train():\n"
        "    jpegs, labels = fn.readers.file(file_root='photos')\n"
        "    return fn.decoders.image(jpegs), labels\n"
    )
    return path
