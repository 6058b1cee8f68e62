"""Which operators fit a place of the graph, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.catalog.spec import Catalog, Device, OpSpec, PortKind, kind_fits
from workbench.catalog.templates import Template
from workbench.graph.edits.compose import find_edge
from workbench.graph.edits.connect import narrowed_kind, require_given
from workbench.graph.model import Graph, Port
from workbench.graph.model.ports import positional_ports
from workbench.graph.types.devices import device_of, infer_devices, port_kind
from workbench.graph.types.shapes import infer_types

NEEDS_SOURCE = "there is nothing yet for it to work on: begin with a source"

Place = Port | str | None
"""A port to follow, the id of an edge to go into, or None for a node on its own."""


def incompatible_ops(graph: Graph, catalog: Catalog, place: Place) -> tuple[str, dict[str, str]]:
    """What flows at a place, and why operators do not fit there; those that fit are left out.

    In an empty graph only what needs nothing fits; an empty body has what it takes in.

    Raises GraphEditError for a place that the graph does not have.
    """
    kind, wanted, into, device = _facts(graph, catalog, place)
    elements = _elements(graph, catalog, place)
    nothing = place is None and not graph.nodes
    reasons = {}
    for name, spec in catalog.items():
        reason = (
            spec.unusable
            or _incompatibility(spec, kind, wanted, into, device, graph.settings.device)
            or _element_refusal(spec, elements, into)
        )
        if not reason and nothing and any(not port.optional for port in spec.inputs):
            reason = NEEDS_SOURCE
        if reason:
            reasons[name] = reason
    return kind or "", reasons


def incompatible_templates(
    graph: Graph, catalog: Catalog, templates: Iterable[Template], place: Place
) -> dict[str, str]:
    """The same of templates, by name. Raises GraphEditError as above."""
    kind, wanted, into, device = _facts(graph, catalog, place)
    nothing = place is None and not graph.nodes
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
            reason = _device_refusal(template, catalog, device, graph.settings.device)
        if reason:
            reasons[template.name] = reason
    return reasons


def _device_refusal(
    template: Template, catalog: Catalog, device: Device, decode: Device
) -> str | None:
    for node in template.nodes:
        spec = catalog.find(node.op)
        if spec is None or spec.unusable:
            return f"this DALI has no {node.op}"
        if spec.devices == ("gpu",) and device == decode == "cpu":
            return f"{node.op} runs on the GPU only: decode on the GPU (mixed)"
    return None


def _facts(
    graph: Graph, catalog: Catalog, place: Place
) -> tuple[PortKind | None, PortKind | None, str, Device]:
    """Kind that arrives, kind that must come out and what wants it, and the device."""
    if place is None:
        return None, None, "", "cpu"
    wanted: PortKind | None = None
    into = ""
    if isinstance(place, Port):
        source = place
        require_given(graph, source)
    else:
        source, target, name = find_edge(graph, place)
        into = f"{target}.{name}" if target else "the output"
        wanted = _wanted(graph, catalog, target, name)
    device = device_of(infer_devices(graph, catalog), source)
    kind, flow = port_kind(graph, catalog, source), infer_types(graph, catalog).get(source)
    if flow is not None:
        kind = narrowed_kind("image" if kind == "any" and wanted == "image" else kind, flow)
    return kind, wanted, into, device


def _wanted(graph: Graph, catalog: Catalog, target: str, into: str) -> PortKind | None:
    if not target:
        return None
    node = graph.node(target)
    spec = catalog.find(node.op)
    if spec is None:
        return None
    if into in spec.args:
        return "number"
    return positional_ports(node, spec).get(into)


def _elements(graph: Graph, catalog: Catalog, place: Place) -> tuple[str, ...]:
    """The element types that the argument at a place may be fed with; empty for any."""
    if not isinstance(place, str):
        return ()
    _, target, into = find_edge(graph, place)
    spec = catalog.find(graph.node(target).op) if target else None
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
