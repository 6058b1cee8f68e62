"""Which error stands for a worker that ended; engine/protocol/test_process.py ends real ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.helpers import chain_graph
from workbench.catalog import load_catalog
from workbench.errors import (
    PipelineError,
    WorkbenchError,
    WorkerCrashedError,
    WorkerSilentError,
    WorkerTimeoutError,
)
from workbench.graph.builder.function_node import node
from workbench.graph.control_flow.regions import wrap_in_region
from workbench.preview import PreviewRequest
from workbench.preview.views.fault_isolation import call_isolating_faults, run_nodes_separately
from workbench.preview.views.render import render

REQUEST = PreviewRequest(chain_graph("rotate", "hue"), "photos")
SEVERAL = ("rotate", "hue")


class Scripted:
    """An engine whose calls end as planned: a value, or an error to raise."""

    def __init__(self, *ends: Any) -> None:
        self.ends = list(ends)
        self.tasks: list[Any] = []

    def call(self, task: Any, *_: Any, limit: float | None = None) -> Any:
        self.tasks.append(task)
        end = self.ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return end


def raised(engine: Scripted) -> WorkbenchError:
    with pytest.raises(WorkbenchError) as caught:
        call_isolating_faults(engine, render, REQUEST)  # type: ignore[arg-type]
    return caught.value


def test_what_goes_well_runs_once() -> None:
    engine = Scripted("picture")
    assert call_isolating_faults(engine, render, REQUEST) == "picture"  # type: ignore[arg-type]
    assert engine.tasks == [render]


def test_several_nodes_are_run_one_by_one() -> None:
    engine = Scripted(WorkerCrashedError("ended", SEVERAL), WorkerCrashedError("ended", ["hue"]))
    error = raised(engine)
    assert engine.tasks == [render, run_nodes_separately]
    assert isinstance(error, WorkerCrashedError)
    assert error.node == "hue"
    assert str(error).startswith("hue: DALI ended the worker process in this node. Change its")


def test_a_node_that_hangs_alone_is_named_too() -> None:
    error = raised(Scripted(WorkerCrashedError("x", SEVERAL), WorkerTimeoutError("y", ["rotate"])))
    assert isinstance(error, WorkerTimeoutError)
    assert error.node == "rotate"


def test_a_refusal_of_the_second_run_says_more() -> None:
    told = PipelineError("rotate: no", "rotate")
    assert raised(Scripted(WorkerCrashedError("x", SEVERAL), told)) is told


def test_what_does_not_happen_again_stays_as_it_was() -> None:
    first = WorkerCrashedError("ended", SEVERAL)
    assert raised(Scripted(first, None)) is first
    assert first.node is None


@node
def never_returns(image: Any) -> Any:
    while True:
        pass


@pytest.mark.parametrize("kind", [WorkerTimeoutError, WorkerSilentError])
def test_of_what_does_not_answer_a_function_is_named(kind: type[WorkerTimeoutError]) -> None:
    graph = never_returns.after(REQUEST.graph, "rotate")
    graph, region = wrap_in_region(graph, load_catalog(), ["never_returns"])
    engine = Scripted(kind("No answer.", ("rotate", region)))
    with pytest.raises(kind, match=r"^never_returns: its function does not return.* No a") as told:
        call_isolating_faults(engine, render, replace(REQUEST, graph=graph))  # type: ignore[arg-type]
    assert told.value.node == "never_returns"


@pytest.mark.parametrize(
    "error",
    [
        WorkerCrashedError("killed", SEVERAL, killed=True),
        WorkerCrashedError("ended", ["rotate"]),
        WorkerTimeoutError("hung", SEVERAL),
        PipelineError("no", "rotate"),
    ],
)
def test_others_are_not_run_again(error: WorkbenchError) -> None:
    engine = Scripted(error)
    assert raised(engine) is error
    assert engine.tasks == [render]
