"""Select a script's pipeline, and determine how the script creates it."""

from __future__ import annotations

import ast
import re
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import unwrap
from pathlib import Path
from types import CodeType
from typing import Any

from workbench.emit.pipeline_import.calls.copied_calls import kinds_by_finder
from workbench.emit.pipeline_import.trace.source_lines import notebook_of
from workbench.emit.pipeline_import.trace.traced import Traced
from workbench.emit.templates.template_parts import PADDED_SHARD, SHARD, function_name
from workbench.engine.script_import.call_arguments import (
    CONFIGURATIONS,
    call_arguments,
    calls_of,
    parameters_of,
    required_by,
)
from workbench.engine.script_import.opened_script import OpenedScript
from workbench.engine.script_import.pipeline_factories import (
    factory_method,
    is_pipeline,
    is_pipeline_class,
    pipeline_factories,
    pipelines_within,
)
from workbench.engine.script_import.placeholders import Settings, StandIn
from workbench.engine.script_import.script_sandbox import source_location
from workbench.errors import ImportFailedError
from workbench.graph.model import Graph
from workbench.graph.model.bounds import SETTINGS
from workbench.names import did_you_mean
from workbench.sources import SourceKind, load_source

BUILDER = "build_pipeline"
"""Pipeline function that is selected if a script has several. Exported scripts have it."""
MAIN = "__main__"
"""Name that selects the pipeline that the ``__main__`` section of a script runs."""
SIDE_BY_SIDE = "build_pipelines"
"""Function that builds several parallel pipelines. The constant ``PIPELINES`` is their number."""
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
"""Matches the boundaries between words in a class name."""

_NOT_THEIRS = ("/nvidia/dali/", "<frozen ", "/workbench/engine/", "/workbench/cli")
"""Parts of file names that identify code of DALI, Python or the workbench."""


@dataclass(frozen=True, slots=True)
class FoundPipeline:
    """A pipeline of a script, and the call that creates it."""

    make: Callable[[], Any]
    notes: tuple[str, ...] = ()
    placeholders: tuple[str, ...] = ()
    """Descriptions of the placeholder data that replaces missing arguments."""
    pipelines: int = 1
    """Number of parallel pipelines. ``make`` creates the first of them."""
    assumed: Mapping[str, Any] = field(default_factory=dict)
    """Assumed values of missing arguments. Building the pipeline may add more."""
    shard: tuple[str, ...] = ()
    """Reader arguments that select a shard, in a program exported to run on several devices."""
    choice: list[str] = field(default_factory=list)
    """Notes that say which of several pipelines is imported. Creating the pipeline may add more."""


def find_pipeline(
    script: OpenedScript, requested: str | None, arguments: Mapping[str, Any]
) -> FoundPipeline:
    """Return the pipeline called ``requested``, or the script's only pipeline.

    A pipeline that the script itself created has precedence over functions that create one.
    Raises ImportFailedError if there is none, if there are several, or if arguments are missing.
    """
    names = vars(script.module)
    if requested == MAIN and any(script.main_sections()):
        return _of_main(script, arguments)
    if requested is not None:
        value = names.get(requested) or factory_method(requested, script.module)
        if value is None:
            raise ImportFailedError(_unknown(requested, script))
        return _factory(requested, value, script, arguments)
    for name in (SIDE_BY_SIDE, BUILDER):
        if callable(builder := names.get(name)) and not isinstance(builder, StandIn):
            return _factory(name, builder, script, arguments)
    live = _pipelines_by_variable(script)
    if len(live) == 1:
        ((name, pipe),) = live.items()
        return _factory(name, pipe, script, arguments)
    makers = pipeline_factories(script.module)
    if len(live) > 1:
        raise ImportFailedError(_choose_one_message(script, [*live, *makers]))
    if len(makers) > 1:
        ready = [name for name in makers if not required_by(makers[name], arguments)]
        if len(ready) != 1:
            raise ImportFailedError(_choose_one_message(script, list(makers)))
        makers = {ready[0]: makers[ready[0]]}
    for name, maker in makers.items():
        return _factory(name, maker, script, arguments)
    raise ImportFailedError(
        f"{script.file} has no pipeline outside __main__: no function with @pipeline_def, no "
        f"nvidia.dali.Pipeline or subclass, no {BUILDER}. If a function creates one, pass its "
        "name: --pipeline NAME."
    )


