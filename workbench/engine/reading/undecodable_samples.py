"""Find undecodable samples of a batch, and replace them.

Used in the worker process only.
"""

from __future__ import annotations

import io
import wave
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.extra_operators.python_decoder import PILLOW_DECODER
from workbench.catalog.spec import Value
from workbench.engine.build.pipelines import plain_reason
from workbench.engine.reading.encoded_images import (
    corruption_reason,
    crash_reason,
    placeholder_jpeg,
    reject_reason,
)
from workbench.sources.kinds.sounds import SOUND_HEAD, silence_reason, sound_fault
from workbench.sources.kinds.video import encoded_fault

AUDIO_DECODER, VIDEO_DECODER = "decoders.audio", "decoders.video"


@dataclass(frozen=True, slots=True)
class Sample:
    """Check result of the sample ``file``; ``error`` and ``warning`` are empty if there is none."""

    file: str
    error: str = ""
    warning: str = ""
    number: int | None = None
    """Number of earlier samples in the whole run, if a Python source returned the sample."""


def check_samples(
    files: Sequence[str],
    encoded: Iterable[NDArray[np.uint8]],
    unreadable: Mapping[str, str],
    decoder: str = "",
    args: Mapping[str, Value | None] = MappingProxyType({}),
) -> tuple[Sample, ...]:
    """Return one Sample for each encoded array of shape (bytes,).

    ``decoder`` is the operator that decodes the arrays, with the arguments ``args``; empty for
    DALI's image decoders. The arrays are sounds for ``decoders.audio``, videos for
    ``decoders.video``, and images otherwise.
    """
    samples = []
    with_pillow = decoder == PILLOW_DECODER.name
    for file, array in zip(files, encoded, strict=True):
        if decoder == AUDIO_DECODER:
            head = array[:SOUND_HEAD].tobytes()
            fault = unreadable.get(file) or sound_fault(head) or silence_reason(head, args)
            samples.append(Sample(file, fault))
            continue
        data = array.tobytes()
        if decoder == VIDEO_DECODER:
            samples.append(Sample(file, unreadable.get(file) or encoded_fault(data)))
            continue
        error = unreadable.get(file) or reject_reason(data, with_pillow) or ""
        if not error and args.get("adjust_orientation") is False and not with_pillow:
            error = crash_reason(data)
        warning = "" if error else corruption_reason(data) or ""
        if with_pillow:
            error, warning = error or warning, ""
        samples.append(Sample(file, error, warning))
    return tuple(samples)


def replace_samples(
    encoded: Sequence[Any], samples: Sequence[Sample], decoder: str = ""
) -> list[Any]:
    """Replace every bad tensor with a good tensor of the same batch.

    A good sample satisfies the same requirements as the other samples, such as the minimum size of
    a crop. If there is none, a uniform image (which is also a video of one frame) or a second of
    silence is used.
    """
    good = next((a for a, s in zip(encoded, samples, strict=True) if not s.error), None)
    filler = _placeholder_sample(decoder) if good is None else good
    return [filler if s.error else a for a, s in zip(encoded, samples, strict=True)]


def _placeholder_sample(decoder: str) -> Any:
    from nvidia.dali.tensors import TensorCPU

    return TensorCPU(_silence() if decoder == AUDIO_DECODER else placeholder_jpeg())


def _silence() -> NDArray[np.uint8]:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 16_000))
    return np.frombuffer(buffer.getvalue(), np.uint8)


def decoding_error(encoded: NDArray[np.uint8], decoder: str = "") -> str:
    """Return why DALI's CPU decoder cannot decode a file, or "" if it can.

    The decoder has default arguments. This is called for each file of a failed batch, because DALI
    does not name the bad file. It takes about 3 ms.
    """
    from nvidia.dali import fn, pipeline_def

    needs_gpu = decoder == VIDEO_DECODER and encoded_fault(encoded.tobytes(), "cpu")
    device = 0 if needs_gpu else None

    def alone() -> Any:
        read = fn.external_source(name="encoded")
        if decoder == VIDEO_DECODER:
            return fn.decoders.video(read, device="cpu" if device is None else "mixed")
        return fn.decoders.audio(read)[0] if decoder == AUDIO_DECODER else fn.decoders.image(read)

    pipe = pipeline_def(alone)(
        batch_size=1, num_threads=1, device_id=device, prefetch_queue_depth=1
    )
    try:
        pipe.build()
        pipe.feed_input("encoded", [encoded])
        pipe.run()
    except RuntimeError as error:
        return plain_reason(error)
    return ""


def check_decoding(sample: Sample, encoded: NDArray[np.uint8], decoder: str = "") -> Sample:
    """Decode a sample alone, and return it with DALI's error if that fails."""
    reason = decoding_error(encoded, decoder)
    return replace(sample, error=sample.warning or reason, warning="") if reason else sample


def merge_samples(lists: Sequence[Sequence[Sample]], count: int) -> tuple[Sample, ...]:
    """Combine the samples of several readers at each index.

    The first sample with an error is used or, if there is none, the first with a warning.
    """
    merged = []
    for index in range(count):
        here = [samples[index] for samples in lists]
        first = next((s for s in here if s.error), next((s for s in here if s.warning), None))
        merged.append(first or (here[0] if here else Sample("")))
    return tuple(merged)
