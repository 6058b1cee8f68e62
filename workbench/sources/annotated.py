"""Kinds that read the data of another kind with the boxes or masks that are in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workbench.sources import SourceKind

READER_OPTIONS = frozenset(
    {
        *("random_shuffle", "initial_fill", "pad_last_batch", "num_shards", "shard_id"),
        *("stick_to_shard", "prefetch_queue_depth", "dont_use_mmap"),
    }
)
"""Options of DALI's readers that decode nothing."""


class Annotated(SourceKind):
    """A kind that is read only where a graph takes its targets, or where it is named.

    It stands before the kind of the same data: ``class Masks(Annotated, WebDataset)``.
    """

    options: frozenset[str] | None = READER_OPTIONS
    suffixes: tuple[str, ...] = ()
    with_targets: tuple[str, ...] = ()
    is_indexed = False

    def accepts(self, path: Path) -> bool:
        return False  # most data have a class for each image


class AnnotatedBoxes(Annotated):
    """Images with boxes and key points, in the outputs that COCO's reader has."""

    outputs = ("jpegs", "boxes", "labels", "polygons", "vertices")
    targets = "boxes"
    options = READER_OPTIONS | {"ltrb", "ratio", "polygon_masks"}


def names_of_numbers(named: Mapping[int, str]) -> list[str]:
    """The names of classes from 0 on, of which 0 is the background; empty where none is named."""
    if not named:
        return []
    return ["background", *(named.get(each, str(each)) for each in range(1, max(named) + 1))]
