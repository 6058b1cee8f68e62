"""``if`` after ``if``, each where a table has the number that was drawn -> one ``some_of``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from workbench.catalog.spec import Value
from workbench.graph.control_flow.kinds import CHOICE, CONDITION, IF, MOST_OPTIONS, SOME_OF
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Body, Graph, Node, Port
from workbench.graph.model.node_order import running_order
from workbench.names import free_name

_TABLE = "lookup_table"


def fold_subsets(graph: Graph) -> Graph:
    """The graph with each such chain, at every depth, as one region."""
    waiting = [""]
    while waiting:
        scope = waiting.pop(0)
        while (folded := _folded(graph.at_scope(scope))) is not None:
            graph = folded
        waiting += [n.scope(b) for n in graph.at_scope(scope).nodes for b in n.bodies]
    return graph


def _folded(block: Graph) -> Graph | None:
    by_draw: dict[Port, list[Node]] = {}
    for node in running_order(block.nodes)[0]:
        table = _table(block, node)
        if table is not None:
            by_draw.setdefault(table.inputs["data"], []).append(node)
    for choice, branches in by_draw.items():
        made = _region(block, choice, branches)
        if made is not None:
            return made
    return None


def _table(block: Graph, branch: Node) -> Node | None:
    """The lookup that decides in an ``if`` without ``else`` of one output, or None."""
    if branch.op != IF.op or branch.bodies["else"].nodes or len(branch.bodies["else"].outputs) != 1:
        return None
    port = branch.inputs.get(CONDITION)
    table = next((node for node in block.nodes if port == Port(node.id, "output")), None)
    if table is None or table.op != _TABLE or set(table.inputs) != {"data"}:
        return None
    keys, values = table.args.get("keys"), table.args.get("values")
    if not isinstance(keys, tuple) or values != (1,) * len(keys):
        return None
    known = set(table.args) == {"keys", "values", "dtype"} and table.args["dtype"] == "BOOL"
    return table if known and len(block.consumers(table.id)) == 1 else None


def _region(block: Graph, choice: Port, branches: Sequence[Node]) -> Graph | None:
    draw = next((node for node in block.nodes if node.id == choice.node), None)
    if draw is None or draw.op != SOME_OF.random_op or draw.inputs:
        return None
    tables = [block.node(node.inputs[CONDITION].node) for node in branches]
    places = _options([table.args["keys"] for table in tables], draw.args.get("population"))
    links = _links(block, branches)
    if places is None or links is None:
        return None
    count, options, numbers = places
    start, name = links[0][0], next(iter(branches[0].bodies["then"].outputs))
    region = Node(free_id(block, SOME_OF.op), SOME_OF.op, {"count": count, "shuffled": False})
    inputs, bodies = {CHOICE: choice, name: start}, {}
    for number in range(options):
        scope = region.scope(f"option_{number}")
        if number not in numbers:
            bodies[f"option_{number}"] = Body((), {name: Port(scope, name)}, (name,))
            continue
        at = numbers.index(number)
        node, fed = branches[at], links[at][0]
        names = {}
        for into, port in node.inputs.items():
            if into != CONDITION:
                names[into] = (
                    name
                    if port == fed
                    else free_name(into, {n for n, p in inputs.items() if p != port})
                )
                inputs.setdefault(names[into], port)
        then = node.bodies["then"].renamed(node.scope("then"), scope, names)
        (output,) = then.outputs.values()
        taken = dict.fromkeys((*then.inputs, name))
        bodies[f"option_{number}"] = Body(then.nodes, {name: output}, tuple(taken))
    region = replace(region, inputs=inputs, bodies=bodies)
    end, made = links[-1][1], Port(region.id, name)
    gone = {node.id for node in (*branches, *tables)}
    put = block.put(branches[-1].id, region)
    nodes = tuple(node for node in put.nodes if node is region or node.id not in gone)
    return replace(put, nodes=nodes).rewire({end: made}).whole


def _links(block: Graph, branches: Sequence[Node]) -> list[tuple[Port, Port]] | None:
    """What each takes in and passes on, and what it gives; None where they are no chain."""
    links: list[tuple[Port, Port]] = []
    for node in branches:
        (output, passed), *_ = node.bodies["else"].outputs.items()
        link = node.inputs[passed.output], Port(node.id, output)
        if links:
            before = links[-1][1]
            others = {edge.target for edge in block.consumers(before.node)} - {node.id}
            if link[0] != before or others or before in block.outputs.values():
                return None
        links.append(link)
    return links


def _options(tables: Sequence[Value], population: object) -> tuple[int, int, list[int]] | None:
    """How many run, of how many, and which of them the tables are of; None for other tables."""
    for options in range(max(2, len(tables)), MOST_OPTIONS + 1):
        for count in range(1, options + 1):
            bodies = {f"option_{number}": Body() for number in range(options)}
            region = Node("", SOME_OF.op, {"count": count}, bodies=bodies)
            if SOME_OF.order_count(region) != population:
                continue
            drawn: list[Value] = [
                tuple(at for at, order in enumerate(SOME_OF.orders(region)) if number in order)
                for number in range(options)
            ]
            found = [drawn.index(table) for table in tables if table in drawn]
            if count == options:  # all tables are the same
                found = list(range(len(tables)))
            rising = all(one < other for one, other in pairwise(found))
            if len(found) == len(tables) and rising:
                return count, options, found
    return None
