"""Arithmetic and indexing as Python source: the parts of an expression, and its constants."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.catalog.spec import OpSpec, Value
from workbench.emit.core.python import fraction
from workbench.errors import GraphError
from workbench.graph.model import Node


def expression_parts(expression: str, operands: Sequence[str]) -> list[str]:
    """The text with its operands, cut where a line may break.

    A call gives its head ``f(``, its arguments and ``)``; an operator stands with what follows it.
    """
    head, bracket, inside = expression.partition("(")
    if bracket and "{" not in head and {*inside.removesuffix(")").split(", ")} == {"{}"}:
        return [f"{head}(", *operands, ")"]
    words = expression.split(" ")
    if len(words) == 3:
        return [operands[0], f"{words[1]} {operands[1]}"]
    return [expression.format(*operands)]


def constant_type(node: Node, spec: OpSpec) -> str:
    """The element type of a node's constants, a member of ``DALIDataType``."""
    return str(node.args.get("constant_type", spec.args["constant_type"].default))


def number_of(value: Value, dtype: str) -> bool | int | float:
    """A constant as Python has it. Raises GraphError for what is no number."""
    if not isinstance(value, bool | int | float):
        raise GraphError(f"{value!r} is no number.")
    if dtype == "BOOL":
        return bool(value)
    return float(value) if dtype.startswith("FLOAT") else int(value)


_PLAIN = ("BOOL", "INT32", "FLOAT")
"""Element types that DALI gives Python's own numbers."""


def plain_constant(value: Value, dtype: str) -> str | None:
    """The source of a constant whose type DALI tells from Python's, or None for the others."""
    if dtype not in _PLAIN:
        return None
    number = number_of(value, dtype)
    text = fraction(number) if isinstance(number, float) else repr(number)
    return f"({text})" if " " in text else text
