"""Find the statements of a script that created a value, such as an array that was loaded.

Such a value has no short form as code, so the code of a Python source repeats the statements of the
script instead. They are run once more in the import, and have to create an equal value.

Used in the worker process only.
"""

from __future__ import annotations

import ast
import linecache
import pickle
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from enum import Enum
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import numpy as np

import workbench
from workbench.emit.pipeline_import.trace.source_lines import notebook_of
from workbench.engine.script_import.placeholders import StandIn
from workbench.engine.script_import.project_modules import TREES
from workbench.errors import GraphEditError
from workbench.graph.user_functions.source_writer import (
    Constructions,
    Scope,
    SourceWriter,
    is_installed,
    is_installed_file,
)

EXTERNAL_SOURCE = "external_source"
_CONVERTED = "__autograph_generated_file"
"""Part of the file names of functions that DALI converts because they use ``if`` with data."""
_MOST_PLACES = 200
_LONG = 300
"""If the code of a list has at least this length, the statements that created it are preferred."""
_WORKBENCH = str(Path(workbench.__file__).parent)
_REPORTING = ("print", "info", "debug", "warning")
"""Functions that do not change their arguments."""


class _Place(NamedTuple):
    """A line of the script that was running, with the values of its variables."""

    line: int
    body: Sequence[ast.stmt]
    """Statements of the function that was running."""
    local: Mapping[str, Any]
    module: Mapping[str, Any]
    call: ast.Call | None
    """The call that was running."""


class Origin(NamedTuple):
    """The statements of a script that created a value, and the values of the names they use."""

    name: str
    """The variable that has the value, or an empty string if ``text`` is an expression."""
    text: str
    scope: Scope
    is_simple: bool = True
    """True if the statements are one assignment, and each name in it has one value."""


