"""Write the code of an object that feeds a pipeline: the function or class, and what it uses.

A graph stores text, so the object is written as a function of its own: either the function itself,
or a function that defines what the object uses, and returns the object. Constants are written as
their current values.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import dataclasses
import functools
import inspect
import linecache
import os
import re
import symtable
import sys
import sysconfig
import tokenize
import warnings
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from io import StringIO
from pathlib import PurePath
from pickle import whichmodule  # type: ignore[attr-defined]
from textwrap import indent
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple

import numpy as np

from workbench.errors import GraphEditError
from workbench.graph.user_functions.function_source import (
    decorates_node,
    is_known_annotation,
    written_function,
)
from workbench.names import shortened

_LARGEST = 20_000
"""Maximum length of the code of one value."""
_INSTALLED = tuple({os.path.realpath(sysconfig.get_path(each)) for each in ("stdlib", "purelib")})
_SCRIPTS = ("__main__", "imported_source")
"""Modules of a user's script."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)


class Construction(NamedTuple):
    """Arguments with which an object was created."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}


Constructions = Callable[[Any], Construction | None]
"""Function that returns the arguments with which an object was created, or None if unknown."""


class SourceFunction(NamedTuple):
    """Code of one function, and whether it is called to create the source."""

    name: str
    source: str
    creates: bool


def source_function(
    source: Any,
    name: str,
    *,
    writer: SourceWriter | None = None,
    called: bool = False,
) -> SourceFunction:
    """Return the code of a source. ``name`` is for a function that creates it, if one is needed.

    If ``called``, ``source`` is a class or function that returns the source when called without
    arguments. Raises GraphEditError with the reason, which names the value that cannot be written.
    """
    writer = writer or SourceWriter()
    text = writer.expression(source)
    if [*writer.parts] == [text] and isinstance(source, FunctionType):
        written = ast.parse(writer.parts[text]).body[0]
        if isinstance(written, ast.FunctionDef) and not written.decorator_list:
            code = written_function(writer.parts[text], written, [*writer.imports])
            return SourceFunction(text, code, called)
    return SourceFunction(name, writer.function(name, f"{text}{'()' if called else ''}"), True)


class SourceWriter:
    """Collects the imports and definitions that the code of a source needs, in their order."""

    def __init__(self, constructions: Constructions = lambda value: None) -> None:
        self.constructions = constructions
        self.imports: dict[str, None] = {}
        self.parts: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        """Value of each name in the code."""
        self._pending: list[Any] = []
        """Objects whose arguments are being written."""

    def function(self, name: str, result: str) -> str:
        """Return the code of a function that returns an expression."""
        definitions = (each.rstrip("\n") for each in self.parts.values())
        body = ["\n".join(self.imports), *definitions, f"return {result}"]
        shown = "\n\n".join(filter(None, body))
        return f"def {name}():\n{_indented(shown)}\n"

    def expression(self, value: Any) -> str:
        """Return an expression for a value, and add the definitions that it needs."""
        if any(value is each for each in self._pending):
            raise GraphEditError(f"{_named(value)} contains itself")
        self._pending.append(value)
        try:
            text = self.written(value)
        finally:
            self._pending.pop()
        return text

    def written(self, value: Any) -> str:
        """Return the expression for a value, or raise GraphEditError if it has none."""
        text = self._expression(value)
        if len(text) > _LARGEST:
            raise GraphEditError(
                f"{_named(value)} needs {len(text):,} characters of code. Create it in a function "
                f"that the source calls; the limit is {_LARGEST:,}"
            )
        return text

    def bind(self, text: str, scope: Scope, user: Any, defined: str = "") -> None:
        """Add the values of the names that a text uses, except for the name ``defined``."""
        for used in _used_names(text):
            if used != defined:
                self._bind_used(used, scope, user)

    def _expression(self, value: Any) -> str:
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            return "..." if value is ... else repr(value)
        if type(value) in (list, tuple, set, frozenset):
            return self._collection(value)
        if type(value) is dict:
            items = (f"{self.expression(k)}: {self.expression(v)}" for k, v in value.items())
            return f"{{{', '.join(items)}}}"
        if isinstance(value, PurePath):
            return f"{self._imported('pathlib')}.Path({str(value)!r})"
        if isinstance(value, argparse.Namespace | SimpleNamespace):
            module = "argparse" if isinstance(value, argparse.Namespace) else "types"
            inside = self._arguments(Construction((), vars(value)))
            return f"{self._imported(module)}.{type(value).__name__}({inside})"
        if isinstance(value, np.generic):
            return f"{self._imported('numpy', 'np')}.{value.dtype.name}({value.item()!r})"
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            if value.size > _LARGEST:
                raise GraphEditError(
                    f"an array has {value.size:,} numbers. Create it in a function that the source "
                    f"calls; the limit is {_LARGEST:,}"
                )
            numpy = self._imported("numpy", "np")
            return f"{numpy}.array({value.tolist()!r}, {numpy}.{value.dtype.name})"
        if isinstance(value, Enum) or type(value).__module__ == "nvidia.dali._backend":
            return self._member(value)
        if isinstance(value, np.dtype):
            return f"{self._imported('numpy', 'np')}.dtype({value.str!r})"
        if isinstance(value, ModuleType):
            name = value.__name__.rpartition(".")[2]
            self._bind(name, value)
            return name
        if isinstance(value, type) or inspect.isroutine(value) or hasattr(value, "__wrapped__"):
            return self._definition(value)
        if isinstance(value, functools.partial):
            inside = self._arguments(Construction((value.func, *value.args), value.keywords))
            return f"{self._imported('functools')}.partial({inside})"
        if inspect.isgenerator(value):
            return self._generator(value)
        if type(value).__name__ in ("list_iterator", "tuple_iterator"):
            return f"iter({self.expression(value.__reduce__()[1][0])})"
        return self._object(value)

    def _collection(self, value: Any) -> str:
        inside = ", ".join(self.expression(each) for each in value)
        if isinstance(value, list):
            return f"[{inside}]"
        if isinstance(value, tuple):
            return f"({inside}{',' * (len(value) == 1)})"
        return f"{type(value).__name__}([{inside}])"

    def _member(self, value: Any) -> str:
        kind = type(value)
        if kind.__module__.startswith("nvidia.dali") and hasattr(value, "name"):
            self._bind_import("from nvidia.dali import types", "types", value)
            return f"types.{value.name}"
        if isinstance(value, Enum):
            return f"{self.expression(kind)}.{value.name}"
        raise GraphEditError(f"{_named(value)} cannot be written as code")

    def _generator(self, value: Any) -> str:
        if inspect.getgeneratorstate(value) != inspect.GEN_CREATED:
            raise GraphEditError(f"the generator {value.__name__} has already started")
        known = inspect.getgeneratorlocals(value)
        code: CodeType = value.gi_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = Construction((), {name: known[name] for name in names})
        function = self._define(value.__name__, code, Scope({}, value.gi_frame.f_globals), value)
        return f"{function}({self._arguments(given)})"

    def _object(self, value: Any) -> str:
        """Return a call that recreates an object with its original arguments."""
        kind = type(value)
        if isinstance(value, MethodType):
            return f"{self.expression(value.__self__)}.{value.__name__}"
        if is_installed(kind):
            raise GraphEditError(
                f"{_named(value)} cannot be written as code. Create it in a function or class of "
                "the source"
            )
        found = self.constructions(value)
        if found is None and dataclasses.is_dataclass(value):
            fields = [each for each in dataclasses.fields(value) if each.init]
            found = Construction((), {each.name: getattr(value, each.name) for each in fields})
        if found is None and kind.__init__ is object.__init__:
            if (known := getattr(value, "__dict__", {})) and not hasattr(kind, "__iter__"):
                raise GraphEditError(
                    f"{next(iter(known))!r} of this {kind.__name__} is set after its creation. Set "
                    "it in __init__"
                )
            found = Construction()
        if found is None:
            raise GraphEditError(
                f"the arguments of this {kind.__name__} are unknown. Pass a function that "
                "creates it"
            )
        return f"{self.expression(kind)}({self._arguments(found)})"

    def _arguments(self, given: Construction) -> str:
        named = (f"{name}={self.expression(each)}" for name, each in given.kwargs.items())
        return ", ".join([*map(self.expression, given.args), *named])

    def _definition(self, value: Any) -> str:
        """Import or define a function or class, and return its name in the code."""
        if (module := _module_of(value)) and is_installed(getattr(value, "__func__", value)):
            self._bind_import(f"from {module} import {value.__name__}", value.__name__, value)
            return str(value.__name__)
        if isinstance(value, MethodType):
            return f"{self.expression(value.__self__)}.{value.__name__}"
        inner = inspect.unwrap(value)
        name = str(getattr(inner, "__qualname__", ""))
        if getattr(builtins, getattr(value, "__name__", ""), None) is value:
            return name
        if is_installed(inner):
            if "<locals>" in name or not name:
                raise GraphEditError(f"{_named(value)} is defined inside a library function")
            first, *_ = name.split(".")
            module = getattr(inner, "__module__", "builtins")
            self._bind_import(f"from {module} import {first}", first, inner)
            return name
        code = _code_of(inner)
        if code is None:
            raise GraphEditError(f"the source code of {name!r} is not available")
        return self._define(name.rpartition(".")[2], code, _scope_of(inner), value)

    def _define(self, name: str, code: CodeType, scope: Scope, value: Any) -> str:
        """Add the definition of a function or class, and of what it uses. Return its name."""
        text, node = _definition_at(code, name, isinstance(value, type))
        if isinstance(node, ast.Lambda):
            self.bind(text, scope, value)
            return f"({text})"
        if name in self.values:
            if not _is_same(self.values[name], value):
                raise GraphEditError(f"two definitions named {name!r} are used. Rename one of them")
            return name
        self.values[name] = value
        if code in (getattr(value, "__code__", None), getattr(value, "gi_code", None)):
            text = _without_decorators(text)  # the value is what the decorators were applied to
        self.bind(text, scope, value, defined=name)
        self.parts[name] = _without_globals(text)
        return name

    def _bind_used(self, name: str, scope: Scope, user: Any) -> None:
        try:
            value = scope.value(name)
        except KeyError:
            if not hasattr(builtins, name):
                raise GraphEditError(
                    f"{_named(user)} uses {name!r}, which is not defined"
                ) from None
            return
        try:
            self._bind(name, value)
        except GraphEditError as error:
            words = str(error)
            raise GraphEditError(words if name in words else f"{name}: {words}") from None

    def _bind(self, name: str, value: Any) -> None:
        """Add code that assigns a value to a name."""
        if name in self.values:
            if _is_same(self.values[name], value):
                return
            raise GraphEditError(f"{name!r} has two values. Rename one of them")
        if isinstance(value, ModuleType):
            own = value.__name__
            package, _, last = own.rpartition(".")
            if not own.isidentifier() and last == name:
                line = f"from {package} import {name}"
            else:
                line = f"import {own}" if own == name else f"import {own} as {name}"
            self._bind_import(line, name, value)
            return
        text = self.expression(value)
        if text == name:
            return
        if text.isidentifier() and is_installed(value) and text in self.values:
            module = _module_of(value) or getattr(value, "__module__", "")
            line = f"from {module} import {text} as {name}"
            self.imports.pop(f"from {module} import {text}", None)
            del self.values[text]
            self._bind_import(line, name, value)
            return
        self.values[name] = value
        self.parts[name] = f"{name} = {text}\n"

    def _bind_import(self, line: str, name: str, value: Any) -> None:
        if name in self.values and line not in self.imports:
            raise GraphEditError(f"{name!r} has two values. Rename one of them")
        self.values[name] = value
        self.imports[line] = None

    def _imported(self, module: str, name: str = "") -> str:
        line = f"import {module} as {name}" if name else f"import {module}"
        self._bind_import(line, name or module, __import__(module))
        return name or module


class Scope(NamedTuple):
    """Values of the names that a function or class uses, from its closure and from its module."""

    closure: Mapping[str, Any]
    module: Mapping[str, Any]

    def value(self, name: str) -> Any:
        return self.closure[name] if name in self.closure else self.module[name]


def _scope_of(value: Any) -> Scope:
    closure: dict[str, Any] = {}
    module: Mapping[str, Any] = {}
    for function in _functions_in(value):
        module = function.__globals__
        names = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in names:
            if name != "__class__":
                try:
                    closure[name] = cell.cell_contents
                except ValueError:
                    continue  # not assigned yet
    return Scope(closure, module)


def _functions_in(value: Any) -> Iterator[FunctionType]:
    """Yield a function, or the functions of a class."""
    if isinstance(value, FunctionType):
        yield value
    for each in vars(value).values() if isinstance(value, type) else ():
        inner = getattr(each, "fget", None) or getattr(each, "__func__", each)
        inner = inspect.unwrap(inner) if callable(inner) else inner
        if isinstance(inner, FunctionType) and inner.__qualname__.startswith(value.__qualname__):
            yield inner


CLASS_CODE = "__workbench_code__"
"""Attribute that stores the code object of a class body, for classes of an imported script."""


def _code_of(value: Any) -> CodeType | None:
    own = vars(value).get(CLASS_CODE) if isinstance(value, type) else None
    if isinstance(own, CodeType):
        return own
    codes = (each.__code__ for each in _functions_in(value))
    return next((each for each in codes if not each.co_filename.startswith("<string>")), None)


def is_installed(value: Any) -> bool:
    """Return whether a function or class belongs to Python or to an installed package."""
    code = _code_of(value)
    if code is None:
        return not isinstance(value, type) or value.__module__ not in _SCRIPTS
    return is_installed_file(code.co_filename)


def is_installed_file(file: str) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    return file.startswith("<frozen ") or os.path.realpath(file).startswith(_INSTALLED)


def _module_of(value: Any) -> str:
    """Return the module in which a method or built-in function, such as shuffle, is a global name.

    Returns an empty string for other values, or if no loaded module has the name.
    """
    if not isinstance(value, MethodType | BuiltinFunctionType):
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # modules with deprecated attributes are searched too
        module = whichmodule(value, value.__name__)
    known = getattr(sys.modules.get(module), value.__name__, None) == value
    return module if known and module != "__main__" else ""


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, MethodType) and one == other:
        return True
    if one is other or inspect.isgenerator(other):
        return True
    return type(one) is type(other) and isinstance(one, _PLAIN) and one == other


def _named(value: Any) -> str:
    name = getattr(value, "__name__", "")
    return str(name) if name else shortened(f"a value of type {type(value).__name__}", 80)


def _definition_at(code: CodeType, name: str, is_class: bool) -> tuple[str, ast.AST]:
    """Return the text of the definition that contains ``code``, without indentation."""
    lines = linecache.getlines(code.co_filename)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        lines = []
    if not lines:
        raise GraphEditError(f"the source code of {name!r} is not available")
    line = code.co_firstlineno
    known: list[ast.AST] = []
    for each in ast.walk(tree):
        if is_class and isinstance(each, ast.ClassDef) and each.name == name:
            known += [each] if _first_line(each) <= line <= (each.end_lineno or 0) else []
        elif not is_class and isinstance(each, ast.FunctionDef | ast.Lambda):
            same = getattr(each, "name", "<lambda>") == code.co_name
            known += [each] if same and _first_line(each) == line else []
    if len(known) != 1:
        where = f"{PurePath(code.co_filename).name}:{line}"
        raise GraphEditError(f"{len(known)} definitions of {name!r} are at {where}; expected one")
    node = known[0]
    if isinstance(node, ast.Lambda):
        return ast.unparse(node), node
    return _text_of(lines, node), node


def _used_names(text: str) -> Iterator[str]:
    """Yield the external names that a definition uses or assigns, including its decorators."""
    whole = symtable.symtable(text, "<source>", "exec")
    tables, found = [whole], dict[str, None]()
    while tables:
        table = tables.pop(0)
        outer = table is whole
        for symbol in table.get_symbols():
            used = symbol.is_referenced() and not symbol.is_assigned()
            if used if outer else symbol.is_global():
                found[symbol.get_name()] = None
        tables += table.get_children()
    yield from found


def _first_line(node: Any) -> int:
    first: int = min(each.lineno for each in (*getattr(node, "decorator_list", []), node))
    return first


def _text_of(lines: list[str], node: Any) -> str:
    """Return the text of a definition without its indentation and the workbench's decorators."""
    skipped = {
        line
        for each in node.decorator_list
        if decorates_node(each)
        for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)
    }
    inside = _lines_in_strings("".join(lines))
    first = _first_line(node)
    return _without_annotations(
        "".join(
            line if number in inside else line[node.col_offset :] or "\n"
            for number, line in enumerate(lines[first - 1 : node.end_lineno], first)
            if number not in skipped
        )
    )


