"""The comparison with the exported script, as the preview shows it."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.ui.screen import Screen
from workbench.errors import CancelledError, DataError
from workbench.graph import Graph, load_recipe
from workbench.graph.edit import set_setting
from workbench.preview.verify import Deviation, Verification
from workbench.ui import verification_job
from workbench.ui.verification_job import VerificationJob
from workbench.ui.view_model import ViewModel


class Fake:
    """Stands in for ``Verifier``: runs until it is told how to end."""

    outcome: Any = None

    def __init__(self, graph: Graph, data: str, batches: int) -> None:
        self.ended = threading.Event()
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        self.ended.set()

    def run(self, progress: Any) -> Any:
        progress(0.5, "batch 2 of 3")
        assert self.ended.wait(30)
        if self.cancelled:
            raise CancelledError("Cancelled.")
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def run(monkeypatch: pytest.MonkeyPatch, outcome: Any) -> Any:
    """The entry after a comparison with this outcome."""
    monkeypatch.setattr(Fake, "outcome", outcome)
    monkeypatch.setattr(verification_job, "Verifier", Fake)
    changed = threading.Semaphore(0)
    verifying = VerificationJob(threading.RLock(), changed.release)
    graph = load_recipe("simclr")
    assert verifying.entry(graph, "d")["state"] == "none"
    verifying.start(graph, "d")
    assert changed.acquire(timeout=30)
    entry = verifying.entry(graph, "d")
    assert (entry["state"], entry["text"], entry["share"]) == ("running", "batch 2 of 3", 0.5)
    running: Any = verifying._verifier
    running.ended.set()
    assert changed.acquire(timeout=30)
    assert verifying.entry(set_setting(graph, seed=9), "d")["stale"]
    assert verifying.entry(graph, "other")["stale"]
    found = verifying.entry(graph, "d")
    assert not found["stale"]
    return found


def test_identical(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, Verification(12, 12, 3, "cpu", ()))
    assert (found["state"], found["text"]) == ("identical", "identical to export")
    assert found["detail"][0].startswith(
        "12 of 12 samples are the same, bit for bit: batches 0 to 2"
    )


def test_different(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = tuple(Deviation(0, n, f"{n}.jpg", "images", "3 values differ") for n in range(8))
    found = run(monkeypatch, Verification(12, 4, 3, "mixed", apart))
    assert (found["state"], found["text"]) == ("different", "8 of 12 samples differ")
    assert found["detail"][1] == "batch 0, sample 0 (0.jpg), images: 3 values differ"
    assert found["detail"][-1] == "and 3 more lines"


def test_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, Verification(12, 4, 1, "cpu", (), "The script ended with code 1."))
    assert (found["state"], found["text"]) == ("failed", "not compared to the end")
    assert found["detail"][0] == "The script ended with code 1."
    assert "bit for bit: batch 0 of the exported" in found["detail"][1]
    found = run(monkeypatch, DataError("There is no folder."))
    assert found["detail"] == ["There is no folder."]
    found = run(monkeypatch, ZeroDivisionError("a bug"))
    assert "ZeroDivisionError" in found["detail"][0]


def test_an_edit_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification_job, "Verifier", Fake)
    changed = threading.Semaphore(0)
    verifying = VerificationJob(threading.RLock(), changed.release)
    graph = load_recipe("simclr")
    verifying.start(graph, "d")
    assert changed.acquire(timeout=30)
    verifying.follow(graph, "d")
    assert verifying.entry(graph, "d")["state"] == "running"
    verifying.follow(set_setting(graph, seed=8), "d")
    assert changed.acquire(timeout=30)
    found = verifying.entry(graph, "d")
    assert (found["state"], found["text"]) == ("stopped", "stopped by an edit")
    assert found["detail"] == ["The graph was changed while it was compared."]


def test_a_stop_and_another_folder_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification_job, "Verifier", Fake)
    changed = threading.Semaphore(0)
    verifying = VerificationJob(threading.RLock(), changed.release)
    graph = load_recipe("simclr")
    ends = {
        verifying.cancel: "Stopped before all was compared.",
        partial(verifying.follow, graph, "e"): "The data folder was changed while it was compared.",
    }
    for end, reason in ends.items():
        verifying.start(graph, "d")
        assert changed.acquire(timeout=30)
        end()
        assert changed.acquire(timeout=30)
        assert verifying.entry(graph, "d")["detail"] == [reason]


def test_for_real(photos: Path) -> None:
    screen = Screen()
    graph = set_setting(load_recipe("rotate-jitter"), batch_size=4)
    model = ViewModel(photos, graph, screen.publish, restore=False)
    try:
        screen.wait_ready()
        model.act("preview", {"do": "verify"})
        assert screen["preview", "verification"]["state"] == "running"
        screen.wait(lambda s: s["preview", "verification"]["state"] == "identical", "identical")
        assert "12 of 12" in screen["preview", "verification"]["detail"][0]
        model.receive("preview", "mode", "augmented")
        assert not screen["preview", "verification"]["stale"]
        model.act("bar", {"do": "title", "name": "another name"})
        assert not screen["preview", "verification"]["stale"]
        edit = {"do": "set", "node": "rotate", "arg": "angle", "value": 3, "group": ""}
        model.act("inspector", edit)
        assert screen["preview", "verification"]["stale"]
        model.act("bar", {"do": "undo"})
        assert not screen["preview", "verification"]["stale"]
    finally:
        model.close()
