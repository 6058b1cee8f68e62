"""Graph -> the inspector: one row for each argument of the selected node."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.catalog.spec import ArgSpec, Catalog, OpSpec, Value
from workbench.graph.check import Fault
from workbench.graph.devices import is_generator
from workbench.graph.edit import generators_for
from workbench.graph.model import Graph, Node, Port
from workbench.ui.views import ArgRow, InspectorView, Json, RandomView

NOTHING_SELECTED: InspectorView = {
    "id": "",
    "op": "",
    "label": "",
    "doc": "",
    "device": "",
    "rows": [],
}
_HIDDEN = {"file_root", "file_list", "files", "labels", "dir_filters", "preserve"}
"""The workbench's own affair: what the reader reads is the data folder."""
CHOICE = "random.choice"
"""What ``random.uniform`` with ``values`` is called here: the word that a person looks for."""


def inspector_view(
    graph: Graph, catalog: Catalog, node_id: str, device: str, faults: Sequence[Fault]
) -> InspectorView:
    """The node's arguments in the overlay's order; an empty view where there is no such node."""
    if not graph.has(node_id):
        return NOTHING_SELECTED
    node = graph.node(node_id)
    if node.op not in catalog:
        return {
            **NOTHING_SELECTED,
            "id": node_id,
            "op": node.op,
            "doc": "The installed DALI has no such operator.",
        }
    spec = catalog[node.op]
    return {
        "id": node_id,
        "op": node.op,
        "label": spec.label,
        "doc": spec.summary,
        "device": device,
        "rows": [_row(graph, catalog, node, arg, faults) for arg in _args(spec, node)],
    }


def _args(spec: OpSpec, node: Node) -> list[ArgSpec]:
    return [
        arg
        for arg in spec.args.values()
        if arg.name in node.args
        or arg.name in node.inputs
        or not (arg.deprecated or arg.name in _HIDDEN or arg.kind == "object")
    ]


def _row(
    graph: Graph, catalog: Catalog, node: Node, arg: ArgSpec, faults: Sequence[Fault]
) -> ArgRow:
    link = node.inputs.get(arg.name)
    usual = arg.default if arg.start is None else arg.start
    value = node.args.get(arg.name, arg.default)
    row: ArgRow = {
        "name": arg.name,
        "label": arg.label,
        "unit": arg.unit,
        "doc": arg.doc,
        "kind": arg.kind,
        "mode": "fixed",
        "value": plain(value),
        "low": arg.low,
        "high": arg.high,
        "step": arg.step,
        "choices": [plain(choice) for choice in arg.choices or arg.members],
        "default": plain(usual),
        "changed": link is not None or value != usual,
        "tensor": arg.tensor,
        "distributions": _distributions(arg),
        "required": arg.required,
        "advanced": arg.advanced,
        "deprecated": arg.deprecated or "",
        "error": next((_words(f) for f in faults if (f.node, f.arg) == (node.id, arg.name)), ""),
    }
    if link is not None:
        drawn = random_view(graph, catalog, link)
        if drawn is None:
            row["mode"], row["link"] = "linked", str(link)
        else:
            row["mode"], row["random"] = "random", drawn
            row["low"], row["high"] = _draw_limits(arg, drawn)
    return row


def _distributions(arg: ArgSpec) -> list[str]:
    """What it may be drawn from; the first is what "make it random" begins with."""
    if arg.kind.startswith("bool"):
        return ["random.coin_flip"]
    drawn = list(generators_for(arg))
    if "random.uniform" in drawn:
        drawn.append(CHOICE)
    if (arg.low, arg.high) != (0, 1):
        drawn.sort(key=lambda op: op == "random.coin_flip")
    return drawn


def _draw_limits(arg: ArgSpec, drawn: RandomView) -> tuple[float | None, float | None]:
    """The usual range four times over, on which two thumbs can be told apart; else all of it."""
    wanted = drawn["args"].get("range")
    if arg.draw is None or arg.low is None or arg.high is None or not isinstance(wanted, list):
        return arg.low, arg.high
    margin = 1.5 * (arg.draw[1] - arg.draw[0])
    low, high = max(arg.low, arg.draw[0] - margin), min(arg.high, arg.draw[1] + margin)
    inside = all(isinstance(end, int | float) and low <= end <= high for end in wanted)
    return (low, high) if inside else (arg.low, arg.high)


def random_view(graph: Graph, catalog: Catalog, link: Port) -> RandomView | None:
    """The generator behind a link, or None where another kind of node stands there."""
    if not graph.has(link.node):
        return None
    node = graph.node(link.node)
    if node.op not in catalog or not is_generator(catalog[node.op]):
        return None
    if node.op == "random.uniform" and "values" in node.args:
        return {"op": CHOICE, "args": {"values": plain(node.args["values"])}}
    shown = {
        name: plain(value)
        for name, arg in catalog[node.op].args.items()
        if not arg.advanced and (value := node.args.get(name, arg.default)) is not None
    }
    return {"op": node.op, "args": shown}


def plain(value: Value | None) -> Json:
    """A graph's value as JSON: tuples become lists."""
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def _words(fault: Fault) -> str:
    return f"{fault.message}. {fault.remedy}"
