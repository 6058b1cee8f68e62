"""Names of the taps with the samples of a scope, also for each iteration of a loop."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.graph.model import Port


def port_in_iteration(port: Port, turn: int) -> Port:
    """A scope's port for one iteration of its loop; other ports unchanged."""
    if port.output:
        return port
    scope, dash, inner = port.node.partition("#")
    return Port(f"{scope}#{turn}{dash}{inner}", "")


def scope_of(name: str) -> str:
    """The scope of a tap, in any iteration of the enclosing loops."""
    return name.partition("#")[0]


def scope_of_first_iteration(name: str) -> str | None:
    """The scope of a tap; None for later iterations of the enclosing loops."""
    scope, *turns = name.split("#")
    return scope if all(turn == "0" for turn in turns) else None


def taps_of_scope(scope: str, names: Iterable[str]) -> list[str]:
    """The taps of a scope, in the order in which its nodes are called."""
    own = (name for name in names if scope_of(name) == scope)
    return sorted(own, key=lambda name: list(map(int, name.split("#")[1:])))
