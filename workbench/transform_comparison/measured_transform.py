"""Measure one transform: apply the library's version and DALI's to the same decoded photos.

The tasks run in the worker process.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.emit.pipeline_import.transform_call import from_plain
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.engine.script_import.script_sandbox import ScriptSandbox, one_printable_line
from workbench.errors import DataError
from workbench.graph.model import Graph, Port
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.pictures.value_scaling import Scaling, scaling_of
from workbench.preview.requests.difference import DifferenceSums, PixelDifference
from workbench.sources import Datasets
from workbench.transform_comparison import library_calls
from workbench.transform_comparison.library_calls import CannotCallError, library_function

_HALF_A_STEP = 0.5
"""Floats that differ by less than this many 8-bit steps count as equal."""
_SECONDS = 20.0
"""Time limit in seconds for the library to process one photo."""
_SIDE = 256
"""Maximum width and height of the stored pictures, in pixels."""

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class MeasuredTransform:
    """Difference between a library's and DALI's pixels over ``samples`` photos.

    ``file`` is the photo with the largest difference, whose results ``theirs`` and ``ours`` are
    stored as JPEG. ``left_out`` are files that cannot be decoded. ``why`` is the reason if nothing
    was measured.
    """

    difference: PixelDifference = field(default_factory=PixelDifference)
    samples: int = 0
    file: str = ""
    theirs: bytes = b""
    ours: bytes = b""
    why: str = ""
    left_out: tuple[str, ...] = ()


@task
def library_state(worker: Worker, library: str) -> tuple[str, str]:
    """Task: return why a library cannot be used (empty if it can), and its version."""
    fault = library_calls.library_fault(library)
    return (fault, "") if fault else ("", library_calls.library_version(library))


@task
def measure_transform(
    worker: Worker,
    graph: Graph,
    ports: tuple[Port, Port],
    calls: Any,
    within: str,
    data: Datasets,
    samples: int,
) -> MeasuredTransform:
    """Task: apply ``calls`` of a library (plain values) and a graph to the first photos.

    ``ports`` are the ports of the decoded photos and of DALI's result. The limits of imported
    scripts apply to the library. Raises PipelineError if the graph fails, DataError if no photo can
    be used, and ImportFailedError if the library exceeds its limits.
    """
    start, end = ports
    run = worker.runner.run(graph, data, 0, samples, [start, end])
    usable = [place for place, sample in enumerate(run.samples) if not sample.error]
    if not usable:
        first = run.samples[0]
        raise DataError(f"No photo can be compared: {first.file}: {first.error}")
    decoded, made = run.batches[start].arrays(), run.batches[end]
    scaling = scaling_of(ResolvedGraph(graph, worker.runner.catalog), end, made)
    pairs = _Pairs(made.layout, scaling)
    worker.report_running(())  # what ends the worker from here on is no node
    seconds = _SECONDS * (1 + len(usable))
    with ScriptSandbox([within], seconds, worker.reply_error), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            apply = library_function(from_plain(calls), within)
            twice = [apply(decoded[usable[0]]) for _ in range(2)]
            if not np.array_equal(twice[0], twice[1], equal_nan=True):
                return MeasuredTransform(why="the library still draws something in it")
            for place, ours in enumerate(made.arrays()):
                if place in usable:
                    worker.check_interrupt()
                    worker.report(run.samples[place].file)
                    pairs.add(run.samples[place].file, ours, apply(decoded[place]))
        except CannotCallError as error:
            return MeasuredTransform(why=str(error))
        except Exception as error:  # whatever a library raises
            message = one_printable_line(f"{type(error).__name__}: {error}")
            return MeasuredTransform(why=f"{within} raised {message}")
    left_out = tuple(dict.fromkeys(sample.file for sample in run.samples if sample.error))
    return replace(pairs.measured(len(usable)), left_out=left_out)


class _Pairs:
    """Accumulates pixel differences over pairs of images."""

    def __init__(self, layout: str, scaling: Scaling | None) -> None:
        self._layout = layout
        self._scaling = scaling
        self._sums = DifferenceSums()
        self._sizes: list[str] = []
        self._error = -1.0
        self._farthest = ("", b"", b"")

    def add(self, file: str, ours: Array, theirs: Array) -> None:
        """Add both results of a photo. Raises CannotCallError if their types are not comparable."""
        axes = self._layout if "C" in self._layout else f"{self._layout}C"
        shaped = ours if ours.ndim == 3 else ours[..., None]
        ours = shaped.transpose([axes.index(axis) for axis in "HWC"])
        if theirs.dtype != np.uint8 and self._scaling is None:
            raise CannotCallError(f"the library returns {theirs.dtype}, DALI {ours.dtype}")
        ours, theirs = self._in_bytes(ours), self._in_bytes(theirs)
        if ours.shape == theirs.shape:
            error = self._sums.add(ours, theirs, _HALF_A_STEP)
        else:
            error = 0.0
            self._sizes.append(f"{_size(theirs)} and {_size(ours)}")
        if error > self._error:
            self._error = error
            self._farthest = (file, _jpeg(theirs), _jpeg(ours))

    def _in_bytes(self, image: Array) -> Array:
        """Scale an image to the range of 8 bits, as float64. Both sides use the same scaling."""
        if image.dtype == np.uint8 or self._scaling is None:
            return image.astype(np.float64)
        channels = image.shape[2]
        gain, offset = (
            np.asarray(each)[:channels] for each in (self._scaling.gain, self._scaling.offset)
        )
        scaled: Array = image.astype(np.float64) * gain + offset
        return scaled

    def measured(self, samples: int) -> MeasuredTransform:
        count = len(self._sizes)
        sizes = f"sizes differ in {count} of {samples}: {self._sizes[0]}" if count else ""
        return MeasuredTransform(self._sums.difference(sizes), samples, *self._farthest)


def _size(image: Array) -> str:
    height, width, channels = image.shape
    return f"{width} x {height}" + (f" of {channels} channels" if channels != 3 else "")


def _jpeg(image: Array) -> bytes:
    from PIL import Image

    shown = np.clip(np.rint(np.nan_to_num(image)), 0, 255).astype(np.uint8)
    if shown.shape[2] not in (1, 3):
        return b""
    picture = Image.fromarray(shown[..., 0] if shown.shape[2] == 1 else shown)
    picture.thumbnail((_SIDE, _SIDE))
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=90)
    return written.getvalue()
