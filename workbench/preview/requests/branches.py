"""Find which block bodies ran for each sample of a batch, and count how often each body runs.

Used in the worker process only, except ``wilson_interval``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from workbench.catalog.extra_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.spec import Catalog
from workbench.emit.preview.tap_names import scope_of
from workbench.engine.build.auto_augment import augmentation_names
from workbench.engine.protocol.registry import task
from workbench.engine.run.branches import BranchCounter
from workbench.engine.run.worker import Worker
from workbench.graph.control_flow.block_kinds import kind_of
from workbench.graph.model import Body, Graph, Node, block_of
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.request import GraphRun, PreviewRequest, running_part
from workbench.preview.requests.texts import augmentations_of, augmented_at

_NAMED = 2
"""Maximum number of operators named in a body's text. A longer list is replaced by its length."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A body of a block, which is a branch of the graph.

    ``text`` is for example ``branch: then`` or ``one_of: option_1 (rotate)``. If the body has a
    title, it is ``one_of: stronger``.
    """

    scope: str
    block: str
    body: str
    text: str


def branches_of(resolved: ResolvedGraph) -> tuple[Branch, ...]:
    """Return all bodies of all blocks of a graph. Outer bodies precede inner ones."""
    return tuple(_branches(resolved.graph.nodes, resolved.catalog))


def _branches(nodes: Sequence[Node], catalog: Catalog) -> Iterator[Branch]:
    for node in nodes:
        numbered = catalog[node.op].numbered_bodies
        for name, body in node.bodies.items():
            within = f" ({_content(body)})" if numbered and not body.title else ""
            text = f"{node.id}: {body.title or name}{within}"
            yield Branch(node.scope(name), node.id, name, text)
            yield from _branches(body.nodes, catalog)


def _content(body: Body) -> str:
    """Return a short text with the operators of a body."""
    names = [node.id for node in body.nodes if not node.op.startswith("random.")]
    if len(names) > _NAMED:
        return f"{len(names)} operators"
    return ", ".join(names) or "unchanged"


def executed_scopes(run: GraphRun) -> list[tuple[str, ...]]:
    """Return the bodies (``branch.then``) that ran for each sample, in ``branches_of`` order.

    The tuple of a sample whose file could not be read is empty.
    """
    scopes = [branch.scope for branch in branches_of(run.resolved)]
    reached = run.result.reached
    return [
        () if sample.error else tuple(scope for scope in scopes if index in reached.get(scope, ()))
        for index, sample in enumerate(run.result.samples)
    ]


# Which augmentations automatic augmentation applied to a sample.


@dataclass(frozen=True, slots=True)
class Augmentation:
    """An augmentation that automatic augmentation may apply.

    ``key`` has the form ``rand_augment_1.rotate``.
    """

    key: str
    node: str
    name: str


def augmentations_offered(run: GraphRun) -> tuple[Augmentation, ...]:
    """Return all augmentations that the automatic augmentations of a graph may apply."""
    return tuple(
        Augmentation(key_of(node.id, name), node.id, name)
        for node in (*run.nodes, *run.inner_nodes)
        if node.op in AUTO_AUGMENT
        for name in augmentation_names(node)
    )


def augmentation_keys(run: GraphRun) -> list[tuple[str, ...]]:
    """Return the keys of each sample's augmentations. A sample that could not be read has none."""
    found = {node: augmented_at(run, node) for node in run.result.augmented}
    return [
        ()
        if sample.error
        else tuple(
            key_of(node, name)
            for node, samples in found.items()
            for name in dict.fromkeys(each.name for each in samples[index])
        )
        for index, sample in enumerate(run.result.samples)
    ]


def augmentation_texts(run: GraphRun) -> list[tuple[str, ...]]:
    """Return texts of each sample's automatic augmentations, such as ``rotate -27``."""
    found = augmentations_of(run).values()
    return [
        tuple(texts[index] for texts in found if texts[index] and not sample.error)
        for index, sample in enumerate(run.result.samples)
    ]


def key_of(node: str, name: str) -> str:
    """Return the key of an augmentation that a node applies."""
    return f"{node}.{name}"


# How often each block body runs, over many batches of the exported program.
#
# Only the conditions are run: for random conditions, nothing is read or decoded.

CONFIDENCE = 0.99
_AT_ONCE = 0.2
"""Maximum time per call in seconds, so that other requests are not delayed."""


