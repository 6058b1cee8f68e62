"""List the operators that cannot be inserted at a point of the graph, with the reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.catalog.spec import Device, OpSpec, PortKind, kind_fits
from workbench.catalog.templates import Template
from workbench.graph.edits.compose import find_edge
from workbench.graph.edits.connect import narrowed_kind, require_port
from workbench.graph.model import Port
from workbench.graph.model.ports import KIND_WORDS, positional_ports
from workbench.graph.types.devices import device_of
from workbench.graph.types.typed_graph import TypedGraph

NEEDS_SOURCE = "it needs an input: start with a source"
_GPU_ONLY = "runs on the GPU only: decode on the GPU (mixed)"

Place = Port | str | None
"""Insertion point: the port to insert after, the id of the edge to split, or None (unconnected)."""


@dataclass(frozen=True)
class _Facts:
    """Types that a new node must accept and output at an insertion point."""

    kind: PortKind | None = None
    """Kind of the available data, or None for a node that is added without an edge."""
    wanted: PortKind | None = None
    elements: tuple[str, ...] = ()
    """Required element types; empty if any type is accepted."""
    into: str = ""
    """The input that requires the element type, as text for messages."""
    device: Device = "cpu"
    gpu: bool = True
    """Whether a GPU operator is allowed at the insertion point."""
    empty: bool = False
    """Whether the graph has no nodes."""


def incompatible_ops(typed: TypedGraph, place: Place) -> tuple[str, dict[str, str]]:
    """Return the kind of data at an insertion point, and why each unsuitable operator does not fit.

    In an empty graph only operators without inputs fit. In an empty body of a block, ``place`` is
    an input of the body. Raises GraphEditError if ``place`` does not exist in the graph.
    """
    facts = _edge_facts(typed, place)
    reasons = {
        name: spec.unusable or _incompatibility(spec, facts) for name, spec in typed.catalog.items()
    }
    return facts.kind or "", {name: reason for name, reason in reasons.items() if reason}


def incompatible_templates(
    typed: TypedGraph, templates: Iterable[Template], place: Place
) -> dict[str, str]:
    """Return, by name, why templates cannot be inserted at ``place``; suitable ones are omitted.

    Raises GraphEditError if the graph has no such port or edge.
    """
    facts = _edge_facts(typed, place)
    reasons = {each.name: _template_refusal(typed, each, facts) for each in templates}
    return {name: reason for name, reason in reasons.items() if reason}


def _template_refusal(typed: TypedGraph, template: Template, facts: _Facts) -> str | None:
    if facts.empty:
        return NEEDS_SOURCE
    if facts.kind not in (None, "image"):
        return f"it accepts images, not {KIND_WORDS[facts.kind]}"
    if facts.wanted and not kind_fits(facts.wanted, "image"):
        return f"it outputs images, but {facts.into} accepts {KIND_WORDS[facts.wanted]}"
    for node in template.nodes:
        spec = typed.catalog.find(node.op)
        if spec is None or spec.unusable:
            return f"this DALI version has no {node.op}"
        if spec.devices == ("gpu",) and not facts.gpu:
            return f"{node.op} {_GPU_ONLY}"
    return None


def _edge_facts(typed: TypedGraph, place: Place) -> _Facts:
    graph = typed.graph
    decodes_on_gpu = graph.settings.device != "cpu"
    if place is None:
        return _Facts(gpu=decodes_on_gpu, empty=not graph.nodes)
    wanted: PortKind | None = None
    elements: tuple[str, ...] = ()
    into = ""
    if isinstance(place, Port):
        source = place
        require_port(graph, source)
    else:
        source, target, name = find_edge(graph, place)
        into = f"{target}.{name}" if target else "the output"
        spec = typed.catalog.find(graph.node(target).op) if target else None
        if spec and name in spec.args:
            wanted, elements = "number", spec.args[name].dtypes
        elif spec:
            wanted = positional_ports(graph.node(target), spec).get(name)
    device = device_of(typed.devices, source)
    kind, flow = typed.kind(source), typed.types.get(source)
    if flow is not None:
        kind = narrowed_kind("image" if kind == "any" and wanted == "image" else kind, flow)
    return _Facts(kind, wanted, elements, into, device, decodes_on_gpu or device != "cpu")


def _incompatibility(spec: OpSpec, facts: _Facts) -> str | None:
    kind, wanted, into = facts.kind, facts.wanted, facts.into
    if not facts.gpu and {"cpu", "mixed"}.isdisjoint(spec.devices):
        return f"it {_GPU_ONLY}"
    if kind is None:
        needs = facts.empty and any(not port.optional for port in spec.inputs)
        return NEEDS_SOURCE if needs else None
    if not spec.inputs:
        return "it has no input: add it without a connection"
    takes = [port.kind for port in spec.inputs]
    if not any(kind_fits(taken, kind) for taken in takes):
        accepted = " and ".join(dict.fromkeys(KIND_WORDS[each] for each in takes))
        return f"it accepts {accepted}, not {KIND_WORDS[kind]}"
    works_on = spec.inputs[0].device in ("operator", "either")
    if facts.device != "cpu" and "gpu" not in spec.devices and works_on:
        return "it runs on the CPU only, and this place is on the GPU"
    gives = [kind if port.follows else port.kind for port in spec.outputs]
    if wanted and not any(kind_fits(wanted, given) for given in gives[:1]):
        found = KIND_WORDS[gives[0]] if gives else "nothing"
        return f"it outputs {found}, but {into} accepts {KIND_WORDS[wanted]}"
    rule = spec.outputs[0].gives if spec.outputs else None
    given = rule.dtype if rule and "dtype" not in spec.args else None
    if facts.elements and given and given.isupper() and given not in facts.elements:
        return f"it outputs {given}, but {into} accepts {' or '.join(facts.elements)}"
    return None
