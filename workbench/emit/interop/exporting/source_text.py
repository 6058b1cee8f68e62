"""Format nested calls as Python code, like ruff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.emit.core.python import INDENT, LINE, literal


@dataclass(frozen=True, slots=True)
class Call:
    """A call ``function(arguments)``. An argument is an expression or a pair (name, expression)."""

    function: str
    arguments: tuple[Expression | tuple[str, Expression], ...] = ()

    def __str__(self) -> str:
        return flat(self)


Expression = str | Call | list[Any]
"""A piece of Python code, a call, or a list of expressions."""


def call_of(function: str, *arguments: Any, **named: Any) -> Call:
    """Create a call from values and ``Source`` texts. Omits keyword arguments that are None."""
    given = [(name, source_of(value)) for name, value in named.items() if value is not None]
    return Call(function, (*map(source_of, arguments), *given))


class Source(str):
    """A string that already is Python code."""

    __slots__ = ()


def source_of(value: Any) -> Expression:
    """Convert a Python value to an expression. Floats are rounded to six decimal places."""
    match value:
        case Source() | Call() | list():
            return value
        case bool() | int() | None:
            return repr(value)
        case float():
            return repr(round(value, 6))
        case str():
            return literal(value)
        case tuple():
            inner = ", ".join(flat(source_of(each)) for each in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
    raise TypeError(f"{value!r} is not a value for an argument")


def flat(expression: Expression) -> str:
    """Format an expression on one line."""
    opened, parts, closed = _parts(expression)
    return opened + ", ".join(prefix + flat(part) for prefix, part in parts) + closed


def lines_of(
    expression: Expression, prefix: str = "", suffix: str = "", indent: str = ""
) -> list[str]:
    """Format ``prefix``, the expression and ``suffix`` on as few lines as possible."""
    whole = f"{indent}{prefix}{flat(expression)}{suffix}"
    if len(whole) <= LINE or isinstance(expression, str):
        return [whole]
    opened, parts, closed = _parts(expression)
    deeper = indent + INDENT
    inner = ", ".join(name + flat(part) for name, part in parts)
    if isinstance(expression, Call) and len(deeper) + len(inner) <= LINE:
        return [f"{indent}{prefix}{opened}", deeper + inner, f"{indent}{closed}{suffix}"]
    comma = "" if len(parts) == 1 else ","
    made = [line for name, part in parts for line in lines_of(part, name, comma, deeper)]
    return [f"{indent}{prefix}{opened}", *made, f"{indent}{closed}{suffix}"]


def _parts(expression: Expression) -> tuple[str, Sequence[tuple[str, Expression]], str]:
    """Return the opening bracket, the pairs (prefix, expression), and the closing bracket."""
    match expression:
        case Call(function, arguments):
            named = [
                (f"{each[0]}=", each[1]) if isinstance(each, tuple) else ("", each)
                for each in arguments
            ]
            return f"{function}(", named, ")"
        case list():
            return "[", [("", each) for each in expression], "]"
    return str(expression), (), ""
