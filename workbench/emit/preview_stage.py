"""Part of a graph -> a pipeline source that the engine runs for the preview.

The calls are those of the script. What comes from outside the part is fed through
``external_source``; random operators start at ``position`` (batch * batch_size), so that a stage
built for batch 7 draws what the script draws in batch 7.

Operators that draw inside a body see only the samples that came to it, and advance by their number:
they start at ``positions[scope]``, the number of those in all batches before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from workbench.catalog.spec import Catalog, Device
from workbench.emit.code import Code, Lines
from workbench.emit.emitter import Emitter
from workbench.emit.naming import hoisted
from workbench.emit.python import INDENT, call, signature
from workbench.emit.template_parts import has_regions, pipeline_decorator
from workbench.graph.model import Graph, Node, Port, topological
from workbench.graph.ports import body_inputs, output_ports
from workbench.graph.sources import parameters

SAMPLE = Port("", "sample")
"""What is fed with the place of each sample in the batch, for parts with regions."""

_IMPORTS = """\
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

_PARAMETERS = "device: str, base_seed: int, position: int, positions: dict[str, int]"


@dataclass(frozen=True, slots=True)
class StageCode:
    """Source of a function ``stage``, which makes a pipeline.

    Its parameters are those that name data, by keyword, then ``device``, ``base_seed``,
    ``position`` and ``positions``.
    """

    code: Code
    outputs: tuple[Port, ...]
    """What the pipeline gives, in order: the taps, then what runs inside regions, each with the
    samples that came there alone. ``Port(scope, "")`` gives their places in the batch."""


def emit_stage(
    graph: Graph,
    catalog: Catalog,
    nodes: Collection[str],
    taps: Sequence[Port],
    feeds: Mapping[Port, Device],
    *,
    positioned: bool = True,
) -> StageCode:
    """Source of ``stage`` for some nodes of a sound graph.

    ``taps`` are the outputs it gives, in order; ``feeds`` are the outputs of other nodes that it
    takes in, each through an external source named ``node.output`` on that device; where there are
    regions also ``SAMPLE``. ``positioned`` is for stages that begin at any batch.
    """
    ordered = [node for node in topological(graph)[0] if node.id in nodes]
    emitter = _StageEmitter(graph, catalog, topological(graph)[0], positioned=positioned)
    emitter.names = unique_names(emitter)
    body = Lines()
    sides = {**feeds, **({SAMPLE: "cpu"} if has_regions(ordered) else {})}
    for port, device in sides.items():
        arguments = [f'name="{port}"', "no_copy=True"]
        if device != "cpu":
            arguments.append('device="gpu"')
        name = emitter.names.get(port, port.output)
        body.text += call(name, "fn.external_source", arguments)
    if has_regions(ordered):
        body.text.append(f"{INDENT}taps: list[Any] = []")
    for node in ordered:
        body.add(emitter.node_lines(node))
    inner = ["*taps"] if has_regions(ordered) else []
    returned = [*(emitter.names[port] for port in taps), *inner]
    body.text.append(f"{INDENT}return ({', '.join(returned)},)")
    text = "\n".join(body.text) + "\n"
    data = [f"{name}: Any" for name in parameters(ordered)]
    head = _head(text, ordered, signature("stage", ", ".join([*data, _PARAMETERS]), "Any"))
    code = Code(head + text, body.shifted(head.count("\n") + 1))
    return StageCode(code, (*taps, *emitter.tapped))


class _StageEmitter(Emitter):
    """Taps every output inside the regions."""

    def __init__(
        self, graph: Graph, catalog: Catalog, ordered: Sequence[Node], *, positioned: bool
    ) -> None:
        super().__init__(graph, catalog, ordered, positioned=positioned)
        self.tapped: list[Port] = []

    def node_lines(self, node: Node) -> Lines:
        made = super().node_lines(node)
        if self.scope:
            ports = output_ports(node, self.catalog[node.op])
            made.text += [self._tap(port) for port in ports]
        return made

    def written_before(self, region: Node) -> Lines:
        made = super().written_before(region)
        for node in [] if self.scope else hoisted(region, self.catalog):
            made.text += [self._tap(port) for port in output_ports(node, self.catalog[node.op])]
        return made

    def begin_body(self) -> Lines:
        return Lines([self._tap(Port(self.scope, ""))])

    def _tap(self, port: Port) -> str:
        self.tapped.append(port)
        name = self.names[port] if port.output else SAMPLE.output
        return f"{self.indent}taps.append({name})"


def unique_names(emitter: Emitter) -> dict[Port, str]:
    """Every output under a variable of its own, for all of them may be tapped."""
    names: dict[Port, str] = {}
    for node in emitter.every_node():
        names |= {
            port: f"{port.node}__{port.output}"
            for port in output_ports(node, emitter.catalog[node.op])
        }
    for node in emitter.every_node():  # those that own others stand before these
        names |= {inner: names[outer] for inner, outer in body_inputs(node)}
    return names


def _head(body: str, ordered: Sequence[Node], signed: Sequence[str]) -> str:
    """What stands before the body. Only what it calls: compiling the rest takes 0.3 ms."""
    kinds = dict.fromkeys(parameters(ordered).values())
    modules = sorted({module for kind in kinds for module in kind.imports})
    imports = "".join(f"import {module}\n" for module in modules)
    finders = "".join(f"{kind.find_source}\n\n" for kind in kinds)
    state = _RANDOM_STATE if "random_state(" in body else ""
    stage = "\n".join([pipeline_decorator(ordered), *signed])
    return f"{imports}{_IMPORTS}\n{finders}{state}{stage}\n"
