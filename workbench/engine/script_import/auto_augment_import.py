"""Automatic augmentation in a script that is imported: one operator for each call.

DALI's functions make hundreds of operators of a call, from which its arguments cannot be told. So
while a script is run, functions stand in their place that note the arguments, draw as often as
DALI's do (draws without a seed get theirs in turn) and make one operator, known by its name.

Runs inside the worker process only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from workbench.catalog.own_operators.auto_augment import AUTO_AUGMENT, OWN_POLICY
from workbench.catalog.spec import OpSpec, Value
from workbench.emit.pipeline_import.trace.traced import AutomaticCall, Traced
from workbench.engine.build.auto_augment import held_order, run_as_it_is, uniforms_of
from workbench.engine.script_import import numba_calls
from workbench.engine.script_import.policy_import import policy_arguments
from workbench.graph.model import Node

_DRAWN_INTO = ("crop_h", "crop_pos_x", "crop_pos_y")
"""Arguments of ``fn.crop`` that take what is drawn: in the order in which DALI holds what feeds
arguments, which is that of their names."""
_SHAPE_INTO = "crop_pos_z"
_OURS = (__file__, numba_calls.__file__)


@contextmanager
def noted_calls() -> Iterator[dict[str, AutomaticCall]]:
    """Meanwhile calls of automatic augmentation are noted by the name of the operator they make."""
    noted: dict[str, AutomaticCall] = {}
    known: list[tuple[Any, str, Any]] = []
    for spec in AUTO_AUGMENT.values():
        module = import_module(f"nvidia.dali.auto_aug.{spec.module}")
        known.append((module, spec.name, getattr(module, spec.name)))
        setattr(module, spec.name, _noting(spec, getattr(module, spec.name), noted))
    try:
        yield noted
    finally:
        for module, name, function in known:
            setattr(module, name, function)


def with_noted(traced: Traced, noted: dict[str, AutomaticCall]) -> Traced:
    """The trace with what was noted, and without the lines of ours in it."""
    ops = tuple(
        replace(op, places=tuple(place for place in op.places if place.file not in _OURS))
        for op in traced.pipeline.ops
    )
    return replace(traced, pipeline=replace(traced.pipeline, ops=ops), automatic=noted)


def _noting(
    spec: OpSpec, function: Callable[..., Any], noted: dict[str, AutomaticCall]
) -> Callable[..., Any]:
    signature = inspect.signature(function)

    def note(*given: Any, **named: Any) -> Any:
        from nvidia.dali import fn, types
        from nvidia.dali.data_node import DataNode

        bound = signature.bind(*given, **named).arguments
        bound |= bound.pop("kwargs", {})
        data = bound.pop("data")
        linked = {name: value for name, value in bound.items() if isinstance(value, DataNode)}
        fixed = {name: value for name, value in bound.items() if name not in linked}
        if not isinstance(data, DataNode) or linked.keys() - {"shape"}:
            return function(*given, **named)  # whose own words say what is wrong
        own: dict[str, Value] = {}
        told: list[str] = []
        if spec.name == OWN_POLICY:
            own, told = policy_arguments(fixed.pop("policy"), "shape" in bound)
        args, lost = _held(spec, fixed)
        args, lost = {**own, **args}, [*told, *lost]
        feeds = {_SHAPE_INTO: linked["shape"]} if linked else {}
        drawn = uniforms_of(Node("", spec.name, args))
        for into in _DRAWN_INTO[: len(held_order(drawn))]:
            feeds[into] = fn.random.uniform(range=[0, 1], dtype=types.FLOAT)
        draws = tuple(feeds[into].source.name for into in _DRAWN_INTO if into in feeds)
        made = fn.crop(data, **feeds)
        noted[made.source.name] = AutomaticCall(spec.name, args, draws, tuple(lost))
        return made

    return run_as_it_is(note)


def _held(spec: OpSpec, given: dict[str, Any]) -> tuple[dict[str, Value], list[str]]:
    """The arguments that a node holds, and what is to be said of the others."""
    args: dict[str, Value] = {}
    lost = []
    for name, value in given.items():
        if name == "seed":
            if value is not None:
                lost.append(
                    f"seed={value} makes its draws depend on each other, and is left out: DALI "
                    "hands it other seeds, and its draws differ"
                )
            continue
        arg = spec.args.get(name)
        held = None if arg is None else _value(value, len(arg.parts))
        if held is not None:
            args[name] = held
        elif value is not None:
            lost.append(f"a graph cannot hold its {name}={value!r}, which is left out")
        elif name == "fill_value":
            lost.append("a graph cannot hold fill_value=None: it fills with 128 here")
    return args, lost


def _value(value: Any, parts: int) -> Value | None:
    """A value as a graph holds it, or None where it cannot; of a pair in one number both."""
    if hasattr(type(value), "__members__"):  # Python's enumerations, and pybind11's, as DALI's are
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
