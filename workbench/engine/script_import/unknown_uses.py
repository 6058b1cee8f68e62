"""Find where a script converts a stand-in to a plain value that the pipeline depends on.

A stand-in that is passed to an operator is found in the operator's arguments. However, a truth
value, a comparison or a text computed from a stand-in is an ordinary value, so the line is
recorded. The result of a top-level statement affects the pipeline if the code that creates the
pipeline uses the statement's names, directly or through other names.
"""

from __future__ import annotations

import ast
import dis
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from types import CodeType, FrameType
from typing import Literal, NamedTuple

from workbench.emit.pipeline_import.trace.traced import Loss, Traced, TracedOp
from workbench.engine.script_import import placeholders
from workbench.engine.script_import.failing_statements import changed_names
from workbench.engine.script_import.project_modules import TREES
from workbench.engine.script_import.script_sandbox import source_location
from workbench.engine.script_import.statement_runner import SkippedStatement

Kind = Literal["truth", "text", "type", "missing"]
_PRINTING = re.compile(r"print|log|debug|info|warn|warning|error|critical|exception|write")
_DALI, _ENGINE = "/nvidia/dali/", "/workbench/engine/"


class Use(NamedTuple):
    """Conversion of a stand-in to an ordinary value."""

    name: str
    kind: Kind
    place: str
    """Line of the conversion as shown in messages, or "" outside the script's files."""
    stack: tuple[tuple[str, int], ...] = ()
    """Lines of the script's frames, top level last, or () while the pipeline is created."""


class UnknownUses:
    """Recorded conversions of stand-ins to ordinary values in one import."""

    def __init__(self) -> None:
        self._uses: dict[Use, None] = {}

    def names(self) -> set[str]:
        """Return the names of all stand-ins with a recorded use."""
        return {use.name for use in self._uses}

    def note(self, name: str, kind: Kind) -> None:
        """Record a use. This is called by the methods of a stand-in."""
        frames = list(_frames(sys._getframe(2)))
        files = [frame.f_code.co_filename for frame in frames]
        at = next((n for n, file in enumerate(files) if file in TREES), None)
        between = files[:at]
        if at is None or (kind == "type" and between):  # libraries check types all the time
            return
        if kind != "text" and any(_DALI in file for file in between):
            raise placeholders.StandInError(name)
        if any(_ENGINE in file for file in between):
            return
        inner = frames[at]
        if kind == "text" and _only_printed(files[at], inner.f_lineno):
            return
        stack: list[tuple[str, int]] = []
        for frame in filter(_is_script, frames[at:]):
            stack.append(_line_of(frame))
            if frame.f_code.co_name == "<module>":
                break
        else:
            stack.clear()
        self._uses[Use(name, kind, source_location(*_line_of(inner)), tuple(stack))] = None

    def texts(self) -> list[str]:
        """Return the names of the stand-ins that were converted to strings."""
        return list(dict.fromkeys(use.name for use in self._uses if use.kind == "text"))

    def reported(
        self, traced: Traced, skipped: Sequence[SkippedStatement]
    ) -> tuple[Traced, tuple[Loss, ...]]:
        """Mark unknown strings in the trace's operators. Returns the trace and all other losses."""
        ops = traced.pipeline.ops
        found = {op.name: _placeholders_in_op(op, self.texts()) for op in ops}
        in_arguments = {name for names in found.values() for name in names}
        lines = {(place.file, place.line) for op in ops for place in op.places}
        unknown = tuple(_with_unknown_text(op, found[op.name]) for op in ops)
        changed = replace(traced, pipeline=replace(traced.pipeline, ops=unknown))
        return changed, self.losses(lines, skipped, in_arguments)

    def losses(
        self,
        lines: Iterable[tuple[str, int]],
        skipped: Sequence[SkippedStatement],
        in_arguments: Collection[str] = (),
        is_changed_later: bool = False,
    ) -> tuple[Loss, ...]:
        """Return the losses from recorded uses that affect the result of these lines.

        ``skipped`` are top-level statements that were not run. Strings made from the names
        ``in_arguments`` are reported elsewhere. ``is_changed_later`` is True if later statements
        may change the result of these lines, such as a list of transforms.
        """
        reached = _Reached(lines, is_changed_later)
        losses: dict[Loss, None] = {}
        by_place: dict[str, dict[str, None]] = {}
        for use in self._uses:
            if use.stack and not reached.by(use.stack):
                continue
            if use.kind == "missing":
                why = f"{use.name} is not installed here, and the script continues without it"
                losses[Loss(why, use.place)] = None
            elif use.kind == "truth":
                by_place.setdefault(use.place, {})[use.name] = None
            elif use.kind == "type":
                why = f"{use.name} is unknown, and the script checks its type"
                losses[Loss(why, use.place)] = None
            elif use.name not in in_arguments:
                why = f"{use.name} is unknown, and the script converts it to a string"
                losses[Loss(why, use.place)] = None
        for place, names in by_place.items():
            losses[Loss(f"{', '.join(names)} is unknown and treated as false", place)] = None
        for each in skipped:
            if used := reached.names(each.stale):
                why = f"{each.error}: it may change {', '.join(used)}, which is used here"
                losses[Loss(why, each.place)] = None
        return tuple(losses)


