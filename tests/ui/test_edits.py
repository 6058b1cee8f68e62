"""Untrusted values from the browser, and what random arguments become."""

from typing import Any

import pytest

from workbench.catalog import Catalog, load_catalog
from workbench.errors import GraphEditError
from workbench.graph import Graph, check_graph, load_recipe
from workbench.ui.edits import EDITS, to_value


@pytest.fixture
def catalog() -> Catalog:
    return load_catalog()


def edited(graph: Graph, do: str, **message: Any) -> Graph:
    return EDITS["inspector", do](graph, load_catalog(), {"do": do, **message})[0]


@pytest.mark.parametrize(
    ("value", "op", "arg", "expected"),
    [
        ([1, [2.0, 3]], "rotate", "size", (1, (2.0, 3))),
        (3.0, "jitter", "nDegree", 3),
        (3.0, "rotate", "angle", 3.0),
        (3.5, "jitter", "nDegree", 3.5),
        (True, "rotate", "keep_size", True),
        ("INTERP_NN", "rotate", "interp_type", "INTERP_NN"),
    ],
)
def test_json_becomes_a_value(
    catalog: Catalog, value: Any, op: str, arg: str, expected: Any
) -> None:
    found = to_value(value, catalog[op].args[arg])
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("value", [None, {}, {"a": 1}, [1, {}], "x" * 10_001, [0] * 10_001])
def test_what_no_argument_holds_is_refused(catalog: Catalog, value: Any) -> None:
    with pytest.raises(GraphEditError, match="size"):
        to_value(value, catalog["rotate"].args["size"])


@pytest.mark.parametrize(
    ("generator", "args", "fixed"),
    [
        ("random.uniform", {"range": [10, 30]}, 20),
        ("random.normal", {"mean": 5}, 5),
        ("random.choice", {"values": [90, 180]}, 90),
    ],
)
def test_a_random_argument_is_fixed_at_its_middle(
    catalog: Catalog, generator: str, args: dict[str, Any], fixed: float
) -> None:
    graph = load_recipe("rotate-jitter")
    where = {"node": "rotate", "arg": "angle"}
    graph = edited(graph, "randomise", **where, op=generator)
    for key, value in args.items():
        graph = edited(graph, "set_random", **where, key=key, value=value)
    assert check_graph(graph, catalog) == ()
    graph = edited(graph, "fix", **where)
    assert graph.node("rotate").args["angle"] == fixed
    assert "angle" not in graph.node("rotate").inputs
    assert check_graph(graph, catalog) == ()


def test_a_coin_is_fixed_on_its_likelier_side(catalog: Catalog) -> None:
    graph, where = load_recipe("rotate-jitter"), {"node": "flip", "arg": "vertical"}
    graph = edited(graph, "randomise", **where, op="random.coin_flip")
    graph = edited(graph, "set_random", **where, key="probability", value=0.7)
    assert check_graph(graph, catalog) == ()
    graph = edited(graph, "fix", **where)
    assert graph.node("flip").args["vertical"] == 1


def test_null_resets(catalog: Catalog) -> None:
    graph = load_recipe("rotate-jitter")
    graph = edited(graph, "set", node="resize", arg="mode", value="stretch")
    graph = edited(graph, "set", node="resize", arg="mode", value=None)
    assert "mode" not in graph.node("resize").args
