"""Find the differences between two graphs: nodes, arguments and inputs, outputs, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any, Literal

from workbench.catalog.spec import Catalog
from workbench.graph.edits.edit import free_seed, renamed_nodes, renamed_ports
from workbench.graph.model import Body, Graph, Node, Port, Settings, Source

Change = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class GraphDifference:
    """One difference between two graphs.

    Parameters
    ----------
    change:
        ``added``: only in the second graph; ``removed``: only in the first; ``changed``: in both.
    node:
        Id of the node; for a body's input or output, the scope of the body; empty for the graph.
    what:
        What differs: an argument, an input, ``output NAME``, a setting, or ``name`` for a renamed
        node, whose id in the second graph is ``node``. Empty for the node itself.
    before, after:
        Both values as text. Empty if there is no value: an argument then has its default.
    """

    change: Change
    node: str
    what: str = ""
    before: str = ""
    after: str = ""


class GraphDifferences(tuple[GraphDifference, ...]):
    """Differences from one graph to another, returned by ``graph.diff``. Notebooks display a table.

    ::

        for each in graph.diff(graph.flip()):
            print(each.change, each.node, each.what, each.before, each.after)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "no differences"
        rows = [(each.change, each.node or "graph", each.what, each.before, each.after)
                for each in self]  # fmt: skip
        return "\n".join(
            " ".join(filter(None, (change, node, what))) + f": {before or '-'} -> {after or '-'}"
            for change, node, what, before, after in rows
        )

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{each.change}</td><td>{escape(each.node or 'graph')}</td>"
            f"<td>{escape(each.what)}</td><td>{escape(each.before[:80])}</td>"
            f"<td>{escape(each.after[:80])}</td></tr>"
            for each in self
        )
        head = "<tr><th>change</th><th>node</th><th>what</th><th>before</th><th>after</th></tr>"
        return f"<table>{head}{cells}</table>" if self else "<p>no differences</p>"


def graph_differences(first: Graph, second: Graph) -> GraphDifferences:
    """Return the differences from ``first`` to ``second``, or an empty tuple if they are equal.

    Nodes are matched by id. Nodes that differ only in their ids are matched too, as renamed.
    """
    if first == second:
        return GraphDifferences()
    names = find_renames(first, second)
    renamed = [GraphDifference("changed", new, "name", old, new) for old, new in names.items()]
    first = with_ids_of(first, second)
    found = (*renamed, *_nodes(first, second), *_bodies(first, second), *_graph(first, second))
    return GraphDifferences(found or [GraphDifference("changed", "", "order of the nodes")])


