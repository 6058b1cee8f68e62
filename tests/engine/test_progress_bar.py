"""Progress bars without another listener, and interrupts in one line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import tqdm.auto

from workbench.engine.protocol.progress import (
    InterruptedRunError,
    count_bar,
    one_line_interrupt,
    with_progress_bar,
)


class Bar:
    """The calls of tqdm's bar."""

    made: list[Bar]

    def __init__(self, **options: object) -> None:
        self.options, self.n, self.total, self.said = options, 0, 0, [""]
        Bar.made.append(self)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None: ...

    def set_description(self, text: str, refresh: bool = True) -> None:
        self.said.append(text)

    def update(self, by: int) -> None:
        self.n += by

    def refresh(self) -> None: ...


@pytest.fixture(autouse=True)
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Bar]:
    Bar.made = []
    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    return Bar.made


@pytest.fixture(params=[True, False])
def notebook(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    shell = SimpleNamespace(get_ipython=lambda: object() if request.param else None)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    return bool(request.param)


@with_progress_bar()
def halves(text: str, on_progress: Callable[[float, str], None] = lambda share, text: None) -> str:
    on_progress(0.5, text)
    on_progress(0.5, text)
    return text


def test_a_bar_is_shown_where_nobody_else_listens(notebook: bool, bars: list[Bar]) -> None:
    assert halves("x" * 100) == "x" * 100
    (bar,) = bars
    assert bar.n == 50
    assert bar.said[-1] == "x" * 60
    assert bar.options["disable"] is (False if notebook else None), "None: a terminal alone"
    heard: list[float] = []
    halves("x", lambda share, text: heard.append(share))
    halves("x", on_progress=lambda share, text: heard.append(share))
    assert heard == [0.5] * 4
    assert len(bars) == 1


def test_files_are_counted(bars: list[Bar]) -> None:
    with count_bar() as on_progress:
        for done in (3, 7):
            on_progress(done, 9)
    assert (bars[0].n, bars[0].total) == (7, 9)


def test_an_interrupt_is_one_line_in_a_notebook_alone(notebook: bool) -> None:
    @one_line_interrupt("Interrupted here.")
    @with_progress_bar()
    def stopped(on_progress: Callable[[float, str], None] = lambda share, text: None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError if notebook else KeyboardInterrupt) as raised:
        stopped()
    if notebook:
        assert raised.value._render_traceback_() == ["Interrupted."]  # type: ignore[attr-defined]
        assert raised.value.__suppress_context__
