"""Every usable operator in a graph that runs, fed as the catalogue says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from textwrap import dedent
from typing import Any

from tests.helpers import CATALOG
from workbench.catalog import OpSpec
from workbench.emit.core.python import assigned
from workbench.emit.emitter import Emitter
from workbench.graph import Graph, Node, Port
from workbench.graph.edits.edit import new_node, start_graph
from workbench.graph.fixes.unfed_inputs import feed_node
from workbench.graph.resolved import ResolvedGraph

USABLE = [
    op
    for op in CATALOG.values()
    if op.unusable is None and not op.follows and (op.name == "readers.file" or not op.reads)
    if op.category != "audio" and op.name not in ("io.file.read", "decoders.video")
]
"""Without what follows a geometric operator, and readers of and work on other data than photos."""


def placed(op: OpSpec, **settings: object) -> tuple[Graph, str]:
    """Reader, decoder and the operator, with all of its outputs; and the node's id.

    What it needs comes from the nearest output that fits, or from the node that the catalogue
    names.
    """
    graph = start_graph(CATALOG)
    if op.name.startswith("readers.") or op.name == "decoders.image":
        node_id = "reader" if op.name.startswith("readers.") else "decode"
    else:
        node = new_node(graph, CATALOG, op.name)
        graph = replace(graph, nodes=(*graph.nodes, node))
        graph, node_id = feed_node(graph, CATALOG, node.id), node.id
    given = op.outputs_with(graph.node(node_id).inputs, graph.node(node_id).args)
    outputs = {f"out_{output.name}": Port(node_id, output.name) for output in given}
    changed = replace(graph.settings, **settings) if settings else graph.settings  # type: ignore[arg-type]
    return replace(graph, outputs=outputs, settings=changed), node_id


def dali_function(op: OpSpec) -> Callable[..., Any]:
    """What DALI's user calls, with inputs and fixed or drawn values: ``fn``, or an expression."""
    from nvidia.dali import fn, math, types

    if not op.expression:
        function: Any = fn
        for part in op.name.split("."):
            function = getattr(function, part)
        return lambda *inputs, **values: function(*inputs, **values)

    def written(*inputs: Any, **values: Any) -> Any:
        names = {port.name: value for port, value in zip(op.inputs, inputs, strict=False)}
        args = {k: v for k, v in values.items() if isinstance(v, bool | int | float | str)}
        args |= {k: v.name for k, v in values.items() if isinstance(v, types.DALIDataType)}
        names |= {name: value for name, value in values.items() if name not in args}
        node = Node("it", op.name, args, {name: Port(name, "output") for name in names})
        emitter = Emitter(ResolvedGraph(Graph(), CATALOG), [])
        emitter.names = {Port(name, "output"): name for name in names}
        line = "\n".join(assigned("made", emitter.expression(node, {})))
        known = {"math": math, "types": types, **names}
        exec(dedent(line), known)  # the emitter's own text
        return known["made"]

    return written
