from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from tests.helpers import CHAINS, chain_graph
from workbench.catalog import Catalog, load_catalog
from workbench.emit.core.naming import RESERVED, name_outputs
from workbench.graph import Graph, Node, Port, load_recipe, load_recipes
from workbench.graph.model.node_order import topological
from workbench.graph.model.ports import outputs_of

CATALOG = load_catalog()
READ = Port("reader", "labels")


def names_of(graph: Graph) -> dict[str, str]:
    ordered, _ = topological(graph)
    return {str(port): name for port, name in name_outputs(graph, CATALOG, ordered).items()}


def simulate(graph: Graph) -> None:
    """Run the assignments: every node must find its inputs under their names."""
    ordered, _ = topological(graph)
    names = name_outputs(graph, CATALOG, ordered)
    holds: dict[str, Port] = {}
    for node in ordered:
        for port in node.inputs.values():
            assert holds[names[port]] == port, (node.id, port)
        given = outputs_of(node, CATALOG[node.op])
        made = [Port(node.id, output.name) for output in given]
        assert len({names[port] for port in made}) == len(made)
        holds |= {names[port]: port for port in made}
    for port in graph.outputs.values():
        assert holds[names[port]] == port


@given(CHAINS)
def test_no_variable_is_overwritten_while_needed(graph: Graph) -> None:
    simulate(graph)


@pytest.mark.parametrize("graph", load_recipes().values(), ids=lambda graph: graph.name)
def test_recipes(graph: Graph) -> None:
    simulate(graph)


def test_a_chain_keeps_one_name() -> None:
    assert names_of(load_recipe("imagenet-train")) == {
        "reader.jpegs": "jpegs",
        "reader.labels": "labels",
        "decode.output": "images",
        "crop.output": "images",
        "mirror.output": "mirror",
        "normalize.output": "images",
    }


def test_a_name_passes_on_only_to_what_is_of_its_kind() -> None:
    """The anchor of a crop is made with the boxes and read with the image: it is neither."""
    graph = load_recipe("imagenet-eval")
    box, cut = CATALOG["random_bbox_crop"], CATALOG["decoders.image_slice"]
    boxes, classes = (port.name for port in box.inputs)
    data, anchor, shape = (port.name for port in cut.inputs)
    nodes = (
        graph.node("reader"),
        Node("fixed", "constant", {"fdata": (0.1, 0.1, 0.6, 0.7)}),
        Node("box", box.name, {}, {boxes: Port("fixed", "output"), classes: READ}),
        Node("cut", cut.name, {}, {
            data: Port("reader", "jpegs"),
            anchor: Port("box", "anchor"),
            shape: Port("box", "shape"),
        }),
    )  # fmt: skip
    outputs = {
        "images": Port("cut", "output"),
        "boxes": Port("box", "boxes"),
        "classes": Port("box", "labels"),
    }
    graph = replace(graph, nodes=nodes, outputs=outputs)
    simulate(graph)
    assert names_of(graph) == {
        "reader.jpegs": "jpegs",
        "reader.labels": "classes",
        "fixed.output": "boxes",
        "box.anchor": "box_anchor",
        "box.shape": "box_shape",
        "box.boxes": "boxes",
        "box.labels": "classes",
        "cut.output": "images",
    }


def test_every_stage_as_an_output() -> None:
    graph = chain_graph("resize", "rotate", "flip")
    taps = {f"after_{n.id}": Port(n.id, "output") for n in graph.nodes[1:]}
    graph = replace(graph, outputs={**graph.outputs, **taps})
    simulate(graph)


def test_one_port_under_two_output_names() -> None:
    graph = chain_graph("rotate")
    graph = replace(graph, outputs={**graph.outputs, "again": Port("rotate", "output")})
    simulate(graph)


def test_reserved_names_are_never_given(catalog: Catalog) -> None:
    graph = chain_graph("rotate")
    for name in RESERVED:
        tapped = replace(graph, outputs={name: Port("rotate", "output")})
        assert name not in names_of(tapped).values()
        simulate(tapped)


def test_names_that_are_read_as_numbers_give_way_to_what_they_hold() -> None:
    graph = load_recipe("imagenet-eval")
    ends = dict(zip(("l", "O"), reversed(graph.outputs.values()), strict=True))
    assert ends["l"] == Port("reader", "labels")
    names = names_of(replace(graph, outputs=ends))
    assert names["reader.labels"] == "labels"
    assert names[str(ends["O"])] == "images"


def test_what_goes_into_a_not_or_a_mean_keeps_its_own_name() -> None:
    image = Port("decode", "output")
    first = CATALOG["reductions.mean"].inputs[0].name
    nodes = (
        *chain_graph().nodes,
        Node("mask", "math.gt", {"right": 100}, {"data": image}),
        Node("flipped", "math.bitxor", {"right": True}, {"data": Port("mask", "output")}),
        Node("mean", "reductions.mean", {}, {first: image}),
        Node("less", "math.sub", {}, {"data": image, "other": Port("mean", "output")}),
    )
    outputs = {"mask_other": Port("flipped", "output"), "shifted": Port("less", "output")}
    names = names_of(replace(chain_graph(), nodes=nodes, outputs=outputs))
    kept = ("mask.output", "flipped.output", "mean.output", "less.output")
    assert [names[port] for port in kept] == ["mask", "mask_other", "mean", "shifted"]