def _of_main(script: OpenedScript, arguments: Mapping[str, Any]) -> FoundPipeline:
    before, failures = len(script.made), len(script.lines.failures)
    pipe = script.run_main()
    made = _different(script.made[before:] if pipe is None else [pipe])
    if unused := [name for name in arguments if name not in script.taken]:
        raise ImportFailedError(
            f"{script.file}: {MAIN} reads no option {', '.join(map(repr, unused))}. Remove --arg, "
            "or select a function with --pipeline."
        )
    if not made and script.lines.failures[failures:]:
        raise script.lines.failures[failures]
    if len(made) != 1:
        raise ImportFailedError(
            f"{script.file}: {MAIN} creates {len(made)} pipelines, but must create one. Select a "
            f"function: --pipeline {'|'.join(pipeline_factories(script.module)) or 'NAME'}."
        )
    return FoundPipeline(lambda: made[0])


def _callers(name: str, script: OpenedScript) -> list[str]:
    """Return the functions that call ``name``, and ``__main__`` if this section calls it."""
    functions = [
        each.name
        for tree in script.cells.values()
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and any(calls_of(name, [ast.Module([each], [])]))
    ]
    sections = [ast.Module([section], []) for _, section in script.main_sections()]
    in_main = any(any(calls_of(each, sections)) for each in (name, *functions))
    return [each for each in functions if each != name] + [MAIN] * in_main


def has_pipeline(script: OpenedScript) -> bool:
    """Return True if the script created a pipeline, or defines a function or class that does."""
    return bool(_pipelines_by_variable(script) or pipeline_factories(script.module))


def _factory(
    name: str, value: Any, script: OpenedScript, arguments: Mapping[str, Any]
) -> FoundPipeline:
    file = script.file
    if is_pipeline(value):
        if unused := [one for one in arguments if one not in script.taken]:
            raise ImportFailedError(
                f"{file} creates its pipeline at the top level, so no function receives the "
                f"argument {', '.join(map(repr, unused))}. Select a function: --pipeline "
                f"{'|'.join(pipeline_factories(script.module)) or 'NAME'}."
            )
        return FoundPipeline(lambda: value)
    if not callable(value):
        raise ImportFailedError(
            f"{file}: {name!r} has type {type(value).__name__}, but must be a pipeline or a "
            "function that returns one. Select another name with --pipeline."
        )
    unknown = _unknown_arguments(value, arguments)
    given = {
        one: each for one, each in arguments.items() if not (one in unknown and one in script.taken)
    }
    unknown = [one for one in unknown if one in given]
    for one in [each for each in unknown if _is_global(each, script)]:
        _set_global(script, one, given.pop(one))
        unknown.remove(one)
    if unknown:
        raise ImportFailedError(
            f"{file}: {name!r} has no argument {', '.join(map(repr, unknown))}. It has "
            f"{', '.join(parameters_of(value)) or 'none'}."
        )
    notes: tuple[str, ...] = ()
    placeholders: list[str] = []
    is_exported = name in (BUILDER, SIDE_BY_SIDE)
    missing = required_by(value, given)
    trees = script.trees.values() if is_exported else ()
    kinds = _folders(trees) | _datasets(trees)
    if missing and kinds.keys() >= set(missing):
        for parameter in missing:
            placeholders.append(tempfile.mkdtemp(prefix="data-"))
            given[parameter] = str(kinds[parameter].write_placeholder(Path(placeholders[-1])))
        notes = (note_of_data(kinds[parameter].about for parameter in missing),)
    call = call_arguments(value, given, script.lines.stand_ins, {} if is_exported else script.trees)
    if call.missing:
        callers = _callers(name, script)
        select = f", or select what calls it: --pipeline {'|'.join(callers)}" if callers else ""
        raise ImportFailedError(
            f"{file}: {name!r} requires {', '.join(map(repr, call.missing))}. Pass "
            f"{' '.join(f'--arg {one}=...' for one in call.missing)} (in Python: "
            f'args={{"{call.missing[0]}": ...}}){select}.'
        )
    _complete_configurations(script, call.setting)

    choice: list[str] = []

    def make() -> Any:
        before = len(script.made)
        pipe = value(**call.values)
        if name == SIDE_BY_SIDE and isinstance(pipe, list) and pipe:
            pipe = pipe[0]
        if not is_pipeline(pipe):
            inside = list(pipelines_within(pipe)) or script.made[before:]
            different = _different(inside)
            if len(different) > 1:
                choice.append(
                    f"{name} creates {len(different)} different pipelines; the first is read. To "
                    "read another, pass the name of its function or class: --pipeline NAME"
                )
            pipe = inside[0] if inside else pipe
        if not is_pipeline(pipe):
            raise ImportFailedError(
                f"{file}: {name!r} returns a value of type {type(pipe).__name__}. Return an "
                "nvidia.dali.Pipeline."
            )
        return pipe

    shard = _shard_arguments(script) if name != SIDE_BY_SIDE else ()  # each reads one shard
    count = getattr(script.module, "PIPELINES", 1) if name == SIDE_BY_SIDE else 1
    several = count if isinstance(count, int) and 1 < count <= SETTINGS["pipelines"][1] else 1
    notes = (*notes, *_other_definitions(name, value, script.trees))
    return FoundPipeline(make, notes, tuple(placeholders), several, call.assumed, shard, choice)


