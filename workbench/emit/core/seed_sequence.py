"""The seeds that DALI gives to operators that have none of their own.

A pipeline hands them out in turn, to the calls in the order in which it holds them, from a sequence
that begins at its own seed (``Pipeline::PrepareOpSpec`` of DALI 2.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from workbench.catalog.spec import Catalog
from workbench.emit.core.own_code import CALLING
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.ports import positional_ports

COUNT = 1024
"""DALI makes so many, and begins again after the last (``MAX_SEEDS``)."""
_WORD = 0xFFFFFFFF


@lru_cache(maxsize=16)  # between two edits a graph's are asked for many times
def drawn_seeds(seed: int) -> tuple[int, ...]:
    """The seeds that a pipeline of this seed hands out: 1024 numbers of 32 bits.

    They are those of C++'s ``std::seed_seq{seed}``: [rand.util.seedseq] of the standard, whose
    names stand here.
    """
    n, s, v = COUNT, 1, seed & _WORD
    t = 11  # for n >= 623
    p = (n - t) // 2
    q = p + t
    words = [0x8B8B8B8B] * n
    for k in range(n):
        mixed = _mix(words[k] ^ words[(k + p) % n] ^ words[k - 1])
        r1 = 1664525 * mixed & _WORD
        r2 = r1 + (s if k == 0 else k + v if k <= s else k) & _WORD
        words[(k + p) % n] = words[(k + p) % n] + r1 & _WORD
        words[(k + q) % n] = words[(k + q) % n] + r2 & _WORD
        words[k] = r2
    for k in range(n):
        mixed = _mix(words[k] + words[(k + p) % n] + words[k - 1] & _WORD)
        r3 = 1566083941 * mixed & _WORD
        r4 = r3 - k & _WORD
        words[(k + p) % n] ^= r3
        words[(k + q) % n] ^= r4
        words[k] = r4
    return tuple(words)


def _mix(word: int) -> int:
    return word ^ word >> 27


_MOST = 500
"""Nodes that are looked through one inside the other."""


def pipeline_seed_is_enough(graph: Graph, catalog: Catalog, nodes: Sequence[Node]) -> bool:
    """Whether DALI gives the nodes, in running order, the seeds that they have.

    DALI hands seeds out to the operators that have none, in the order in which it holds them: depth
    first from the outputs. So they are those of a graph that came in with the pipeline's seed
    alone, and never those of one that was made here: its operators get theirs when they are added,
    and keep them. Were they DALI's, an operator that is added, muted or fed otherwise would change
    the draws of all that DALI holds after it, in the preview and in every exported program.

    With blocks, automatic augmentation and targets that follow it holds further operators, and
    with several pipelines their seeds would not be those of the preview.
    """
    specs = [catalog[node.op] for node in nodes]
    further = any(spec.bodies or spec.module or spec.follows for spec in specs)
    called = any(node.op in CALLING for node in nodes)
    if further or called or graph.settings.pipelines > 1 or len(nodes) > _MOST:
        return False
    held = [node for node in _held(graph, catalog) if catalog[node.op].seeded]
    own = tuple(graph.settings.seed + (node.seed or 0) for node in held)
    return bool(held) and own == drawn_seeds(graph.settings.seed)[: len(own)]


def _held(graph: Graph, catalog: Catalog) -> Iterable[Node]:
    """The nodes in the order in which DALI holds their calls."""
    held: dict[str, Node] = {}

    def visit(port: Port) -> None:
        node = graph.node(port.node)
        if node.id in held:
            return
        first = [name for name in positional_ports(node, catalog[node.op]) if name in node.inputs]
        for name in (*first, *(name for name in node.inputs if name not in first)):
            visit(node.inputs[name])
        held[node.id] = node

    for port in graph.outputs.values():
        visit(port)
    return held.values()
