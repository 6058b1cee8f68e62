"""Track the state of an import: the graph, and the images to which transforms are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from workbench.catalog import load_catalog
from workbench.emit.pipeline_import.transform_call import NamedValue, RandomValue, TransformCall
from workbench.graph.builder.data_node import DataNode, main_output
from workbench.graph.builder.read import fn, random
from workbench.graph.model import Graph
from workbench.graph.storage.import_report import ImportIssue

if TYPE_CHECKING:
    from workbench.graph.model.operators import InterpType, InterpType2

T = TypeVar("T")
ImageStep = Callable[[], None]
"""Function that appends nodes to the images of an import."""

_INTERPOLATIONS: Mapping[str, InterpType] = {
    **{"nearest": "INTERP_NN", "bilinear": "INTERP_LINEAR", "bicubic": "INTERP_CUBIC"},
    **{"lanczos": "INTERP_LANCZOS3", "nearest_exact": "INTERP_NN", "box": "INTERP_LINEAR"},
    **{"hamming": "INTERP_LINEAR", "linear": "INTERP_LINEAR", "cubic": "INTERP_CUBIC"},
    **{"area": "INTERP_LINEAR", "lanczos4": "INTERP_LANCZOS3", "linear_exact": "INTERP_LINEAR"},
}
APPROXIMATED = {
    "box": "interpolated linearly: DALI has no box filter",
    "hamming": "interpolated linearly: DALI has no Hamming window",
    "area": "area interpolation is approximated by DALI's linear filter with antialiasing",
    "cubic": "OpenCV's cubic has the parameter -0.75, DALI's -0.5",
    "lanczos4": "Lanczos with 3 lobes, not 4",
}
"""Description of the difference, for each interpolation that has no equivalent in DALI."""
_OF_PILLOW = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
OF_OPENCV = ("nearest", "linear", "cubic", "area", "lanczos4", "linear_exact")
"""Names of OpenCV's interpolations. The index is OpenCV's number."""


class NoMatchError(Exception):
    """Raised if DALI has no equivalent of a transform call."""


@dataclass
class Images:
    """The graph of an import under construction, and the value range of its final images.

    The graph's images stay uint8 with layout HWC until ``finish``: operations between ``ToTensor``
    and ``Normalize`` have the same effect on such images, and are faster.
    """

    graph: Graph
    zero_to_one: bool = False
    """True if pixel values in the library range from 0 to 1."""
    channels_first: bool = False
    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)
    """Standard deviations for ``Normalize``, for pixel values from 0 to 1 as in the library."""
    normalised: bool = False
    issues: list[ImportIssue] = field(default_factory=list)
    floats: bool = False
    """True if the library's images are floats, whatever their range."""
    differing: dict[str, bool] = field(default_factory=dict)
    """Maps each added node's id to True if the node differs from the library (see ``issues``)."""
    blocks: dict[str, str] = field(default_factory=dict)
    """Maps the id of each block to the name of the transform for which the block was created."""
    outcomes: list[str] = field(default_factory=list)
    """``exact``, ``changed`` or ``omitted`` for each transform. A transform that contains other
    transforms has an entry only if it differs itself.
    """
    _differs: bool = False
    """True if a difference was reported for the current transform."""
    call: TransformCall = field(default_factory=lambda: TransformCall(""))
    """The transform that is being imported."""

    @property
    def value(self) -> DataNode:
        found = self.graph.images
        assert isinstance(found, DataNode)
        return found

    @property
    def height(self) -> DataNode:
        return self.value.shape()[0]

    @property
    def width(self) -> DataNode:
        return self.value.shape()[1]

    def report_difference(self, why: str) -> None:
        """Report that the nodes of the current transform differ from the library, and why."""
        self._differs = True
        self._report("changed", why)

    def report_omission(self, why: str) -> None:
        """Report that a part of the composition was omitted, and why."""
        self._report("refused", why)

    @contextmanager
    def matching(self, call: TransformCall) -> Iterator[None]:
        """Within the context, import one call, and record whether its nodes differ.

        A node differs if its result is not that of the library. If a NoMatchError is raised, the
        nodes and reports added in the context are removed, and an omission is reported.
        """
        outer, self.call = self.call, call
        outer_differs, self._differs = self._differs, False
        before = self.graph, dict(self.differing), list(self.issues), list(self.outcomes)
        try:
            yield
            if self._differs or len(self.outcomes) == len(before[3]):
                self.outcomes.append("changed" if self._differs else "exact")
        except NoMatchError as error:
            self.graph, self.differing, self.issues, self.outcomes = before
            self.outcomes = [*self.outcomes, "omitted"]
            self.report_omission(str(error))
        finally:
            known = {node.id for node in before[0].whole.walk()} | self.differing.keys()
            made = [node for node in self.graph.whole.walk() if node.id not in known]
            self.differing.update({node.id: self._differs for node in made})
            for at, issue in enumerate(self.issues):
                if made and issue.node == call.short_name and not issue.made:
                    self.issues[at] = replace(issue, made=made[0].id)
            for block in made:
                if block.bodies:
                    self.blocks.setdefault(block.id, call.short_name)
            self.call, self._differs = outer, outer_differs

    def _report(self, kind: Literal["changed", "refused"], why: str) -> None:
        issue = ImportIssue(kind, self.call.short_name, self.call.place, why)
        if issue not in [replace(each, made="") for each in self.issues]:
            self.issues.append(issue)

    def with_p(self, p: float, step: ImageStep) -> None:
        if p >= 1:
            step()
        elif p > 0:
            self._block(lambda inner: self.graph.with_p(p, inner[0]), [step])

    def one_of(self, steps: Sequence[ImageStep], weights: Sequence[float] | None = None) -> None:
        if len(steps) == 1:
            steps[0]()
        elif steps:
            self._block(lambda inner: self.graph.one_of(*inner, weights=weights), steps)

    def one_of_values(self, values: Iterable[T], change: Callable[[T], None]) -> None:
        """For each sample, call ``change`` with one of several values, selected at random."""
        self.one_of([partial(change, value) for value in values])

    def some_of(self, count: int, steps: Sequence[ImageStep], *, shuffled: bool) -> None:
        if len(steps) == 1 or (count == len(steps) and not shuffled):
            for step in steps:
                step()
        elif steps:
            self._block(lambda inner: self.graph.some_of(count, *inner, shuffled=shuffled), steps)

    def repeat(self, low: int, high: int, step: ImageStep) -> None:
        """Apply a step between ``low`` and ``high`` times, each time with new random values."""
        if high == 1 and low == 1:
            step()
            return
        times = uniform_whole(low, high)
        self._block(lambda inner: self.graph.repeat(times, inner[0], most=high), [step])

    def _block(
        self, make: Callable[[list[Callable[[Graph], Graph]]], Graph], steps: Sequence[ImageStep]
    ) -> None:
        did_something = False

        def inside(step: ImageStep) -> Callable[[Graph], Graph]:
            def apply(graph: Graph) -> Graph:
                nonlocal did_something
                with self._at(graph):
                    step()
                    did_something |= self.graph is not graph
                    return self.graph

            return apply

        made = make([inside(step) for step in steps])
        if did_something:  # all of it may have no match
            self.graph = made

    @contextmanager
    def _at(self, graph: Graph) -> Iterator[None]:
        outer, self.graph = self.graph, graph
        try:
            yield
        finally:
            self.graph = outer

    def become(self, value: DataNode) -> None:
        """Replace the images with ``value``, the result of an operator."""
        name, _ = main_output(self.graph, load_catalog())
        self.graph = replace(value.graph, outputs={**self.graph.outputs, name: value.port})

    def finish(self) -> Graph:
        """Return the graph, converted to the data type and layout of the library's images."""
        if self.normalised or self.zero_to_one or self.floats:
            # A library normalises pixels of 0 to 1, crop_mirror_normalize those of 0 to 255.
            most = 255.0 if self.zero_to_one else 1.0
            self.graph = self.graph.crop_mirror_normalize(
                mean=tuple(round(each * most, 6) for each in self.mean),
                std=tuple(round(each * most, 6) for each in self.std),
                dtype="FLOAT",
                output_layout="CHW" if self.channels_first else "HWC",
            )
        elif self.channels_first:
            self.graph = self.graph.transpose(perm=(2, 0, 1))
        return self.graph


