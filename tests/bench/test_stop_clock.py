"""When it is time to stop."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from workbench.bench.measuring.worker_group import StopClock


def test_it_is_set_by_the_other_event_or_once_the_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    fake_time = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("workbench.bench.measuring.worker_group.time", fake_time)
    stop = threading.Event()
    clock = StopClock(stop)
    now[0] = 1e9
    assert not clock.is_set(), "nothing bounds it yet"
    clock.allow(5.0)
    now[0] += 4.9
    assert not clock.is_set()
    now[0] += 0.1
    assert clock.is_set()
    clock.allow(5.0)
    assert not clock.is_set(), "a next step has its own time"
    stop.set()
    assert clock.is_set()
