"""Calls that move targets -> the followers that a graph of ours wrote them for.

Above the lines of each stands what it is (``emit.followers.written_call``). It is taken at its word
where a follower in that place is written with just these statements, under whatever names; where
somebody changed them they stay plain calls, and the report says so.
"""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from textwrap import dedent

from workbench.catalog.followers import CARRIERS, FOLLOWERS
from workbench.catalog.spec import Catalog, Value
from workbench.emit.code import Lines
from workbench.emit.emitter import Emitter
from workbench.emit.followers import CARRIED
from workbench.emit.pipeline_import.traced import SourceLocation
from workbench.errors import WorkbenchError
from workbench.graph.edit import free_id
from workbench.graph.followers import with_dependencies
from workbench.graph.model import Body, Graph, Node, Port, Source, running_order
from workbench.graph.ports import outputs_of

_WRITTEN = re.compile(rf"(\s*)# (\w+(?:, \w+)* = (?:{'|'.join(FOLLOWERS)})\(.*\))")
_MODULES = {"fn", "math", "types"}
_CHANGED = "its lines are no longer those of a follower, and stay as they are"


@dataclass(frozen=True)
class _Written:
    """A follower as its comment has it."""

    file: str
    line: int
    op: str
    targets: tuple[str, ...]
    inputs: tuple[str, ...]
    args: Mapping[str, Value]
    before: Sequence[ast.stmt]
    """What stands before it in the same block."""
    statements: Sequence[ast.stmt]
    """Its own, as far as they assign what it gives."""

    @property
    def lines(self) -> range:
        """From the comment to the last of them."""
        return range(self.line, (self.statements[-1].end_lineno or 0) + 1)


def fold_followers(
    graph: Graph,
    catalog: Catalog,
    places: Mapping[str, SourceLocation | None],
    targets: Mapping[str, Sequence[str]],
    sources: Mapping[str, str],
    fold_others: Callable[[Graph], Graph],
) -> tuple[Graph, list[str]]:
    """The graph with its followers, and what to say of those that are none any more.

    ``places`` has the line of each node by id, ``targets`` the variables that it was assigned to;
    ``fold_others`` makes regions of the loops around them.
    """
    texts = {file: text for file, text in sources.items() if _WRITTEN.search(text)}
    waiting = [written for file, text in texts.items() for written in _comments(file, text)]
    notes: list[str] = []
    while True:
        folder = _Folder(graph, catalog, dict(places), dict(targets))
        lost = [written for written in waiting if not folder.fold(written)]
        made = fold_others(folder.graph)
        lost += [
            w
            for name, w in folder.made.items()
            if not _is_written(made, catalog, name, w, texts[w.file])
        ]
        if not lost:
            return made, notes
        waiting = [written for written in waiting if written not in lost]
        notes += [f"{w.op} in line {w.line}: {_CHANGED}" for w in lost]


