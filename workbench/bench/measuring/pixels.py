"""Compare the pixels of the same images computed in two ways."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.bench.measuring.config import config_of, with_config
from workbench.bench.measuring.worker_group import StopClock
from workbench.catalog import load_catalog
from workbench.emit.core.code import Code
from workbench.emit.script import script_of
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.protocol.progress import WorkerProgress
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.errors import CancelledError, EngineError
from workbench.graph.execution.dataset_parameters import sequence_length
from workbench.graph.model import DecodeDevice, Graph
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import Datasets

IMAGES = 64
LIMIT = 300.0
"""Timeout of a comparison in seconds. Importing a library from a cold disk may take minutes."""
LEVELS = "levels of 255"
NOT_COMPARED = "not compared: the time budget ended"
FLOATS = "units of the output's floats"
SAME = {LEVELS: 8.0, FLOATS: 0.15}
"""Largest mean difference, by unit, at which two libraries are considered to apply the same
augmentation. Filters and rounding cause smaller differences; a wrong sign or a different random
value causes at least 30 levels. For floats with ImageNet normalisation, 0.15 corresponds to nine
levels.
"""


@dataclass(frozen=True, slots=True)
class PixelDifference:
    """Mean and maximum absolute difference between the values of two lists of images.

    ``share`` (0 to 1) is the fraction of differing values. ``unit`` is the unit of ``mean`` and
    ``greatest``, as text.
    """

    images: int
    mean: float
    greatest: float
    share: float
    unit: str = ""

    @property
    def is_same(self) -> bool:
        """True if the mean difference is small enough (``SAME``) for the same augmentation."""
        return self.mean <= SAME.get(self.unit, 0.0)


def compare_cpu_with_mixed(
    ours: Sequence[NDArray[Any]], theirs: Sequence[NDArray[Any]]
) -> PixelDifference | None:
    """Compare two lists of images. Return None if shapes differ or the lists are empty."""
    if not ours or [a.shape for a in ours] != [b.shape for b in theirs]:
        return None
    gaps = [np.abs(np.subtract(a, b, dtype=np.float64)) for a, b in zip(ours, theirs, strict=True)]
    count = sum(gap.size for gap in gaps)
    return PixelDifference(
        len(gaps),
        float(sum(gap.sum() for gap in gaps) / count),
        float(max(gap.max() for gap in gaps)),
        float(sum(np.count_nonzero(gap) for gap in gaps) / count),
        LEVELS if ours[0].dtype == np.uint8 else FLOATS,
    )


def pixel_sentences(extra: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each pixel comparison in a record's ``extra``."""
    found: dict[str, Any] = {}
    if extra.get("decoders"):
        found["mixed decoding"] = extra["decoders"]
    for name, peer in (extra.get("peers") or {}).items():
        found[f"{name} {peer['version']}".strip()] = peer.get(
            "difference", {"reason": NOT_COMPARED}
        )
    return [_pixel_sentence(name, pixels) for name, pixels in found.items()]


def _pixel_sentence(name: str, comparison: Mapping[str, Any]) -> str:
    who = f"Pixels of {name} and of DALI on the CPU"
    if "mean" not in comparison:
        return f"{who}: {comparison['reason']}"
    unit = f" {comparison['unit']}" if comparison.get("unit") else ""
    return (
        f"{who}: {comparison['mean']:.3f}{unit} apart on average, "
        f"{comparison['greatest']:.1f} at most, over {comparison['images']} images"
    )


def compare_decoders(
    graph: Graph,
    data: Datasets,
    stop: threading.Event,
    progress: WorkerProgress,
    seconds: float = math.inf,
) -> dict[str, Any]:
    """Compare the pixels of CPU and mixed decoding, and return the difference as JSON values.

    If they cannot be compared, the result has only the key ``reason``. The comparison is limited to
    ``seconds``. Once ``stop`` is set, CancelledError is raised. ``progress`` is called with the
    worker's messages.
    """
    clock = StopClock(stop)
    clock.allow(seconds)
    resolved = ResolvedGraph(graph, load_catalog())
    sources: dict[DecodeDevice, Code] = {}
    devices: tuple[DecodeDevice, ...] = ("cpu", "mixed")
    for device in devices:
        count = max(1, IMAGES // (sequence_length(graph) or 1))
        config = replace(config_of(graph, device), regime="decode", batch_size=count)
        sources[device] = script_of(with_config(resolved, config).sound())
    try:
        with progress.engine(clock) as engine:
            found = engine.call(differ, sources["cpu"], sources["mixed"], data, limit=LIMIT)
    except CancelledError:
        if stop.is_set():
            raise
        return {"reason": NOT_COMPARED}
    except EngineError as error:
        return {"reason": f"not measured: {error}"}
    return asdict(found) if found else {"reason": "the two decoders returned different shapes"}


@task
def differ(worker: Worker, cpu: Code, mixed: Code, data: Datasets) -> PixelDifference | None:
    """Task: compare the first batches of two scripts, which use CPU and mixed decoding."""
    return compare_cpu_with_mixed(first_batch(cpu, data, "cpu"), first_batch(mixed, data, "mixed"))


def first_batch(source: Code, data: Datasets, device: str) -> list[NDArray[Any]]:
    """Return the samples of the first batch's first output, on the host. Called in the worker."""
    compiled = CompiledSource(source)
    try:
        output = next(compiled.batches(compiled.build(data, device)))[0]
    except Exception as error:
        raise compiled.error(error) from None
    host = output.as_cpu() if hasattr(output, "as_cpu") else output
    return [np.array(host[index]) for index in range(len(host))]
