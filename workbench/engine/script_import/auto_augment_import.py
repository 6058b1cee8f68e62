"""Import each call of automatic augmentation in a script as one operator.

DALI's functions create hundreds of operators per call, from which the call's arguments cannot be
reconstructed. Therefore they are replaced while a script runs. The replacements record the
arguments, sample as many random values as DALI's functions (because seeds are assigned in order),
and create one operator with a known name.

Used in the worker process only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from workbench.catalog.extra_operators.auto_augment import (
    AUTO_AUGMENT,
    NAMED,
    OWN_POLICY,
    POLICY_BINS,
)
from workbench.catalog.spec import OpSpec, Value
from workbench.emit.pipeline_import.trace.traced import AutomaticCall, Traced
from workbench.engine.build.auto_augment import (
    policy_of,
    registration_order,
    run_as_it_is,
    uniforms_of,
)
from workbench.engine.script_import.placeholders import replaced
from workbench.engine.script_import.user_code import numba_calls
from workbench.graph.model import Node
from workbench.graph.model.policy import policy_fault, repaired_policy

_DRAWN_INTO = ("crop_h", "crop_pos_x", "crop_pos_y")
"""Arguments of ``fn.crop`` to which random values are connected. They are sorted by name, because
DALI registers argument inputs in this order.
"""
_SHAPE_INTO = "crop_pos_z"
_MAGNITUDES: tuple[dict[str, Value], ...] = ({}, {"magnitudes": "learnt"})
_LIMITS = {"translate_x": 1, "translate_y": 0}
_OURS = (__file__, numba_calls.__file__)


@contextmanager
def noted_calls() -> Iterator[dict[str, AutomaticCall]]:
    """Within the context, record calls of automatic augmentation. Yields them by operator name."""
    noted: dict[str, AutomaticCall] = {}
    modules = {
        spec.name: import_module(f"nvidia.dali.auto_aug.{spec.module}")
        for spec in AUTO_AUGMENT.values()
    }
    with replaced(
        (module, name, _recording_calls(AUTO_AUGMENT[name], getattr(module, name), noted))
        for name, module in modules.items()
    ):
        yield noted


def with_noted(traced: Traced, noted: dict[str, AutomaticCall]) -> Traced:
    """Add the recorded calls to a trace, and remove stack frames of the workbench itself."""
    ops = tuple(
        replace(op, places=tuple(place for place in op.places if place.file not in _OURS))
        for op in traced.pipeline.ops
    )
    return replace(traced, pipeline=replace(traced.pipeline, ops=ops), automatic=noted)


def _recording_calls(
    spec: OpSpec, function: Callable[..., Any], noted: dict[str, AutomaticCall]
) -> Callable[..., Any]:
    signature = inspect.signature(function)

    def note(*arguments: Any, **named: Any) -> Any:
        from nvidia.dali import fn, types
        from nvidia.dali.data_node import DataNode

        bound = signature.bind(*arguments, **named).arguments
        bound |= bound.pop("kwargs", {})
        data = bound.pop("data")
        linked = {name: value for name, value in bound.items() if isinstance(value, DataNode)}
        fixed = {name: value for name, value in bound.items() if name not in linked}
        if not isinstance(data, DataNode) or linked.keys() - {"shape"}:
            return function(*arguments, **named)  # its own message explains the error
        own: dict[str, Value] = {}
        notes: list[str] = []
        if spec.name == OWN_POLICY:
            own, notes = _policy_arguments(fixed.pop("policy"), "shape" in bound)
        args, lost = _supported_arguments(spec, fixed)
        args, lost = {**own, **args}, [*notes, *lost]
        feeds = {_SHAPE_INTO: linked["shape"]} if linked else {}
        uniforms = uniforms_of(Node("", spec.name, args))
        for into in _DRAWN_INTO[: len(registration_order(uniforms))]:
            feeds[into] = fn.random.uniform(range=[0, 1], dtype=types.FLOAT)
        draws = tuple(feeds[into].source.name for into in _DRAWN_INTO if into in feeds)
        made = fn.crop(data, **feeds)
        noted[made.source.name] = AutomaticCall(spec.name, args, draws, tuple(lost))
        return made

    return run_as_it_is(note)


def _supported_arguments(spec: OpSpec, fixed: dict[str, Any]) -> tuple[dict[str, Value], list[str]]:
    """Return the arguments that a node supports, and a note about each unsupported argument."""
    args: dict[str, Value] = {}
    lost = []
    for name, value in fixed.items():
        if name == "seed":
            if value is not None:
                lost.append(
                    f"seed={value} correlates its random values, and is omitted: DALI assigns "
                    "other seeds, so random values differ"
                )
            continue
        arg = spec.args.get(name)
        stored = None if arg is None else _value(value, len(arg.parts))
        if stored is not None:
            args[name] = stored
        elif value is not None:
            lost.append(f"a graph does not support its {name}={value!r}, which is omitted")
        elif name == "fill_value":
            lost.append("a graph does not support fill_value=None: it fills with 128 here")
    return args, lost


def _value(value: Any, parts: int) -> Value | None:
    """Convert a value to an argument of a node, or return None if a graph cannot represent it.

    A number becomes a tuple of ``parts`` equal items, unless ``parts`` is 0.
    """
    if hasattr(type(value), "__members__"):  # enumerations of Python, and of pybind11 as in DALI
        return str(value.name)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, list | tuple):
        items = [_value(item, 0) for item in value]
        return tuple(item for item in items if item is not None) if None not in items else None
    with suppress(AttributeError, TypeError, ValueError):
        number: int | float = value if isinstance(value, int | float) else value.item()
        return (number,) * parts if parts else number
    return None


def _policy_arguments(policy: Any, shaped: bool) -> tuple[dict[str, Value], list[str]]:
    """Return the arguments of a node with a DALI policy, and notes about unsupported parts.

    A node supports DALI's named augmentations with the ranges in ``magnitudes``, and translations
    up to any limit. ``shaped`` is True if the call receives the images' shape.
    """
    bins = policy.num_magnitude_bins
    written = tuple(tuple(_operation(*each) for each in sub) for sub in policy.sub_policies)
    repaired = repaired_policy(written, bins)
    args: dict[str, Value] = {"policy": repaired}
    if bins != POLICY_BINS:
        args["num_magnitude_bins"] = bins
    limits = _limits(policy)
    if limits is not None:
        args["max_translate_rel" if shaped else "max_translate_abs"] = limits
    unknown = [name for name in policy.augmentations if name not in NAMED]
    lost = [f"it has no augmentation {name}: identity replaces it" for name in unknown]
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
    lost += [f"it uses DALI's own range for {name}, which differs from this one" for name in others]
    return {**args, **magnitudes}, lost


def _operation(augmentation: Any, probability: float, magnitude: int | None) -> tuple[Value, ...]:
    name = str(augmentation.name)
    if name not in NAMED:
        return "identity", float(probability)
    if magnitude is None or not NAMED[name]:  # DALI skips unsupported values
        return name, float(probability)
    return name, float(probability), int(magnitude)


def _limits(policy: Any) -> Value | None:
    """Return the maximum translation in height and width, or None if these are DALI's defaults."""
    found: dict[int, int | float] = {}
    usual: set[str] = set()
    for name, augmentation in policy.augmentations.items():
        if name in _LIMITS and _is_pair(augmentation.mag_range):
            found[_LIMITS[name]] = augmentation.mag_range[1]
            usual |= {name} if augmentation.mag_range[1] in _default_magnitudes(name) else set()
    if not found or len(usual) == len(found):
        return None
    some = next(iter(found.values()))
    return tuple(found.get(place, some) for place in (0, 1))


def _default_magnitudes(name: str) -> Iterator[float]:
    from nvidia.dali.auto_aug import augmentations

    for stem in (name, f"{name}_no_shape"):
        yield getattr(augmentations, stem).mag_range[1]


def _is_pair(mag_range: Any) -> bool:
    return isinstance(mag_range, tuple | list) and len(mag_range) == 2


def _same(one: Any, other: Any) -> bool:
    """Return True if two augmentations have the same result for every magnitude."""
    return (
        one.op is other.op
        and one.mag_to_param is other.mag_to_param
        and one.randomly_negate == other.randomly_negate
        and one.param_device == other.param_device
        and (one.mag_range is None) == (other.mag_range is None)
        and (one.mag_range is None or bool(np.array_equal(one.mag_range, other.mag_range)))
    )
