"""Random graphs for round trips: any usable operators, any sound places, up to thirty nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

import numpy as np
from hypothesis import strategies as st

from tests.helpers import Step, apply_step, step
from tests.placed import CATALOG, USABLE
from workbench.catalog import Value
from workbench.emit.core.policies import is_call_argument
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.graph import Graph, Node, Port, Settings, check_graph
from workbench.graph.edits.edit import new_node, start_graph
from workbench.graph.fixes.unfed_inputs import feed_input, feed_node, fitting_ports
from workbench.graph.model import Source, block_of

MOST = 30
"""Nodes of a graph, at most."""
CPU_ONLY = "full_like"
"""Behind a mixed decoder its script does not run: DALI would have the fill value on the GPU too."""
STARTS = ("readers.file", "decoders.image")
OPS = sorted(op.name for op in USABLE if op.name not in (*STARTS, CPU_ONLY))


@dataclass(frozen=True)
class Growth:
    """One operator more: which, what feeds it among all that fits, and changes to its values."""

    op: int
    source: int
    changes: tuple[Step, ...] = ()


def grown(growth: Sequence[Growth], settings: Settings) -> Graph:
    """Reader, decoder and what each step adds; a step that leads to faults adds nothing."""
    graph = replace(start_graph(CATALOG), settings=settings)
    for one in growth:
        made = _with(graph, one)
        if len(made.nodes) <= MOST and not check_graph(made, CATALOG):
            graph = made
    return graph


def _with(graph: Graph, growth: Growth) -> Graph:
    node = new_node(graph, CATALOG, OPS[growth.op % len(OPS)])
    made = replace(graph, nodes=(*graph.nodes, node))
    for port in CATALOG[node.op].inputs:
        fitting = list(islice(fitting_ports(made, CATALOG, node.id, port.name), 8))
        if fitting and not port.optional and port.feed is None:
            source = fitting[growth.source % len(fitting)]
            made = feed_input(made, CATALOG, source, node.id, port.name)
    made = feed_node(made, CATALOG, node.id)
    for change in growth.changes:
        index = [n.id for n in made.nodes].index(node.id)
        changed = apply_step(made, CATALOG, replace(change, node=index))
        made = changed if _as_given(changed) and not check_graph(changed, CATALOG) else made
    spec = CATALOG[node.op]
    given = {f"{node.id}_{output.name}": Port(node.id, output.name) for output in spec.outputs}
    return replace(made, outputs=made.outputs | given)


def _as_given(graph: Graph) -> bool:
    """Whether DALI takes all values as they are.

    It has no use for half a character, and renames or drops deprecated arguments itself.
    """
    given = [(CATALOG[n.op].args[name], v) for n in graph.nodes for name, v in n.args.items()]
    texts = (value for _, value in given if isinstance(value, str))
    halves = any("\ud800" <= letter <= "\udfff" for text in texts for letter in text)
    return not halves and not any(arg.deprecated for arg, _ in given)


_NUMBERS = st.integers(0, 10_000)
_CHANGES = st.lists(step(("set", "randomise", "reset")), max_size=3).map(tuple)
SETTINGS = st.builds(
    Settings,
    batch_size=st.integers(1, 512),
    num_threads=st.integers(1, 64),
    seed=st.integers(0, 2**31 - 100_000),
    device=st.sampled_from(["cpu", "mixed"]),
    prefetch_queue_depth=st.integers(1, 4),
)
GROWN = st.builds(
    grown,
    st.lists(st.builds(Growth, _NUMBERS, _NUMBERS, _CHANGES), min_size=1, max_size=24),
    SETTINGS,
)
"""Sound graphs of up to thirty nodes over the usable catalogue."""


LOST = frozenset({"bytes_per_sample_hint"})
"""Arguments that DALI omits when serialising: they affect memory, not pixels."""

Key = tuple[object, ...]
_NAMES: dict[Key, str] = {}


@dataclass(frozen=True)
class Canonical:
    """What a graph does, without names and without what leads to no output.

    What a body takes in is what feeds it, and so is what a block gives as it took it in. Where
    draws that nothing feeds stand says nothing: they are drawn for the whole batch.
    """

    outputs: tuple[tuple[str, str], ...]
    """In order, each its node's key and its port."""
    nodes: Mapping[str, tuple[Key, int]]
    """By key: what the node is, and how often it is there."""
    settings: Settings
    blocks: tuple[Key, ...] = ()
    """Outputs of each block."""


