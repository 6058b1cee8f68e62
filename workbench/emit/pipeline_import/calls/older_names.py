"""Calls under names that DALI had for them, and sizes taken in older ways, as today's calls.

``save_attrs`` gives height and width of what is resized, as INT32 (DALI 2.4,
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
"""Deprecated ones that do something else than the one that DALI names."""
_DEFAULTS: Mapping[str, Mapping[str, Value]] = {"FastResizeCropMirror": {"antialias": False}}
"""What older operators do by default, where today's do otherwise."""
_SAVED = "save_attrs"
_SHAPES = (SHAPE, "Shapes")
_INT32, _INT64 = 6, 7
"""DALI's numbers of the types: ``nvidia.dali.types.DALIDataType``."""


@cache
def todays_name(schema: str) -> str:
    """The registry name of the operator that does the same today; the name itself where it is."""
    if schema == "_TFRecordReader":  # of ``ops.TFRecordReader``, which DALI does not list
        return "readers___TFRecord"
    return schema if schema in _OTHERS else successors().get(schema, schema)


def older_name_notes(ops: Iterable[TracedOp]) -> tuple[str, ...]:
    """One note that names the older operators among the calls, and what they opened as."""
    found = {op.schema: todays_name(op.schema) for op in ops if todays_name(op.schema) != op.schema}
    said = ", ".join(f"{old} as {new.replace('__', '.')}" for old, new in sorted(found.items()))
    return (f"older names of DALI, opened as today's: {said}",) if said else ()


def with_todays_calls(ops: Iterable[TracedOp]) -> tuple[TracedOp, ...]:
    """The calls by the names of today; those that give sizes in older ways are calls of ``shape``.

    Where sequences are read a saved size stays what it is: another axis is the height there.
    """
    given = [
        replace(op, schema=todays_name(op.schema), args={**_DEFAULTS.get(op.schema, {}), **op.args})
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
    op: TracedOp, image: TracedInput, given: str, dtype: Value, sides: int = 0
) -> Iterator[TracedOp]:
    """Calls that give the shape of an image, or the first sides of it, as numbers of a type."""
    steps: list[tuple[str, str, dict[str, Value]]] = [(SHAPE, "shape", {})]
    if sides:
        steps.append(("_TensorSubscript", "subscript", {"hi_0": sides, "num_subscripts": 1}))
    if dtype != _INT64:
        steps.append(("Cast", "cast", {"dtype": dtype}))
    source = image
    for number, (schema, called, args) in enumerate(steps, start=1):
        edge = given if number == len(steps) else f"{given}_{called}"
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
