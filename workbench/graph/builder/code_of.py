"""The method calls that build a graph: written, read back without executing, and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.catalog import load_catalog
from workbench.errors import WorkbenchError
from workbench.graph.builder.call_reader import read_calls
from workbench.graph.builder.data_node import deferred_checks
from workbench.graph.builder.method_calls import (
    NotWritableError,
    Spelled,
    literal,
    order_of,
    write_calls,
)
from workbench.graph.builder.read import reading
from workbench.graph.checks.check import check_graph
from workbench.graph.model import Graph, Node
from workbench.graph.variants.difference import graph_differences
from workbench.sources import Datasets

_MOST_ROUNDS = 8


def code_of(graph: Graph, datasets: Datasets, data: Mapping[str, str]) -> str:
    """Statements after which ``graph`` is this graph, but for the order of its nodes.

    ``data`` has for each parameter of ``datasets`` what ``workbench.read`` is given, as text. Ids
    and seeds are written where they would be others by themselves. Raises NotWritableError, which
    says why, where no calls give it, which includes every graph with a fault.
    """
    catalog, spelled = load_catalog(), Spelled()
    muted = [node for node in graph.walk() if node.muted]
    wanted = graph
    for node in muted:
        wanted = wanted.replace_node(replace(node, muted=False))
    if faults := check_graph(wanted, catalog):
        raise NotWritableError(f"it has a fault: {faults[0]}")
    try:
        for round_ in range(_MOST_ROUNDS):
            text = write_calls(wanted, catalog, data, spelled)
            made = _built(text, wanted, datasets)
            more = _to_spell(wanted, made, every=round_ > _MOST_ROUNDS - 4)
            if more.names <= spelled.names and more.seeds <= spelled.seeds:
                break
            spelled = Spelled(spelled.names | more.names, spelled.seeds | more.seeds)
        fixes = [*_fixes(wanted, made), *(f"[{literal(node.id)}].mute()" for node in muted)]
        if fixes:
            text += "".join(f"graph = graph{fix}\n" for fix in fixes)
            made = _built(text, graph, datasets)
    except (
        WorkbenchError,
        AttributeError,
        TypeError,
        ValueError,
        KeyError,
        RecursionError,
    ) as error:
        raise NotWritableError(str(error).partition("\n")[0] or "it is too deep") from None
    apart = graph_differences(ordered(graph), ordered(made))
    if apart or [*graph.outputs] != [*made.outputs]:
        one = apart[0] if apart else None
        where = f"{one.node} {one.what}".strip() if one else "the order of its outputs"
        raise NotWritableError(f"calls would give another graph: {where}")
    return text


def _built(text: str, graph: Graph, datasets: Datasets) -> Graph:
    """The graph that calls build; their reader is given the data of the graph's own."""
    name = graph.sources[0].dataset

    def read(_: object, **options: object) -> Graph:
        return reading({name: datasets[name]}, options)

    with deferred_checks():
        return read_calls(text, read)


def _pairs(wanted: Graph, made: Graph) -> Iterator[tuple[Node, Node]]:
    """The nodes of both graphs that stand in the same place, from the outputs on."""
    seen: set[str] = set()
    waiting = [
        (port, made.outputs[name]) for name, port in wanted.outputs.items() if name in made.outputs
    ]
    while waiting:
        port, other = waiting.pop()
        if not wanted.has(port.node) or not made.has(other.node):
            continue
        if port.node in seen:
            continue
        seen.add(port.node)
        one, two = wanted.node(port.node), made.node(other.node)
        yield one, two
        waiting += [(p, two.inputs[name]) for name, p in one.inputs.items() if name in two.inputs]
        for name, body in one.bodies.items():
            if name in two.bodies:
                theirs = two.bodies[name].outputs
                waiting += [(p, theirs[o]) for o, p in body.outputs.items() if o in theirs]


def _to_spell(wanted: Graph, made: Graph, every: bool) -> Spelled:
    """Ids that came out otherwise, and the seed that did so first, or every one."""
    pairs = list(_pairs(wanted, made))
    names = {one.id for one, two in pairs if one.id != two.id}
    place = {node.id: index for index, node in enumerate(made.walk())}
    apart = sorted(
        (place[two.id], one.id) for one, two in pairs if one.seed not in (two.seed, None)
    )
    return Spelled(
        frozenset(names), frozenset(node_id for _, node_id in apart[: None if every else 1])
    )


def _fixes(wanted: Graph, made: Graph) -> Iterator[str]:
    """What gives nodes their ids and seeds that cannot be given them where they are made."""
    pairs = list(_pairs(wanted, made))
    taken = {node.id for node in made.walk()}
    waiting = {two.id: one.id for one, two in pairs if one.id != two.id}
    while free := [old for old, new in waiting.items() if new not in taken]:
        for old in free:
            new = waiting.pop(old)
            taken = taken - {old} | {new}
            yield f"[{literal(old)}].rename({literal(new)})"
    for one, two in pairs:
        if one.seed != two.seed and one.seed is not None:
            yield f"[{literal(one.id)}].set(seed={literal(one.seed)})"


def ordered(graph: Graph) -> Graph:
    """The graph with the nodes of each body in an order of their ids."""

    def sort(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(
            replace(
                node,
                bodies={
                    name: replace(body, nodes=sort(body.nodes))
                    for name, body in node.bodies.items()
                },
            )
            for node in order_of(nodes)
        )

    return replace(graph, nodes=sort(graph.nodes))
