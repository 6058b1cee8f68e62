"""Build and parse the names of taps: outputs with a body's samples, one per loop iteration."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.graph.model import Port


def port_in_iteration(port: Port, turn: int) -> Port:
    """Return the port for one iteration if ``port`` has a body's samples, else ``port``."""
    if port.output:
        return port
    scope, dash, inner = port.node.partition("#")
    return Port(f"{scope}#{turn}{dash}{inner}", "")


def scope_of(name: str) -> str:
    """Return the scope (the id of the body) in a tap's name, dropping the loop iterations."""
    return name.partition("#")[0]


def scope_of_first_iteration(name: str) -> str | None:
    """Return the scope in the name of a first iteration's tap, or None for a later iteration."""
    scope, *turns = name.split("#")
    return scope if all(turn == "0" for turn in turns) else None


def taps_of_scope(scope: str, names: Iterable[str]) -> list[str]:
    """Return the names of one body's taps in the order in which its nodes are called."""
    own = (name for name in names if scope_of(name) == scope)
    return sorted(own, key=lambda name: list(map(int, name.split("#")[1:])))
