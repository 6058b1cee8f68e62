"""What a function or class that makes a pipeline is called with: what is given, and neutral values.

Of what it requires, ranks and shards count as one process alone, and folders and files as the name
of their argument, since a graph reads what it is run on. All else must be given.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.engine.stand_ins import Settings, StandIns

_NEUTRAL: Mapping[str, Any] = {
    **dict.fromkeys(("batch_size", "max_batch_size", "bs"), 16),
    **dict.fromkeys(("num_threads", "num_workers", "workers", "threads", "n_threads"), 4),
    **dict.fromkeys(("device_id", "local_rank", "rank", "global_rank", "shard_id", "gpu_id"), 0),
    **dict.fromkeys(("num_shards", "world_size", "num_gpus", "world", "n_gpus"), 1),
    **dict.fromkeys(("seed", "local_seed"), 0),
    "py_num_workers": 1,
}
_PATHS = re.compile(
    r"(.*_)?(dir|directory|root|path|paths|folder|file|files|filename|filenames|list|lmdb|db|rec|idx"
    r"|annotations|tfrecords?)(_path|_dir|_root)?|data|dataset|images|filenames|tfrec_.*",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"(.*_)?(files|paths|filenames|tfrecords)")
CONFIGURATIONS = (
    *("args", "arg", "cfg", "config", "conf", "params", "parameters", "hparams", "opt", "opts"),
    *("options", "flags", "settings"),
)
"""Names under which programs hand on their settings, each of which is asked for by its name."""


@dataclass(frozen=True, slots=True)
class CallArguments:
    """Arguments of a call, and what is to be said of them."""

    values: Mapping[str, Any]
    missing: tuple[str, ...] = ()
    """What is required, and can only be given."""
    notes: tuple[str, ...] = ()


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


def call_arguments(
    maker: Callable[..., Any],
    given: Mapping[str, Any],
    stand_ins: StandIns,
    setting: Callable[[str], Any] | None = None,
) -> CallArguments:
    """What to call it with. ``setting`` gives what is asked of its configurations by name."""
    setting = setting or stand_ins.value
    values: dict[str, Any] = {
        name: Settings(value, setting, name) if isinstance(value, dict) else value
        for name, value in given.items()
    }
    missing: list[str] = []
    assumed: dict[str, Any] = {}
    unset = [
        name
        for name, parameter in parameters_of(maker).items()
        if name.lower() in CONFIGURATIONS and parameter.default is None and name not in given
    ]
    for name in (*required_by(maker, given), *unset):
        if name in _NEUTRAL:
            assumed[name] = _NEUTRAL[name]
        elif _PATHS.fullmatch(name):
            assumed[name] = [name] if _SEVERAL.fullmatch(name) else name
        elif name.lower() in CONFIGURATIONS:
            values[name] = Settings({}, setting, name)
        else:
            missing.append(name)
    said = ", ".join(f"{name}={value!r}" for name, value in assumed.items())
    notes = (f"not given, and taken as {said}: give others by --arg NAME=VALUE",) if said else ()
    return CallArguments({**values, **assumed}, tuple(missing), notes)