def value_text(value: Any) -> str:
    """Format a value of a graph as text, without rounding."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return ", ".join(map(value_text, value)) or "()"
    return value or "''" if isinstance(value, str) else str(value)


def _nodes(first: Graph, second: Graph) -> Iterator[GraphDifference]:
    ours = {node.id: node for node in first.walk()}
    theirs = {node.id: node for node in second.walk()}
    for node_id, node in theirs.items():
        if node_id not in ours:
            yield GraphDifference("added", node_id, after=node.op)
    for node_id, node in ours.items():
        if node_id not in theirs:
            yield GraphDifference("removed", node_id, before=node.op)
    for node_id, node in theirs.items():
        if node_id in ours:
            yield from _node(ours[node_id], node)
            if (place := first.scope_of(node_id)) != (now := second.scope_of(node_id)):
                yield GraphDifference(
                    "changed", node_id, "inside", place or "graph", now or "graph"
                )


def _node(first: Node, second: Node) -> Iterator[GraphDifference]:
    if first.op != second.op:
        yield GraphDifference("changed", first.id, "operator", first.op, second.op)
    ours, theirs = ({**node.args, **node.inputs} for node in (first, second))
    yield from _values(first.id, ours, theirs, "")
    for name in ("device", "seed"):
        yield from _values(first.id, _given(first, name), _given(second, name), "")
    if first.muted != second.muted:
        words = ["muted" if node.muted else "runs" for node in (first, second)]
        yield GraphDifference("changed", first.id, "muted", *words)
    for name in ("kind", "dataset"):
        ours, theirs = (
            _given(node, name) if isinstance(node, Source) else {} for node in (first, second)
        )
        yield from _values(first.id, ours, theirs, "")


def _given(node: Node, name: str) -> dict[str, Any]:
    value = getattr(node, name)
    return {} if value is None else {name: value}


def _bodies(first: Graph, second: Graph) -> Iterator[GraphDifference]:
    """Yield the differences between bodies: their inputs, outputs and titles."""
    ours, theirs = dict(first.bodies()), dict(second.bodies())
    new = {node.id for node in second.walk()} - {node.id for node in first.walk()}
    removed = {node.id for node in first.walk()} - {node.id for node in second.walk()}
    for scope in dict.fromkeys((*theirs, *ours)):
        if scope.rpartition(".")[0] in new | removed:
            continue
        before, after = ours.get(scope, Body()), theirs.get(scope, Body())
        if (scope in ours) != (scope in theirs):
            yield GraphDifference("added" if scope in theirs else "removed", scope)
        if before.inputs != after.inputs:
            texts = [", ".join(body.inputs) for body in (before, after)]
            yield GraphDifference("changed", scope, "inputs", *texts)
        if before.title != after.title:
            yield GraphDifference("changed", scope, "title", before.title, after.title)
        yield from _values(scope, before.outputs, after.outputs, "output ")


def _graph(first: Graph, second: Graph) -> Iterator[GraphDifference]:
    for each in fields(Settings):
        ours, theirs = (
            {each.name: getattr(graph.settings, each.name)} for graph in (first, second)
        )
        yield from _values("", ours, theirs, "")
    for name in ("name", "about"):
        yield from _values("", {name: getattr(first, name)}, {name: getattr(second, name)}, "")


def _values(
    node: str, before: Mapping[str, Any], after: Mapping[str, Any], prefix: str
) -> Iterator[GraphDifference]:
    for name in dict.fromkeys((*before, *after)):
        if name in before and name in after and before[name] == after[name]:
            continue
        texts = [value_text(values[name]) if name in values else "" for values in (before, after)]
        change: Change = "changed"
        if prefix and not (name in before and name in after):  # an argument has a default
            change = "added" if name in after else "removed"
        yield GraphDifference(change, node, f"{prefix}{name}", *texts)


def find_renames(first: Graph, second: Graph) -> dict[str, str]:
    """Map ids in ``first`` to ids in ``second`` for nodes that differ only in their ids.

    If several nodes of a graph are equal, the mapping is ambiguous and they are omitted.
    """
    ours = [node for node in first.walk() if not second.has(node.id)]
    theirs = {node.id: _key(second, node, {}) for node in second.walk() if not first.has(node.id)}
    names: dict[str, str] = {}
    while True:  # the inputs of a consumer name the renamed node by its new id
        left = {node.id: _key(first, node, names) for node in ours if node.id not in names}
        right = {key: each for key, each in theirs.items() if key not in names.values()}
        found = {
            old: new
            for old, contents in left.items()
            for new in right
            if right[new] == contents
            and sum(contents == each for each in left.values()) == 1
            and sum(contents == each for each in right.values()) == 1
        }
        if not found:
            return names
        names |= found


def with_ids_of(graph: Graph, leading: Graph) -> Graph:
    """Return the graph with its nodes renamed to the ids of equal nodes in ``leading``."""
    names = find_renames(graph, leading)
    if not names:
        return graph
    nodes = renamed_nodes(graph.nodes, names)
    return replace(graph, nodes=nodes, outputs=renamed_ports(graph.outputs, names))


def _key(graph: Graph, node: Node, names: Mapping[str, str]) -> tuple[Any, ...]:
    """Return a key that is equal for nodes that differ only in ids and contents of bodies."""
    scope = renamed_ports({"": Port(graph.scope_of(node.id), "")}, names)[""].node
    read = (node.kind, node.dataset) if isinstance(node, Source) else ()
    inputs = renamed_ports(node.inputs, names)
    rest = node.device, node.seed, node.muted
    return node.op, scope, dict(node.args), inputs, tuple(node.bodies), *rest, *read


# Two graphs with the same photos and random values.


def with_seeds_of(graph: Graph, leading: Graph) -> Graph:
    """Return the graph with the seeds and batch size of ``leading``, for equal random values.

    Random values of a node depend only on the graph's seed, the node's seed, the batch and the
    batch size. Nodes with the same id and operator in both graphs therefore get the same values.
    Other nodes get a new seed if one of these nodes has the same seed.
    """
    settings = replace(
        graph.settings, seed=leading.settings.seed, batch_size=leading.settings.batch_size
    )
    paired = {node.id: leading.node(node.id).seed for node in graph.walk() if _has(leading, node)}
    taken = {seed for seed in paired.values() if seed is not None}
    made = replace(graph, settings=settings) if settings != graph.settings else graph
    for node_id, seed in paired.items():
        if made.node(node_id).seed != seed:
            made = made.replace_node(replace(made.node(node_id), seed=seed))
    for node in graph.walk():
        if node.id not in paired and node.seed in taken:
            made = made.replace_node(replace(made.node(node.id), seed=free_seed(made)))
    return made


def differing_random_nodes(first: Graph, second: Graph, catalog: Catalog) -> tuple[str, ...]:
    """Return the ids of random nodes that only one graph has, or whose operators differ.

    Excludes nodes that differ only in their ids, because their random values are equal.
    """
    first = with_ids_of(first, second)
    apart = [
        node.id for node in first.walk() if _is_random(node, catalog) and not _has(second, node)
    ]
    apart += [
        node.id for node in second.walk() if _is_random(node, catalog) and not _has(first, node)
    ]
    return tuple(dict.fromkeys(apart))


def _has(graph: Graph, node: Node) -> bool:
    return graph.has(node.id) and graph.node(node.id).op == node.op


def _is_random(node: Node, catalog: Catalog) -> bool:
    spec = catalog.find(node.op)
    return spec is not None and spec.seeded and not spec.reads
