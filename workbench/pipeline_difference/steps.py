"""Define the steps of a pipeline, and apply any sequence of steps to images.

A pipeline is a sequence of steps. Each step runs alone, with DALI, with its library or as a
function, so that steps of two pipelines can be combined.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.errors import WorkbenchError
from workbench.graph.model import Graph
from workbench.pipeline_difference.measure import Failed, Item

DECODE, TAIL = "decode", "values"
"""Kinds of steps: decoding, and final conversion of the values (cast, normalise, layout)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step. ``kinds`` classify its operation, and ``text`` is its source code.

    The backend runs consecutive steps of equal ``group`` in one call, and receives their
    ``payload``. Steps with equal ``key`` return the same results.
    """

    kinds: tuple[str, ...]
    text: str
    group: str
    payload: Any = field(compare=False, hash=False)
    key: str = ""


Backend = Callable[[Sequence[Step], Sequence[Item]], list[Item]]


@dataclass(frozen=True)
class Side:
    """One of the two pipelines: its name, its steps, and sentences about assumptions.

    ``not_run`` names the part that is replaced because it cannot run on this machine; it is empty
    if everything can run. ``random`` describes the random arguments that were replaced by fixed
    values, in sorted order. ``graph`` is the graph from which the steps were made, or None.
    """

    name: str
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    not_run: str = ""
    random: tuple[str, ...] = ()
    graph: Graph | None = None

    def with_step(self, at: int, *steps: Step) -> Side:
        """Replace the step at a position with ``steps``; without ``steps``, remove it."""
        return replace(self, steps=(*self.steps[:at], *steps, *self.steps[at + 1 :]))


class StepRunner:
    """Runs steps. ``cached`` caches results, so that only the steps after a change run again."""

    def __init__(self, backends: Mapping[str, Backend]) -> None:
        self._backends = backends
        self._kept: OrderedDict[tuple[int, tuple[str, ...]], list[Item]] = OrderedDict()

    def run(self, steps: Sequence[Step], items: Sequence[Item]) -> list[Item]:
        """Apply steps to images. The result for an image that fails is ``Failed``."""
        found = list(items)
        for group in _groups(steps):
            found = self._applied(group, found)
        return found

    def cached(self, steps: Sequence[Step], items: Sequence[Item]) -> list[Item]:
        """Apply steps like ``run``, and cache intermediate results for other variants of the steps.

        Results are cached after decoding and before the conversion of values, if they are images.
        """
        done, found = self._longest(steps, items)
        for end in (1, len(steps) - 1, len(steps)):
            if not done < end <= len(steps) or (end == 1 and DECODE not in steps[0].kinds):
                continue
            if end < len(steps) and end > 1 and TAIL not in steps[end].kinds:
                continue
            made = self.run(steps[done:end], found)
            if end < len(steps) and not all(isinstance(m, Failed) or is_image(m) for m in made):
                continue  # floats: the steps run together
            done, found = end, made
            self._keep(items, steps[:end], made)
        return found

    def prepare(self, variants: Sequence[Sequence[Step]], items: Sequence[Item]) -> None:
        """Run several variants in one call if their backend supports it, and cache the results."""
        batches: dict[tuple[str, int], list[tuple[Sequence[Step], int, list[Item]]]] = {}
        for steps in variants:
            done, found = self._longest(steps, items)
            groups = _groups(steps[done:])
            if len(groups) == 1 and not any(isinstance(each, Failed) for each in found):
                batches.setdefault((groups[0][0].group, id(found)), []).append((steps, done, found))
        for (group, _), waiting in batches.items():
            backend: Any = self._backends[group.partition(":")[0]]
            if len(waiting) < 2 or not hasattr(backend, "run_all"):
                continue
            try:
                made = backend.run_all([steps[done:] for steps, done, _ in waiting], waiting[0][2])
            except WorkbenchError:  # of one variant: each runs alone, later
                continue
            for (steps, _, _), results in zip(waiting, made, strict=True):
                self._keep(items, steps, results)

    def _keep(self, items: Sequence[Item], steps: Sequence[Step], made: list[Item]) -> None:
        self._kept[id(items), tuple(step.key for step in steps)] = made
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def _longest(self, steps: Sequence[Step], items: Sequence[Item]) -> tuple[int, list[Item]]:
        """Return the number of leading steps whose results are cached, and these results."""
        for end in range(len(steps), 0, -1):
            key = (id(items), tuple(step.key for step in steps[:end]))
            if key in self._kept and (end == len(steps) or all(map(_passes, self._kept[key]))):
                self._kept.move_to_end(key)
                return end, self._kept[key]
        return 0, items  # type: ignore[return-value]  # the same object: a key

    def _applied(self, group: Sequence[Step], items: list[Item]) -> list[Item]:
        good = [at for at, item in enumerate(items) if not isinstance(item, Failed)]
        backend = self._backends[group[0].group.partition(":")[0]]
        made = backend(group, [items[at] for at in good]) if good else []
        found = list(items)
        for at, item in zip(good, made, strict=True):
            found[at] = item
        return found


def _groups(steps: Sequence[Step]) -> list[list[Step]]:
    """Split steps into runs of consecutive steps of the same group. Functions are never joined."""
    found: list[list[Step]] = []
    for step in steps:
        if found and step.group != FUNCTION and found[-1][0].group == step.group:
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _passes(item: Item) -> bool:
    return isinstance(item, Failed) or is_image(item)


FUNCTION = "function"
_KEPT = 48
"""Maximum number of cached results. The oldest are removed first."""


def function_step(
    function: Callable[[Any], Any], text: str, kinds: Sequence[str], key: str = ""
) -> Step:
    """Return a step that calls a function of one image (array or bytes) in this process."""
    return Step(tuple(kinds), text, FUNCTION, function, key or f"{text} {id(function)}")


def run_functions(steps: Sequence[Step], items: Sequence[Item]) -> list[Item]:
    """Backend for functions: call the step's function for each image. Errors become ``Failed``."""
    (step,) = steps
    found: list[Item] = []
    for item in items:
        try:
            found.append(to_array(step.payload(item)))
        except (Exception, SystemExit) as error:  # whatever the user's code raises
            found.append(Failed(describe(error)))
    return found


def describe(error: BaseException) -> str:
    """Return an exception as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def to_array(value: Any) -> Item:
    """Convert a result to an array: a tensor, a Pillow image, or a value that NumPy accepts.

    Encoded bytes are returned unchanged. Raises TypeError if the value is not an image.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, Mapping) and "image" in value:  # Albumentations
        value = value["image"]
    if hasattr(value, "as_cpu") or hasattr(value, "detach"):
        value = value.as_cpu() if hasattr(value, "as_cpu") else value.detach().cpu()
    found = np.asarray(value)
    if found.ndim == 4 and found.shape[0] == 1:
        found = found[0]
    if found.dtype.kind not in "uifb" or found.ndim not in (2, 3):
        kind = "None" if value is None else f"{type(value).__name__} {found.shape}"
        raise TypeError(f"the result is {kind}, not an image")
    return found


def is_image(item: Item) -> bool:
    """True if a result is a uint8 image with channels last, which any following step accepts."""
    return (
        isinstance(item, np.ndarray)
        and item.dtype == np.uint8
        and item.ndim == 3
        and item.shape[2] in (1, 3)
    )
