"""Build the payloads of the canvas: nodes, edges, and operators that can be added."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.catalog.extra_operators.user_functions import OWN_CODE
from workbench.catalog.spec import OPAQUE, ArgSpec, Catalog, Device, OpSpec, PortSpec
from workbench.graph.checks.check import Fault
from workbench.graph.edits.compose import edge_id
from workbench.graph.edits.edit import is_movable
from workbench.graph.execution.active import unused_nodes
from workbench.graph.model import Edge, Graph, Node, Port
from workbench.graph.model.faults import WARNINGS
from workbench.graph.model.node_order import topological
from workbench.graph.model.policy import policy_text
from workbench.graph.model.ports import outputs_of, positional_ports
from workbench.graph.storage.layout import Layout
from workbench.graph.types.devices import device_of, is_generator
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.contract.encoding import empty
from workbench.ui.contract.payloads import (
    DrawEntry,
    EdgeEntry,
    NodeEntry,
    OperatorEntry,
    PortEntry,
    Role,
)
from workbench.ui.inspector.argument_rows import caution_note
from workbench.ui.inspector.block_payloads import (
    body_entries,
    card_around,
    condition_of,
    expanded_bodies,
    faulty_scopes,
)
from workbench.ui.inspector.random_argument_payloads import distribution, random_view

_COMMON_WORDS = """
about above after also argument arguments because been before being below between both cannot
contains could does each either else following from given have into just like many more most must
none note only operator other otherwise output outputs over same should some such than that their
them then there these they this those through used uses using value values were what when where
whether which while will with without would your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words of the documentation that are too common to search for."""


def operator_entries(specs: Iterable[OpSpec]) -> list[OperatorEntry]:
    """Return payloads of operators or blocks, including those that cannot be used."""
    return [
        {
            "name": spec.name,
            "label": spec.label,
            "synonyms": list(spec.synonyms),
            "category": spec.category,
            "summary": spec.summary,
            "devices": list(spec.devices),
            "unusable": spec.unusable or "",
            "words": _search_words(spec),
            "inputs": [port.kind for port in spec.inputs],
            "outputs": [port.kind for port in spec.outputs],
        }
        for spec in specs
    ]


def _search_words(spec: OpSpec) -> str:
    """Return search words from the documentation that name, label and summary do not contain."""
    shown = set(re.findall(r"[a-z]{4,}", f"{spec.name} {spec.label} {spec.summary}".lower()))
    words = dict.fromkeys(re.findall(r"[a-z]{4,}", spec.doc.lower()))
    return " ".join(word for word in words if word not in shown and word not in _COMMON)


def folded_generators_in_scope(
    graph: Graph, catalog: Catalog, layout: Layout
) -> dict[str, tuple[str, str]]:
    """Map each generator shown inside another node's card to that node and its argument.

    Only the graph's own body is searched; see ``all_folded_generators``.
    """
    given = {port.node for port in graph.outputs.values()}
    fed: dict[str, list[tuple[str, str]]] = {}
    for edge in graph.edges:
        fed.setdefault(edge.source.node, []).append((edge.target, edge.input))
    folded = {}
    for node in graph.nodes:
        spec = catalog.find(node.op)
        if spec is None or not is_generator(spec) or node.inputs:
            continue
        if node.id in given or node.id in layout.unfolded or len(fed.get(node.id, ())) != 1:
            continue
        target, into = fed[node.id][0]
        target_spec = catalog.find(graph.node(target).op)
        if target_spec is not None and into in target_spec.args:
            folded[node.id] = target, into
    return folded


def all_folded_generators(
    graph: Graph, catalog: Catalog, layout: Layout
) -> dict[str, tuple[str, str]]:
    """Merge ``folded_generators_in_scope`` of all bodies, including the bodies inside blocks."""
    found: dict[str, tuple[str, str]] = {}
    for scope, _ in graph.bodies():
        found |= folded_generators_in_scope(graph.at_scope(scope), catalog, layout)
    return found


def on_visible_nodes(typed: TypedGraph, layout: Layout, faults: Sequence[Fault]) -> list[Fault]:
    """Return the faults. A fault of a folded generator is moved to the argument that uses it."""
    folded = all_folded_generators(typed.graph, typed.catalog, layout)
    return [_moved(fault, folded) for fault in faults]


def _moved(fault: Fault, folded: Mapping[str, tuple[str, str]]) -> Fault:
    if fault.node not in folded:
        return fault
    node, arg = folded[fault.node]
    message = f"{fault.arg}: {fault.message}" if fault.arg else fault.message
    return replace(fault, node=node, arg=arg, message=message)


def node_entries(
    typed: TypedGraph,
    layout: Layout,
    devices: Mapping[str, Device],
    facts: Mapping[str, str],
    flows: Mapping[Port, str],
    faults: Sequence[Fault],
    classes: Sequence[str] = (),
) -> list[NodeEntry]:
    """Return payloads of the visible nodes in execution order. A body starts with its input card.

    The nodes in the bodies of an expanded block follow the block. ``facts`` describe the outputs of
    the last run, by node id. ``flows`` are the types of ports, as far as they are known without a
    run. ``classes`` are the class names of the data.
    """
    graph = typed.graph
    folded = folded_generators_in_scope(graph, typed.catalog, layout)
    cards = [node for node in _all_sorted(graph) if node.id not in folded]
    feeding = graph.body.used_ports
    first: dict[str, Fault] = {}
    for fault in faults:
        if (shown := card_around(graph, fault.node)) != fault.node:
            fault = replace(fault, message=f"{fault.node}: {fault.message}")
        first.setdefault(shown, fault)
    faulty = faulty_scopes(graph, [fault for fault in faults if fault.code not in WARNINGS])
    count = Counter(node.op for node in cards)
    loose = unused_nodes(graph.whole)
    entries = [_body_input_entries(typed, devices, flows, feeding)] if graph.scope else []
    for node in cards:
        spec = typed.catalog.find(node.op)
        outputs = _outputs(typed, node, flows, feeding)
        entries.append(
            {
                "id": node.id,
                "op": node.op,
                "title": _title(typed, node, classes),
                "label": spec.label if spec else "",
                "role": role_of(spec),
                "device": devices[node.id],
                "output": _generator_text(typed, node)
                or facts.get(node.id)
                or _outputs_text(outputs),
                "values": changed_values(node, spec),
                "draws": _draws(typed, node, folded),
                "inputs": _inputs(typed, node, folded),
                "outputs": outputs,
                "fault": first[node.id].message if node.id in first else "",
                "warned": node.id in first and first[node.id].code in WARNINGS,
                "movable": is_movable(node, typed.catalog),
                "generator": spec is not None and is_generator(spec),
                "known": spec is not None and node.op not in OPAQUE,
                "twin": count[node.op] > 1,
                "note": _note(node, spec, outputs, node.id in loose),
                "muted": node.muted,
                "loose": node.id in loose,
                "bodies": body_entries(node, faulty),
                "expanded": bool(node.bodies) and node.id not in layout.collapsed,
                "scope": graph.scope,
            }
        )
        for body in expanded_bodies(graph, node, layout):
            entries += node_entries(
                typed.for_graph(body), layout, devices, facts, flows, faults, classes
            )
    return entries


def _body_input_entries(
    typed: TypedGraph,
    devices: Mapping[str, Device],
    flows: Mapping[Port, str],
    feeding: Collection[Port],
) -> NodeEntry:
    graph = typed.graph
    ports = [Port(graph.scope, name) for name in graph.whole.body_at(graph.scope).inputs]
    outputs = [
        _port(
            PortSpec(port.output, typed.kind(port)),
            fed=port in feeding,
            flows=flows.get(port, ""),
        )
        for port in ports
    ]
    return empty(
        NodeEntry,
        id=graph.scope,
        scope=graph.scope,
        title="inputs",
        label=f"Inputs of {graph.scope}",
        role="other",
        device=device_of(devices, ports[0]) if ports else "cpu",
        output=", ".join(port["name"] for port in outputs) or "nothing",
        outputs=outputs,
        known=True,
    )


def _title(typed: TypedGraph, node: Node, classes: Sequence[str]) -> str:
    if node.bodies:
        return f"{node.op} {condition_of(typed, node, classes)}".strip()
    if node.op in OWN_CODE and node.args.get("function"):
        return str(node.args["function"])[:80]
    call = node.args.get("call") if node.op in OPAQUE else None
    return call.partition("\n")[0][:80] if isinstance(call, str) and call else node.op


def _note(node: Node, spec: OpSpec | None, outputs: Sequence[PortEntry], loose: bool) -> str:
    if node.muted:
        return "muted"
    idle = outputs and not any(port["fed"] for port in outputs)
    generator = spec is not None and is_generator(spec)  # its pill has no room for text
    if generator or not (idle or loose):
        return caution_note(node)
    return "not connected" if idle else "not connected to an output"


def _all_sorted(graph: Graph) -> list[Node]:
    ordered, cyclic = topological(graph)
    return [*ordered, *cyclic]


def _generator_text(typed: TypedGraph, node: Node) -> str:
    view = random_view(typed, Port(node.id, ""))
    return distribution(view["op"], view["args"]) if view else ""


def _outputs_text(outputs: Sequence[PortEntry]) -> str:
    return ", ".join(port["flows"] or port["kind"] for port in outputs) or "?"


def _inputs(
    typed: TypedGraph, node: Node, folded: Mapping[str, tuple[str, str]]
) -> list[PortEntry]:
    spec = typed.catalog.find(node.op)
    arguments = spec.args if spec else {}
    ports: list[PortEntry] = []
    if spec is not None:
        for index, (name, kind) in enumerate(positional_ports(node, spec).items()):
            optional = spec.input(index).optional
            fed, decides = name in node.inputs, _decides(spec, name)
            if node.bodies and fed and not decides:
                kind = typed.kind(node.inputs[name])
            ports.append(_port(PortSpec(name, kind, optional), fed=fed, argument=decides))
    known = {port["name"] for port in ports}
    for name, source in node.inputs.items():
        if name in known or source.node in folded:
            continue
        kind = "number" if name in arguments else "any"
        ports.append(_port(PortSpec(name, kind), fed=True, argument=name in arguments))
    return ports


def _decides(spec: OpSpec | None, input_name: str) -> bool:
    """Return whether input ``input_name`` of a block is its condition (drawn like an argument)."""
    return spec is not None and bool(spec.bodies) and any(p.name == input_name for p in spec.inputs)


def _outputs(
    typed: TypedGraph, node: Node, flows: Mapping[Port, str], feeding: Collection[Port]
) -> list[PortEntry]:
    spec = typed.catalog.find(node.op)
    if spec is not None:
        ports = tuple(
            replace(port, kind=typed.kind(Port(node.id, port.name))) if node.bodies else port
            for port in outputs_of(node, spec)
        )
    else:
        names = dict.fromkeys(port.output for port in sorted(feeding) if port.node == node.id)
        ports = tuple(PortSpec(name) for name in names)
    return [
        _port(port, fed=(at := Port(node.id, port.name)) in feeding, flows=flows.get(at, ""))
        for port in ports
    ]


def _port(spec: PortSpec, *, fed: bool, argument: bool = False, flows: str = "") -> PortEntry:
    return {
        "name": spec.name,
        "kind": spec.kind,
        "argument": argument,
        "fed": fed,
        "optional": spec.optional,
        "flows": flows,
    }


def edge_entries(
    typed: TypedGraph, layout: Layout, devices: Mapping[str, Device]
) -> list[EdgeEntry]:
    """Return payloads of the edges between visible nodes, and to outputs of visible bodies."""
    graph = typed.graph
    folded = folded_generators_in_scope(graph, typed.catalog, layout)
    entries = []
    for edge in graph.edges:
        if edge.source.node in folded or not graph.owns(edge.source):
            continue
        spec = typed.catalog.find(graph.node(edge.target).op)
        argument = spec is not None and (edge.input in spec.args or _decides(spec, edge.input))
        entries.append(_edge(typed, edge, devices, argument=argument))
    for name, port in graph.outputs.items():
        if graph.owns(port):
            entries.append(_edge(typed, Edge(port, "", name), devices))
    for node in graph.nodes:
        for body in expanded_bodies(graph, node, layout):
            for entry in edge_entries(typed.for_graph(body), layout, devices):
                if entry["id"].startswith(":"):
                    entry = {**entry, "id": f"{body.scope}{entry['id']}"}
                entries.append(entry)
    return entries


def _edge(
    typed: TypedGraph, edge: Edge, devices: Mapping[str, Device], *, argument: bool = False
) -> EdgeEntry:
    source, target, into = edge
    enters = device_of(devices, source) == "cpu" and devices.get(target, "cpu") != "cpu"
    return {
        "id": edge_id(target, into),
        "source": source.node,
        "output": source.output,
        "target": target,
        "input": into,
        "kind": typed.kind(source),
        "argument": argument,
        "crosses": "to the GPU" if enters and not argument else "",
    }


def _draws(typed: TypedGraph, node: Node, folded: Mapping[str, tuple[str, str]]) -> list[DrawEntry]:
    found: list[DrawEntry] = []
    for name, port in node.inputs.items():
        view = random_view(typed, port) if port.node in folded else None
        if view is not None:
            text = f"{name} ~ {distribution(view['op'], view['args'])}"
            found.append({"arg": name, "text": text})
    return found


# Role and changed values on a card

_ROLES: dict[str, Role] = {
    "source": "read",
    "decode": "decode",
    "geometry": "geometry",
    "crop": "geometry",
    "transforms": "geometry",
    "occlusion": "geometry",
    "boxes": "geometry",
    "points": "geometry",
    "masks": "geometry",
    "colour": "colour",
    "filter": "colour",
    "noise": "colour",
    "policy": "colour",
    "arithmetic": "arithmetic",
    "statistics": "arithmetic",
    "random": "arithmetic",
    "format": "output",
}
"""Role of an operator by its category in the catalogue; "other" for all other categories."""
_FEW = 4
"""Maximum number of list elements that a node card shows."""


def role_of(spec: OpSpec | None) -> Role:
    """Return the role of an operator, which determines the colour of its card."""
    if spec is None:
        return "other"
    if spec.reads:
        return "read"
    return _ROLES.get(spec.category, "other")


def changed_values(node: Node, spec: OpSpec | None) -> str:
    """Format the arguments that differ from their defaults, for example ``size 256, fill_value 0``.

    For a generator, format its random values.
    """
    if spec is None or is_generator(spec):
        return ""
    changes = [
        policy_text(value) if arg.kind == "policy" else f"{name} {_short(value)}"
        for name, value in node.args.items()
        if (arg := spec.args.get(name)) is not None and _is_changed(arg, value)
    ]
    return ", ".join(changes)


def _is_changed(arg: ArgSpec, value: Any) -> bool:
    usual = arg.default if arg.start is None else arg.start
    return arg.form != "shown" and bool(value != usual)


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    if isinstance(value, str):
        line = value.partition("\n")[0]
        return line if len(line) <= 24 else f"{line[:23]}…"
    if isinstance(value, Sequence):
        shown = [_short(each) for each in value[:_FEW]]
        return ", ".join([*shown, "…"] if len(value) > _FEW else shown)
    return "…"
