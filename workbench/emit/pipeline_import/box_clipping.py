"""The clipping of boxes that exported programs write before ``random_bbox_crop``, left out again.

A graph has no node for it: every export writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.emit.pipeline_import.calls.expressions import ARITHMETIC, expression_node
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp, TracedPipeline
from workbench.graph.annotations.formats import BOX_CROP, clip_function
from workbench.graph.model import Node

_LOW = (
    "math.add(math.max({start} right=0.0) "
    "math.min(math.min(math.add({start} right=1.0) {end}) right=0.0))"
)
_HIGH = (
    "math.add(math.min({end} right=1.0) "
    "math.max(math.sub(math.max(math.sub({end} right=1.0) {start}) right=1.0) right=0.0))"
)
_DEEPEST = 16
"""Nested calls that are compared: a user's expression may be arbitrarily deep."""
_NOT_CLIPPED = "math.sub({over} left=1.0)"
_SIZE = "math.add(math.mul({size} {rest}) math.mul(math.sub({high} {low}) {over}))"
_OVER = "math.mul(math.bitor(math.ne({low} {start}) math.ne({high} {end})) left=1.0)"


def without_clipping(pipeline: TracedPipeline) -> TracedPipeline:
    """The pipeline with the boxes as they are before they are clipped for ``random_bbox_crop``.

    Only the very expression that an export writes for the layout of the boxes is left out.
    """
    makers = {edge: op for op in pipeline.ops for edge, _ in op.outputs}
    ops: list[TracedOp] = []
    for op in pipeline.ops:
        boxes = _clipped(op, makers) if op.schema == "RandomBBoxCrop" else None
        if boxes is not None:
            op = replace(op, inputs=(boxes, *op.inputs[1:]))
        ops.append(op)
    if ops == [*pipeline.ops]:
        return pipeline
    return replace(pipeline, ops=_still_read(ops, pipeline))


def _clipped(crop: TracedOp, makers: Mapping[str, TracedOp]) -> TracedInput | None:
    """The boxes that a call clips as an export does; None for any other call."""
    found = clip_function(Node("", BOX_CROP, crop.args))
    joined = makers.get(crop.inputs[0].edge) if crop.inputs else None
    if found is None or joined is None or joined.schema != "Cat" or joined.args.get("axis") != 1:
        return None
    function, axes = found
    source = _first_source(joined, makers)
    if source is None or len(joined.inputs) != 2:
        return None
    start = f"subscript({source.edge} index=':, :{axes}')"
    size = end = f"subscript({source.edge} index=':, {axes}:')"
    if function == "clip_sized_boxes":
        end = f"math.add({start} {size})"
    low, high = _LOW.format(start=start, end=end), _HIGH.format(start=start, end=end)
    if function == "clip_sized_boxes":
        over = _OVER.format(low=low, start=start, high=high, end=end)
        rest = _NOT_CLIPPED.format(over=over)
        high = _SIZE.format(size=size, rest=rest, high=high, low=low, over=over)
    written = [_text(each.edge, source.edge, makers) for each in joined.inputs]
    return source if written == [low, high] else None


def _first_source(joined: TracedOp, makers: Mapping[str, TracedOp]) -> TracedInput | None:
    """What the first operand leads back to, through arithmetic and one subscript."""
    read = joined.inputs[0]
    while (op := makers.get(read.edge)) and op.schema == ARITHMETIC and op.inputs:
        read = op.inputs[0]
    op = makers.get(read.edge)
    return op.inputs[0] if op and op.schema == "_TensorSubscript" and op.inputs else None


def _text(edge: str, source: str, makers: Mapping[str, TracedOp], depth: int = _DEEPEST) -> str:
    """The expression of an edge, down to ``source`` or what is neither arithmetic nor indexing."""
    op = makers.get(edge) if depth and edge != source else None
    node = expression_node(op, makers) if op else None
    if node is None:
        return edge
    parts = [_text(each, source, makers, depth - 1) for each in node.inputs.values()]
    parts += [f"{name}={value!r}" for name, value in sorted(node.args.items())]
    return f"{node.op}({' '.join(parts)})"


def _still_read(ops: list[TracedOp], pipeline: TracedPipeline) -> tuple[TracedOp, ...]:
    """The calls without those that were read for the clipping alone."""
    used = {each.edge for each in pipeline.outputs}
    before = {each.edge for op in pipeline.ops for each in op.inputs} | used
    kept: list[TracedOp] = []
    for op in reversed(ops):
        own = {edge for edge, _ in op.outputs}
        if own & used or not own & before:
            kept.append(op)
            used |= {each.edge for each in op.inputs}
    return tuple(reversed(kept))
