"""Reconstruct the ``if`` statements of a traced pipeline from DALI's calls.

DALI converts an ``if`` to calls: it splits the batch by the predicate for each value that a branch
uses, and merges the parts for each variable that the branches assign (``_conditional__Split``,
``_conditional__Merge``). All connected splits and merges with the same predicate form one
statement, and so do unconnected ones whose merges are on the same line. A generator without input
runs for the whole batch and is split afterwards; here it is moved into the branch that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from workbench.emit.pipeline_import.trace.call_order import in_call_order
from workbench.emit.pipeline_import.trace.source_lines import Lines, is_library
from workbench.emit.pipeline_import.trace.traced import SourceLocation, TracedInput, TracedOp

SPLIT, MERGE = "_conditional__Split", "_conditional__Merge"
BODIES = ("then", "else")
"""Names of the bodies of an ``if``, in the order of the parts of a split."""
_PREDICATE = "predicate"
_DRAWN = "random__"
_CONSTANT = "Constant"

Step = tuple[int, int]
"""A branch of a statement: number of the statement, and index of its body (0 or 1)."""
Scope = tuple[Step, ...]


@dataclass(frozen=True)
class ConditionalBlock:
    """Calls that process the same part of the batch, in source order, including nested statements.

    A nested statement is one call in ``ops``; ``statements`` maps the call's name to the statement.
    """

    ops: tuple[TracedOp, ...]
    statements: Mapping[str, Statement] = field(default_factory=dict)
    takes: Mapping[str, TracedInput] = field(default_factory=dict)
    """Maps each input edge of the body to the edge outside the body that is connected to it."""
    gives: tuple[TracedInput, ...] = ()
    """Final value in this branch of each variable that the statement assigns."""


@dataclass(frozen=True)
class Statement:
    """An ``if`` statement: its condition, its two branches, and its outputs."""

    condition: TracedInput
    bodies: tuple[ConditionalBlock, ConditionalBlock]
    outputs: tuple[str, ...]
    """Edges that the merges produce."""


def walk_ops(block: ConditionalBlock) -> Iterator[TracedOp]:
    """Yield the calls of a block, including the calls in nested statements."""
    for op in block.ops:
        yield op
        if op.name in block.statements:
            for body in block.statements[op.name].bodies:
                yield from walk_ops(body)


def producers_by_edge(block: ConditionalBlock) -> dict[str, TracedOp]:
    """Map each edge, including the input edges of bodies, to the call that produces it."""
    makers: dict[str, TracedOp] = {}

    def add(block: ConditionalBlock) -> None:
        makers.update({edge: makers[source.edge] for edge, source in block.takes.items()})
        for op in block.ops:
            makers.update(dict.fromkeys((edge for edge, _ in op.outputs), op))
            if op.name in block.statements:
                for body in block.statements[op.name].bodies:
                    add(body)

    add(block)
    return makers


class _UnclearError(Exception):
    """Raised if the splits by ``predicate`` do not form an ``if`` statement."""

    def __init__(self, predicate: str) -> None:
        self.predicate = predicate


def find_statements(
    ops: Sequence[TracedOp], outputs: Iterable[TracedInput], lines: Lines
) -> tuple[ConditionalBlock, tuple[TracedInput, ...]]:
    """Combine the calls of each ``if`` into one call. Returns all calls and the pipeline's outputs.

    ``ops`` are in source order. The returned outputs have new edge names. Splits and merges that
    belong to DALI's own library or form no statement remain calls.
    """
    given = tuple(outputs)
    merges = [op for op in ops if op.schema == MERGE]
    known = {predicate_of(op) for op in merges if not is_library(op)}
    while True:
        try:
            return _Finder(ops, given, lines, frozenset(known)).found()
        except _UnclearError as error:
            known.remove(error.predicate)


def predicate_of(op: TracedOp) -> str:
    """Return the predicate edge of a split or merge, or an empty string for any other call."""
    return next((edge.edge for edge in op.inputs if edge.argument == _PREDICATE), "")


class _Finder:
    """One attempt to find the statements whose conditions are the given predicates."""

    def __init__(
        self,
        ops: Sequence[TracedOp],
        outputs: tuple[TracedInput, ...],
        lines: Lines,
        predicates: frozenset[str],
    ) -> None:
        self.ops = ops
        self.outputs = outputs
        self.lines = lines
        self.predicates = predicates
        self.makers = {edge: op for op in ops for edge, _ in op.outputs}
        self.readers: dict[str, list[tuple[TracedOp, int]]] = {}
        for op in ops:
            for slot, read in enumerate(op.inputs):
                self.readers.setdefault(read.edge, []).append((op, slot))
        self.paths = self._paths()
        self.statement_of = self._statements()
        self.home: dict[str, Scope] = {}
        for op in ops:
            self.home[op.name] = self._scope(op)
        self.parts: dict[str, tuple[Step, TracedInput]] = {}
        """Maps each input edge of a body to the body and the connected edge outside the body."""

    def _of_statement(self, op: TracedOp) -> bool:
        return op.schema in (SPLIT, MERGE) and predicate_of(op) in self.predicates

    def _paths(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Map each edge to the pairs (predicate, branch) that select its samples, outer first."""
        paths: dict[str, tuple[tuple[str, int], ...]] = {}
        for op in self.ops:
            fed = {paths[edge.edge] for edge in op.inputs}
            if not self._of_statement(op):
                if len(fed) > 1:
                    deepest = max(fed, key=len)
                    raise _UnclearError(deepest[0][0])
                path = fed.pop() if fed else ()
                paths |= dict.fromkeys((edge for edge, _ in op.outputs), path)
                continue
            predicate = predicate_of(op)
            at = paths[predicate]
            sides = [(*at, (predicate, side)) for side in range(len(BODIES))]
            read = [paths[edge.edge] for edge in op.inputs if edge.argument is None]
            made = [edge for edge, _ in op.outputs]
            expected = [at] if op.schema == SPLIT else sides
            if read != expected or len(made) != len(sides if op.schema == SPLIT else [at]):
                raise _UnclearError(predicate)
            paths |= zip(made, sides if op.schema == SPLIT else [at], strict=True)
        return paths

    def _statements(self) -> dict[tuple[str, str], int]:
        """Map each pair (name of a split or merge, predicate) to the number of its statement."""
        joined = _Joined()
        for op in self.ops:
            own = predicate_of(op) if self._of_statement(op) else None
            if own is not None:
                joined.find((op.name, own))
            for edge in op.inputs:
                for predicate, _ in self.paths[edge.edge]:
                    joined.join((op.name, predicate), (self.makers[edge.edge].name, predicate))
        merges: dict[tuple[str, str], list[TracedOp]] = {}
        for op in self.ops:
            if op.schema == MERGE and self._of_statement(op):
                merges.setdefault(joined.find((op.name, predicate_of(op))), []).append(op)
        for member in joined.members():
            if joined.find(member) not in merges:
                raise _UnclearError(member[1])
        before = self._preceding_groups(joined)

        @cache
        def turn(root: tuple[str, str]) -> int:
            """Return a statement's number, from 1, among those with the same line and predicate."""
            alike = (r for r in before[root] if r != root and place(r) == place(root))
            return 1 + max(map(turn, alike), default=0)

        def place(root: tuple[str, str]) -> tuple[str, tuple[SourceLocation, ...]]:
            return root[1], self.lines.stack(merges[root][0])

        numbers: dict[tuple[str, tuple[SourceLocation, ...], int], int] = {}
        found = {}
        for member in joined.members():
            root = joined.find(member)
            try:
                predicate, stack = place(root)
                key = (predicate, stack or (SourceLocation(root[0], 0, "", ""),), turn(root))
            except RecursionError:
                raise _UnclearError(member[1]) from None
            found[member] = numbers.setdefault(key, len(numbers))
        return found

    def _preceding_groups(self, joined: _Joined) -> dict[tuple[str, str], set[tuple[str, str]]]:
        """Map each group of connected calls to the groups that precede it."""
        above: dict[str, set[tuple[str, str]]] = {}
        before: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for op in self.ops:
            mine = {(op.name, p) for edge in op.inputs for p, _ in self.paths[edge.edge]}
            if self._of_statement(op):
                mine.add((op.name, predicate_of(op)))
            roots = {joined.find(member) for member in mine}
            found: set[tuple[str, str]] = set().union(
                *(above[self.makers[edge.edge].name] for edge in op.inputs)
            )
            for root in roots:
                before.setdefault(root, set()).update(found)
            above[op.name] = found | roots
        return before

    def _scope(self, op: TracedOp) -> Scope:
        """Return the branches that enclose a call or, for a split or merge, its statement."""
        if not op.inputs:
            return self._innermost(op)
        index = 0
        if self._of_statement(op):
            index = next(i for i, edge in enumerate(op.inputs) if edge.argument == _PREDICATE)
        path = self.paths[op.inputs[index].edge]
        return tuple((self.statement_of[op.name, predicate], side) for predicate, side in path)

    def _innermost(self, op: TracedOp) -> Scope:
        """Return the branches that enclose all consumers of a generator or constant.

        Returns an empty tuple for any other call.
        """
        if not op.schema.startswith(_DRAWN) and op.schema != _CONSTANT:
            return ()
        given = {edge.edge for edge in self.outputs}
        uses: list[Scope] = []
        waiting = [edge for edge, _ in op.outputs]
        while waiting:
            edge = waiting.pop()
            if edge in given:
                return ()
            for reader, slot in self.readers.get(edge, ()):
                scope = self._scope(reader)
                if self._of_statement(reader) and reader.inputs[slot].argument is None:
                    number = self.statement_of[reader.name, predicate_of(reader)]
                    if reader.schema == SPLIT:
                        waiting += [made for made, _ in reader.outputs]
                        continue
                    scope = (*scope, (number, slot))
                uses.append(scope)
        return _common_prefix(uses)

    def _scope_of_edge(self, edge: str) -> Scope:
        """Return the branches in which an edge is available."""
        maker = self.makers[edge]
        scope = self.home[maker.name]
        if maker.schema != SPLIT or not self._of_statement(maker):
            return scope
        side = [made for made, _ in maker.outputs].index(edge)
        inside = (*scope, (self.statement_of[maker.name, predicate_of(maker)], side))
        source = self._scope_of_edge(maker.inputs[0].edge)
        return source if source[: len(inside)] == inside else inside

    def _resolved(self, read_edge: TracedInput) -> TracedInput:
        """Replace the output of a split with its input, or with an input of the body."""
        maker = self.makers[read_edge.edge]
        if maker.schema != SPLIT or not self._of_statement(maker):
            return read_edge
        side = [made for made, _ in maker.outputs].index(read_edge.edge)
        step = self.statement_of[maker.name, predicate_of(maker)], side
        data = maker.inputs[0]
        inside = (*self.home[maker.name], step)
        source = self._resolved(data)
        if self._scope_of_edge(data.edge)[: len(inside)] == inside:
            return source._replace(device=read_edge.device, argument=read_edge.argument)
        taken = f"{step[0]}.{BODIES[side]}:{source.edge}:{source.device}"
        self.parts[taken] = step, source._replace(argument=None)
        return TracedInput(taken, read_edge.device, read_edge.argument)

    def found(self) -> tuple[ConditionalBlock, tuple[TracedInput, ...]]:
        merges: dict[int, list[TracedOp]] = {}
        placed: dict[Scope, list[TracedOp]] = {}
        for op in self.ops:
            if not self._of_statement(op):
                inputs = tuple(map(self._resolved, op.inputs))
                placed.setdefault(self.home[op.name], []).append(replace(op, inputs=inputs))
            elif op.schema == MERGE:
                number = self.statement_of[op.name, predicate_of(op)]
                merges.setdefault(number, []).append(op)
        outer: dict[Scope, list[int]] = {}
        for number, alike in merges.items():
            outer.setdefault(self.home[alike[0].name], []).append(number)
            if len({self.home[op.name] for op in alike}) > 1:
                raise _UnclearError(predicate_of(alike[0]))
        block = self._block((), placed, merges, outer)
        return block, tuple(map(self._resolved, self.outputs))

    def _block(
        self,
        scope: Scope,
        placed: Mapping[Scope, list[TracedOp]],
        merges: Mapping[int, list[TracedOp]],
        outer: Mapping[Scope, list[int]],
    ) -> ConditionalBlock:
        ops = list(placed.get(scope, ()))
        statements: dict[str, Statement] = {}
        for number in outer.get(scope, ()):
            alike = merges[number]
            gives = [tuple(self._resolved(op.inputs[side]) for op in alike) for side in (0, 1)]
            blocks = [
                self._block((*scope, (number, side)), placed, merges, outer) for side in (0, 1)
            ]
            bodies = [
                replace(block, gives=given, takes=dict(self._taken((number, side))))
                for side, (block, given) in enumerate(zip(blocks, gives, strict=True))
            ]
            predicate = next(e for e in alike[0].inputs if e.argument == _PREDICATE)
            condition = self._resolved(predicate)._replace(argument=None)
            outside = (source for body in bodies for source in body.takes.values())
            reads = dict.fromkeys((condition, *outside))
            made = tuple(edge for op in alike for edge in op.outputs)
            name = alike[0].name
            ops.append(replace(alike[0], schema="", inputs=tuple(reads), outputs=made, args={}))
            statements[name] = Statement(
                condition, (bodies[0], bodies[1]), tuple(edge for edge, _ in made)
            )
        ordered = in_call_order(ops, self.lines)
        if len(ordered) < len(ops):
            waiting = next(iter(statements.values()))
            raise _UnclearError(self._predicate_behind(waiting))
        return ConditionalBlock(tuple(ordered), statements)

    def _taken(self, step: Step) -> Iterator[tuple[str, TracedInput]]:
        for edge, (into, source) in self.parts.items():
            if into == step:
                yield edge, source

    def _predicate_behind(self, statement: Statement) -> str:
        return predicate_of(self.makers[statement.outputs[0]])


def _common_prefix(scopes: Sequence[Scope]) -> Scope:
    if not scopes:
        return ()
    shortest = min(scopes, key=len)
    for depth, step in enumerate(shortest):
        if any(scope[depth] != step for scope in scopes):
            return shortest[:depth]
    return shortest


class _Joined:
    """Groups of connected members (union-find)."""

    def __init__(self) -> None:
        self._over: dict[tuple[str, str], tuple[str, str]] = {}

    def find(self, member: tuple[str, str]) -> tuple[str, str]:
        over = self._over.setdefault(member, member)
        while over != self._over[over]:
            self._over[over] = self._over[self._over[over]]
            over = self._over[over]
        return over

    def join(self, member: tuple[str, str], other: tuple[str, str]) -> None:
        self._over[self.find(member)] = self.find(other)

    def members(self) -> list[tuple[str, str]]:
        return list(self._over)