class _Reached:
    """Top-level statements that create the pipeline, and the names that the statements use."""

    def __init__(self, lines: Iterable[tuple[str, int]], is_changed_later: bool) -> None:
        modules = _project_modules()
        self._names = {
            id(statement): _loaded_and_stored(statement, modules)
            for tree in TREES.values()
            for statement in tree.body
        }
        making = {id(_top_level(file, line)) for file, line in lines if file in TREES}
        self._making = making & self._names.keys()
        self._used: set[str] = set()
        parts = (0, 1) if is_changed_later else (0,)
        waiting = [name for each in self._making for n in parts for name in self._names[each][n]]
        while waiting:
            name = waiting.pop()
            if name not in self._used:
                self._used.add(name)
                waiting += [
                    other
                    for loaded, stored in self._names.values()
                    if name in stored
                    for other in loaded
                ]

    def by(self, stack: Sequence[tuple[str, int]]) -> bool:
        """Return True if these lines create the pipeline, or if the pipeline uses their result."""
        statements = [id(each) for line in stack if (each := _top_level(*line)) is not None]
        if not self._making.isdisjoint(statements):
            return True
        return bool(statements and self.names(self._names[statements[-1]][1]))

    def names(self, names: Iterable[str]) -> list[str]:
        """Return the subset of ``names`` that the pipeline uses."""
        return [name for name in names if name in self._used]


def _line_of(frame: FrameType) -> tuple[str, int]:
    return frame.f_code.co_filename, frame.f_lineno


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and its callers, without the methods of stand-ins."""
    while frame is not None:
        if frame.f_code.co_filename != placeholders.__file__:
            yield frame
        frame = frame.f_back


def _is_script(frame: FrameType) -> bool:
    return frame.f_code.co_filename in TREES


def _top_level(file: str, line: int) -> ast.stmt | None:
    for statement in TREES[file].body:
        decorators = getattr(statement, "decorator_list", ())
        first = min([statement.lineno, *(each.lineno for each in decorators)])
        if first <= line <= (statement.end_lineno or first):
            return statement
    return None


def _only_printed(file: str, line: int) -> bool:
    """Return True if the statement at this line only prints, logs or raises."""
    match _innermost_statement(TREES[file], line):
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return _PRINTING.fullmatch(name) is not None
        case ast.Raise() | ast.Assert():
            return True
    return False


def _innermost_statement(tree: ast.Module, line: int) -> ast.stmt | None:
    containing = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and not isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(containing, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def _nested_codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _nested_codes(each)


def _loaded_and_stored(statement: ast.stmt, modules: Collection[str]) -> tuple[set[str], set[str]]:
    """Return the global names that a top-level statement uses, and the names that it changes."""
    code = compile(ast.Module([statement], []), "", "exec", dont_inherit=True)
    loaded: set[str] = set()
    stored = changed_names(statement)
    for each in (code, *_nested_codes(code)):
        for one in dis.get_instructions(each):
            if one.opname in ("LOAD_NAME", "LOAD_GLOBAL", "IMPORT_FROM"):
                loaded.add(str(one.argval))
            elif one.opname == "STORE_GLOBAL" or (each is code and one.opname == "STORE_NAME"):
                stored.add(str(one.argval))
    loaded |= {
        node.attr
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in modules
    }
    return loaded, stored


def _project_modules() -> set[str]:
    """Return the names under which the script's files import modules of its project."""
    stems = {re.sub(r".*/|(/__init__)?\.py$", "", file) for file in TREES}
    return {
        alias.asname or alias.name
        for tree in TREES.values()
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if alias.name.rpartition(".")[2] in stems
    }


def _placeholders_in_op(op: TracedOp, names: Collection[str]) -> list[str]:
    """Return the names of stand-ins that occur in an operator's string arguments."""
    texts = [text for value in op.args.values() for text in _texts(value)]
    return [
        name
        for name in names
        if any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) for text in texts)
    ]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _with_unknown_text(op: TracedOp, names: Sequence[str]) -> TracedOp:
    if not names:
        return op
    text = " and ".join(
        f"{name}={value!r}"
        for name, value in op.args.items()
        if _contains_placeholder(value, names)
    )
    why = f"{text} is computed from {', '.join(names)}, which is unknown"
    if "readers__" in op.schema:
        why += ": pass the data when you run the graph"
    return replace(op, changed="; ".join(filter(None, (op.changed, why))))


def _contains_placeholder(value: object, names: Sequence[str]) -> bool:
    return any(name in text for text in _texts(value) for name in names)