class ValueOrigins:
    """The lines of a script at which its sources, and the objects that they use, were created."""

    def __init__(self) -> None:
        self._places: list[_Place] = []
        self._given: list[tuple[Any, str, _Place]] = []
        """Values of arguments, each with its expression and the place where it was evaluated."""
        self._copies: dict[int, tuple[Any, Any]] = {}
        """Copies and their originals, by ``id`` of the copy."""

    def clear(self) -> None:
        """Forget all lines and values."""
        self._places, self._given, self._copies = [], [], {}

    def copy_of(self, value: Any) -> Any:
        """Return a copy of a list, dictionary or set, which the script may change later."""
        if type(value) not in (list, dict, set):
            return value
        made = copy(value)
        self._copies[id(made)] = made, value
        return made

    def note(self, called: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Record the lines that are running, and the arguments of the innermost call.

        ``called`` is the name of the called class or function. The number of records is limited for
        classes.
        """
        if called != EXTERNAL_SOURCE and len(self._places) >= _MOST_PLACES:
            return
        found = list(_places(sys._getframe(2)))
        self._places += found
        if not found or found[0].call is None:
            return
        if ast.unparse(found[0].call.func).rpartition(".")[2] != called:
            return
        plain = takewhile(lambda each: not isinstance(each, ast.Starred), found[0].call.args)
        given = [*zip(plain, args, strict=False)]
        named = {each.arg: each.value for each in found[0].call.keywords}
        given += [(named[name], value) for name, value in kwargs.items() if name in named]
        self._given += [(value, ast.unparse(each), found[0]) for each, value in given]

    def find(self, value: Any) -> Origin | None:
        """Return the statements that created a value, or None if they are unknown."""
        value = self._copies.get(id(value), (None, value))[1]
        for place in reversed(self._places):
            scope = Scope(place.local, place.module)
            if found := _origin(value, place.local, place.body, place.line, scope):
                return found
        for known, text, place in self._given:
            if known is value and not text.isidentifier():
                return Origin("", text, Scope(place.local, place.module))
        for module in {id(each.module): each.module for each in self._places}.values():
            body = _module_body(str(module.get("__file__") or ""))
            if found := _origin(value, module, body, sys.maxsize, Scope({}, module)):
                return found
        return None


class RepeatingWriter(SourceWriter):
    """Repeats the statements of the script for values that have no expression."""

    def __init__(self, constructions: Constructions, origins: ValueOrigins) -> None:
        super().__init__(constructions)
        self._origins = origins
        self._tests = True
        self.changing: list[Any] = []
        """Objects of the code that change when they are used."""

    def written(self, value: Any) -> str:
        """Return an expression for a value, or the variable that repeated statements assign."""
        lengths = [(each, len(each)) for each in (self.imports, self.parts, self.values)]
        problem: GraphEditError | None = None
        text = ""
        if _changes_by_use(value) and not any(value is each for each in self.changing):
            self.changing.append(value)
        try:
            _require_plain(value)
            text = super().written(value)
        except GraphEditError as error:
            problem = error
        is_long = len(text) > _LONG and isinstance(value, list | dict | np.ndarray)
        origin = self._origins.find(value) if problem is not None or is_long else None
        if origin is None:
            if problem is not None:
                raise problem
            return text
        written = [(held, dict(held)) for held, _ in lengths]
        for held, length in lengths:
            while len(held) > length:
                held.popitem()
        try:
            return self._repeated(origin, value)
        except GraphEditError:
            if problem is not None:
                raise
        for held, contents in written:
            held.clear()
            held.update(contents)
        return text

    def _repeated(self, origin: Origin, value: Any) -> str:
        if origin.name in self.values and self.values[origin.name] is value:
            return origin.name
        self.bind(origin.text, origin.scope, value, defined=origin.name)
        self._require_equal(origin, value)
        if not origin.name:
            is_call = isinstance(ast.parse(origin.text, mode="eval").body, ast.Call)
            return origin.text if is_call else f"({origin.text})"
        if origin.name in self.values:
            raise GraphEditError(f"{origin.name} has two values. Rename one of them")
        self.values[origin.name] = value
        self.parts[origin.name] = origin.text
        return origin.name

    def _require_equal(self, origin: Origin, value: Any) -> None:
        """Raise GraphEditError if the statements create a value that differs from the script's."""
        if not self._tests:
            return
        alone = RepeatingWriter(self.constructions, self._origins)
        alone._tests = False
        code = alone.function("create", alone._repeated(origin, value))
        equal = _creates_equal(code, "create", value)
        if not (origin.is_simple if equal is None else equal):
            words = "changes after it was created, or differs each time it is created"
            raise GraphEditError(f"{origin.name or origin.text} {words}")


def _changes_by_use(value: Any) -> bool:
    if isinstance(value, np.random.Generator | np.random.RandomState | random.Random):
        return True
    own = not isinstance(value, type | Enum) and not is_installed(type(value))
    return own or hasattr(value, "__next__")


def _require_plain(value: Any) -> None:
    """Raise GraphEditError for placeholders, and for functions that DALI converted."""
    if isinstance(value, StandIn):
        raise GraphEditError(f"{value!r} has no value here; pass it: --arg {value!r}=...")
    if isinstance(value, FunctionType) and _CONVERTED in value.__code__.co_filename:
        raise GraphEditError(
            f"{value.__name__} is created in a pipeline function with enable_conditionals=True; "
            "create it outside, and pass it to the function"
        )


def _creates_equal(code: str, function: str, value: Any) -> bool | None:
    """Return whether a function's code creates an equal value, or None if it cannot be pickled."""
    try:
        wanted = pickle.dumps(value)
    except Exception:
        return None
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(compile(code, "<source>", "exec"), namespace)
        made = namespace[function]()
    except Exception:
        return False
    try:
        return pickle.dumps(made) == wanted
    except Exception:
        return None


def _module_body(file: str) -> list[ast.stmt]:
    """Return the statements of a file, or of the cells of a notebook that were run."""
    parts = [name for name in TREES if file in (name, notebook_of(name))] or [file]
    return [statement for part in parts for statement in _tree(part).body]


def _origin(
    value: Any,
    held: Mapping[str, Any],
    body: Sequence[ast.stmt],
    line: int,
    scope: Scope,
) -> Origin | None:
    """Return the statements before ``line`` that assign or change the variable with ``value``."""
    name = next((name for name, each in held.items() if each is value), "")
    before = [each for each in body if name and (each.end_lineno or line) < line]
    found = [each for each in before if _changes(each, name)]
    inside = [node for statement in found for node in ast.walk(statement)]
    left = ast.Return | ast.Yield | ast.YieldFrom | ast.Await
    if not any(map(_is_assignment, found)) or any(isinstance(node, left) for node in inside):
        return None
    used = {node.id for node in inside if isinstance(node, ast.Name)}
    once = all(sum(_changes(each, other) for each in before) < 2 for other in used)
    simple = once and len(found) == 1 and isinstance(found[0], ast.Assign | ast.AnnAssign)
    return Origin(name, "".join(f"{ast.unparse(each)}\n" for each in found), scope, simple)


def _places(frame: FrameType | None) -> Iterator[_Place]:
    """Yield the lines of the script in a stack, innermost first."""
    while frame is not None:
        code, tree = frame.f_code, _tree(frame.f_code.co_filename)
        whole = code.co_name == "<module>"
        if not is_installed_file(code.co_filename) and not code.co_filename.startswith(_WORKBENCH):
            for node in [tree] if whole else _functions(tree, code):
                call = _running_call(node, code, frame.f_lasti)
                local = {} if whole else dict(frame.f_locals)
                yield _Place(frame.f_lineno, node.body, local, frame.f_globals, call)
        frame = frame.f_back


def _functions(tree: ast.AST, code: CodeType) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
            continue
        lines = [node.lineno, *(each.lineno for each in node.decorator_list)]
        if min(lines) == code.co_firstlineno:
            yield node


def _running_call(tree: ast.AST, code: CodeType, instruction: int) -> ast.Call | None:
    """Return the call that an instruction runs."""
    at = next(islice(code.co_positions(), instruction // 2, None), None)
    for node in ast.walk(tree) if at is not None else ():
        if isinstance(node, ast.Call):
            place = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
            if place == at:
                return node
    return None


@lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _is_assignment(statement: ast.stmt) -> bool:
    return not isinstance(statement, ast.Expr | ast.FunctionDef | ast.ClassDef | ast.Import)


def _changes(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement assigns a variable or a part of it, or passes it to a call."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return False
    called = isinstance(statement, ast.Expr) and not _only_reports(statement.value)
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=found, ctx=ast.Store() | ast.Del()) if found == name:
                return True
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node)):
                    return True
            case ast.Name(id=found) if found == name and called:
                return True
    return False


def _only_reports(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)):
            return called in _REPORTING
    return isinstance(value, ast.Constant)
