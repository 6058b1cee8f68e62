"""Check single argument values against the kinds in DALI's schema."""

from __future__ import annotations

import math
import re
import sys
from string import ascii_letters

from workbench.catalog.familiar_names import value_hint
from workbench.catalog.spec import ArgSpec, Value
from workbench.graph.model.policy import policy_fault
from workbench.names import shortened

_SCALARS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "enum": (str,),
}


_AXIS_LETTERS = frozenset((*ascii_letters, "*"))
_LAYOUT_ARGUMENTS = ("layout", "layouts", "axis_names", "axis_name")


def elements(value: Value) -> tuple[Value, ...]:
    """Return the elements of a list argument as a tuple. A single value becomes a tuple of one."""
    return value if isinstance(value, tuple) else (value,)


def describe_kind(arg: ArgSpec) -> str:
    """Describe the allowed values of an argument, with an example."""
    if arg.choices or arg.members:
        return "one of " + ", ".join(map(str, arg.choices or arg.members))
    if arg.form == "flag" and arg.kind == "int":
        return "0 or 1"
    words = {
        "bool": "true or false",
        "int": "an integer",
        "float": "a number",
        "str": "a string",
        "enum": f"a member of nvidia.dali.types.{arg.enum}",
        "bool_list": "a list of true or false",
        "int_list": "integers",
        "float_list": "numbers",
        "str_list": "a list of strings",
        "enum_list": f"members of nvidia.dali.types.{arg.enum}",
        "object": "a Python value, which a graph file cannot store",
        "policy": "a list of sub-policies",
    }
    text = words[arg.kind]
    if is_layout(arg):
        text += " of letters, one for each axis, for example HWC"
    if arg.minimum is not None and arg.maximum is not None:
        text += f" from {arg.minimum:g} to {arg.maximum:g}"
    elif arg.minimum is not None:
        text += f", {arg.minimum:g} or more"
    elif arg.maximum is not None:
        text += f", {arg.maximum:g} at most"
    if arg.kind in ("int_list", "float_list"):
        usual = 224 if arg.name in SIZES else {"int_list": 2, "float_list": 0.5}[arg.kind]
        values = elements(arg.start) if arg.start else (usual,) * (arg.items or 2)
        text += f", for example {', '.join(map(str, values))}"
    return text


def value_fault(arg: ArgSpec, value: Value) -> tuple[str, str] | None:
    """Return the problem and the fix if ``value`` is invalid for ``arg``, else None.

    A list argument also accepts a single number, as in DALI.
    """
    element = arg.kind.removesuffix("_list")
    if element == "object":
        return f"{arg.name} cannot be stored in a graph", f"Use {describe_kind(arg)}."
    if element == "policy":
        return policy_fault(value)
    items = elements(value)
    if isinstance(value, tuple) and not arg.kind.endswith("_list"):
        numbers = arg.tensor and len(value) == 2 and not _is_descending(value)
        random = f", or wb.random.uniform(range=({value[0]}, {value[1]}))" if numbers else ""
        return f"{_show(value)} is a list", f"Use {describe_kind(arg)}{random}."
    if "range" in (arg.name, arg.form) and (len(items) != 2 or _is_descending(items)):
        return f"{_show(value)} is not a range", (
            "Use two numbers, low then high, for example -10, 10."
        )
    for item in items:
        fault = _item_fault(arg, element, item)
        if fault:
            known = [*map(str, arg.choices), *arg.members]
            hint = "" if item in arg.refused else value_hint(str(item), known)
            return fault, f"Use {describe_kind(arg)}. {hint}".rstrip()
    if found := _range_fault(arg, items):
        return found
    if arg.form == "index":
        try:
            parse_index(str(value))
        except ValueError as error:
            return f"{_show(value)} is not an index: {error}", (
                "Use a number or a range for each axis, for example 0:128, 0:128 or :, :, 0."
            )
    counts = [count for count in (arg.items, arg.volume_items) if count is not None]
    if counts and len(items) not in counts and not one_for_all(arg, value):
        return f"{_show(value)} has {len(items)} elements", f"Use {count_text(arg, *counts)}."
    return None


