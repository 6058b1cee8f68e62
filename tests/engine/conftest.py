"""A worker that tests may end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine import tasks
from tests.engine.calls import gone
from workbench.engine import Engine
from workbench.engine.protocol import worker_process


@pytest.fixture(
    scope="module", params=["forked", pytest.param("started", marks=pytest.mark.thorough)]
)
def hurt(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A worker that each of these tests may end: forked for tests, and started as users' are."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "started":
            patch.setattr(worker_process, "subprocess", subprocess)
        with Engine() as engine:
            yield engine


@pytest.fixture
def started_worker() -> Iterator[None]:
    """The workers of this test are started as users' are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_process, "subprocess", subprocess)
        yield


@pytest.fixture
def worker(hurt: Engine) -> Iterator[tuple[int, Path]]:
    """The worker's process and folder. Afterwards they must be gone, and the engine must work."""
    pid, folder = hurt.call(tasks.where)
    yield pid, Path(folder)
    assert hurt.call(tasks.echo, "next") == "next"
    assert hurt.pid != pid
    assert gone(pid)
    assert not Path(folder).exists()