class _Folder:
    def __init__(
        self,
        graph: Graph,
        catalog: Catalog,
        places: dict[str, SourceLocation | None],
        targets: dict[str, Sequence[str]],
    ) -> None:
        self.graph = graph
        self.catalog = catalog
        self.places = places
        self.targets = targets
        self.made: dict[str, _Written] = {}

    def fold(self, written: _Written) -> bool:
        """Put a follower in the place of its calls, if it can be found what feeds it."""
        spec = self.catalog[written.op]
        names = [port.name for port in spec.inputs][: len(written.inputs)]
        try:
            scope = self._scope(written)
            fed = [self._port(name, written, scope) for name in written.inputs]
        except LookupError:
            return False
        inputs = dict(zip(names, fed, strict=True))
        node = Node(free_id(self.graph, written.op), written.op, written.args, inputs)
        moved = {}
        for output, name in zip(outputs_of(node, spec), written.targets, strict=False):
            made = self._value(name, [*written.before, *written.statements], scope)
            if made is not None and made not in fed:
                moved[made] = Port(node.id, output.name)
        body = self.graph.body_at(scope)
        nodes = (*(_refed(each, moved) for each in body.nodes), node)
        outputs = {name: moved.get(port, port) for name, port in body.outputs.items()}
        refed = self.graph.replace_body(scope, replace(body, nodes=nodes, outputs=outputs))
        self.graph = replace(refed, nodes=_needed(refed.nodes, set(refed.outputs.values())))
        self.places[node.id] = SourceLocation(written.file, written.line, "", "")
        self.targets[node.id] = written.targets
        self.made[node.id] = written
        return True

    def _scope(self, written: _Written) -> str:
        """That in which its first call stands."""
        for statement in written.statements:
            lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            for node in self.graph.walk():
                place = self.places.get(node.id)
                if place is not None and place.line in lines and not node.bodies:
                    return self.graph.scope_of(node.id)
        raise LookupError(written.op)

    def _port(self, name: str, written: _Written, scope: str) -> Port:
        """What a variable stands for where a follower is written."""
        found = self._value(name, written.before, scope)
        if found is not None:
            return found
        if scope and name in self.graph.body_at(scope).inputs:
            return Port(scope, name)
        raise LookupError(name)

    def _value(self, name: str, block: Sequence[ast.stmt], scope: str) -> Port | None:
        """What a variable stands for at the end of statements of a body."""
        for at, statement in reversed(list(enumerate(block))):
            if name not in _assigned(statement):
                continue
            lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            match statement:
                case ast.Assign() if (other := _other_name(statement, name)) is not None:
                    return self._value(other, block[:at], scope) or self._taken(other, scope)
                case ast.For():
                    return self._value(name, statement.body, scope)
                case ast.If():
                    return self._end(name, statement, lines, scope)
            return self._last(name, lines, scope) or self._part(statement, block[:at], scope)
        return None

    def _part(self, statement: ast.stmt, block: Sequence[ast.stmt], scope: str) -> Port | None:
        """What is cut out of a variable: DALI's reading of an ``if`` loses the line of that."""
        match statement:
            case ast.Assign(value=ast.Subscript(value=ast.Name(id=name))):
                whole = self._value(name, block, scope)
                for node in self.graph.body_at(scope).nodes:
                    if node.op == "subscript" and [*node.inputs.values()] == [whole]:
                        return Port(node.id, "output")
        return None

    def _taken(self, name: str, scope: str) -> Port | None:
        inside = bool(scope) and name in self.graph.body_at(scope).inputs
        return Port(scope, name) if inside else None

    def _end(self, name: str, statement: ast.If, lines: range, scope: str) -> Port | None:
        """The same of what an ``if`` has made of it."""
        for region in self.graph.body_at(scope).nodes:
            if not region.bodies or self._line(region) not in lines:
                continue
            for body_name, body in region.bodies.items():
                for branch in _branches(statement):
                    end = self._value(name, branch, region.scope(body_name))
                    output = next((n for n, port in body.outputs.items() if port == end), None)
                    if output is not None:
                        return Port(region.id, output)
        return None

    def _last(self, name: str, lines: range, scope: str) -> Port | None:
        found: tuple[int, Port] | None = None
        ordered, _ = running_order(self.graph.body_at(scope).nodes)
        for node in ordered:
            line = self._line(node)
            if line not in lines or (found is not None and line < found[0]):
                continue
            outputs = [output.name for output in outputs_of(node, self.catalog[node.op])]
            named = outputs if node.bodies else self.targets.get(node.id, ())
            if name in named and len(named) == len(outputs):
                found = line, Port(node.id, outputs[list(named).index(name)])
        return found[1] if found is not None else None

    def _line(self, node: Node) -> int:
        place = self.places.get(node.id)
        if place is not None:
            return place.line
        inner = [self._line(each) for body in node.bodies.values() for each in body.nodes]
        return min(inner, default=-1)


def _is_written(
    graph: Graph, catalog: Catalog, follower: str, written: _Written, text: str
) -> bool:
    """Whether a follower, with what carries it through regions, is written as the source has it."""
    if not graph.has(follower):
        return False
    whole = with_dependencies(graph, catalog)
    emitter = Emitter(whole, catalog, running_order(whole.nodes)[0], conditions=False)
    carriers = [n.id for n in whole.walk() if n.op in CARRIERS and n.id.endswith(f"_{follower}")]
    made = Lines()
    try:
        for name in dict.fromkeys(map(whole.outermost, (*carriers, follower))):
            made.add(emitter.node_lines(whole.node(name)))
    except WorkbenchError:
        return False
    constants = _constants(text)
    emitted = {name: ast.parse(v, mode="eval").body for name, v in emitter.constants.items()}
    blocks = _carried_blocks(text)

    def is_one_of(name: str, blocks: Sequence[Sequence[ast.stmt]]) -> bool:
        own = made.text[made.nodes[name].start : made.nodes[name].stop]
        tree = ast.parse(dedent("\n".join(own))).body
        wanted = _normal(tree, emitted)
        return any(_normal(block[: len(tree)], constants) == wanted for block in blocks)

    return is_one_of(follower, [written.statements]) and all(
        is_one_of(name, blocks) for name in carriers
    )


