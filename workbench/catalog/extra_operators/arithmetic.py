"""Define arithmetic, ``nvidia.dali.math`` and indexing as operators of the catalogue.

DALI runs each as one hidden operator (``ArithmeticGenericOp``, ``TensorSubscript``); users write
``images * 0.5``, ``math.sqrt(images)`` or ``images[:, 3:9]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from workbench.catalog.spec import ArgSpec, OpSpec, OutputRule, PortSpec
from workbench.catalog.tables import read_tables

CONSTANT_TYPES = (
    *("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"),
    *("FLOAT", "FLOAT64"),
)
"""Element types that DALI's arithmetic supports; FLOAT16 is not supported (tested with DALI 2.4).
"""
_WHOLE = tuple(name for name in CONSTANT_TYPES if not name.startswith("FLOAT"))
_NUMBERS = tuple(name for name in CONSTANT_TYPES if name != "BOOL")


@dataclass(frozen=True, slots=True)
class _Function:
    """One row of ``arithmetic.toml``, where the fields are documented."""

    name: str
    expression: str
    label: str
    gives: str
    summary: str
    called: str = ""
    start: float | None = None
    high: float = 255
    image: bool = False
    synonyms: tuple[str, ...] = ()


_FUNCTIONS = {
    kind: [_Function(name, **{"called": name, **row}) for name, row in rows.items()]
    for kind, rows in read_tables("extra_operators/arithmetic.toml").items()
}
"""Functions of each table in ``arithmetic.toml`` (``binary``, ``unary``, ...)."""
CALLED: Mapping[str, str] = {
    function.called: f"math.{function.name}"
    for functions in _FUNCTIONS.values()
    for function in functions
}
"""Operator name for each function name in DALI's ``expression_desc``."""


def arithmetic_specs() -> dict[str, OpSpec]:
    """Return the specifications of all arithmetic operators, by name."""
    made = [
        *(_binary(function, whole=False) for function in _FUNCTIONS["binary"]),
        *(_binary(function, whole=True) for function in _FUNCTIONS["bitwise"]),
        *(
            _operator(function, (_data_port(_NUMBERS),), {}, (("data",),))
            for function in _FUNCTIONS["unary"]
        ),
        *(
            _operator(function, (_data_port(_WHOLE),), {}, (("data",),))
            for function in _FUNCTIONS["not"]
        ),
        *(_clamp(function) for function in _FUNCTIONS["clamp"]),
        _subscript(),
        _shape(),
    ]
    return {op.name: op for op in made}


def _data_port(dtypes: tuple[str, ...]) -> PortSpec:
    return PortSpec("data", dtypes=dtypes)


def _binary(function: _Function, *, whole: bool) -> OpSpec:
    dtypes = _WHOLE if whole else CONSTANT_TYPES
    unsigned = whole or function.name == "truediv"
    low = 0 if unsigned else -function.high
    weight = (0, 1) if function.name == "mul" else (low, function.high)
    ends = _Ends(low, function.high, 1 if whole else 0.01, weight, whole)
    args = {
        "right": _constant(
            "right",
            "Right operand",
            "The right operand, if other is not connected.",
            ends,
            start=function.start,
        ),
        "left": _constant(
            "left",
            "Left operand",
            "The left operand; data is then the right one.",
            ends,
            advanced=True,
        ),
        "constant_type": _constant_type(dtypes, "INT32" if whole else "FLOAT"),
    }
    first: tuple[str, ...] = ("left", "data")
    second: tuple[str, ...] = ("right", "other", "data")
    group: tuple[str, ...] = ("right", "other", "left")
    if function.gives == "BOOL":  # Python swaps 1 < x to x > 1
        del args["left"]
        first, second, group = ("data",), ("right", "other"), ("right", "other")
    return _operator(
        function,
        (_data_port(dtypes), PortSpec("other", optional=True, dtypes=dtypes)),
        args,
        (first, second),
        mutually_exclusive=(group,),
        one_of=(group,),
    )


