"""Run a user's script or notebook in the worker process to find its compositions of transforms."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from workbench.emit.interop.graph import LIBRARIES
from workbench.emit.pipeline_import.transform_call import TransformCall, to_plain
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.engine.script_import.call_arguments import call_arguments, python_source
from workbench.engine.script_import.dali_patches import recording_pipelines
from workbench.engine.script_import.failing_statements import (
    SKIPPED,
    skip_failing_statements,
    with_noted_tests,
)
from workbench.engine.script_import.opened_script import OpenedScript, opened_script
from workbench.engine.script_import.placeholders import StandIns
from workbench.engine.script_import.project_modules import TREES
from workbench.engine.script_import.script_sandbox import source_location
from workbench.engine.script_import.statement_runner import future_flags
from workbench.engine.transform_tracing.recorded_calls import (
    RecordedBase,
    RecordedCall,
    recorded_libraries,
    recorded_sequences,
)
from workbench.engine.transform_tracing.recorded_values import transform_call
from workbench.errors import ImportFailedError
from workbench.names import did_you_mean

_COMPOSING = frozenset(
    {
        *("Compose", "ReplayCompose", "Sequential", "AugmentationSequential", "ImageSequential"),
        "create_transform",
    }
)
_EXTENDING = frozenset({"append", "extend", "insert"})
_OF_FUNCTIONS = ("kornia.geometry", "kornia.enhance", "kornia.filters", "kornia.color")
"""Prefixes of modules that have image functions but no ``functional`` in their name."""
_MOST_DEPTH = 4
"""Maximum depth of dictionaries and lists that are searched for compositions."""


@dataclass(frozen=True, slots=True)
class TracedTransform:
    """A composition that a script creates."""

    call: Any
    """Recorded call, in the form that ``to_plain`` returns."""
    name: str
    notes: tuple[str, ...] = ()
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Assumed values of missing arguments, as Python code, by argument name."""
    losses: tuple[tuple[str, str], ...] = ()
    """Pairs (line, reason) for each part that may be missing in the composition."""


@task
def trace_transform(
    worker: Worker, path: str, requested: str | None, arguments: Mapping[str, Any], seconds: float
) -> TracedTransform:
    """Run a script or notebook, and return one of its compositions.

    ``requested`` is a variable, an item of a dictionary (``transforms.train``), or a function or
    class that creates a composition, with a line (``main:12``) if it creates several. Raises
    ImportFailedError with the line if the script fails or exceeds a limit, or if it contains no
    composition or several.
    """
    with opened_script(worker, path, arguments, seconds) as script:
        lines, cells = script.lines, script.cells
        with (
            recorded_libraries(tuple(LIBRARIES), lines.stand_ins) as calls,
            _dali_pipelines_blocked(cells, lines.stand_ins),
            recorded_sequences(lines.stand_ins)
            if _uses_name(cells, "Sequential")
            else nullcontext(),
        ):
            script.run()
            given = {name: each for name, each in arguments.items() if name not in script.taken}
            search = _Search(script, calls, given)
            name, found = search.find(requested)
            traced = transform_call(found)
            call = to_plain(traced)
    assumed = {each: python_source(value) for each, value in search.assumed.items()}
    losses = (
        *_losses(script, calls, set(_call_lines(traced))),
        *_calls_outside(cells, traced),
    )
    return TracedTransform(call, name, tuple(lines.all_notes()), assumed, losses)


