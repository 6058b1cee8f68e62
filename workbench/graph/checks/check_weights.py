"""Faults of the probabilities with which ``random.choice`` draws."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum, inf

from workbench.graph.model import Node
from workbench.graph.model.faults import Fault

_TOLERANCE = 1e-4
"""How far from 1 DALI lets probabilities sum up."""
_MOST_REPEATED = 10**9
"""A population of which the sum of probabilities is still a number."""


def weight_faults(node: Node) -> Iterator[Fault]:
    """Another number of probabilities than of numbers to choose from, or a sum that is not 1."""
    given, population = node.args.get("p"), node.args.get("population")
    if node.op != "random.choice" or given is None or "p" in node.inputs:
        return
    weights = given if isinstance(given, tuple) else (given,)
    numbers = [each for each in weights if isinstance(each, int | float) and 0 <= each <= 1]
    if len(numbers) != len(weights):
        return  # a fault of the value itself
    total = fsum(numbers)
    is_repeated = len(numbers) == 1 and isinstance(population, int) and population > 0
    if is_repeated and isinstance(population, int):  # DALI repeats a single probability
        total = numbers[0] * population if population < _MOST_REPEATED else inf
    if isinstance(population, int) and len(numbers) != population and not is_repeated:
        yield Fault(
            node.id,
            "p",
            f"it has {len(numbers)} probabilities for {population} numbers to choose from",
            f"Give {population}.",
            "value",
        )
    elif not abs(total - 1) < _TOLERANCE:
        yield Fault(
            node.id,
            "p",
            f"the probabilities sum up to {total:.6g}",
            "Give some that sum up to 1.",
            "value",
        )
