"""Build the rows of the inspector, one for each argument of the selected node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Literal

from workbench.catalog.extra_operators.user_functions import OWN_CODE, PYTHON_SOURCE
from workbench.catalog.spec import ArgSpec, OpSpec
from workbench.graph.checks.check import Fault
from workbench.graph.control_flow.block_kinds import kind_of
from workbench.graph.edits.connect import possible_feeders
from workbench.graph.edits.generators import element_for
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.values import value_limits
from workbench.graph.types.devices import first_outputs_pixels, is_generator
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.user_functions.function_source import (
    REMEDY,
    SOURCE_REMEDY,
    Undetermined,
    undetermined,
)
from workbench.ui.contract.encoding import empty
from workbench.ui.contract.inspector_payloads import ArgRow, InspectorView, RandomView
from workbench.ui.inspector.block_payloads import (
    body_entries,
    condition_of,
    condition_port,
    faulty_scopes,
)
from workbench.ui.inspector.condition_actions import condition_entry
from workbench.ui.inspector.random_argument_payloads import CHOICE as CHOICE
from workbench.ui.inspector.random_argument_payloads import (
    consumers_of,
    distributions_for,
    json_value,
    limits_of_fed,
    port_labels,
    slider_limits,
)
from workbench.ui.inspector.random_argument_payloads import random_view as random_view

Editor = Literal[
    "check", "choice", "number", "text", "texts", "numbers",
    "fields", "each", "colour", "range", "matrix", "shown", "policy",
]  # fmt: skip

NOTHING_SELECTED = empty(InspectorView, known=True)
_OF_THE_DATA = {"file_root", "file_list", "files", "labels", "dir_filters"}
_HIDDEN = {"preserve"}
"""Arguments that are not shown.

