"""The rows of the inspector, and what is made of the values that the browser sends."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.helpers import GRAPHS, good_value
from tests.thorough import one_in
from tests.ui.screen import Make
from workbench.catalog import ArgSpec, Catalog, OpSpec, load_catalog
from workbench.errors import GraphEditError
from workbench.graph import Fault, Graph, Node, Port, check_graph, load_recipe, load_recipes
from workbench.graph.edits.connect import connect, connection_refusal, possible_feeders
from workbench.graph.edits.edit import new_node, ordered_nodes, randomise_arg, set_arg, start_graph
from workbench.graph.edits.generators import generator_refusal, generators_for
from workbench.graph.types.devices import port_kind
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.app.actions import ACTIONS
from workbench.ui.contract.action import parse_action
from workbench.ui.contract.inspector_payloads import ArgRow, InspectorView
from workbench.ui.inspector.argument_actions import InspectorEdit, to_value
from workbench.ui.inspector.argument_rows import editor_of, inspector_view
from workbench.ui.inspector.random_argument_payloads import distributions_for, json_value

# What the inspector shows of a node.

CATALOG = load_catalog()
USABLE = [op for op in CATALOG.values() if not op.unusable]


def of(graph: Graph, node: str, faults: Sequence[Fault] = ()) -> InspectorView:
    return inspector_view(TypedGraph(graph, CATALOG), node, "cpu", faults)


def row(graph: Graph, node: str, arg: str, faults: Sequence[Fault] = ()) -> ArgRow:
    (found,) = [row for row in of(graph, node, faults)["rows"] if row["name"] == arg]
    return found


def alone(op: str, **args: Any) -> Graph:
    """A graph with one unconnected node of an operator."""
    graph = start_graph(CATALOG)
    node = new_node(graph, CATALOG, op, "it")
    return dataclasses.replace(
        graph, nodes=(*graph.nodes, dataclasses.replace(node, args={**node.args, **args}))
    )


def two_rotations() -> Graph:
    """Image and mask turned by the same draw."""
    graph = start_graph(CATALOG)
    for name in ("rotate", "mask_rotate"):
        node = new_node(graph, CATALOG, "rotate", name)
        node = dataclasses.replace(node, inputs={"data": Port("decode", "output")})
        graph = dataclasses.replace(graph, nodes=(*graph.nodes, node))
    graph = randomise_arg(graph, CATALOG, "rotate", "angle")
    return connect(graph, CATALOG, Port("angle", "output"), "mask_rotate", "angle")


def test_rows_say_what_is_set_and_what_is_usual() -> None:
    graph = load_recipe("rotate-jitter")
    rows = {row["name"]: row for row in of(graph, "rotate")["rows"]}
    assert rows["angle"]["mode"] == "random"
    assert rows["angle"]["random"] == {
        "op": "random.uniform",
        "args": {"range": [-10, 10]},
        "node": "angle",
        "shared": [],
    }
    assert rows["angle"]["low"] == -40  # both thumbs can be told apart
    assert rows["keep_size"]["value"] is True
    assert not rows["keep_size"]["changed"]
    unset = graph.replace_node(dataclasses.replace(graph.node("rotate"), args={}))
    (keep_size,) = [row for row in of(unset, "rotate")["rows"] if row["name"] == "keep_size"]
    assert (keep_size["value"], keep_size["changed"]) == (False, False)
    assert "output_dtype" not in rows  # deprecated and not set


def test_a_wide_draw_gets_the_whole_range() -> None:
    graph = load_recipe("rotate-jitter")
    angle = dataclasses.replace(graph.node("angle"), args={"range": (-90, 90)})
    wide = row(graph.replace_node(angle), "rotate", "angle")
    assert (wide["low"], wide["high"]) == (-180, 180)


@pytest.mark.parametrize("spec", USABLE, ids=lambda spec: spec.name)
def test_every_argument_of_every_usable_operator_has_a_row_and_an_editor(spec: OpSpec) -> None:
    shown = {found["name"]: found for found in of(alone(spec.name), "it")["rows"]}
    not_shown = {name for name, arg in spec.args.items() if name not in shown}
    of_the_data = {"file_root", "file_list", "files", "filenames", "labels", "dir_filters"}
    for name in not_shown - {"preserve"}:
        reader = "readers" in spec.name.split(".") and name in of_the_data
        assert spec.args[name].deprecated or reader, f"{spec.name}.{name} has no row"
    for name, found in shown.items():
        arg = spec.args[name]
        assert found["editor"] == editor_of(arg)
        assert (found["editor"] == "shown") == bool(found["locked"]) == (arg.kind == "object")
        assert bool(found["fixed_only"]) != found["tensor"]
        assert found["tensor"] == (arg.tensor and not arg.kind.startswith(("enum", "str")))
        if found["editor"] in ("fields", "each", "colour", "matrix"):
            assert found["parts"], f"{spec.name}.{name} has no names for its elements"
        if found["editor"] == "matrix":
            assert len(found["default"]) % len(found["parts"]) == 0
        if found["editor"] == "range":
            assert None not in (found["low"], found["high"])
        if found["editor"] == "choice":
            assert found["choices"]


@pytest.mark.parametrize(
    ("op", "arg", "editor", "parts"),
    [
        ("rotate", "angle", "number", []),
        ("rotate", "keep_size", "check", []),
        ("rotate", "interp_type", "choice", []),
        ("rotate", "size", "fields", ["h", "w"]),
        ("flip", "horizontal", "check", []),
        ("warp_affine", "matrix", "matrix", ["x", "y", "1"]),
        ("crop_mirror_normalize", "mean", "each", ["r", "g", "b"]),
        ("crop_mirror_normalize", "fill_values", "colour", ["r", "g", "b"]),
        ("erase", "fill_value", "colour", ["r", "g", "b"]),
        ("random_resized_crop", "random_area", "range", []),
        ("lookup_table", "keys", "numbers", []),
        ("reductions.mean", "axis_names", "text", []),
        ("readers.file", "file_filters", "texts", []),
    ],
)
def test_editors(op: str, arg: str, editor: str, parts: list[str]) -> None:
    found = row(alone(op), "it", arg)
    assert (found["editor"], found["parts"]) == (editor, parts)


def test_parts_follow_the_axes_that_are_meant() -> None:
    assert row(alone("erase"), "it", "anchor")["parts"] == ["h", "w"]
    assert row(alone("erase", axis_names="WH"), "it", "anchor")["parts"] == ["w", "h"]


def test_a_rival_turns_an_argument_off() -> None:
    graph = set_arg(alone("resize"), CATALOG, "it", "resize_shorter", 256)
    size = row(graph, "it", "size")
    assert size["off"] == "Off: resize_shorter is set instead."
    assert not size["changed"], "there is nothing that a reset could do"
    assert not row(graph, "it", "resize_longer")["off"], "it would have no effect anyway"


def test_what_else_a_draw_feeds_is_named() -> None:
    graph = two_rotations()
    assert row(graph, "rotate", "angle")["random"]["shared"] == ["mask_rotate.angle"]
    assert row(graph, "mask_rotate", "angle")["random"]["shared"] == ["rotate.angle"]
    graph = dataclasses.replace(graph, outputs={**graph.outputs, "angle": Port("angle", "output")})
    shared = row(graph, "rotate", "angle")["random"]["shared"]
    assert shared == ["mask_rotate.angle", "output angle"]
    assert of(graph, "angle")["feeds"] == ["rotate.angle", "mask_rotate.angle", "output angle"]


def test_links_are_offered_in_words() -> None:
    graph = randomise_arg(two_rotations(), CATALOG, "mask_rotate", "angle", "random.normal")
    hue = dataclasses.replace(
        new_node(graph, CATALOG, "hue"), inputs={"data": Port("rotate", "output")}
    )
    graph = dataclasses.replace(graph, nodes=(*graph.nodes, hue))
    assert row(graph, "hue", "hue")["links"] == ["angle.output"]
    assert of(graph, "hue")["ports"] == {"angle.output": "the random value of rotate.angle"}
    assert row(graph, "rotate", "angle")["links"] == [], "its own generator is no offer"
    assert row(graph, "rotate", "keep_size")["links"] == []


@pytest.mark.parametrize("recipe", load_recipes())
def test_links_are_what_may_be_connected(recipe: str) -> None:
    graph = load_recipe(recipe)
    agree(graph, CATALOG)


@given(GRAPHS)
def test_links_are_what_may_be_connected_in_any_graph(graph: Graph) -> None:
    agree(graph, CATALOG)


def agree(graph: Graph, catalog: Catalog) -> None:
    ports = [
        Port(node.id, output.name)
        for node in graph.nodes
        for output in catalog[node.op].outputs_with(node.inputs, node.args)
    ]
    numbers = [port for port in ports if port_kind(graph, catalog, port) in ("number", "any")]
    typed = TypedGraph(graph, catalog)
    for node in ordered_nodes(graph, catalog):
        for arg, found in possible_feeders(typed, node.id).items():
            free = [p for p in numbers if connection_refusal(typed, p, node.id, arg) is None]
            assert found == free


def test_a_generator_that_stands_alone_has_the_range_of_what_it_feeds() -> None:
    graph = randomise_arg(alone("rotate"), CATALOG, "it", "angle")
    found = row(graph, "angle", "range")
    assert (found["editor"], found["low"], found["high"]) == ("range", -40, 40)
    assert of(graph, "angle")["feeds"] == ["it.angle"]
    bad = graph.replace_node(dataclasses.replace(graph.node("angle"), args={"range": (3, 1)}))
    faults = [fault for fault in check_graph(bad, CATALOG) if fault.node == "angle"]
    assert "not a range" in row(bad, "angle", "range", faults)["error"]
    assert row(bad, "it", "angle", faults)["error"].startswith("range: ")


def test_an_operator_that_dali_lacks_shows_what_it_was_given() -> None:
    graph = load_recipe("rotate-jitter")
    odd = Node("odd", "sharpen_2099", {"amount": (1, 2)}, {"data": Port("flip", "output")})
    graph = dataclasses.replace(graph, nodes=(*graph.nodes, odd))
    view = of(graph, "odd", check_graph(graph, CATALOG))
    assert not view["known"]
    assert CATALOG.dali_version in view["doc"]
    (kept,) = view["rows"]
    assert (kept["name"], kept["value"], kept["editor"]) == ("amount", [1, 2], "shown")
    assert "not have this operator" in kept["locked"]
    assert any("sharpen_2099" in error for error in view["errors"])


def test_what_cannot_be_edited_cannot_be_reset() -> None:
    graph = alone("opaque.1", call="if", source="train.py:12\nif turn:", why="no conditions yet")
    for found in of(graph, "it")["rows"]:
        assert (found["editor"], found["changed"]) == ("shown", False)
    assert row(graph, "it", "source")["value"] == "train.py:12\nif turn:"


def test_an_argument_that_the_operator_lacks_is_shown_with_its_fault() -> None:
    graph = alone("rotate", angel=3)
    kept = row(graph, "it", "angel", check_graph(graph, CATALOG))
    assert kept["editor"] == "shown"
    assert "Did you mean angle" in kept["error"]
    assert kept["changed"], "a reset takes it away"


def test_faults_of_no_argument_stand_at_the_head() -> None:
    graph = alone("rotate")
    view = of(graph, "it", check_graph(graph, CATALOG))
    assert any("it is not connected" in error for error in view["errors"])
    assert not any(row["error"] for row in view["rows"])


def test_devices() -> None:
    graph = alone("rotate")
    view = of(graph, "it")
    assert (view["devices"], view["device_set"]) == (["cpu", "gpu"], "")
    assert view["follows"] == "follows its input"
    told = graph.replace_node(dataclasses.replace(graph.node("it"), device="gpu"))
    assert of(told, "it")["device_set"] == "gpu"
    assert of(graph, "decode")["follows"] == "follows the decoding setting"


def test_nothing_selected_is_an_empty_inspector() -> None:
    assert inspector_view(TypedGraph(Graph(), CATALOG), "", "", ())["id"] == ""


def test_only_what_the_kind_says_is_edited_as_a_list() -> None:
    assert editor_of(ArgSpec("a", "float", form="colour")) == "number"
    assert editor_of(ArgSpec("a", "float_list", form="flag")) == "numbers"


# Untrusted values from the browser, and what random arguments become.


@pytest.fixture
def catalog() -> Catalog:
    return load_catalog()


def edited(graph: Graph, do: str, **message: Any) -> Graph:
    action = parse_action("inspector", ACTIONS["inspector"], {"do": do, **message})
    assert isinstance(action, InspectorEdit)
    return action.edit_graph(graph, load_catalog())


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


EVERY = [
    (op.name, name)
    for op in CATALOG.values()
    if not op.unusable
    for name, arg in op.args.items()
    if not arg.deprecated and arg.kind != "object"
]


def faults_at(graph: Graph, arg: str) -> list[Fault]:
    return [
        fault
        for fault in check_graph(graph, CATALOG)
        if (fault.node, fault.arg) == ("it", arg)
        and fault.code not in ("conflict", "apart", "sampler")
        and not fault.message.endswith(("do not support it", "is not a name and a type"))
    ]


def faults_but_of_no_size(graph: Graph, arg: str) -> list[Fault]:
    """Without the fault of a size of 0 alone, which is in the range of a field: "not given"."""
    found = faults_at(graph, arg)
    if found and not np.any(graph.node("it").args[arg]):
        ends = ("the size unchanged", " is not a size")
        return [fault for fault in found if not fault.message.endswith(ends)]
    return found


@pytest.mark.parametrize(("op", "arg"), one_in(20, EVERY))
def test_a_good_value_goes_there_and_back(op: str, arg: str) -> None:
    graph, spec = alone(op), CATALOG[op].args[arg]
    if arg == "shard_id":
        graph = edited(graph, "set", node="it", arg="num_shards", value=2**20)
    usual = spec.start if spec.start is not None else spec.default
    values = [good_value(spec, pick) for pick in (0, 1, 7)] + [usual]
    for value in values:
        if value is None or (spec.form == "range" and value is not usual):
            continue
        if value == () and (spec.items or spec.volume_items):
            continue  # DALI's default: not given, and refused where it is
        if spec.items is not None and isinstance(value, tuple):
            value = value[:1] * spec.items
        if op == "erase" and arg in ("anchor", "shape"):
            value = value[:1] * 2  # one rectangle
        if arg == "perm":
            value = (1, 0, 2)
        if (op, arg) == ("random.choice", "p"):
            value = (0.5, 0.5)  # they sum up to 1
        sent = json.loads(json.dumps(json_value(value)))
        changed = edited(graph, "set", node="it", arg=arg, value=sent)
        assert changed.node("it").args[arg] == value
        assert faults_but_of_no_size(changed, arg) == []
        shown = inspector_view(TypedGraph(changed, CATALOG), "it", "cpu", ())
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
        "int": ["0 or 1"] if spec.form == "flag" else ["integer"],
        "float": ["number"],
        "str": ["string"],
        "bool": ["true or false"],
        "policy": ["For example [["],
    }[element]
    assert all(word in said for word in words)


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
        assert generator_refusal(new[0], spec) is None
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
    with pytest.raises(GraphEditError, match=r"'horizontal' accepts INT32, but 'angle' outputs"):
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


def test_an_augmentation_can_be_applied_with_a_probability_from_its_arguments(make: Make) -> None:
    model, screen = make(graph=load_recipe("rotate-jitter"))
    for node, augments in (("reader", False), ("decode", False), ("rotate", True)):
        model.receive("canvas", "selected", [node])
        assert screen["inspector", "node"]["augments"] == augments
    model.act("inspector", {"do": "wrap", "nodes": ["rotate"], "op": "if"})
    assert screen["inspector", "node"]["op"] == "if"
    assert screen["inspector", "node"]["probability"] == 0.5