def coin_flip(p: float) -> DataNode | int:
    """Return a random value that is 1 with probability ``p`` for each sample, else 0."""
    if p >= 1:
        return 1
    return random.coin_flip(probability=p)


def uniform(low: float, high: float) -> DataNode | float:
    """Return a uniform random number per sample, or the constant number if both ends are equal."""
    return low if low == high else random.uniform(range=(low, high))


def uniform_whole(low: int, high: int) -> DataNode | int:
    """Return a uniform random integer per sample, from ``low`` to ``high`` inclusive."""
    if low == high:
        return low
    whole = fn.math.floor(random.uniform(range=(low, high + 1))).cast(dtype="INT32")
    assert isinstance(whole, DataNode)
    return whole


def range_around(value: Any, centre: float, *, least: float | None = None) -> tuple[float, float]:
    """Return the range of a library's argument. A single number is the distance from ``centre``."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) == 1:
            return range_around(value[0], centre, least=least)
        return number(value[0]), number(value[1])
    reach = number(value)
    low = round(centre - reach, 6)  # 1 - 0.8 is 0.19999999999999996
    return (low if least is None else max(least, low)), round(centre + reach, 6)


def number(value: Any) -> float:
    """Return ``value`` unchanged if it is a number. Raises NoMatchError otherwise."""
    if isinstance(value, NamedValue):
        raise NoMatchError(f"only the name of {value} is known. Pass its value: --arg NAME=VALUE")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoMatchError(f"{value!r} is not a number")
    return value


def random_or_fixed(value: Any) -> DataNode | float:
    """Return a number unchanged, and a ``RandomValue`` as a random number per sample."""
    low, high = value_range(value)
    whole = isinstance(value, RandomValue) and value.whole
    return uniform_whole(int(low), int(high)) if whole else uniform(low, high)


def value_range(value: Any) -> tuple[float, float]:
    """Return the range of a ``RandomValue``. For a number, both ends are the number."""
    if isinstance(value, RandomValue):
        return round(value.low, 6), round(value.high, 6)  # 0.9 + 0.1 * 1.9 is 0.29000000000000004
    return number(value), number(value)


def rounded(values: Any) -> tuple[float, ...]:
    """Round numbers to six decimal places."""
    return tuple(round(number(each), 6) for each in values)


def size_of(value: Any) -> tuple[int, int]:
    """Return height and width. A single number is used for both."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        sides = [int(number(each)) for each in value]
        return (sides[0], sides[0]) if len(sides) == 1 else (sides[0], sides[1])
    return int(number(value)), int(number(value))


def interp_type(images: Images, value: Any, numbered: Sequence[str] = _OF_PILLOW) -> InterpType:
    """Return DALI's name for an interpolation. Raises NoMatchError if it is unknown.

    A ``value`` that is a number is an index into ``numbered``.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(numbered):
        value = numbered[value]
    name = str(value).rpartition(".")[2].lower().removeprefix("inter_")
    if name not in _INTERPOLATIONS:
        raise NoMatchError(f"the interpolation {value} is not supported")
    if name in APPROXIMATED:
        images.report_difference(APPROXIMATED[name])
    return _INTERPOLATIONS[name]


def warp_interp_type(
    images: Images, value: Any, numbered: Sequence[str] = _OF_PILLOW
) -> InterpType2:
    """Return DALI's interpolation for a warp, which supports only nearest and linear."""
    found = interp_type(images, value, numbered)
    if found not in ("INTERP_NN", "INTERP_LINEAR"):
        images.report_difference(
            f"interpolated linearly, not by {value}: DALI's warps have no other"
        )
    return "INTERP_NN" if found == "INTERP_NN" else "INTERP_LINEAR"
