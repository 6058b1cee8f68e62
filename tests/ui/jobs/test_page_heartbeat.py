"""It beats for whom looks, and for nobody else."""

from __future__ import annotations

import queue
import time

import pytest

from workbench.ui.app import page_heartbeat
from workbench.ui.app.page_heartbeat import LEASE, PageHeartbeat

PATIENCE = 90.0


def test_it_beats_while_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_heartbeat, "PERIOD", 0.001)
    beats: queue.Queue[tuple[str, int]] = queue.Queue()
    heartbeat = PageHeartbeat(lambda component, beat: beats.put((component, beat)))
    heartbeat.watch("bar")
    first, second = beats.get(timeout=PATIENCE), beats.get(timeout=PATIENCE)
    assert first[0] == second[0] == "bar"
    assert second[1] > first[1]
    thread = heartbeat._thread
    heartbeat.close()
    assert thread is not None
    thread.join(PATIENCE)
    heartbeat.watch("bar")
    assert heartbeat._thread is None


def test_it_ends_when_nobody_looks_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(page_heartbeat, "PERIOD", 0.001)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    beats: queue.Queue[int] = queue.Queue()
    heartbeat = PageHeartbeat(lambda component, beat: beats.put(beat))
    for _ in range(2):  # and begins again
        heartbeat.watch("bar")
        beats.get(timeout=PATIENCE)
        thread = heartbeat._thread
        assert thread is not None
        now += LEASE
        thread.join(PATIENCE)
        assert heartbeat._thread is None
        while not beats.empty():
            beats.get()
    heartbeat.close()
