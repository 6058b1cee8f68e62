"""Arithmetic, ``nvidia.dali.math`` and indexing as operators of the catalogue.

DALI runs each as one hidden operator (``ArithmeticGenericOp``, ``TensorSubscript``); a person
writes ``images * 0.5``, ``math.sqrt(images)`` or ``images[:, 3:9]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workbench.catalog.spec import ArgSpec, Gives, OpSpec, PortSpec

CONSTANT_TYPES = (
    *("BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"),
    *("FLOAT", "FLOAT64"),
)
"""Element types that DALI calculates with: not FLOAT16 (tried with DALI 2.4)."""
_WHOLE = tuple(name for name in CONSTANT_TYPES if not name.startswith("FLOAT"))
_NUMBERS = tuple(name for name in CONSTANT_TYPES if name != "BOOL")


class _Function(NamedTuple):
    name: str
    """Behind ``math.``: Python's name in ``operator``, or DALI's in ``nvidia.dali.math``."""
    called: str
    """In DALI's ``expression_desc``."""
    written: str
    label: str
    gives: str
    summary: str
    start: float | None = None
    """Of the constant on the right."""
    high: float = 255
    """Of its slider; the low end is -high, or 0 for shifts."""
    image: bool = False
    """Whether what it starts with makes one picture of another."""


_BINARY = (
    _Function("add", "add", "{} + {}", "Add", "promoted", "Sum of two values.", 32, 255, True),
    _Function("sub", "sub", "{} - {}", "Subtract", "promoted", "Difference.", 32, 255, True),
    _Function("mul", "mul", "{} * {}", "Multiply", "promoted", "Product.", 0.5, 4, True),
    _Function(
        *("truediv", "fdiv", "{} / {}", "Divide", "floating"),
        *("Quotient, as a fraction also of whole numbers.", 255, 255, True),
    ),
    _Function(
        *("floordiv", "div", "{} // {}", "Divide whole", "promoted"),
        *("Quotient; of whole numbers rounded towards zero.", 2, 255),
    ),
    _Function("mod", "mod", "{} % {}", "Remainder", "promoted", "Remainder.", 64),
    _Function("pow", "pow", "math.pow({}, {})", "Power", "promoted", "Power.", 2, 4),
    _Function(
        *("fpow", "fpow", "math.fpow({}, {})", "Power, as fraction", "floating"),
        *("Power, as a fraction also of whole numbers.", 0.5, 4),
    ),
    _Function(
        *("atan2", "atan2", "math.atan2({}, {})", "Angle of a point", "floating"),
        *("Arcus tangent of the quotient of two values.", 1, 255),
    ),
    _Function(
        *("min", "min", "math.min({}, {})", "Smaller of two", "promoted"),
        *("The smaller of two values.", 128, 255, True),
    ),
    _Function(
        *("max", "max", "math.max({}, {})", "Larger of two", "promoted"),
        *("The larger of two values.", 128, 255, True),
    ),
    _Function("eq", "eq", "{} == {}", "Equal", "BOOL", "Whether two values are equal.", 0),
    _Function("ne", "neq", "{} != {}", "Not equal", "BOOL", "Whether two values differ.", 0),
    _Function("lt", "lt", "{} < {}", "Less", "BOOL", "Whether a value is less.", 128),
    _Function("le", "leq", "{} <= {}", "Less or equal", "BOOL", "Less or equal.", 128),
    _Function("gt", "gt", "{} > {}", "Greater", "BOOL", "Whether a value is greater.", 128),
    _Function("ge", "geq", "{} >= {}", "Greater or equal", "BOOL", "Greater or equal.", 128),
)
_BITWISE = (
    _Function("bitand", "bitand", "{} & {}", "Bits: and", "promoted", "Bits set in both.", 240),
    _Function("bitor", "bitor", "{} | {}", "Bits: or", "promoted", "Bits set in either.", 15),
    _Function("bitxor", "bitxor", "{} ^ {}", "Bits: xor", "promoted", "Bits set in one.", 255),
    _Function("lshift", "lshift", "{} << {}", "Shift left", "promoted", "Bits moved up.", 1, 31),
    _Function("rshift", "rshift", "{} >> {}", "Shift right", "promoted", "Bits moved down.", 1, 31),
)
_UNARY = (
    _Function("neg", "minus", "-{}", "Negative", "promoted", "The value with the other sign."),
    _Function("abs", "abs", "math.abs({})", "Absolute", "promoted", "Value without its sign."),
    *(
        _Function(name, name, f"math.{name}({{}})", label, "floating", summary)
        for name, label, summary in (
            ("fabs", "Absolute, as fraction", "Value without its sign, as a fraction."),
            ("sqrt", "Square root", "Square root."),
            ("rsqrt", "1 / square root", "One by the square root."),
            ("cbrt", "Cube root", "Cube root."),
            ("exp", "Exponential", "e to the power of the value."),
            ("log", "Logarithm", "Natural logarithm."),
            ("log2", "Logarithm, base 2", "Logarithm to the base 2."),
            ("log10", "Logarithm, base 10", "Logarithm to the base 10."),
            ("floor", "Round down", "The largest whole number not above the value."),
            ("ceil", "Round up", "The smallest whole number not below the value."),
            ("sin", "Sine", "Sine of an angle in radians."),
            ("cos", "Cosine", "Cosine of an angle in radians."),
            ("tan", "Tangent", "Tangent of an angle in radians."),
            ("asin", "Arcus sine", "Angle in radians of a sine."),
            ("acos", "Arcus cosine", "Angle in radians of a cosine."),
            ("atan", "Arcus tangent", "Angle in radians of a tangent."),
            ("sinh", "Hyperbolic sine", "Hyperbolic sine."),
            ("cosh", "Hyperbolic cosine", "Hyperbolic cosine."),
            ("tanh", "Hyperbolic tangent", "Hyperbolic tangent."),
            ("asinh", "Inverse hyperbolic sine", "Inverse hyperbolic sine."),
            ("acosh", "Inverse hyperbolic cosine", "Inverse hyperbolic cosine."),
            ("atanh", "Inverse hyperbolic tangent", "Inverse hyperbolic tangent."),
        )
    ),
)
_NOT = _Function("bitnot", "bitnot", "~{}", "Bits: not", "promoted", "Every bit turned over.")
_CLAMP = _Function(
    *("clamp", "clamp", "math.clamp({}, {}, {})", "Clamp", "promoted"),
    *("The value, or the end of a range that it goes beyond.", None, 255, True),
)

