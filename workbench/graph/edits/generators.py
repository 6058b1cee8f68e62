"""Select generators of random values that fit an argument, and set their initial arguments."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import ArgSpec, Value
from workbench.graph.model import Node

_DRAWN = {"float": "FLOAT", "int": "INT32", "bool": "BOOL"}
_GENERATORS: dict[str | None, tuple[str, ...]] = {
    "FLOAT": ("random.uniform", "random.normal", "random.beta"),
    "INT32": ("random.coin_flip", "random.uniform", "random.normal"),
    "BOOL": ("random.coin_flip",),
}
_UNSAID = {"random.coin_flip": "INT32"}
"""Default element type of the generators whose default is not FLOAT."""


def element_for(arg: ArgSpec) -> str | None:
    """Return the element type that a generator for an argument must output.

    Returns None for names, strings and Python objects, which cannot be generated.
    """
    usual = _DRAWN.get(arg.kind.removesuffix("_list"))
    if usual is None or not arg.dtypes or usual in arg.dtypes:
        return usual
    return arg.dtypes[0]


def generators_for(arg: ArgSpec) -> tuple[str, ...]:
    """Return the operators that can generate values for an argument, starting with the default.

    The result is empty for a range, because its ends could be in the wrong order, and for a matrix,
    which only ``transforms.*`` can create.
    """
    if not arg.tensor or arg.form in ("range", "matrix"):
        return ()
    found = _GENERATORS.get(element_for(arg), ())
    if arg.minimum is not None and arg.minimum > 0:
        return tuple(op for op in found if op != "random.coin_flip")
    return found


def element_of(generator: Node) -> str:
    """Return the element type of a generator's output."""
    return str(generator.args.get("dtype", _UNSAID.get(generator.op, "FLOAT")))


def generator_refusal(generator: Node, arg: ArgSpec) -> str | None:
    """Return why a generator cannot feed an argument, or None if it can."""
    allowed = generators_for(arg)
    if not allowed:
        return f"{arg.name!r} accepts no random numbers"
    if generator.op not in allowed:
        return f"{arg.name!r} accepts {', '.join(allowed)}, not {generator.op}"
    if arg.dtypes and element_of(generator) not in arg.dtypes:
        return (
            f"{arg.name!r} accepts {' or '.join(arg.dtypes)}, but {generator.id!r} outputs "
            f"{element_of(generator)}"
        )
    return None


def generator_args(
    op: str, arg: ArgSpec, value: Value | None, before: Mapping[str, Value]
) -> dict[str, Value]:
    """Return the initial arguments of a generator for an argument.

    ``value`` is the current value of the argument. ``before`` contains the arguments of the
    previous generator, if there was one; the new generator has approximately the same range.
    """
    low, high = generator_range(before) or _usual_range(arg, value)
    element = element_for(arg)
    args: dict[str, Value] = {}
    if op == "random.uniform":
        args["range"] = (low, high)
    elif op == "random.normal":
        # 95 % of the values are within two standard deviations of the mean.
        args |= {"mean": _rounded((low + high) / 2), "stddev": _rounded((high - low) / 4)}
    if element is not None and element != _UNSAID.get(op, "FLOAT"):
        args["dtype"] = element
    if "shape" in before:
        args["shape"] = before["shape"]
    elif isinstance(value, tuple) and len(value) > 1:
        args["shape"] = (len(value),)
    elif not value and arg.form != "each" and (arg.items or arg.form == "fields"):
        args["shape"] = (arg.items or len(arg.parts),)
    return args


def generator_range(args: Mapping[str, Value]) -> tuple[float, float] | None:
    """Return the approximate range of a generator's values, or None if it is unknown."""
    match args:
        case {"range": (int() | float() as low, int() | float() as high)} if low < high:
            return low, high
        case {"mean": int() | float() as mean, "stddev": int() | float() as deviation}:
            return (_rounded(mean - 2 * deviation), _rounded(mean + 2 * deviation))
        case {"values": tuple(values)}:
            numbers = [item for item in values if isinstance(item, int | float)]
            if len(set(numbers)) > 1:
                return min(numbers), max(numbers)
    return None


def uniform_values(generator: Node) -> tuple[str, tuple[float, ...]] | None:
    """Return the distribution of a ``random.uniform`` node, such as ``("range", (0.0, 1.0))``.

    The name is ``range`` or ``values``. Returns None for other operators and linked arguments.
    """
    name = "values" if "values" in generator.args else "range"
    if generator.op != "random.uniform" or generator.inputs:
        return None
    found = generator.args.get(name, ())
    items = found if isinstance(found, tuple) else (found,)
    numbers = [float(item) for item in items if isinstance(item, int | float)]
    return (name, tuple(numbers)) if numbers and len(numbers) == len(items) else None


def _usual_range(arg: ArgSpec, value: Value | None) -> tuple[float, float]:
    """Return a default range for random values around the current value.

    The range is narrower near a limit of the argument, and one-sided at the limit. A default range
    that covers all values, such as 0 to 1 for a position, is used unchanged.
    """
    items = value if isinstance(value, tuple) else (value,)
    numbers = {item for item in items if isinstance(item, int | float)}
    if arg.draw is not None and (len(numbers) != 1 or arg.draw == (arg.low, arg.high)):
        return arg.draw
    middle = max(numbers, default=arg.low if arg.low is not None else 0.5)
    span = 0.5
    if arg.draw is not None:
        span = (arg.draw[1] - arg.draw[0]) / 2
    elif arg.low is not None and arg.high is not None:
        span = (arg.high - arg.low) / 8
    if arg.kind.startswith("int"):
        span = max(1, round(span))
    # A value outside the default limits disables them.
    below = [end for end in (arg.low, arg.minimum) if end is not None and end <= middle]
    above = [end for end in (arg.high, arg.maximum) if end is not None and end >= middle]
    room = [abs(end - middle) for end in (*below, *above) if end != middle]
    span = min(span, *room) if room else span
    return max([_rounded(middle - span), *below]), min([_rounded(middle + span), *above])


def _rounded(number: float) -> float:
    return float(f"{number:.6g}") if isinstance(number, float) else number
