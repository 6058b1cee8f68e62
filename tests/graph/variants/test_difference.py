"""Comparing two graphs: differences, renamed nodes, shared seeds, validation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import CATALOG, GRAPHS, KINDS, Step, apply_step, step, with_node, with_nodes
from workbench.emit.targets import export
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.edit import insert_node, randomise_arg, rename_node, set_arg, set_setting
from workbench.graph.execution.active import set_muted
from workbench.graph.model import Node, Port
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.variants.difference import (
    GraphDifference,
    differing_random_nodes,
    find_renames,
    graph_differences,
    with_ids_of,
    with_seeds_of,
)
from workbench.graph.variants.validation import validation_graph

START = load_recipe("rotate-jitter")


@given(GRAPHS, step(KINDS))
def test_every_edit_is_seen_and_a_graph_does_not_differ_from_itself(
    graph: Graph, made: Step
) -> None:
    assert graph_differences(graph, graph) == graph_differences(graph, replace(graph)) == ()
    after = apply_step(graph, CATALOG, made)
    there, back = graph_differences(graph, after), graph_differences(after, graph)
    assert bool(there) == bool(back) == (after != graph)
    if {node.id for node in graph.walk()} != {node.id for node in after.walk()}:
        assert any(each.what in ("", "name") for each in there)
    turned = {"added": "removed", "removed": "added", "changed": "changed"}
    reverse = {
        replace(
            each,
            change=turned[each.change],
            node=each.before if each.what == "name" and each.node else each.node,
            before=each.after,
            after=each.before,
        )
        for each in back
    }
    assert set(there) == reverse


@given(GRAPHS, GRAPHS)
def test_any_two_graphs(one: Graph, other: Graph) -> None:
    assert bool(graph_differences(one, other)) == (one != other)


@given(st.floats(-180, 180))
def test_a_changed_argument_has_both_values(angle: float) -> None:
    before = set_arg(START, CATALOG, "rotate", "angle", 15.5)
    found = graph_differences(before, set_arg(before, CATALOG, "rotate", "angle", angle))
    expected = (GraphDifference("changed", "rotate", "angle", "15.5", str(angle)),)
    assert found == (() if angle == 15.5 else expected)


def test_an_argument_that_loses_its_draw() -> None:
    after = set_arg(START, CATALOG, "rotate", "angle", 15.5)
    drawn = START.node("rotate").inputs["angle"]
    assert GraphDifference("changed", "rotate", "angle", str(drawn), "15.5") in graph_differences(
        START, after
    )
    assert GraphDifference("removed", drawn.node, before=START.node(drawn.node).op) in (
        graph_differences(START, after)
    )


def test_nodes_outputs_and_settings() -> None:
    after, node = insert_node(START, CATALOG, "gaussian_blur", "rotate")
    assert GraphDifference("added", node, after="gaussian_blur") in graph_differences(START, after)
    without = remove_nodes(START, CATALOG, ["rotate"])
    removed = graph_differences(START, without)
    assert GraphDifference("removed", "rotate", before="rotate") in removed
    muted = set_muted(START, ["rotate"], True)
    assert graph_differences(START, muted) == (
        GraphDifference("changed", "rotate", "muted", "runs", "muted"),
    )
    (name,) = [name for name, port in START.outputs.items() if port.node != "reader"]
    more = with_nodes(START, before=Port("decode", "images"))
    assert graph_differences(START, more) == (
        GraphDifference("added", "", "output before", "", str(more.outputs["before"])),
    )
    assert name in START.outputs
    seeded = set_setting(START, seed=7)
    assert graph_differences(START, seeded) == (
        GraphDifference("changed", "", "seed", str(START.settings.seed), "7"),
    )


# Nodes that have another id, and nothing else, are found again.


def test_a_chain_of_renamed_nodes() -> None:
    after = START
    for old, new in (("angle", "turn_by"), ("rotate", "turn"), ("color", "tint")):
        after = rename_node(after, old, new)
    assert find_renames(START, after) == {"angle": "turn_by", "rotate": "turn", "color": "tint"}
    assert graph_differences(START, after) == (
        GraphDifference("changed", "turn_by", "name", "angle", "turn_by"),
        GraphDifference("changed", "turn", "name", "rotate", "turn"),
        GraphDifference("changed", "tint", "name", "color", "tint"),
    )
    assert differing_random_nodes(START, after, CATALOG) == ()


def test_a_node_with_other_values_is_another() -> None:
    after = rename_node(START, "rotate", "turn")
    after = with_node(after, "turn", args={"keep_size": False})
    assert find_renames(START, after) == {}


def test_of_two_alike_it_cannot_be_told_which_it_is() -> None:
    twins = [Node(name, "random.coin_flip", seed=99) for name in ("heads", "tails")]
    one = with_nodes(START, *twins)
    other = rename_node(rename_node(one, "heads", "first"), "tails", "second")
    assert find_renames(one, other) == {}


@given(GRAPHS, st.data())
def test_any_node_renamed(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.walk()]
    if not ids:
        return
    after = rename_node(graph, data.draw(st.sampled_from(ids)), "another_name")
    assert with_ids_of(graph, after) in (graph, after)
    assert all(each.what == "name" for each in graph_differences(with_ids_of(graph, after), after))


# Two graphs on the same photos and draws.


@given(GRAPHS, GRAPHS)
def test_what_is_in_both_draws_the_same_and_nothing_else_draws_so(one: Graph, other: Graph) -> None:
    made = with_seeds_of(other, one)
    assert made.settings.seed == one.settings.seed
    assert made.settings.batch_size == one.settings.batch_size
    same = {n.id for n in made.walk() if one.has(n.id) and one.node(n.id).op == n.op}
    taken = {made.node(name).seed for name in same} - {None}
    for node in made.walk():
        if node.id in same:
            assert node.seed == one.node(node.id).seed
        else:
            assert node.seed is None or node.seed not in taken
    assert {n.id: (n.op, n.args, n.inputs) for n in made.walk()} == {
        n.id: (n.op, n.args, n.inputs) for n in other.walk()
    }


def test_a_graph_with_the_same_seeds_stays_itself() -> None:
    assert with_seeds_of(START, START) is START
    other = set_setting(START, seed=3, batch_size=8)
    assert with_seeds_of(other, START) == START


def test_a_node_of_one_graph_alone_draws_apart() -> None:
    blurred, node = insert_node(START, CATALOG, "gaussian_blur", "rotate")
    assert differing_random_nodes(START, blurred, CATALOG) == ()
    drawn = randomise_arg(blurred, CATALOG, node, "sigma")
    (apart,) = differing_random_nodes(START, drawn, CATALOG)
    assert drawn.node(apart).op.startswith("random.")
    clash = with_node(START, START.node("rotate").inputs["angle"].node, seed=99)
    assert with_seeds_of(drawn, clash).node(apart).seed != 99


# The graph that validates: nothing is drawn in it, and its outputs are those of training.


def validating(graph: Graph) -> Graph:
    made = validation_graph(TypedGraph(graph, CATALOG))
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("recipe", "ops"),
    [
        ("imagenet-train", ["resize", "crop_mirror_normalize"]),
        ("trivial-augment", ["resize", "crop_mirror_normalize"]),
        ("cutout", ["resize", "crop_mirror_normalize"]),
        ("ct-slice", ["resize", "normalize", "transpose"]),  # each block was by chance
        ("segmentation", ["resize", "pad", "crop_mirror_normalize", "follow_masks"]),
        ("retinanet", ["resize", "crop_mirror_normalize", "follow_boxes"]),
    ],
)
def test_nothing_is_drawn(recipe: str, ops: list[str]) -> None:
    graph = load_recipe(recipe)
    made = validating(graph)
    assert [node.op for node in made.nodes[2:]] == ops
    assert list(made.outputs) == list(graph.outputs)
    assert not any("random" in name for node in made.nodes for name in node.args)


def test_a_random_crop_becomes_that_of_resnet() -> None:
    made = validating(load_recipe("imagenet-train"))
    assert made.node("resize").args == {"resize_shorter": 256}
    assert made.node("normalize").args["crop"] == (224, 224)
    assert "mirror" not in made.node("normalize").args


def test_what_draws_nothing_stays_as_it_is() -> None:
    graph = load_recipe("imagenet-eval")
    assert validation_graph(TypedGraph(graph, CATALOG)) == graph
    shuffled = set_arg(graph, CATALOG, "reader", "random_shuffle", True)
    assert validation_graph(TypedGraph(shuffled, CATALOG)) == graph


@pytest.mark.parametrize("recipe", ["ssd", "key-points", "augmix"])
def test_draws_that_no_value_stands_for(recipe: str) -> None:
    assert validation_graph(TypedGraph(load_recipe(recipe), CATALOG)) is None
    assert "val_data" not in export(load_recipe(recipe), "lightning", CATALOG).main.text