def _range_fault(arg: ArgSpec, items: tuple[Value, ...]) -> tuple[str, str] | None:
    """Return the problem and the fix if numbers that DALI accepts are out of range, else None."""
    numbers = [item for item in items if isinstance(item, int | float)]
    if arg.form == "flag" and arg.kind == "int" and any(item not in (0, 1) for item in numbers):
        return f"{_show(items)} is not 0 or 1", "Use 0 or 1."
    if arg.name in PROBABILITIES and any(not 0 <= item <= 1 for item in numbers):
        return f"{_show(items)} is not a probability", "Use a number from 0 to 1."
    if arg.name == "perm" and sorted(numbers) != [*range(len(items))]:
        order = ", ".join(map(str, range(len(items) - 1, -1, -1)))
        return f"{_show(items)} is not a permutation", f"Use each axis once, for example {order}."
    if arg.name == "std" and any(item <= 0 for item in numbers):
        return f"{_show(items)} is not a standard deviation", "Use numbers above 0."
    if arg.name in SIZES and numbers:
        whole = arg.name in ("size", "crop") and len(numbers) == len(items)
        alone = arg.name in _ALONE and not all(numbers)
        if alone or any(item < 0 for item in numbers) or (whole and not any(numbers)):
            zero = "" if arg.name in _ALONE else _ZERO.get(arg.name, _ZERO["size"])
            return f"{_show(items)} is not a size", f"Use a size above 0, for example 224{zero}."
    return None


def value_limits(arg: ArgSpec) -> tuple[float, float]:
    """Return the smallest and largest number that ``value_fault`` accepts; both may be infinite."""
    low = -math.inf if arg.minimum is None else arg.minimum
    high = math.inf if arg.maximum is None else arg.maximum
    if arg.name in PROBABILITIES or (arg.form == "flag" and arg.kind == "int"):
        return max(low, 0), min(high, 1)
    return max(low, 0) if arg.name in SIZES or arg.name == "std" else low, high


PROBABILITIES = frozenset({"p", "prob", "probability", "foreground_prob"})
_ALONE = frozenset({"resize_shorter", "resize_longer", "max_size"})
SIZES = _ALONE | {"size", "crop", "resize_x", "resize_y", "resize_z"}
"""Names of arguments that are sizes in pixels. A 0 in ``size`` makes DALI compute that side."""
_ZERO = {
    "size": "; if one of the two is 0, DALI computes that side",
    "crop": "; if one of the two is 0, that side is not cropped",
}
"""Text for error messages about a 0 for one of two sides, by argument name."""


def kind_fault(arg: ArgSpec, value: Value) -> str | None:
    """Return why a value does not have the argument's kind, or None. Ranges are not checked.

    The result is always None for the kinds ``object`` and ``policy``, which allow several types.
    """
    element = arg.kind.removesuffix("_list")
    if element not in _SCALARS:
        return None
    if isinstance(value, tuple) and not arg.kind.endswith("_list"):
        return f"{_show(value)} is a list"
    found = (_kind_fault(element, item) for item in elements(value))
    return next(filter(None, found), None)


def _kind_fault(element: str, item: Value) -> str | None:
    kinds = _SCALARS[element]
    if isinstance(item, kinds) and (bool in kinds or not isinstance(item, bool)):
        return None
    return f"{_show(item)} is not {_noun(element)}"


def one_for_all(arg: ArgSpec, value: Value) -> bool:
    """Return whether a value is a single number that applies to all elements of a list."""
    return arg.form == "each" and (not isinstance(value, tuple) or len(value) == 1)


def count_text(arg: ArgSpec, *counts: int) -> str:
    """Describe how many elements a list needs, with their names if known: ``exactly 2 (h, w)``."""
    parts = {len(arg.parts): arg.parts, len(arg.parts) + 1: ("d", *arg.parts)}
    named = len(arg.parts) == arg.items
    exactly = [f"{count} ({', '.join(parts[count])})" if named else f"{count}" for count in counts]
    return ("one number, or " if arg.form == "each" else "exactly ") + " or ".join(exactly)


