"""Which operators fit a place of the graph, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.catalog.spec import Device, OpSpec, PortKind, kind_fits
from workbench.catalog.templates import Template
from workbench.graph.edits.compose import find_edge
from workbench.graph.edits.connect import narrowed_kind, require_given
from workbench.graph.model import Port
from workbench.graph.model.ports import positional_ports
from workbench.graph.types.devices import device_of
from workbench.graph.types.typed_graph import TypedGraph

NEEDS_SOURCE = "there is nothing yet for it to work on: begin with a source"

Place = Port | str | None
"""A port to follow, the id of an edge to go into, or None for a node on its own."""


def incompatible_ops(typed: TypedGraph, place: Place) -> tuple[str, dict[str, str]]:
    """What flows at a place, and why operators do not fit there; those that fit are left out.

    In an empty graph only what needs nothing fits; an empty body has what it takes in.

    Raises GraphEditError for a place that the graph does not have.
    """
    kind, wanted, into, device = _facts(typed, place)
    elements = _elements(typed, place)
    nothing = place is None and not typed.graph.nodes
    reasons = {}
    for name, spec in typed.catalog.items():
        reason = (
            spec.unusable
            or _incompatibility(spec, kind, wanted, into, device, typed.graph.settings.device)
            or _element_refusal(spec, elements, into)
        )
        if not reason and nothing and any(not port.optional for port in spec.inputs):
            reason = NEEDS_SOURCE
        if reason:
            reasons[name] = reason
    return kind or "", reasons


def incompatible_templates(
    typed: TypedGraph, templates: Iterable[Template], place: Place
) -> dict[str, str]:
    """The same of templates, by name. Raises GraphEditError as above."""
    kind, wanted, into, device = _facts(typed, place)
    nothing = place is None and not typed.graph.nodes
    reasons = {}
    for template in templates:
        reason = None
        if nothing:
            reason = NEEDS_SOURCE
        elif kind not in (None, "image"):
            reason = f"it takes image, not {kind}"
        elif wanted and not kind_fits(wanted, "image"):
            reason = f"it gives image, and {into} takes {wanted}"
        else:
            reason = _device_refusal(typed, template, device, typed.graph.settings.device)
        if reason:
            reasons[template.name] = reason
    return reasons


def _device_refusal(
    typed: TypedGraph, template: Template, device: Device, decode: Device
) -> str | None:
    for node in template.nodes:
        spec = typed.catalog.find(node.op)
        if spec is None or spec.unusable:
            return f"this DALI has no {node.op}"
        if spec.devices == ("gpu",) and device == decode == "cpu":
            return f"{node.op} runs on the GPU only: decode on the GPU (mixed)"
    return None


def _facts(typed: TypedGraph, place: Place) -> tuple[PortKind | None, PortKind | None, str, Device]:
    """Kind that arrives, kind that must come out and what wants it, and the device."""
    if place is None:
        return None, None, "", "cpu"
    wanted: PortKind | None = None
    into = ""
    if isinstance(place, Port):
        source = place
        require_given(typed.graph, source)
    else:
        source, target, name = find_edge(typed.graph, place)
        into = f"{target}.{name}" if target else "the output"
        wanted = _wanted(typed, target, name)
    device = device_of(typed.devices, source)
    kind, flow = typed.kind(source), typed.types.get(source)
    if flow is not None:
        kind = narrowed_kind("image" if kind == "any" and wanted == "image" else kind, flow)
    return kind, wanted, into, device


def _wanted(typed: TypedGraph, target: str, into: str) -> PortKind | None:
    if not target:
        return None
    node = typed.graph.node(target)
    spec = typed.catalog.find(node.op)
    if spec is None:
        return None
    if into in spec.args:
        return "number"
    return positional_ports(node, spec).get(into)


def _elements(typed: TypedGraph, place: Place) -> tuple[str, ...]:
    """The element types that the argument at a place may be fed with; empty for any."""
    if not isinstance(place, str):
        return ()
    _, target, into = find_edge(typed.graph, place)
    spec = typed.catalog.find(typed.graph.node(target).op) if target else None
    arg = spec.args.get(into) if spec else None
    return arg.dtypes if arg else ()


def _element_refusal(spec: OpSpec, elements: tuple[str, ...], into: str) -> str | None:
    """Why an argument cannot take what an operator always gives, such as the BOOL of ``>``."""
    rule = spec.outputs[0].gives if spec.outputs else None
    given = rule.dtype if rule and "dtype" not in spec.args else None
    if elements and given and given.isupper() and given not in elements:
        return f"it gives {given}, and {into} takes {' or '.join(elements)}"
    return None


def _incompatibility(
    spec: OpSpec,
    kind: PortKind | None,
    wanted: PortKind | None,
    into: str,
    device: Device,
    decode: Device,
) -> str | None:
    if "cpu" not in spec.devices and "mixed" not in spec.devices and device == decode == "cpu":
        return "it runs on the GPU only: decode on the GPU (mixed)"
    if kind is None:
        return None
    if not spec.inputs:
        return "it has no input: add it on its own"
    takes = [port.kind for port in spec.inputs]
    if not any(kind_fits(taken, kind) for taken in takes):
        return f"it takes {' and '.join(dict.fromkeys(takes))}, not {kind}"
    works_on = any(port.device in ("operator", "either") for port in spec.inputs[:1])
    if device != "cpu" and "gpu" not in spec.devices and works_on:
        return "it runs on the CPU only, and this place is on the GPU"
    gives = [kind if port.follows else port.kind for port in spec.outputs]
    if wanted and not any(kind_fits(wanted, given) for given in gives[:1]):
        return f"it gives {gives[0] if gives else 'nothing'}, and {into} takes {wanted}"
    return None