def _losses(
    script: OpenedScript, calls: Sequence[RecordedCall], places: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield (line, reason) for each part that may be missing in a composition.

    ``places`` are the lines that create the composition.
    """
    lines, uses = script.lines, script.uses
    skipped = []
    for each in lines.skipped:
        if any(map(_may_add_transform, ast.walk(each.statement))):
            yield each.place, f"{each.error} and was skipped, which may drop a transform"
        else:
            skipped.append(each)
    making = [
        (file, int(line))
        for name, _, line in (place.rpartition(":") for place in places if place)
        for file in TREES
        if Path(file).name == name
    ]
    for loss in uses.losses(making, skipped, is_changed_later=True):
        yield loss.place, loss.why
    for call in calls:
        for place, what in call._changes if call._place in places else ():
            yield place, f"{what} changes {call} after its call: this is ignored"
    if names := ", ".join(name for name in lines.stand_ins.answered if name not in uses.names()):
        yield "", f"unknown, treated as false or empty: {names}. Pass values with --arg NAME=VALUE"


def _calls_outside(trees: Mapping[str, ast.Module], traced: Any) -> Iterator[tuple[str, str]]:
    """Yield (line, function) for library functions that are called outside the composition."""
    recorded = set(_call_lines(traced))
    for file, tree in trees.items():
        full_names = dict(_imported(tree))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            first, dot, rest = ast.unparse(node.func).partition(".")
            full = f"{full_names.get(first, '')}{dot}{rest}"
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            places = [source_location(file, line) for line in lines]
            if _changes_images(full) and recorded.isdisjoint(places):
                called = ast.unparse(node.func)
                yield places[0], f"{called} is called outside the composition: it is ignored"


def _changes_images(name: str) -> bool:
    module, _, function = name.rpartition(".")
    library = module.partition(".")[0]
    of_functions = ".functional" in module or module.startswith(_OF_FUNCTIONS)
    return library in LIBRARIES and of_functions and not function.startswith(("get_", "is_"))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (name, full dotted name) for each import in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _call_lines(value: Any) -> Iterator[str]:
    if isinstance(value, TransformCall):
        yield value.place
        value = [*value.args, *value.kwargs.values()]
    if isinstance(value, Mapping):
        value = list(value.values())
    for each in value if isinstance(value, list | tuple) else ():
        yield from _call_lines(each)


def _may_add_transform(node: ast.AST) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add)
    if isinstance(node, ast.Attribute) and node.attr in _EXTENDING:
        return True
    name = getattr(node, "attr", getattr(node, "id", ""))
    return name in _COMPOSING or any(
        name in library.importers or name in library.not_imported for library in LIBRARIES.values()
    )


def _uses_name(trees: Mapping[str, ast.Module], name: str) -> bool:
    return any(
        name in (getattr(node, "attr", ""), getattr(node, "id", ""))
        for tree in trees.values()
        for node in ast.walk(tree)
    )


def _dali_pipelines_blocked(
    trees: Mapping[str, ast.Module], stand_ins: StandIns
) -> AbstractContextManager[object]:
    """Return a context manager in which the script's DALI pipelines do not run."""
    names = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
    }
    of_dali = any(name.partition(".")[0] == "nvidia" for name in names)
    return recording_pipelines([], stand_ins) if of_dali else nullcontext()


@dataclass(frozen=True, slots=True)
class _Search:
    """Selects the requested composition of a script."""

    script: OpenedScript
    calls: list[RecordedCall]
    arguments: Mapping[str, Any]
    assumed: dict[str, Any] = field(default_factory=dict)

    def find(self, requested: str | None) -> tuple[str, RecordedCall]:
        compositions = dict(_compositions_in(vars(self.script.module)))
        answered = dict(self.script.lines.stand_ins.answered)
        if requested is None:
            if len(compositions) == 1:
                return next(iter(compositions.items()))
            makers = [*compositions, *self._composition_makers()]
            if compositions or len(makers) != 1:
                raise self._ambiguity_error(makers)
            requested = makers[0]
        requested, _, line = requested.partition(":")
        if requested in compositions:
            return requested, compositions[requested]
        maker, inner = self._named(requested, [*compositions, *self._composition_makers()])
        made = self._compositions_made_by(maker)
        self.script.lines.stand_ins.answered.update(answered)
        if inner and inner not in made:
            outer = requested.removesuffix(f".{inner}")
            raise self._ambiguity_error([f"{outer}.{name}" for name in made])
        if inner:
            made = {inner: made[inner]}
        if line:
            made = {name: each for name, each in made.items() if each._place.endswith(f":{line}")}
        if len(made) != 1:
            places = _lines_of(made.values())
            by_line = len({*places}) == len(places)
            raise self._ambiguity_error(
                [f"{requested}:{each}" for each in places]
                if by_line
                else [f"{requested}.{name}" for name in made]
            )
        return requested.rpartition(".")[2], next(iter(made.values()))

    def _named(self, requested: str, known: Sequence[str]) -> tuple[Any, str]:
        """Return the first function or class on a dotted path, and the rest of the path.

        If there is none, the value at the end of the path is returned, and the rest is empty.
        """
        value: Any = self.script.module
        parts = requested.split(".")
        for place, part in enumerate(parts):
            if isinstance(value, FunctionType | type):
                return value, ".".join(parts[place:])
            value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
            if value is None:
                hint = did_you_mean(requested, known, f"It has {', '.join(known)}.")
                raise ImportFailedError(f"{self.script.file} has no {requested}. {hint}")
        return value, ""

    def _compositions_made_by(self, maker: Any) -> dict[str, RecordedCall]:
        """Call a function or class, and return the compositions that it returns or stores, by name.

        If there are none, return the compositions that were created during the call, by number.
        """
        if isinstance(maker, RecordedCall):
            return {"": maker}
        if not callable(maker):
            raise ImportFailedError(
                f"{self.script.file}: the selected value has type {type(maker).__name__}. Select a "
                "composition."
            )
        stand_ins = self.script.lines.stand_ins
        called = call_arguments(maker, self.arguments, stand_ins, self.script.cells)
        values = {**{name: stand_ins.value(name) for name in called.missing}, **called.values}
        before = len(self.calls)
        self.script.lines.stand_ins.answered.clear()
        given: Any = None
        failure: Exception | None = None
        try:
            given = self._copy_that_skips(maker)(**values)
        except Exception as error:
            failure = error
        self.assumed.update(called.assumed)
        recorded = given if isinstance(given, RecordedCall | Mapping | list | tuple) else None
        found = dict(_compositions_in({"": given} if recorded is not None else _attributes(given)))
        if found:
            return {name: call for name, call in found.items() if _is_first(name, call, found)}
        made = [call for call in self.calls[before:] if _composes(call)]
        inner = {id(each) for call in made for each in _nested_calls(call)}
        outer = {str(n): call for n, call in enumerate(made) if id(call) not in inner}
        if not outer and failure is not None:
            raise failure
        return outer

    def _copy_that_skips(self, maker: Any) -> Any:
        """Return a copy of a script's function or class in which failing statements are skipped."""
        for file, tree in self.script.cells.items():
            for node in tree.body:
                if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                    continue
                space = vars(self.script.module)
                if space.get(node.name) is maker:
                    flags, going_on = (
                        future_flags(tree),
                        with_noted_tests(skip_failing_statements(node)),
                    )
                    code = compile(going_on, file, "exec", flags, dont_inherit=True)
                    exec(code, space)
                    made, space[node.name] = space[node.name], maker
                    space[SKIPPED] = self._skip_in(node, file)
                    return made
        return maker

    def _skip_in(self, definition: ast.stmt, file: str) -> Callable[[int, Exception], None]:
        inner = [each for each in ast.walk(definition) if isinstance(each, ast.stmt)]
        statements = {each.lineno: each for each in reversed(inner)}

        def skip(line: int, error: Exception) -> None:
            self.script.lines.skip(error, file, statements[line])

        return skip

    def _composition_makers(self) -> list[str]:
        """Return the names of the script's functions and classes that contain a composition."""
        found = []
        for tree in self.script.cells.values():
            for node in tree.body:
                kinds = ast.FunctionDef | ast.ClassDef
                if isinstance(node, kinds) and any(map(_is_composing, ast.walk(node))):
                    found.append(node.name)
        return found

    def _ambiguity_error(self, names: Sequence[str]) -> ImportFailedError:
        file = self.script.file
        if not names and self.script.lines.failures:
            raise self.script.lines.failures[0]
        if not names:
            known = ", ".join(LIBRARIES)
            return ImportFailedError(
                f"{file} has no pipeline of DALI, and no composition of {known}. Code under `if "
                f"__name__ == '__main__'` is not run. If a function creates one, use {file}:NAME."
            )
        return ImportFailedError(
            f"{file} has {len(names)} compositions: {', '.join(names)}. Select one: "
            f"{file}:{names[-1]}."
        )


