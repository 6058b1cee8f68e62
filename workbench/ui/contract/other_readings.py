"""How else data can be read: of records with boxes or masks beside their images, with these."""

from __future__ import annotations

from typing import TypedDict

from workbench.sources import Dataset, kinds_with_targets, load_source


class OtherReading(TypedDict):
    """A kind that gives targets which are not read now."""

    place: str
    """What to open: ``webdataset_boxes:shards``."""
    about: str


def other_readings(dataset: Dataset, read: Dataset) -> list[OtherReading]:
    """Where a dataset's targets are not read, the kinds that do; ``read`` is what the graph does.

    Looks at the first samples.
    """
    if read.kind != dataset.kind or not dataset.location:
        return []
    return [
        {"place": f"{kind}:{dataset.location}", "about": load_source(kind).about}
        for kind in kinds_with_targets(dataset)
    ]
