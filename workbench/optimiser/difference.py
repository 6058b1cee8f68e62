"""Compare the outputs of a rewritten graph and the original, on the same data and seeds.

The comparison runs in the worker process.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.graph.model import Graph
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.pictures.value_scaling import Scaling, scale_on_host, scaling_of
from workbench.preview.requests.difference import DifferenceSums, psnr_of
from workbench.sources import Datasets

WORST = 2
"""Number of samples with the largest difference that are stored as images."""
_SIDE = 96
ROUNDINGS = 8
"""Number of rounding errors (machine epsilons) that are tolerated in outputs other than images."""


@dataclass(frozen=True, slots=True)
class WorstSample:
    """A sample with a large difference: its file, PSNR in dB, and JPEG images before and after."""

    batch: int
    sample: int
    file: str
    output: str
    psnr: float
    before: bytes = b""
    after: bytes = b""


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between two graphs' outputs for the same samples.

    ``largest`` and ``mean`` are absolute differences of image values, in the output's unit;
    ``psnr`` is in dB, infinite without a difference, relative to 255 for bytes and to the
    original's value range for other types. ``equal`` (0 to 1) is the fraction of bit-identical
    values. ``rounded`` names outputs other than images whose floats differ only in their last bits,
    for example because boxes were transformed in another order. ``other`` describes any other
    difference: a shape, an element type, or an output other than an image.
    """

    samples: int = 0
    largest: float = 0.0
    mean: float = 0.0
    psnr: float = math.inf
    equal: float = 1.0
    other: str = ""
    rounded: tuple[str, ...] = ()
    worst: tuple[WorstSample, ...] = ()

    @property
    def identical(self) -> bool:
        """True if all bytes are equal."""
        return not (self.other or self.rounded) and self.equal == 1.0 and self.psnr == math.inf


@dataclass(frozen=True, slots=True)
class SamplingError:
    """How far a graph's outputs change with other sampling filters, and which these are.

    ``psnr`` is in dB; None if it is unknown, and then ``source`` is the reason.
    """

    psnr: float | None
    source: str


_FILTERS = ("INTERP_LANCZOS3", "INTERP_CUBIC", "INTERP_NN", "INTERP_LINEAR")
_FILTER_NAMES = ("Lanczos", "cubic", "nearest pixel", "linear")


def with_other_filters(resolved: ResolvedGraph) -> tuple[Graph, str]:
    """Return the graph with another filter in each resize and warp, and a text that names them.

    A resize uses the sharper Lanczos filter. Warps support only linear interpolation and the
    nearest pixel, which moves each pixel by up to half a pixel. Blocks are unchanged.
    """
    graph, named = resolved.graph, {}
    for node in graph.nodes:
        arg = resolved.spec(node).args.get("interp_type")
        if arg is None or node.muted or "interp_type" in node.inputs:
            continue
        other = next(f for f in _FILTERS if f in arg.choices and f != node.args.get("interp_type"))
        graph = graph.replace_node(node.with_args({**node.args, "interp_type": other}))
        named[node.id] = _FILTER_NAMES[_FILTERS.index(other)]
    return graph, ", ".join(f"{node} with filter {name}" for node, name in named.items())


@dataclass(slots=True)
class _Sums(DifferenceSums):
    ends: tuple[float, float] = (math.inf, -math.inf)
    worst: list[WorstSample] = field(default_factory=list)