CALLED: Mapping[str, str] = {
    function.called: f"math.{function.name}"
    for function in (*_BINARY, *_BITWISE, *_UNARY, _NOT, _CLAMP)
}
"""Names in DALI's ``expression_desc`` -> operators of the catalogue."""


def arithmetic() -> dict[str, OpSpec]:
    """The operators by name."""
    made = [
        *(_binary(function, whole=False) for function in _BINARY),
        *(_binary(function, whole=True) for function in _BITWISE),
        *(_operator(function, (_data(_NUMBERS),), {}, (("data",),)) for function in _UNARY),
        _operator(_NOT, (_data(_WHOLE),), {}, (("data",),)),
        _clamp(),
        _subscript(),
    ]
    return {op.name: op for op in made}


def _data(dtypes: tuple[str, ...]) -> PortSpec:
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
            "What stands on the right, where other is not connected.",
            ends,
            start=function.start,
        ),
        "left": _constant(
            "left",
            "Left operand",
            "What stands on the left: then data is the right operand.",
            ends,
            advanced=True,
        ),
        "constant_type": _constant_type(dtypes, "INT32" if whole else "FLOAT"),
    }
    first: tuple[str, ...] = ("left", "data")
    second: tuple[str, ...] = ("right", "other", "data")
    group: tuple[str, ...] = ("right", "other", "left")
    if function.gives == "BOOL":  # Python turns 1 < x round to x > 1
        del args["left"]
        first, second, group = ("data",), ("right", "other"), ("right", "other")
    return _operator(
        function,
        (_data(dtypes), PortSpec("other", optional=True, dtypes=dtypes)),
        args,
        (first, second),
        exclusive=(group,),
        one_of=(group,),
    )


def _clamp() -> OpSpec:
    args = {
        name: _constant(
            name,
            f"{word.capitalize()} end",
            f"The {word} end, where {name}_input is not connected.",
            _Ends(0, 255, 1, (0, 255), False),
            start=start,
        )
        for name, word, start in (("lo", "low", 64), ("hi", "high", 192))
    }
    return _operator(
        _CLAMP,
        (
            _data(CONSTANT_TYPES),
            PortSpec("lo_input", optional=True, dtypes=CONSTANT_TYPES),
            PortSpec("hi_input", optional=True, dtypes=CONSTANT_TYPES),
        ),
        {**args, "constant_type": _constant_type(CONSTANT_TYPES, "FLOAT")},
        (("data",), ("lo", "lo_input"), ("hi", "hi_input")),
        exclusive=(("lo", "lo_input"), ("hi", "hi_input")),
        one_of=(("lo", "lo_input"), ("hi", "hi_input")),
    )


def _subscript() -> OpSpec:
    summary = "Part of an array, as Python's indexing has it."
    doc = f"{summary} A number takes one place of an axis and drops the axis; a:b takes a range."
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
        outputs=(PortSpec("output", follows=True, gives=Gives(shape=("subscript",))),),
        args={"index": index},
        doc=doc,
        summary=summary,
        category="crop",
        label="Index",
        written="{}[{}]",
        operands=(("data",), ("index",)),
    )


class _Ends(NamedTuple):
    """What a slider of constants has."""

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
        elements="any",
        advanced=advanced,
    )


def _constant_type(members: tuple[str, ...], default: str) -> ArgSpec:
    return ArgSpec(
        name="constant_type",
        kind="enum",
        doc="Element type of the constant: with that of the data it decides that of the result.",
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
    exclusive: tuple[tuple[str, ...], ...] = (),
    one_of: tuple[tuple[str, ...], ...] = (),
) -> OpSpec:
    gives = Gives(dtype=function.gives, shape=("broadcast",))
    return OpSpec(
        name=f"math.{function.name}",
        schema="",
        devices=("cpu", "gpu"),
        inputs=inputs,
        max_inputs=len(inputs),
        outputs=(PortSpec("output", follows=True, gives=gives),),
        args=args,
        doc=f"{function.summary} Written {_shown(function.written)}.",
        summary=function.summary,
        category="arithmetic",
        label=function.label,
        image=function.image,
        exclusive=exclusive,
        one_of=one_of,
        written=function.written,
        operands=operands,
    )


def _shown(written: str) -> str:
    return written.format("a", "b", "c")
