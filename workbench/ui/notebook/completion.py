"""Complete operators, arguments, enum values, recipes, targets, nodes and settings in cells.

IPython uses Jedi, which does not infer what graphs return (see ``code_before_cursor``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args, get_origin

from workbench.bench import Benchmark
from workbench.bench.experiments.stages import StageCostExperiment
from workbench.bench.experiments.tune import TuningExperiment
from workbench.catalog import load_catalog
from workbench.catalog.signatures import accepted_values
from workbench.catalog.spec import ArgSpec, OpSpec
from workbench.emit.targets import target_names
from workbench.engine.build.in_process_loader import LIBRARIES
from workbench.errors import WorkbenchError
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.model import Graph
from workbench.graph.model.bounds import CHOICES
from workbench.graph.storage.recipes import load_recipes
from workbench.optimiser import optimise
from workbench.preview.request import SHOWN
from workbench.preview.requests.output_batch import BATCH_LIBRARIES
from workbench.sources import is_reader
from workbench.ui.notebook.code_before_cursor import KINDS, Call, CodeBeforeCursor
from workbench.ui.notebook.notebook_code import CodeAccess, LiveNode
from workbench.ui.notebook.notebook_part import PARTS
from workbench.ui.notebook.notebook_runs import GIVEN

_INTERNAL = frozenset(
    {
        *("at_scope", "bodies", "body", "body_at", "datasets", "enclosing", "feeding", "gives"),
        *("origins", "replace_body", "replace_node", "scope", "scope_of", "whole"),
    }
)
"""Methods of graphs that only other modules call, and that are not offered in cells."""
_ADDITIONS = ("training", "samples", "training+samples", "capture")
_NAMES: Mapping[tuple[str, str], Callable[[Any], Iterable[str]]] = {
    ("load_recipe", "name"): lambda _: load_recipes(),
    ("Workbench", "graph"): lambda _: load_recipes(),
    ("compare", "first"): lambda _: load_recipes(),
    ("compare", "second"): lambda _: load_recipes(),
    ("PreviewRequest", "shown"): lambda _: SHOWN,
    ("panel", "part"): lambda _: ("all", *PARTS),
    ("to", "library"): lambda _: BATCH_LIBRARIES,
    ("target", ""): lambda _: target_names(),
    ("graph", ""): lambda _: load_recipes(),
    ("export", "with_"): lambda _: _ADDITIONS,
    ("to_code", "with_"): lambda _: _ADDITIONS,
    ("compare", "other"): lambda _: load_recipes(),
    ("export", "target"): lambda _: target_names(),
    ("to_code", "target"): lambda _: target_names(),
    ("loader", "library"): lambda _: LIBRARIES,
    ("param", "name"): lambda w: (
        f"{node.id}.{name}" for node in w.graph.walk() for name in node_arguments(w.graph[node.id])
    ),
}
"""Functions that return the accepted strings, by function and argument to complete.

They are called with the object whose method is completed. The argument name is empty for the traits
of a workbench. Arguments that are annotated with ``Literal`` need no entry.
"""
_OPTIONS: Mapping[str, Any] = {
    "RunAccess.bench": Benchmark,
    "RunAccess.stages": StageCostExperiment,
    "RunAccess.tune": TuningExperiment,
    "RunAccess.optimise": optimise,
}
"""The function or class that accepts the ``**options`` of each method."""
_BUILD = ("batch_size", "num_threads", "device", "seed")
_BUILD_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "CodeAccess.pipeline": _BUILD,
    **dict.fromkeys(
        ("CodeAccess.loader", "loader"),
        (*_BUILD, "shard_id", "num_shards", "device_id", "resumable", "checkpoint"),
    ),
}
"""Options that each method passes to ``build_pipeline`` of the exported program."""


def completions(code: str, names: Mapping[str, Any]) -> tuple[str, list[str], str]:
    """Return the unfinished word at the end of the code, its completions, and their type.

    ``names`` are the variables of the notebook.
    """
    before = CodeBeforeCursor(code, names)
    end = len(before.tokens)
    last = before.tokens[-1] if end else None
    if last is None:
        return "", [], ""
    if last.kind == "begun":
        return last.text, list(_texts(before, end - 1)), "text"
    begun = last.text if last.kind == "name" and code.endswith(last.text) else ""
    place = end - bool(begun)
    previous = before.text(place - 1)
    if previous == ".":
        return begun, _attributes(before.object_before(place - 1)), "function"
    if previous == "=" and not begun:
        return "", [f'"{each}"' for each in _texts(before, place)], "text"
    call = before.call_around(end) if previous in ("(", ",") else None
    known = _arguments(call.function) if call else []
    given = call.keywords if call else frozenset()
    by_name = [f"{each}=" for each in known if each not in given]
    if not any(each.startswith(begun) for each in by_name):
        return begun, [], ""
    variables = [each for each in names if begun and each[0] != "_"]
    return begun, [*by_name, *variables], "param"


def _attributes(owner: Any) -> list[str]:
    if inspect.ismodule(owner) and owner.__name__ == "workbench":
        return sorted(owner.__all__)
    if not isinstance(owner, KINDS):
        return []  # IPython completes attributes of other objects
    hidden = _INTERNAL if isinstance(owner, Graph) else ()
    return [each for each in dir(owner) if each[0] != "_" and each not in hidden]


def _arguments(function: Any) -> list[str]:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, NodeHandle | LiveNode) and function.__name__ == "set":
        return node_arguments(owner)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [each.name for each in parameters if each.kind in named]
    if _is_read(function):
        known += sorted(_reader_arguments())
    qualified = getattr(function, "__qualname__", "")
    known += _BUILD_OPTIONS.get(qualified, ())
    if inner := _OPTIONS.get(qualified):
        known += [each for each in inspect.signature(inner).parameters if each not in GIVEN]
    return [*dict.fromkeys(known)]


def node_arguments(handle: NodeHandle | LiveNode) -> list[str]:
    """Return the arguments of a node's operator."""
    spec = load_catalog().find(handle.node.op)
    return [*(spec.args if spec else ()), *(["seed"] if spec and spec.seeded else [])]