def _deciding(block: Node) -> Port:
    return block.inputs[CATALOG[block.op].inputs[0].name]


def canonical(graph: Graph) -> Canonical:
    keys: dict[str, str] = {}
    contents: dict[str, Key] = {}
    blocks: dict[str, set[tuple[str, str]]] = {}

    def named(op: str, content: Key) -> str:
        return _NAMES.setdefault(content, f"{op}#{len(_NAMES)}")

    @cache
    def value(port: Port) -> tuple[str, str]:
        if not graph.has(port.node):
            return value(graph.node(block_of(port.node)).inputs[port.output])
        node = graph.node(port.node)
        if not node.bodies:
            return key(node.id), port.output
        ends = {name: value(body.outputs[port.output]) for name, body in node.bodies.items()}
        if len(set(ends.values())) == 1:
            return next(iter(ends.values()))
        content = (node.op, value(_deciding(node)), tuple(sorted(ends.items())))
        blocks.setdefault(node.id, set()).add((named(node.op, content), "value"))
        return named(node.op, content), "value"

    @cache
    def standing(scope: str) -> tuple[Key, ...]:
        found: list[Key] = []
        while scope:
            block, _, body = scope.rpartition(".")
            found.append((value(_deciding(graph.node(block))), body))
            scope = graph.scope_of(block)
        return tuple(found)

    def key(node_id: str) -> str:
        if node_id not in keys:
            node = graph.node(node_id)
            inputs = sorted((into, *value(port)) for into, port in _operands(node).items())
            kept = {k: v for k, v in node.args.items() if k not in LOST and not _idle(node, k)}
            args = sorted((k, plain(v)) for k, v in kept.items())
            seed = None if node.seed is None else node.seed + graph.settings.seed
            read = (node.kind, node.dataset) if isinstance(node, Source) else ()
            content = (
                *(node.op, tuple(args), tuple(inputs), node.device, seed),
                *(standing(graph.scope_of(node_id)) if inputs else (), read),
            )
            keys[node_id] = named(node.op, content)
            contents[keys[node_id]] = content
        return keys[node_id]

    outputs = tuple(value(port) for port in graph.outputs.values())
    nodes = {name: (contents[name], count) for name, count in Counter(keys.values()).items()}
    gives = sorted(tuple(sorted(given)) for given in blocks.values())
    return Canonical(outputs, nodes, graph.settings, tuple(gives))


def _operands(node: Node) -> dict[str, Port]:
    """The inputs; of arithmetic with two tensors as ``data / right``, however they are linked."""
    inputs = {name: port for name, port in node.inputs.items() if is_call_argument(node, name)}
    if node.op.startswith("math.") and "other" in inputs:
        inputs["right"] = inputs.pop("other")
    if "left" in inputs and "right" not in inputs:
        inputs["data"], inputs["right"] = inputs.pop("left"), inputs["data"]
    return inputs


def _idle(node: Node, arg: str) -> bool:
    """Whether an argument says the type of a constant that is not there, or the usual one.

    Or what no augmentation of a policy takes, and so no call is given.
    """
    if not is_call_argument(node, arg):
        return True
    if arg != "constant_type":
        return False
    usual = CATALOG[node.op].args[arg].default
    return node.args[arg] == usual or not {"left", "right", "lo", "hi"} & node.args.keys()


def plain(value: Value) -> Value:
    """The value as DALI holds it: a list of one is the value alone, a fraction is a float32."""
    if isinstance(value, tuple):
        return plain(value[0]) if len(value) == 1 else tuple(map(plain, value))
    return float(np.float32(value)) if isinstance(value, float) else value


def assert_the_same(graph: Graph, imported: ImportedGraph) -> None:
    """An exact import of all nodes has the nodes, outputs and settings of the graph."""
    before, after = canonical(graph), canonical(imported.graph)
    assert after.nodes == before.nodes
    assert after.outputs == before.outputs
    assert after.settings == before.settings
    assert after.blocks == before.blocks
    assert imported.report.is_exact, str(imported.report)
    assert set(imported.report.exact) == {node.id for node in imported.graph.walk()}
    assert check_graph(imported.graph, CATALOG) == ()
