"""A user's script or notebook, run in the worker process for the compositions that it makes."""

from __future__ import annotations

import ast
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench.emit.transform_import.graph import LIBRARIES
from workbench.emit.transform_import.transform_call import to_plain
from workbench.engine.call_arguments import call_arguments
from workbench.engine.command_line_defaults import command_line_defaults
from workbench.engine.failing_statements import skip_failing_statements
from workbench.engine.project_modules import found_modules, package_of
from workbench.engine.recorded_calls import (
    RecordedCall,
    recorded_libraries,
    recorded_sequences,
)
from workbench.engine.recorded_values import transform_call
from workbench.engine.registry import task
from workbench.engine.script_lines import ScriptRun, command_line, future_flags
from workbench.engine.script_sandbox import ScriptSandbox
from workbench.engine.scripts import (
    kept_from_running,
    new_module,
    parsed_cells,
    read_source_cells,
    run_cells,
)
from workbench.engine.stand_ins import StandIns
from workbench.engine.usual_values import UsualValues, written
from workbench.engine.worker import Worker
from workbench.errors import ImportFailedError

_COMPOSING = frozenset(
    {"Compose", "Sequential", "AugmentationSequential", "ImageSequential", "create_transform"}
)
_MOST_DEPTH = 4
"""Of dictionaries and lists in which compositions are looked for."""


@dataclass(frozen=True, slots=True)
class TracedTransform:
    """A composition of a script."""

    call: Any
    """As ``to_plain`` gives it."""
    name: str
    notes: tuple[str, ...] = ()
    assumed: Mapping[str, str] = field(default_factory=dict)
    """What was taken for what is not given, as Python writes it."""


@task
def trace_transform(
    worker: Worker, path: str, wanted: str | None, arguments: Mapping[str, Any], seconds: float
) -> TracedTransform:
    """Task: run a script or notebook and give one of its compositions.

    ``wanted`` is a variable, an item of a dictionary (``transforms.train``), or a function or class
    that makes one, with a line (``main:12``) where it makes several. Raises ImportFailedError,
    which names the line, where it fails, takes too much, or has none or several.
    """
    cells = read_source_cells(path)
    path = str(Path(path).absolute())  # a notebook runs in its own folder
    tempfile.gettempdir()  # it is kept from now on, whatever the script does to the environment
    lines = ScriptRun(StandIns())
    trees = parsed_cells(cells, lines)
    module = new_module(path)
    with (
        ScriptSandbox([cell.file for cell in cells], seconds, worker.reply_error) as sandbox,
        command_line(arguments, lines) as taken,
        found_modules(Path(path), lines.run_file, lines.stand_ins),
        recorded_libraries(tuple(LIBRARIES), lines.stand_ins) as calls,
        _dali_kept_from_running(trees),
        recorded_sequences(lines.stand_ins) if _has(trees, "Sequential") else nullcontext(),
    ):
        try:
            paths = list(sys.path)
            module.__package__ = package_of(Path(path), trees)
            run_cells(trees, module, lines)
            sys.path[:] = paths
            given = {name: each for name, each in arguments.items() if name not in taken()}
            script = _Script(module, Path(path).name, calls, lines, given, trees)
            name, found = script.find(wanted)
            call = to_plain(transform_call(found))
        except ImportFailedError:
            raise
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            raise sandbox.describe_error(error) from None
    assumed = {each: written(value) for each, value in script.assumed.items()}
    return TracedTransform(call, name, tuple(lines.told()), assumed)


def _has(trees: Mapping[str, ast.Module], name: str) -> bool:
    """Whether an attribute or a name of it stands anywhere in the script."""
    return any(
        name in (getattr(node, "attr", ""), getattr(node, "id", ""))
        for tree in trees.values()
        for node in ast.walk(tree)
    )


def _dali_kept_from_running(trees: Mapping[str, ast.Module]) -> AbstractContextManager[None]:
    """DALI's pipelines beside a composition are not run; without any, DALI is not loaded."""
    names = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
    }
    of_dali = any(name.partition(".")[0] == "nvidia" for name in names)
    return kept_from_running([]) if of_dali else nullcontext()


