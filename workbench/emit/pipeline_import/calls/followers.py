"""Calls that move targets -> the followers that a graph of ours wrote them for.

Above the lines of each stands what it is (``emit.followers.follower_comment``), taken at its word
where a follower in that place is written with just these statements, under whatever names; where
somebody changed them they stay plain calls, and the report says so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from textwrap import dedent

from workbench.catalog.own_operators.followers import CARRIERS
from workbench.catalog.own_operators.regions import REGIONS
from workbench.catalog.spec import Catalog
from workbench.emit.core.code import Lines
from workbench.emit.emitter import Emitter
from workbench.emit.pipeline_import.calls.follower_source import (
    WrittenFollower,
    assigned_names,
    branches_of,
    carried_blocks,
    constants_of,
    has_followers,
    normal_form,
    other_name,
    written_followers,
)
from workbench.emit.pipeline_import.trace.traced import SourceLocation
from workbench.errors import WorkbenchError
from workbench.graph.annotations.follower_dependencies import with_dependencies
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Body, Graph, Node, Port, Source
from workbench.graph.model.node_order import running_order
from workbench.graph.model.ports import outputs_of
from workbench.graph.resolved import ResolvedGraph

_CHANGED = "its lines are no longer those of a follower, and stay as they are"


def fold_followers(
    graph: Graph,
    catalog: Catalog,
    sources: Mapping[str, str],
    places: Mapping[str, SourceLocation | None],
    targets: Mapping[str, Sequence[str]],
    fold_others: Callable[[Graph], Graph],
) -> tuple[Graph, list[str]]:
    """The graph with its followers, and what to say of those that are none any more.

    ``places`` has the line of each node by id, ``targets`` the variables that it was assigned to;
    ``fold_others`` makes regions of the loops around them.
    """
    texts = {file: text for file, text in sources.items() if has_followers(text)}
    waiting = [written for file, text in texts.items() for written in written_followers(file, text)]
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
        shorter = {(w.file, w.line): w.shortened() for w in lost}
        notes += [
            f"{w.op} in line {w.line}: {_CHANGED}" for w in lost if not shorter[w.file, w.line]
        ]
        tried = [shorter[w.file, w.line] if w in lost else w for w in waiting]
        waiting = [written for written in tried if written]


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
        self.made: dict[str, WrittenFollower] = {}

    def fold(self, written: WrittenFollower) -> bool:
        """Put a follower in the place of its calls, if it can be found what feeds it."""
        spec = self.catalog[written.op]
        try:
            scope = self._scope(written)
            inputs = {
                port: self._port(name, written, scope) for port, name in written.inputs.items()
            }
        except LookupError:
            return False
        node = Node(free_id(self.graph, written.op), written.op, written.args, inputs)
        moved = {}
        for output, name in zip(outputs_of(node, spec), written.targets, strict=False):
            made = self._value(name, [*written.before, *written.statements], scope)
            if made is not None and made not in inputs.values():
                moved[made] = Port(node.id, output.name)
        body = self.graph.body_at(scope).rewire(moved)
        refed = self.graph.replace_body(scope, replace(body, nodes=(*body.nodes, node)))
        self.graph = replace(refed, nodes=_needed_nodes(refed.nodes, set(refed.outputs.values())))
        self.places[node.id] = SourceLocation(written.file, written.line, "", "")
        self.targets[node.id] = written.targets
        self.made[node.id] = written
        return True

    def _scope(self, written: WrittenFollower) -> str:
        """That in which its first call stands."""
        for statement in written.statements:
            lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            for node in self.graph.walk():
                place = self.places.get(node.id)
                if place is not None and place.line in lines and not node.bodies:
                    return self.graph.scope_of(node.id)
        raise LookupError(written.op)

    def _port(self, name: str, written: WrittenFollower, scope: str) -> Port:
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
            if name not in assigned_names(statement):
                continue
            lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            match statement:
                case ast.Assign() if (other := other_name(statement, name)) is not None:
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
                for branch in branches_of(statement):
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
    graph: Graph, catalog: Catalog, follower: str, written: WrittenFollower, text: str
) -> bool:
    """Whether a follower, with what carries it through regions, is written as the source has it."""
    if not graph.has(follower):
        return False
    whole = with_dependencies(graph, catalog)
    ordered = running_order(whole.nodes)[0]
    emitter = Emitter(ResolvedGraph(whole, catalog), ordered, conditions=False)
    carriers = [n.id for n in whole.walk() if n.op in CARRIERS and n.id.endswith(f"_{follower}")]
    made = Lines()
    try:
        for name in dict.fromkeys(map(whole.outermost, (*carriers, follower))):
            made.add(emitter.node_lines(whole.node(name)))
    except WorkbenchError:
        return False
    constants = constants_of(text)
    emitted = {name: ast.parse(v, mode="eval").body for name, v in emitter.constants.items()}
    blocks = carried_blocks(text)

    def is_one_of(name: str, blocks: Sequence[Sequence[ast.stmt]]) -> bool:
        own = made.text[made.nodes[name].start : made.nodes[name].stop]
        tree = ast.parse(dedent("\n".join(own))).body
        wanted = normal_form(tree, emitted)
        starts = (block[: len(tree)] for block in blocks)
        return any(normal_form(start, constants) == wanted for start in starts)

    own = made.text[made.nodes[follower].start : made.nodes[follower].stop]
    if len(written.statements) > len(ast.parse(dedent("\n".join(own))).body):
        return False  # with what is done to the target afterwards
    return is_one_of(follower, [written.statements]) and all(
        is_one_of(name, blocks) for name in carriers
    )


def _needed_nodes(nodes: Sequence[Node], wanted: set[Port]) -> tuple[Node, ...]:
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
            nodes = _needed_nodes(body.nodes, set(outputs.values()))
            fed = [port for node in nodes for port in node.inputs.values()]
            own = {port.output for port in (*fed, *outputs.values()) if port.node == scope}
            takes = tuple(each for each in body.inputs if each in own)
            bodies[name] = replace(body, nodes=nodes, outputs=outputs, inputs=takes)
            taken |= own
        more = {name for body in region.bodies.values() for name in body.outputs} & taken - used
        if not (more and REGIONS[region.op].consecutive):
            break
        used = used | more
    every = {name for body in region.bodies.values() for name in body.inputs}
    gone = every - taken - used
    inputs = {name: port for name, port in region.inputs.items() if name not in gone}
    return replace(region, bodies=bodies, inputs=inputs)
