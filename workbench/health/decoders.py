"""Report which decoder of a GPU decodes each image of a data set, and its time per image."""

from __future__ import annotations

import io
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from PIL import Image

from workbench.engine.file_checks.decoder_rules import DECODERS, Decoder, decoder_of
from workbench.engine.file_checks.file_check_pool import is_inside
from workbench.engine.protocol.process import Engine
from workbench.engine.protocol.registry import task
from workbench.engine.reading.encoded_images import pillow_warnings_ignored
from workbench.engine.resources.machine import describe_machine
from workbench.engine.run.worker import Worker
from workbench.errors import DataError, EngineError, PipelineError
from workbench.roots import Roots
from workbench.sources import Location, Sample, list_samples, load_source, open_dataset

MEASURED = 64
"""Number of images per decoder that are decoded to measure their cost."""
_NAMED = 3
_QUALITY = 95
_WARM_UP, _ROUNDS = 4, 12


@dataclass(frozen=True, slots=True)
class DecoderUse:
    """Images of one format that the same decoder decodes, and why no faster decoder decodes them.

    ``milliseconds`` is the measured time per image in a batch of such images. ``reencoded`` is the
    time per image after the images were stored as baseline JPEGs (quality 95, 4:2:0). None means
    that a time was not measured; ``failure`` is the reason if a GPU could not decode the images.
    """

    decoder: Decoder
    format: str
    reason: str
    names: tuple[str, ...]
    milliseconds: float | None = None
    reencoded: float | None = None
    failure: str = ""

    @property
    def count(self) -> int:
        """Number of images."""
        return len(self.names)

    @property
    def times(self) -> str:
        """Measured times as text; empty if they were not measured."""
        if self.milliseconds is None:
            return f"not measured: {self.failure}" if self.failure else ""
        if self.reencoded is None:
            return f"{self.milliseconds:.3f} ms per image"
        return (
            f"{self.milliseconds:.3f} ms per image; {self.reencoded:.3f} ms as baseline JPEG 4:2:0 "
            f"({self.milliseconds / self.reencoded:.1f} times)"
        )


@dataclass(frozen=True, slots=True, repr=False)
class DecoderCoverage:
    """Decoders of the images of a data set. ``gpu`` is the GPU on which the times were measured.

    If there is no GPU, ``gpu`` is empty, and the decoders are predicted for a GPU with JPEG
    engines.

    ::

        print(wb.decoder_coverage("photos"))
    """

    data: str
    uses: tuple[DecoderUse, ...]
    gpu: str = ""
    note: str = ""
    """Reason why the times were not measured; empty if they were."""

    @property
    def count(self) -> int:
        """Number of images."""
        return sum(each.count for each in self.uses)

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the images that the JPEG engines do not decode.

        ::

            names = wb.decoder_coverage("photos").others
        """
        rest = (each.names for each in self.uses if each.decoder != "JPEG engines")
        return tuple(name for names in rest for name in names)

    def lines(self) -> list[str]:
        """Return the report as lines: the decoders, then the cost of a batch if it was measured."""
        found = []
        for each in self.uses:
            named = ", ".join(each.names[:_NAMED])
            more = f" and {each.count - _NAMED:,} more" if each.count > _NAMED else ""
            why = f" ({each.reason})" if each.reason else ""
            share = each.count / self.count
            found.append(f"{each.decoder:12} {each.count:8,} {share:6.1%}  {each.format}{why}")
            if each.decoder != "JPEG engines":
                found.append(f"{'':30}{named}{more}")
            if each.times:
                found.append(f"{'':30}{each.times}")
        return found + self.notes()

    def notes(self) -> list[str]:
        """Return sentences about all images, and the cost of a batch if it was measured."""
        engines = self.count - len(self.others)
        found = [f"The JPEG engines decode {engines:,} of {self.count:,} images."]
        if cost := self._cost():
            found.append(cost)
        how = f"times on {self.gpu}, in batches of {MEASURED}" if self.gpu else self.note
        gpus = "a GPU with JPEG engines (A100, H100, H200)"
        found.append(f"Decoders from the headers, for {gpus}; {how}.")
        found.append("On other GPUs, CUDA decodes the images of the JPEG engines.")
        return found

    def _cost(self) -> str:
        timed = [(each, each.milliseconds) for each in self.uses if each.milliseconds is not None]
        if not timed or len(timed) < len(self.uses):
            return ""
        whole = sum(each.count * spent for each, spent in timed)
        rest = sum(each.count * spent for each, spent in timed if each.decoder != "JPEG engines")
        return (
            f"A batch of {MEASURED} takes {MEASURED * whole / self.count:.1f} ms on average, "
            f"{rest / whole:.0%} of it for the other images."
        )

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row per image. Raises ImportError without pandas.

        ::

            print(wb.decoder_coverage("photos").to_frame())
        """
        import pandas

        rows = [
            (name, each.decoder, each.format, each.reason, each.milliseconds)
            for each in self.uses
            for name in each.names
        ]
        columns = ("file", "decoder", "format", "reason", "ms")
        return pandas.DataFrame(rows, columns=list(columns))

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def decoder_coverage(
    data: Location,
    on_progress: Callable[[int], None] = lambda count: None,
    roots: Roots | None = None,
) -> DecoderCoverage:
    """Return which decoder of a GPU decodes each image of a data set, and why.

    The headers of all images are read. If there is a GPU, up to 64 images of each ``DecoderUse``
    are also decoded, both unchanged and as baseline JPEGs, to measure the time per image.
    ``on_progress`` is called with the number of images read; files outside the ``roots`` are not
    read. Raises DataError if the data set
    cannot be read, has no images, or is decoded by its reader.

    ::

        for use in wb.decoder_coverage("photos").uses:
            print(use.decoder, use.count, use.reason)
    """
    dataset = open_dataset(data)
    kind = load_source(dataset.kind)
    if kind.pixels or kind.decoder or not kind.is_listed:
        raise DataError(f"{dataset} is not decoded by decoders.image. Use a data set of images.")
    groups: dict[tuple[Decoder, str, str], list[Sample]] = {}
    for number, sample in enumerate(list_samples(dataset), 1):
        if sample.counted and sample.has_image and is_inside(roots, sample):
            groups.setdefault(_decoder_of_sample(sample), []).append(sample)
        on_progress(number)
    if not groups:
        raise DataError(f"{dataset} has no images.")
    found = {
        DecoderUse(*key, tuple(sample.name for sample in samples)): samples
        for key, samples in groups.items()
    }
    uses = sorted(found, key=lambda each: (DECODERS.index(each.decoder), -each.count))
    machine = describe_machine()
    if not machine.gpu:
        return DecoderCoverage(str(dataset), tuple(uses), note=machine.no_gpu)
    with Engine() as engine:
        uses = [measured(engine, each, found[each][:MEASURED]) for each in uses]
    return DecoderCoverage(str(dataset), tuple(uses), machine.gpu)


