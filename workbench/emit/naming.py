"""Variable names for the outputs of nodes, as a person would choose them.

A chain that ends in the graph's output ``images`` is called ``images`` all along, as in DALI's own
examples. Where a value is still needed later it keeps its name, and the next one gets its own.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Sequence

from workbench.catalog.spec import Catalog
from workbench.graph.devices import is_generator
from workbench.graph.model import Graph, Node, Port

_KIND_NAMES = {"image": "images", "label": "labels", "mask": "masks"}
RESERVED = frozenset(dir(builtins)) | {
    *("fn", "math", "types", "np", "os", "time", "argparse", "glob", "main", "IMAGES"),
    *("data", "device", "base_seed", "position", "find_files", "random_state", "stage"),
    *("Any", "DataNode", "Pipeline", "pipeline_def", "build_pipeline"),
    *("l", "O", "I"),
}
"""Names that a script or a stage uses otherwise, or that would hide one of Python's own; and those
that are read as numbers (E741 of pycodestyle)."""


def name_outputs(
    graph: Graph, catalog: Catalog, ordered: Sequence[Node], taken: Collection[str] = ()
) -> dict[Port, str]:
    """A variable for every output of the nodes, which stand in running order.

    ``taken`` are names that the source uses otherwise, besides ``RESERVED``.
    """
    taken = RESERVED.union(taken)
    last_use = _last_uses(graph, ordered)
    reached = _reached_outputs(graph, catalog, ordered)
    names: dict[Port, str] = {}
    held: dict[str, Port] = {}  # variable -> the output that it stands for at this line
    for line, node in enumerate(ordered):
        spec = catalog[node.op]

        def busy(name: str, line: int = line) -> bool:
            return name in taken or (name in held and last_use.get(held[name], -1) > line)

        for output in spec.outputs_with(node.inputs):
            port = Port(node.id, output.name)
            ends = reached.get(port, set())
            if output.kind == "encoded":
                name = output.name
            elif is_generator(spec):
                name = node.id
            elif len(ends) == 1 and not ends <= taken:
                name = next(iter(ends))
            else:
                own = node.id if len(spec.outputs) == 1 else f"{node.id}_{output.name}"
                name = _KIND_NAMES.get(output.kind, own)
            if port not in last_use:
                name = f"_{name}"  # as linters like what is unpacked and not used
            if busy(name) or name in (names.get(Port(node.id, o.name)) for o in spec.outputs):
                name = node.id if len(spec.outputs) == 1 else f"{node.id}_{output.name}"
            while busy(name):
                name += "_"
            names[port] = name
            held[name] = port
    return names


def _last_uses(graph: Graph, ordered: Sequence[Node]) -> dict[Port, int]:
    uses = {port: len(ordered) for port in graph.outputs.values()}
    for line, node in enumerate(ordered):
        for port in node.inputs.values():
            uses[port] = max(uses.get(port, -1), line)
    return uses


def _reached_outputs(
    graph: Graph, catalog: Catalog, ordered: Sequence[Node]
) -> dict[Port, set[str]]:
    """For each node output, the graph outputs that are made from it through positional inputs.

    Only through those of the output's kind: the anchor of a crop does not become images.
    """
    reached: dict[Port, set[str]] = {}
    for name, port in graph.outputs.items():
        reached.setdefault(port, set()).add(name)
    for node in reversed(ordered):
        spec = catalog[node.op]
        kinds = {port.name: port.kind for port in spec.inputs}
        for name, source in node.inputs.items():
            for output in spec.outputs:
                if kinds.get(name) == output.kind:
                    ends = reached.get(Port(node.id, output.name), set())
                    reached.setdefault(source, set()).update(ends)
    return reached
