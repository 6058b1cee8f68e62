"""Represent and validate custom policies for automatic augmentation.

A policy is a list of sub-policies; one of them is applied to each sample. A sub-policy is a list
of operations, applied in order::

    [[["rotate", 0.7, 6], ["equalize", 0.5]],
     [["color", 0.8, 8]]]

An operation is the name of an augmentation of ``nvidia.dali.auto_aug.augmentations``, the
probability that it is applied and, if the augmentation has magnitudes, its magnitude bin from 0.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple

from workbench.catalog.extra_operators.auto_augment import (
    NAMED,
    POLICY_BINS,
)
from workbench.catalog.spec import Value
from workbench.graph.model import Node
from workbench.names import did_you_mean, shortened

MOST_SUB_POLICIES = 100
MOST_OPERATIONS = 8
"""Maximum number of operations per sub-policy. DALI builds every augmentation once per position."""


class Operation(NamedTuple):
    """One augmentation of a sub-policy."""

    name: str
    probability: float
    magnitude: int | None
    """The magnitude bin, or None for an augmentation without magnitudes."""


SubPolicy = tuple[Operation, ...]


def operations_of(policy: Value) -> tuple[SubPolicy, ...]:
    """Convert a valid policy to tuples of ``Operation``."""
    assert isinstance(policy, tuple)
    return tuple(tuple(map(_operation, sub)) for sub in policy if isinstance(sub, tuple))


def _operation(value: Value) -> Operation:
    assert isinstance(value, tuple)
    name, probability, *magnitude = value
    assert isinstance(probability, int | float)
    level = next(iter(magnitude), None)
    return Operation(str(name), float(probability), level if isinstance(level, int) else None)


def policy_fault(policy: Value, bins: int = 0) -> tuple[str, str] | None:
    """Return the problem and the fix if a value is not a valid policy, else None.

    ``bins`` is the number of magnitude bins, or 0 for no limit.
    """
    if not isinstance(policy, tuple):
        return f"it is {_short(policy)}, not a list of sub-policies", _EXAMPLE
    if not 1 <= len(policy) <= MOST_SUB_POLICIES:
        found = f"it has {len(policy)} sub-policies"
        return found, f"Use 1 to {MOST_SUB_POLICIES}."
    for place, sub_policy in enumerate(policy, 1):
        if not isinstance(sub_policy, tuple):
            return f"sub-policy {place} is not a list of operations", _EXAMPLE
        if not 1 <= len(sub_policy) <= MOST_OPERATIONS:
            return (
                f"sub-policy {place} has {len(sub_policy)} operations",
                f"Use 1 to {MOST_OPERATIONS}; identity changes nothing.",
            )
        for at, operation in enumerate(sub_policy, 1):
            fault = _operation_fault(operation, bins)
            if fault:
                return f"sub-policy {place}, operation {at}: {fault[0]}", fault[1]
    return None


_EXAMPLE = 'For example [[["rotate", 0.7, 6], ["equalize", 0.5]], [["color", 0.8, 8]]].'


def _operation_fault(operation: Value, bins: int) -> tuple[str, str] | None:
    if not isinstance(operation, tuple) or len(operation) not in (2, 3):
        return "it is not an augmentation with its probability and magnitude", _EXAMPLE
    name, probability, *magnitude = operation
    if not isinstance(name, str) or name not in NAMED:
        hint = did_you_mean(str(name), NAMED)
        known = f"{hint} Use one of: {', '.join(NAMED)}.".lstrip()
        return f"{str(name)[:40]!r} is not an augmentation", known
    share = _number(probability)
    if share is None or not 0 <= share <= 1:
        return f"the probability of {name} is {_short(probability)}", "Use 0 to 1."
    if not NAMED[name]:
        found = f"{name} has no magnitude, but it is {_short(magnitude[0])}" if magnitude else ""
        return (found, "Remove it.") if magnitude else None
    most = f"Use an integer from 0{f' to {bins - 1}' if bins else ''}."
    if not magnitude:
        return f"the magnitude of {name} is missing", most
    (step,) = magnitude
    if not isinstance(step, int) or isinstance(step, bool) or step < 0 or (bins and step >= bins):
        return f"the magnitude of {name} is {_short(step)}", most
    return None


def _number(value: Value | None) -> float | None:
    """Return a number as a float. Return None if it is too large or not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 2**63 else None


def _short(value: Value) -> str:
    return shortened(repr(value), 30)


def policy_text(policy: Value) -> str:
    """Summarise a policy for display, such as ``25 sub-policies``."""
    count = len(policy) if isinstance(policy, tuple) else 0
    return f"{count} sub-polic{'y' if count == 1 else 'ies'}"


def policy_change(before: Value, after: Value) -> str:
    """Describe the change from one policy to another, such as ``add a sub-policy``."""
    if not isinstance(before, tuple) or not isinstance(after, tuple):
        return "policy"
    if len(before) != len(after):
        return "add a sub-policy" if len(after) == len(before) + 1 else policy_text(after)
    changed = [place for place, (one, other) in enumerate(zip(before, after, strict=True), 1)
               if one != other]  # fmt: skip
    if len(changed) > 1 and sorted(map(repr, before)) == sorted(map(repr, after)):
        return "order of the sub-policies"
    return f"sub-policy {changed[0]}" if len(changed) == 1 else "policy"


def always_applied(sub_policy: Value) -> Value:
    """Return a policy that always applies all operations of one sub-policy."""
    (operations,) = operations_of((sub_policy,))
    return (
        tuple(
            (name, 1.0) if magnitude is None else (name, 1.0, magnitude)
            for name, _, magnitude in operations
        ),
    )


def repaired_policy(policy: Value, bins: int) -> Value:
    """Replace invalid names and numbers with the nearest valid ones, and remove invalid entries."""
    given = policy if isinstance(policy, tuple) else ()
    mended = [
        tuple(
            _repaired_operation(operation, bins)
            for operation in sub_policy[:MOST_OPERATIONS]
            if isinstance(operation, tuple) and operation
        )
        for sub_policy in given[:MOST_SUB_POLICIES]
        if isinstance(sub_policy, tuple)
    ]
    return tuple(sub_policy for sub_policy in mended if sub_policy) or ((("identity", 1.0),),)


def _repaired_operation(operation: tuple[Value, ...], bins: int) -> Value:
    given = dict(enumerate(operation))
    name, share, step = str(given[0]), _number(given.get(1)), _number(given.get(2))
    near = get_close_matches(name, NAMED, n=1)
    known = name if name in NAMED else near[0] if near else "identity"
    chance = 0.5 if share is None else min(1.0, max(0.0, share))
    if not NAMED[known]:
        return known, chance
    return known, chance, bins // 2 if step is None else min(bins - 1, max(0, round(step)))


def bins_of(node: Node) -> int:
    """Return the number of magnitude bins of a node with a custom policy."""
    bins = node.args.get("num_magnitude_bins", POLICY_BINS)
    return bins if isinstance(bins, int) else POLICY_BINS