@task
def compare_outputs(
    worker: Worker, original: Graph, rewritten: Graph, data: Datasets, batches: int
) -> Difference:
    """Compare the first ``batches`` batches of two graphs sample by sample, in the worker."""
    resolved, size = ResolvedGraph(original, worker.runner.catalog), original.settings.batch_size
    images = resolved.images
    sums = {name: _Sums() for name in images}
    rounded: set[str] = set()
    for batch in range(batches):
        runs = [
            worker.runner.run(graph, data, batch, size, list(graph.outputs.values()))
            for graph in (original, rewritten)
        ]
        for name, port in original.outputs.items():
            before = runs[0].batches[port]
            after = runs[1].batches[rewritten.outputs[name]]
            worker.check_interrupt()
            first, second = before.arrays(), after.arrays()
            if before.layout != after.layout:
                return Difference(other=f"{name}: layout {before.layout} and {after.layout}")
            scaling = scaling_of(resolved, port, before) if name in images else None
            for index, (a, b) in enumerate(zip(first, second, strict=True)):
                if a.shape != b.shape or a.dtype != b.dtype:
                    return Difference(other=f"{name}: {a.dtype} {a.shape} and {b.dtype} {b.shape}")
                if name in sums:
                    file = runs[0].samples[index].file
                    worst = WorstSample(batch, index, file, name, math.inf)
                    _add(sums[name], a, b, before.layout, scaling, worst)
                elif a.tobytes() == b.tobytes():
                    continue
                elif _in_last_bits(a, b):
                    rounded.add(name)
                else:
                    return Difference(other=f"{name} differs in sample {index} of batch {batch}")
    found = _summed(list(sums.values()), batches * size)
    return replace(found, rounded=tuple(sorted(rounded)))


def _in_last_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Return whether floats are equal up to a few rounding errors (``ROUNDINGS``).

    The tolerance is relative to the largest value, or to 1 if all values are smaller.
    """
    if a.dtype.kind != "f":
        return False
    largest = max(1.0, float(np.abs(a).max(initial=0.0)))
    return bool(np.all(np.abs(a - b) <= ROUNDINGS * np.finfo(a.dtype).eps * largest))


def _add(
    sums: _Sums,
    a: NDArray[Any],
    b: NDArray[Any],
    layout: str,
    scaling: Scaling | None,
    worst: WorstSample,
) -> None:
    low, high = (float(a.min()), float(a.max())) if a.size else (0.0, 0.0)
    sums.ends = min(sums.ends[0], low), max(sums.ends[1], high)
    error = sums.add(a, b)
    if not error and a.tobytes() == b.tobytes():
        return
    if len(sums.worst) < WORST or error > sums.worst[-1].psnr:  # the error, until the peak is known
        pictures = [_picture(each, layout, scaling) for each in (a, b)]
        sums.worst.append(replace(worst, psnr=error, before=pictures[0], after=pictures[1]))
        sums.worst = sorted(sums.worst, key=lambda one: -one.psnr)[:WORST]


def _summed(every: Sequence[_Sums], samples: int) -> Difference:
    values = sum(one.values for one in every)
    if not values:
        return Difference(samples)
    worst = sorted(
        (replace(each, psnr=psnr_of(each.psnr, _peak(one))) for one in every for each in one.worst),
        key=lambda each: each.psnr,
    )
    return Difference(
        samples,
        max(one.largest for one in every),
        sum(one.absolute for one in every) / values,
        min(psnr_of(one.squared / max(1, one.values), _peak(one)) for one in every),
        sum(one.same for one in every) / values,
        worst=tuple(worst[:WORST]),
    )


def _peak(sums: _Sums) -> float:
    low, high = sums.ends
    return 255.0 if low >= 0 and 8 < high <= 255 else high - low


def _picture(array: NDArray[Any], layout: str, scaling: Scaling | None) -> bytes:
    """Return a small JPEG of a sample, or empty bytes if the sample is not an image."""
    from PIL import Image

    if sorted(layout) not in (["C", "H", "W"], ["H", "W"]):
        return b""
    shown = scale_on_host(array, layout, scaling or Scaling((1.0,), (0.0,)))
    if shown.shape[2] not in (1, 3):
        return b""
    image = Image.fromarray(shown[..., 0] if shown.shape[2] == 1 else shown)
    image.thumbnail((_SIDE, _SIDE))
    written = io.BytesIO()
    image.save(written, "JPEG", quality=80)
    return written.getvalue()
