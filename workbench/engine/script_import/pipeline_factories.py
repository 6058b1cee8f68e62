"""Find the functions, classes and methods of a script that create pipelines."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from workbench.engine.script_import.call_arguments import parameters_of
from workbench.engine.script_import.placeholders import StandIn

PipelineFactory = Callable[..., Any]
_DEPTH = 2
"""Maximum depth of attributes and lists that are searched for a loader's pipelines."""


def is_pipeline(value: Any) -> bool:
    """Return True if a value is an ``nvidia.dali.Pipeline``."""
    from nvidia.dali.pipeline import Pipeline

    return isinstance(value, Pipeline)


def is_pipeline_class(value: Any) -> bool:
    """Return True if a value is ``nvidia.dali.Pipeline`` or a class derived from it."""
    from nvidia.dali.pipeline import Pipeline

    return isinstance(value, type) and issubclass(value, Pipeline)


def pipeline_factories(module: ModuleType) -> dict[str, PipelineFactory]:
    """Return the functions and classes that create a script's pipelines, by name.

    These are decorated functions and pipeline classes that the script defines or, if there are
    none, imports. Otherwise methods that create a pipeline are returned, or else functions that do.
    Base classes of the results are excluded.
    """
    names = {n: v for n, v in vars(module).items() if isinstance(v, FunctionType | type)}
    makers: dict[str, PipelineFactory] = {
        name: value
        for name, value in names.items()
        if getattr(value, "_is_pipeline_def", False) or is_pipeline_class(value)
    }
    home = {name: str(getattr(value, "__module__", "")) for name, value in makers.items()}
    own = {name: value for name, value in makers.items() if home[name] == module.__name__}
    bases = {base for each in own.values() if isinstance(each, type) for base in each.__mro__[1:]}
    own = {name: value for name, value in own.items() if value not in bases}
    if own:
        return own
    written = {
        name: value
        for name, value in names.items()
        if str(getattr(value, "__module__", "")) == module.__name__
    }
    methods = dict(_methods(written))
    if methods:
        return methods
    brought = {
        name: value for name, value in makers.items() if not home[name].startswith("nvidia.dali")
    }
    return brought or {
        name: value
        for name, value in written.items()
        if isinstance(value, FunctionType) and _builds_pipeline(value.__code__)
    }


def factory_method(name: str, module: ModuleType) -> PipelineFactory | None:
    """Return a factory for ``Class.method`` of the script, or None if there is no such method.

    The factory has the parameters of the class, followed by the parameters of the method.
    """
    owner, dot, method = name.rpartition(".")
    kind = vars(module).get(owner)
    if not dot or not isinstance(kind, type) or not hasattr(kind, method):
        return None
    return _method(kind, method)


def pipelines_within(value: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """Yield the pipelines that a loader or a list contains."""
    if is_pipeline(value):
        yield value
    elif depth and isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from pipelines_within(each, depth - 1)
    elif depth and not isinstance(value, StandIn) and hasattr(value, "__dict__"):
        for each in vars(value).values():
            yield from pipelines_within(each, depth - 1)


def _methods(written: dict[str, Any]) -> Iterator[tuple[str, PipelineFactory]]:
    for owner, kind in written.items():
        if isinstance(kind, type):
            for name, value in vars(kind).items():
                if getattr(getattr(value, "__func__", value), "_is_pipeline_def", False):
                    yield f"{owner}.{name}", _method(kind, name)


def _method(kind: type, name: str) -> PipelineFactory:
    value = inspect.getattr_static(kind, name)
    if isinstance(value, staticmethod | classmethod):
        return getattr(kind, name)  # type: ignore[no-any-return]
    makes, takes = parameters_of(kind), parameters_of(value)
    own = {each: one for each, one in list(takes.items())[1:] if each not in makes}
    pipeline_def = getattr(value, "_is_pipeline_def", False)

    def call(**args: Any) -> Any:
        made = kind(**{each: one for each, one in args.items() if each in makes})
        rest = {each: one for each, one in args.items() if each not in makes}
        if pipeline_def:
            rest = _settings(made) | rest
        return getattr(made, name)(**rest)

    functools.update_wrapper(call, value)
    vars(call).pop("__wrapped__", None)
    order = sorted([*makes.values(), *own.values()], key=lambda each: each.kind)
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=each.KEYWORD_ONLY) for each in order if each.kind < each.VAR_KEYWORD
         and each.kind != each.VAR_POSITIONAL]
    )  # fmt: skip
    return call


def _settings(instance: Any) -> dict[str, Any]:
    """Return the pipeline settings that an object stores in attributes with DALI's names."""
    names = ("batch_size", "num_threads", "device_id", "seed")
    return {
        name: vars(instance)[name] for name in names if name in getattr(instance, "__dict__", {})
    }


def _builds_pipeline(code: CodeType) -> bool:
    names = {name.rpartition(".")[2] for name in code.co_names}
    inner = any(_builds_pipeline(each) for each in code.co_consts if isinstance(each, CodeType))
    return inner or bool(names & {"Pipeline", "pipeline_def"})
