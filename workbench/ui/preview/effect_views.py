"""The effect sheet: the variants of the graph, and its payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from workbench.catalog.spec import Catalog, Value
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.edit import set_arg
from workbench.graph.model import Graph, Node
from workbench.preview import Effect
from workbench.ui.contract.binary_payload import pack_payload
from workbench.ui.contract.preview_views import EffectEntry, EffectHeader
from workbench.ui.inspector.random_views import json_value
from workbench.ui.preview.effect_variations import Variation, variations

IN_A_ROW, IN_A_GRID = 5, 4
"""Values of one argument alone, and of each of two."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The graph with other values of the varied arguments; ``fault`` where it cannot run."""

    values: tuple[Value, ...]
    """Of each varied argument, whole."""
    shown: tuple[Value, ...]
    """What of them is varied: for a list its element, or the number that stands for all."""
    graph: Graph
    fault: str = ""


def chosen_arguments(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The one or two of ``names`` that are varied: the wanted ones, else the first."""
    chosen = [name for name in dict.fromkeys(wanted) if name in names][:2]
    return chosen or list(names[:1])


def effect_variants(
    graph: Graph, catalog: Catalog, node_id: str, names: Sequence[str]
) -> list[Variant]:
    """The variants row by row, of these ``variations``: the second one's values lead down."""
    node = _node(graph, node_id)
    found = variations(graph, catalog, node_id)
    count = IN_A_ROW if len(names) == 1 else IN_A_GRID
    axes = [found[name].levels(node, count) for name in names]
    variants = []
    for reversed_levels in product(*reversed(axes)):
        variant = graph
        for name, level in zip(names, reversed_levels[::-1], strict=True):
            value = found[name].value(_node(variant, node_id), level)
            variant = set_arg(variant, catalog, node_id, found[name].arg.name, value)
        faults = check_graph(variant, catalog)
        values = tuple(_node(variant, node_id).args[found[name].arg.name] for name in names)
        shown = tuple(_shown(found[name], value) for name, value in zip(names, values, strict=True))
        variants.append(Variant(values, shown, variant, str(faults[0]) if faults else ""))
    return variants


def _node(graph: Graph, node_id: str) -> Node:
    return graph.at_scope(graph.scope_of(node_id)).node(node_id)


def _shown(variation: Variation, value: Value) -> Value:
    """A list by the element that is varied, or by the number that all of its elements are."""
    if not isinstance(value, tuple):
        return value
    if variation.part is not None:
        return value[variation.part]
    return value[0] if len(set(value)) == 1 else value


def idle_names(
    names: Sequence[str], variants: Sequence[Variant], outcome: Effect | Exception | None
) -> list[str]:
    """Those of ``names`` that changed no output; ``outcome`` is as for ``effect_bytes``.

    A variant without a picture failed: the argument has an effect, also where all of them do.
    """
    sound = [variant for variant in variants if not variant.fault]
    if not isinstance(outcome, Effect):
        return []
    outputs = [
        (variant.values, None if box is None else same)
        for variant, same, box in zip(sound, outcome.alike, outcome.boxes, strict=True)
    ]
    idle = []
    for at, name in enumerate(names):
        groups: dict[tuple[Value, ...], list[int | None]] = {}
        for values, same in outputs:
            groups.setdefault((*values[:at], *values[at + 1 :]), []).append(same)
        several = [group for group in groups.values() if len(group) > 1]
        if several and all(len(set(group)) == 1 and None not in group for group in several):
            idle.append(name)
    return idle


def effect_bytes(
    node: str, args: Sequence[str], variants: Sequence[Variant], outcome: Effect | Exception | None
) -> bytes:
    """An ``EffectHeader`` and the sheet; ``outcome`` is of the variants without a fault."""
    found = outcome if isinstance(outcome, Effect) else None
    pictures = iter(zip(found.boxes, found.errors, strict=True)) if found else iter(())
    pictured: list[EffectEntry] = []
    for variant in variants:
        box, error = (None, variant.fault) if variant.fault else next(pictures, (None, ""))
        values: list[Any] = [json_value(value) for value in variant.values]
        shown: list[Any] = [json_value(value) for value in variant.shown]
        pictured.append({"values": values, "shown": shown, "box": list(box or ()), "error": error})
    idle = idle_names(args, variants, outcome)
    header: EffectHeader = {
        "mime": found.mime if found else "image/jpeg",
        "sheet": list(found.size) if found else [0, 0],
        "node": node,
        "args": list(args),
        "columns": IN_A_ROW if len(args) == 1 else len({v.shown[0] for v in variants}),
        "pictures": pictured,
        "note": f"{' and '.join(idle)} changes nothing in this picture: DALI ignores it beside the "
        "other values, or this photo does not show it."
        if idle
        else "",
        "error": str(outcome) if isinstance(outcome, Exception) else "",
    }
    return pack_payload(header, found.image if found else b"")
