"""Write one function ``augment(images, seed)`` for identical views, and call it for each view.

Views are identical if their chains start with the same images, if no other node uses their
intermediate values, and if their code is equal after renaming the variables and subtracting the
first seed of the chain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.emit.core.code import Lines
from workbench.emit.core.naming import IMAGES, ViewCall, name_chain
from workbench.emit.core.python import INDENT, signature
from workbench.emit.core.user_functions import nodes_within
from workbench.graph.model import Node, Port, Source

if TYPE_CHECKING:
    from workbench.emit.emitter import Emitter

_LEAST = 4
"""Minimum number of lines of a chain that becomes a function."""


@dataclass(frozen=True, slots=True)
class _Chain:
    nodes: Sequence[Node]
    start: Port
    end: Port
    first_seed: int
    lines: Lines
    """Lines of the function body, including the return statement."""


def view_functions(emitter: Emitter) -> tuple[Lines, list[Node]]:
    """Return the code of the view functions, and the nodes with each view's chain as one call.

    Side effect: renames variables of ``emitter``, so that the pipeline's code uses the results of
    these calls.
    """
    alike: dict[tuple[str, ...], list[_Chain]] = {}
    flows = emitter.resolved.types
    ends = [port for port in emitter.graph.outputs.values() if flows[port].kind == "image"]
    for end in ends if len(ends) > 1 and IMAGES not in emitter.taken else ():
        chain = _view_chain(emitter, end)
        if chain is not None and len(chain.lines.text) > _LEAST:
            alike.setdefault((str(chain.start), *chain.lines.text), []).append(chain)
    functions, calls, names = Lines(), dict[str, ViewCall](), list[str]()
    for chains in filter(lambda each: len(each) > 1, alike.values()):
        name = "augment" if not names else f"augment_{len(names) + 1}"
        while name in emitter.taken:
            name += "_"
        names.append(name)
        text = "\n".join(chains[0].lines.text)
        draws = bool(emitter.seed_name) and re.search(rf"\b{emitter.seed_name}\b", text)
        parameters = [f"{IMAGES}: DataNode", *[f"{emitter.seed_name}: int"] * bool(draws)]
        head = signature(name, ", ".join(parameters), "DataNode")
        nodes: dict[str, range] = {}
        for chain in chains:
            nodes |= chain.lines.shifted(len(head))
            call = ViewCall(
                chain.end.node,
                "copy",
                inputs={IMAGES: chain.start},
                seed=chain.first_seed if draws else None,
                function=name,
                gives=chain.end.output,
            )
            calls |= {node.id: call for node in chain.nodes}
        functions.add(Lines([*head, *chains[0].lines.text, "", ""], nodes))
    ordered = [
        calls.get(node.id, node)
        for node in emitter.ordered
        if node.id not in calls or calls[node.id].id == node.id
    ]
    if calls:
        emitter.rename(ordered, names)
    return functions, ordered


def _view_chain(emitter: Emitter, end: Port) -> _Chain | None:
    """Return the chain of an output, or None unless it starts at exactly one image port."""
    readers: dict[str, list[str]] = {}
    for node in emitter.ordered:
        for port in node.inputs.values():
            readers.setdefault(port.node, []).append(node.id)
    for port in emitter.graph.outputs.values():
        readers.setdefault(port.node, []).append("")
    found = {end.node: emitter.graph.node(end.node)} if len(readers[end.node]) == 1 else {}
    for node in reversed(emitter.ordered):
        if not isinstance(node, Source) and {*readers.get(node.id, [""])} <= {*found}:
            found[node.id] = node
    nodes = [node for node in emitter.ordered if node.id in found]
    starts = {port for node in nodes for port in node.inputs.values() if port.node not in found}
    if len(starts) != 1:
        return None
    (start,) = starts
    if emitter.resolved.types[start].kind != "image":
        return None
    seeds = [each.seed or 0 for each in nodes_within(nodes) if emitter.catalog[each.op].seeded]
    first = min(seeds, default=0)
    return _Chain(nodes, start, end, first, _lines_of(emitter, nodes, start, end, first))


def _lines_of(
    emitter: Emitter, nodes: Sequence[Node], start: Port, end: Port, first_seed: int
) -> Lines:
    """Return the body of the view function for a chain."""
    outside = emitter.names
    emitter.first_seed = first_seed
    emitter.names = name_chain(
        emitter.catalog, nodes, start, end, emitter.taken, emitter.in_place, emitter.reads
    )
    made = Lines()
    for node in nodes:
        made.add(emitter.node_lines(node))
    made.text.append(f"{INDENT}return {emitter.names[end]}")
    emitter.names, emitter.first_seed = outside, 0
    return made
