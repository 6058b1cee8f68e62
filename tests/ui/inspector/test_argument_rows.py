"""What the inspector shows of a node."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from tests.helpers import GRAPHS
from workbench.catalog import ArgSpec, Catalog, OpSpec, load_catalog
from workbench.graph import Fault, Graph, Node, Port, check_graph, load_recipe, load_recipes
from workbench.graph.edits.connect import connect, connection_refusal, possible_feeders
from workbench.graph.edits.edit import chain, new_node, randomise_arg, set_arg, start_graph
from workbench.graph.types.devices import port_kind
from workbench.ui.contract.inspector_views import ArgRow, InspectorView
from workbench.ui.inspector.argument_rows import editor_of, inspector_view

CATALOG = load_catalog()
USABLE = [op for op in CATALOG.values() if not op.unusable]


def of(graph: Graph, node: str, faults: Sequence[Fault] = ()) -> InspectorView:
    return inspector_view(graph, CATALOG, node, "cpu", faults)


def row(graph: Graph, node: str, arg: str, faults: Sequence[Fault] = ()) -> ArgRow:
    (found,) = [row for row in of(graph, node, faults)["rows"] if row["name"] == arg]
    return found


def alone(op: str, **args: Any) -> Graph:
    """A graph with one node of an operator, fed by nothing."""
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
    assert size["off"] == "Off: resize_shorter is given in its place."
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
    assert of(graph, "hue")["ports"] == {"angle.output": "the draw of rotate.angle"}
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
    for node in chain(graph, catalog):
        for arg, found in possible_feeders(graph, catalog, node.id).items():
            free = [
                p for p in numbers if connection_refusal(graph, catalog, p, node.id, arg) is None
            ]
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
    assert "no such operator" in kept["locked"]
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
    assert any("nothing feeds it" in error for error in view["errors"])
    assert not any(row["error"] for row in view["rows"])


def test_devices() -> None:
    graph = alone("rotate")
    view = of(graph, "it")
    assert (view["devices"], view["device_set"]) == (["cpu", "gpu"], "")
    assert view["follows"] == "follows its input"
    told = graph.replace_node(dataclasses.replace(graph.node("it"), device="gpu"))
    assert of(told, "it")["device_set"] == "gpu"
    assert of(graph, "decode")["follows"] == "follows the setting"


def test_nothing_selected_is_an_empty_inspector() -> None:
    assert inspector_view(Graph(), CATALOG, "", "", ())["id"] == ""


def test_only_what_the_kind_says_is_edited_as_a_list() -> None:
    assert editor_of(ArgSpec("a", "float", form="colour")) == "number"
    assert editor_of(ArgSpec("a", "float_list", form="flag")) == "numbers"
