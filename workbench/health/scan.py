"""Scan a data folder quickly to count its images, classes, formats and sizes."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from PIL import Image

from workbench.engine.file_checks.file_check import check_header
from workbench.engine.reading.encoded_images import pillow_warnings_ignored
from workbench.errors import DataError
from workbench.roots import Roots
from workbench.sources import (
    Dataset,
    Location,
    Sample,
    class_names,
    describe_not_read,
    header_of,
    list_samples,
    load_source,
    no_files_reason,
    open_dataset,
    upright_size,
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
    """Contents of a folder.

    ``formats`` is the number of files by suffix. If a file contains many samples, it is the number
    of samples by image format instead, among ``SAMPLE`` samples.
    """

    root: str
    count: int = 0
    classes: tuple[str, ...] = ()
    megabytes: float = 0.0
    formats: dict[str, int] = field(default_factory=dict)
    smallest: tuple[int, int] | None = None
    largest: tuple[int, int] | None = None
    """Largest (width, height) in pixels among ``SAMPLE`` images, or None if no image can be opened.
    """
    class_counts: dict[str, int] = field(default_factory=dict)
    """Number of images, boxes or masks (see ``targets``) by class name, or by class number if the
    class has no name. Empty if there are no classes, or more than ``MOST_NUMBERS`` unnamed ones.
    """
    targets: Literal["", "boxes", "masks"] = ""
    """Unit of ``class_counts``: boxes, masks that contain the class, or images if empty."""
    targets_of: int = 0
    """Number of images whose annotations were counted, or 0 if all images were counted."""
    without_targets: int = 0
    """Number of images without annotations, if known. These images are valid, but the option
    ``skip_empty`` excludes them."""
    at_fault: int = 0
    """Number of samples with a fault: missing parts, unreadable annotations or empty files. Invalid
    headers and masks are found only among ``SAMPLE`` images. ``check_folder`` checks all samples.
    """
    of_no_sample: int = 0
    """Number of faulty entries that belong to no sample, such as masks without an image."""
    first_fault: str = ""
    """Name and fault of the first entry counted in ``at_fault`` or ``of_no_sample``."""
    other_size: int = 0
    """Number of images among ``SAMPLE`` whose size differs from the size in their annotations."""
    first_other_size: str = ""
    """Name of the first image counted in ``other_size``, and both sizes."""
    odd_boxes: int = 0
    """Number of images among ``SAMPLE`` with a box beyond the edge or without width or height."""
    first_odd_box: str = ""
    """Name of the first image counted in ``odd_boxes``, and the box."""
    unnamed: int = 0
    """Number of mask values without a class name, if there are too many to be classes."""
    pillow_only: dict[str, int] = field(default_factory=dict)
    """Number of images that the reader skips because only Pillow can read them, by format."""
    not_read: tuple[str, ...] = ()
    """Sentences about files and folders that are not read, and about empty class folders."""
    size_counts: dict[str, int] = field(default_factory=dict)
    """Number of images among ``SAMPLE`` by size, such as ``640×480``, smallest size first. With
    more than ``MOST_SIZES`` sizes, they are counted by longer side, such as ``513 … 768``."""


SAMPLE = 400
"""Number of images whose headers are read (0.2 ms each)."""
_COUNTED = ("missing", "empty")
"""Kinds of findings that are counted in all files, and not only in ``SAMPLE`` images."""
MOST_SIZES = 8
MOST_NUMBERS = 256
"""Maximum number of unnamed classes. If there are more, they are treated as instance ids or
colours.
"""
LONGER_SIDES = (128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
"""Upper ends of the histogram bins for the longer side, in pixels."""


TOLD_EACH = 10_000
"""Number of files between two progress reports."""


def scan_folder(
    data: Location,
    roots: Roots | None = None,
    on_progress: Callable[[int], None] = lambda count: None,
    kind: str = "",
) -> FolderFacts:
    """Count the files that the exported script reads. A million files take about 2 s.

    ``kind`` is the source kind that reads the files, by default the detected kind. It determines
    the classes and the faults.

    Files outside the ``roots`` are only counted. ``on_progress`` is called with the count every
    ``TOLD_EACH`` files; an exception raised by it ends the scan. Raises DataError for a folder that
    is missing, is a file, cannot be read or has no images.
    """
    dataset = open_dataset(data)
    read = replace(dataset, kind=kind or dataset.kind)
    roots = None if dataset.in_memory else roots
    count = size = 0
    formats: Counter[str] = Counter()
    labels: Counter[int] = Counter()
    sample: list[Sample] = []
    chance = random.Random(0)
    faults, of_no_sample, first_fault = 0, 0, ""
    for file in list_samples(read):
        if not file.counted:
            of_no_sample += 1
            first_fault = first_fault or f"{file.name}, {file.fault}"
            continue
        count += 1
        if count % TOLD_EACH == 0:
            on_progress(count)
        if file.fault:
            faults += 1
            first_fault = first_fault or f"{file.name}, {file.fault}"
        else:
            labels[file.label] += 1
        if file.nbytes is None:
            suffix = file.name.rpartition(".")[2].lower()
            formats[_FORMATS.get(suffix, suffix.upper())] += 1
        if roots is not None and roots.refusal(file.path):
            continue
        # Reservoir sampling (Vitter 1985): every file is equally likely to be in the sample.
        at = len(sample) if len(sample) < SAMPLE else chance.randrange(count)
        if at < SAMPLE:
            sample[at : at + 1] = [file]
        try:
            size += (nbytes := file.size)
            if not nbytes and not file.fault:
                faults += 1
                first_fault = first_fault or f"{file.name}, the file is empty"
        except OSError as error:  # a missing file of a list, or a dangling link
            faults += not file.fault
            first_fault = first_fault or f"{file.name}, {error.strerror}"
    if not count:
        raise DataError(no_files_reason(dataset))
    names = class_names(read)
    counts, targets_of = _count_classes(read, sample, labels, roots, lambda: on_progress(count))
    targets = load_source(read.kind).targets
    unnamed = len(set(counts) - set(range(len(names))))
    headers = list(filter(None, map(_header, sample)))
    if not formats:
        formats.update(header.format for header in headers)
    findings = [
        (finding, f"{each.name}, {finding.reason}")
        for each in sample
        if not each.fault
        for finding in check_header(_without_outside_mask(each, roots)).findings
        if finding.kind not in _COUNTED
    ]
    bad = [text for finding, text in findings if finding.level == "bad"]
    odd_boxes = [text for finding, text in findings if finding.kind == "box"]
    other_sizes = [text for finding, text in findings if finding.kind == "annotated size"]
    sizes = sorted((header.size for header in headers), key=lambda wh: (wh[0] * wh[1], wh))
    return FolderFacts(
        str(dataset),
        count,
        () if targets == "masks" else tuple(names),
        round(size / 1e6, 3),
        dict(formats.most_common()),
        smallest=sizes[0] if sizes else None,
        largest=sizes[-1] if sizes else None,
        class_counts={} if unnamed > MOST_NUMBERS else _by_name(counts, names, targets),
        targets=targets,
        targets_of=targets_of if targets_of < count else 0,
        without_targets=load_source(read.kind).without_targets(read),
        at_fault=faults + len(bad),
        of_no_sample=of_no_sample,
        first_fault=first_fault or next(iter(bad), ""),
        other_size=len(other_sizes),
        first_other_size=next(iter(other_sizes), ""),
        odd_boxes=len(odd_boxes),
        first_odd_box=next(iter(odd_boxes), ""),
        unnamed=unnamed if unnamed > MOST_NUMBERS else 0,
        size_counts=_size_counts(sizes),
        not_read=tuple(describe_not_read(dataset)),
        pillow_only=dict(
            Counter(
                name.rpartition(".")[2].upper()
                for name in load_source(dataset.kind).pillow_only(dataset)
            ).most_common()
        ),
    )


def _without_outside_mask(sample: Sample, roots: Roots | None) -> Sample:
    """Return the sample, without its mask if the mask file is outside the roots."""
    refused = roots is not None and sample.mask and roots.refusal(sample.mask)
    return sample._replace(mask="") if refused else sample


def _count_classes(
    dataset: Dataset,
    sample: Sequence[Sample],
    labels: Mapping[int, int],
    roots: Roots | None,
    check: Callable[[], None],
) -> tuple[Mapping[int, int], int]:
    """Return the number of images per class, and the number of counted images (0 if all)."""
    kind = load_source(dataset.kind)
    if (of_classes := kind.class_counts(dataset)) is not None:
        return dict(enumerate(of_classes)), 0
    looked_at = sorted(sample, key=lambda each: (each.path, each.offset))
    if roots is not None:
        looked_at = [each for each in looked_at if not each.mask or not roots.refusal(each.mask)]
    in_images = kind.classes_in(dataset, looked_at)
    if in_images is None:
        return labels, 0
    counts: Counter[int] = Counter()
    images = 0
    for found in in_images:
        images += 1
        counts.update(found)
        check()
    return counts, images


def _by_name(counts: Mapping[int, int], names: Sequence[str], targets: str) -> dict[str, int]:
    """Return counts by class name; empty if all samples have label 0 and class 0 has no name."""
    if not names and not targets and set(counts) <= {0}:
        return {}
    first = targets == "boxes" and not counts.get(0)  # class 0 is the background, without boxes
    found: Counter[str] = Counter()
    for number in [*range(first, len(names)), *sorted(set(counts) - set(range(len(names))))]:
        found[names[number] if 0 <= number < len(names) else str(number)] += counts.get(number, 0)
    return dict(found)


def _size_counts(sizes: Sequence[tuple[int, int]]) -> dict[str, int]:
    each = Counter(sizes)
    if len(each) <= MOST_SIZES:
        return {f"{width}×{height}": count for (width, height), count in each.items()}
    spans = Counter(bisect_left(LONGER_SIDES, max(size)) for size in sizes)
    return {_span(at): spans[at] for at in sorted(spans)}


def _span(index: int) -> str:
    low = LONGER_SIDES[index - 1] + 1 if index else 1
    return f"{low} … {LONGER_SIDES[index]}" if index < len(LONGER_SIDES) else f"{low} and more"


class _Header(NamedTuple):
    format: str
    size: tuple[int, int]
    """Width and height in pixels."""


def _header(sample: Sample) -> _Header | None:
    if (header := header_of(sample.path)) is not None:
        return _Header("", header.size) if header.size else None
    try:
        with pillow_warnings_ignored(), sample.open() as file, Image.open(file) as image:
            name = image.format or ""
            return _Header(
                {"JPEG2000": "JPEG 2000", "WEBP": "WebP", "PPM": "PNM"}.get(name, name),
                upright_size(image),
            )
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None  # `check_folder` reports the cause
