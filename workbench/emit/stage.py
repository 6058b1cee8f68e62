"""Part of a graph -> a pipeline source that the engine runs for the preview.

The calls are those of the script. What comes from outside the part is fed through
``external_source``; random operators start at ``position`` (batch * batch_size), so that a stage
built for batch 7 draws what the script draws in batch 7.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from workbench.catalog.spec import Catalog, Device
from workbench.emit.code import Code
from workbench.emit.emitter import Emitter
from workbench.emit.parts import FIND_FILES
from workbench.emit.python import INDENT, call
from workbench.graph.model import Graph, Port, topological

_IMPORTS = """\
import os
from typing import Any

import numpy as np
from nvidia.dali import fn, math, pipeline_def, types

"""

_RANDOM_STATE = '''\
def random_state(seed: int, position: int) -> Any:
    """Philox(key=seed, sequence=position): where DALI's random operators stand at that sample."""
    key = [seed & 0xFFFFFFFF, seed >> 32]
    words = [*key, 0, 0, position & 0xFFFFFFFF, position >> 32, 0]
    return types.Constant(np.array(words, np.uint32), device="cpu")


'''

_SIGNATURE = """\
@pipeline_def
def stage(data: str, device: str, base_seed: int, position: int):
"""


def emit_stage(
    graph: Graph,
    catalog: Catalog,
    nodes: Collection[str],
    taps: Sequence[Port],
    feeds: Mapping[Port, Device],
) -> Code:
    """Code of ``stage(data, device, base_seed, position)`` for some nodes of a sound graph.

    ``taps`` are the outputs it gives, in order; ``feeds`` are the outputs of other nodes that it
    takes in, each through an external source named ``node.output`` on that device.
    """
    ordered, _ = topological(graph)
    emitter = Emitter(graph, catalog, ordered, positioned=True)
    unique = _unique_names(emitter)
    emitter.names = unique
    body = []
    for port, device in feeds.items():
        arguments = [f'name="{port}"', "no_copy=True"]
        if device != "cpu":
            arguments.append('device="gpu"')
        body += call(unique[port], "fn.external_source", arguments)
    places: dict[str, range] = {}
    for node in ordered:
        if node.id in nodes:
            made = emitter.node_lines(node)
            places[node.id] = range(len(body) + 1, len(body) + 1 + len(made))
            body += made
    body.append(f"{INDENT}return ({', '.join(unique[port] for port in taps)},)")
    text = "\n".join(body) + "\n"
    head = _head(text)
    first = head.count("\n")
    places = {node: range(at.start + first, at.stop + first) for node, at in places.items()}
    return Code(head + text, places)


def _head(body: str) -> str:
    """What stands before the body. Only what it calls: compiling the rest takes 0.3 ms."""
    finder = FIND_FILES + "\n\n" if "find_files(" in body else ""
    state = _RANDOM_STATE if "random_state(" in body else ""
    return f"{_IMPORTS}\n{finder}{state}{_SIGNATURE}"


def _unique_names(emitter: Emitter) -> dict[Port, str]:
    """Every output under a variable of its own, for all of them may be tapped."""
    return {port: f"{port.node}__{port.output}" for port in emitter.names}
