"""Convert calls of deprecated DALI operators, including those for image sizes, to current calls.

``save_attrs`` outputs height and width before the resize, as INT32 (DALI 2.4,
``dali/operators/image/resize/resize_attr.h``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from workbench.catalog.schema import successors
from workbench.catalog.spec import Value
from workbench.emit.pipeline_import.calls.expressions import SHAPE
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp

_OTHERS = frozenset({"SSDRandomCrop"})
"""Deprecated operators that behave differently from the successor that DALI names."""
_DEFAULTS: Mapping[str, Mapping[str, Value]] = {"FastResizeCropMirror": {"antialias": False}}
"""Defaults of deprecated operators that differ from the defaults of their successors."""
_SAVED = "save_attrs"
_SHAPES = (SHAPE, "Shapes")
_INT32, _INT64 = 6, 7
"""Values of these types in ``nvidia.dali.types.DALIDataType``."""


@cache
def current_name(schema: str) -> str:
    """Return the current registry name of an operator."""
    if schema == "_TFRecordReader":  # from ``ops.TFRecordReader``, which DALI does not list
        return "readers___TFRecord"
    return schema if schema in _OTHERS else successors().get(schema, schema)


def older_name_notes(ops: Iterable[TracedOp]) -> tuple[str, ...]:
    """Return a note that lists deprecated operators and their successors, or nothing."""
    found = {
        op.schema: current_name(op.schema) for op in ops if current_name(op.schema) != op.schema
    }
    text = ", ".join(f"{old} as {new.replace('__', '.')}" for old, new in sorted(found.items()))
    return (f"deprecated names, opened as current ones: {text}",) if text else ()


def with_todays_calls(ops: Iterable[TracedOp]) -> tuple[TracedOp, ...]:
    """Replace deprecated operators with their successors, and operators for sizes with ``shape``.

    Saved sizes of sequences are not replaced, because their first axis is not the height.
    """
    given = [
        replace(
            op, schema=current_name(op.schema), args={**_DEFAULTS.get(op.schema, {}), **op.args}
        )
        for op in ops
    ]
    frames = any("Video" in op.schema or "Sequence" in op.schema for op in given)
    return tuple(made for op in given for made in _as_shapes(op, frames))


def _as_shapes(op: TracedOp, frames: bool) -> Iterator[TracedOp]:
    if op.schema in _SHAPES and len(op.outputs) == 1:
        wanted = op.args.get("dtype", op.args.get("type", _INT64))
        yield from _shape_of(op, op.inputs[0], op.outputs[0][0], wanted)
    elif op.args.get(_SAVED) and len(op.outputs) == 2 and op.inputs and not frames:
        image, size = op.outputs
        args = {name: value for name, value in op.args.items() if name != _SAVED}
        yield replace(op, args=args, outputs=(image,))
        yield from _shape_of(op, op.inputs[0], size[0], _INT32, sides=2)
    else:
        yield op


def _shape_of(
    op: TracedOp, image: TracedInput, output: str, dtype: Value, sides: int = 0
) -> Iterator[TracedOp]:
    """Yield calls that compute an image's shape, or its first ``sides`` numbers, as ``dtype``."""
    steps: list[tuple[str, str, dict[str, Value]]] = [(SHAPE, "shape", {})]
    if sides:
        steps.append(("_TensorSubscript", "subscript", {"hi_0": sides, "num_subscripts": 1}))
    if dtype != _INT64:
        steps.append(("Cast", "cast", {"dtype": dtype}))
    source = image
    for number, (schema, called, args) in enumerate(steps, start=1):
        edge = output if number == len(steps) else f"{output}_{called}"
        yield replace(
            op,
            schema=schema,
            name=f"{op.name}_{called}",
            device="cpu",
            inputs=(source,),
            outputs=((edge, "cpu"),),
            args=args,
            module="nvidia.dali.fn",
            display=called,
        )
        source = TracedInput(edge, "cpu")
