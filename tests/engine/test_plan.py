from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given

from tests.helpers import CHAINS, chain_graph, with_settings
from workbench.catalog import load_catalog
from workbench.engine.build.plan import Plan, make_plan
from workbench.graph import Graph, Node, Port
from workbench.graph.edits.edit import randomise_arg, set_arg
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import Dataset

CATALOG = load_catalog()


def plan_of(graph: Graph, data: str = "photos", batch: int = 0, count: int = 8) -> Plan:
    given = {"data": Dataset("folder", data)}
    return make_plan(
        ResolvedGraph(graph, CATALOG), given, batch, count, list(graph.outputs.values())
    )


@pytest.fixture
def graph() -> Graph:
    drawn = chain_graph("resize", "rotate", "noise.gaussian", rotate={"angle": 3.0})
    return randomise_arg(drawn, CATALOG, "resize", "size")


@given(CHAINS)
def test_every_node_has_a_key_of_its_own(graph: Graph) -> None:
    plan = plan_of(graph)
    assert len(set(plan.keys.values())) == len(plan.nodes)


def test_what_no_output_needs_is_no_part(graph: Graph) -> None:
    unused = Node("unused", "flip", inputs={"data": Port("decode", "output")})
    plan = plan_of(replace(graph, nodes=(*graph.nodes, unused)))
    assert "unused" not in {node.id for node in plan.nodes}


CHANGES: dict[str, tuple[Callable[[Graph], Plan], set[str]]] = {
    "nothing": (plan_of, set()),
    "name": (lambda g: plan_of(replace(g, name="other", about="other")), set()),
    "threads": (lambda g: plan_of(with_settings(g, num_threads=9)), set()),
    "value": (
        lambda g: plan_of(set_arg(g, CATALOG, "rotate", "angle", 4.0)),
        {"rotate", "gaussian"},
    ),
    "type of a value": (
        lambda g: plan_of(set_arg(g, CATALOG, "gaussian", "stddev", 7)),
        {"gaussian"},
    ),
    "data": (
        lambda g: plan_of(g, data="elsewhere"),
        {"reader", "decode", "resize", "rotate", "gaussian"},
    ),
    "batch": (lambda g: plan_of(g, batch=1), {"*"}),
    "count": (lambda g: plan_of(g, count=4), {"*"}),
    "seed": (lambda g: plan_of(with_settings(g, seed=1)), {"*"}),
    "batch size": (lambda g: plan_of(with_settings(g, batch_size=9)), {"*"}),
    "decoder": (
        lambda g: plan_of(with_settings(g, device="mixed")),
        {"decode", "resize", "rotate", "gaussian"},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_key_changes_with_all_that_changes_the_bits(change: str, graph: Graph) -> None:
    before, (make, expected) = plan_of(graph), CHANGES[change]
    after = make(graph)
    changed = {node for node, key in before.keys.items() if after.keys[node] != key}
    assert changed == (set(before.keys) if expected == {"*"} else expected)
    assert after.keys == make(graph).keys
    assert after.position == after.batch * after.graph.settings.batch_size


def test_one_node_drawing_does_not_change_the_keys_of_others() -> None:
    plain = chain_graph("resize", "rotate")
    drawn = randomise_arg(plain, CATALOG, "rotate", "angle")
    before, after = plan_of(plain).keys, plan_of(drawn).keys
    assert before["resize"] == after["resize"]
    assert before["rotate"] != after["rotate"]