def _without_decorators(text: str) -> str:
    line = getattr(ast.parse(text).body[0], "lineno", 1)
    return "".join(text.splitlines(keepends=True)[line - 1 :])


def _without_annotations(text: str) -> str:
    """Remove function annotations that use more than built-in names, because they need imports."""
    data = text.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    spans: list[tuple[int, int]] = []
    for node in ast.walk(ast.parse(text)):
        given = node.annotation if isinstance(node, ast.arg) else getattr(node, "returns", None)
        if given is None or is_known_annotation(given):
            continue
        end = starts[(given.end_lineno or 1) - 1] + (given.end_col_offset or 0)
        start = starts[given.lineno - 1] + given.col_offset
        mark = b":" if isinstance(node, ast.arg) else b"->"
        spans.append((len(data[: data.rindex(mark, 0, start)].rstrip()), end))
    for start, end in sorted(spans, reverse=True):
        data = data[:start] + data[end:]
    return data.decode()


def _lines_in_strings(text: str) -> set[int]:
    """Return the lines (from 1) that begin inside a string."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type in (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)):
            found |= set(range(token.start[0] + 1, token.end[0] + 1))
    return found


def _indented(text: str) -> str:
    inside = _lines_in_strings(text)
    return "\n".join(
        line if number in inside else indent(line, "    ")
        for number, line in enumerate(text.split("\n"), 1)
    )


def _without_globals(text: str) -> str:
    """Replace ``global`` with ``nonlocal``, because the definition becomes part of a function."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Global):
            line = lines[node.lineno - 1].encode()
            start = node.col_offset
            changed = line[:start] + line[start:].replace(b"global", b"nonlocal", 1)
            lines[node.lineno - 1] = changed.decode()
    return "".join(lines)


def factory_name(source: Any) -> str:
    """Return a name such as ``make_batch_reader`` for a ``BatchReader``, or for its method."""
    source = getattr(source, "__self__", None) or getattr(source, "func", None) or source
    name = getattr(source, "__name__", type(source).__name__)
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).strip("_<>").lower()
    return f"make_{words}" if words.isidentifier() and words != "lambda" else "make_source"
