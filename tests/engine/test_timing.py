from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import chain_graph, same, with_settings
from workbench.catalog import load_catalog
from workbench.engine.build.stage_pipeline import THREADS, Stage
from workbench.engine.run.run_result import Result
from workbench.engine.run.runner import Runner
from workbench.engine.run.timing import empty_pipeline_time, time_node
from workbench.graph import Graph, Port
from workbench.graph.model.ports import output_ports

CATALOG = load_catalog()


@pytest.fixture
def runner() -> Iterator[Runner]:
    runner = Runner(CATALOG)
    yield runner
    runner.forget()


def run(runner: Runner, graph: Graph, photos: Path) -> Result:
    graph = with_settings(graph, batch_size=4)
    taps = [port for node in graph.nodes for port in output_ports(node, CATALOG[node.op])]
    return runner.run(graph, str(photos), 0, 4, taps)


def test_more_work_takes_longer(runner: Runner, photos: Path) -> None:
    graph = chain_graph("copy", "gaussian_blur", gaussian_blur={"sigma": 12.0})
    result = run(runner, graph, photos)
    blur, copy = (
        time_node(runner, result, graph.node(node)).milliseconds or 0.0
        for node in ("gaussian_blur", "copy")
    )
    nothing = empty_pipeline_time(result.batches[Port("copy", "output")])
    assert blur > 3 * copy, "measured: 100 times"
    assert 0 < nothing < blur


def test_nothing_that_is_kept_changes(runner: Runner, photos: Path) -> None:
    graph = chain_graph("random_resized_crop")
    result = run(runner, graph, photos)
    port = Port("random_resized_crop", "output")
    before = [array.copy() for array in result.batches[port].arrays()]
    for node in graph.nodes:
        time_node(runner, result, node)
    again = run(runner, graph, photos)
    assert again.reran == ()
    assert same(again.batches[port].arrays(), before)


def test_a_decoder_stays_built(runner: Runner, photos: Path) -> None:
    result = run(runner, chain_graph(), photos)
    (built,) = runner._built.values()
    assert time_node(runner, result, result.plan.nodes[1]).milliseconds
    assert list(runner._built.values()) == [built]


def test_the_threads_can_be_chosen(
    runner: Runner, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(runner, chain_graph("copy"), photos)
    built: list[int] = []
    build = Stage.build
    monkeypatch.setattr(
        Stage, "build", lambda stage: (built.append(stage.threads), build(stage))[1]
    )
    for threads in (3, None):
        assert time_node(runner, result, result.plan.nodes[2], threads).milliseconds
    assert built == [3, THREADS]


def test_a_reader_has_a_reason_instead(runner: Runner, photos: Path) -> None:
    result = run(runner, chain_graph(), photos)
    told = time_node(runner, result, result.plan.nodes[0])
    assert told.milliseconds is None
    assert "reads ahead" in told.reason
