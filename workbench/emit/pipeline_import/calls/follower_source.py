"""Followers in source text: the comment that says what each is, and its statements compared."""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from workbench.catalog.own_operators.followers import FOLLOWERS
from workbench.catalog.spec import Value
from workbench.emit.annotations.followers import CARRIED, IN_STEP

_NAMES = r"\w+(?:, \w+)*"
_KINDS = "|".join(name.removeprefix("follow_").capitalize() for name in FOLLOWERS)
WRITTEN = re.compile(
    rf"(?P<indent>\s*)# (?P<kind>{_KINDS}) {IN_STEP} (?P<image>\w+)(?:, from (?P<before>\w+) on)?"
    rf"(?P<args>(?:, \w+=(?:\"[^\"]*\"|[\w.+-]+))*)"
    rf"(?:: (?P<fed>{_NAMES})(?: -> (?P<given>{_NAMES}))?)?"
)
"""The comment above a follower's lines, as ``emit.followers.follower_comment`` writes it."""
_OLDER = re.compile(
    rf"(?P<indent>\s*)# (?:In step with the images: )?"
    rf"(?P<call>{_NAMES} = (?:{'|'.join(FOLLOWERS)})\(.*\))"
)
"""The same in programs that were exported before 26 November 2026."""
_MODULES = {"fn", "math", "types"}


@dataclass(frozen=True)
class WrittenFollower:
    """A follower as its comment has it."""

    file: str
    line: int
    op: str
    targets: tuple[str, ...]
    inputs: Mapping[str, str]
    """Port -> the variable that feeds it."""
    args: Mapping[str, Value]
    before: Sequence[ast.stmt]
    """What stands before it in the same block."""
    statements: Sequence[ast.stmt]
    """Its own, as far as they assign what it gives; at first all that may be."""

    @property
    def lines(self) -> range:
        """From the comment to the last of them."""
        return range(self.line, (self.statements[-1].end_lineno or 0) + 1)

    def shortened(self) -> WrittenFollower | None:
        """Without what assigns the same variables last; None where these would lack a value."""
        own = _until_assigned(self.statements[:-1], self.targets)
        return replace(self, statements=own) if own else None


def has_followers(text: str) -> bool:
    """Whether a source says of any of its lines that they are a follower."""
    return any(map(_said, text.splitlines()))


def written_followers(file: str, text: str) -> Iterator[WrittenFollower]:
    """Those that the comments of a source name, with the statements behind them."""
    blocks = _blocks(text)
    said = {at: found for at, line in enumerate(text.splitlines(), 1) if (found := _said(line))}
    for number, (indent, op, targets, inputs, args) in said.items():
        before, after = _around(blocks, number, indent)
        next_one = min((n for n in said if n > number), default=len(text))
        own = _until_assigned([s for s in after if s.lineno < next_one], targets)
        if own:
            yield WrittenFollower(file, number, op, targets, inputs, args, before, own)


_Said = tuple[int, str, tuple[str, ...], Mapping[str, str], Mapping[str, Value]]
"""The indent of a comment; operator, targets, inputs and arguments of the follower in it."""


def _said(line: str) -> _Said | None:
    if match := WRITTEN.fullmatch(line):
        op = f"follow_{match['kind'].lower()}"
        fed = match["fed"].split(", ") if match["fed"] else [match["kind"].lower()]
        given = match["given"].split(", ") if match["given"] else fed
        own = [port.name for port in FOLLOWERS[op].inputs if port.name not in _PLACES]
        inputs = {port: name for port, name in zip(own, fed, strict=False) if name != "_"}
        inputs["image"] = match["image"]
        if match["before"]:
            inputs["before"] = match["before"]
        call = ast.parse(f"f({match['args'].removeprefix(', ')})", mode="eval").body
        return len(match["indent"]), op, tuple(given), inputs, _constants_in(call)
    match = _OLDER.fullmatch(line)
    if match is None:
        return None
    try:
        (statement,) = ast.parse(match["call"]).body
    except (SyntaxError, ValueError):
        return None
    match statement:
        case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=op)) as call):
            names = tuple(each.id for each in ast.walk(target) if isinstance(each, ast.Name))
            variables = [each.id for each in call.args if isinstance(each, ast.Name)]
            ports = [port.name for port in FOLLOWERS[op].inputs]
            inputs = dict(zip(ports, variables, strict=False))
            return len(match["indent"]), op, names, inputs, _constants_in(call)
    return None


_PLACES = ("image", "before")
"""Ports of what a target lies on."""


