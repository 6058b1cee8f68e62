"""Lines of a script that fail while its pipeline is made, passed over where the rest goes on.

The function in which such a line stands gets other code, with what the line would have bound stood
in for, and the pipeline is made again. A line in which DALI itself fails, and one that raises
what is wrong with an argument, is not passed over: the pipeline is refused with its words.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from traceback import walk_tb
from types import CodeType, FrameType, FunctionType

from workbench.engine.assumed_values.stand_ins import StandIns
from workbench.engine.script_import.failing_statements import STAND_IN, with_noted_tests
from workbench.engine.script_import.script_lines import future_flags
from workbench.engine.script_import.script_sandbox import one_printable_line, source_location

MOST = 24
"""Lines of one pipeline that are passed over."""
_DALI = ("/nvidia/dali/", "__autograph_generated_file")
_SAYS_WHY = (ast.Raise, ast.Assert)


class PassedLines:
    """Which lines were passed over so far."""

    def __init__(
        self, trees: Mapping[str, ast.Module], stand_ins: StandIns, unread: str = ""
    ) -> None:
        """``trees`` are the script's files, as Python reads them.

        ``unread`` is said of names, which may be given in what was not read of it.
        """
        self._unread = unread
        self._trees = trees
        self.stand_ins = stand_ins
        self._lines: dict[str, list[ast.stmt]] = {}
        self.told: list[str] = []
        """For the reader of the report: each line, and how it failed."""

    def pass_over(self, error: BaseException) -> bool:
        """Pass over the line that raised it from now on; False where that cannot be."""
        frames = self._frames(error)
        if not frames or len(self.told) == MOST:
            return False
        inner, line = frames[-1]
        file = inner.f_code.co_filename
        if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
            inner.f_globals[str(error.name)] = self.stand_ins.value(str(error.name))
            where = source_location(file, line)
            self.told.append(f"{where}: {error.name} is not defined.{self._unread}")
            return True
        failed = innermost_statement(self._trees[file], line)
        passed = self._lines.setdefault(file, [])
        of_data = isinstance(error, OSError) or self.told  # what is stood in for may be why
        if failed is None or failed in passed:
            return False
        if isinstance(failed, _SAYS_WHY) and not of_data:
            return False
        passed.append(failed)
        if not self._change(file, [frame.f_code for frame, _ in frames]):
            return False
        words = one_printable_line(f"{type(error).__name__}: {error}").removesuffix(": ")
        self.told.append(
            f"{source_location(file, line)} failed ({words}): what it would have given is stood in "
            "for"
        )
        return True

    def _frames(self, error: BaseException) -> list[tuple[FrameType, int]]:
        """The script's frames through which it came, innermost last; none where DALI failed."""
        found: list[tuple[FrameType, int]] = []
        is_dalis = False
        for frame, line in walk_tb(error.__traceback__):
            file = frame.f_code.co_filename
            if file in self._trees:
                found.append((frame, line))
            is_dalis = file not in self._trees and (is_dalis or any(m in file for m in _DALI))
            if file in self._trees:
                is_dalis = False
        return [] if is_dalis else found

    def _change(self, file: str, codes: Sequence[CodeType]) -> bool:
        """Give functions that ran new code; False where the innermost of them cannot have it."""
        made = list(nested_codes(self._compiled(file)))
        changed = False
        for old in codes:
            new = next((each for each in made if _is_same(each, old)), None)
            functions = [each for each in gc.get_referrers(old) if _runs(each, old)]
            for function in functions if new is not None else ():
                function.__code__ = new
                function.__globals__.setdefault(STAND_IN, self.stand_ins.value)
            changed |= new is not None and bool(functions)
        return changed

    def _compiled(self, file: str) -> CodeType:
        """The file's code, in which lines that fail stand in ``try``."""
        whole = self._trees[file]
        copied = deepcopy(whole)
        passed = {id(each) for each in self._lines[file]}
        pairs = list(zip(ast.walk(whole), ast.walk(copied), strict=True))
        _Tried({id(copy) for each, copy in pairs if id(each) in passed}).visit(copied)
        ast.fix_missing_locations(copied)
        noted = with_noted_tests(copied)
        code: CodeType = compile(noted, file, "exec", future_flags(whole), dont_inherit=True)
        return code


class _Tried(ast.NodeTransformer):
    """Puts some statements into a ``try`` that stands in for what they would have given."""

    def __init__(self, passed: set[int]) -> None:
        self._passed = passed

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node, ast.stmt) or id(node) not in self._passed:
            return node
        if isinstance(node, ast.Return):
            instead: list[ast.stmt] = [ast.Return(_stand_in(node.value))]
        else:
            instead = [ast.Assign([each], _stand_in(each)) for each in _bound(node)] or [ast.Pass()]
        caught = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, instead)
        for part in (part for each in instead for part in ast.walk(each)):
            if "lineno" in part._attributes:
                ast.copy_location(part, node)
        return ast.copy_location(ast.Try([node], [caught], [], []), node)


def _stand_in(node: ast.expr | None) -> ast.expr:
    named = ast.Constant(ast.unparse(node) if node is not None else "")
    return ast.Call(ast.Name(STAND_IN, ast.Load()), [named], [])


def _bound(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a statement would set: names, and attributes of objects."""
    found = {
        ast.unparse(node): node
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    yield from map(deepcopy, found.values())


def innermost_statement(tree: ast.Module, line: int) -> ast.stmt | None:
    """The smallest statement that holds a line."""
    held = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and not isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(held, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """The code of each function and class defined in it."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from nested_codes(each)


def _is_same(new: CodeType, old: CodeType) -> bool:
    """Whether it is the same function's, and can take its place."""
    alike = ("co_qualname", "co_firstlineno", "co_freevars")
    return all(getattr(new, name) == getattr(old, name) for name in alike)


def _runs(value: object, code: CodeType) -> bool:
    return isinstance(value, FunctionType) and value.__code__ is code