def _is_descending(items: tuple[Value, ...]) -> bool:
    low, high = items
    return isinstance(low, int | float) and isinstance(high, int | float) and low > high


def _item_fault(arg: ArgSpec, element: str, item: Value) -> str | None:
    if fault := _kind_fault(element, item):
        return fault
    if isinstance(item, int | float) and not isinstance(item, bool):
        if isinstance(item, float) and not math.isfinite(item):
            return f"{item} is not finite"
        whole = element == "int" or abs(item) > sys.float_info.max
        if whole and not -(2**63) <= item < 2**63:
            return f"{_show(item)} does not fit into 64 bits"
        if (arg.minimum is not None and item < arg.minimum) or (
            arg.maximum is not None and item > arg.maximum
        ):
            return f"{_show(item)} is out of range"
    if isinstance(item, str) and item in arg.refused:
        return f"{_show(item)} {arg.refused[item]}"
    allowed = arg.members if element == "enum" else arg.choices if element == "str" else ()
    if allowed and item not in allowed:
        return f"{_show(item)} is not one of the choices"
    if element == "enum" and not str(item).isidentifier():
        return f"{_show(item)} is not a name"
    if is_layout(arg) and item and set(str(item)) - _AXIS_LETTERS:
        return f"{_show(item)} is not a layout"
    return None


def is_layout(arg: ArgSpec) -> bool:
    """Return whether an argument is a layout, which has one letter per axis."""
    return arg.kind in ("str", "str_list") and arg.name.endswith(_LAYOUT_ARGUMENTS)


def _noun(element: str) -> str:
    return {
        "bool": "true or false",
        "int": "an integer",
        "float": "a number",
        "str": "a string",
        "enum": "a name",
    }[element]


def _show(value: Value) -> str:
    return shortened(repr(list(value) if isinstance(value, tuple) else value), 60)


# Index texts such as ``:, 3:9`` or ``0``: parsed, and written as in Python.

Index = tuple[int | slice, ...]
"""Index of an array: an integer or a slice for each leading axis."""

_NUMBER = r"\s*([+-]?\d{1,10})?\s*"
_PLACE = re.compile(r"\s*([+-]?\d{1,10})\s*")
_RANGE = re.compile(f"{_NUMBER}:{_NUMBER}(?::{_NUMBER})?")
_MOST_AXES = 16
"""Maximum number of parts in an index; DALI's slicing supports fewer."""


def parse_index(text: str) -> Index:
    """Parse an index such as ``0, 1:3``. Raises ValueError, with the fix, if it is invalid."""
    items = text.split(",")
    if not items[-1].strip() and len(items) > 1:
        items.pop()
    if len(items) > _MOST_AXES:
        raise ValueError(f"it has {len(items)} parts; the limit is {_MOST_AXES}")
    return tuple(_item(item) for item in items)


def _item(text: str) -> int | slice:
    if place := _PLACE.fullmatch(text):
        return int(place[1])
    if ends := _RANGE.fullmatch(text):
        low, high, step = (None if end is None else int(end) for end in ends.groups())
        if step == 0:
            raise ValueError("a step of 0 is not allowed")
        return slice(low, high, step)
    if text.strip() == "...":
        raise ValueError("DALI does not support '...'; write ':' for each axis")
    raise ValueError(f"{shortened(text.strip(), 30)!r} is not an index or range")


def index_text(index: Index) -> str:
    """Format an index of integers and slices as Python code."""
    return ", ".join(
        _slice_text(item) if isinstance(item, slice) else str(int(item)) for item in index
    )


def _slice_text(item: slice) -> str:
    ends = ["" if end is None else str(int(end)) for end in (item.start, item.stop)]
    return ":".join(ends if item.step is None else [*ends, str(int(item.step))])
