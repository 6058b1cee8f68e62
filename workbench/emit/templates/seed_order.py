"""Generate a pipeline that registers random calls in the order of the script's pipeline.

It is run to find the seeds of the random calls inside automatic augmentation, which have no seeds
of their own: DALI assigns seeds in the order in which it registers the calls, from the outputs
backwards. The pipeline has placeholder functions instead of automatic augmentation, so it is built
in a thirtieth of the time.
"""

from __future__ import annotations

from workbench.emit.core.code import Lines
from workbench.emit.core.python import INDENT, call, literal
from workbench.emit.core.user_functions import plugin_imports
from workbench.emit.emitter import Emitter
from workbench.emit.templates.template_parts import (
    pipeline_decorator,
    return_statement,
)
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.model import Node, Port
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import SourceKind

_HEAD = """\
from typing import Any

from nvidia.dali import fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode


{finders}{functions}{decorator}
def ordered(device, base_seed, draw):
"""


def emit_seed_order(resolved: ResolvedGraph) -> str:
    """Return the code of ``ordered(device, base_seed, draw)``, which defines the pipeline.

    ``draw(node, data)`` replaces each automatic augmentation. It must create the same random calls,
    and return ``data``. No data is read, because the pipeline is never built.
    """
    graph, ordered = resolved.graph, resolved.nodes
    emitter = _Emitter(resolved, ordered, taken=["draw", "ordered"])
    body = Lines()
    for node in ordered:
        body.add(emitter.node_lines(node))
    given = parameters(ordered)
    kinds = dict.fromkeys(given.values())
    head = _HEAD.format(
        finders="".join(map(_placeholder_finders, kinds)),
        functions="".join(f"{line}\n" for line in plugin_imports(emitter.every_node()))
        + emitter.functions(),
        decorator=pipeline_decorator(ordered),
    )
    data = [f'{INDENT}{name} = ""' for name in given]
    tail = return_statement([emitter.names[port] for port in graph.outputs.values()])
    return head + "\n".join([*data, *body.text, *tail]) + "\n"


def _placeholder_finders(kind: SourceKind) -> str:
    """Return functions that have the names of the script's data functions, but read nothing."""
    find = f"def {kind.find.__name__}(data):\n{INDENT}return {kind.unread!r}\n\n\n"
    if kind.reader is None:
        return find
    read = f"{INDENT}return {', '.join(['fn.external_source()'] * len(kind.outputs))}"
    return f"{find}def {kind.reader.__name__}(**options):\n{read}\n\n\n"


class _Emitter(Emitter):
    def call_lines(self, node: Node) -> list[str]:
        if not self.catalog[node.op].module:
            return super().call_lines(node)
        target = self.names[Port(node.id, "output")]
        data = self.names[node.inputs["data"]]
        return call(target, "draw", [literal(node.id), data], self.indent)
