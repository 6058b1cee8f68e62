"""DALI's rules of arithmetic: operands, element types, broadcasting.

The rules are those of "Type Promotion Rules" and "Broadcasting" in the section "Mathematical
Expressions" of DALI's documentation, tried with DALI 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.catalog.spec import OpSpec
from workbench.graph.model import Node
from workbench.graph.types.tensor_type import Extents, TensorType, TypedCall


def operands(node: Node, spec: OpSpec) -> list[str]:
    """The port or argument at each place of a written expression, from left to right."""
    given = node.args.keys() | node.inputs.keys()
    return [next((name for name in names if name in given), names[-1]) for names in spec.operands]


def operand_types(call: TypedCall) -> list[TensorType]:
    """What stands at each place: a constant is a scalar of the type of the constants."""
    return [
        call.fed[name]
        if name in call.fed
        else TensorType(call.text("constant_type") if name in call.spec.args else None, "", ())
        for name in operands(call.node, call.spec)
    ]


def result_type(dtypes: Sequence[str | None], floating: bool) -> str | None:
    """The element type of a result, or None where that of an operand is not known.

    ``floating`` is for what makes fractions of whole numbers, such as a quotient.
    """
    result: str | None = None
    for dtype in dtypes:
        if dtype is None or dtype not in _TYPES:
            return None
        result = dtype if result is None else _promoted(result, dtype)
    if floating and result is not None and not result.startswith("FLOAT"):
        return "FLOAT"
    return result


_TYPES = {
    "BOOL": ("unsigned", 1),
    **{f"UINT{bits}": ("unsigned", bits) for bits in (8, 16, 32, 64)},
    **{f"INT{bits}": ("signed", bits) for bits in (8, 16, 32, 64)},
    "FLOAT": ("float", 32),
    "FLOAT64": ("float", 64),
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def _promoted(one: str, other: str) -> str:
    """Fractions before whole numbers, signed before unsigned with room for both, else the wider."""
    (kind, bits), (other_kind, other_bits) = _TYPES[one], _TYPES[other]
    if kind == other_kind:
        return one if bits >= other_bits else other
    if "float" in (kind, other_kind):
        return one if kind == "float" else other
    signed, unsigned = (bits, other_bits) if kind == "signed" else (other_bits, bits)
    if unsigned == 1:
        return _NAMES["signed", signed]
    return _NAMES["signed", signed if signed > unsigned else min(2 * unsigned, 64)]


def integer_range(dtype: str) -> tuple[int, int]:
    """The least and the greatest constant of a type of whole numbers or truth values.

    DALI hands constants on as INT64, those of type UINT64 too.
    """
    kind, bits = _TYPES[dtype]
    if dtype == "UINT64":
        return 0, 2**63 - 1
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind == "signed" else (0, 2**bits - 1)


def broadcast(shapes: Sequence[Extents | None]) -> Extents | None:
    """The shape of a result: aligned at the last axis, an extent of 1 is stretched.

    None where the shape of an operand is not known. Raises ValueError, with the extents, where two
    do not go together.
    """
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    count = max((len(shape) for shape in known), default=0)
    padded = [(1,) * (count - len(shape)) + shape for shape in known]
    return tuple(_stretched(axis) for axis in zip(*padded, strict=True))


def _stretched(extents: tuple[int | None, ...]) -> int | None:
    wide = {extent for extent in extents if extent not in (None, 1)}
    if len(wide) > 1:
        raise ValueError(" and ".join(str(extent) for extent in extents))
    if wide:
        return wide.pop()
    return None if None in extents else 1
