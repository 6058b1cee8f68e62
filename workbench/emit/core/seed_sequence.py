"""Compute the seeds that DALI assigns to operators without a seed of their own.

A pipeline assigns them to its calls in order, from a sequence that starts at the pipeline's seed
(``Pipeline::PrepareOpSpec`` of DALI 2.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from workbench.catalog.spec import Catalog
from workbench.emit.core.user_functions import CALLING
from workbench.graph.execution.dataset_parameters import is_sampled
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.ports import positional_ports

COUNT = 1024
"""Length of DALI's sequence of seeds, after which it repeats (``MAX_SEEDS``)."""
_WORD = 0xFFFFFFFF


@lru_cache(maxsize=16)  # cached: queried many times between edits
def assigned_seeds(seed: int) -> tuple[int, ...]:
    """Return the 1024 32-bit seeds that a pipeline with this seed assigns to its operators.

    The result equals that of C++'s ``std::seed_seq{seed}``. Variables are named as in the standard
    (rand.util.seedseq).
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
"""Maximum recursion depth."""


def pipeline_seed_is_enough(graph: Graph, catalog: Catalog, nodes: Sequence[Node]) -> bool:
    """Return True if DALI derives the nodes' seeds from the pipeline's seed, so code can omit them.

    ``nodes`` must be in topological order. DALI assigns seeds to operators without a seed, depth
    first from the outputs, so the result can be True for an imported graph with only a pipeline
    seed. It is False for a graph built here, whose operators get permanent seeds when added: with
    DALI's seeds, adding, muting or reconnecting an operator would change the random values of all
    later operators, in the preview and in every exported program.

    It is also False with blocks, automatic augmentation or followers, which add operators to the
    pipeline, and with several pipelines, whose seeds would differ from the preview's.
    """
    specs = [catalog[node.op] for node in nodes]
    further = any(spec.bodies or spec.module or spec.follows for spec in specs)
    called = any(node.op in CALLING or is_sampled(node) for node in nodes)
    if further or called or graph.settings.pipelines > 1 or len(nodes) > _MOST:
        return False
    seeded = [node for node in _registration_order(graph, catalog) if catalog[node.op].seeded]
    own = tuple(graph.settings.seed + (node.seed or 0) for node in seeded)
    return bool(seeded) and own == assigned_seeds(graph.settings.seed)[: len(own)]


def _registration_order(graph: Graph, catalog: Catalog) -> Iterable[Node]:
    """Return the nodes in the order in which DALI registers their calls."""
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
