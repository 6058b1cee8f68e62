"""Which augmentations a sample got where automatic augmentation chose.

Runs inside the worker process only, but for its records.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.catalog.own_operators.auto_augment import AUTO_AUGMENT
from workbench.engine.build.auto_augment import augmentation_names
from workbench.preview.facts.value_text import augmentations_of, augmented_at
from workbench.preview.request import GraphRun


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
