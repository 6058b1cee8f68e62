"""Compute statistics of the values in a batch, for each image output and channel.

Used in the worker process only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.graph.model import Port
from workbench.preview.pictures.frame_strip import value_layout
from workbench.preview.request import GraphRun, PreviewRequest, run_request

BINS = 64
NORMALISERS = ("crop_mirror_normalize", "normalize")
FAR_MEAN, NARROW, WIDE = 1.5, 0.3, 3.0
"""Maximum mean, and minimum and maximum standard deviation, of correctly normalised photos. If at
least ``ENOUGH`` photos have other values, the normalisation is probably wrong: 16 sample photos of
one or two classes, normalised with ImageNet's mean and std, had means within 1.3 and deviations of
0.41 to 1.4. Fewer photos, or random variants of one photo, may exceed these limits although mean
and std are right.
"""
ENOUGH = 16
OUT_OF_REACH = 30.0
"""Mean or deviation that no correct normalisation of 8-bit photos exceeds: 255 / 8.5."""
_RANGES = (
    *((0.0, 1.0), (-1.0, 1.0), (-3.0, 3.0), (-10.0, 10.0)),
    *((0.0, 256.0), (-32.0, 32.0), (-128.0, 128.0)),
)


@dataclass(frozen=True, slots=True)
class ChannelStatistics:
    """Statistics of one channel of a batch.

    ``counts`` has the number of values in each of 64 equal bins between the output's ``low`` and
    ``high``. ``mean``, ``deviation``, ``smallest`` and ``largest`` are those of the finite values,
    or None if there are none. ``not_finite`` is the number of other values.
    """

    counts: tuple[int, ...]
    mean: float | None
    deviation: float | None
    smallest: float | None
    largest: float | None
    not_finite: int = 0


@dataclass(frozen=True, slots=True)
class Histogram:
    """Histograms of an image's channels. ``low`` and ``high`` are the ends of the axis."""

    low: float
    high: float
    channels: tuple[ChannelStatistics, ...]


@dataclass(frozen=True, slots=True)
class OutputStatistics:
    """Statistics of one image output of a batch.

    ``low`` and ``high`` are the ends of the histogram's axis (see ``axis_range``). ``samples`` is
    the number of readable samples. ``hint`` describes suspicious values of normalised floats; it is
    empty if there are none. With fewer than 16 different photos, only values that no correct mean
    and std can produce are suspicious.
    """

    output: str
    port: str
    dtype: str
    low: float
    high: float
    channels: tuple[ChannelStatistics, ...]
    samples: int
    hint: str


@task
def batch_statistics(worker: Worker, request: PreviewRequest) -> tuple[OutputStatistics, ...]:
    """Task: return statistics of each image output, over the readable samples.

    If the number of channels differs between samples, only the channels that all samples have are
    included.
    """
    run = run_request(worker, request)
    found = []
    for name, port in run.images.items():
        worker.check_interrupt()
        known: dict[tuple[str, str, str, int], OutputStatistics] = worker.kept.setdefault(
            ("statistics",), {}
        )
        key = run.result.keys[port.node], port.output, name, len(run.result.samples)
        if key not in known:
            if len(known) >= 256:
                known.clear()
            known[key] = _statistics(run, name, port)
        found.append(known[key])
    return tuple(found)


def _statistics(run: GraphRun, name: str, port: Port) -> OutputStatistics:
    batch = run.result.batches[port]
    layout = value_layout(batch)
    arrays = [
        array
        for array, sample in zip(batch.arrays(), run.result.samples, strict=True)
        if not sample.error
    ]
    made = histogram_of(arrays, layout, batch.dtype)
    op = run.graph.node(port.node).op
    normalised = op in NORMALISERS and batch.dtype.startswith("float")
    photos = len({sample.file for sample in run.result.samples if not sample.error})
    return OutputStatistics(
        output=name,
        port=str(port),
        dtype=batch.dtype,
        low=made.low,
        high=made.high,
        channels=made.channels,
        samples=len(arrays),
        hint=_normalisation_hint(made.channels, photos >= ENOUGH) if normalised else "",
    )


