"""Which bodies of its blocks ran for each sample of a batch.

Runs inside the worker process only, but for its records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.catalog.own_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.spec import Catalog
from workbench.engine.build.auto_augment import augmentation_names
from workbench.graph.model import Body, Node
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.facts.value_text import augmentations_of, augmented_at
from workbench.preview.request import GraphRun

_NAMED = 2
"""Operators of a body that are named in its text; of more the number is told."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A body of a block.

    ``text`` is ``branch: then``, ``one_of: option_1 (rotate)``; or its name, ``one_of: stronger``.
    """

    scope: str
    block: str
    body: str
    text: str


def branches_of(resolved: ResolvedGraph) -> tuple[Branch, ...]:
    """All bodies of all blocks of a graph, those of a nested block behind its own."""
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
    """What stands in a body, for its number alone says nothing."""
    names = [node.id for node in body.nodes if not node.op.startswith("random.")]
    if len(names) > _NAMED:
        return f"{len(names)} operators"
    return ", ".join(names) or "as it is"


def fired_scopes(run: GraphRun) -> list[tuple[str, ...]]:
    """For each sample the scopes of the bodies that ran, in the order of ``branches_of``.

    None where its file could not be read.
    """
    scopes = [branch.scope for branch in branches_of(run.resolved)]
    came = run.result.came
    return [
        () if sample.error else tuple(scope for scope in scopes if index in came.get(scope, ()))
        for index, sample in enumerate(run.result.samples)
    ]


# Which augmentations a sample got where automatic augmentation chose.
#
# Runs inside the worker process only, but for its records.


@dataclass(frozen=True, slots=True)
class Augmentation:
    """One that automatic augmentation may choose. ``key`` is ``rand_augment_1.rotate``."""

    key: str
    node: str
    name: str


def augmentations_offered(run: GraphRun) -> tuple[Augmentation, ...]:
    """All that the automatic augmentations of a run may choose, in running order."""
    return tuple(
        Augmentation(key_of(node.id, name), node.id, name)
        for node in (*run.nodes, *run.inner_nodes)
        if node.op in AUTO_AUGMENT
        for name in augmentation_names(node)
    )


def augmentation_keys(run: GraphRun) -> list[tuple[str, ...]]:
    """For each sample the keys of what it got; none where its file could not be read."""
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
    """For each sample what each automatic augmentation that it came to did: ``rotate -27``."""
    found = augmentations_of(run).values()
    return [
        tuple(texts[index] for texts in found if texts[index] and not sample.error)
        for index, sample in enumerate(run.result.samples)
    ]


def key_of(node: str, name: str) -> str:
    """What one augmentation at one node is known by."""
    return f"{node}.{name}"
