"""Extract the source code of a function for a node, and check what it uses."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import inspect
import symtable
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import Any

from workbench.errors import GraphEditError
from workbench.graph.model import is_name

_DECORATING = "workbench.graph.builder.function_node"
"""Name of the module that defines the decorator ``node``."""
_DECORATORS = ("node", "numba_node", "source")


def function_source(function: Callable[..., Any], imports_inside: bool = True) -> str:
    """Return a function's source code without decorators, with the needed imports in its body.

    With ``imports_inside=False`` the imports precede the function, as numba requires.

    Raises GraphEditError, with the reason, its line and a fix, if the function is unsupported.
    """
    if not isinstance(function, FunctionType):
        raise GraphEditError(_not_a_function_text(function))
    if function.__name__ == "<lambda>":
        raise GraphEditError(
            f"{function_location(function)} is a lambda. Define a function with def."
        )
    try:
        text = dedent(inspect.getsource(function))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError) as error:
        raise GraphEditError(
            f"The source of {function_location(function)} is not available ({error}). Write the "
            "function in a cell or in a file."
        ) from None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        kind = (
            "an async function"
            if isinstance(definition, ast.AsyncFunctionDef)
            else "not a function"
        )
        raise GraphEditError(
            f"{function_location(function)} is {kind}. Define a plain function with def."
        )
    for decorator in definition.decorator_list:
        if not _is_own(decorator, inspect.unwrap(function).__globals__):
            raise GraphEditError(
                f"{function_location(function)} has the decorator {ast.unparse(decorator)!r}, "
                "which cannot be stored. Remove it, and move its code into the function."
            )
    if (problem := definition_problem(definition)) is not None:
        raise GraphEditError(f"{function_location(function)} {problem}")
    if function.__code__.co_freevars:
        name = function.__code__.co_freevars[0]
        raise GraphEditError(
            _outside(function, definition, name, "which is a variable of an enclosing function")
        )
    imports = [line for line in _imports(function, definition) if line]
    return _with_imports(text, definition, imports, imports_inside)


def _with_imports(text: str, definition: ast.FunctionDef, imports: list[str], inside: bool) -> str:
    if inside or not imports:
        return written_function(text, definition, imports)
    return "\n".join([*imports, "", "", ""]) + written_function(text, definition, [])


def definition_problem(definition: ast.FunctionDef, may_yield: bool = False) -> str | None:
    """Return why a function cannot be used as a node, or None if it can.

    Only the function of a Python source ``may_yield``.
    """
    if not may_yield and any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(definition)
    ):
        return "is a generator. Return the values instead of yielding them."
    args = definition.args
    if args.kwarg is None and any(default is None for default in args.kw_defaults):
        return "has a keyword-only argument. Set a default for it."
    return None


def _own_nodes(definition: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the syntax nodes of a function's body, excluding those of nested functions."""
    waiting: list[ast.AST] = list(definition.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def _not_a_function_text(value: Any) -> str:
    kind, name = type(value).__name__, getattr(value, "__name__", "")
    words = f"{name!r} has type {kind!r}" if name else f"The object has type {kind!r}"
    remedy = "Define a function with def."
    if inspect.ismethod(value):
        remedy = "Define a function with def whose only inputs are arrays."
    elif hasattr(value, "py_func"):  # of numba, which the workbench compiles itself
        remedy = "Pass the function without the decorator."
    elif kind == "partial":
        remedy = "Define a function with def, and pass fixed values as defaults of its arguments."
    return f"{words}, which cannot be stored. {remedy}"


def _is_own(decorator: ast.expr, known: Mapping[str, Any]) -> bool:
    """Return whether a decorator is ``workbench.node``, possibly under an alias."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    parts = ast.unparse(called).split(".")
    value = known.get(parts[0])
    for part in parts[1:]:
        value = getattr(value, part, None)
    if value is None:
        return parts[-1] in _DECORATORS
    return getattr(value, "__module__", "") == _DECORATING


def _imports(function: FunctionType, definition: ast.FunctionDef) -> Iterator[str]:
    for name in dict.fromkeys(_globals_of(function)):
        if name == definition.name:  # recursion
            continue
        if name not in function.__globals__:
            if not hasattr(builtins, name):
                raise GraphEditError(_outside(function, definition, name, "which is not defined"))
            continue
        yield _import_of(function, definition, name, function.__globals__[name])
    for each in _outside_in_defaults(definition):
        raise GraphEditError(
            f"{function_location(function, each.lineno)}: a default of {function.__name__!r} uses "
            f"{each.id!r}, which cannot be stored. Write its value."
        )


def _outside_in_defaults(definition: ast.FunctionDef) -> Iterator[ast.Name]:
    """Yield the external names in default values, which Python evaluates at the definition."""
    for default in (*definition.args.defaults, *definition.args.kw_defaults):
        for each in ast.walk(default) if default is not None else ():
            if isinstance(each, ast.Name) and not hasattr(builtins, each.id):
                yield each


def _import_of(function: FunctionType, definition: ast.FunctionDef, name: str, value: Any) -> str:
    if isinstance(value, ModuleType):
        if value.__name__ == name:
            return f"import {name}"
        package, dot, last = value.__name__.rpartition(".")
        if dot and last == name:
            return f"from {package} import {name}"
        return f"import {value.__name__} as {name}"
    module, known = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    local = module in (None, "__main__", "builtins", function.__module__)
    if local or not isinstance(known, str) or not known.isidentifier():
        raise GraphEditError(_outside(function, definition, name, "which is not imported"))
    return f"from {module} import {known}" + (f" as {name}" if known != name else "")


def _globals_of(function: FunctionType) -> Iterator[str]:
    return global_names(dedent(inspect.getsource(function)))


def global_names(text: str) -> Iterator[str]:
    """Yield the global names that a function and its nested functions use."""
    waiting = list(symtable.symtable(text, "<function>", "exec").get_children())
    while waiting:
        table = waiting.pop(0)
        if table.get_type() not in ("annotation", "type parameters"):
            for symbol in table.get_symbols():
                if symbol.is_global() and symbol.is_referenced():
                    yield symbol.get_name()
        waiting += table.get_children()


def decorates_node(decorator: ast.expr) -> bool:
    """Return whether a decorator has the name of one of the workbench's decorators."""
    return _is_own(decorator, {})


def _outside(function: FunctionType, definition: ast.FunctionDef, name: str, what: str) -> str:
    line = next(
        (e.lineno for e in ast.walk(definition) if isinstance(e, ast.Name) and e.id == name), 1
    )
    return (
        f"{function_location(function, line)}: {function.__name__!r} uses {name!r}, {what}. Import "
        f"or define {name!r} inside the function, or make it a parameter with a default ({name}=3)."
    )


def function_location(function: Callable[..., Any], line: int = 1) -> str:
    """Return the file, line and name of a function as text for a message."""
    code = getattr(function, "__code__", None)
    if code is None:
        return repr(function)
    return f"{code.co_filename}:{code.co_firstlineno + line - 1} ({function.__name__})"


def definition_source(source: str, name: str, imports_inside: bool = True) -> str | GraphEditError:
    """Return the source code of a function in a script as ``function_source`` does, or an error.

    The script is not imported, and errors are returned instead of raised.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return GraphEditError(f"it cannot be read as Python: {error}")
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    found = [each for each in tree.body if isinstance(each, kinds) and each.name == name]
    if len(found) != 1:
        times = f"no function {name!r}" if not found else f"{name!r} {len(found)} times"
        return GraphEditError(f"the script defines {times} at its top level")
    if not isinstance(found[0], ast.FunctionDef):
        kind = "a class" if isinstance(found[0], ast.ClassDef) else "an async function"
        return GraphEditError(f"{name!r} is {kind}, not a plain function. Define one with def")
    foreign = [each for each in found[0].decorator_list if not _is_own(each, {})]
    if foreign:
        return GraphEditError(
            f"{name!r} has the decorator {ast.unparse(foreign[0])!r}. Remove the decorator"
        )
    if (problem := definition_problem(found[0])) is not None:
        return GraphEditError(f"{name!r} {problem}")
    text = ast.get_source_segment(source, found[0]) or ""
    definition = ast.parse(text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    known: dict[str, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import) or (
            isinstance(statement, ast.ImportFrom) and not statement.level
        ):
            for alias in statement.names:
                bound = alias.asname or alias.name.partition(".")[0]
                known[bound] = ast.unparse(_only(statement, alias))
    outside = [each for each in dict.fromkeys(global_names(text)) if not hasattr(builtins, each)]
    of_default = next(_outside_in_defaults(definition), None)
    lacking = next((each for each in outside if each not in known and each != name), None)
    if lacking is not None or of_default is not None:
        what = lacking or (of_default.id if of_default else "")
        return GraphEditError(
            f"{name!r} uses {what!r}, which the script does not import. Define it inside the "
            "function, or make it a parameter with a default"
        )
    imports = [known[each] for each in outside if each in known]
    return _with_imports(text, definition, imports, imports_inside)


def _only(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(statement, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(statement.module, [alias], statement.level)


def written_function(text: str, definition: ast.FunctionDef, imports: Sequence[str]) -> str:
    """Return the source code of a definition without decorators, with imports first in its body.

    Annotations are removed if any of them uses more than Python's built-ins, because Python
    evaluates annotations when the function is defined, before its imports run.
    """
    lines = text.encode().splitlines()
    row, column = _end_of_signature(text, definition)
    first = definition.body[0]
    if _annotations_are_known(definition):
        head = [*lines[definition.lineno - 1 : row - 1], lines[row - 1][:column]]
    else:
        head = [_signature(definition).encode()]
    if first.lineno == row:  # def f(x): return ... on one line
        inside = "; ".join([*imports, ""]).encode() if imports else b""
        rest = [lines[row - 1][first.col_offset :], *lines[row:]]
        body = [b" ".join([b"", *([inside.strip()] if inside else []), rest[0]]), *rest[1:]]
        made = [*head[:-1], head[-1] + body[0], *body[1:]]
    else:
        documented = ast.get_docstring(definition) is not None
        place = (first.end_lineno or row) if documented else row
        indent = b" " * first.col_offset
        inside_lines = [*(indent + line.encode() for line in imports), b""] if imports else []
        rest = lines[place:] if not imports else _without_blanks(lines[place:])
        head[-1] += lines[row - 1][column:]
        made = [*head, *lines[row:place], *inside_lines, *rest]
    return b"\n".join(made).decode().rstrip() + "\n"


def _without_blanks(lines: list[bytes]) -> list[bytes]:
    start = next((at for at, line in enumerate(lines) if line.strip()), 0)
    return lines[start:]


def _end_of_signature(text: str, definition: ast.FunctionDef) -> tuple[int, int]:
    """Return the line and byte offset after the colon that ends a function's signature."""
    depth = 0
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type != tokenize.OP or token.start[0] < definition.lineno:
            continue
        depth += (token.string in "([{") - (token.string in ")]}")
        if token.string == ":" and depth == 0:
            return token.end[0], len(token.line[: token.end[1]].encode())
    return definition.lineno, 0


def _annotations_are_known(definition: ast.FunctionDef) -> bool:
    args = definition.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    notes = [each.annotation for each in every if each is not None]
    return all(
        is_known_annotation(note) for note in (*notes, definition.returns) if note is not None
    )


def is_known_annotation(annotation: ast.expr) -> bool:
    """Return whether an annotation uses only built-ins, and no strings that may contain names."""
    return all(
        hasattr(builtins, each.id)
        if isinstance(each, ast.Name)
        else not (isinstance(each, ast.Constant) and isinstance(each.value, str))
        for each in ast.walk(annotation)
    )


def _signature(definition: ast.FunctionDef) -> str:
    bare = deepcopy(definition)
    bare.decorator_list, bare.body, bare.returns = [], [ast.Pass()], None
    for each in ast.walk(bare.args):
        if isinstance(each, ast.arg):
            each.annotation = None
    return ast.unparse(bare).removesuffix("\n    pass")


FORM = "Write file.py:function or package.module:function."
_LARGEST = 1_000_000


def source_at(place: str) -> tuple[str, str]:
    """Return the name and source code of the function at ``file.py:function``.

    Imports are moved into the function. The file is read but not run; for
    ``package.module:function`` Python imports the package. Raises GraphEditError if there is no
    such function or it is unsupported.
    """
    where, colon, name = place.rpartition(":")
    if not colon or not where or not is_name(name):
        raise GraphEditError(f"{place!r} does not name a function. {FORM}")
    found = definition_source(_text(_file(where, place)), name)
    if isinstance(found, GraphEditError):
        raise GraphEditError(f"{place}: {str(found).rstrip('.')}.")
    return name, found


def _file(where: str, place: str) -> Path:
    if where.endswith(".py"):
        return Path(where).expanduser()
    if not all(is_name(part) for part in where.split(".")):
        raise GraphEditError(f"{place}: {where!r} is neither a Python file nor a module. {FORM}")
    try:
        spec = importlib.util.find_spec(where)
    except ModuleNotFoundError as error:
        raise GraphEditError(
            f"{place}: there is no module {error.name!r}. Install the module, or use "
            "file.py:function."
        ) from None
    except (ImportError, ValueError) as error:
        raise GraphEditError(f"The module {where!r} cannot be imported: {error}.") from None
    if spec is None:
        raise GraphEditError(f"There is no module {where!r}. Use file.py:function.")
    if spec.origin is None or not spec.origin.endswith(".py"):
        fix = (
            "Call the function from one written in Python, and name that function as "
            "file.py:function."
        )
        raise GraphEditError(f"{place}: the module {where!r} is not written in Python. {fix}")
    return Path(spec.origin)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
    except OSError as error:
        raise GraphEditError(f"{file} cannot be read: {error.strerror}.") from None
    if len(data) > _LARGEST:
        raise GraphEditError(f"{file} is larger than {_LARGEST:,} bytes. Split the file.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise GraphEditError(f"{file} is not UTF-8 text. Save it as UTF-8.") from None


# Functions that are not deterministic

_MODULES = ("numpy.random", "random", "secrets", "cupy.random")
_SINGLE = (
    *("os.urandom", "uuid.uuid1", "uuid.uuid4"),
    *("torch.rand", "torch.randn", "torch.randint", "torch.randperm", "torch.normal"),
    *("torch.bernoulli", "torch.multinomial", "torch.poisson", "torch.rand_like"),
    *("torch.randn_like", "torch.randint_like"),
)
_CLOCK = ("time.time", "time.time_ns", "time.perf_counter", "time.monotonic", "datetime.now")
_GENERATORS = ("default_rng", "RandomState", "Random", "Generator", "SeedSequence", "PCG64")
"""Random generators that are deterministic if seeded."""
_READING = {"get", "items", "keys", "values", "copy", "index", "count"}
SOURCE_REMEDY = "Use a generator with a seed, such as np.random.default_rng([seed, epoch])."
REMEDY = "Let DALI sample: accept the number, or a seed, as an argument fed by random.uniform."


@dataclass(frozen=True, slots=True)
class Undetermined:
    """A call or default value that makes a function's results differ between calls."""

    name: str
    line: int
    text: str
    """The line of source code, as text."""

    def warning(self, remedy: str = REMEDY) -> str:
        """Return the warning that the preview differs from the exported script, with a fix."""
        return (
            f"The preview differs from the script: {self.name} (line {self.line}: "
            f"{self.text}) changes with each call. {remedy}"
        )


def undetermined(source: str) -> Undetermined | None:
    """Return the first call or default value that makes results differ between calls, or None.

    Detection is by name; functions of other modules are not analysed.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [*_random_calls(tree), *_mutated_defaults(tree)]
    if not found:
        return None
    line, name = min(found)
    return Undetermined(name, line, source.splitlines()[line - 1].strip())


def _random_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    names = dict(_imported(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = _full_name(node.func, names)
        last = called.rpartition(".")[2]
        if last in _GENERATORS and (node.args or node.keywords):
            continue
        if called in _SINGLE or any(called.startswith(f"{module}.") for module in _MODULES):
            yield node.lineno, called
        if any(called == clock or called.endswith(f".{clock}") for clock in _CLOCK):
            yield node.lineno, called


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    yield alias.asname, alias.name
                else:
                    yield alias.name.partition(".")[0], alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _full_name(node: ast.expr, names: dict[str, str]) -> str:
    """Return the full name of an imported name: ``numpy.random.rand`` for ``np.random.rand``.

    Returns an empty string if it is not imported.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *parts])


def _mutated_defaults(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each mutable default value that a function changes."""
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        args = function.args
        plain = [*args.posonlyargs, *args.args]
        pairs = [*zip(reversed(plain), reversed(args.defaults), strict=False)]
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d]
        names = {a.arg for a, d in pairs if isinstance(d, ast.List | ast.Dict | ast.Set | ast.Call)}
        for node in ast.walk(function):
            match node:
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()) if name in names:
                    yield node.lineno, f"its default {name}, which it changes"
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if (
                    name in names and attr not in _READING
                ):
                    yield node.lineno, f"its default {name}, which it changes"
