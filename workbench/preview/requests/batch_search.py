"""Search for a batch with a sample that matches the preview's filter."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.emit.preview.tap_names import scope_of, taps_of_scope
from workbench.engine.protocol.call_handle import Caller
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.errors import GraphError
from workbench.graph.model import Graph, block_of
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.request import GraphRun, PreviewRequest, running_part
from workbench.preview.requests.texts import label_port, labels_of, names_of_labels


@dataclass(frozen=True, slots=True)
class SampleFilter:
    """Filter for samples by class, by the branches that ran, and by automatic augmentations.

    A sample's class must be in ``classes``. For each block in ``branches`` (``block.body``), one of
    the branches must have run. For each node in ``augmentations`` (``node.name``), one of the
    augmentations must have been applied. Empty sets match everything.
    """

    classes: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    augmentations: tuple[str, ...] = ()

    def by_block(self) -> dict[str, set[str]]:
        """Return the branches of the filter, grouped by block."""
        found: dict[str, set[str]] = {}
        for scope in self.branches:
            found.setdefault(block_of(scope), set()).add(scope)
        return found

    def by_node(self) -> dict[str, set[str]]:
        """Return the augmentations of the filter, grouped by node."""
        found: dict[str, set[str]] = {}
        for key in self.augmentations:
            node, _, name = key.rpartition(".")
            found.setdefault(node, set()).add(name)
        return found


def find_batch(
    engine: Caller, request: PreviewRequest, sample_filter: SampleFilter, back: bool, most: int
) -> int | None:
    """Return the number of the next (if ``back``, previous) batch with a matching sample.

    Returns None if no batch matches. The first ``request.tiles`` samples of each batch are
    searched, up to batch ``most``. Nothing is decoded except the inputs of block conditions. Raises
    GraphError if the graph has no labels, and the errors of ``preview_batch``.
    """
    found: int | None = engine.call(search, request, sample_filter, back, most)
    return found


@task
def search(
    worker: Worker,
    request: PreviewRequest,
    sample_filter: SampleFilter,
    back: bool,
    most: int,
) -> int | None:
    """Task: search for a batch as described in ``find_batch``."""
    resolved = running_part(worker, request)
    if back:  # readers only run forward: one pass over all batches
        return max(
            _with_one(worker, request, resolved, sample_filter, range(request.batch)), default=None
        )
    after = range(request.batch + 1, most + 1)
    return next(_with_one(worker, request, resolved, sample_filter, after), None)


def _with_one(
    worker: Worker,
    request: PreviewRequest,
    resolved: ResolvedGraph,
    sample_filter: SampleFilter,
    batches: range,
) -> Iterator[int]:
    matches = _matching_samples(worker, request, resolved.graph, sample_filter)
    for batch in range(batches.stop):
        worker.check_interrupt()
        found = next(matches)
        if batch >= batches.start and found and sample_filter.classes:
            found = found & _of_classes(worker, request, resolved, sample_filter.classes, batch)
        if batch >= batches.start and found:
            yield batch


def _matching_samples(
    worker: Worker, request: PreviewRequest, graph: Graph, sample_filter: SampleFilter
) -> Iterator[Set[int]]:
    """Yield the indices of matching samples (branches and augmentations) for each batch from 0."""
    count = min(request.tiles, graph.settings.batch_size)
    shown = frozenset(range(count))
    blocks, augmented = sample_filter.by_block(), sample_filter.by_node()
    within = {node: scope for node in augmented if (scope := graph.scope_of(node))}
    deciding = [*blocks, *map(block_of, within.values())]
    outer = dict.fromkeys(graph.outermost(block) for block in deciding)
    nodes = [graph.node(block) for block in outer]
    places = worker.runner.branch_places(graph, request.data, nodes) if nodes else None
    for batch in itertools.count():
        found = shown
        executed = places.run() if places else {}
        for scopes in blocks.values():  # in any iteration of a repeated body
            found &= _all_indices(
                each for name, each in executed.items() if scope_of(name) in scopes
            )
        if found and augmented:
            got = worker.runner.augmented(graph, request.data, list(augmented), batch, count)
            for node, names in augmented.items():
                turns = taps_of_scope(within[node], executed) if node in within else []
                there = [frozenset(_all_indices([executed[turn]])) for turn in turns] or [found]
                found &= {
                    at
                    for call, places in zip(got[node], there, strict=True)
                    for at in found & places
                    if any(one.name in names for one in call[at])
                }
        yield found


def _all_indices(executed: Iterable[Any]) -> set[int]:
    return {int(np.asarray(each[at])) for each in executed for at in range(len(each))}


def _of_classes(
    worker: Worker,
    request: PreviewRequest,
    resolved: ResolvedGraph,
    classes: Collection[str],
    batch: int,
) -> set[int]:
    port = label_port(resolved)
    if port is None:
        raise GraphError(
            "Samples cannot be filtered by class: no node outputs labels. Use a source of labels."
        )
    result = worker.runner.run(resolved.graph, request.data, batch, request.tiles, [port])
    labels = labels_of(port, result.batches)
    run = GraphRun(request, resolved, result)
    names = names_of_labels(worker, run, port, labels)
    return {index for index, name in enumerate(names) if name in classes}
