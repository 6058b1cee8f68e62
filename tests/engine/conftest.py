"""A worker that tests may end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine import tasks
from tests.engine.calls import gone
from workbench.engine import Engine


@pytest.fixture(scope="module")
def hurt() -> Iterator[Engine]:
    """A worker that each of these tests may end."""
    with Engine() as engine:
        yield engine


@pytest.fixture
def worker(hurt: Engine) -> Iterator[tuple[int, Path]]:
    """The worker's process and folder. Afterwards they must be gone, and the engine must work."""
    pid, folder = hurt.call(tasks.where)
    yield pid, Path(folder)
    assert hurt.call(tasks.echo, "next") == "next"
    assert hurt.pid != pid
    assert gone(pid)
    assert not Path(folder).exists()
