"""Pieces of Python source: checked names, literals, calls laid out as ruff formats them."""

from __future__ import annotations

import ast
import struct
from collections.abc import Sequence

from workbench.catalog.spec import ArgSpec, Value
from workbench.errors import GraphError
from workbench.graph.model import is_name

LINE = 88
INDENT = "    "


def identifier(name: str) -> str:
    """The name itself, so that no text of a user becomes code.

    Raises GraphError where it is no Python name.
    """
    if not all(map(is_name, name.split("."))):
        raise GraphError(f"{name!r} is not a Python name.")
    return name


def literal(value: Value, arg: ArgSpec | None = None) -> str:
    """A value as source; enum members as ``types.NAME``."""
    if isinstance(value, tuple):
        return "[" + ", ".join(literal(item, arg) for item in value) + "]"
    if isinstance(value, str):
        if arg is not None and arg.enum is not None:
            return "types." + identifier(value)
        return _quoted(value)
    return repr(value).replace("e+", "e")


def written(value: Value, arg: ArgSpec) -> str:
    """An argument of an operator as a person writes it: ``1 / 255``, ``[0.485 * 255, ...]``.

    To DALI, which holds float32, it is the same number.
    """
    if isinstance(value, float):
        return fraction(value)
    if not isinstance(value, tuple):
        return literal(value, arg)
    if arg.constant in ("MEAN", "STD"):
        of_bytes = [_of_bytes(item) for item in value]
        if all(of_bytes) and any(len(repr(item)) >= _LONG for item in value):
            return f"[{', '.join(of_bytes)}]"
    return f"[{', '.join(written(item, arg) for item in value)}]"


_LONG = 6
"""Characters of a number that its author may have written otherwise."""
_DENOMINATORS = (3, 6, 7, 9, 11, 12, 255)


def fraction(value: float) -> str:
    """A number, as a fraction where it is one that has no end."""
    plain = literal(value)
    if len(plain) > _LONG:
        for low in _DENOMINATORS:
            high = round(value * low) if abs(value) < low else 0
            if high and _same(high / low, value):
                return f"{high} / {low}"
    return plain


def _of_bytes(value: Value) -> str:
    """A share of 255, where that is shorter; else empty."""
    if not isinstance(value, float) or not 1 < value < 255:
        return ""
    share = round(value / 255, 4)
    return f"{share} * 255" if _same(share * 255, value) else ""


def _same(one: float, other: float) -> bool:
    return struct.pack("f", one) == struct.pack("f", other)


def _quoted(text: str) -> str:
    source = repr(text)
    if source[0] == "'" and '"' not in source and "\\'" not in source:
        return f'"{source[1:-1]}"'
    return source


def call(
    target: str, function: str, arguments: Sequence[str], indent: str = INDENT, comment: str = ""
) -> list[str]:
    """``target = function(arguments)`` on as few lines as fit, each with its indent.

    A ``comment`` is at the end of the first line, if it fits there.
    """
    head = f"{indent}{target + ' = ' if target else ''}{function}("
    inner = ", ".join(arguments)
    commented = f"{head}  # {comment}"
    if comment and len(commented) <= LINE:
        head = commented
    elif len(head) + len(inner) + 1 <= LINE:
        return [f"{head}{inner})"]
    deeper = indent + INDENT
    if len(deeper) + len(inner) <= LINE:
        return [head, deeper + inner, indent + ")"]
    return [head, *(f"{deeper}{argument}," for argument in arguments), indent + ")"]


def assigned(target: str, parts: Sequence[str], indent: str = INDENT) -> list[str]:
    """``target = expression`` on as few lines as fit; ``parts`` are joined by spaces or lines.

    Of a call the parts are its head ``f(``, its arguments, and ``)``.
    """
    if parts[0].endswith("(") and parts[-1] == ")":
        return call(target, parts[0][:-1], parts[1:-1], indent)
    line = f"{indent}{target} = {' '.join(parts)}"
    if len(line) <= LINE:
        return [line]
    deeper = indent + INDENT
    whole = deeper + " ".join(parts)
    inner = [whole] if len(whole) <= LINE else [deeper + part for part in parts]
    return [f"{indent}{target} = (", *inner, f"{indent})"]


def constant(name: str, value: str) -> list[str]:
    """``NAME = value``; a long list wrapped, for ruff would give each item a line of its own."""
    if len(name) + 3 + len(value) <= LINE or not value.startswith("["):
        return [f"{name} = {value}"]
    lines = [INDENT]
    for item in _items(value):
        if lines[-1] != INDENT and len(lines[-1]) + len(item) + 2 > LINE:
            lines.append(INDENT)
        lines[-1] += f"{'' if lines[-1] == INDENT else ' '}{item},"
    return [f"{name} = [", *lines, "]  # fmt: skip"]


def _items(text: str) -> list[str]:
    """The source of each item of a list; text inside of string literals is never split."""
    parsed = ast.parse(text, mode="eval").body
    assert isinstance(parsed, ast.List)
    source = text.encode()
    return [source[each.col_offset : each.end_col_offset].decode() for each in parsed.elts]


def signature(function: str, parameters: str, returns: str = "tuple[DataNode, ...]") -> list[str]:
    """``def function(parameters) -> returns:`` on as few lines as fit."""
    line = f"def {function}({parameters}) -> {returns}:"
    if len(line) <= LINE:
        return [line]
    if len(INDENT + parameters) <= LINE:
        return [f"def {function}(", INDENT + parameters, f") -> {returns}:"]
    each = (f"{INDENT}{parameter}," for parameter in parameters.split(", "))
    return [f"def {function}(", *each, f") -> {returns}:"]
