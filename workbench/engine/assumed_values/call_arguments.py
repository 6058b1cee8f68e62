"""What a function or class that makes a pipeline is called with: what is given, and usual values.

Of what it requires, the script's own calls tell some, and usual values stand for well-known names,
which is told. All else must be given.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.engine.assumed_values.parameter_uses import text_of
from workbench.engine.assumed_values.stand_ins import Settings, StandIns
from workbench.engine.assumed_values.usual_values import (
    ONE_PROCESS,
    UsualValues,
    is_of_any_process,
    written,
)
from workbench.engine.assumed_values.written_calls import MISSING, first_call_value, written_values

CONFIGURATIONS = (
    *("args", "arg", "cfg", "config", "conf", "params", "parameters", "hparams", "opt", "opts"),
    *("options", "flags", "settings"),
)
"""Names under which programs hand on their settings, each of which is asked for by its name."""
_SETTINGS = ("batch_size", "num_threads", "seed")
"""Settings of a pipeline that a function with ``@pipeline_def`` accepts."""

_STATE_OF_A_RUN = ("checkpoint", "resumable", "resume")
"""Parameters that resume a run keep their defaults: a graph starts at its first batch."""


@dataclass(frozen=True, slots=True)
class CallArguments:
    """Arguments of a call, and what is to be said of them."""

    values: Mapping[str, Any]
    missing: tuple[str, ...] = ()
    """What is required, and can only be given."""
    notes: tuple[str, ...] = ()
    assumed: Mapping[str, Any] = field(default_factory=dict)
    """What is taken for what is not given; of settings, complete once the call was made."""
    replaced: Mapping[str, Any] = field(default_factory=dict)
    """The script's own values that an assumed value replaces; complete once the call was made."""
    setting: Callable[[str], Any] = MISSING
    """What a configuration has under a dotted name that is not given."""


def parameters_of(maker: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Its parameters by name; none where Python cannot tell."""
    try:
        return dict(inspect.signature(maker).parameters)
    except (TypeError, ValueError):
        return {}


def required_by(maker: Callable[..., Any], given: Mapping[str, Any]) -> list[str]:
    """The names of what it requires beside ``given``."""
    return [
        name
        for name, parameter in parameters_of(maker).items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and name not in given
    ]


def _of_the_base(maker: Callable[..., Any], text: ast.AST | None) -> list[str]:
    """What the class above requires of a class that hands its ``**kwargs`` on to it."""
    kinds = {each.kind for each in parameters_of(maker).values()}
    if not isinstance(maker, type) or inspect.Parameter.VAR_KEYWORD not in kinds or text is None:
        return []
    handing = [
        node
        for node in ast.walk(text)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "__init__"
        and any(each.arg is None for each in node.keywords)
    ]
    base: Any = next(each for each in maker.__mro__[1:] if "__init__" in vars(each))
    if not handing:
        return []
    by_super = isinstance(getattr(handing[0].func, "value", None), ast.Call)
    taken = len(handing[0].args) + by_super  # of Base.__init__(self, ...) self is one of them
    said = {each.arg for each in handing[0].keywords}
    asked = list(parameters_of(base.__init__).values())[taken:]
    usual = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        each.name
        for each in asked
        if each.default is each.empty and each.kind not in usual and each.name not in said
    ]


def call_arguments(
    maker: Callable[..., Any],
    given: Mapping[str, Any],
    stand_ins: StandIns,
    trees: Mapping[str, ast.Module],
    defaults: Mapping[str, Any],
) -> CallArguments:
    """What to call it with.

    ``trees`` are the script's files, ``defaults`` what its own command line has for what it is not
    told.
    """
    usual = UsualValues((text_of(maker, trees), *trees.values()), defaults)
    setting = usual.setting(stand_ins)
    values: dict[str, Any] = {
        name: Settings(value, setting, name) if isinstance(value, dict) else value
        for name, value in given.items()
    }
    parameters = parameters_of(maker)
    by_default = {f"{each}.{name}": v for each in CONFIGURATIONS for name, v in defaults.items()}
    unset = [
        name
        for name, parameter in parameters.items()
        if name.lower() in CONFIGURATIONS and parameter.default is None and name not in given
    ]
    missing: list[str] = []
    called: dict[str, Any] = {}
    handed_on = [name for name in _of_the_base(maker, usual.texts[0]) if name not in given]
    for name in dict.fromkeys((*required_by(maker, given), *unset, *handed_on)):
        if name.lower() in CONFIGURATIONS or usual.uses(name).is_settings:
            values[name] = Settings({}, setting, name)
            continue
        call = (maker.__name__, list(parameters), name, trees.values())
        literals = written_values(*call)
        passed = literals or written_values(*call, by_default)
        if name in ONE_PROCESS or not passed:
            if (value := usual.find(name)) is MISSING:
                missing.append(name)
            elif passed:
                usual.note_own_value(name, passed[0])
        else:
            value = passed[0]
            (called if len(literals) == 1 else usual.assumed)[name] = value
        values[name] = value
    for name, default in _optional(maker).items():
        if name in values or name in ONE_PROCESS or name in _STATE_OF_A_RUN:
            continue
        call = (maker.__name__, list(parameters), name, trees.values())
        value = first_call_value(*call)
        if isinstance(value, ast.expr):
            value = first_call_value(*call, by_default)
            if not isinstance(value, ast.expr):
                if value != default:  # where both agree, nothing is assumed
                    usual.assumed[name] = value
            elif not is_of_any_process(name):
                usual.assumed[name] = value = default
        elif value is not MISSING and value != default:
            called[name] = value
        if value is not MISSING and not isinstance(value, ast.expr):
            values[name] = value
    said = ", ".join(f"{name}={written(value)}" for name, value in called.items())
    notes = (f"called as the script itself does, with {said}",) if said else ()
    given_values = {name: value for name, value in values.items() if value is not MISSING}
    return CallArguments(
        given_values, tuple(missing), notes, usual.assumed, usual.replaced, setting
    )


def _optional(maker: Callable[..., Any]) -> dict[str, Any]:
    """Parameters that have a default, also settings of a pipeline, whose default is unknown."""
    settings = dict.fromkeys(_SETTINGS, MISSING) if hasattr(maker, "_is_pipeline_def") else {}
    own = {
        name: each.default
        for name, each in parameters_of(maker).items()
        if each.default is not each.empty
    }
    return settings | own


def replaced_note(replaced: Mapping[str, Any], assumed: Mapping[str, Any]) -> tuple[str, ...]:
    """A note of the script's own values that were replaced by those of one process."""
    said = ", ".join(
        f"{name}={written(assumed[name])} (the script says {written(own)})"
        for name, own in replaced.items()
    )
    return (f"assumed for one process, because a graph reads one shard: {said}",) if said else ()
