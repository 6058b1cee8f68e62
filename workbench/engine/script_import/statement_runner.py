"""Run a script's statements one by one, so that one failing statement does not end the script."""

from __future__ import annotations
import __future__

import argparse
import ast
import linecache
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from workbench.engine.script_import.failing_statements import NOTED, changed_names, with_noted_tests
from workbench.engine.script_import.placeholders import StandIn, StandIns, replaced
from workbench.engine.script_import.project_modules import TREES
from workbench.engine.script_import.script_sandbox import one_printable_line, source_location
from workbench.system_limits import is_memory_refusal

_MOST_NOTES = 6
_ALONE: Mapping[str, Mapping[str, Any]] = {
    "torch.cuda": {"current_device": 0, "device_count": 1, "set_device": None},
    "torch.distributed": {"get_rank": 0, "get_world_size": 1, "is_initialized": False},
}
_OF_THIS_PROCESS = ("torch.cuda.current_device", "torch.cuda.set_device")
"""Functions in ``_ALONE`` whose result does not depend on the number of processes."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


class StopScriptError(BaseException):
    """Raised at the line at which a script runs ``pipeline``.

    It is a BaseException, so that ``except Exception`` does not catch it.
    """

    def __init__(self, pipeline: Any) -> None:
        super().__init__()
        self.pipeline = pipeline


@dataclass(frozen=True, slots=True)
class SkippedStatement:
    """A statement of a script that has no effect, because it failed or was not run."""

    place: str
    error: str
    """Reason why the statement has no effect, such as ``failed (KeyError: 'SIZE')``."""
    statement: ast.stmt
    stale: tuple[str, ...] = ()
    """Names with outdated values, because the statement would have assigned or changed them."""


@dataclass
class ScriptRun:
    """Runs the statements of a script and of its project's modules, and records failures."""

    stand_ins: StandIns
    failures: list[BaseException] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Notes for the import report."""
    skipped: list[SkippedStatement] = field(default_factory=list)
    """Statements that failed."""
    unread: list[SkippedStatement] = field(default_factory=list)
    """Statements after the line where the script was stopped that would change an existing name."""

    def run(self, tree: ast.Module, file: str, module: ModuleType) -> None:
        """Run each statement. If one fails, the names that it would have assigned get stand-ins."""
        TREES[file] = tree
        flags = future_flags(tree)
        module.__dict__[NOTED] = self.stand_ins.noted
        for statement in tree.body:
            part = with_noted_tests(ast.Module([statement], []))
            try:
                exec(compile(part, file, "exec", flags, dont_inherit=True), module.__dict__)
            except (Exception, SystemExit) as error:
                if is_memory_refusal(error):
                    raise
                self._note_failure(error, file, statement, module)
                self._import_again(statement, file, flags, module)
                for name in _assigned_names(statement):
                    module.__dict__.setdefault(name, self.stand_ins.value(name))

    def _import_again(self, statement: ast.stmt, file: str, flags: int, module: ModuleType) -> None:
        """Run all imports of a failed ``try`` statement: the failure may have skipped some."""
        for node in statement.body if isinstance(statement, ast.Try) else ():
            if isinstance(node, ast.Import | ast.ImportFrom):
                part = ast.Module([node], [])
                with suppress(Exception, SystemExit):
                    exec(compile(part, file, "exec", flags, dont_inherit=True), module.__dict__)

    def run_file(self, path: str, module: ModuleType) -> None:
        """Run a module of the script's project."""
        text = "".join(linecache.getlines(path)) or Path(path).read_text("utf-8")
        self.run(ast.parse(text, path), path, module)

    def define(self, tree: ast.Module, file: str, after: int, module: ModuleType) -> None:
        """Run only the top-level definitions and imports after a line.

        Definitions that need missing names are skipped. Existing names are not replaced.
        """
        for statement in tree.body:
            known = set(module.__dict__)
            again = tuple(sorted(known & set(_set_below(statement, after))))
            if again:
                place = source_location(file, max(statement.lineno, after))
                why = "is below the line at which the script was stopped, and was not run"
                self.unread.append(SkippedStatement(place, why, statement, again))
            if isinstance(statement, _DEFINITIONS) and statement.lineno > after:
                there = dict(module.__dict__)
                part = with_noted_tests(ast.Module([statement], []))
                with suppress(Exception, SystemExit, StopScriptError):
                    code = compile(part, file, "exec", future_flags(tree), dont_inherit=True)
                    exec(code, module.__dict__)
                module.__dict__.update(there)

    def skip(self, error: BaseException, file: str, statement: ast.stmt) -> None:
        """Record a statement that failed inside a function."""
        place = source_location(file, statement.lineno)
        self.skipped.append(SkippedStatement(place, f"failed ({_error_line(error)})", statement))

    def _note_failure(
        self, error: BaseException, file: str, statement: ast.stmt, module: ModuleType
    ) -> None:
        self.failures.append(error)
        frames = [
            number for frame, number in walk_tb(error.__traceback__)
            if frame.f_code.co_filename == file
        ]  # fmt: skip
        words = _error_line(error)
        place = source_location(file, frames[-1] if frames else statement.lineno)
        stale = tuple(
            name
            for name in sorted({*_assigned_names(statement), *changed_names(statement)})
            if _may_be_stale(module.__dict__.get(name), module)
        )
        self.skipped.append(SkippedStatement(place, f"failed ({words})", statement, stale))
        self.notes.append(f"{place} failed ({words}): a stand-in replaces its result")

    def all_notes(self) -> list[str]:
        """Return the notes, and a note with the modules that stand-ins replace."""
        notes = self.notes[:_MOST_NOTES]
        if len(self.notes) > _MOST_NOTES:
            notes.append(f"{len(self.notes) - _MOST_NOTES} further lines failed")
        modules = self.stand_ins.modules
        tops = [name for name in modules if name.rpartition(".")[0] not in modules]
        if tops:
            notes.append(f"not installed here, replaced by stand-ins: {', '.join(sorted(tops))}")
        return notes