def histogram_of(
    arrays: Sequence[NDArray[Any]], layout: str, dtype: str | None = None
) -> Histogram:
    """Return the histogram of images of the same type. Without images, ``dtype`` is required."""
    channels = _by_channel(arrays, layout)
    ends = [_finite_extremes(values) for values in channels]
    low, high = axis_range(
        np.dtype(dtype) if dtype else arrays[0].dtype,
        min((low for low, _ in ends if low is not None), default=0.0),
        max((high for _, high in ends if high is not None), default=0.0),
    )
    made = tuple(
        _channel(values, *own, low, high) for values, own in zip(channels, ends, strict=True)
    )
    return Histogram(low, high, made)


def _by_channel(arrays: Sequence[NDArray[Any]], layout: str) -> list[NDArray[Any]]:
    """Return the values of each channel, concatenated over all samples."""
    if "C" not in layout:
        return [np.concatenate([array.reshape(-1) for array in arrays])] if arrays else []
    axis = layout.index("C")
    count = min((array.shape[axis] for array in arrays), default=0)
    return [
        np.concatenate([array.take(channel, axis).reshape(-1) for array in arrays])
        for channel in range(count)
    ]


def _finite_extremes(values: NDArray[Any]) -> tuple[float | None, float | None]:
    if values.size:
        low, high = float(values.min()), float(values.max())
        if math.isfinite(low) and math.isfinite(high):
            return low, high
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (None, None)


def axis_range(dtype: np.dtype[Any], low: float, high: float) -> tuple[float, float]:
    """Return both ends of the histogram's axis.

    For 8-bit integers, the axis contains all possible values. For other types it is the first of
    the ranges 0..1, -1..1, -3..3, -10..10, 0..256, -32..32, -128..128 that contains ``low`` and
    ``high``. If none does, the axis extends to the smallest sufficient power of two, symmetrically
    if ``low`` is negative. Therefore the axis rarely changes with the values, and all bins of
    integers contain the same number of possible values.
    """
    if dtype.kind in "iu" and dtype.itemsize == 1:
        info = np.iinfo(dtype)
        return float(info.min), float(info.max) + 1.0
    for least, most in _RANGES:
        if least <= low and high <= most:
            return least, most
    side = 2.0 ** math.ceil(math.log2(max(abs(low), abs(high))))
    return (0.0 if low >= 0 else -side), side


def _channel(
    values: NDArray[Any], smallest: float | None, largest: float | None, low: float, high: float
) -> ChannelStatistics:
    if smallest is None or largest is None:
        return ChannelStatistics((0,) * BINS, None, None, None, None, values.size)
    if values.dtype == np.uint8:
        counts = np.bincount(values, minlength=256)
        numbers = np.arange(256)
        mean = float((counts * numbers).sum() / values.size)
        deviation = float(np.sqrt((counts * (numbers - mean) ** 2).sum() / values.size))
        bins = counts.reshape(BINS, -1).sum(axis=1)
        return ChannelStatistics(tuple(bins.tolist()), mean, deviation, smallest, largest)
    exact = values.astype(np.float64)
    finite = exact[np.isfinite(exact)] if values.dtype.kind == "f" else exact
    places = ((finite - low) * (BINS / (high - low))).astype(np.int64)
    bins = np.bincount(np.clip(places, 0, BINS - 1), minlength=BINS)
    return ChannelStatistics(
        tuple(bins.tolist()),
        float(finite.mean()),
        float(finite.std()),
        smallest,
        largest,
        values.size - finite.size,
    )


def _normalisation_hint(channels: Sequence[ChannelStatistics], enough: bool) -> str:
    """Return a text about suspicious normalised values, or an empty string if there are none.

    The limits are narrower if there are ``enough`` photos.
    """
    far, narrow, wide = (FAR_MEAN, NARROW, WIDE) if enough else (OUT_OF_REACH, 0.0, OUT_OF_REACH)
    for number, channel in enumerate(channels):
        if channel.mean is None or channel.deviation is None:
            continue
        if channel.smallest == channel.largest == 0.0:
            continue  # a channel added by padding
        if abs(channel.mean) > far or not narrow <= channel.deviation <= wide:
            return (
                f"Channel {number} has mean {channel.mean:.3g} and standard deviation "
                f"{channel.deviation:.3g}; about 0 and 1 are usual after normalising. Check mean "
                "and std: for pixels of 0 to 255 they are about 120 and 60, not 0.48 and 0.23."
            )
    return ""