@dataclass(frozen=True, slots=True)
class BodyShare:
    """Number of samples for which a body ran, and its configured probability ``asked``, if any."""

    name: str
    text: str
    count: int
    asked: float | None


@dataclass(frozen=True, slots=True)
class BlockShares:
    """Numbers of samples for which a block and each of its bodies ran.

    Inside a loop (``in_turns``), each iteration counts, because random values are sampled again.
    """

    block: str
    scope: str
    """The body that contains the block, such as ``branch.then``, or "" for the graph itself."""
    samples: int
    bodies: tuple[BodyShare, ...]
    in_turns: bool = False


@dataclass(frozen=True, slots=True)
class BranchShares:
    """Numbers of samples for each block, in the first ``batches`` batches.

    ``reads`` is True if conditions depend on the data, so that counting is as slow as decoding.
    """

    batches: int
    blocks: tuple[BlockShares, ...]
    reads: bool


@task
def count_branches(worker: Worker, request: PreviewRequest, batches: int) -> BranchShares:
    """Task: count for how many samples each block and body ran, in the first ``batches`` batches.

    This continues the previous call for the same blocks, and returns at the end of a batch after
    0.2 s; call it until all batches are counted. Raises the errors of ``render``.
    """
    resolved = running_part(worker, request)
    graph = resolved.graph
    blocks = [node for node in resolved.nodes if node.bodies]
    if not blocks:
        return BranchShares(0, (), False)
    places = worker.runner.branch_places(graph, request.data, blocks)
    counter: BranchCounter | None = worker.kept.get(("branch shares",))
    if counter is None or counter.key != places.key:
        counter = worker.kept[("branch shares",)] = BranchCounter(places)
    until = time.perf_counter() + _AT_ONCE
    while counter.counted < batches and time.perf_counter() < until:
        worker.check_interrupt()
        counter.before(counter.counted + 1)
    done = min(counter.counted, batches)
    counts = {"": done * places.batch_size, **counter.before(done)}
    texts = {branch.scope: branch.text for branch in branches_of(resolved)}
    found = []
    for block in _with_nested(blocks):
        names = list(block.bodies)
        expected = kind_of(block).shares(graph, block) or (None,) * len(names)
        bodies = tuple(
            BodyShare(name, texts[block.scope(name)], _samples_of(counts, block, name), share)
            for name, share in zip(names, expected, strict=True)
        )
        scope = graph.scope_of(block.id)
        reached = sum(_counts_in_scope(counts, scope).values())
        found.append(BlockShares(block.id, scope, reached, bodies, _runs_repeatedly(graph, scope)))
    return BranchShares(done, tuple(found), places.reads)


def _samples_of(counts: Mapping[str, int], block: Node, body: str) -> int:
    """Return the number of samples for which a body ran, in any iteration of its block."""
    found = _counts_in_scope(counts, block.scope(body))
    if (
        kind_of(block).repetitions(block) is not None
    ):  # samples of any iteration take part in the first one
        return sum(count for name, count in found.items() if name.endswith("#0"))
    return sum(found.values())


def _counts_in_scope(counts: Mapping[str, int], scope: str) -> dict[str, int]:
    return {name: count for name, count in counts.items() if scope_of(name) == scope}


def _runs_repeatedly(graph: Graph, scope: str) -> bool:
    """Return True if a body, or one that encloses it, is in a loop with several iterations."""
    while scope:
        block = graph.node(block_of(scope))
        if (kind_of(block).repetitions(block) or 1) > 1:
            return True
        scope = graph.scope_of(block.id)
    return False


def _with_nested(blocks: Sequence[Node]) -> Iterator[Node]:
    for block in blocks:
        yield block
        for body in block.bodies.values():
            yield from _with_nested([node for node in body.nodes if node.bodies])


def wilson_interval(count: int, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the confidence interval of a proportion, given ``count`` of ``total`` observations.

    It is 0 to 1 if ``total`` is 0. E. B. Wilson, "Probable inference, the law of succession, and
    statistical inference", Journal of the American Statistical Association 22 (1927), 209-212.
    Unlike the normal approximation, it is accurate for proportions near 0 and 1: L. D. Brown, T. T.
    Cai and A. DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16
    (2001).
    """
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = count / total
    centre = share + z * z / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    low, high = (centre - reach) / scale, (centre + reach) / scale
    return (0.0 if count == 0 else low), (1.0 if count == total else high)
