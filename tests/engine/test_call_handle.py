"""What a handle promises by itself; with a worker in ``test_process.py``."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from workbench.engine.protocol.call_handle import CallHandle
from workbench.errors import CancelledError


class Calls:
    """Begins every call and notes what is said to it."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(
        self, handle: CallHandle, task: Any, arguments: tuple[Any, ...], limit: Any, on_report: Any
    ) -> Any:
        with handle.running(lambda: self.log.append("begin"), lambda: self.log.append("interrupt")):
            self.begun.set()
            assert self.go_on.wait(30)
        return arguments


def test_a_call_is_interrupted_only_while_it_runs() -> None:
    calls = Calls()
    handle = CallHandle(calls)
    assert handle.call(print, 1, 2) == (1, 2)
    calls.begun.clear()
    calls.go_on.clear()
    thread = threading.Thread(target=handle.call, args=(print,))
    thread.start()
    assert calls.begun.wait(30)
    handle.interrupt()
    calls.go_on.set()
    thread.join(30)
    handle.interrupt()
    assert calls.log == ["begin", "begin", "interrupt"]


@pytest.mark.parametrize("way", ["interrupt", "cancel"])
def test_what_was_given_up_is_not_begun(way: str) -> None:
    calls = Calls()
    one, other = CallHandle(calls), CallHandle(calls)
    getattr(one, way)()
    with pytest.raises(CancelledError):
        one.call(print)
    assert calls.log == []
    assert other.call(print, 1) == (1,)
