"""Which body of a block runs: as in the script, as often as it is to, apart from the others."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from tests.block_graphs import CATALOG, set_count, several
from tests.engine.test_some_of import DRAWING, chain
from tests.helpers import chain_graph, require_parity
from workbench.engine.run.runner import Runner
from workbench.graph import Graph, Node, Port, check_graph
from workbench.graph.control_flow.block_kinds import SOME_OF
from workbench.graph.control_flow.options import add_option, set_probability, set_weights
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.edit import set_setting
from workbench.sources import open_datasets

SAMPLES = 10_000
BATCH = 250
DEVIATIONS = 2.576
"""The 99 % interval of a normal distribution."""
FIVE_DEGREES = 15.086
"""The 99 % quantile of chi-square with five degrees of freedom."""
CHI_SQUARE = 9.210
"""The same with two degrees of freedom."""


def augmented() -> Graph:
    """One of a turn, other light, noise by chance and nothing; then a crop by chance."""
    graph = chain_graph("resize", resize={"size": (32.0, 32.0)})
    before = Port("resize", "output")
    for op, args in (
        ("rotate", {"angle": 20.0, "keep_size": True}),
        ("brightness_contrast", {"brightness": 1.4}),
        ("noise.gaussian", {"stddev": 20.0}),
        ("random_resized_crop", {"size": (32, 32)}),
    ):
        name = op.replace(".", "_")
        seed = 40 + len(graph.nodes) if CATALOG[op].seeded else None
        node = Node(name, op, args, {"data": before}, seed=seed)
        graph = replace(graph, nodes=(*graph.nodes, node))
        before = Port(name, "output")
    graph = replace(graph, outputs={**graph.outputs, "images": before})
    graph, block = wrap_as_options(
        graph, CATALOG, ["rotate", "brightness_contrast", "noise_gaussian"]
    )
    graph = set_weights(add_option(graph, CATALOG, block), block, [2, 3, 4, 1])
    graph, inner = wrap_in_block(graph, CATALOG, ["noise_gaussian"])
    graph = set_probability(graph, inner, 0.7)
    graph, _ = wrap_in_block(graph, CATALOG, ["random_resized_crop"])
    return set_setting(graph, batch_size=6)


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
def test_nested_blocks_are_the_script_at_any_batch(
    device: str, photos: Path, tmp_path: Path
) -> None:
    graph = set_setting(augmented(), device=device)
    assert check_graph(graph, CATALOG) == ()
    require_parity(graph, photos, tmp_path)


@pytest.fixture
def dots(tmp_path: Path) -> Path:
    """Photos that are read at once: of them only the draws are looked at."""
    (tmp_path / "dots").mkdir()
    for number in range(5):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / "dots" / f"{number}.jpg")
    return tmp_path


@pytest.mark.thorough
def test_bodies_run_as_often_as_their_weights_say_and_apart(dots: Path) -> None:
    graph, _ = wrap_in_block(several(CATALOG), CATALOG, ["flip"])
    small = replace(graph.node("resize"), args={"size": (8.0, 8.0)})
    graph = set_setting(graph.replace_node(small), batch_size=BATCH)
    drawn = {name: Port(name, "output") for name in ("choice", "chance", "chance_2")}
    graph = replace(graph, outputs=drawn)
    runner, data = Runner(CATALOG), open_datasets(dots)
    rows: list[tuple[int, ...]] = []
    for batch in range(SAMPLES // BATCH):
        batches = runner.run(graph, data, batch, BATCH, list(drawn.values())).batches
        columns = [batches[port].arrays() for port in drawn.values()]
        rows += [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]
    assert len(rows) == SAMPLES
    for column, wanted in enumerate(((0.5, 0.3, 0.2), (0.2, 0.8), (0.5, 0.5))):
        found = Counter(row[column] for row in rows)
        for number, share in enumerate(wanted):
            margin = DEVIATIONS * (share * (1 - share) / SAMPLES) ** 0.5
            assert abs(found[number] / SAMPLES - share) < margin, (column, number)
    columns = list(zip(*rows, strict=True))
    for one, other in itertools.combinations(columns, 2):  # over blocks, one inside another too
        assert _chi_square(list(zip(one, other, strict=True))) < CHI_SQUARE
    for column in columns:  # over samples
        following = [int(number == 0) for number in column[1:]]
        assert _chi_square(list(zip(column, following, strict=False))) < CHI_SQUARE


@pytest.mark.thorough
def test_options_run_equally_often_and_in_every_order(dots: Path) -> None:
    graph, block = wrap_as_options(chain(), CATALOG, DRAWING, "some_of")
    graph = set_count(graph, CATALOG, block, 2)
    graph = set_setting(graph, batch_size=BATCH)
    found = _orders_drawn(graph, block, dots)
    for option in range(3):
        came = sum(times for order, times in found.items() if option in order)
        margin = DEVIATIONS * (2 / 3 * (1 / 3) / SAMPLES) ** 0.5
        assert abs(came / SAMPLES - 2 / 3) < margin, option

    graph = set_count(graph, CATALOG, block, 2, shuffled=True)
    table = SOME_OF.orders(graph.node(block))
    found = _orders_drawn(graph, block, dots)
    expected = SAMPLES / len(table)
    assert set(found) == set(table)
    assert sum((n - expected) ** 2 / expected for n in found.values()) < FIVE_DEGREES


def _orders_drawn(graph: Graph, block: str, folder: Path) -> Counter[tuple[int, ...]]:
    """How often each order of a block was drawn."""
    port, table = Port("choice", "output"), SOME_OF.orders(graph.node(block))
    drawn = replace(graph, outputs={"choice": port})
    runner, data = Runner(CATALOG), open_datasets(folder)
    found: Counter[tuple[int, ...]] = Counter()
    for batch in range(SAMPLES // BATCH):
        numbers = runner.run(drawn, data, batch, BATCH, [port]).batches[port].arrays()
        found.update(table[int(number)] for number in numbers)
    return found


def _chi_square(pairs: list[tuple[int, int]]) -> float:
    """How far pairs are from what they were if one did not depend on the other."""
    both = Counter(pairs)
    first, second = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    total = 0.0
    for one, count in first.items():
        for other, second_count in second.items():
            expected = count * second_count / len(pairs)
            total += (both[one, other] - expected) ** 2 / expected
    return total