def _constants_in(call: ast.expr) -> Mapping[str, Value]:
    return {
        each.arg: each.value.value
        for each in getattr(call, "keywords", ())
        if each.arg and isinstance(each.value, ast.Constant)
        if isinstance(each.value.value, bool | int | float | str)
    }


def _until_assigned(statements: Sequence[ast.stmt], names: Sequence[str]) -> list[ast.stmt]:
    """Statements until some variables are assigned last; none where not all of them are."""
    assigned = [assigned_names(statement) for statement in statements]
    last = [at for at, found in enumerate(assigned) if found & {*names}]
    return list(statements[: last[-1] + 1]) if {*names} <= set().union(*assigned) else []


def carried_blocks(text: str) -> list[list[ast.stmt]]:
    """What stands behind each comment of what is carried on."""
    blocks = _blocks(text)
    return [
        _around(blocks, number, len(line) - len(line.lstrip()))[1]
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() == f"# {CARRIED}"
    ]


def _blocks(text: str) -> list[list[ast.stmt]]:
    return [
        block
        for node in ast.walk(ast.parse(text))
        for name in ("body", "orelse")
        if isinstance(block := getattr(node, name, None), list) and block
    ]


def _around(
    blocks: Sequence[list[ast.stmt]], line: int, indent: int
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements of the block that a line stands in, before it and behind."""
    for block in blocks:
        if block[0].col_offset == indent and block[0].lineno - 1 <= line <= block[-1].lineno:
            before = [each for each in block if each.lineno < line]
            return before, block[len(before) :]
    return [], []


def assigned_names(statement: ast.stmt) -> set[str]:
    """The variables that a statement sets, or one inside it."""
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def other_name(statement: ast.Assign, name: str) -> str | None:
    """The variable that another one is set to, where it is one."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Name(id=value)):
            return value if target == name else None
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for each, given in zip(targets, values, strict=False):
                if isinstance(each, ast.Name) and isinstance(given, ast.Name) and each.id == name:
                    return given.id
    return None


def branches_of(statement: ast.If) -> list[list[ast.stmt]]:
    """The blocks of an ``if``, those of its ``elif`` too."""
    otherwise = statement.orelse
    chained = len(otherwise) == 1 and isinstance(otherwise[0], ast.If)
    rest = branches_of(otherwise[0]) if chained else [otherwise]  # type: ignore[arg-type]
    return [statement.body, *rest, *([otherwise] if chained else [])]


class _Normal(ast.NodeTransformer):
    """Statements as DALI is told them: each value under a number of its own.

    ``constants`` are those at the top of the file, which stand for their values.
    """

    def __init__(self, constants: Mapping[str, ast.expr]) -> None:
        self._constants = constants
        self._numbers: dict[str, int] = {}
        self._count = 0

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        value = self.visit(node.value)  # what it reads is what was there before
        return ast.Assign([self.visit(target) for target in node.targets], value, lineno=0)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            if node.id in _MODULES:
                return node
            if node.id in self._constants and node.id not in self._numbers:
                constant: ast.expr = self.visit(deepcopy(self._constants[node.id]))
                return constant
        if isinstance(node.ctx, ast.Store) or node.id not in self._numbers:
            self._numbers[node.id], self._count = self._count, self._count + 1
        return ast.Name(f"value_{self._numbers[node.id]}", node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            return node
        try:  # DALI holds fractions in four bytes
            return ast.Constant(struct.unpack("f", struct.pack("f", node.value))[0])
        except OverflowError:
            return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        keywords = sorted(node.keywords, key=lambda each: each.arg or "")
        for keyword in keywords:  # a list of one is the value alone
            if isinstance(keyword.value, ast.List) and len(keyword.value.elts) == 1:
                keyword.value = keyword.value.elts[0]
        return self.generic_visit(ast.Call(node.func, node.args, keywords))


def normal_form(statements: Sequence[ast.stmt], constants: Mapping[str, ast.expr]) -> str:
    """Statements as a text that is the same under other names and in another layout."""
    normal = _Normal(constants)
    return "\n".join(ast.unparse(normal.visit(deepcopy(each))) for each in statements)


def constants_of(text: str) -> dict[str, ast.expr]:
    """What is assigned at the top of a file and depends on nothing, by name."""
    return {
        target.id: statement.value
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign)
        and not any(
            isinstance(each, ast.Call) or (isinstance(each, ast.Name) and each.id not in _MODULES)
            for each in ast.walk(statement.value)
        )
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
