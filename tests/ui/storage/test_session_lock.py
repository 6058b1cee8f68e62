"""A lock that is found out about without being taken, and that no removed file gives."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from workbench.ui.storage.autosave import holding_lock, take_lock


def test_one_has_it_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "session.lock"
    with holding_lock(path) as free:
        assert free
    assert not path.exists()
    first = take_lock(path)
    assert first is not None
    assert take_lock(path) is None
    with holding_lock(path) as free:
        assert not free
    first.close()
    with holding_lock(path) as free:
        assert free
        assert take_lock(path) is None


def test_who_only_looks_keeps_nobody_from_it(tmp_path: Path) -> None:
    path = tmp_path / "session.lock"
    path.touch()
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            with holding_lock(path):
                pass

    looker = threading.Thread(target=look)
    looker.start()
    try:
        for _ in range(50):
            lock = take_lock(path)
            assert lock is not None
            lock.close()
    finally:
        ended.set()
        looker.join()


def test_a_lock_that_was_removed_meanwhile_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.lock"
    opened = Path.open
    tries = []

    def open_and_lose(self: Path, mode: str) -> object:
        found = opened(self, mode)
        if not tries:
            self.unlink()
        tries.append(mode)
        return found

    monkeypatch.setattr(Path, "open", open_and_lose)
    lock = take_lock(path)
    assert len(tries) == 2
    assert lock is not None
    lock.close()
