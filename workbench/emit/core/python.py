"""Write Python code: checked names, literals, and calls formatted like ruff."""

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
    """Return ``name``, or raise GraphError if it is not a valid Python name.

    This prevents user text from becoming code.
    """
    if not all(map(is_name, name.split("."))):
        raise GraphError(f"{name!r} is not a Python name. Use letters, digits and '_'.")
    return name


def literal(value: Value, arg: ArgSpec | None = None) -> str:
    """Return a value as Python code. Members of enums become ``types.NAME``."""
    if isinstance(value, tuple):
        return "[" + ", ".join(literal(item, arg) for item in value) + "]"
    if isinstance(value, str):
        if arg is not None and arg.enum is not None:
            return "types." + identifier(value)
        return _quoted(value)
    return repr(value).replace("e+", "e")


def literal_text(value: Value, arg: ArgSpec) -> str:
    """Return an argument's value as readable code: ``1 / 255``, ``[0.485 * 255, ...]``.

    The code evaluates to the same float32 number, which is what DALI stores.
    """
    if isinstance(value, float):
        return fraction(value)
    if not isinstance(value, tuple):
        return literal(value, arg)
    if arg.constant in ("MEAN", "STD"):
        of_bytes = [_of_bytes(item) for item in value]
        if all(of_bytes) and any(len(repr(item)) >= _LONG for item in value):
            return f"[{', '.join(of_bytes)}]"
    return f"[{', '.join(literal_text(item, arg) for item in value)}]"


_LONG = 6
"""Minimum length of a number that ``fraction`` and ``literal_text`` try to shorten."""
_DENOMINATORS = (3, 6, 7, 9, 11, 12, 255)


def fraction(value: float) -> str:
    """Return a number as code: a fraction such as ``1 / 255`` if its decimal form is long."""
    plain = literal(value)
    if len(plain) > _LONG:
        for low in _DENOMINATORS:
            high = round(value * low) if abs(value) < low else 0
            if high and _same(high / low, value):
                return f"{high} / {low}"
    return plain


def _of_bytes(value: Value) -> str:
    """Return the value as code of the form ``fraction * 255`` if possible, else an empty string."""
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
    """Return ``target = function(arguments)`` on as few indented lines as possible.

    ``comment`` is appended to the first line if it fits there.
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
    """Return ``target = expression`` on as few lines as possible.

    ``parts`` are joined by spaces. The parts of a call are ``f(``, its arguments, and ``)``.
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
    """Return the lines of ``NAME = value``. Long lists and dictionaries are wrapped.

    Unlike ruff, this does not put each item of a list on its own line.
    """
    if len(name) + 3 + len(value) <= LINE or not value.startswith(("[", "{")):
        return [f"{name} = {value}"]
    if value.startswith("{"):
        return [f"{name} = {{", *(f"{INDENT}{item}," for item in _items(value)), "}"]
    lines = [INDENT]
    for item in _items(value):
        if lines[-1] != INDENT and len(lines[-1]) + len(item) + 2 > LINE:
            lines.append(INDENT)
        lines[-1] += f"{'' if lines[-1] == INDENT else ' '}{item},"
    return [f"{name} = [", *lines, "]  # fmt: skip"]


def _items(text: str) -> list[str]:
    """Return each item of a list or dictionary as code. String literals are never split."""
    parsed = ast.parse(text, mode="eval").body
    assert isinstance(parsed, ast.List | ast.Dict)
    source = text.encode()
    ends = parsed.elts if isinstance(parsed, ast.List) else parsed.values
    begins = parsed.elts if isinstance(parsed, ast.List) else [key for key in parsed.keys if key]
    pairs = zip(begins, ends, strict=True)
    return [source[one.col_offset : other.end_col_offset].decode() for one, other in pairs]


def signature(function: str, parameters: str, returns: str = "tuple[DataNode, ...]") -> list[str]:
    """Return ``def function(parameters) -> returns:`` on as few lines as possible."""
    line = f"def {function}({parameters}) -> {returns}:"
    if len(line) <= LINE:
        return [line]
    if len(INDENT + parameters) <= LINE:
        return [f"def {function}(", INDENT + parameters, f") -> {returns}:"]
    each = (f"{INDENT}{parameter}," for parameter in parameters.split(", "))
    return [f"def {function}(", *each, f") -> {returns}:"]
