"""A quick look at a data folder: how many images, of which classes and formats, how large."""

from __future__ import annotations

import random
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from PIL import Image

from workbench.errors import DataError
from workbench.roots import Roots
from workbench.sources import (
    Location,
    Sample,
    class_names,
    header_of,
    list_samples,
    load_source,
    no_files_reason,
    open_dataset,
)

_FORMATS = {
    "jpg": "JPEG",
    "jpeg": "JPEG",
    "tif": "TIFF",
    "tiff": "TIFF",
    "jp2": "JPEG 2000",
    "webp": "WebP",
}


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """What a folder holds.

    ``formats`` counts files by the format that their names claim; of samples that many are in one
    file, those of ``SAMPLE`` by their headers.
    """

    root: str
    count: int = 0
    classes: tuple[str, ...] = ()
    megabytes: float = 0.0
    formats: dict[str, int] = field(default_factory=dict)
    smallest: tuple[int, int] | None = None
    largest: tuple[int, int] | None = None
    """(width, height) in pixels, of as many images as ``SAMPLE``; None where none can be opened."""
    class_counts: tuple[int, ...] = ()
    """Images of each class; of COCO its annotations."""
    passed_over: dict[str, int] = field(default_factory=dict)
    """Images of other formats that the reader passes over, by format."""
    size_counts: dict[str, int] = field(default_factory=dict)
    """How many of those images have each size, the smallest first: ``640×480``, or where there are
    more than ``MOST_SIZES``, the span that their longer side lies in: ``513 … 768``."""


SAMPLE = 400
"""Images whose header is read for their size, 0.1 ms each."""
MOST_SIZES = 8
LONGER_SIDES = (128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
"""Upper ends of the spans, in pixels."""


TOLD_EACH = 10_000
"""Files."""


def scan_folder(
    data: Location,
    roots: Roots | None = None,
    on_progress: Callable[[int], None] = lambda count: None,
) -> FolderFacts:
    """Count the files that the exported script reads. About 2 s for a million files.

    Those outside the ``roots`` are counted only. ``on_progress`` hears how many there are so far,
    each ``TOLD_EACH``; what it raises ends the count. Raises DataError for a folder that is
    missing, is a file, cannot be read or has no images.
    """
    dataset = open_dataset(data)
    roots = None if dataset.in_memory else roots
    count = size = 0
    formats: Counter[str] = Counter()
    labels: Counter[int] = Counter()
    sample: list[Sample] = []
    chance = random.Random(0)
    for file in list_samples(dataset):
        count += 1
        if count % TOLD_EACH == 0:
            on_progress(count)
        labels[file.label] += 1
        if file.nbytes is None:
            suffix = file.name.rpartition(".")[2].lower()
            formats[_FORMATS.get(suffix, suffix.upper())] += 1
        if roots is not None and roots.refusal(file.path):
            continue
        # Every file has the same chance to be in the sample (reservoir sampling, Vitter 1985).
        at = len(sample) if len(sample) < SAMPLE else chance.randrange(count)
        if at < SAMPLE:
            sample[at : at + 1] = [file]
        try:
            size += file.size
        except OSError:
            continue  # a dangling link: `check_folder` names it
    if not count:
        raise DataError(no_files_reason(dataset))
    classes = tuple(class_names(dataset))
    of_class = load_source(dataset.kind).class_counts
    counts = of_class(dataset) if of_class else [labels[label] for label in range(len(classes))]
    headers = list(filter(None, map(_header, sample)))
    if not formats:
        formats.update(header.format for header in headers)
    sizes = sorted((header.size for header in headers), key=lambda wh: wh[0] * wh[1])
    return FolderFacts(
        str(dataset),
        count,
        classes,
        round(size / 1e6, 1),
        dict(formats.most_common()),
        smallest=sizes[0] if sizes else None,
        largest=sizes[-1] if sizes else None,
        class_counts=tuple(counts),
        size_counts=_size_counts(sizes),
        passed_over=dict(
            Counter(
                name.rpartition(".")[2].upper()
                for name in load_source(dataset.kind).passed_over(dataset)
            ).most_common()
        ),
    )


def _size_counts(sizes: Sequence[tuple[int, int]]) -> dict[str, int]:
    each = Counter(sizes)
    if len(each) <= MOST_SIZES:
        return {f"{width}×{height}": count for (width, height), count in each.items()}
    spans = Counter(bisect_left(LONGER_SIDES, max(size)) for size in sizes)
    return {_span(at): spans[at] for at in sorted(spans)}


def _span(at: int) -> str:
    low = LONGER_SIDES[at - 1] + 1 if at else 1
    return f"{low} … {LONGER_SIDES[at]}" if at < len(LONGER_SIDES) else f"{low} and more"


class _Header(NamedTuple):
    format: str
    size: tuple[int, int]
    """Width and height in pixels."""


def _header(sample: Sample) -> _Header | None:
    if (header := header_of(sample.path)) is not None:
        return _Header("", header.size) if header.size else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with sample.open() as file, Image.open(file) as image:
                name = image.format or ""
                return _Header(
                    {"JPEG2000": "JPEG 2000", "WEBP": "WebP", "PPM": "PNM"}.get(name, name),
                    image.size,
                )
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None  # `check_folder` says what is wrong with it
