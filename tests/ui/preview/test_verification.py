"""The comparison with the exported script, as the preview shows it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.ui.hosts import small
from tests.ui.jobs.fake_run import FakeRun
from tests.ui.screen import Make, bar, edit
from workbench.catalog import Catalog
from workbench.engine.reading.findings import CheckedFile, Finding
from workbench.errors import DataError
from workbench.graph import Graph, dump_graph, load_recipe
from workbench.graph.builder.function_node import FunctionNode, node
from workbench.graph.edits.edit import set_setting
from workbench.graph.types.typed_graph import TypedGraph
from workbench.preview.verify import Deviation, Verification
from workbench.roots import Roots
from workbench.ui.inspector.argument_rows import (
    NOTHING_SELECTED,
    caution_note,
    caution_of,
    inspector_view,
)
from workbench.ui.preview import verification_job
from workbench.ui.preview.verification_job import VERIFICATIONS, SessionVerification

# The comparison with the exported script, as the preview shows it.


def run(monkeypatch: pytest.MonkeyPatch, outcome: Any) -> Any:
    """The entry after a comparison with this outcome."""
    monkeypatch.setattr(FakeRun, "outcome", outcome)
    monkeypatch.setattr(verification_job, "Verifier", FakeRun)
    changed = threading.Semaphore(0)
    roots = Roots.of(["photos"])
    verifying = SessionVerification(threading.RLock(), changed.release, roots=roots)
    graph = load_recipe("simclr")
    assert verifying.entry(graph, "d")["state"] == "none"
    verifying.compare(graph, "d")
    assert changed.acquire(timeout=30)
    entry = verifying.entry(graph, "d")
    assert (entry["state"], entry["text"], entry["share"]) == ("running", "batch 2 of 3", 0.5)
    assert verifying.last is not None
    running: Any = verifying.last.work
    assert running.options["roots"] is roots
    running.ended.set()
    assert changed.acquire(timeout=30)
    assert verifying.entry(set_setting(graph, seed=9), "d")["stale"]
    assert verifying.entry(graph, "other")["state"] == "none"
    found = verifying.entry(graph, "d")
    assert not found["stale"]
    return found


def test_identical(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, Verification(12, 12, 3, "cpu", ()))
    assert (found["state"], found["text"]) == ("identical", "identical to export")
    assert found["detail"][0].startswith("12 of 12 samples are bit-identical: batches 0 to 2")


def test_different(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = tuple(Deviation(0, n, f"{n}.jpg", "images", "3 values differ") for n in range(8))
    found = run(monkeypatch, Verification(12, 4, 3, "mixed", apart))
    assert (found["state"], found["text"]) == ("different", "8 of 12 samples differ")
    assert found["detail"][1] == "batch 0, sample 0 (0.jpg), images: 3 values differ"
    assert found["detail"][-1] == "and 3 more lines"


def test_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, Verification(12, 4, 1, "cpu", (), "The script ended with code 1."))
    assert (found["state"], found["text"]) == ("failed", "comparison incomplete")
    assert found["detail"][0] == "The script ended with code 1."
    assert "bit-identical: batch 0 of the exported" in found["detail"][1]
    found = run(monkeypatch, DataError("There is no folder."))
    assert found["detail"] == ["There is no folder."]
    found = run(monkeypatch, ZeroDivisionError("a bug"))
    assert "ZeroDivisionError" in found["detail"][0]


def test_an_edit_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification_job, "Verifier", FakeRun)
    changed = threading.Semaphore(0)
    verifying = SessionVerification(threading.RLock(), changed.release)
    graph = load_recipe("simclr")
    verifying.compare(graph, "d")
    assert changed.acquire(timeout=30)
    verifying.follow(graph, "d")
    assert verifying.entry(graph, "d")["state"] == "running"
    verifying.follow(set_setting(graph, seed=8), "d")
    assert changed.acquire(timeout=30)
    found = verifying.entry(graph, "d")
    assert (found["state"], found["text"]) == ("stopped", "stopped by an edit")
    assert found["detail"] == ["The graph changed during the comparison."]


def test_a_stop_and_another_folder_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification_job, "Verifier", FakeRun)
    changed = threading.Semaphore(0)
    verifying = SessionVerification(threading.RLock(), changed.release)
    graph = load_recipe("simclr")
    ends = {
        verifying.cancel: "Stopped before all samples were compared.",
        partial(verifying.follow, graph, "e"): "The data folder changed during the comparison.",
    }
    for end, reason in ends.items():
        verifying.compare(graph, "d")
        assert changed.acquire(timeout=30)
        end()
        assert changed.acquire(timeout=30)
        assert verifying.entry(graph, "d")["detail"] == [reason]


OWNER = "0123456789abcdef"


@pytest.fixture
def no_job() -> Iterator[None]:
    VERIFICATIONS._tasks.clear()
    yield
    VERIFICATIONS._tasks.clear()


def test_it_goes_on_through_a_reload(
    monkeypatch: pytest.MonkeyPatch, no_job: None, make: Make
) -> None:
    monkeypatch.setattr(verification_job, "Verifier", FakeRun)
    monkeypatch.setattr(FakeRun, "outcome", Verification(12, 12, 3, "cpu", ()))
    first, _ = make(connected=False)
    first.act("bar", {"do": "attach", "tab": OWNER, "kept": []})
    edit(first, "set", node="rotate", arg="angle", value=3, group="")
    first.act("preview", {"do": "verify"})
    first.close(leave_measurement=True)
    second, screen = make(connected=False)
    second.act("bar", {"do": "attach", "tab": OWNER, "kept": []})
    assert screen["preview", "verification"]["state"] == "running"
    assert second.verification.last is not None
    running: Any = second.verification.last.work
    running.ended.set()
    shows = "identical to export"
    screen.wait(lambda s: s["preview", "verification"]["text"] == shows, "the end")
    assert not screen["preview", "verification"]["stale"]


def test_for_real(make: Make) -> None:
    model, screen = make(graph="simclr")
    bar(model, "open", text=dump_graph(small()))
    screen.wait_ready()
    model.act("preview", {"do": "verify"})
    assert screen["preview", "verification"]["state"] == "running"
    screen.wait(lambda s: s["preview", "verification"]["state"] == "identical", "identical")
    assert "12 of 12" in screen["preview", "verification"]["detail"][0]
    model.receive("preview", "mode", "augmented")
    assert not screen["preview", "verification"]["stale"]
    model.act("bar", {"do": "title", "name": "another name"})
    assert not screen["preview", "verification"]["stale"]
    edit(model, "set", node="rotate", arg="angle", value=3, group="")
    assert screen["preview", "verification"]["stale"]
    model.act("bar", {"do": "undo"})
    assert not screen["preview", "verification"]["stale"]
    bar(model, "undo")
    bar(model, "undo")
    assert model.graph.name == "simclr"
    assert screen["preview", "verification"]["state"] == "none", "it was of the graph opened"
    bar(model, "redo")
    model.act("preview", {"do": "verify"})
    screen.wait(lambda s: s["preview", "verification"]["state"] == "identical", "identical")
    model.act("canvas", {"do": "recipe", "name": "simclr"})
    assert screen["preview", "verification"]["state"] == "none"


def test_bad_files_that_were_left_out_are_beside_the_verdict(
    monkeypatch: pytest.MonkeyPatch, no_job: None
) -> None:
    bad = CheckedFile("a/b.jpg", findings=(Finding("empty", "the file is empty"),))
    report = Verification(12, 12, 3, "cpu", (), left_out=(bad,))
    entry = verification_job._found(report)
    assert entry["text"] == "identical without 1 bad file"
    assert "a/b.jpg" in entry["detail"][-1]


# Where a function's node is shown, it is said that its pictures are not the script's.


@node
def shaken(image: Any) -> Any:
    import numpy as np

    return image + np.random.normal(size=image.shape)


@node
def plain(image: Any) -> Any:
    return image


def with_function(function: FunctionNode) -> Graph:
    return function.after(load_recipe("rotate-jitter"), "resize")


def test_one_that_draws_says_so_with_its_line_and_the_remedy(catalog: Catalog) -> None:
    graph = with_function(shaken)
    words = inspector_view(TypedGraph(graph, catalog), "shaken", "cpu", [])["caution"]
    assert words.startswith(
        "The preview differs from the script: numpy.random.normal (line 4: return image + "
    )
    assert "Let DALI sample" in words
    assert caution_note(graph.node("shaken")) == "not exact"


@pytest.mark.parametrize("node_id", ["plain", "resize", "angle"])
def test_others_say_nothing(node_id: str, catalog: Catalog) -> None:
    graph = with_function(plain)
    assert inspector_view(TypedGraph(graph, catalog), node_id, "cpu", [])["caution"] == ""
    assert caution_of(graph.node(node_id)) == caution_note(graph.node(node_id)) == ""
    bare = replace(graph.node("plain"), args={"function": "plain"})
    assert caution_of(bare) == ""
    assert NOTHING_SELECTED["caution"] == ""