def _is_read(function: Any) -> bool:
    return bool(getattr(function, "__qualname__", "") == "read")


def _reader_arguments() -> dict[str, ArgSpec]:
    readers = (spec for op, spec in load_catalog().items() if is_reader(op))
    return {name: arg for spec in readers for name, arg in spec.args.items()}


def _texts(before: CodeBeforeCursor, index: int) -> Iterable[str]:
    """Return completions of an unfinished string: accepted values, or names of nodes."""
    if before.text(index - 1) == "[" and before.text(index - 2) != "=":
        owner = before.object_before(index - 1)
        if isinstance(owner, Mapping):  # outputs of a batch or graph, and random values
            return list(owner)
        graph = getattr(owner, "graph", None) if isinstance(owner, CodeAccess) else owner
        return [node.id for node in graph.walk()] if isinstance(graph, Graph) else []
    opening = before.bracket_around(index)
    if before.text(opening) in ("(", "[") and before.text(opening - 1) == "=":
        index = opening  # in a tuple or list: devices=("cpu", "
    named = before.text(index - 2) if before.text(index - 1) == "=" else ""
    if named and before.text(index - 3) == ".":
        owner = before.object_before(index - 3)
        if isinstance(owner, CodeAccess) and (trait := _NAMES.get((named, ""))):
            return trait(owner)
        return _values(owner, named) if isinstance(owner, LiveNode) else CHOICES.get(named, ())
    call = before.call_around(index)
    if call is None:
        return []
    name = named or _positional(call)
    function: Any = call.function
    if known := _NAMES.get((getattr(function, "__name__", ""), name)):
        return known(getattr(function, "__self__", None))
    return _values(function, name)


def _positional(call: Call) -> str:
    try:
        parameters = [*inspect.signature(call.function).parameters]
    except (TypeError, ValueError):
        return ""
    return parameters[call.argument_count] if call.argument_count < len(parameters) else ""


def _values(function: Any, name: str) -> Iterable[str]:
    """Return the strings that argument ``name`` of a function accepts; empty if unknown."""
    owner = function if isinstance(function, LiveNode) else getattr(function, "__self__", None)
    spec = getattr(function, "spec", None)
    if isinstance(owner, NodeHandle | LiveNode):
        spec = load_catalog().find(owner.node.op)
    known = _reader_arguments() if _is_read(function) else getattr(spec, "args", {})
    if name in known:
        return accepted_values(known[name])
    if name == "device" and isinstance(spec, OpSpec):
        return spec.devices
    qualified = getattr(function, "__qualname__", "")
    if qualified == "with_settings" or name in _BUILD_OPTIONS.get(qualified, ()):
        return CHOICES.get(name, ())
    return _literals(function, name) or _literals(_OPTIONS.get(qualified), name)


def _literals(function: Any, name: str) -> tuple[str, ...]:
    """Return the values of argument ``name`` if it is annotated with ``Literal``, else ()."""
    called = getattr(function, "__init__", None) if isinstance(function, type) else function
    plain: Any = inspect.unwrap(called) if callable(called) else None
    if not (getattr(plain, "__module__", None) or "").startswith("workbench."):
        return ()
    try:
        return _choices(eval(str(plain.__annotations__[name]), plain.__globals__))
    except (AttributeError, KeyError, NameError):  # NameError: imported for type checkers only
        return ()


def _choices(annotation: Any) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(value for each in get_args(annotation) for value in _choices(each))


def description(code: str, cursor: int, names: Mapping[str, Any]) -> str:
    """Return the signature and documentation of the function at the cursor, or called around it."""
    end = cursor
    while end < len(code) and (code[end].isalnum() or code[end] == "_"):
        end += 1
    before = CodeBeforeCursor(code[:end], names)
    place = len(before.tokens)
    found = before.object_before(place)
    if not callable(found):
        call = before.call_around(place)
        found = call.function if call else None
    if found is None:
        return ""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError, WorkbenchError):
        return ""
    return f"{found.__name__}{signature}\n\n{inspect.getdoc(found)}"
