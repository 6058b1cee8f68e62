"""A pinned draw: whatever is edited, every other node draws what it drew before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.helpers import CATALOG, CHAINS, apply_step, photo_recipes, same, step, with_settings
from tests.preview.soak import BUDGET, soak
from tests.thorough import examples
from workbench.engine import Engine
from workbench.engine.run.runner import Runner
from workbench.errors import PipelineError
from workbench.graph import Graph, Port, check_graph, load_recipes
from workbench.graph.types.devices import is_generator

COUNT = 3


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    runner = Runner(CATALOG)
    yield runner
    runner.forget()


def drawn(graph: Graph) -> dict[str, Port]:
    """The outputs of all generators, by node."""
    return {
        node.id: Port(node.id, "output")
        for node in graph.nodes
        if is_generator(CATALOG[node.op]) and not node.inputs
    }


@examples(20, thorough=1200)
@given(
    st.one_of(st.sampled_from(list(photo_recipes().values())), CHAINS),
    st.lists(step(("set", "insert", "remove", "move", "randomise", "reset")), max_size=4),
    st.integers(0, 2),
)
def test_an_edit_changes_no_draw_of_another_node(
    runner: Runner,
    photos: Path,
    graph: Graph,
    edits: list,
    batch: int,  # type: ignore[type-arg]
) -> None:
    graph = with_settings(graph, batch_size=COUNT, device="cpu")
    edited = graph
    for edit in edits:
        edited = apply_step(edited, CATALOG, edit)
    kept = {
        node: port
        for node, port in drawn(graph).items()
        if edited.has(node) and edited.node(node) == graph.node(node)
    }
    assume(kept)
    assume(not check_graph(graph, CATALOG))
    ports = list(kept.values())
    try:
        before = runner.run(graph, str(photos), batch, COUNT, ports)
        runner.forget()
        after = runner.run(edited, str(photos), batch, COUNT, ports)
    except PipelineError:
        assume(False)  # values that the catalogue allows and DALI refuses
    for port in ports:
        assert same(before.batches[port].arrays(), after.batches[port].arrays()), port


def test_another_batch_or_seed_is_a_new_draw(runner: Runner, photos: Path) -> None:
    graph = with_settings(load_recipes()["rotate-jitter"], batch_size=COUNT)
    port = drawn(graph)["angle"]

    def angles(graph: Graph, batch: int) -> list[float]:
        result = runner.run(graph, str(photos), batch, COUNT, [port])
        return [float(array) for array in result.batches[port].arrays()]

    first = angles(graph, 0)
    assert not set(first) & set(angles(graph, 1))
    assert not set(first) & set(angles(with_settings(graph, seed=1), 0))
    assert first == angles(graph, 0)


# The short form of ``benchmarks/test_soak.py``, for ``make test-all``.


@pytest.mark.thorough
@pytest.mark.parametrize("edits", [26, 300])
def test_random_edits_show_what_the_export_gives(photos: Path, edits: int) -> None:
    with Engine(budget=BUDGET) as engine:
        found = soak(engine, photos, edits, seed=2, compare_each=25)
        assert engine.pid is not None, "the worker is there after all of it"
    assert found.shown > edits / 3
    assert found.compared >= 1
    assert not found.lost, "\n".join(found.lost)
