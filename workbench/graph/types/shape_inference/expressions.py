"""What arithmetic and indexing do to a shape."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import ShapeWord
from workbench.graph.model.subscript_index import parse_index
from workbench.graph.types.tensor_type import ShapeRule, TensorType, TypedCall
from workbench.graph.types.type_promotion import broadcast, operand_types


def _broadcast(call: TypedCall, flow: TensorType) -> TensorType:
    flows = operand_types(call)
    try:
        shape = broadcast([one.shape for one in flows])
    except ValueError:
        return flow.unknown()
    return flow.reshaped(shape, _layout(flows, None if shape is None else len(shape)))


def _layout(flows: list[TensorType], count: int | None) -> str | None:
    """That of an operand that has all axes and a layout."""
    wide = [one for one in flows if one.shape is None or len(one.shape) == count]
    named = [one.layout for one in wide if one.layout]
    if named:
        return named[0]
    return None if count is None or any(one.layout is None for one in wide) else ""


def _subscript(call: TypedCall, flow: TensorType) -> TensorType:
    text = call.text("index")
    try:
        index = parse_index(text or "")
    except ValueError:
        return flow.unknown()
    if flow.shape is None or len(index) > len(flow.shape):
        return flow.unknown()
    shape: list[int | None] = []
    layout = flow.layout
    letters = ""
    for axis, extent in enumerate(flow.shape):
        item = index[axis] if axis < len(index) else slice(None)
        if isinstance(item, slice):
            shape.append(_length(item, extent))
            letters += layout[axis] if layout and len(layout) == len(flow.shape) else ""
    if layout:
        layout = letters if len(layout) == len(flow.shape) else None
    return flow.reshaped(tuple(shape), layout)


def _length(item: slice, extent: int | None) -> int | None:
    """How many places a range takes of an axis; ends beyond it are cut, as in Python."""
    if extent is not None:
        return len(range(*item.indices(extent)))
    return None


def _extents(call: TypedCall, flow: TensorType) -> TensorType:
    """One number for each axis."""
    shape = call.first.shape
    return flow.reshaped((None if shape is None else len(shape),), "")


EXPRESSION_RULES: Mapping[ShapeWord, ShapeRule] = {
    "broadcast": _broadcast,
    "subscript": _subscript,
    "extents": _extents,
}
