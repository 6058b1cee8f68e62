"""What automatic augmentation does to each sample of a batch, by what was drawn for it.

Runs inside the worker process only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.engine.build.auto_augment import POLICY_OPS, argument_of, policy_of, suite_of
from workbench.graph.model import Node

_NO_MAGNITUDE = 0


class Applied(NamedTuple):
    """What one step does to one sample."""

    augmentation: Any
    """DALI's; None where the step does nothing."""
    magnitude: int
    """A step of the augmentation's range."""
    sign: int
    """1 for the negative magnitude, where the augmentation takes a sign."""


class Augmented(NamedTuple):
    """An augmentation that a sample got."""

    name: str
    text: str
    """With its magnitude, where it has one: ``rotate -27``."""


def applied_steps(node: Node, drawn: Sequence[Any]) -> list[list[Applied]]:
    """For each step of a call what it does to each sample, by what was drawn for the batch.

    ``drawn`` has the arrays of ``uniforms_of``, each of the shape [samples, ...].
    """
    if node.op in POLICY_OPS:
        return _policy_steps(node, drawn)
    suite = suite_of(node)
    signed = any(each.randomly_negate for each in suite)
    if node.op == "trivial_augment_wide":
        operations, magnitudes = drawn[-1], drawn[0]
        signs = drawn[1] if signed else np.zeros_like(magnitudes)
        return [
            [
                Applied(suite[operation], int(magnitude), int(sign))
                for operation, magnitude, sign in zip(operations, magnitudes, signs, strict=True)
            ]
        ]
    count = int(argument_of(node, "n"))
    if count == 0:
        return []
    operations = drawn[0].reshape(-1, count)
    signs = drawn[1].reshape(-1, count) if signed else np.zeros_like(operations)
    magnitude = int(argument_of(node, "m"))
    return [
        [
            Applied(suite[operation], magnitude, int(sign))
            for operation, sign in zip(operations[:, step], signs[:, step], strict=True)
        ]
        for step in range(count)
    ]


def _policy_steps(node: Node, drawn: Sequence[Any]) -> list[list[Applied]]:
    policy = policy_of(node)
    chances, chosen = drawn[0], drawn[1]
    signs = drawn[2] if len(drawn) > 2 else np.zeros_like(chances, dtype=np.int32)
    steps: list[list[Applied]] = []
    for step in range(chances.shape[1]):
        applied = []
        for sample, sub_policy in enumerate(chosen):
            operations = policy.sub_policies[int(sub_policy)]
            augmentation, probability, magnitude = (
                operations[step] if step < len(operations) else (None, 0.0, None)
            )
            if not np.float32(chances[sample, step]) < np.float32(probability):
                augmentation = None
            bin_ = _NO_MAGNITUDE if magnitude is None else int(magnitude)
            applied.append(Applied(augmentation, bin_, int(signs[sample, step])))
        steps.append(applied)
    return steps


def bins_of(node: Node) -> int:
    """How many steps each magnitude has."""
    if node.op in POLICY_OPS:
        return int(policy_of(node).num_magnitude_bins)
    return int(argument_of(node, "num_magnitude_bins"))


def strength_of(applied: Applied, bins: int) -> float | None:
    """The magnitude, with its sign, as far from the range's beginning as its step of ``bins``.

    In the augmentation's own unit: degrees, pixels, shares. None for what has no magnitude.
    """
    augmentation = applied.augmentation
    if augmentation.mag_range is None:
        return None
    low, high = augmentation.mag_range
    magnitude = float(np.linspace(low, high, bins, dtype=np.float32)[applied.magnitude])
    return -magnitude if augmentation.randomly_negate and applied.sign else magnitude


def in_words(applied: Applied, bins: int) -> Augmented:
    """The same as a person reads it."""
    strength = strength_of(applied, bins)
    name = str(applied.augmentation.name)
    # added to 0, for -0.0 is read as a turn to the other side
    return Augmented(name, name if strength is None else f"{name} {0 + strength:.3g}")
