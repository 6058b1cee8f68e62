"""Find all reasons why a graph cannot run, without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from workbench.arguments import checked
from workbench.catalog import load_catalog
from workbench.catalog.familiar_names import nearest_operators
from workbench.catalog.spec import CATALOG, OPAQUE, Catalog, OpSpec, Value
from workbench.errors import GraphFaultsError
from workbench.graph.annotations.followers import follower_faults, unmoved_faults
from workbench.graph.annotations.point_boxes import binding_faults
from workbench.graph.checks.check_blocks import block_faults
from workbench.graph.checks.check_nodes import (
    argument_faults,
    auto_augment_faults,
    input_faults,
    port_problem,
)
from workbench.graph.checks.check_samplers import sampler_faults
from workbench.graph.checks.check_types import NORMALIZES, per_channel_faults, type_faults
from workbench.graph.execution.active import active_graph, muted_nodes, set_muted, without_muted
from workbench.graph.execution.dataset_parameters import (
    decoder_faults,
    option_faults,
    parameter_faults,
)
from workbench.graph.execution.pipelines import executor_faults, pipeline_faults
from workbench.graph.model import CHOICES, GRAPH, Graph, Node, Port, is_name
from workbench.graph.model.bounds import LARGEST_SEED, SETTINGS, setting_fault
from workbench.graph.model.faults import Fault, Faults
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.types.devices import device_of
from workbench.graph.types.typed_graph import TypedGraph
from workbench.names import shortened

__all__ = [
    "LARGEST_SEED",
    "Fault",
    "check_graph",
    "require_sound",
    "stopping_faults",
]


@checked(graph=GRAPH, catalog=CATALOG)
def check_graph(graph: Graph, catalog: Catalog | None = None) -> Faults:
    """Return all faults of a graph: faults of the whole graph first, then in node order.

    Muted nodes are not checked; a fault that muting causes in another node names the muted node.
    ``catalog`` defaults to the catalogue of the installed DALI. A notebook displays the result as a
    table. ``check_warnings`` returns issues that do not prevent a run. Raises ArgumentError if
    ``graph`` is not a graph::

        assert not wb.check_graph(graph)
    """
    catalog = load_catalog() if catalog is None else catalog
    return Faults(all_faults(TypedGraph(graph, catalog)))


def all_faults(typed: TypedGraph) -> tuple[Fault, ...]:
    """Return the same faults as ``check_graph``; types and devices may be cached in ``typed``."""
    return checked_faults(typed.for_graph(without_muted(typed.graph, typed.catalog)), typed.graph)


def stopping_faults(graph: Graph, catalog: Catalog) -> tuple[Fault, ...]:
    """Return the faults that prevent a run; nodes that no output depends on are ignored."""
    return checked_faults(TypedGraph(active_graph(graph, catalog), catalog), graph)


def checked_faults(part: TypedGraph, graph: Graph) -> tuple[Fault, ...]:
    """Return the faults of ``part``, which is ``graph`` without muted nodes.

    The message of a fault caused by muting names the muted node.
    """
    faults = _faults_of(part)
    muted = muted_nodes(graph)
    if not faults or not muted:
        return faults
    before = _faults_of(part.for_graph(set_muted(graph, muted, False)))
    return tuple(each if each in before else _muting_fault(each, graph) for each in faults)


def _muting_fault(fault: Fault, graph: Graph) -> Fault:
    """Return a fault whose message names the muted node as the cause."""
    muted = muted_nodes(graph)
    ports = [Port(fault.node, "")]
    if fault.code == "output_source" and fault.about in graph.outputs:
        ports = [graph.outputs[fault.about]]
    before = ancestors(graph, ports)
    cause = next((node for node in reversed(muted) if node in before), muted[0])
    return replace(
        fault,
        message=f"{fault.message}, now that {cause!r} is muted",
        remedy=f"Unmute {cause!r}, or change what follows it.",
        code="muted",
        about=cause,
    )


def _faults_of(typed: TypedGraph) -> tuple[Fault, ...]:
    """Return the faults of the graph and of all its nodes, including nodes that do not run."""
    graph, catalog, devices, flows = typed.graph, typed.catalog, typed.devices, typed.types
    faults = list(_graph_faults(typed))
    for node in graph.walk():
        spec = catalog.find(node.op)
        if spec is None:
            faults.append(_unknown_fault(node, catalog))
            continue
        if spec.unusable:
            faults.append(_unusable_fault(node, spec))
        if spec.bodies or node.bodies:
            faults += block_faults(typed, node, spec)
        if spec.module:
            data = node.inputs.get("data")
            on_gpu = data is not None and device_of(devices, data) == "gpu"
            faults += auto_augment_faults(node, spec, on_gpu)
        faults += argument_faults(node, spec, graph)
        faults += input_faults(typed, node, spec)
        faults += type_faults(node, spec, devices, flows)
        if node.op == NORMALIZES:
            # Inserted with constants for three channels, even after grey images.
            inserted = {name for name, arg in spec.args.items() if node.args.get(name) == arg.start}
            found = per_channel_faults(node, spec, flows)
            faults += [fault for fault in found if fault.arg not in inserted]
        if spec.follows:
            faults += follower_faults(typed.at_scope(graph.scope_of(node.id)), node)
            faults += binding_faults(graph, node)
    if not faults:  # geometry requires valid nodes and edges
        faults += unmoved_faults(typed)
    return tuple(faults)


def require_sound(graph: Graph, catalog: Catalog) -> None:
    """Raise GraphFaultsError with all faults that prevent a run, if there are any."""
    faults = stopping_faults(graph, catalog)
    if faults:
        raise GraphFaultsError(faults)


def _unusable_fault(node: Node, spec: OpSpec) -> Fault:
    if node.op not in OPAQUE:
        words = f"{node.op} cannot be used: {spec.unusable}"
        return Fault(node.id, "", words, "Remove it.", "unusable_op")
    call, source, why = (_first_line(node.args.get(name)) for name in ("call", "source", "why"))
    where = f" ({source})" if source else ""
    reason = f": {why}" if why else ""
    return Fault(
        node.id,
        "",
        f"a graph cannot contain {call or 'this code'}{where}{reason}",
        "Replace it with operators of the graph, or remove it.",
        "unusable_op",
    )


def _first_line(value: Value | None) -> str:
    """Return the first line of a text, truncated and without its full stop."""
    text = next(iter(str(value or "").strip().splitlines()), "").rstrip(" .")
    return shortened(text, 100)


def _unknown_fault(node: Node, catalog: Catalog) -> Fault:
    near = nearest_operators(node.op, catalog)
    hint = f"Did you mean {near[0]}? " if near else ""
    return Fault(
        node.id,
        "",
        f"{shortened(node.op, 60)!r} is not an operator of DALI {catalog.dali_version}",
        f"{hint}Remove the node, or use a DALI version that has it.",
        "unknown_op",
    )


def _graph_faults(typed: TypedGraph) -> Iterator[Fault]:
    graph = typed.graph
    for node_id, count in Counter(node.id for node in graph.walk()).items():
        if count > 1:
            yield Fault(
                node_id, "", f"{count} nodes have this id", "Use unique ids.", "duplicate_id"
            )
        if not is_name(node_id):
            words = "the id is not a Python name"
            yield Fault(node_id, "", words, "Use letters, digits and '_' only.", "bad_id")
    yield from _output_faults(typed)
    # An opaque node may represent a reader, and has a fault of its own.
    if not graph.sources and not any(node.op in OPAQUE for node in graph.nodes):
        yield Fault(
            "", "", "no node reads images", "Add a reader, for example readers.file.", "no_reader"
        )
    yield from parameter_faults(graph)
    yield from sampler_faults(graph)
    yield from decoder_faults(graph)
    yield from option_faults(graph)
    _, cyclic = topological(graph)
    if cyclic:
        names = ", ".join(node.id for node in cyclic)
        yield Fault(
            cyclic[0].id,
            "",
            f"these nodes wait for each other: {names}",
            "Remove one edge.",
            "cycle",
        )
    yield from _setting_faults(graph)
    yield from pipeline_faults(typed)
    yield from executor_faults(typed)


def _output_faults(typed: TypedGraph) -> Iterator[Fault]:
    graph = typed.graph
    if not graph.outputs:
        yield Fault("", "", "the graph has no outputs", "Add at least one output.", "no_outputs")
    for name, port in graph.outputs.items():
        if not is_name(name):
            words = f"the output name {name!r} is not a Python name"
            yield Fault(port.node, "", words, "Rename it.", "output_name", name)
        problem = port_problem(typed, port)
        if problem:
            words, remedy = problem
            yield Fault(
                "",
                "",
                f"the output {name!r} comes from {port}, {words}",
                remedy,
                "output_source",
                name,
            )


def _setting_faults(graph: Graph) -> Iterator[Fault]:
    for name in (*SETTINGS, *CHOICES):
        if found := setting_fault(name, getattr(graph.settings, name)):
            yield Fault("", "", *found, "setting", name)
