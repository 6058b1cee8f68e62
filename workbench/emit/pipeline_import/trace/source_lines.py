"""Find a call in the user's code: its location, the assigned variables, and its seed expression."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePath
from textwrap import dedent
from typing import NamedTuple

from workbench.catalog.spec import Value
from workbench.emit.pipeline_import.trace.traced import SourceLocation, TracedOp

_ASSIGNED = re.compile(r"\s*(\w+(?:\s*,\s*\w+)*)\s*=(?!=)")
_MOVES = ("gpu", "cpu")
_DALI = ("/nvidia/dali/", "\\nvidia\\dali\\")
_LIBRARY = "/nvidia/dali/auto_aug/"
"""Path of DALI's augmentation library. Calls inside it are treated as one call of the user."""
_MERGE = "_conditional__Merge"
_PIPELINE_PARAMETERS = ("batch_size", "num_threads", "device_id", "seed", "exec_pipelined")
"""Names of the first positional parameters of ``nvidia.dali.Pipeline``."""
_PIPELINE_MAKERS = frozenset({"pipeline_def", "Pipeline", "__init__"})
_CELL = re.compile(r"(?P<notebook>.+) cell \d+", re.DOTALL)
"""Matches the file name that identifies a notebook cell: ``train.ipynb cell 3``."""
_MOST_LINES = 3
"""Maximum number of lines of code that are listed for a setting."""
Statement = tuple[str, int]
"""A file and the line at which a statement starts."""


class Block(NamedTuple):
    """A statement that becomes one opaque node if a graph cannot represent a call in it."""

    key: Hashable
    """Key shared by all calls of one execution of the statement."""
    text: str
    branch: bool
    """True if the call is in a branch, so that it processes only a part of the batch."""