def _different(pipelines: Sequence[Any]) -> list[Any]:
    """Remove duplicates: pipelines with equal classes and source lines."""
    return list({(type(pipe), *sorted(_lines_of(pipe))): pipe for pipe in pipelines[::-1]}.values())


def _lines_of(pipe: Any) -> set[str]:
    """Return the source lines that call a pipeline's operators, as recorded by DALI."""
    outputs = getattr(pipe, "_graph_out", None) or ()
    waiting = [node.source for node in outputs if hasattr(node, "source")]
    found: dict[int, str] = {}
    while waiting:
        op = waiting.pop()
        if id(op) not in found and hasattr(op, "spec"):
            text = str(op.spec)
            found[id(op)] = text[text.find("_origin_stack_filename") :]
            waiting += [node.source for node in op.inputs]
    return set(found.values())


def other_pipeline_notes(script: OpenedScript, traced: Traced, pipe: Any) -> tuple[str, ...]:
    """Return notes about the other pipelines that a stopped script defines."""
    functions = {place.function for op in traced.pipeline.ops for place in op.places}
    others = [
        name
        for name, maker in pipeline_factories(script.module).items()
        if maker is not type(pipe) and unwrap(maker).__name__ not in functions
    ]
    if not others:
        return ()
    named = ", ".join(others)
    return (
        f"the script ran this pipeline first, at {script.stopped}, and it also defines "
        f"{named}. To read another, pass its name: --pipeline {others[-1]}",
    )


def _other_definitions(
    name: str, maker: Callable[..., Any], trees: Mapping[str, ast.Module]
) -> Iterator[str]:
    """Yield a note if a script defines ``name`` several times: Python uses the last definition."""
    code = getattr(unwrap(maker), "__code__", None)
    if code is None:
        return
    whole = notebook_of(code.co_filename) or code.co_filename
    defined = [
        (file, node)
        for file, tree in trees.items()
        if (notebook_of(file) or file) == whole
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    places = [source_location(file, node.lineno) for file, node in defined]
    for place, (file, node) in zip(places, defined, strict=True):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        if len(places) > 1 and (file, first) == (code.co_filename, code.co_firstlineno):
            several = f"defined {len(places)} times, at {', '.join(places)}"
            yield f"{name} is {several}: the one at {place} is read"


def _shard_arguments(script: OpenedScript) -> tuple[str, ...]:
    """Return the reader arguments that select a shard in a program exported for several devices."""
    made = vars(script.module).values()
    docs = {each.__doc__ for each in made if getattr(each, "_is_pipeline_def", False)}
    own = ("shard_id", "num_shards")
    return (*own, "pad_last_batch") if SHARD in docs else own if PADDED_SHARD in docs else ()


def _datasets(trees: Iterable[ast.Module]) -> dict[str, SourceKind]:
    """Map each variable with a data path in an exported program to the source kind of the data."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    finders = kinds_by_finder()
    return {
        node.args[0].id: load_source(finders[node.func.id])
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in own & finders.keys()
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Name)
    }


def _folders(trees: Iterable[ast.Module]) -> dict[str, SourceKind]:
    """Map each variable that an exported program passes to DALI's file reader to a source kind."""
    return {
        node.value.id: load_source("folder")
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword)
        and node.arg in ("file_root", "file_list")
        and isinstance(node.value, ast.Name)
    }


def note_of_data(kinds: Iterable[str]) -> str:
    """Return a note that data of these kinds was replaced by placeholders."""
    return f"name the {' and the '.join(dict.fromkeys(kinds))} when you run the graph"


