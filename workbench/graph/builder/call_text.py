"""How calls, values and statements look as a person writes them in Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from pprint import pformat
from textwrap import indent

from workbench.catalog.spec import Value
from workbench.graph.control_flow.kinds import shares
from workbench.graph.model import Graph, Settings

WIDTH = 96
"""Letters of a line; a call's own is shorter, for it may stand indented."""


def literal(value: Value) -> str:
    """A value of an argument as Python writes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, tuple):
        items = [literal(item) for item in value]
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text


def whole_weights(p: Value) -> str:
    """Small whole numbers that give these shares, where there are some."""
    if not isinstance(p, tuple):
        return literal(p)
    numbers = [float(share) for share in p if isinstance(share, int | float)]
    least = min((share for share in numbers if share), default=1.0)
    for scale in range(1, 21):
        whole = tuple(round(share / least * scale) for share in numbers)
        if len(set(whole)) > 1 and shares(whole) == p:
            return literal(whole)
    return literal(p)


def method_call(name: str, arguments: Sequence[str]) -> str:
    """``.name(arguments)``, an argument a line where it is long."""
    text = f".{name}({', '.join(arguments)})"
    if len(text) <= WIDTH - 8 and "\n" not in text:
        return text
    return f".{name}(\n{indent(','.join(f'{chr(10)}{each}' for each in arguments)[1:], '    ')},\n)"


def statement(name: str, head: str, calls: Sequence[str]) -> str:
    """``name = head.call().call()``, a call a line where it is long."""
    line = f"{name} = {head}{''.join(calls)}"
    if len(calls) < 2 or (len(line) <= WIDTH and len(calls) < 4 and "\n" not in line):
        return line
    return f"{name} = (\n{indent(chr(10).join([head, *calls]), '    ')}\n)"


def settings_calls(graph: Graph) -> list[str]:
    """Name and settings, as far as they are not those of any graph."""
    calls = []
    if graph.name != Graph().name or graph.about:
        about = [pformat(graph.about, WIDTH)] if graph.about else []
        calls.append(method_call("named", [literal(graph.name), *about]))
    usual = Settings()
    changed = [
        f"{each.name}={literal(getattr(graph.settings, each.name))}"
        for each in fields(Settings)
        if getattr(graph.settings, each.name) != getattr(usual, each.name)
    ]
    return [*calls, method_call("with_settings", changed)] if changed else calls
