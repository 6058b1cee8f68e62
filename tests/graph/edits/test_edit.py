"""Random edits over the real catalogue."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.helpers import (
    CATALOG,
    CHAINS,
    GRAPHS,
    Step,
    apply_step,
    chain_graph,
    flat_recipes,
    step,
    with_node,
    with_nodes,
)
from tests.thorough import one_in
from workbench.catalog import Catalog
from workbench.errors import CatalogError, GraphEditError
from workbench.graph import Graph, Node, Port, check_graph
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.edit import (
    free_id,
    insert_node,
    is_movable,
    move_node,
    new_node,
    ordered_nodes,
    randomise_arg,
    reset_arg,
    set_arg,
    set_setting,
    start_graph,
)


@given(GRAPHS)
def test_edits_lead_to_a_sound_graph_or_to_faults_that_help(graph: Graph) -> None:
    ids = [node.id for node in graph.nodes]
    assert len(set(ids)) == len(ids)
    for fault in check_graph(graph, CATALOG):
        assert fault.node in {*ids, ""}
        assert fault.message
        assert fault.remedy
        assert str(fault).startswith(fault.node)


@given(GRAPHS, step())
def test_edits_leave_the_old_graph_as_it_was(graph: Graph, edit: Step) -> None:
    before = deepcopy(graph)
    apply_step(graph, CATALOG, edit)
    assert graph == before


@given(GRAPHS, st.integers(0, 1000), st.integers(0, 1000))
def test_a_node_put_in_and_taken_out_leaves_no_trace(graph: Graph, where: int, what: int) -> None:
    ops = sorted(CATALOG)
    after = graph.nodes[where % len(graph.nodes)].id
    try:
        longer, node_id = insert_node(graph, CATALOG, ops[what % len(ops)], after)
    except GraphEditError:
        assume(False)
    assert [n.id for n in longer.nodes if not graph.has(n.id)] == [node_id]
    if is_movable(longer.node(node_id), CATALOG):
        shorter = remove_nodes(longer, CATALOG, [node_id])
        if any(fault.code == "kind" for fault in check_graph(graph, CATALOG)):
            assert shorter.nodes != longer.nodes  # an edge of the wrong kind may be cut
        else:
            assert shorter == graph


def moves(graph: Graph, by: int) -> dict[str, Graph]:
    """The graph after each move that it allows, by the node that is moved."""
    found = {}
    for node in (node for node in graph.nodes if CATALOG[node.op].image):
        with suppress(GraphEditError):
            found[node.id] = move_node(graph, CATALOG, node.id, by)
    assume(found)
    return found


@given(CHAINS)
def test_a_node_moved_there_and_back_leaves_no_trace(graph: Graph) -> None:
    for node_id, moved in moves(graph, 1).items():
        assert moved != graph
        assert move_node(moved, CATALOG, node_id, -1) == graph


@given(CHAINS)
def test_moving_changes_the_order_and_nothing_else(graph: Graph) -> None:
    for moved in moves(graph, -1).values():
        assert {n.id: (n.op, n.args, n.seed) for n in moved.nodes} == {
            n.id: (n.op, n.args, n.seed) for n in graph.nodes
        }
        # a colour operator may now stand behind a grey image, an order of axes behind others
        faults = check_graph(moved, CATALOG)
        counted = {each for each in faults if "one for each channel" in each.message}
        codes = {fault.code for fault in faults if fault not in counted}
        assert codes <= {"channels", "layout", "relayout", "dtype", "apart"}


@pytest.mark.parametrize("graph", one_in(6, flat_recipes()), ids=lambda graph: graph.name)
def test_every_operator_fits_behind_every_image_of_a_recipe(graph: Graph) -> None:
    images = [n.id for n in graph.nodes if CATALOG[n.op].outputs[0].kind == "image"]
    for op in (op for op in CATALOG.values() if op.image and not op.unusable):
        device = "cpu" if "cpu" in op.devices else "mixed"
        for after in images if op.inputs[0].kind in ("image", "any") else ():
            longer, _ = insert_node(set_setting(graph, device=device), CATALOG, op.name, after)
            faults = check_graph(longer, CATALOG)
            allowed = {"channels", "layout", "dtype", "shapes"}
            if graph.sources[0].kind != "folder":
                # targets follow no operator without a rule; a sequence has other axes
                allowed |= {"unfollowed", "relayout"}
            assert {f.code for f in faults} <= allowed, op.name


def test_an_inserted_node_takes_over_what_left_the_port(catalog: Catalog) -> None:
    graph = start_graph(catalog)
    longer, node_id = insert_node(graph, catalog, "rotate", "decode")
    assert node_id == "rotate"
    assert longer.node("rotate").inputs["data"] == Port("decode", "output")
    assert longer.outputs == {
        "images": Port("rotate", "output"),
        "labels": Port("reader", "labels"),
    }
    twice, second = insert_node(longer, catalog, "rotate", "decode")
    assert second == "rotate_2"
    assert [n.id for n in ordered_nodes(twice, catalog)] == [
        "reader",
        "decode",
        "rotate_2",
        "rotate",
    ]


def test_what_cannot_be_inserted_is_refused_with_the_reason(catalog: Catalog) -> None:
    graph = start_graph(catalog)
    with pytest.raises(GraphEditError, match=r"debayer cannot be added"):
        insert_node(graph, catalog, "debayer", "decode")
    with pytest.raises(
        GraphEditError, match="rotate accepts images, but 'reader' outputs encoded data and labels"
    ):
        insert_node(graph, catalog, "rotate", "reader")
    with pytest.raises(GraphEditError, match=r"no node 'nowhere'. The graph has: reader, decode"):
        insert_node(graph, catalog, "rotate", "nowhere")
    with pytest.raises(CatalogError, match=r"Did you mean rotate"):
        insert_node(graph, catalog, "rotat", "decode")


def test_what_cannot_change_places_says_why(catalog: Catalog) -> None:
    graph = chain_graph("rotate")
    with pytest.raises(GraphEditError, match="cannot move before 'decode'"):
        move_node(graph, catalog, "rotate", -1)
    with pytest.raises(GraphEditError, match="feeds 0 nodes"):
        move_node(graph, catalog, "rotate", 1)
    with pytest.raises(GraphEditError, match="cannot move by 2"):
        move_node(graph, catalog, "rotate", 2)


def test_a_node_that_feeds_two_does_not_move(catalog: Catalog) -> None:
    graph = chain_graph("resize", "rotate")
    twin = replace(graph.node("rotate"), id="twin")
    graph = with_nodes(graph, twin)
    with pytest.raises(GraphEditError, match="'resize' feeds several"):
        move_node(graph, catalog, "rotate", -1)
    with pytest.raises(GraphEditError, match="'resize' feeds 2 nodes"):
        move_node(graph, catalog, "resize", 1)


def test_outputs_on_both_sides_of_a_move_keep_their_places(catalog: Catalog) -> None:
    graph = chain_graph("resize", "rotate")
    graph = with_nodes(graph, small=Port("resize", "output"))
    moved = move_node(graph, catalog, "rotate", -1)
    assert moved.outputs["small"] == Port("rotate", "output")
    assert moved.outputs["images"] == Port("resize", "output")
    assert move_node(moved, catalog, "rotate", 1) == graph


def test_a_node_fed_twice_by_its_neighbour_does_not_move(catalog: Catalog) -> None:
    graph = chain_graph("resize")
    port = Port("resize", "output")
    cat = Node("both", "cat", inputs={"input_0": port, "input_1": port})
    graph = replace(graph, nodes=(*graph.nodes, cat), outputs={"images": Port("both", "output")})
    with pytest.raises(GraphEditError):
        move_node(graph, catalog, "both", -1)


def test_unknown_operators_can_be_removed_but_not_moved(catalog: Catalog) -> None:
    graph = chain_graph("resize", "rotate")
    graph = with_node(graph, "resize", op="gone.with_the_wind")
    assert [n.id for n in remove_nodes(graph, catalog, ["resize"]).nodes] == [
        "reader",
        "decode",
        "rotate",
    ]
    assert remove_nodes(graph, catalog, ["resize"]).node("rotate").inputs["data"].node == "decode"
    for edit in (
        lambda: move_node(graph, catalog, "rotate", -1),
        lambda: insert_node(graph, catalog, "flip", "resize"),
        lambda: randomise_arg(graph, catalog, "resize", "size"),
    ):
        with pytest.raises((GraphEditError, CatalogError), match=r"gone\.with_the_wind"):
            edit()


def test_random_arguments_bring_and_take_their_generator(catalog: Catalog) -> None:
    graph = chain_graph("rotate", rotate={"angle": 12.5})
    drawn = randomise_arg(graph, catalog, "rotate", "angle")
    generator = drawn.node(drawn.node("rotate").inputs["angle"].node)
    assert generator.op == "random.uniform"
    assert generator.args["range"] == (2.5, 22.5), "the value is the centre"
    assert "angle" not in drawn.node("rotate").args
    assert generator.seed not in {node.seed for node in graph.nodes}
    assert not check_graph(drawn, catalog)
    assert set_arg(drawn, catalog, "rotate", "angle", 12.5) == graph
    assert not reset_arg(drawn, catalog, "rotate", "angle").has(generator.id)
    assert not remove_nodes(drawn, catalog, ["rotate"]).has(generator.id)
    normal = randomise_arg(drawn, catalog, "rotate", "angle", "random.normal")
    assert [n.op for n in normal.nodes if n.op.startswith("random.")] == ["random.normal"]


def test_a_generator_that_also_feeds_another_stays(catalog: Catalog) -> None:
    graph = randomise_arg(chain_graph("rotate", "hue"), catalog, "rotate", "angle")
    port = graph.node("rotate").inputs["angle"]
    hue = graph.node("hue")
    graph = graph.replace_node(replace(hue, args={}, inputs={**hue.inputs, "hue": port}))
    assert remove_nodes(graph, catalog, ["rotate"]).has(port.node)


def test_what_takes_no_random_value_says_so(catalog: Catalog) -> None:
    graph = chain_graph("rotate")
    for arg in ("keep_size", "nonsense"):
        with pytest.raises(GraphEditError, match=f"rotate.{arg} .* cannot be random"):
            randomise_arg(graph, catalog, "rotate", arg)
    with pytest.raises(GraphEditError, match=r"no argument 'angel'. Did you mean angle"):
        set_arg(graph, catalog, "rotate", "angel", 3)


def test_seeds_stay_with_their_nodes(catalog: Catalog) -> None:
    graph = chain_graph("noise.gaussian", "noise.shot")
    seeds = {n.id: n.seed for n in graph.nodes}
    assert len({seed for seed in seeds.values() if seed is not None}) == 3
    shorter = remove_nodes(graph, catalog, ["gaussian"])
    assert shorter.node("shot").seed == seeds["shot"]
    again = insert_node(shorter, catalog, "noise.gaussian", "decode")[0]
    assert again.node("gaussian").seed != again.node("shot").seed


def test_ids(catalog: Catalog) -> None:
    graph = start_graph(catalog)
    assert free_id(graph, "noise.gaussian") == "noise_gaussian"
    assert free_id(graph, "reader") == "reader_2"
    assert free_id(graph, "labels") == "labels_2", "an output's name is taken too"
    for bad in ("class", "1st", "", "a b", '"); import os'):
        assert free_id(graph, bad) == "node"
    assert new_node(graph, catalog, "random.uniform").id == "uniform"


def test_settings() -> None:
    graph = set_setting(start_graph(CATALOG), batch_size=3, device="mixed")
    assert (graph.settings.batch_size, graph.settings.device) == (3, "mixed")
