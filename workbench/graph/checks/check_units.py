"""Warn about values in the wrong unit, such as fractions where pixels or degrees are expected."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.graph.model import Graph, Node
from workbench.graph.model.faults import Fault

_HUES = ("hue", "color_twist", "hsv")
_SIDES = ("size", "resize_x", "resize_y", "resize_shorter", "resize_longer", "resize_z")


def unit_warnings(graph: Graph) -> Iterator[Fault]:
    """Warn about ``erase`` regions and hues given as fractions, and fractional ``resize`` sizes."""
    for node in graph.walk():
        if node.op == "erase" and not node.args.get("normalized"):
            for name in ("anchor", "shape"):
                flag = f"normalized_{name}"
                if not node.args.get(flag) and _are_fractions(found := _values(graph, node, name)):
                    words = f"{_shown(found)} is in pixels, so it is less than one pixel"
                    yield Fault(node.id, name, words, f"Set {flag} for fractions.", "unit", flag)
        elif node.op in _HUES:
            if _are_fractions(found := _values(graph, node, "hue")):
                words = f"{_shown(found)} is in degrees, so colours hardly change"
                yield Fault(node.id, "hue", words, "Use degrees: 360 is a full turn.", "unit")
        elif node.op.startswith(("resize", "random_resized_crop")):
            for name in _SIDES:
                found = _values(graph, node, name) if name not in node.inputs else []
                if any(not value.is_integer() for value in found):
                    words = f"{_shown(found)} is not an integer, and DALI rounds it"
                    yield Fault(node.id, name, words, "Use integers.", "unit")


def _values(graph: Graph, node: Node, name: str) -> list[float]:
    """Return the constants of an argument, or the range of the random values that feed it."""
    value = node.args.get(name)
    fed = node.inputs.get(name)
    if fed is not None:
        source = graph.node(fed.node) if graph.has(fed.node) else None
        value = source.args.get("range") if source and source.op == "random.uniform" else None
    items = value if isinstance(value, tuple) else (value,)
    return [float(i) for i in items if isinstance(i, int | float) and not isinstance(i, bool)]


def _are_fractions(values: list[float]) -> bool:
    return bool(values) and any(values) and all(abs(value) < 1 for value in values)


def _shown(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
