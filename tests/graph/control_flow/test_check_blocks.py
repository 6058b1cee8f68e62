"""Blocks, and graph files with blocks, that cannot run: faults with a node and a fix."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.block_graphs import CATALOG, branching_graph
from tests.helpers import chain_graph
from workbench.errors import GraphFormatError
from workbench.graph import Graph, Node, Port, check_graph, dump_graph, load_graph, load_recipe
from workbench.graph.control_flow.options import add_option
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.edit import set_arg
from workbench.graph.fixes import fixes
from workbench.graph.model import Body
from workbench.graph.model.bounds import MOST_FILE_NODES
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.storage.io import VERSION

GRAPH = branching_graph()


def with_body(scope: str, **changes: Any) -> Graph:
    return GRAPH.replace_body(scope, replace(GRAPH.body_at(scope), **changes))


def with_last(scope: str, op: str, **args: Any) -> Graph:
    """One more node at the end of a body."""
    body = GRAPH.body_at(scope)
    node = Node("added", op, args, {"data": body.outputs["images"]})
    outputs = {"images": Port("added", "output")}
    return with_body(scope, nodes=(*body.nodes, node), outputs=outputs)


def outside(node: str, port: Port) -> Graph:
    inner = GRAPH.node(node)
    return GRAPH.replace_node(replace(inner, inputs={**inner.inputs, "data": port}))


def with_reader() -> Graph:
    body = GRAPH.body_at("outer.then")
    return with_body("outer.then", nodes=(*body.nodes, Node("second", "readers.file", seed=9)))


def deep() -> Graph:
    """Twenty ifs inside each other."""
    body = Body((), {"images": Port("if_20.then", "images")}, ("images",))
    for number in range(20, 0, -1):
        around = f"if_{number - 1}.then" if number > 1 else ""
        image = Port(around, "images") if around else Port("resize", "output")
        flag = Node(f"flag_{number}", "random.coin_flip", {"dtype": "BOOL"}, seed=number)
        block = Node(
            f"if_{number}",
            "if",
            inputs={"condition": Port(flag.id, "output"), "images": image},
            bodies={
                "then": body,
                "else": Body((), {"images": Port(f"if_{number}.else", "images")}, ("images",)),
            },
        )
        body = Body((flag, block), {"images": Port(block.id, "images")}, ("images",))
    kept = tuple(node for node in GRAPH.nodes if node.id in ("reader", "decode", "resize"))
    return replace(GRAPH, nodes=(*kept, *body.nodes), outputs={"images": Port("if_1", "images")})


def turns(op: str, args: dict[str, Any], output: str, change: str = "gaussian_blur") -> Graph:
    """A block whose bodies run one after another, each with one node, and give one output."""
    block = Node("turns", op, args, {"images": Port("resize", "output")})
    draw = Node("draw", "random.choice", {"population": 2}, seed=9)
    if "times" not in args:
        decides = "times" if op == "repeat" else "choice"
        block = replace(block, inputs={**block.inputs, decides: Port("draw", "output")})
    given = {"dtype": "FLOAT"} if change == "cast" else {"sigma": 1.0}
    bodies = {}
    for number, name in enumerate(CATALOG[op].body_names(2 if op == "some_of" else 1)):
        fed = {"data": Port(block.scope(name), "images")}
        node = Node(f"changed_{number}", change, given, fed)
        bodies[name] = Body((node,), {output: Port(node.id, "output")}, ("images",))
    kept = tuple(node for node in GRAPH.nodes if node.id in ("reader", "decode", "resize"))
    nodes = (*kept, draw, replace(block, bodies=bodies))
    return replace(GRAPH, nodes=nodes, outputs={"images": Port("turns", output)})


FAULTS: dict[str, tuple[Callable[[], Graph], str, str, str]] = {
    "types": (
        lambda: with_last("inner.then", "cast", dtype="FLOAT"),
        "inner.images",
        "inner.then outputs FLOAT, but inner.else outputs UINT8",
        "Add a cast to UINT8",
    ),
    "layouts": (
        lambda: with_last("outer.else", "transpose", perm=(2, 0, 1)),
        "outer.images",
        "outer.else outputs CHW, but outer.then outputs HWC",
        "Use the same layout in both",
    ),
    "channels": (
        lambda: with_last(
            "inner.then", "color_space_conversion", image_type="RGB", output_type="GRAY"
        ),
        "inner.images",
        "inner.then outputs 1 channel, but inner.else outputs 3 channels",
        "Add a color_space_conversion from GRAY to RGB at its end",
    ),
    "numbers of axes": (
        lambda: with_last("outer.else", "reductions.min", axes=(0,)),
        "outer.images",
        "outer.else outputs 2 axes, but outer.then outputs 3 axes",
        "Use the same number of axes in both",
    ),
    "an output that one body lacks": (
        lambda: with_body("outer.else", outputs={}),
        "outer.images",
        "outer.else has no output 'images'",
        "Add 'images' to the outputs of every body",
    ),
    "what stands outside": (
        lambda: outside("blur", Port("resize", "output")),
        "blur.data",
        "which is outside inner.else",
        "Connect it through the inputs",
    ),
    "what another body takes in": (
        lambda: outside("blur", Port("inner.then", "images")),
        "blur.data",
        "which only the nodes of inner.then have",
        "in the same body",
    ),
    "what stands inside": (
        lambda: replace(GRAPH, outputs={"images": Port("rotate", "output")}),
        "",
        "which is inside inner.then",
        "through the inputs and outputs of the block",
    ),
    "what the body does not take in": (
        lambda: outside("blur", Port("inner.else", "masks")),
        "blur.data",
        "inner.else has the inputs images",
        "Choose one of these",
    ),
    "a condition that nothing feeds": (
        lambda: GRAPH.replace_node(
            replace(GRAPH.node("outer"), inputs={"images": Port("resize", "output")})
        ),
        "outer.condition",
        "it is not connected",
        "Connect a node",
    ),
    "an input that nothing feeds": (
        lambda: GRAPH.replace_node(
            replace(GRAPH.node("outer"), inputs={"condition": Port("disturb", "output")})
        ),
        "outer.images",
        "is not connected",
        "Connect a node to outer.images",
    ),
    "a body that it has not got": (
        lambda: GRAPH.replace_node(
            replace(GRAPH.node("outer"), bodies={**GRAPH.node("outer").bodies, "finally": Body()})
        ),
        "outer",
        "it has the bodies then, else, finally",
        "if has then and else",
    ),
    "bodies of an operator": (
        lambda: GRAPH.replace_node(replace(GRAPH.node("resize"), bodies={"then": Body()})),
        "resize",
        "resize does not support bodies",
        "Remove them",
    ),
    "a reader inside": (
        with_reader,
        "second",
        "it is a reader inside outer.then",
        "connect its outputs",
    ),
    "an array as condition": (
        lambda: GRAPH.replace_node(
            replace(GRAPH.node("disturb"), args={**GRAPH.node("disturb").args, "shape": (3,)})
        ),
        "outer.condition",
        "disturb.output outputs an array of 1 axis, but one number per sample decides",
        "Select one of its numbers",
    ),
    "a cycle inside": (
        lambda: outside("noise", Port("inner", "images")),
        "noise",
        "wait for each other",
        "Remove one edge",
    ),
    "the same id twice": (
        lambda: GRAPH.replace_node(replace(GRAPH.node("blur"), id="blur")).replace_body(
            "inner.else",
            replace(
                GRAPH.body_at("inner.else"),
                nodes=(
                    *GRAPH.body_at("inner.else").nodes,
                    Node("resize", "flip", {}, {"data": Port("inner.else", "images")}),
                ),
            ),
        ),
        "resize",
        "2 nodes have this id",
        "Use unique ids",
    ),
    "an output of turns that begins with nothing": (
        lambda: turns("repeat", {"times": 2}, "blurred"),
        "turns.blurred",
        "turns.body has the output 'blurred', but 'turns' has no input of that name",
        "Connect a node to turns.blurred",
    ),
    "turns that may not be and change the type": (
        lambda: turns("repeat", {"most": 2}, "images", "cast"),
        "turns.images",
        "resize.output, which is used if no body runs, is UINT8, but turns.body outputs FLOAT",
        "Add a cast to UINT8",
    ),
    "all of some options change the type": (
        lambda: turns("some_of", {"count": 1}, "images", "cast"),
        "turns.images",
        "is UINT8, but turns.option_1 outputs FLOAT",
        "Add a cast to UINT8",
    ),
    "too deep": (deep, "if_17", "it is inside 16 nested blocks", "Nest fewer"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_names_the_node_and_the_remedy(case: str) -> None:
    make, place, message, remedy = FAULTS[case]
    found = [str(fault) for fault in check_graph(make(), CATALOG)]
    assert any(
        text.startswith((f"{place}: ") if place else "the output")
        and message in text
        and remedy in text
        for text in found
    ), found


def test_the_graph_itself_is_sound() -> None:
    assert check_graph(GRAPH, CATALOG) == ()


@pytest.mark.parametrize(
    ("op", "args"), [("repeat", {"times": 2}), ("some_of", {"count": 2, "shuffled": True})]
)
def test_turns_in_which_always_something_runs_may_change_the_type(
    op: str, args: dict[str, Any]
) -> None:
    assert check_graph(turns(op, args, "images", "cast"), CATALOG) == ()


def test_a_newer_version_says_so() -> None:
    data = json.loads(dump_graph(GRAPH)) | {"version": VERSION + 1}
    with pytest.raises(GraphFormatError, match="Open it with a newer workbench"):
        load_graph(json.dumps(data))


def test_version_1_opens_and_means_the_same() -> None:
    data = json.loads(dump_graph(GRAPH))
    (source,) = data.pop("sources")
    del source["kind"]
    old = data | {"version": 1, "nodes": [source, *data["nodes"]]}
    assert load_graph(json.dumps(old)) == GRAPH


def test_too_many_nodes_are_refused_in_one_sentence() -> None:
    data = json.loads(dump_graph(GRAPH))
    data["nodes"] += [{"id": f"n{number}", "op": "flip"} for number in range(100_000)]
    with pytest.raises(GraphFormatError, match=f"more than {MOST_FILE_NODES:,} nodes"):
        load_graph(json.dumps(data))


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_the_one_of_three_bodies_that_differs_is_named(odd: int) -> None:
    graph, block = wrap_as_options(load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"])
    graph = add_option(graph, CATALOG, block)
    node = graph.node(block)
    scope = node.scope(f"option_{odd}")
    body = graph.body_at(scope)
    cast = Node("cast", "cast", {"dtype": "FLOAT"}, {"data": body.outputs["images"]})
    body = replace(body, nodes=(*body.nodes, cast), outputs={"images": Port("cast", "output")})
    graph = graph.replace_body(scope, body)
    (fault,) = check_graph(graph, CATALOG)
    assert any(
        fix.label == f"Cast images of {scope} to UINT8"
        for fix in fixes(ResolvedGraph(graph, CATALOG), fault)
    )
    assert (fault.node, fault.arg, fault.about) == (block, "images", scope)
    assert fault.message.startswith(f"{scope} outputs FLOAT, but one_of.option_")
    assert fault.remedy == "Add a cast to UINT8 at its end."


def test_grey_beside_colour_is_converted_at_a_click() -> None:
    args: dict[str, Any] = {"image_type": "RGB", "output_type": "GRAY"}
    graph = chain_graph("resize", "color_space_conversion", color_space_conversion=args)
    graph, block = wrap_as_options(graph, CATALOG, ["color_space_conversion"])
    (fault,) = check_graph(graph, CATALOG)
    assert (fault.about, fault.arg) == (f"{block}.option_0", "images")
    offered = {fix.label: fix.graph for fix in fixes(ResolvedGraph(graph, CATALOG), fault)}
    mended = offered[f"Convert images of {block}.option_0 from GRAY to RGB"]
    assert check_graph(mended, CATALOG) == ()
    assert not [label for label in offered if "Cast" in label or "RGB to GRAY" in label]


def test_of_two_bodies_the_one_that_changes_the_type_differs() -> None:
    graph, block = wrap_in_block(chain_graph("resize", "cast"), CATALOG, ["cast"])
    graph = set_arg(graph, CATALOG, "cast", "dtype", "FLOAT")
    (fault,) = check_graph(graph, CATALOG)
    assert (fault.about, fault.remedy) == (f"{block}.then", "Add a cast to UINT8 at its end.")
    first, *_ = fixes(ResolvedGraph(graph, CATALOG), fault)
    assert first.label == f"Cast images of {block}.then to UINT8"
    assert check_graph(first.graph, CATALOG) == ()


def test_blocks_too_deep_are_refused() -> None:
    inner: dict[str, Any] = {"id": "x", "op": "if"}
    for number in range(200):
        inner = {"id": f"if_{number}", "op": "if", "bodies": {"then": {"nodes": [inner]}}}
    data = json.loads(dump_graph(GRAPH))
    data["nodes"].append(inner)
    with pytest.raises(GraphFormatError, match="16 deep"):
        load_graph(json.dumps(data))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"kind": "fodler"}, "'fodler' is not a source kind. Use one of: folder, array_request"),
        ({"kind": 3}, "3 is not a string"),
        ({"dataset": "two words"}, "'two words' is not a Python name"),
        ({"bodies": {}}, "bodies is unknown"),
    ],
)
def test_a_source_of_the_wrong_kind(entry: dict[str, Any], words: str) -> None:
    data = json.loads(dump_graph(GRAPH))
    data["sources"][0] |= entry
    with pytest.raises(GraphFormatError, match=words):
        load_graph(json.dumps(data))


def test_a_block_whose_id_another_node_has() -> None:
    """It is reported if the body cannot be identified."""
    graph = replace(GRAPH, nodes=(Node("inner", "flip"), *GRAPH.nodes))
    found = [str(fault) for fault in check_graph(graph, CATALOG)]
    assert any("2 nodes have this id" in text for text in found), found


def test_a_body_whose_name_holds_a_dot_is_refused() -> None:
    text = dump_graph(GRAPH).replace('"else"', '"or.else"')
    with pytest.raises(GraphFormatError, match=r"bodies\.or\.else: the name of a body"):
        load_graph(text)


def test_a_reader_with_bodies_is_a_fault_and_stays_in_its_file() -> None:
    graph = GRAPH.replace_node(replace(GRAPH.node("inner"), op="readers.file", seed=9))
    second = replace(graph.node("inner"), id="second", bodies={"then": Body()})
    graph = replace(graph, nodes=(*graph.nodes, second))
    assert load_graph(dump_graph(graph)) == graph
    assert "second: readers.file does not support bodies" in "".join(
        map(str, check_graph(graph, CATALOG))
    )
