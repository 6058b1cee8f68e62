"""Compute differences: between the tiles of two graphs, and between arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.preview.pictures.output_tiles import tiles_of
from workbench.preview.pictures.tiles import on_host
from workbench.preview.request import PreviewRequest, run_request

# Tile-by-tile differences of two graphs. Used in the worker process only.


@dataclass(frozen=True, slots=True)
class TileDistance:
    """Distance between the tiles of two graphs for one sample.

    ``means`` has the mean absolute difference of each image output of the first graph, in display
    values from 0 to 255. It is None if the other graph has no such output, if the sizes differ, or
    if the file cannot be shown. ``same_photo`` is True if both graphs use the same file.
    """

    means: tuple[float | None, ...]
    same_photo: bool


@task
def tile_distances(
    worker: Worker, request: PreviewRequest, other: PreviewRequest
) -> tuple[TileDistance, ...]:
    """Task: return the distance between ``request`` and ``other`` for each sample.

    Outputs are paired by name or, if no names match, by position. Raises the errors of ``render``.
    """
    run, beside = run_request(worker, request), run_request(worker, other)
    images, others = run.images, beside.images
    pairs = {name: others.get(name) for name in images}
    if not any(pairs.values()):
        pairs |= dict(zip(images, others.values(), strict=False))
    ours = [tiles_of(worker, run, port, request.tile_size) for port in images.values()]
    theirs = [
        tiles_of(worker, beside, port, request.tile_size) if port is not None else None
        for port in pairs.values()
    ]
    worker.check_interrupt()
    pictures = [on_host(tiles) for tiles in ours]
    other_pictures = [on_host(tiles) if tiles is not None else None for tiles in theirs]
    found = []
    for index, (here, there) in enumerate(
        zip(run.result.samples, beside.result.samples, strict=True)
    ):
        means: list[float | None] = []
        for tiles, other_tiles, picture, other_picture in zip(
            ours, theirs, pictures, other_pictures, strict=True
        ):
            size = tiles.sizes[index]
            fits = other_tiles is not None and other_tiles.sizes[index] == size
            if other_picture is None or not fits or here.error or there.error:
                means.append(None)
                continue
            width, height = size
            a = picture[index][:height, :width]
            b = other_picture[index][:height, :width]
            means.append(float((np.maximum(a, b) - np.minimum(a, b)).mean()))
        found.append(TileDistance(tuple(means), here.file == there.file))
    return tuple(found)


# Array differences: mean, maximum, PSNR, and fraction of equal values.


@dataclass(frozen=True, slots=True)
class PixelDifference:
    """Difference between images in 8-bit levels. ``psnr`` (in dB) is relative to 255.

    ``psnr`` is infinite if there is no difference. ``equal`` is the fraction of equal values, 0 to
    1. ``sizes`` describes images whose sizes differ. They are excluded, and the results are NaN if
    no image is left.
    """

    mean: float = math.nan
    largest: float = math.nan
    psnr: float = math.nan
    equal: float = 0.0
    sizes: str = ""

    @property
    def measured(self) -> bool:
        """True if at least one image was compared."""
        return not math.isnan(self.mean)

    @property
    def psnr_text(self) -> str:
        """``equal``, or the PSNR such as ``35.2 dB``."""
        return "equal" if self.psnr == math.inf else f"{self.psnr:.1f} dB"


@dataclass(slots=True)
class DifferenceSums:
    """Sums over the differences of several pairs of arrays."""

    values: int = 0
    same: int = 0
    absolute: float = 0.0
    squared: float = 0.0
    largest: float = 0.0

    def add(self, one: NDArray[Any], other: NDArray[Any], within: float = 0.0) -> float:
        """Add the difference of two arrays of equal shape and type. Returns the mean squared error.

        Values that differ by less than ``within`` count as equal. If ``within`` is 0, only bit-
        identical values do.
        """
        self.values += one.size
        if one.tobytes() == other.tobytes():
            self.same += one.size
            return 0.0
        places = _bits(one) != _bits(other)
        with np.errstate(all="ignore"):
            gaps = np.abs(one.astype(np.float64) - other.astype(np.float64)).reshape(-1)[places]
        self.same += one.size - len(gaps) + int((gaps < within).sum())
        self.absolute += float(gaps.sum())
        squared = float(np.square(gaps).sum())
        self.squared += squared
        largest = float(gaps.max())
        self.largest = max(self.largest, largest if largest == largest else math.inf)
        return squared / one.size

    def difference(self, sizes: str = "") -> PixelDifference:
        """Return the difference over all arrays added so far, for values on the 8-bit scale."""
        if not self.values:
            return PixelDifference(sizes=sizes)
        psnr = psnr_of(self.squared / self.values, 255.0)
        mean, equal = self.absolute / self.values, self.same / self.values
        return PixelDifference(mean, self.largest, psnr, equal, sizes)


def psnr_of(error: float, peak: float) -> float:
    """Return the PSNR in dB of a mean squared error, or 0 if undefined (no peak or no values)."""
    if error == 0:
        return math.inf
    return 10 * math.log10(peak**2 / error) if peak > 0 and math.isfinite(error) else 0.0


def difference(pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> PixelDifference:
    """Compare pairs of images with values from 0 to 255.

    If the two images of a pair differ in size, the result has only their ``sizes``.
    """
    sums = DifferenceSums()
    for one, other in pairs:
        if one.shape != other.shape:
            return PixelDifference(sizes=f"{one.shape}, {other.shape}")
        sums.add(one.astype(np.float64), other.astype(np.float64))
    return sums.difference()


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array).reshape(-1).view(f"V{array.itemsize}")