class Lines:
    """Finds calls in the source code or, for an unknown file, in the lines that DALI recorded."""

    def __init__(self, sources: Mapping[str, str], ops: Sequence[TracedOp]) -> None:
        self._sources = sources
        self._files = {file: _parse(text) for file, text in sources.items()}
        self._places = {op.name: _own_place(op) for op in ops}
        self._stacks = [_own_places(op) for op in ops]
        self._statements = {op.name: self._statement(self._places[op.name]) for op in ops}
        self._conditions = self._find_conditions(ops)
        last: dict[Hashable, str] = {}
        for op in ops:
            place = self._places[op.name]
            if place is not None:  # a function's statement counts once for each call of it
                last[_own_places(op)[:-1], self._start(op.name, place)] = op.name
        self._outermost = frozenset(last.values())
        """Names of the calls that run last in their statement. Only their outputs are assigned."""

    def place(self, op: TracedOp) -> SourceLocation | None:
        """Return the innermost location of user code in a call's stack, or None."""
        return self._places[op.name]

    def stack(self, op: TracedOp) -> tuple[SourceLocation, ...]:
        """Return the frames of a call's stack that are user code, outermost first."""
        return _own_places(op)

    def source(self, op: TracedOp) -> str:
        """Return the code of a call's statement, or only its line if the file is unknown."""
        place, found = self._places[op.name], self._statements[op.name]
        if place is None:
            return ""
        whole = None if found is None else ast.get_source_segment(self._sources[place.file], found)
        simple = not isinstance(found, ast.If | ast.For | ast.While | ast.With)
        return whole if whole and simple else place.text

    def block(self, op: TracedOp) -> Block:
        """Return the outermost ``if`` that encloses a call and splits the batch.

        Returns the call's own statement if there is no such ``if``.
        """
        own = _own_places(op)
        for depth, place in enumerate(own):
            for found in self._conditions.get(place.file, ()):
                if found.lineno <= place.line <= (found.end_lineno or found.lineno):
                    source = self._sources[place.file]
                    text = ast.get_source_segment(source, found, padded=True)
                    branch = place.line > (found.test.end_lineno or found.lineno)
                    return Block(
                        (own[:depth], place.file, found.lineno), dedent(text or ""), branch
                    )
        if not own:
            return Block(op.name, "", branch=False)
        return Block((own[:-1], *self._start(op.name, own[-1])), self.source(op), branch=False)

    def targets(self, op: TracedOp) -> tuple[str, ...]:
        """Return the variables to which a call's outputs are assigned, or () if unknown."""
        place = self._places[op.name]
        if place is None or op.name not in self._outermost:
            return ()
        statement = self._statements[op.name]
        if statement is None:
            found = _ASSIGNED.match(place.text)
            return tuple(name.strip() for name in found[1].split(",")) if found else ()
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return ()
        if isinstance(statement.value, ast.Tuple | ast.List | ast.ListComp | ast.GeneratorExp):
            return ()
        return tuple(_names(statement.targets[0]))

    def statement(self, op: TracedOp) -> Statement | None:
        """Return the file and first line of a call's statement, or None."""
        place = self._places[op.name]
        return None if place is None else self._start(op.name, place)

    def assigned(self, op: TracedOp) -> list[str]:
        """Return the variables that are assigned anywhere in the statement of a call."""
        found = (
            node.id
            for node in ast.walk(self._statements[op.name] or ast.Pass())
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        return list(dict.fromkeys(found))

    def keywords(self, op: TracedOp) -> list[ast.keyword]:
        """Return the keyword arguments of a call as syntax trees, or an empty list if unknown."""
        statement = self._statements[op.name]
        if statement is None:
            return []
        calls = [
            node
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and _called(node.func) == op.display
        ]
        return calls[0].keywords if len(calls) == 1 else []

    def literals(self, op: TracedOp) -> dict[str, Value]:
        """Return the values of a call's arguments that are literals, or constants of its file.

        ``types.UINT8`` is returned as its name.
        """
        place = self._places[op.name]
        statements = self._files.get(place.file, ()) if place is not None else ()
        constants = {
            target.id: node.value
            for node in statements
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        found: dict[str, Value] = {}
        for keyword in self.keywords(op):
            name = keyword.value.id if isinstance(keyword.value, ast.Name) else ""
            if keyword.arg is not None and ast.unparse(keyword.value).startswith("types."):
                found[keyword.arg] = ast.unparse(keyword.value).removeprefix("types.")
            elif keyword.arg is not None:
                with suppress(ValueError):
                    value = ast.literal_eval(constants.get(name, keyword.value))
                    found[keyword.arg] = tuple(value) if isinstance(value, list) else value
        return found

    def script_text(self, op: TracedOp) -> str:
        """Return the text of the script or notebook that contains a call, or "" if unknown."""
        place = self._places[op.name]
        return whole_text(place.file, self._sources) if place is not None else ""

    def seed_term(self, op: TracedOp) -> int | None:
        """Return the number in ``seed=base + 3`` (0 in ``seed=base``), or None for other forms.

        ``- 100_000 * shard_id`` of an exported program is ignored.
        """
        for seed in (each.value for each in self.keywords(op) if each.arg == "seed"):
            match seed:
                case ast.BinOp(first, ast.Sub(), ast.BinOp(_, ast.Mult(), ast.Name("shard_id"))):
                    seed = first
            match seed:
                case ast.Name():
                    return 0
                case ast.BinOp(ast.Name(), ast.Add(), ast.Constant(value=int(number))):
                    return number
        return None

    def setting(self, name: str) -> str:
        """Return the locations that set a pipeline setting, such as ``train.py:3``, or ""."""
        places = [place for stack in self._stacks for place in stack]
        return _setting_lines(name, self._files, places)

    def data_function(self, op: TracedOp) -> tuple[str, str] | None:
        """Return the function and the variable that supply a reader's data, or None.

        For ``**find_files(data)`` they are ``("find_files", "data")``. In exported scripts,
        ``file_root=data`` has the same result.
        """
        ours = "Return the built pipeline" in self.script_text(op)
        for keyword in self.keywords(op):
            match keyword:
                case ast.keyword(arg="file_root" | "file_list", value=ast.Name(id=name)) if ours:
                    return ("find_files" if keyword.arg == "file_root" else "read_list"), name
                case ast.keyword(
                    arg=None,
                    value=ast.Call(func=ast.Name(id=function), args=[ast.Name(id=parameter)]),
                ):
                    return function, parameter
        return None

    def returned(self, ops: Sequence[TracedOp], count: int) -> tuple[str | None, ...]:
        """Return the ``count`` variables that the function with these calls returns.

        If they are unknown, each is None.
        """
        for place in (op.places[0] for op in ops if op.places):
            for node in self._files.get(place.file, ()):
                if (
                    isinstance(node, ast.FunctionDef)
                    and node.name == place.function
                    and node.lineno <= place.line <= (node.end_lineno or node.lineno)
                ):
                    names = _return_names(node)
                    if len(names) == count:
                        return names
        return (None,) * count

    def _statement(self, place: SourceLocation | None) -> ast.stmt | None:
        if place is None:
            return None
        found: ast.stmt | None = None
        for node in self._files.get(place.file, ()):
            if node.lineno <= place.line <= (node.end_lineno or node.lineno) and (
                found is None or node.lineno >= found.lineno
            ):
                found = node
        return found

    def _find_conditions(self, ops: Sequence[TracedOp]) -> dict[str, list[ast.If]]:
        """Map each file to the ``if`` statements at which DALI merges the batch, outer first."""
        found: dict[str, dict[int, ast.If]] = {}
        for op in ops:
            place, statement = self._places[op.name], self._statements[op.name]
            if op.schema == _MERGE and place is not None and isinstance(statement, ast.If):
                found.setdefault(place.file, {})[statement.lineno] = statement
        return {file: [ifs[line] for line in sorted(ifs)] for file, ifs in found.items()}

    def _start(self, name: str, place: SourceLocation) -> Statement:
        statement = self._statements[name]
        return place.file, statement.lineno if statement is not None else place.line


def notebook_of(file: str) -> str:
    """Return the path of the notebook that a cell belongs to, or "" if the file is not a cell."""
    found = _CELL.fullmatch(file)
    return found["notebook"] if found else ""


def whole_text(file: str, sources: Mapping[str, str]) -> str:
    """Return the text of a file or, for a notebook cell, the text of all cells."""
    notebook = notebook_of(file)
    if not notebook:
        return sources.get(file, "")
    cells = [each for each in sources if notebook_of(each) == notebook]
    return "\n".join(sources[cell] for cell in sorted(cells, key=_cell_number))


def _cell_number(file: str) -> int:
    return int(file.rpartition(" ")[2])


@lru_cache(maxsize=16)  # shared by all imports of a pipeline's files
def _parse(text: str) -> tuple[ast.stmt, ...]:
    """Return all statements of a file, outermost first, or () if it is not Python code."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def is_library(op: TracedOp) -> bool:
    """Return True if the call is inside DALI's augmentation library."""
    return any(_LIBRARY in place.file for place in op.places)


def library_function(op: TracedOp) -> str | None:
    """Return the function of DALI's augmentation library that is called, with module, or None."""
    inside = (place for place in op.places if _LIBRARY in place.file)
    return next((f"{PurePath(place.file).stem}.{place.function}" for place in inside), None)


def _own_places(op: TracedOp) -> tuple[SourceLocation, ...]:
    return tuple(p for p in op.places if not any(part in p.file for part in _DALI))


def _own_place(op: TracedOp) -> SourceLocation | None:
    own = _own_places(op)
    return own[-1] if own else None


def _called(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for item in items:
                yield from _names(item)
        case _:
            yield ""


def _return_names(function: ast.FunctionDef) -> tuple[str | None, ...]:
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    value = returns[-1].value if returns else None
    items = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    return tuple(map(_variable, items))


def _variable(value: ast.expr | None) -> str | None:
    match value:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _MOVES:
            return _variable(inner)
    return None


def _setting_lines(
    name: str,
    statements: Mapping[str, Iterable[ast.stmt]],
    places: Collection[SourceLocation],
) -> str:
    """Return the locations that set ``name``, such as ``train.py:3``, or "" if there are none.

    ``statements`` maps files to their statements, and ``places`` are the lines of the pipeline's
    calls. Statements that contain one of these lines have precedence.
    """
    functions = {place.function for place in places} - {"<module>"}
    found: dict[str, bool] = {}
    for file, those in statements.items():
        for statement in those:
            end = statement.end_lineno or statement.lineno
            lines = [place.line for place in places if place.file == file]
            near = any(statement.lineno <= line <= end for line in lines)
            for line in _setting(name, statement, _PIPELINE_MAKERS | functions):
                where = f"{PurePath(file).name}:{line}"
                found[where] = near or found.get(where, False)
    nearest = [place for place, near in found.items() if near] or list(found)
    return ", ".join(nearest[:_MOST_LINES])


def _setting(name: str, statement: ast.stmt, makers: Collection[str]) -> Iterator[int]:
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in makers:
            yield from (each.value.lineno for each in node.keywords if each.arg == name)
        if called not in ("Pipeline", "__init__") or name not in _PIPELINE_PARAMETERS:
            continue
        own = isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Call)
        index = _PIPELINE_PARAMETERS.index(name) + (called == "__init__" and own)  # after ``self``
        if index < len(node.args):
            yield node.args[index].lineno
