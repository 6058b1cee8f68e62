"""The function ``diff``: compare two pipelines on a data set."""

from __future__ import annotations

import heapq
import importlib.util
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import TEXT, WHOLE, checked
from workbench.engine.protocol.process import Engine
from workbench.engine.protocol.progress import Progress, with_progress_bar
from workbench.errors import ArgumentError, CancelledError, DataError, WorkbenchError
from workbench.graph.model import Source
from workbench.names import shortened
from workbench.pipeline_difference.changes.catalogue import changes_of, fitted_change, levels_of
from workbench.pipeline_difference.changes.change import Change, Facts
from workbench.pipeline_difference.measure import (
    Distance,
    Failed,
    Item,
    distance,
    levels_per_unit,
    same_finite,
)
from workbench.pipeline_difference.pictures import pair_picture
from workbench.pipeline_difference.result import (
    VISIBLE,
    Cause,
    ModelChange,
    PipelineDifference,
    RandomState,
)
from workbench.pipeline_difference.search import Explanation, Pair, explain
from workbench.pipeline_difference.sides.library_steps import decode_with_pillow, require_library
from workbench.pipeline_difference.sides.opening import Sides
from workbench.pipeline_difference.steps import FUNCTION, Side, StepRunner, describe
from workbench.pipeline_difference.waterfall import Share, waterfall
from workbench.results import record_result
from workbench.sources import Data, Datasets, Sample, list_samples, no_files_reason, open_datasets

Array = NDArray[Any]

MOST_SAMPLES = 1_000_000
DEFAULT_SAMPLES = 1000
WORST = 16
"""Number of images to show: the images with the largest differences."""
_CHUNK = 16
_SEARCHED = 10
"""Number of images on which changes are tried. Half of these are the images that differ most, and
the others are evenly spaced in the data.
"""
_QUIET = {"NO_ALBUMENTATIONS_UPDATE": "1"}


@checked(samples=WHOLE, python_a=TEXT, python_b=TEXT)
@with_progress_bar()
def diff(
    a: Any,
    b: Any,
    data: Data,
    samples: int = DEFAULT_SAMPLES,
    *,
    model: Callable[[Array], Any] | None = None,
    python_a: str = "",
    python_b: str = "",
    on_progress: Progress = lambda share, text: None,
) -> PipelineDifference:
    """Compare two pipelines on the same images, and find the arguments that make them equal.

    ``a`` and ``b`` are graphs, compositions of torchvision, Albumentations or Kornia, functions
    that convert encoded bytes, an array or a Pillow image to an array, lists of functions that run
    one after another, or paths: a graph file, a recipe, a script, an exported program,
    ``file.py:name``. ``python_a`` and ``python_b`` are interpreters of other environments for a
    path or a graph, for example with another version of DALI. The first ``samples`` images are
    compared. On both sides, random values are fixed to the upper end of their range, and ``p`` to
    1. The notes of the result list these values, and ``equal`` also requires that the random
    arguments of both sides are equal. ``model`` maps a stacked batch of results to logits.

    The result contains the difference by step, the causes, and the 16 worst images. Each cause is
    verified by running the changed pipeline. After Ctrl+C, the result contains what was measured::

        graph = wb.read("photos").decode().resize(size=(64, 64))
        print(wb.diff(graph, graph["resize"].set(interp_type="INTERP_NN"), "photos", samples=8))

    Raises ArgumentError if a pipeline cannot be compared, and DataError if the data cannot be used.
    """
    if not 1 <= samples <= MOST_SAMPLES:
        raise ArgumentError(f"diff: samples is {samples}. Use 1 to {MOST_SAMPLES:,}.")
    datasets = open_datasets(data)  # images in memory exist as long as this does
    files, total = _files(datasets, samples)
    with Engine(environment=_QUIET) as engine:
        sides = Sides(engine)
        try:
            result = _Comparison(engine, sides, files, total, model, on_progress).run(
                (a, b), (python_a, python_b)
            )
        finally:
            sides.close()
    on_progress(1.0, "")
    record_result(result)
    return result


def _files(datasets: Datasets, samples: int) -> tuple[list[Sample], int]:
    """Return the samples to compare, and the number of all samples."""
    if len(datasets) != 1:
        raise DataError(
            f"diff reads one data set, but {len(datasets)} were passed. Pass a folder of images."
        )
    (dataset,) = datasets.values()
    found = list_samples(dataset)
    files = list(islice(found, samples))
    if not files:
        raise DataError(no_files_reason(dataset))
    return files, len(files) + sum(1 for _ in found)