def _attributes(value: Any) -> dict[str, Any]:
    found = dict(getattr(value, "__dict__", {}))
    for kind in reversed(type(value).__mro__):
        for name, each in vars(kind).items():
            if isinstance(each, property | cached_property):
                with suppress(Exception):  # it may need something unavailable
                    found[name] = getattr(value, name)
    return found


def _is_first(name: str, call: RecordedCall, compositions: Mapping[str, RecordedCall]) -> bool:
    """Return True if ``name`` is the first of a composition's names."""
    return next(each for each, other in compositions.items() if other is call) == name


def _compositions_in(
    values: Mapping[str, Any], depth: int = _MOST_DEPTH
) -> Iterator[tuple[str, RecordedCall]]:
    """Yield (name, composition) for values, including those in nested dictionaries and lists."""
    for name, each in values.items():
        base = RecordedBase.unchanged_call(each)
        value = each if base is None else base
        if isinstance(value, RecordedCall):
            if _composes(value):
                yield name, value
        elif not depth:  # cyclic references never end
            continue
        elif isinstance(value, Mapping) and not name.startswith("__"):
            yield from _compositions_in(
                {_dotted(name, key): item for key, item in value.items()}, depth - 1
            )
        elif isinstance(value, list | tuple) and len(value) < 20:
            yield from _compositions_in(
                {_dotted(name, n): item for n, item in enumerate(value)}, depth - 1
            )


def _dotted(name: str, part: object) -> str:
    return f"{name}.{part}" if name else str(part)


def _composes(call: RecordedCall) -> bool:
    return str(call).rpartition(".")[2] in _COMPOSING


def _nested_calls(value: Any) -> Iterator[RecordedCall]:
    parts = (*value._args, *value._kwargs.values()) if isinstance(value, RecordedCall) else value
    for part in parts:
        if isinstance(part, RecordedCall):
            yield part
        if isinstance(part, RecordedCall | list | tuple):
            yield from _nested_calls(part)


def _lines_of(calls: Any) -> list[str]:
    return [call._place.rpartition(":")[2] for call in calls]


def _is_composing(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _COMPOSING
