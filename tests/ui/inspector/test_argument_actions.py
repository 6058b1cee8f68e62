"""Untrusted values from the browser, and what random arguments become."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.helpers import good_value
from tests.thorough import one_in
from workbench.catalog import Catalog, load_catalog
from workbench.errors import GraphEditError
from workbench.graph import Fault, Graph, Port, check_graph, load_recipe
from workbench.graph.edits.edit import new_node, start_graph
from workbench.graph.edits.generators import draw_refusal, generators_for
from workbench.ui.contract.actions import inspector, parse_action
from workbench.ui.contract.components import ACTIONS
from workbench.ui.inspector.argument_actions import to_value
from workbench.ui.inspector.argument_rows import inspector_view
from workbench.ui.inspector.inspector_actions import apply_inspector_edit
from workbench.ui.inspector.random_views import distributions_for, json_value


@pytest.fixture
def catalog() -> Catalog:
    return load_catalog()


def edited(graph: Graph, do: str, **message: Any) -> Graph:
    action = parse_action("inspector", ACTIONS["inspector"], {"do": do, **message})
    assert isinstance(action, inspector.InspectorEdit)
    return apply_inspector_edit(graph, load_catalog(), action)


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


# Every argument of every operator that can be placed

CATALOG = load_catalog()
EVERY = [
    (op.name, name)
    for op in CATALOG.values()
    if not op.unusable
    for name, arg in op.args.items()
    if not arg.deprecated and arg.kind != "object"
]


def alone(op: str) -> Graph:
    graph = start_graph(CATALOG)
    return replace(graph, nodes=(*graph.nodes, new_node(graph, CATALOG, op, "it")))


def faults_at(graph: Graph, arg: str) -> list[Fault]:
    return [
        fault
        for fault in check_graph(graph, CATALOG)
        if (fault.node, fault.arg) == ("it", arg) and fault.code not in ("conflict", "apart")
    ]


def faults_but_of_no_size(graph: Graph, arg: str) -> list[Fault]:
    """Without the fault of a size of 0 alone, which is in the range of a field: "not given"."""
    found = faults_at(graph, arg)
    if found and not np.any(graph.node("it").args[arg]):
        ends = ("leave the size unchanged", " is not a size")
        return [fault for fault in found if not fault.message.endswith(ends)]
    return found


@pytest.mark.parametrize(("op", "arg"), one_in(20, EVERY))
def test_a_good_value_goes_there_and_back(op: str, arg: str) -> None:
    graph, spec = alone(op), CATALOG[op].args[arg]
    usual = spec.start if spec.start is not None else spec.default
    values = [good_value(spec, pick) for pick in (0, 1, 7)] + [usual]
    for value in values:
        if value is None or (spec.form == "range" and value is not usual):
            continue
        if value == () and (spec.items or spec.volume_items):
            continue  # DALI's default: not given, and refused where it is
        if spec.items is not None and isinstance(value, tuple):
            value = value[:1] * spec.items
        if (op, arg) == ("random.choice", "p"):
            value = (0.5, 0.5)  # they sum up to 1
        sent = json.loads(json.dumps(json_value(value)))
        changed = edited(graph, "set", node="it", arg=arg, value=sent)
        assert changed.node("it").args[arg] == value
        assert faults_but_of_no_size(changed, arg) == []
        shown = inspector_view(changed, CATALOG, "it", "cpu", ())
        (row,) = [row for row in shown["rows"] if row["name"] == arg]
        assert row["value"] == sent
        assert row["changed"] == (value != usual)
        # what the browser shows and sends back unchanged changes nothing
        assert edited(changed, "set", node="it", arg=arg, value=row["value"]) == changed
        cleared = edited(changed, "set", node="it", arg=arg, value=None)
        assert cleared == edited(changed, "reset", node="it", arg=arg)


@pytest.mark.parametrize(("op", "arg"), one_in(20, EVERY, first=5))
def test_a_bad_value_is_named_with_what_is_allowed(op: str, arg: str) -> None:
    spec = CATALOG[op].args[arg]
    element = spec.kind.removesuffix("_list")
    bad: Any = 12.5 if element in ("str", "bool") else "ten, or so"
    graph = edited(alone(op), "set", node="it", arg=arg, value=bad)
    assert graph.node("it").args[arg] == bad, "the field keeps what was typed"
    (fault,) = faults_at(graph, arg)
    said = str(fault)
    assert said.startswith(f"it.{arg}: ")
    assert repr(bad) in said
    allowed = spec.choices or spec.members
    words = [str(choice) for choice in allowed] or {
        "int": ["number"],
        "float": ["number"],
        "str": ["text"],
        "bool": ["true or false"],
        "policy": ["For example [["],
    }[element]
    assert all(word in fault.remedy for word in words)


@pytest.mark.parametrize(("op", "arg"), one_in(20, EVERY, first=10))
def test_what_is_out_of_range_is_named_with_the_range(op: str, arg: str) -> None:
    spec = CATALOG[op].args[arg]
    for end, beyond in ((spec.minimum, -1), (spec.maximum, 1)):
        if end is None:
            continue
        bad = end + beyond
        value = [bad] * (spec.items or 2) if spec.kind.endswith("_list") else bad
        graph = edited(alone(op), "set", node="it", arg=arg, value=value)
        (fault,) = faults_at(graph, arg)
        assert f"{to_value(bad, spec)!r} is out of range" in fault.message
        assert f"{end:g}" in fault.remedy


@pytest.mark.parametrize(("op", "arg"), one_in(20, EVERY, first=15))
def test_what_can_be_random_is_so_without_a_fault_and_back(op: str, arg: str) -> None:
    graph, spec = alone(op), CATALOG[op].args[arg]
    for name in distributions_for(spec):
        drawn = edited(graph, "randomise", node="it", arg=arg, op=name)
        new = [node for node in drawn.nodes if not graph.has(node.id)]
        assert len(new) == 1
        assert draw_refusal(new[0], spec) is None
        assert not [f for f in check_graph(drawn, CATALOG) if f.node == new[0].id]
        assert faults_at(drawn, arg) == []
        fixed = edited(drawn, "fix", node="it", arg=arg)
        assert [node.id for node in fixed.nodes] == [node.id for node in graph.nodes]
        assert faults_but_of_no_size(fixed, arg) == []
    if not generators_for(spec):
        with pytest.raises(GraphEditError, match=arg):
            edited(graph, "randomise", node="it", arg=arg, op="random.uniform")


# Draws

ANGLE = {"node": "rotate", "arg": "angle"}


def test_the_words_of_a_draw_may_be_given() -> None:
    graph = edited(
        load_recipe("rotate-jitter"), "randomise", **ANGLE, op="random.normal", args={"mean": 3}
    )
    assert graph.node("angle").args == {"mean": 3, "stddev": 5}
    graph = edited(graph, "randomise", **ANGLE, op="random.choice", args={"values": [0, 90]})
    assert graph.node("angle").args == {"values": (0, 90)}
    graph = edited(graph, "randomise", **ANGLE, op="random.uniform", args={"range": [1, 2]})
    assert graph.node("angle").args == {"range": (1, 2)}
    assert check_graph(graph, CATALOG) == ()


@pytest.mark.parametrize("args", [3, "mean", [1], {"mean": {}}])
def test_words_of_a_draw_that_are_none_are_refused(args: Any) -> None:
    with pytest.raises(GraphEditError):
        edited(load_recipe("rotate-jitter"), "randomise", **ANGLE, op="random.normal", args=args)


def test_another_distribution_draws_from_about_the_same_range() -> None:
    graph = load_recipe("rotate-jitter")
    graph = edited(graph, "set_random", **ANGLE, key="range", value=[20, 40])
    seed = graph.node("angle").seed
    graph = edited(graph, "randomise", **ANGLE, op="random.normal")
    assert graph.node("angle").args == {"mean": 30, "stddev": 5}
    graph = edited(graph, "randomise", **ANGLE, op="random.choice")
    assert graph.node("angle").args == {"values": (20, 30, 40)}
    graph = edited(graph, "randomise", **ANGLE, op="random.uniform")
    assert graph.node("angle").args == {"range": (20, 40)}
    assert graph.node("angle").seed == seed


def test_a_colour_is_drawn_channel_by_channel() -> None:
    graph = edited(alone("erase"), "set", node="it", arg="fill_value", value=[1, 2, 3])
    graph = edited(graph, "randomise", node="it", arg="fill_value", op="random.uniform")
    assert graph.node("fill_value").args == {"range": (0, 255), "shape": (3,)}
    graph = edited(graph, "fix", node="it", arg="fill_value")
    assert graph.node("it").args["fill_value"] == (127.5,) * 3


def test_sizes_are_drawn_near_what_they_are() -> None:
    graph = edited(alone("resize"), "randomise", node="it", arg="size", op="random.uniform")
    assert graph.node("size").args == {"range": (98, 350), "shape": (2,)}


def test_sizes_of_a_window_are_drawn_odd() -> None:
    assert distributions_for(CATALOG["gaussian_blur"].args["window_size"]) == ["random.choice"]
    where = {"node": "it", "arg": "window_size"}
    graph = edited(alone("gaussian_blur"), "randomise", **where, op="random.choice")
    assert graph.node("window_size").args == {"dtype": "INT32", "values": (1, 5, 9)}


def shared() -> Graph:
    """Two rotations by one draw."""
    graph = load_recipe("rotate-jitter")
    other = replace(
        graph.node("rotate"), id="mask_rotate", inputs={"data": Port("decode", "output")}
    )
    graph = replace(graph, nodes=(*graph.nodes, other))
    graph = edited(graph, "set", node="mask_rotate", arg="angle", value=1)
    return edited(graph, "link", node="mask_rotate", arg="angle", source="angle", output="output")


def test_a_shared_draw_is_edited_for_both() -> None:
    graph = edited(
        shared(), "set_random", node="mask_rotate", arg="angle", key="range", value=[1, 2]
    )
    assert graph.node("rotate").inputs["angle"] == graph.node("mask_rotate").inputs["angle"]
    assert graph.node("angle").args["range"] == (1, 2)
    graph = edited(graph, "randomise", **ANGLE, op="random.normal")
    assert graph.node("angle").op == "random.normal"
    assert check_graph(graph, CATALOG) == ()


def test_a_shared_draw_can_be_made_ones_own() -> None:
    graph = edited(shared(), "own", node="mask_rotate", arg="angle")
    own = graph.node(graph.node("mask_rotate").inputs["angle"].node)
    assert own.id != "angle"
    assert own.args == graph.node("angle").args
    assert own.seed not in {node.seed for node in graph.nodes if node.id != own.id}
    assert check_graph(graph, CATALOG) == ()
    with pytest.raises(GraphEditError, match="not random"):
        edited(graph, "own", node="rotate", arg="keep_size")


def test_fixing_one_side_of_a_shared_draw_leaves_the_other() -> None:
    graph = edited(shared(), "fix", **ANGLE)
    assert "angle" not in graph.node("rotate").inputs
    assert graph.node("mask_rotate").inputs["angle"].node == "angle"


def test_a_link_takes_the_idle_generator_away() -> None:
    graph = edited(shared(), "own", node="mask_rotate", arg="angle")
    own = graph.node("mask_rotate").inputs["angle"].node
    graph = edited(graph, "link", node="mask_rotate", arg="angle", source="angle", output="output")
    assert not graph.has(own)
    assert graph == shared()


def test_a_link_that_cannot_be_says_why() -> None:
    graph = load_recipe("rotate-jitter")
    where = {"node": "flip", "arg": "horizontal"}
    with pytest.raises(GraphEditError, match=r"horizontal takes INT32, and angle draws FLOAT"):
        edited(graph, "link", **where, source="angle", output="output")
    with pytest.raises(GraphEditError, match="one value for all samples"):
        edited(graph, "link", node="rotate", arg="keep_size", source="angle", output="output")
    with pytest.raises(GraphEditError, match="no random numbers"):
        edited(graph, "randomise", node="resize", arg="interp_type", op="random.uniform")


def test_a_linked_argument_becomes_fixed_at_its_usual_value() -> None:
    graph = alone("rotate")
    mean = new_node(graph, CATALOG, "reductions.mean")
    graph = replace(graph, nodes=(*graph.nodes, mean))
    node = graph.node("it")
    graph = graph.replace_node(replace(node, args={}, inputs={"angle": Port(mean.id, "output")}))
    assert edited(graph, "fix", node="it", arg="angle").node("it").args == {"angle": 15}