@dataclass
class _Measured:
    """Running totals over the images that were compared so far."""

    images: int = 0
    different: int = 0
    counted: int = 0
    """Number of images in ``total``. It excludes images where only one side has values that are not
    finite.
    """
    total: float = 0.0
    largest: float = 0.0
    sizes: int = 0
    shapes: str = ""
    failed: list[tuple[str, str]] = field(default_factory=list)
    worst: list[tuple[float, int, str, Array, Array, float]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    nan: list[str] = field(default_factory=list)
    logit: float = 0.0
    predicted: int = 0
    not_finite: dict[str, list[str]] = field(default_factory=lambda: {"A": [], "B": []})
    excluded: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


class _Comparison:
    """State of one call of ``diff``: measures the difference, then finds its steps and causes."""

    def __init__(
        self,
        engine: Engine,
        sides: Sides,
        files: Sequence[Sample],
        total: int,
        model: Callable[[Array], Any] | None,
        on_progress: Progress,
    ) -> None:
        self._engine = engine
        self._sides = sides
        self._files = files
        self._total = total
        self._interrupted = False
        self._model = model
        self._progress = on_progress
        self._runner = StepRunner(sides.backends)
        self._gain = 1.0
        """Number of 8-bit levels in one unit of the outputs."""
        self._levels = 1.0
        """Number of 8-bit levels in one unit of the search's distances."""
        self._m = _Measured()

    def run(self, what: tuple[Any, Any], pythons: tuple[str, str]) -> PipelineDifference:
        trial = [each for _, each in islice(self._bytes(self._files), 4)]
        pair = (
            self._sides.open(what[0], "A", trial, pythons[0]),
            self._sides.open(what[1], "B", trial, pythons[1]),
        )
        for side in pair:
            require_library(self._engine, side)
            self._require_deterministic(side, trial)
        try:
            self._measure(pair)
        except KeyboardInterrupt:
            self._interrupted = True
            self._m.notes.append(
                f"Interrupted after {self._m.images} of {len(self._files)} images."
            )
        shares: tuple[Share, ...] = ()
        explanation: Explanation | None = None
        if not self._interrupted and self._m.images:
            try:
                shares, explanation = self._explain(pair)
            except KeyboardInterrupt:
                self._m.notes.append("Interrupted: causes were not searched.")
        return self._result(pair, shares, explanation)

    def _bytes(self, files: Sequence[Sample]) -> Iterator[tuple[Sample, bytes]]:
        for each in files:
            try:
                with each.with_location().open() as file:
                    yield each, file.read()
            except OSError as error:
                self._m.failed.append((each.name, f"cannot be read: {error.strerror}"))

    def _require_deterministic(self, side: Side, trial: Sequence[bytes]) -> None:
        """Raise ArgumentError if a function returns different values when it is called twice."""
        if not any(step.group.startswith((FUNCTION, "foreign")) for step in side.steps):
            return
        first, again = (self._runner.run(side.steps, [*trial[:1]]) for _ in range(2))
        if not _same(first, again):
            raise ArgumentError(
                f"diff: {side.name} returns different values for the same image, so it is random. "
                "Pass a function without random values, or one that sets its seed in each call."
            )

    def _measure(self, pair: Pair) -> None:
        """Compare all images in chunks, and add the differences to the totals."""
        count = len(self._files)
        for start in range(0, count, _CHUNK):
            self._progress(0.6 * start / count, f"image {start + 1} of {count}")
            read = list(self._bytes(self._files[start : start + _CHUNK]))
            items: list[Item] = [data for _, data in read]
            if not items:
                continue
            ours, theirs = (self._runner.run(side.steps, items) for side in pair)
            made = distance(ours, theirs)
            if start == 0:
                gains = [levels_of(side) for side in pair]
                levels = levels_per_unit([ours, theirs], gains, _pixels(items))
                self._gain = levels / made.scale
            self._add(start, [each for each, _ in read], ours, theirs, made)

    def _add(
        self,
        start: int,
        files: Sequence[Sample],
        ours: Sequence[Item],
        theirs: Sequence[Item],
        made: Distance,
    ) -> None:
        m = self._m
        both: list[tuple[str, Array, Array]] = []
        for at, (file, a, b, one) in enumerate(zip(files, ours, theirs, made.images, strict=True)):
            for label, item in (("A", a), ("B", b)):
                if isinstance(item, Failed):
                    m.failed.append((file.name, f"{label}: {item.why}"))
                    break
            if one is None or not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
                continue
            both.append((file.name, a, b))
            levels = made.scale * self._gain
            m.images += 1
            for label, item in (("A", a), ("B", b)):
                if not np.isfinite(item).all():
                    m.not_finite[label].append(file.name)
            if not same_finite(a, b):
                m.different += 1
                m.excluded.add(file.name)
                continue
            m.counted += 1
            m.total += one.mean * levels
            m.largest = max(m.largest, one.largest * levels)
            m.different += bool(one.shapes) or one.largest * levels >= VISIBLE
            if one.shapes:
                m.sizes += 1
                m.shapes = m.shapes or one.shapes
            mean = one.mean * levels  # the rank also counts different shapes
            entry = (one.cost * levels, -(start + at), file.name, a, b, mean)
            (heapq.heappush if len(m.worst) < WORST else heapq.heappushpop)(m.worst, entry)
        if self._model is not None and both:
            self._predict(both)

    def _predict(self, both: Sequence[tuple[str, Array, Array]]) -> None:
        """Compare the model's predictions for both results."""
        assert self._model is not None
        m = self._m
        for group in _of_equal_shape(both):
            try:
                logits = [
                    _logits(self._model, images)
                    for images in ([a for _, a, _ in group], [b for _, _, b in group])
                ]
            except Exception as error:  # whatever the model raises
                m.notes.append(f"The model was not evaluated: {describe(error)}.")
                self._model = None
                return
            for (name, _, _), a, b in zip(group, *logits, strict=True):
                m.predicted += 1
                if np.isnan(a).any() or np.isnan(b).any():
                    m.nan.append(name)
                    continue
                m.logit = max(m.logit, float(np.abs(a - b).max(initial=0.0)))
                if int(a.argmax()) != int(b.argmax()):
                    m.changed.append(name)

    def _explain(self, pair: Pair) -> tuple[tuple[Share, ...], Explanation | None]:
        """Return the difference by step, and the causes (None if nothing could be compared)."""
        items = [data for _, data in self._bytes(self._search_files())]
        chosen: list[Item] = [*items]
        start = self._distance(pair, chosen)
        if start is None:
            return (), None
        self._levels = start.scale * self._gain
        shares = waterfall(
            *pair, chosen, self._runner, lambda text: self._progress(0.65, f"swapping {text}")
        )
        shares = tuple(
            replace(s, mean=s.mean * self._levels, largest=s.largest * self._levels) for s in shares
        )
        outputs = [self._runner.cached(side.steps, chosen) for side in pair]
        constant = [_why_constant(each) for each in outputs]
        if bool(constant[0]) != bool(constant[1]):
            name = pair[0 if constant[0] else 1].name
            self._m.notes.append(f"{name} {constant[0] or constant[1]}.")
            return shares, None
        facts = Facts(_any_alpha(items), importlib.util.find_spec("cv2") is not None)

        def changes(current: Pair) -> Iterator[Change]:
            for side, label in zip(current, "AB", strict=True):
                yield from changes_of(side, label, facts)
            results = [self._runner.cached(side.steps, chosen) for side in current]
            fitted = fitted_change(results[0], results[1], "A")
            if fitted is not None:
                yield fitted

        explanation = explain(
            pair,
            changes,
            lambda pairs: self._distances(pairs, chosen),
            self._levels,
            lambda text: self._progress(0.8, text),
        )
        return shares, explanation

    def _search_files(self) -> list[Sample]:
        """Return the images with the largest difference, and others evenly spaced in the data."""
        worst = sorted(self._m.worst, reverse=True)[: _SEARCHED // 2]
        places = [-each[1] for each in worst]
        count = len(self._files)
        spread = [at * count // _SEARCHED for at in range(_SEARCHED)]
        bad = {name for name, _ in self._m.failed} | self._m.excluded
        found = [self._files[at] for at in dict.fromkeys([*places, *spread])]
        return [each for each in found if each.name not in bad][:_SEARCHED]

    def _distances(self, pairs: Sequence[Pair], items: list[Item]) -> list[Distance | None]:
        self._runner.prepare([side.steps for pair in pairs for side in pair], items)
        return [self._distance(pair, items) for pair in pairs]

    def _distance(self, pair: Pair, items: list[Item]) -> Distance | None:
        """Run both sides and return their distance; None if one of them cannot run at all."""
        try:
            ours, theirs = (self._runner.cached(side.steps, items) for side in pair)
        except CancelledError:
            raise
        except WorkbenchError:
            return None
        if all(isinstance(each, Failed) for each in ours) or all(
            isinstance(each, Failed) for each in theirs
        ):
            return None
        return distance(ours, theirs)

    def _result(
        self, pair: Pair, shares: tuple[Share, ...], explanation: Explanation | None
    ) -> PipelineDifference:
        m = self._m
        notes = [*dict.fromkeys((*pair[0].notes, *pair[1].notes)), *m.notes]
        if self._total > len(self._files):
            notes.append(
                f"Limited to the first {len(self._files):,} of {self._total:,} images (samples)."
            )
        if shares and m.images > _SEARCHED:
            notes.append(
                f"The tables of causes and steps are measured on at most {_SEARCHED} images: the "
                "most different ones, and others spread over the data."
            )
        if explanation is not None and explanation.interrupted:
            notes.append("Interrupted: there may be more causes.")
        worst = sorted(m.worst, reverse=True)
        mean = m.total / m.counted if m.counted else math.nan
        causes = _causes(explanation, self._levels)
        model = None
        if m.predicted:
            changed = tuple(m.changed)
            model = ModelChange(m.predicted, len(changed), m.logit, tuple(m.nan), changed)
        differs = m.largest > 0 or m.sizes > 0
        return PipelineDifference(
            (pair[0].name, pair[1].name),
            m.images,
            self._total,
            mean,
            m.largest,
            explanation.rest.mean * self._levels if explanation is not None else mean,
            causes,
            shares,
            m.sizes,
            m.shapes,
            tuple(dict.fromkeys(m.failed)),
            tuple((name, mean) for _, _, name, _, _, mean in worst),
            tuple(pair_picture(name, a, b, mean) for _, _, name, a, b, mean in worst)
            if differs
            else (),
            model,
            tuple(notes),
            explanation.tried if explanation is not None else 0,
            self._interrupted,
            tuple(each.not_run for each in pair if each.not_run),
            m.different,
            {label: tuple(names) for label, names in m.not_finite.items() if names},
            _random_state(pair),
            tuple(_graph_differences(pair)),
        )


def _random_state(pair: Pair) -> RandomState:
    a, b = (each.random for each in pair)
    return "equal" if a == b and a else "not compared" if a or b else ""


def _graph_differences(pair: Pair) -> Iterator[str]:
    """Yield the arguments and operators in which two graphs differ, such as ``rotate (in B)``."""
    a, b = (each.graph for each in pair)
    if a is None or b is None:
        return
    for each in a.diff(b):
        nodes = [graph.node(each.node) for graph in (a, b) if graph.has(each.node)]
        moved = len(nodes) == 2 and all(each.what in node.inputs for node in nodes)
        if not nodes or each.what == "name" or moved or isinstance(nodes[0], Source):
            continue
        texts = [f"[{text}]" if ", " in text else text for text in (each.before, each.after)]
        values = [shortened(text, 40) or "default" for text in texts]
        if each.what:
            yield f"{each.node}.{each.what} ({values[0]} and {values[1]})"
        else:
            yield f"{each.node} (only in {'B' if each.change == 'added' else 'A'})"


def _causes(explanation: Explanation | None, levels: float) -> tuple[Cause, ...]:
    if explanation is None:
        return ()
    gains = [each.before.cost - each.after.cost for each in explanation.found]
    whole = sum(gains) or 1.0
    found = [
        Cause(
            each.change.cause,
            each.change.label,
            each.change.text,
            gain / whole,
            each.before.mean * levels,
            each.after.mean * levels,
            "; ".join(f"{other.label}: {other.text}" for other in each.alternatives),
        )
        for each, gain in zip(explanation.found, gains, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: -each.share))


def _pixels(items: Sequence[Item]) -> list[Item]:
    found: list[Item] = []
    for each in items:
        try:
            found.append(decode_with_pillow(each))  # type: ignore[arg-type]  # encoded bytes
        except Exception:  # Pillow cannot read it: the others define the scale
            continue
    return found


def _same(one: Sequence[Item], other: Sequence[Item]) -> bool:
    return all(
        isinstance(a, Failed)
        or isinstance(b, Failed)
        or np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f")
        for a, b in zip(one, other, strict=True)
    )


def _why_constant(results: Sequence[Item]) -> str:
    """Return a message if a side's results do not depend on the image, else an empty string."""
    arrays = [each for each in results if isinstance(each, np.ndarray) and each.size]
    if arrays and all((each == arrays[0].flat[0]).all() for each in arrays):
        several = ", so it does not depend on the image" * (len(arrays) > 1)
        return f"returns the value {arrays[0].flat[0]:g} for all pixels{several}"
    same = len(arrays) > 1 and all(np.array_equal(arrays[0], each) for each in arrays)
    return "does not depend on the image: all results are equal" if same else ""


def _of_equal_shape(
    both: Sequence[tuple[str, Array, Array]],
) -> list[list[tuple[str, Array, Array]]]:
    found: dict[Any, list[tuple[str, Array, Array]]] = {}
    for each in both:
        found.setdefault((each[1].shape, each[2].shape), []).append(each)
    return [*found.values()]


def _logits(model: Callable[[Array], Any], images: Sequence[Array]) -> Array:
    result = model(np.stack(images))
    result = result.detach().cpu() if hasattr(result, "detach") else result
    found = np.asarray(result, np.float64)
    if found.ndim != 2 or len(found) != len(images):
        raise ValueError(
            f"it returns {found.shape} for {len(images)} images, not (images, classes)"
        )
    return found


def _any_alpha(items: Sequence[bytes]) -> bool:
    from PIL import Image

    for data in items:
        try:
            image = Image.open(io.BytesIO(data))
        except Exception:  # reported by the pipeline that reads it
            continue
        if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
            return True
    return False