def with_placeholder_data(trees: Mapping[str, ast.Module], folder: Path) -> dict[str, str]:
    """Create placeholder data for an exported notebook whose data paths do not exist.

    The paths in its top-level assignments are replaced, so that its code finds the placeholders.
    Returns a description of each placeholder folder.
    """
    found = _datasets(trees.values())
    made: dict[str, str] = {}
    for statement in [each for tree in trees.values() for each in tree.body]:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Constant(value=str(place)) as text
            ) if name in found and not (folder / place).exists():
                made_up = tempfile.mkdtemp(prefix="data-")
                text.value = str(found[name].write_placeholder(Path(made_up)))
                made[made_up] = found[name].about
    return made


def _pipelines_by_variable(script: OpenedScript) -> dict[str, Any]:
    """Return the pipelines that the script created, by variable name or, if unnamed, by number."""
    live: dict[str, Any] = {}
    for name, value in [*vars(script.module).items(), *enumerate(script.made, start=1)]:
        if is_pipeline(value) and not any(value is other for other in live.values()):
            live[str(name)] = value
    return live


def _set_global(script: OpenedScript, name: str, value: Any) -> None:
    """Set a variable of the script. A dictionary replaces only the settings that it contains."""
    there = getattr(script.module, name, None)
    if not isinstance(value, dict):
        setattr(script.module, name, value)
    elif there is None or isinstance(there, StandIn | dict):
        known = there if isinstance(there, dict) else {}
        setattr(
            script.module, name, Settings({**known, **value}, script.lines.stand_ins.value, name)
        )
    else:
        for key, each in value.items():
            setattr(there, key, each)


def _complete_configurations(script: OpenedScript, setting: Callable[[str], Any]) -> None:
    """Add missing settings, which only ``__main__`` would set, to the script's configurations."""
    names = vars(script.module)
    for name in CONFIGURATIONS:
        there = names.get(name)
        if isinstance(there, Namespace):
            required = {
                node.attr
                for tree in script.trees.values()
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == name
            }
            if required - vars(there).keys():
                names[name] = Settings(vars(there), setting, name)
        elif name not in names and _is_global(name, script):
            names[name] = Settings({}, setting, name)


def _is_global(name: str, script: OpenedScript) -> bool:
    """Return True if the script's functions use a global variable that only ``__main__`` sets."""
    codes = [
        code
        for value in vars(script.module).values()
        for part in (value, *(vars(value).values() if isinstance(value, type) else ()))
        if isinstance(
            code := getattr(getattr(part, "__wrapped__", part), "__code__", None), CodeType
        )
    ]
    return any(name in code.co_names for code in codes)


def _unknown_arguments(maker: Callable[..., Any], passed: Mapping[str, Any]) -> list[str]:
    from nvidia.dali.pipeline import Pipeline

    known = parameters_of(maker)
    if any(parameter.kind == parameter.VAR_KEYWORD for parameter in known.values()):
        return []
    allowed = set(known)
    if getattr(maker, "_is_pipeline_def", False):
        allowed |= set(parameters_of(Pipeline.__init__))
    return [name for name in passed if name not in allowed]


def _unknown(requested: str, script: OpenedScript) -> str:
    names = [*_pipelines_by_variable(script), *pipeline_factories(script.module)]
    hint = did_you_mean(requested, names, f"It has {', '.join(names) or 'no pipeline'}.")
    return f"{script.file} has no pipeline {requested!r}. {hint}{script.unread_part_note()}"


def _choose_one_message(script: OpenedScript, names: Sequence[str]) -> str:
    return (
        f"{script.file} has {len(names)} pipelines: {', '.join(names)}. Select one: "
        f"--pipeline {names[-1]}."
    )


def name_of(traced: Traced, docstring: str | None, stem: str, kind: type) -> tuple[str, str]:
    """Return (name, description) for the imported graph.

    The name is that of the pipeline's class (``kind``) if the user defined the class, else that of
    the function that calls the operators, else ``stem``.
    """
    places = [place for op in traced.pipeline.ops for place in op.places]
    own = [place.function for place in places if not any(m in place.file for m in _NOT_THEIRS)]
    function = next((name for name in own if not name.startswith(("_", "<"))), "")
    paragraphs = (docstring or "").split("\n\n")
    about = " ".join(paragraphs[0].split()) if paragraphs[-1].startswith("Needs ") else ""
    if is_pipeline_class(kind) and not kind.__module__.startswith("nvidia.dali"):
        function = _WORDS.sub("_", kind.__name__).lower()
    elif function in ("", "<module>", "define_graph"):
        function = stem
    if function == function_name(Graph()):
        return Graph().name, about
    for word in ("_pipeline", "_pipe"):
        function = function.removesuffix(word)
    return function, about
