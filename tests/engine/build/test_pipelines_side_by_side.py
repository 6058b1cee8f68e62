"""Several parallel pipelines: the preview shows the batch of the exported script."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from tests.block_graphs import branching_graph, decided_by_light
from tests.helpers import CATALOG, arrays_of, import_script, same, with_settings
from tests.thorough import one_in
from workbench.emit.script import emit_script
from workbench.engine import Engine
from workbench.engine.run.branches import BranchCounter
from workbench.engine.run.runner import Runner
from workbench.errors import PipelineError
from workbench.graph import Graph, load_recipe
from workbench.graph.model.bounds import SETTINGS
from workbench.preview.verify import Verifier
from workbench.sources import open_datasets

COUNT = 4
GRAPHS = {
    "imagenet-train": load_recipe("imagenet-train"),
    "rand-augment": load_recipe("rand-augment"),
    "blocks": branching_graph(),
    "decided-by-light": decided_by_light(),
}


@pytest.mark.parametrize("pipelines", one_in(2, [2, 3]))
@pytest.mark.parametrize("name", one_in(2, GRAPHS))
def test_batches_0_1_and_7_are_those_of_the_script(
    name: str, pipelines: int, photos: Path, tmp_path: Path
) -> None:
    graph = with_settings(GRAPHS[name], batch_size=COUNT, pipelines=pipelines)
    script = import_script(emit_script(graph, CATALOG).text, tmp_path)
    batches = script.in_turns(script.build_pipelines(str(photos)))
    expected = [[arrays_of(output) for output in outputs] for outputs in islice(batches, 8)]
    runner, taps, data = Runner(CATALOG), list(graph.outputs.values()), open_datasets(photos)
    for batch in (7, 0, 1):
        found = runner.run(graph, data, batch, COUNT, taps).batches
        for port, theirs in zip(taps, expected[batch], strict=True):
            assert same(found[port].arrays(), theirs), (batch, port)


@pytest.mark.parametrize("pipelines", [1, 2])
@pytest.mark.parametrize(
    ("executor", "given"),
    [
        ("static", "3,"),
        ("separate", '{"cpu_size": 6, "gpu_size": 3},'),
    ],
)
def test_another_executor_gives_the_same_batches(
    executor: str, given: str, pipelines: int, photos: Path, tmp_path: Path
) -> None:
    graph = with_settings(
        GRAPHS["imagenet-train"], batch_size=COUNT, pipelines=pipelines, prefetch_queue_depth=3
    )
    text = emit_script(with_settings(graph, executor=executor), CATALOG).text
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index(f"prefetch_queue_depth={given}")
    assert lines[at + 1] == "exec_dynamic=False,"
    script = import_script(text, tmp_path)
    built = (
        script.in_turns(script.build_pipelines(str(photos)))
        if pipelines > 1
        else iter(script.build_pipeline(str(photos)).run, None)
    )
    runner, taps, data = Runner(CATALOG), list(graph.outputs.values()), open_datasets(photos)
    for batch, outputs in enumerate(islice(built, 5)):
        found = runner.run(graph, data, batch, COUNT, taps).batches
        for port, theirs in zip(taps, outputs, strict=True):
            assert same(found[port].arrays(), arrays_of(theirs)), (batch, port)


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("seed", one_in(2, [0, SETTINGS["seed"][1]], first=1))
def test_verify_compares_them(seed: int, device: str, engine: Engine, photos: Path) -> None:
    graph = load_recipe("imagenet-train")
    graph = with_settings(graph, batch_size=COUNT, pipelines=3, seed=seed, device=device)
    report = Verifier(graph, str(photos), 5, engine=engine).run()
    assert report.lines() == [f"identical: {5 * COUNT} of {5 * COUNT}"]


def test_one_after_the_other_they_start_no_reader_again(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=COUNT, pipelines=4)
    runner, taps = Runner(CATALOG), list(graph.outputs.values())
    for batch in range(8):
        runner.run(graph, open_datasets(photos), batch, COUNT, taps)
    assert len(runner.readers._cursors) == 4
    assert {cursor._position.next_batch for cursor in runner.readers._cursors.values()} == {2}  # type: ignore[union-attr]


def test_every_file_is_shown_once_an_epoch(photos: Path) -> None:
    """Two shards of a number of files that batches divide."""
    graph = with_settings(load_recipe("imagenet-train"), batch_size=5, pipelines=2)
    runner, taps = Runner(CATALOG), list(graph.outputs.values())[1:]
    files = [
        sample.file
        for batch in range(24)
        for sample in runner.run(graph, open_datasets(photos), batch, 5, taps).samples
    ]
    assert len(files) == 120
    assert set(Counter(files).values()) == {1}


def test_what_decides_is_counted_in_turns(photos: Path) -> None:
    """As the batches have it, which come from two pipelines."""
    graph = with_settings(branching_graph(), batch_size=COUNT, pipelines=2)
    runner, data = Runner(CATALOG), open_datasets(photos)
    block = graph.node("outer")
    counter = BranchCounter(runner.branch_places(graph, data, [block]))
    sums: Counter[str] = Counter()
    for batch in range(4):
        assert {scope: n for scope, n in counter.before(batch).items() if n} == sums
        result = runner.run(graph, data, batch, COUNT, list(graph.outputs.values()))
        sums.update({scope: len(places) for scope, places in result.places.items()})
        sums += Counter()  # without what no sample came to


def test_fewer_files_than_pipelines(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jpg").symlink_to(next(photos.rglob("*.jpg")))
    graph: Graph = with_settings(load_recipe("imagenet-train"), batch_size=COUNT, pipelines=2)
    words = r"it reads fewer samples \(1\) than it has shards \(2\).*fewer pipelines"
    with pytest.raises(PipelineError, match=words):
        Runner(CATALOG).run(graph, open_datasets(tmp_path), 0, COUNT, list(graph.outputs.values()))
