"""Collect the facts about data that warnings use: labels, class names, faulty boxes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from workbench.errors import WorkbenchError
from workbench.sources.annotation_faults import OVER_EDGE, WITHOUT_AREA
from workbench.sources.dataset import Dataset, load_source
from workbench.sources.headers import SOUND_HEAD, ImageHeader, float_rate, image_header
from workbench.sources.source_kind import Sample

MOST_READ = 20_000
"""Maximum number of samples whose labels are read."""
_MOST_HEADS = 1_000
"""Maximum number of sounds, and of annotated images, whose headers are read."""
_MOST_CACHED = 8


@dataclass(frozen=True, slots=True)
class DataFacts:
    """Properties of the data that a graph reads.

    ``labels`` are the class numbers in file or folder order, at most 20,000; empty if samples do
    not have exactly one class. ``names`` are the names of the classes. ``outside`` is
    the number of samples with a box beyond the edge of the image, and ``without_area`` the number
    of samples with a box of zero width or height; ``first_outside`` and ``first_without_area``
    describe the first such box.
    """

    labels: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    key_points: tuple[str, ...] = ()
    """Names of key points, in order."""
    outside: int = 0
    unusable: int = 0
    """Minimum number of samples that no reader can read: faulty entries, and empty or missing
    files. More samples may be unreadable, because files are not opened."""
    without_area: int = 0
    first_outside: str = ""
    first_without_area: str = ""
    float_rates: tuple[int, ...] = ()
    """Sample rates of the float WAV files among the first 1,000 sounds."""
    turned: int = 0
    """Number of images, among the first 1,000 with annotations, that EXIF orientation rotates.
    Mirrored images are counted too."""
    annotated: Literal["", "stored", "upright"] = ""
    """Image size that the annotations of rotated images match: ``stored`` before EXIF rotation,
    ``upright`` after. Empty if both sizes are equal, or if annotations disagree.
    """
    first_turned: str = ""
    """Name of the first image that EXIF orientation rotates or mirrors."""
    headers_read: int = 0
    """Number of headers read for ``float_rates`` and ``turned``, or 0 if all were read."""
    count: int = 0
    """Number of samples that were read."""
    more: bool = False
    """Whether the data have more samples than the 20,000 that were read."""

    @property
    def at_least(self) -> str:
        """Prefix ``"at least "`` for counts if not all samples were read, else an empty string."""
        return "at least " if self.more else ""


NO_FACTS = DataFacts()
_cached: OrderedDict[tuple[Dataset, str], DataFacts] = OrderedDict()


def data_facts(dataset: Dataset, version: str = "") -> DataFacts:
    """Return the properties of a dataset, cached by dataset and ``version``.

    ``version`` must change whenever the files change. Returns ``NO_FACTS`` for data that cannot be
    read: the reader reports the cause.
    """
    key = dataset, version
    if key not in _cached:
        try:
            _cached[key] = _read(dataset)
        except (WorkbenchError, OSError):
            return NO_FACTS
        while len(_cached) > _MOST_CACHED:
            _cached.popitem(last=False)
    return _cached[key]


def _read(dataset: Dataset) -> DataFacts:
    source = load_source(dataset.kind)
    if not source.is_listed:
        return NO_FACTS
    counted = (each for each in source.list_samples(dataset) if each.counted)
    samples = list(islice(counted, MOST_READ))
    more = next(counted, None) is not None
    on_disk = not dataset.in_memory
    one_class_each = not source.targets
    labels = tuple(each.label for each in samples) if one_class_each else ()
    class_names = source.class_names(dataset)
    outside = [each for each in samples if each.remark.endswith(OVER_EDGE)]
    turned = _exif_oriented(samples) if source.targets and on_disk else {}
    without_area = [each for each in samples if f" {WITHOUT_AREA} " in each.remark]
    return DataFacts(
        labels if len({*labels}) > 1 else (),
        tuple(class_names),
        tuple(source.key_point_names(dataset)),
        len(outside),
        sum(bool(each.fault) or (on_disk and _is_empty(each)) for each in samples),
        len(without_area),
        _first_remark(outside),
        _first_remark(without_area),
        float_rates=_float_rates(samples) if source.noun == "sound" else (),
        turned=len(turned),
        annotated=_annotated_orientation([*turned.items()]),
        first_turned=next((each.name for each in turned), ""),
        headers_read=_MOST_HEADS if len(samples) > _MOST_HEADS else 0,
        count=len(samples),
        more=more,
    )


def _is_empty(sample: Sample) -> bool:
    """Return whether a sample has its own file, and that file is empty or missing."""
    try:
        return sample.nbytes is None and sample.size == 0
    except OSError:
        return True


def _first_remark(samples: Sequence[Sample]) -> str:
    return f"{samples[0].name}: {samples[0].remark}" if samples else ""


def _exif_oriented(samples: Sequence[Sample]) -> dict[Sample, ImageHeader]:
    """Return the samples that EXIF orientation rotates or mirrors, with their headers."""
    found = {}
    for each in samples[:_MOST_HEADS]:
        with suppress(OSError):  # its fault is reported elsewhere
            header = None if each.fault else image_header(each)
            if header and header.orientation != 1:
                found[each] = header
    return found


def _annotated_orientation(
    turned: Sequence[tuple[Sample, ImageHeader]],
) -> Literal["", "stored", "upright"]:
    telling = [(tuple(each.sides), header) for each, header in turned if each.sides]
    telling = [(sides, header) for sides, header in telling if header.stored != header.upright]
    if telling and all(sides == header.stored for sides, header in telling):
        return "stored"
    return "upright" if telling and all(s == h.upright for s, h in telling) else ""


def _float_rates(samples: Sequence[Sample]) -> tuple[int, ...]:
    heads = (_read_head(each.path) for each in samples[:_MOST_HEADS])
    return tuple(rate for head in heads if (rate := float_rate(head)))


def _read_head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(SOUND_HEAD)
    except OSError:
        return b""