``preserve`` prevents DALI from removing an operator whose output is unused; the exported
pipelines contain no such operator.
"""
_FIXED_ONLY = "One value for all samples: DALI does not accept a random or linked value here."
_NO_SOURCE = "One value for all samples: no operator returns a value of this type to connect here."


def inspector_view(
    typed: TypedGraph,
    node_id: str,
    device: str,
    faults: Sequence[Fault],
    selected: int = 1,
    classes: Sequence[str] = (),
) -> InspectorView:
    """Return the inspector payload of a node; ``NOTHING_SELECTED`` if it does not exist.

    ``device`` is the device that runs the node. ``selected`` is the number of selected nodes; this
    node is the last one. ``classes`` are the class names of the data.
    """
    if not typed.graph.has(node_id):
        return NOTHING_SELECTED
    typed = typed.at_scope(typed.graph.scope_of(node_id))
    graph = typed.graph
    node = graph.node(node_id)
    spec = typed.catalog.find(node.op)
    rows = _known_rows(typed, node, spec, faults) if spec else []
    rows += _unsupported_rows(node, spec, typed.catalog.dali_version, faults)
    named = {row["name"] for row in rows}
    view: InspectorView = {
        **NOTHING_SELECTED,
        "id": node_id,
        "op": node.op,
        "device": device,
        "device_set": node.device or "",
        "selected": selected,
        "known": spec is not None,
        "errors": [f.text for f in faults if f.node == node_id and f.arg not in named],
        "muted": node.muted,
        "ports": port_labels(typed, sorted({p for row in rows for p in row["links"]})),
        "rows": rows,
    }
    if spec is None:
        view["doc"] = (
            f"The installed DALI ({typed.catalog.dali_version}) does not have this operator. "
            "The node can only be removed."
        )
        return view
    view["label"], view["doc"] = spec.label, spec.summary
    view["caution"] = caution_of(node)
    if node.bodies:
        kind, source = kind_of(node), condition_port(typed, node)
        view["condition"] = condition_of(typed, node, classes)
        view["control"] = kind.control
        view["numbered"] = spec.numbered_bodies
        view["asks"] = condition_entry(typed, node)
        view["probability"] = kind.probability(graph, node)
        view["weights"] = list(kind.weights(graph, node) or ())
        view["condition_node"] = source.node if source and graph.has(source.node) else ""
        view["bodies"] = body_entries(node, faulty_scopes(graph, faults))
        return view
    kinds = {port.kind for port in (*spec.inputs[:1], *spec.outputs)}
    view["augments"] = bool(spec.inputs) and kinds == {"image"}
    view["devices"] = list(spec.devices)
    view["follows"] = (
        "follows the decoding setting"
        if first_outputs_pixels(node, typed.catalog)
        else "follows its input"
    )
    if is_generator(spec) or spec.stays:
        view["follows"] = "on the CPU"
    if is_generator(spec):
        view["feeds"] = consumers_of(graph, node.id)
    return view


def _known_rows(
    typed: TypedGraph, node: Node, spec: OpSpec, faults: Sequence[Fault]
) -> list[ArgRow]:
    ports = possible_feeders(typed, node.id)
    return [
        _row(typed, node, arg, faults, ports.get(arg.name, []))
        for arg in spec.args.values()
        if arg.name in node.args or arg.name in node.inputs or not _is_hidden(spec, arg)
    ]


def _is_hidden(spec: OpSpec, arg: ArgSpec) -> bool:
    of_the_data = spec.reads and arg.name in _OF_THE_DATA
    return bool(arg.deprecated) or arg.name in _HIDDEN or of_the_data


def _row(
    typed: TypedGraph, node: Node, arg: ArgSpec, faults: Sequence[Fault], ports: Sequence[Port]
) -> ArgRow:
    spec = typed.spec(node)
    link = node.inputs.get(arg.name)
    usual = arg.default if arg.start is None else arg.start
    value = node.args.get(arg.name, arg.default)
    is_set = (
        arg.name in node.args and value != usual
    )  # unset differs from what new nodes start with
    off = _no_effect_reason(node, spec, arg)
    view = random_view(typed, link, f"{node.id}.{arg.name}") if link else None
    share = _is_share(typed.graph, node, arg, view)
    limits = (0, 1) if share else limits_of_fed(typed, node, arg)
    minimum, maximum = (end if isfinite(end) else None for end in value_limits(arg))
    row: ArgRow = {
        "name": arg.name,
        "label": arg.label,
        "unit": "share" if share else arg.unit,
        "doc": arg.doc,
        "kind": arg.kind,
        "editor": editor_of(arg),
        "parts": list(_parts(node, spec, arg)),
        "mode": "random" if view else "linked" if link else "fixed",
        "value": json_value(value),
        "links": [str(port) for port in ports if view is None or port.node != view["node"]],
        "low": limits[0],
        "high": limits[1],
        "step": arg.step,
        "minimum": minimum,
        "maximum": maximum,
        "choices": [json_value(choice) for choice in arg.choices or arg.members],
        "default": json_value(usual),
        "changed": not off and arg.form != "shown" and (link is not None or is_set),
        "tensor": arg.tensor and element_for(arg) is not None,
        "fixed_only": _fixed_only(arg),
        "distributions": distributions_for(arg),
        "off": off,
        "locked": _locked_reason(arg),
        "required": arg.required,
        "advanced": arg.advanced,
        "deprecated": arg.deprecated or "",
        "error": _error(node.id, arg.name, view, faults),
    }
    if view is not None:
        row["random"] = view
        row["low"], row["high"] = limits if share else slider_limits(arg, view)
    elif link is not None:
        row["link"] = str(link)
    return row


def _is_share(graph: Graph, node: Node, arg: ArgSpec, view: RandomView | None) -> bool:
    """Return whether an argument is ``share`` in the mix ``first + (second - first) * share``."""
    difference = node.inputs.get("data")
    if (node.op, arg.name) != ("math.mul", "right") or difference is None:
        return False
    fed = graph.node(difference.node) if graph.has(difference.node) else None
    values = view["args"].get("range") if view else [node.args.get("right", 0)]
    within = isinstance(values, list) and all(
        isinstance(value, int | float) and 0 <= value <= 1 for value in values
    )
    return fed is not None and fed.op == "math.sub" and len(fed.inputs) == 2 and within


def _fixed_only(arg: ArgSpec) -> str:
    if not arg.tensor:
        return _FIXED_ONLY
    return "" if element_for(arg) else _NO_SOURCE


def _locked_reason(arg: ArgSpec) -> str:
    if _is_object(arg):
        return "A value from Python that cannot be edited here."
    return f"{arg.doc} It cannot be edited." if arg.form == "shown" else ""


def _is_object(arg: ArgSpec) -> bool:
    return arg.kind == "object"


def editor_of(arg: ArgSpec) -> Editor:
    """Return the kind of control that edits a fixed value of an argument."""
    if _is_object(arg) or arg.form == "shown":
        return "shown"
    if arg.kind == "policy":
        return "policy"
    if arg.kind == "bool" or (arg.form == "flag" and arg.kind == "int"):
        return "check"
    if not arg.kind.endswith("_list"):
        if arg.choices or arg.members:
            return "choice"
        return "text" if arg.kind == "str" else "number"
    if arg.kind not in ("int_list", "float_list"):
        return "texts"
    match arg.form:
        case "" | "flag" | "index" | "shown":
            return "numbers"
        case form:
            return form


def _parts(node: Node, spec: OpSpec, arg: ArgSpec) -> tuple[str, ...]:
    """Return the labels of a list's elements: ``arg.parts``, or the node's ``axis_names``."""
    axes = spec.args.get("axis_names")
    given = node.args.get("axis_names", axes.default if axes else None)
    if arg.parts == ("h", "w") and isinstance(given, str) and given.isalpha():
        return tuple(given.lower())
    return arg.parts


def _no_effect_reason(node: Node, spec: OpSpec, arg: ArgSpec) -> str:
    if arg.name in node.args or arg.name in node.inputs or arg.start is None:
        return ""
    conflicting = spec.conflicts_with(arg.name) & (node.args.keys() | node.inputs.keys())
    return f"Off: {min(conflicting)} is set instead." if conflicting else ""


def _error(node_id: str, arg: str, view: RandomView | None, faults: Sequence[Fault]) -> str:
    for fault in faults:
        if (fault.node, fault.arg) == (node_id, arg):
            return fault.text
        if view is not None and fault.node == view["node"]:
            return f"{fault.arg}: {fault.text}".removeprefix(": ")
    return ""


def _unsupported_rows(
    node: Node, spec: OpSpec | None, version: str, faults: Sequence[Fault]
) -> list[ArgRow]:
    """Return read-only rows for arguments that are not supported by the installed DALI."""
    what = "operator" if spec is None else "argument"
    rows: list[ArgRow] = []
    for name in (*node.args, *node.inputs):
        link = node.inputs.get(name)
        if (spec is None and link) or (spec is not None and (name in spec.args or link)):
            continue
        rows.append(
            empty(
                ArgRow,
                name=name,
                kind="object",
                editor="shown",
                mode="fixed",
                value=json_value(node.args[name]),
                changed=spec is not None,
                locked=f"DALI {version} does not have this {what}. The value is not changed.",
                error=_error(node.id, name, None, faults),
            )
        )
    return rows


# Warnings about nodes with user functions


def caution_of(node: Node) -> str:
    """Return the reason why a node's preview differs from the exported script; else ""."""
    found = _undetermined_source(node)
    remedy = SOURCE_REMEDY if node.op == PYTHON_SOURCE.name else REMEDY
    return found.warning(remedy) if found else ""


def caution_note(node: Node) -> str:
    """Return ``not exact``, for the card, if a node's preview differs from the exported script."""
    return "not exact" if _undetermined_source(node) else ""


def _undetermined_source(node: Node) -> Undetermined | None:
    if node.op not in OWN_CODE:
        return None
    return _undetermined(str(node.args.get("source", "")))


_undetermined = lru_cache(maxsize=64)(undetermined)