def _clamp(function: _Function) -> OpSpec:
    args = {
        name: _constant(
            name,
            f"{word.capitalize()} end",
            f"The {word} end, if {name}_input is not connected.",
            _Ends(0, 255, 1, (0, 255), False),
            start=start,
        )
        for name, word, start in (("lo", "low", 64), ("hi", "high", 192))
    }
    return _operator(
        function,
        (
            _data_port(CONSTANT_TYPES),
            PortSpec("lo_input", optional=True, dtypes=CONSTANT_TYPES),
            PortSpec("hi_input", optional=True, dtypes=CONSTANT_TYPES),
        ),
        {**args, "constant_type": _constant_type(CONSTANT_TYPES, "FLOAT")},
        (("data",), ("lo", "lo_input"), ("hi", "hi_input")),
        mutually_exclusive=(("lo", "lo_input"), ("hi", "hi_input")),
        one_of=(("lo", "lo_input"), ("hi", "hi_input")),
    )


def _subscript() -> OpSpec:
    summary = "Part of an array, with Python's indexing syntax."
    doc = f"{summary} A number selects one index and drops the axis; a:b selects a range."
    index = ArgSpec(
        name="index",
        kind="str",
        doc="For each axis a number or a range, such as 0:128, 0:128 or :, :, 0.",
        required=True,
        label="Index",
        start="0:128, 0:128",
        form="index",
        advanced=False,
    )
    return OpSpec(
        name="subscript",
        schema="",
        devices=("cpu", "gpu"),
        inputs=(PortSpec("data"),),
        max_inputs=1,
        outputs=(PortSpec("output", follows=True, gives=OutputRule(shape=("subscript",))),),
        args={"index": index},
        doc=doc,
        summary=summary,
        category="crop",
        label="Index",
        synonyms=("[]", "indexing", "subscript", "channel", "extract channel"),
        expression="{}[{}]",
        operands=(("data",), ("index",)),
    )


def _shape() -> OpSpec:
    summary = "The shape of an array, such as height, width and channels of an image."
    rule = OutputRule(dtype="INT64", layout="", shape=("extents",))
    return OpSpec(
        name="shape",
        schema="",
        devices=("cpu",),
        inputs=(PortSpec("data", device="any"),),
        max_inputs=1,
        outputs=(PortSpec("output", kind="number", gives=rule),),
        doc=f"{summary} In code: images.shape(); the numbers are always on the CPU.",
        summary=summary,
        category="arithmetic",
        label="Shape",
        synonyms=("size", "height", "width", "extents", "shapes", "get_size", "resolution"),
        expression="{}.shape()",
        operands=(("data",),),
        stays=True,
    )


class _Ends(NamedTuple):
    """Slider range and step of a constant operand."""

    low: float
    high: float
    step: float
    draw: tuple[float, float]
    whole: bool


def _constant(
    name: str,
    label: str,
    doc: str,
    ends: _Ends,
    start: float | None = None,
    advanced: bool = False,
) -> ArgSpec:
    return ArgSpec(
        name=name,
        kind="int" if ends.whole else "float",
        doc=doc,
        tensor=True,
        label=label,
        low=ends.low,
        high=ends.high,
        step=ends.step,
        start=start,
        draw=ends.draw,
        elements=(),
        advanced=advanced,
    )


def _constant_type(members: tuple[str, ...], default: str) -> ArgSpec:
    return ArgSpec(
        name="constant_type",
        kind="enum",
        doc="Element type of the constant, which also affects the element type of the result.",
        default=default,
        enum="DALIDataType",
        members=members,
        label="Type of the constant",
    )


def _operator(
    function: _Function,
    inputs: tuple[PortSpec, ...],
    args: Mapping[str, ArgSpec],
    operands: tuple[tuple[str, ...], ...],
    mutually_exclusive: tuple[tuple[str, ...], ...] = (),
    one_of: tuple[tuple[str, ...], ...] = (),
) -> OpSpec:
    gives = OutputRule(dtype=function.gives, shape=("broadcast",))
    return OpSpec(
        name=f"math.{function.name}",
        schema="",
        devices=("cpu", "gpu"),
        inputs=inputs,
        max_inputs=len(inputs),
        outputs=(PortSpec("output", follows=True, gives=gives),),
        args=args,
        doc=f"{function.summary} Written {_example_expression(function.expression)}.",
        summary=function.summary,
        category="arithmetic",
        label=function.label,
        image=function.image,
        synonyms=function.synonyms,
        mutually_exclusive=mutually_exclusive,
        one_of=one_of,
        expression=function.expression,
        operands=operands,
    )


def _example_expression(expression: str) -> str:
    return expression.format("a", "b", "c")
