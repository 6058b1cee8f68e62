"""Nodes that a loop of the source made again and again -> one region that repeats them.

A loop leaves no trace but its lines: the same ones made each copy. Copies are told by these, and
taken for turns where they differ in nothing but the seeds that ``Emitter.in_loop`` gives them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from workbench.catalog.spec import OPAQUE, Catalog, Value
from workbench.emit.core.naming import is_batch_generator
from workbench.emit.emitter import TURN_SEED
from workbench.errors import GraphEditError
from workbench.graph.control_flow.kinds import (
    CHOICE,
    CONDITION,
    IF,
    ONE_OF,
    REPEAT,
    SOME_OF,
    TIMES,
    kind_of,
)
from workbench.graph.control_flow.wrap import unwrap_region, wrap_in_region
from workbench.graph.edits.edit import free_id
from workbench.graph.edits.rename import rename_node
from workbench.graph.model import Graph, Node, Port, Source, region_of
from workbench.graph.model.node_order import running_order

_TURN = {"math.gt", "math.add"}
"""Operators by whose number a turn can differ: ``times > i``, ``choice * 2 + i``."""


def fold_turns(graph: Graph, catalog: Catalog, places: Mapping[str, str]) -> Graph:
    """The graph with loops as regions; ``places`` has the line that made each node."""
    waiting = [""]
    while waiting:
        scope = waiting.pop(0)
        while (folded := _folded(graph.at_scope(scope), catalog, places)) is not None:
            graph = folded
        waiting += [n.scope(b) for n in graph.at_scope(scope).nodes for b in n.bodies]
    return graph


def _folded(block: Graph, catalog: Catalog, places: Mapping[str, str]) -> Graph | None:
    for copies in _copies(block, catalog, places):
        loop = _loop(block, catalog, copies)
        if loop is not None:
            try:
                return _region(block, catalog, loop)
            except GraphEditError:
                continue
    return None


def _copies(
    block: Graph, catalog: Catalog, places: Mapping[str, str]
) -> Iterator[list[list[Node]]]:
    """Stretches of nodes made by the same lines one after another, the longest first."""
    nodes = [
        node
        for node in running_order(block.nodes)[0]
        if not isinstance(node, Source) and not is_batch_generator(node, catalog)
        if node.op not in OPAQUE and places.get(node.id)
    ]
    lines = [(places[node.id], node.op) for node in nodes]
    for start in range(len(nodes)):
        for length in range((len(nodes) - start) // 2, 0, -1):
            wanted, count = lines[start : start + length], 1
            while lines[start + count * length : start + (count + 1) * length] == wanted:
                count += 1
            if count > 1:
                ends = range(start, start + count * length, length)
                yield [nodes[at : at + length] for at in ends]


@dataclass(frozen=True)
class _Copy:
    """The nodes of one turn, with the generators that feed nothing else."""

    nodes: tuple[Node, ...]
    shape: Any
    """The same for each turn."""
    outside: tuple[Port, ...]
    """What feeds them, in the order of their inputs."""
    numbers: Mapping[str, int]
    """By id which of them it is, at every depth."""
    rights: tuple[Value | None, ...]
    """The numbers in which turns may differ, of those that have one."""

    def port(self, port: Port, other: _Copy) -> Port:
        """The same port of another copy."""
        ids = {number: name for name, number in other.numbers.items()}
        return Port(ids[self.numbers[port.node]], port.output)


@dataclass(frozen=True)
class _Loop:
    first: _Copy
    last: _Copy
    count: int
    ends: Mapping[Port, Port]
    """What the first turn is fed, and the port of it that feeds the next one in its place."""
    gone: frozenset[str]
    """The nodes of the later turns."""
    counting: frozenset[str]
    """The nodes of the first turn whose number is that of the turn."""


def _loop(block: Graph, catalog: Catalog, copies: Sequence[Sequence[Node]]) -> _Loop | None:
    found = [_copy(block, catalog, nodes, turn) for turn, nodes in enumerate(copies)]
    first = found[0]
    ends: dict[Port, Port] = {}
    kept: set[Port] = set()
    for before, copy in pairwise(found):
        if copy.shape != first.shape:
            return None
        for fed, again, start in zip(before.outside, copy.outside, first.outside, strict=True):
            if again == fed:
                kept.add(start)
                continue
            if again.node not in before.numbers:
                return None
            if ends.setdefault(start, before.port(again, first)) != before.port(again, first):
                return None
    if kept & ends.keys() or len({*ends.values()}) < len(ends):
        return None  # two variables that begin or end alike: a region has one of each
    for copy, following in zip(found, [*found[1:], None], strict=True):
        own = {node.id for node in copy.nodes}
        allowed = {first.port(port, copy) for port in ends.values()}
        near = {node.id for node in following.nodes} if following else None
        for edge in block.edges:
            if edge.source.node in own and edge.target not in own:
                wrong = edge.target not in near if near is not None else edge.source not in allowed
                if wrong:
                    return None
        given = {port for port in block.outputs.values() if port.node in own}
        if given and (following is not None or not given <= allowed):
            return None
    gone = frozenset(node.id for copy in found[1:] for node in copy.nodes)
    numbered = [node.id for node in first.nodes if node.op in _TURN]
    counting = set()
    for node_id, rights in zip(
        numbered, zip(*(copy.rights for copy in found), strict=True), strict=True
    ):
        if rights == tuple(range(len(found))):
            counting.add(node_id)
        elif len(set(rights)) > 1:
            return None
    return _Loop(first, found[-1], len(found), ends, gone, frozenset(counting)) if ends else None


def _copy(block: Graph, catalog: Catalog, nodes: Sequence[Node], turn: int) -> _Copy:
    ids, here = {node.id for node in nodes}, {node.id for node in block.nodes}
    fed = dict.fromkeys(port.node for node in nodes for port in node.inputs.values())
    own = [
        block.node(name)
        for name in fed
        if name in here and is_batch_generator(block.node(name), catalog)
        if {edge.target for edge in block.consumers(name)} <= ids
        if name not in {port.node for port in block.outputs.values()}
    ]
    every = (*own, *nodes)
    numbers = {node.id: number for number, node in enumerate(_deep(every))}
    outside: list[Port] = []
    loops, repeats = _depths(block)
    steps = (TURN_SEED * 100**repeats * turn, TURN_SEED * 100**loops * turn)

    def place(port: Port) -> tuple[Any, ...]:
        if port.node in numbers:
            return numbers[port.node], port.output
        region, _, body = port.node.rpartition(".")
        if region in numbers:
            return numbers[region], body, port.output
        outside.append(port)
        return ("outside",)

    def shape(node: Node, top: bool) -> tuple[Any, ...]:
        args = dict(node.args)
        if top and node.op in _TURN:
            args.pop("right", None)  # told in ``rights``
        step = steps[not is_batch_generator(node, catalog)]
        inputs = [(name, place(port)) for name, port in sorted(node.inputs.items())]
        bodies = [
            (
                name,
                body.inputs,
                [shape(each, False) for each in body.nodes],
                [(output, place(port)) for output, port in body.outputs.items()],
            )
            for name, body in node.bodies.items()
        ]
        seed = None if node.seed is None else node.seed - step
        return node.op, sorted(args.items(), key=str), inputs, seed, node.device, bodies

    shapes = [shape(node, True) for node in every]
    rights = tuple(node.args.get("right") for node in every if node.op in _TURN)
    return _Copy(every, shapes, tuple(outside), numbers, rights)


def _deep(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for body in node.bodies.values():
            yield from _deep(body.nodes)


def _depths(block: Graph) -> tuple[int, int]:
    """In how many loops a block stands, and in how many that draw anew."""
    scope, loops, repeats = block.scope, 0, 0
    while scope:
        region = block.whole.node(region_of(scope))
        repeated = kind_of(region).repetitions(region) is not None
        repeats += repeated
        loops += repeated or kind_of(region).iterations(region) > 1
        scope = block.whole.scope_of(region.id)
    return loops, repeats


def _region(block: Graph, catalog: Catalog, loop: _Loop) -> Graph:
    """The whole graph with the first turn in a region in place of all."""
    last = {loop.first.port(port, loop.last): port for port in loop.ends.values()}
    nodes = tuple(node for node in block.nodes if node.id not in loop.gone)
    block = replace(block, nodes=nodes).rewire(last)
    ids = [node.id for node in loop.first.nodes]
    for name in loop.counting:
        test = block.node(name)
        made = _drawn(block, catalog, test, ids, loop) or _shuffled(block, catalog, test, ids, loop)
        if made is None:
            raise GraphEditError(f"What {name} decides is no region.")
        return made
    passing = {end: start for start, end in loop.ends.items()}
    whole, region = wrap_in_region(block.whole, catalog, ids, REPEAT.op, passing)
    return _with_args(whole, region, {TIMES: loop.count})


def _with_args(whole: Graph, region: str, args: Mapping[str, Any]) -> Graph:
    inside = whole.at_scope(whole.scope_of(region))
    node = inside.node(region)
    return inside.replace_node(replace(node, args=args)).whole


def _drawn(
    block: Graph, catalog: Catalog, test: Node, ids: Sequence[str], loop: _Loop
) -> Graph | None:
    """``if times > i`` around all of the turn: a number that is drawn for each sample."""
    branches = [name for name in ids if name != test.id]
    if test.op != "math.gt" or len(branches) != 1 or "data" not in test.inputs:
        return None
    branch = block.node(branches[0])
    if branch.op != IF.op or branch.bodies["else"].nodes:
        return None
    if branch.inputs[CONDITION] != Port(test.id, "output"):
        return None
    passing: dict[Port, Port] = {}
    for start, end in loop.ends.items():
        passed = branch.bodies["else"].outputs[end.output]
        made = branch.bodies["then"].outputs[end.output]
        if branch.inputs[passed.output] != start or made.node == branch.scope("then"):
            return None
        passing[made] = start
    here, inside = unwrap_region(block, catalog, branch.id, "then")
    scope = block.scope
    here = replace(here, nodes=tuple(node for node in here.nodes if node.id != test.id))
    whole, region = wrap_in_region(here.whole, catalog, inside, REPEAT.op, passing)
    whole = _with_args(whole, region, {"most": loop.count})
    here = whole.at_scope(scope)
    node = here.node(region)
    fed = {**node.inputs, TIMES: test.inputs["data"]}
    return here.replace_node(replace(node, inputs=fed)).whole


def _shuffled(
    block: Graph, catalog: Catalog, add: Node, ids: Sequence[str], loop: _Loop
) -> Graph | None:
    """``lookup_table(choice * count + i)`` over one of several: some of them in any order."""
    ops = {block.node(name).op: block.node(name) for name in ids}
    counted = {"math.mul", "math.add", "lookup_table"}
    if add.op != "math.add" or set(ops) - counted not in ({ONE_OF.op}, {IF.op, "math.eq"}):
        return None
    mul, table = ops["math.mul"], ops["lookup_table"]
    region = ops.get(ONE_OF.op) or _one_of_two(ops[IF.op], ops["math.eq"])
    if region is None or len(ids) != len(ops) or mul.args.get("right") != loop.count:
        return None
    links = (region.inputs[CHOICE].node, table.inputs["data"].node, add.inputs["data"].node)
    if links != (table.id, add.id, mul.id):
        return None
    made = replace(region, op=SOME_OF.op, args={"count": loop.count, "shuffled": True})
    values = tuple(number for order in SOME_OF.orders(made) for number in order)
    if table.args.get("keys") != tuple(range(len(values))) or table.args.get("values") != values:
        return None
    inputs = {CHOICE: mul.inputs["data"]}
    names = {}
    for name, port in region.inputs.items():
        end = loop.ends.get(port)
        if name != CHOICE:
            names[name] = end.output if end is not None else name
            inputs[names[name]] = port
    if len(inputs) != len(region.inputs):
        return None
    bodies = {
        name: body.renamed(region.scope(name), region.scope(name), names)
        for name, body in region.bodies.items()
    }
    made = replace(made, inputs=inputs, bodies=bodies)
    helpers = {node.id for node in ops.values()} - {region.id}
    for name, port in inputs.items():
        users = [body for body in bodies if name in bodies[body].inputs]
        if name != CHOICE and len(users) == 1 and _feeds_only(block, port, region, catalog):
            scope, body = region.scope(users[0]), bodies[users[0]]
            drawn = block.node(port.node)
            fed = {Port(scope, name): port}
            nodes = tuple(node.rewire(fed) for node in body.nodes)
            taken = tuple(each for each in body.inputs if each != name)
            bodies[users[0]] = replace(body, nodes=(drawn, *nodes), inputs=taken)
            helpers.add(drawn.id)
    left = {name: port for name, port in inputs.items() if port.node not in helpers}
    made = replace(made, inputs=left, bodies=bodies)
    nodes = tuple(
        made if node.id == region.id else node for node in block.nodes if node.id not in helpers
    )
    whole = replace(block, nodes=nodes).whole
    return rename_node(whole, region.id, free_id(whole, SOME_OF.op))


def _one_of_two(branch: Node, test: Node) -> Node | None:
    """``if option == 0`` with an ``else`` as one of two; None for another condition."""
    if branch.inputs[CONDITION] != Port(test.id, "output") or test.args.get("right") != 0:
        return None
    names = {"then": "option_0", "else": "option_1"}
    bodies = {
        names[name]: body.renamed(branch.scope(name), branch.scope(names[name]))
        for name, body in branch.bodies.items()
    }
    inputs = {name: port for name, port in branch.inputs.items() if name != CONDITION}
    return replace(
        branch, op=ONE_OF.op, inputs={CHOICE: test.inputs["data"], **inputs}, bodies=bodies
    )


def _feeds_only(block: Graph, port: Port, node: Node, catalog: Catalog) -> bool:
    """Whether a port is that of a generator which feeds one input of a node and nothing else."""
    drawn = next((each for each in block.nodes if each.id == port.node), None)
    if drawn is None or not is_batch_generator(drawn, catalog):
        return False
    used = [edge.target for edge in block.consumers(drawn.id)]
    return used == [node.id] and port not in block.outputs.values()
