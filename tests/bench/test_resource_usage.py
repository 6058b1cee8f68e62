"""What /proc tells of this process and of others."""

from __future__ import annotations

import os
import subprocess
import sys

from workbench.bench.measuring.workload import (
    busy_seconds,
    cpu_seconds,
    descendants,
    peak_host_bytes,
)

WAIT = "import sys; print('here', flush=True); sys.stdin.read()"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WAIT!r}])"


def test_children_and_theirs_are_found() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = descendants(os.getpid())
        assert child.pid in found
        assert len(found) >= 2
        own = peak_host_bytes([])
        assert 5e6 < own < peak_host_bytes([child.pid])
        child.communicate()
    assert child.pid not in descendants(os.getpid())


def test_cpu_time_rises_with_work() -> None:
    before, busy = cpu_seconds([]), busy_seconds()
    while cpu_seconds([]) - before < 0.1:
        pass
    after = busy_seconds()
    assert busy is not None
    assert after is not None
    assert after - busy > 0.05, "in steps of 10 ms"
    assert cpu_seconds([2**22 + 1]) >= before, "a process that is gone counts nothing"