@dataclass(frozen=True, slots=True)
class _Script:
    module: ModuleType
    file: str
    calls: list[RecordedCall]
    lines: ScriptRun
    arguments: Mapping[str, Any]
    trees: Mapping[str, ast.Module]
    assumed: dict[str, Any] = field(default_factory=dict)

    def find(self, wanted: str | None) -> tuple[str, RecordedCall]:
        held = dict(_held(vars(self.module)))
        if wanted is None:
            if len(held) == 1:
                return next(iter(held.items()))
            makers = [*held, *self._makers()]
            if held or len(makers) != 1:
                raise self._which(makers)
            wanted = makers[0]
        wanted, _, line = wanted.partition(":")
        if wanted in held:
            return wanted, held[wanted]
        maker = self._named(wanted, [*held, *self._makers()])
        made = self._made_by(maker)
        if line:
            made = {name: each for name, each in made.items() if each._place.endswith(f":{line}")}
        if len(made) != 1:
            raise self._which([f"{wanted}:{place}" for place in _lines_of(made.values())])
        return wanted.rpartition(".")[2], next(iter(made.values()))

    def _named(self, wanted: str, known: Sequence[str]) -> Any:
        value: Any = self.module
        for part in wanted.split("."):
            value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
            if value is None:
                near = get_close_matches(wanted, known, n=1)
                hint = f"Did you mean {near[0]}?" if near else f"It has {', '.join(known)}."
                raise ImportFailedError(f"{self.file} has no {wanted}. {hint}")
        return value

    def _made_by(self, maker: Any) -> dict[str, RecordedCall]:
        """What a function or class makes: what it gives or keeps, else all of its compositions.

        It may fail behind these: it runs among stand-ins.
        """
        if isinstance(maker, RecordedCall):
            return {"": maker}
        if not callable(maker):
            raise ImportFailedError(
                f"{self.file}: it is {type(maker).__name__}, and makes no composition."
            )
        defaults = command_line_defaults(self.trees.values())
        stand_ins = self.lines.stand_ins
        called = call_arguments(maker, self.arguments, stand_ins, self.trees, defaults)
        setting = UsualValues().setting(stand_ins)
        values = {**{name: setting(name) for name in called.missing}, **called.values}
        before = len(self.calls)
        self.lines.stand_ins.answered.clear()
        given: Any = None
        failure: Exception | None = None
        try:
            given = self._skipping(maker)(**values)
        except Exception as error:
            failure = error
        self.lines.notes.extend(called.notes)
        self.assumed.update(called.assumed)
        if asked := ", ".join(self.lines.stand_ins.answered):
            self.lines.notes.append(
                f"not given, and counted as false: {asked}. Give them by --arg NAME=VALUE"
            )
        kept = given if isinstance(given, RecordedCall | Mapping | list | tuple) else None
        found = dict(_held({"": given} if kept is not None else getattr(given, "__dict__", {})))
        if found:
            return found
        made = [call for call in self.calls[before:] if _composes(call)]
        inner = {id(each) for call in made for each in _inside(call)}
        outer = {str(n): call for n, call in enumerate(made) if id(call) not in inner}
        if not outer and failure is not None:
            raise failure
        return outer

    def _skipping(self, maker: Any) -> Any:
        """A function or class of the script itself, which goes on behind lines that fail."""
        for file, tree in self.trees.items():
            for node in tree.body:
                if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                    continue
                space = vars(self.module)
                if space.get(node.name) is maker:
                    flags, going_on = future_flags(tree), skip_failing_statements(node)
                    code = compile(going_on, file, "exec", flags, dont_inherit=True)
                    exec(code, space)
                    made, space[node.name] = space[node.name], maker
                    return made
        return maker

    def _makers(self) -> list[str]:
        """Functions and classes of the script in which something is composed."""
        found = []
        for tree in self.trees.values():
            for node in tree.body:
                kinds = ast.FunctionDef | ast.ClassDef
                if isinstance(node, kinds) and any(map(_is_composing, ast.walk(node))):
                    found.append(node.name)
        return found

    def _which(self, names: Sequence[str]) -> ImportFailedError:
        if not names and self.lines.failures:
            raise self.lines.failures[0]
        if not names:
            known = ", ".join(LIBRARIES)
            return ImportFailedError(
                f"{self.file} has no pipeline of DALI, and no composition of {known}. What stands "
                f"under __main__ is not run. If a function makes one, name it: {self.file}:NAME."
            )
        return ImportFailedError(
            f"{self.file} has {len(names)} compositions: {', '.join(names)}. Name one: "
            f"{self.file}:{names[-1]}."
        )


def _held(
    values: Mapping[str, Any], depth: int = _MOST_DEPTH
) -> Iterator[tuple[str, RecordedCall]]:
    """The compositions among values by name, also those in dictionaries and lists."""
    for name, value in values.items():
        if isinstance(value, RecordedCall):
            if _composes(value):
                yield name, value
        elif not depth:  # what holds itself has no end
            continue
        elif isinstance(value, Mapping) and not name.startswith("__"):
            yield from _held({_joined(name, each): item for each, item in value.items()}, depth - 1)
        elif isinstance(value, list | tuple) and len(value) < 20:
            yield from _held({_joined(name, n): item for n, item in enumerate(value)}, depth - 1)


def _joined(name: str, part: object) -> str:
    return f"{name}.{part}" if name else str(part)


def _composes(call: RecordedCall) -> bool:
    return str(call).rpartition(".")[2] in _COMPOSING


def _inside(value: Any) -> Iterator[RecordedCall]:
    parts = (*value._args, *value._kwargs.values()) if isinstance(value, RecordedCall) else value
    for part in parts:
        if isinstance(part, RecordedCall):
            yield part
        if isinstance(part, RecordedCall | list | tuple):
            yield from _inside(part)


def _lines_of(calls: Any) -> list[str]:
    return [call._place.rpartition(":")[2] for call in calls]


def _is_composing(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _COMPOSING
