"""Policies of one's own in a script that is imported: a ``Policy`` as a node's arguments.

Runs inside the worker process only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.catalog.own_operators.auto_augment import NAMED, OWN_POLICY, POLICY_BINS
from workbench.catalog.spec import Value
from workbench.engine.build.auto_augment import policy_of
from workbench.graph.model import Node
from workbench.graph.model.policy import mended_policy, policy_fault

_MAGNITUDES: tuple[dict[str, Value], ...] = ({}, {"magnitudes": "learnt"})
_LIMITS = {"translate_x": 1, "translate_y": 0}


def policy_arguments(policy: Any, shaped: bool) -> tuple[dict[str, Value], list[str]]:
    """The arguments of a node that has a policy of DALI's, and what of it no node can hold.

    A node has DALI's named augmentations, with the ranges of one of its ``magnitudes``, and
    translations up to any limit. ``shaped`` says whether the call is given the images' shape.
    """
    bins = policy.num_magnitude_bins
    written = tuple(tuple(_operation(*each) for each in sub) for sub in policy.sub_policies)
    held = mended_policy(written, bins)
    args: dict[str, Value] = {"policy": held}
    if bins != POLICY_BINS:
        args["num_magnitude_bins"] = bins
    limits = _limits(policy)
    if limits is not None:
        args["max_translate_rel" if shaped else "max_translate_abs"] = limits
    unknown = [name for name in policy.augmentations if name not in NAMED]
    lost = [f"it has no augmentation {name}: identity stands in its place" for name in unknown]
    fault = None if unknown else policy_fault(written, bins)
    if fault is not None:
        lost.append(f"of its policy {fault[0]}, which is corrected here")
    tried: dict[str, Value] = {"shape": (1, 1)} if shaped else {}
    found = []
    for magnitudes in _MAGNITUDES:
        made = policy_of(Node("", OWN_POLICY, {**args, **magnitudes, **tried})).augmentations
        given = policy.augmentations.items()
        others = [name for name, each in given if name in made and not _same(made[name], each)]
        found.append((others, magnitudes))
    others, magnitudes = min(found, key=lambda each: len(each[0]))
    lost += [f"it has DALI's own range for {name}, another than this one's" for name in others]
    return {**args, **magnitudes}, lost


def _operation(augmentation: Any, probability: float, magnitude: int | None) -> tuple[Value, ...]:
    name = str(augmentation.name)
    if name not in NAMED:
        return "identity", float(probability)
    if magnitude is None or not NAMED[name]:  # DALI passes over what is not taken
        return name, float(probability)
    return name, float(probability), int(magnitude)


def _limits(policy: Any) -> Value | None:
    """Most translation in height and width, where one is not the one that DALI's has."""
    found: dict[int, int | float] = {}
    usual: set[str] = set()
    for name, augmentation in policy.augmentations.items():
        if name in _LIMITS and _is_pair(augmentation.mag_range):
            found[_LIMITS[name]] = augmentation.mag_range[1]
            usual |= {name} if augmentation.mag_range[1] in _usual(name) else set()
    if not found or len(usual) == len(found):
        return None
    some = next(iter(found.values()))
    return tuple(found.get(place, some) for place in (0, 1))


def _usual(name: str) -> Iterator[float]:
    from nvidia.dali.auto_aug import augmentations

    for stem in (name, f"{name}_no_shape"):
        yield getattr(augmentations, stem).mag_range[1]


def _is_pair(mag_range: Any) -> bool:
    return isinstance(mag_range, tuple | list) and len(mag_range) == 2


def _same(one: Any, other: Any) -> bool:
    """Whether two augmentations give the same for every magnitude."""
    return (
        one.op is other.op
        and one.mag_to_param is other.mag_to_param
        and one.randomly_negate == other.randomly_negate
        and one.param_device == other.param_device
        and (one.mag_range is None) == (other.mag_range is None)
        and (one.mag_range is None or bool(np.array_equal(one.mag_range, other.mag_range)))
    )