def measured(engine: Engine, use: DecoderUse, samples: Sequence[Sample]) -> DecoderUse:
    """Return ``use`` with its times, or with the reason why they were not measured."""
    if use.decoder == "unknown" or samples[0].with_pillow:
        return use
    try:
        images = []
        for sample in samples:
            with sample.open() as file:
                images.append(file.read())
        use = replace(use, milliseconds=engine.call(time_decoding, images))
        if use.decoder != "JPEG engines":
            stored = [_as_baseline(image) for image in images]
            use = replace(use, reencoded=engine.call(time_decoding, stored))
    except (OSError, ValueError, EngineError, PipelineError) as error:
        return replace(use, failure=str(error).partition("\n")[0] or type(error).__name__)
    return use


def _as_baseline(image: bytes) -> bytes:
    """Convert an image to a baseline JPEG with quality 95 and 4:2:0."""
    stored = io.BytesIO()
    with pillow_warnings_ignored(), Image.open(io.BytesIO(image)) as opened:
        opened.convert("RGB").save(stored, "JPEG", quality=_QUALITY, subsampling=2)
    return stored.getvalue()


@task
def time_decoding(worker: Worker, images: list[bytes]) -> float:
    """Task: return the median time in milliseconds per image of mixed decoding in full batches."""
    from nvidia.dali import Pipeline, fn, types

    arrays = [np.frombuffer(image, np.uint8) for image in images]
    batch = [arrays[i % len(arrays)] for i in range(MEASURED)]
    pipe: Any = Pipeline(len(batch), 4, 0)
    with pipe:
        encoded = fn.external_source(lambda: batch)
        pipe.set_outputs(fn.decoders.image(encoded, device="mixed", output_type=types.RGB))
    pipe.build()
    spent = []
    for _ in range(_WARM_UP + _ROUNDS):
        start = time.perf_counter()
        pipe.run()
        spent.append(time.perf_counter() - start)
    return 1000 * statistics.median(spent[_WARM_UP:]) / len(batch)


def _decoder_of_sample(sample: Sample) -> tuple[Decoder, str, str]:
    if sample.with_pillow:
        return "CPU", "decoded by Pillow", "decoders.pillow"
    try:
        with sample.open() as file:
            return decoder_of(file)
    except OSError as error:
        return "unknown", "unreadable file", error.strerror or str(error)
