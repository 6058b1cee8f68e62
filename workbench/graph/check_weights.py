"""Faults of the probabilities with which ``random.choice`` draws."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

from workbench.graph.faults import Fault
from workbench.graph.model import Node

_TOLERANCE = 1e-4
"""How far from 1 DALI lets probabilities sum up."""


def weight_faults(node: Node) -> Iterator[Fault]:
    """Another number of probabilities than of numbers to choose from, or a sum that is not 1."""
    given, population = node.args.get("p"), node.args.get("population")
    if node.op != "random.choice" or given is None or "p" in node.inputs:
        return
    weights = given if isinstance(given, tuple) else (given,)
    numbers = [float(weight) for weight in weights if isinstance(weight, int | float)]
    if len(numbers) != len(weights) or any(not 0 <= weight <= 1 for weight in numbers):
        return  # told as the fault of a value
    if len(numbers) == 1 and isinstance(population, int):
        numbers *= max(population, 1)  # as DALI repeats it
    if isinstance(population, int) and len(numbers) != population:
        yield Fault(
            node.id,
            "p",
            f"it has {len(numbers)} probabilities for {population} numbers to choose from",
            f"Give {population}.",
            "value",
        )
    elif not abs(fsum(numbers) - 1) < _TOLERANCE:
        yield Fault(
            node.id,
            "p",
            f"the probabilities sum up to {fsum(numbers):.6g}",
            "Give some that sum up to 1.",
            "value",
        )
