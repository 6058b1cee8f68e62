"""Devices are said where they would be others without; copies stand where an edge changes sides."""

from __future__ import annotations

from tests.emit.pipeline_import.traces import decoder, op, pipeline, reader
from workbench.catalog import load_catalog
from workbench.emit.pipeline_import.calls.device_placement import with_devices
from workbench.emit.pipeline_import.calls.nodes import make_call
from workbench.emit.pipeline_import.ids import Made
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp
from workbench.graph import Graph, Node, Port, Settings
from workbench.graph.types.devices import infer_devices

CATALOG = load_catalog()
IMAGES = "__Image_0"


def sided(*ops: TracedOp, gives: tuple[TracedInput, ...] = (), mixed: bool = False) -> Graph:
    """The graph of the calls, with their own names for ids, after its sides are settled."""
    makers = {edge: one for one in ops for edge, _ in one.outputs}
    made: Made = [(one, make_call(one, CATALOG, Lines({}, ops), makers)) for one in ops]
    ids = {one.name: one.name.strip("_") for one in ops}
    ports = {
        edge: Port(ids[one.name], name)
        for one, call in made
        for (edge, _), name in zip(one.outputs, call.outputs, strict=True)
    }
    nodes = tuple(
        Node(ids[one.name], call.op, call.args, {k: ports[e.edge] for k, e in call.inputs.items()})
        for one, call in made
    )
    outputs = pipeline(*ops, gives=gives).outputs
    given = {f"out_{n}": ports[edge.edge] for n, edge in enumerate(outputs)}
    graph = Graph(nodes=nodes, outputs=given, settings=Settings(device="mixed" if mixed else "cpu"))
    return with_devices(graph, CATALOG, made, ids, outputs)


def devices(graph: Graph) -> dict[str, str | None]:
    return {node.id: node.device for node in graph.nodes if node.device is not None}


def test_a_graph_on_one_side_stays_as_it_is() -> None:
    graph = sided(reader(), decoder(), op("Flip", "__Flip_1", IMAGES))
    assert devices(graph) == {}
    assert len(graph.nodes) == 3


def test_an_operator_is_moved_by_its_device_alone() -> None:
    moved = op("Flip", "__Flip_1", TracedInput(IMAGES, "gpu"), device="gpu")
    graph = sided(reader(), decoder(), moved)
    assert devices(graph) == {"Flip_1": "gpu"}
    assert infer_devices(graph, CATALOG)["Flip_1"] == "gpu"


def test_a_decoder_on_the_other_side_than_the_graphs() -> None:
    graph = sided(reader(), decoder("cpu"), mixed=True)
    assert devices(graph) == {"Image_0": "cpu"}
    graph = sided(reader(), decoder("mixed"))
    assert devices(graph) == {"Image_0": "mixed"}


def test_one_copy_for_an_output_and_side() -> None:
    gives = tuple(TracedInput(IMAGES, side) for side in ("gpu", "cpu", "gpu"))
    graph = sided(reader(), decoder(), gives=gives)
    first, second, third = graph.outputs.values()
    assert first == third == Port("Image_0_gpu", "output")
    assert second == Port("Image_0", "output")
    copy = graph.node("Image_0_gpu")
    assert (copy.op, copy.device, copy.inputs) == ("copy", "gpu", {"data": second})
    assert len(graph.nodes) == 3


def test_back_to_the_cpu_in_between() -> None:
    back = op("Flip", "__Flip_1", TracedInput(IMAGES, "cpu"))
    graph = sided(reader(), decoder("mixed"), back, mixed=True)
    inferred = infer_devices(graph, CATALOG)
    assert inferred["Flip_1"] == "cpu"
    source = graph.node("Flip_1").inputs["data"]
    assert inferred[source.node] in ("cpu", "mixed")
    order = [node.id for node in graph.nodes]
    assert order.index(source.node) < order.index("Flip_1")
