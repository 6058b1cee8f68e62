"""Build the payload of an ``if`` block's condition, and define the action that sets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.control_flow.block_kinds import CONDITION, IF
from workbench.graph.control_flow.conditions import (
    COMPARISONS,
    KINDS,
    MEASURES,
    Chance,
    Condition,
    LabelIs,
    NumberIs,
    SizeIs,
    condition_of,
    condition_sources,
    set_condition,
)
from workbench.graph.edits.compose import origin_of
from workbench.graph.model import Graph, Node, Port
from workbench.graph.types.devices import is_generator
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.variants.fused import fused_refusal
from workbench.ui.contract.inspector_payloads import ConditionEntry
from workbench.ui.inspector.argument_actions import InspectorEdit

_USUAL: Mapping[str, Condition] = {
    "chance": Chance(),
    "label": LabelIs((0,)),
    "size": SizeIs(),
    "comparison": NumberIs(),
}
"""Default condition by kind of condition."""
_ALLOWED = {"measure": MEASURES, "comparison": tuple(COMPARISONS)}


def condition_entry(typed: TypedGraph, node: Node) -> ConditionEntry | None:
    """Return the payload of an ``if`` block's condition; None for other nodes.

    ``typed`` is the body that contains the node.
    """
    if node.op != IF.op:
        return None
    found = condition_of(typed, node)
    sources = condition_sources(typed, node.id)
    entry: ConditionEntry = {
        "kind": "other" if node.inputs.get(CONDITION) else "",
        "classes": [],
        "measure": "",
        "comparison": "",
        "value": None,
        "source": "",
        "sources": {kind: [str(port) for port in ports] for kind, ports in sources.items()},
        "fused": ""
        if fused_refusal(typed.graph, typed.catalog, node.id)
        else _operator_in(typed, node),
    }
    if found is None:
        return entry
    condition, port = found
    entry["kind"] = next(kind for kind, of in KINDS.items() if isinstance(condition, of))
    if port is not None:
        entry["source"] = str(origin_of(typed.graph, typed.catalog, port))
    match condition:
        case LabelIs(classes):
            entry["classes"] = list(classes)
        case SizeIs(measure, comparison, value):
            entry["measure"] = measure
            entry["comparison"], entry["value"] = comparison, value
        case NumberIs(comparison, value):
            entry["comparison"], entry["value"] = comparison, value
    return entry


def _operator_in(typed: TypedGraph, block: Node) -> str:
    """Return the name of the operator in the body of a block with a random condition."""
    return next(
        node.op for node in block.bodies["then"].nodes if not is_generator(typed.spec(node))
    )


def condition_text(typed: TypedGraph, node: Node, classes: Sequence[str] = ()) -> str:
    """Return a short text for a condition on a label, a size or a number; "" for other conditions.

    ``classes`` are the class names of the data; a class without a name is shown as its number.
    """
    found = condition_of(typed, node)
    match found:
        case (LabelIs(numbers), _):
            named = (classes[n] if 0 <= n < len(classes) else str(n) for n in numbers)
            return f"label {' or '.join(named)}"
        case (SizeIs(measure, comparison, value), _):
            return f"{measure} {comparison} {value:g}"
        case (NumberIs(comparison, value), Port() as port):
            origin = origin_of(typed.graph, typed.catalog, port)
            name = origin.node if origin.output == "output" else origin.output
            return f"{name} {comparison} {value:g}"
    return ""


def usual_condition(kind: str) -> Condition:
    """Return the default condition of a kind. Raises GraphEditError for an unknown kind."""
    if kind not in _USUAL:
        known = ", ".join(_USUAL)
        raise GraphEditError(f"{kind[:40]!r} is not a kind of condition. Use one of: {known}.")
    return _USUAL[kind]


class SetCondition(InspectorEdit, tag="set_condition", frozen=True):
    """Set the condition of an ``if``. Fields that are not set keep their values or defaults."""

    block: str
    kind: str
    """Kind of condition: ``chance``, ``label``, ``size`` or ``comparison``."""
    classes: list[int | str] | None = None
    """Class numbers for a condition on the label. A string raises GraphEditError."""
    measure: str = ""
    """Measure for a condition on the size, such as ``height``, ``longer side`` or ``aspect``."""
    comparison: str = ""
    """Comparison operator: ``<``, ``<=``, ``>``, ``>=``, ``==`` or ``!=``."""
    value: float | str | None = None
    """Number to compare with. A text raises GraphEditError."""
    source: str = ""
    """Port whose values are compared, such as ``decode.output``."""
    group: str = ""
    """Edits with the same group, such as those of one drag, are undone together."""

    def edit_label(self) -> str:
        return f"condition of {self.block}"

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        condition = usual_condition(self.kind)
        node = graph.node(self.block)
        before = condition_of(TypedGraph(graph.at_scope(graph.scope_of(node.id)), catalog), node)
        if before is not None and isinstance(before[0], type(condition)):
            condition = before[0]
        source = None
        if self.source:
            owner, _, output = self.source.rpartition(".")
            source = Port(owner, output)
        return set_condition(graph, catalog, node.id, self._with_checked_values(condition), source)

    def _with_checked_values(self, condition: Condition) -> Condition:
        given: dict[str, Any] = {}
        for name, allowed in _ALLOWED.items():
            value = getattr(self, name)
            if value and value not in allowed:
                choices = ", ".join(allowed)
                raise GraphEditError(f"{value[:40]!r} is not a {name}. Use one of: {choices}.")
            if value:
                given[name] = value
        if isinstance(self.value, str):
            raise GraphEditError(
                f"{self.value[:40]!r} is not a number. Enter a number to compare with."
            )
        if self.value is not None:
            given["value"] = self.value
        if self.classes is not None:
            given["classes"] = tuple(_class(number) for number in self.classes)
        known = {name: value for name, value in given.items() if hasattr(condition, name)}
        if "measure" in known and "value" not in known and isinstance(condition, SizeIs):
            aspects = "aspect" in (condition.measure, known["measure"])
            if aspects and condition.measure != known["measure"]:  # 500 is not an aspect ratio
                known["value"] = 1.0 if known["measure"] == "aspect" else SizeIs().value
        return replace(condition, **known)


def _class(number: int | str) -> int:
    if isinstance(number, str):
        raise GraphEditError(f"{number[:40]!r} is not a class. Enter class numbers, such as 0, 3.")
    return number