def _set_below(statement: ast.stmt, after: int) -> Iterator[str]:
    """Yield the names that a statement would assign or change in lines after ``after``."""
    if statement.lineno > after:
        yield from (*_assigned_names(statement), *changed_names(statement))
    elif not isinstance(statement, _DEFINITIONS):  # the script was stopped inside it
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt) and node.lineno > after:
                yield from (*_assigned_names(node), *changed_names(node))


def _may_be_stale(value: object, module: ModuleType) -> bool:
    """Return True if a value may be outdated because a failed statement did not replace it."""
    if value is None or isinstance(value, StandIn | ModuleType):
        return False
    return not callable(value) or getattr(value, "__module__", "") == module.__name__


def _error_line(error: BaseException) -> str:
    try:
        return one_printable_line(f"{type(error).__name__}: {error}").removesuffix(": ")
    except Exception:  # its own conversion to text may fail
        return type(error).__name__


def future_flags(tree: ast.Module) -> int:
    """Return the compiler flags for the ``from __future__`` imports of a file."""
    flags = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for name in statement.names:
                flags |= getattr(__future__, name.name).compiler_flag
    return flags


def _assigned_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.name != "*":
                    yield alias.asname or alias.name.partition(".")[0]


@contextmanager
def command_line(passed: Mapping[str, Any], run: ScriptRun) -> Iterator[set[str]]:
    """Within the context, argument parsers return the values in ``passed``, or their defaults.

    Missing required arguments get stand-ins. Yields the set of names in ``passed`` that were used.
    """
    usual = argparse.ArgumentParser.parse_known_args
    taken: set[str] = set()

    def parse(
        parser: argparse.ArgumentParser, args: Any = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        eased = copy(parser)
        eased._actions = [_optional_action(action, run.stand_ins) for action in parser._actions]
        eased._mutually_exclusive_groups = []
        found, _ = usual(eased, [], namespace)
        for action in parser._actions:
            if action.dest in passed:
                setattr(found, action.dest, passed[action.dest])
                taken.add(action.dest)
        return found, []

    with replaced([(argparse.ArgumentParser, "parse_known_args", parse)]):
        yield taken


@contextmanager
def one_process() -> Iterator[list[str]]:
    """Within the context, torch behaves like one process with one GPU, if the script imported it.

    Yields a list of the functions that the script called to get ranks and counts.
    """
    called: list[str] = []

    def answering(name: str, answer: Any) -> Callable[..., Any]:
        def answered(*_: Any, **__: Any) -> Any:
            if name not in (*called, *_OF_THIS_PROCESS):
                called.append(name)
            return answer

        return answered

    with replaced(
        (module, function, answering(f"{name}.{function}", answer))
        for name, answers in _ALONE.items()
        if (module := sys.modules.get(name)) is not None
        for function, answer in answers.items()
    ):
        yield called


def _optional_action(action: argparse.Action, stand_ins: StandIns) -> argparse.Action:
    eased = copy(action)
    if action.required and action.default is None:
        eased.default = stand_ins.value(action.dest)
    eased.required = False
    if not action.option_strings and not isinstance(action, argparse._SubParsersAction):
        eased.nargs = "*" if action.nargs in ("*", "+") else "?"
    return eased


def frames_in(error: BaseException, files: Collection[str]) -> list[tuple[str, int]]:
    """Return the lines of these files in an error's traceback as (file, line), outermost first."""
    return [
        (frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_code.co_filename in files
    ]