def _comments(file: str, text: str) -> Iterator[_Written]:
    blocks = _blocks(text)
    for number, line in enumerate(text.splitlines(), 1):
        match = _WRITTEN.fullmatch(line)
        if match is None:
            continue
        try:
            (statement,) = ast.parse(match[2]).body
        except (SyntaxError, ValueError):
            continue
        before, after = _around(blocks, number, len(match[1]))
        match statement:
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=op)) as call):
                names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
                fed = [each.id for each in call.args if isinstance(each, ast.Name)]
                args = {
                    each.arg: each.value.value
                    for each in call.keywords
                    if each.arg and isinstance(each.value, ast.Constant)
                    if isinstance(each.value.value, bool | int | float | str)
                }
                own = _until_assigned(after, set(names))
                if own:
                    yield _Written(file, number, op, tuple(names), tuple(fed), args, before, own)


def _until_assigned(statements: Sequence[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The first statements, until all of some variables are assigned; none where they are not."""
    for count, statement in enumerate(statements, 1):
        names = names - _assigned(statement)
        if not names:
            return list(statements[:count])
    return []


def _carried_blocks(text: str) -> list[list[ast.stmt]]:
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


def _assigned(statement: ast.stmt) -> set[str]:
    """The variables that a statement sets, or one inside it."""
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _other_name(statement: ast.Assign, name: str) -> str | None:
    """The variable that another one is set to, where it is one."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Name(id=value)):
            return value if target == name else None
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for each, value in zip(targets, values, strict=False):
                if isinstance(each, ast.Name) and isinstance(value, ast.Name) and each.id == name:
                    return value.id
    return None


def _branches(statement: ast.If) -> list[list[ast.stmt]]:
    """The blocks of an ``if``, those of its ``elif`` too."""
    otherwise = statement.orelse
    chained = len(otherwise) == 1 and isinstance(otherwise[0], ast.If)
    rest = _branches(otherwise[0]) if chained else [otherwise]  # type: ignore[arg-type]
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
                return self.visit(self._constants[node.id])
        if isinstance(node.ctx, ast.Store) or node.id not in self._numbers:
            self._numbers[node.id], self._count = self._count, self._count + 1
        return ast.Name(f"value_{self._numbers[node.id]}", node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if type(node.value) not in (int, float) or abs(node.value) > 2**53:
            return node
        try:  # DALI holds fractions in four bytes
            return ast.Constant(struct.unpack("f", struct.pack("f", node.value))[0])
        except OverflowError:
            return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        keywords = sorted(node.keywords, key=lambda each: each.arg or "")
        for each in keywords:  # a list of one is the value alone
            if isinstance(each.value, ast.List) and len(each.value.elts) == 1:
                each.value = each.value.elts[0]
        return self.generic_visit(ast.Call(node.func, node.args, keywords))


def _normal(statements: Sequence[ast.stmt], constants: Mapping[str, ast.expr]) -> str:
    normal = _Normal(constants)
    return "\n".join(ast.unparse(normal.visit(deepcopy(each))) for each in statements)


def _constants(text: str) -> dict[str, ast.expr]:
    return {
        target.id: statement.value
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _refed(node: Node, moved: Mapping[Port, Port]) -> Node:
    inputs = {name: moved.get(port, port) for name, port in node.inputs.items()}
    return replace(node, inputs=inputs) if inputs != node.inputs else node


def _needed(nodes: Sequence[Node], wanted: set[Port]) -> tuple[Node, ...]:
    """The nodes that lead to some ports; of regions what of their bodies does."""
    kept: dict[str, Node] = {}
    for node in reversed(running_order(tuple(nodes))[0]):
        used = {port.output for port in wanted if port.node == node.id}
        if not used and not isinstance(node, Source):
            continue
        kept[node.id] = _without_unused(node, used) if node.bodies else node
        wanted = wanted | set(kept[node.id].inputs.values())
    return tuple(kept[node.id] for node in nodes if node.id in kept)


def _without_unused(region: Node, used: set[str]) -> Node:
    bodies: dict[str, Body] = {}
    while True:
        taken: set[str] = set()
        for name, body in region.bodies.items():
            scope = region.scope(name)
            outputs = {out: port for out, port in body.outputs.items() if out in used}
            nodes = _needed(body.nodes, set(outputs.values()))
            fed = [port for node in nodes for port in node.inputs.values()]
            own = {port.output for port in (*fed, *outputs.values()) if port.node == scope}
            inputs = tuple(each for each in body.inputs if each in own)
            bodies[name] = replace(body, nodes=nodes, outputs=outputs, inputs=inputs)
            taken |= own
        more = {name for body in region.bodies.values() for name in body.outputs} & taken - used
        if not (more and region.op in ("repeat", "some_of")):
            break
        used = used | more
    every = {name for body in region.bodies.values() for name in body.inputs}
    gone = every - taken - used
    inputs = {name: port for name, port in region.inputs.items() if name not in gone}
    return replace(region, bodies=bodies, inputs=inputs)
