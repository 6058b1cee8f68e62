"""A forked worker is what a started one is: a process of its own, with nothing of another's."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.conftest import no_gpu
from tests.engine import tasks
from tests.forked_workers import ForkedWorker
from workbench.engine import Engine
from workbench.errors import WorkerCrashedError

pytestmark = pytest.mark.skipif(not no_gpu(), reason="workers are not forked beside a GPU")


def test_each_is_fresh_and_has_its_own_folder() -> None:
    with Engine() as one, Engine() as other:
        assert [one.call(tasks.count_calls) for _ in range(2)] == [1, 2]
        assert other.call(tasks.count_calls) == 1
        (pid, folder), (_, second) = one.call(tasks.where), other.call(tasks.where)
        assert pid == os.getpgid(pid) == os.getsid(pid) == one.pid
        assert folder != second
    assert not Path(folder).exists()


def test_its_end_is_told() -> None:
    with Engine() as engine:
        engine.call(tasks.echo, 1)
        assert engine._process is not None
        worker = engine._process.popen
        assert isinstance(worker, ForkedWorker)
        assert worker.poll() is None
        worker.kill()
        assert worker.wait(30) == worker.poll() == -signal.SIGKILL
        with pytest.raises(WorkerCrashedError, match="SIGSEGV"):
            engine.call(tasks.end_by, signal.SIGSEGV)
