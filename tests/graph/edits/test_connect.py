"""Nodes placed and connected: what is allowed, what is offered, and why not."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import CATALOG, CHAINS, GRAPHS, with_node
from tests.thorough import examples
from workbench.catalog.templates import load_templates
from workbench.errors import CatalogError, GraphEditError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.compatible_ops import (
    NEEDS_SOURCE,
    incompatible_ops,
    incompatible_templates,
)
from workbench.graph.edits.compose import (
    add_output,
    append_node,
    edge_id,
    find_edge,
    insert_on_edge,
    place_node,
    splice_node,
)
from workbench.graph.edits.connect import (
    connect,
    connect_targets,
    connection_refusal,
    disconnect,
    narrowed_kind,
    set_output,
)
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import port_kind
from workbench.graph.types.shapes import infer_types
from workbench.graph.types.typed_graph import TypedGraph

JITTER = load_recipe("rotate-jitter")


def out(node: str, output: str = "output") -> Port:
    return Port(node, output)


@pytest.mark.parametrize(
    ("source", "target", "into", "reason"),
    [
        (out("flip"), "resize", "data", "wait for each other"),
        (out("rotate"), "rotate", "data", "wait for each other"),
        (
            out("reader", "labels"),
            "resize",
            "data",
            "'data' accepts images, but reader.labels outputs labels",
        ),
        (out("angle"), "resize", "data", "outputs numbers"),
        (out("resize"), "color", "hue", "'hue' accepts numbers, but resize.output outputs images"),
        (out("angle"), "rotate", "keep_size", "has one value for all samples"),
        (out("mirror"), "rotate", "angle", "not random.coin_flip"),
        (out("resize"), "rotate", "angel", "has no input 'angel'"),
    ],
)
def test_what_cannot_be_connected_says_why(
    source: Port, target: str, into: str, reason: str
) -> None:
    assert reason in (connection_refusal(TypedGraph(JITTER, CATALOG), source, target, into) or "")
    with pytest.raises(GraphEditError, match="was not connected"):
        connect(JITTER, CATALOG, source, target, into)


def test_an_argument_cannot_come_from_the_gpu() -> None:
    graph = set_setting(JITTER, device="mixed")
    assert connection_refusal(TypedGraph(graph, CATALOG), out("angle"), "color", "hue") is None
    moved = graph.replace_node(
        graph.node("angle").__class__("angle", "random.uniform", device="gpu", seed=1)
    )
    assert "must come from the CPU" in (
        connection_refusal(TypedGraph(moved, CATALOG), out("angle"), "color", "hue") or ""
    )


def test_the_mean_of_an_image_feeds_an_argument() -> None:
    graph, mean = place_node(JITTER, CATALOG, "reductions.mean", out("resize"))
    assert "outputs images" in (
        connection_refusal(TypedGraph(graph, CATALOG), out(mean), "color", "hue") or ""
    )
    node = graph.node(mean)
    graph = graph.replace_node(replace(node, args={"axis_names": "HWC"}))
    graph = connect(graph, CATALOG, out(mean), "color", "hue")
    assert check_graph(graph, CATALOG) == ()
    most = with_node(graph, mean, op="reductions.max")
    assert "color.hue: it accepts floats" in str(check_graph(most, CATALOG)[0])
    assert "accepts FLOAT" in (
        connection_refusal(TypedGraph(most, CATALOG), out(mean), "color", "hue") or ""
    )


def test_two_nodes_share_one_draw() -> None:
    graph = connect(JITTER, CATALOG, out("angle"), "color", "hue")
    assert graph.node("color").inputs["hue"] == graph.node("rotate").inputs["angle"]
    assert check_graph(graph, CATALOG) == ()


def test_connecting_replaces_the_value_and_its_rivals() -> None:
    graph, _ = place_node(JITTER, CATALOG, "random.uniform")
    fed = connect(graph, CATALOG, out("uniform"), "resize", "resize_shorter")
    assert "size" not in fed.node("resize").args
    (fault,) = check_graph(fed, CATALOG)
    assert "resize.resize_shorter: random values from -1 to 1 are out of range" in str(fault)
    assert not check_graph(set_arg(fed, CATALOG, "uniform", "range", (100, 200)), CATALOG)


def test_any_number_of_inputs_has_one_more_port() -> None:
    assert CATALOG["cat"].max_inputs > 2
    graph = Graph(nodes=(*JITTER.nodes, JITTER.node("flip").__class__("both", "cat")))
    first = CATALOG["cat"].input(0).name
    graph = connect(graph, CATALOG, out("resize"), "both", first)
    graph = connect(graph, CATALOG, out("rotate"), "both", CATALOG["cat"].input(1).name)
    assert len(graph.node("both").inputs) == 2


def test_what_is_of_another_type_is_connected_and_a_cast_offered() -> None:
    graph, least = place_node(JITTER, CATALOG, "reductions.min", out("resize"))
    graph, spread = place_node(graph, CATALOG, "reductions.std_dev", out("resize"))
    graph = connect(graph, CATALOG, out(least), spread, "mean")
    (fault,) = check_graph(graph, CATALOG)
    assert (fault.node, fault.arg, fault.code) == (spread, "mean", "dtype")
    offered = {fix.label: fix.graph for fix in fixes(ResolvedGraph(graph, CATALOG), fault)}
    assert check_graph(offered["Insert a cast to FLOAT"], CATALOG) == ()


def test_an_edge_is_cut() -> None:
    graph = disconnect(JITTER, "rotate", "data")
    assert [fault.arg for fault in check_graph(graph, CATALOG)] == ["data"]
    with pytest.raises(GraphEditError, match=r"rotate\.data is not connected"):
        disconnect(graph, "rotate", "data")


def test_outputs_are_named_and_taken_away() -> None:
    graph = set_output(JITTER, "before", out("resize"))
    assert list(graph.outputs) == ["images", "labels", "before"]
    assert set_output(graph, "before", None) == JITTER
    with pytest.raises(GraphEditError, match="not a Python name"):
        set_output(graph, "two words", out("resize"))
    with pytest.raises(GraphEditError, match="no node"):
        set_output(graph, "gone", out("gone"))


@given(GRAPHS, st.data())
def test_what_is_not_refused_brings_no_new_fault_of_wiring(
    graph: Graph, data: st.DataObject
) -> None:
    before = deepcopy(graph)
    ports = [
        Port(n.id, o.name)
        for n in graph.nodes
        if n.op in CATALOG
        for o in CATALOG[n.op].outputs_with(n.inputs, n.args)
    ]
    source = data.draw(st.sampled_from(ports))
    node = data.draw(st.sampled_from([n for n in graph.nodes if n.op in CATALOG]))
    spec = CATALOG[node.op]
    into = data.draw(st.sampled_from([p.name for p in spec.inputs] + list(spec.args)))
    if connection_refusal(TypedGraph(graph, CATALOG), source, node.id, into) is None:
        joined = connect(graph, CATALOG, source, node.id, into)
        assert joined.node(node.id).inputs[into] == source
        known = {str(fault) for fault in check_graph(graph, CATALOG)}
        new = [f for f in check_graph(joined, CATALOG) if str(f) not in known]
        here = [f for f in new if f.node == node.id and f.arg == into]
        for fault in here:
            assert fault.code in ("dtype", "same_dtype")
            casts = [
                fix.graph
                for fix in fixes(ResolvedGraph(joined, CATALOG), fault)
                if "cast" in fix.label
            ]
            assert any(fault not in check_graph(made, CATALOG) for made in casts), (
                f"{fault}: no cast mends it"
            )
    assert graph == before


# Nodes placed at the end, on an edge and on their own.


def test_an_empty_graph_grows_into_one_that_runs() -> None:
    graph = Graph()
    for op in ("readers.file", "decoders.image", "resize", "rotate"):
        graph, _ = append_node(graph, CATALOG, op)
    assert check_graph(graph, CATALOG) == ()
    assert [node.id for node in graph.nodes] == ["reader", "decode", "resize", "rotate"]
    assert list(graph.outputs.items()) == [
        ("images", Port("rotate", "output")),
        ("labels", Port("reader", "labels")),
    ]


def test_a_node_goes_into_one_edge_and_no_other() -> None:
    graph, _ = place_node(JITTER, CATALOG, "brightness", Port("resize", "output"))
    graph, added = insert_on_edge(graph, CATALOG, "gaussian_blur", "rotate:data")
    assert graph.node("rotate").inputs["data"] == Port(added, "output")
    assert graph.node(added).inputs == {"data": Port("resize", "output")}
    assert graph.node("brightness_2").inputs == {"data": Port("resize", "output")}


def test_a_node_goes_into_the_edge_to_an_output() -> None:
    graph, added = insert_on_edge(JITTER, CATALOG, "gaussian_blur", ":images")
    assert graph.outputs["images"] == Port(added, "output")
    assert list(graph.outputs) == ["images", "labels"]
    assert check_graph(graph, CATALOG) == ()


@pytest.mark.parametrize(
    ("op", "edge", "reason"),
    [
        ("gaussian_blur", "decode:data", "'data' accepts images, but reader.jpegs outputs encoded"),
        ("gaussian_blur", "rotate:angel", "There is no edge 'rotate:angel'"),
        ("gaussian_blur", "nowhere:data", "There is no node 'nowhere'"),
        ("gaussian_blur", "", "There is no edge ''"),
        (
            "random.uniform",
            "rotate:data",
            r"'data' accepts images, but uniform\.output outputs numbers",
        ),
    ],
)
def test_what_does_not_fit_an_edge_says_why(op: str, edge: str, reason: str) -> None:
    with pytest.raises(GraphEditError, match=reason):
        insert_on_edge(JITTER, CATALOG, op, edge)


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(CatalogError, match="Did you mean rotate"):
        place_node(JITTER, CATALOG, "rotat")


def test_a_branch_changes_no_other_edge() -> None:
    graph, added = place_node(JITTER, CATALOG, "flip", Port("resize", "output"))
    assert graph.nodes[:-1] == JITTER.nodes
    assert graph.node(added).inputs == {"data": Port("resize", "output")}
    with pytest.raises(GraphEditError, match=r"accepts images, but reader\.labels outputs labels"):
        place_node(JITTER, CATALOG, "flip", Port("reader", "labels"))


@pytest.mark.parametrize("edge", ["color:data", "flip:data", ":images"])
def test_a_node_moves_into_an_edge_and_its_place_is_healed(edge: str) -> None:
    graph = splice_node(JITTER, CATALOG, "resize", edge)
    assert graph.node("rotate").inputs["data"] == Port("decode", "output")
    assert find_edge(graph, edge).source == Port("resize", "output")
    assert check_graph(graph, CATALOG) == ()
    assert {node.id for node in graph.nodes} == {node.id for node in JITTER.nodes}


def test_a_node_keeps_its_draws_when_it_moves() -> None:
    graph = splice_node(JITTER, CATALOG, "rotate", ":images")
    assert graph.node("rotate").inputs["angle"] == Port("angle", "output")


def test_a_node_does_not_go_into_its_own_edge() -> None:
    for edge in ("rotate:data", "color:data"):
        with pytest.raises(GraphEditError, match="already at an end of this edge"):
            splice_node(JITTER, CATALOG, "rotate", edge)


def test_a_block_is_not_led_into_an_edge() -> None:
    wrapped, block = wrap_in_block(JITTER, CATALOG, ["rotate"])
    with pytest.raises(GraphEditError, match="'branch' is a block"):
        splice_node(wrapped, CATALOG, block, ":images")


def test_an_output_is_named_after_its_kind() -> None:
    graph = add_output(JITTER, CATALOG, Port("resize", "output"))
    assert graph.outputs["images_2"] == Port("resize", "output")
    graph = add_output(JITTER, CATALOG, Port("angle", "output"), "angles")
    assert graph.outputs["angles"] == Port("angle", "output")
    with pytest.raises(GraphEditError, match="not a Python name"):
        add_output(JITTER, CATALOG, Port("angle", "output"), "two words")


@given(CHAINS, st.data())
def test_an_image_operator_fits_every_image_edge_of_a_chain(
    graph: Graph, data: st.DataObject
) -> None:
    types = infer_types(graph, CATALOG)
    edges = [
        edge
        for edge in graph.edges
        if edge.input == "data"
        and edge.target != "decode"  # a reduction to one number for each channel is no image
        and narrowed_kind(port_kind(graph, CATALOG, edge.source), types[edge.source]) == "image"
    ]
    edge = data.draw(st.sampled_from(edges)) if edges else None
    name = edge_id(edge.target, edge.input) if edge else ":images"
    longer, added = insert_on_edge(graph, CATALOG, "copy", name)
    assert check_graph(longer, CATALOG) == check_graph(graph, CATALOG)
    assert find_edge(longer, name).source.node == added


# Which operators fit a place, and why the others do not: what it says is what then happens.


def test_reasons_name_what_does_not_agree() -> None:
    kind, reasons = incompatible_ops(TypedGraph(JITTER, CATALOG), Port("resize", "output"))
    assert kind == "image"
    assert reasons["decoders.image"] == "it accepts encoded data, not images"
    assert reasons["readers.file"] == "it has no input: add it without a connection"
    assert "flip" not in reasons
    assert all(reasons[op.name] == op.unusable for op in CATALOG.values() if op.unusable)


def test_an_operator_of_the_cpu_does_not_fit_on_the_gpu() -> None:
    only_cpu = "roi_random_crop"
    assert CATALOG[only_cpu].devices == ("cpu",)
    mixed = set_setting(JITTER, device="mixed")
    assert (
        only_cpu not in incompatible_ops(TypedGraph(JITTER, CATALOG), Port("resize", "output"))[1]
    )
    assert (
        "CPU only"
        in incompatible_ops(TypedGraph(mixed, CATALOG), Port("resize", "output"))[1][only_cpu]
    )


def test_everything_usable_can_stand_on_its_own_beside_other_nodes() -> None:
    kind, reasons = incompatible_ops(TypedGraph(JITTER, CATALOG), None)
    assert kind == ""
    for op in CATALOG.values():
        assert (op.name in reasons) == bool(op.unusable or op.devices == ("gpu",))


def test_an_empty_graph_begins_with_what_needs_nothing() -> None:
    reasons = incompatible_ops(TypedGraph(Graph(), CATALOG), None)[1]
    assert reasons["rotate"] == NEEDS_SOURCE
    assert not {"readers.file", "random.uniform", "constant"} & reasons.keys()
    templates = load_templates()
    assert incompatible_templates(
        TypedGraph(Graph(), CATALOG), templates.values(), None
    ) == dict.fromkeys(templates, NEEDS_SOURCE)


def test_an_empty_body_has_what_it_takes_in() -> None:
    graph, block = wrap_as_options(JITTER, CATALOG, ["rotate"])
    body = graph.at_scope(f"{block}.option_1")
    assert not body.nodes
    place = body.outputs["images"]
    kind, reasons = incompatible_ops(TypedGraph(body, CATALOG), place)
    assert (kind, "rotate" in reasons) == ("image", False)
    assert incompatible_templates(TypedGraph(body, CATALOG), load_templates().values(), place) == {}


def test_a_template_takes_and_gives_an_image() -> None:
    def reasons(place: Port | str) -> dict[str, str]:
        return incompatible_templates(
            TypedGraph(JITTER, CATALOG), [load_templates()["gamma"]], place
        )

    assert reasons(Port("resize", "output")) == {}
    assert reasons(Port("reader", "labels")) == {"gamma": "it accepts images, not labels"}


def test_what_gives_bool_does_not_fit_where_fractions_are_taken() -> None:
    graph, uniform = place_node(JITTER, CATALOG, "random.uniform")
    graph = connect(graph, CATALOG, Port(uniform, "output"), "color", "brightness")
    into = edge_id("color", "brightness")
    reason = incompatible_ops(TypedGraph(graph, CATALOG), into)[1]["math.ge"]
    assert reason == "it outputs BOOL, but color.brightness accepts FLOAT"
    assert "math.add" not in incompatible_ops(TypedGraph(graph, CATALOG), into)[1]


@pytest.mark.parametrize("place", [Port("nowhere", "output"), "nowhere:data", "rotate:angel"])
def test_a_place_that_is_not_there_is_named(place: Port | str) -> None:
    with pytest.raises(GraphEditError, match="There is no"):
        incompatible_ops(TypedGraph(JITTER, CATALOG), place)


@given(GRAPHS, st.data())
@examples(15, thorough=800)
def test_what_fits_can_be_added_and_what_does_not_cannot(graph: Graph, data: st.DataObject) -> None:
    edges = [edge_id(edge.target, edge.input) for edge in graph.edges]
    place = data.draw(st.sampled_from([*edges, *(f":{name}" for name in graph.outputs)]))
    reasons = incompatible_ops(TypedGraph(graph, CATALOG), place)[1]
    for op in data.draw(st.lists(st.sampled_from(sorted(CATALOG)), min_size=5, max_size=15)):
        if op not in reasons:
            insert_on_edge(graph, CATALOG, op, place)
        elif CATALOG[op].unusable:
            with pytest.raises(GraphEditError):
                place_node(graph, CATALOG, op)


@given(GRAPHS, st.data())
@examples(15, thorough=800)
def test_what_is_offered_can_be_connected(graph: Graph, data: st.DataObject) -> None:
    node = data.draw(st.sampled_from([n for n in graph.nodes if CATALOG[n.op].outputs]))
    source = Port(node.id, CATALOG[node.op].outputs[0].name)
    for (target, into), reason in connect_targets(TypedGraph(graph, CATALOG), source).items():
        if not reason:
            joined = connect(graph, CATALOG, source, target, into)
            assert joined.node(target).inputs[into] == source
        elif "is connected to" not in reason and "already" not in reason:
            with pytest.raises(GraphEditError):
                connect(graph, CATALOG, source, target, into)


def test_a_taken_port_says_by_what() -> None:
    found = connect_targets(TypedGraph(JITTER, CATALOG), Port("resize", "output"))
    assert found["rotate", "data"] == "resize.output already feeds this input"
    assert "connected to rotate.output" in found["color", "data"]
    assert "wait for each other" in found["decode", "data"]
