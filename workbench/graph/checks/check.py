"""All reasons why a graph cannot run, found in one pass without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from workbench.arguments import WHOLE, checked
from workbench.catalog import load_catalog
from workbench.catalog.familiar_names import nearest_operators
from workbench.catalog.spec import CATALOG, OPAQUE, Catalog, OpSpec, Value
from workbench.errors import GraphFaultsError
from workbench.graph.annotations.followers import follower_faults, unmoved_faults
from workbench.graph.checks.check_blocks import block_faults
from workbench.graph.checks.check_nodes import (
    argument_faults,
    auto_augment_faults,
    input_faults,
    port_problem,
)
from workbench.graph.checks.check_types import NORMALIZES, per_channel_faults, type_faults
from workbench.graph.execution.active import active_graph, muted_nodes, set_muted, without_muted
from workbench.graph.execution.dataset_parameters import decoder_faults, parameter_faults
from workbench.graph.execution.pipelines import executor_faults, pipeline_faults
from workbench.graph.model import CHOICES, GRAPH, Graph, Node, Port, is_name
from workbench.graph.model.bounds import LARGEST_SEED, SETTINGS
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
    """Every fault of the graph, those of the whole first, then in the order of the nodes.

    A muted node has none; what muting it brings about elsewhere names it. ``catalog`` is that of
    the installed DALI by default. The tuple that it gives shows itself as a table in a notebook.
    ``check_warnings`` returns what does not stop a run but may not be meant. Raises ArgumentError
    for what is no graph::

        assert not wb.check_graph(graph)
    """
    catalog = load_catalog() if catalog is None else catalog
    return Faults(all_faults(TypedGraph(graph, catalog)))


def all_faults(typed: TypedGraph) -> tuple[Fault, ...]:
    """What ``check_graph`` returns, of a graph of which types and devices may be known."""
    return checked_faults(typed.of(without_muted(typed.graph, typed.catalog)), typed.graph)


def stopping_faults(graph: Graph, catalog: Catalog) -> tuple[Fault, ...]:
    """The faults because of which a graph cannot run: not those of nodes that are loose."""
    return checked_faults(TypedGraph(active_graph(graph, catalog), catalog), graph)


def checked_faults(part: TypedGraph, graph: Graph) -> tuple[Fault, ...]:
    """The faults of what is left of a graph without its muted nodes.

    Those that muting has brought about are in other words.
    """
    faults = _faults_of(part)
    muted = muted_nodes(graph)
    if not faults or not muted:
        return faults
    before = _faults_of(part.of(set_muted(graph, muted, False)))
    return tuple(each if each in before else _by_muting(each, graph) for each in faults)


def _by_muting(fault: Fault, graph: Graph) -> Fault:
    """A fault that is there because a node is muted: one before its node, else the first."""
    muted = muted_nodes(graph)
    ports = [Port(fault.node, "")]
    if fault.code == "output_source" and fault.about in graph.outputs:
        ports = [graph.outputs[fault.about]]
    before = ancestors(graph, ports)
    cause = next((node for node in reversed(muted) if node in before), muted[0])
    return replace(
        fault,
        message=f"{fault.message}, now that {cause} is muted",
        remedy=f"Unmute {cause}, or change what follows it.",
        code="muted",
        about=cause,
    )


def _faults_of(typed: TypedGraph) -> tuple[Fault, ...]:
    """The faults of all nodes, whether they run or not."""
    graph, catalog, devices, flows = typed.graph, typed.catalog, typed.devices, typed.types
    faults = list(_whole(typed))
    for node in graph.walk():
        spec = catalog.find(node.op)
        if spec is None:
            faults.append(_unknown(node, catalog))
            continue
        if spec.unusable:
            faults.append(_unusable(node, spec))
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
            # Inserted with constants for three channels, also behind grey images.
            inserted = {name for name, arg in spec.args.items() if node.args.get(name) == arg.start}
            found = per_channel_faults(node, spec, flows)
            faults += [fault for fault in found if fault.arg not in inserted]
        if spec.follows:
            faults += follower_faults(typed.at_scope(graph.scope_of(node.id)), node)
    if not faults:  # geometry needs a graph whose nodes and edges are sound
        faults += unmoved_faults(typed)
    return tuple(faults)


def require_sound(graph: Graph, catalog: Catalog) -> None:
    """Raise GraphFaultsError with every fault that stops the graph, if there is one."""
    faults = stopping_faults(graph, catalog)
    if faults:
        raise GraphFaultsError(faults)


def _unusable(node: Node, spec: OpSpec) -> Fault:
    if node.op not in OPAQUE:
        words = f"{node.op} cannot be used: {spec.unusable}"
        return Fault(node.id, "", words, "Remove it.", "unusable_op")
    call, source, why = (_line(node.args.get(name)) for name in ("call", "source", "why"))
    where = f" ({source})" if source else ""
    reason = f": {why}" if why else ""
    return Fault(
        node.id,
        "",
        f"it stands for {call or 'code'}{where}, which the graph cannot hold{reason}",
        "Put operators of the graph in its place, or remove it.",
        "unusable_op",
    )


def _line(value: Value | None) -> str:
    """The first line of a text, short, without a full stop."""
    text = next(iter(str(value or "").strip().splitlines()), "").rstrip(" .")
    return shortened(text, 100)


def _unknown(node: Node, catalog: Catalog) -> Fault:
    near = nearest_operators(node.op, catalog)
    hint = f"Did you mean {near[0]}? " if near else ""
    return Fault(
        node.id,
        "",
        f"{shortened(node.op, 60)!r} is no operator of DALI {catalog.dali_version}",
        f"{hint}Remove the node, or use a DALI that has it.",
        "unknown_op",
    )


def _whole(typed: TypedGraph) -> Iterator[Fault]:
    graph = typed.graph
    for node_id, count in Counter(node.id for node in graph.walk()).items():
        if count > 1:
            yield Fault(
                node_id, "", f"{count} nodes have this id", "Give each its own.", "duplicate_id"
            )
        if not is_name(node_id):
            words = "the id is not a Python name"
            yield Fault(node_id, "", words, "Use letters, digits and '_' only.", "bad_id")
    yield from _outputs(typed)
    # An opaque node may stand for what reads, and has a fault of its own.
    if not graph.sources and not any(node.op in OPAQUE for node in graph.nodes):
        yield Fault(
            "", "", "nothing reads images", "Add a reader, for example readers.file.", "no_reader"
        )
    yield from parameter_faults(graph)
    yield from decoder_faults(graph)
    _, cyclic = topological(graph)
    if cyclic:
        names = ", ".join(node.id for node in cyclic)
        yield Fault(
            cyclic[0].id, "", f"these nodes wait for each other: {names}", "Cut one edge.", "cycle"
        )
    yield from _settings(graph)
    yield from pipeline_faults(typed)
    yield from executor_faults(typed)


def _outputs(typed: TypedGraph) -> Iterator[Fault]:
    graph = typed.graph
    if not graph.outputs:
        yield Fault(
            "", "", "the graph gives nothing out", "Name at least one output.", "no_outputs"
        )
    for name, port in graph.outputs.items():
        if not is_name(name):
            words = f"the output name {name!r} is not a Python name"
            yield Fault(port.node, "", words, "Rename it.", "output_name", name)
        problem = port_problem(typed, port)
        if problem:
            words, remedy = problem
            yield Fault(
                "", "", f"output {name!r} comes from {port}, {words}", remedy, "output_source", name
            )


def _settings(graph: Graph) -> Iterator[Fault]:
    settings = graph.settings
    for name, (least, most) in SETTINGS.items():
        value = getattr(settings, name)
        if not WHOLE.fits(value) or not least <= value <= most:
            words = "a number from 0" if name == "seed" else f"a whole number from {least}"
            yield Fault("", "", f"{name} is {value!r}", f"Give {words} to {most}.", "setting", name)
    for name, allowed in CHOICES.items():
        if (value := getattr(settings, name)) not in allowed:
            words = " or ".join(allowed)
            yield Fault("", "", f"{name} is {value!r}", f"Give {words}.", "setting", name)
