"""The steps of one image, with the ranges from which their arguments are drawn.

A library that has no DALI draws inside its transforms, so what matters of a draw is its range, and
that no other step needs the same draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import GraphExportError
from workbench.graph.model import Node
from workbench.graph.model.values import elements
from workbench.graph.types.tensor_type import TensorType

if TYPE_CHECKING:
    from workbench.emit.interop.common.chains import Reading

OTHERWISE = "Leave it out, or export for pytorch, which runs DALI."


class Drawn(NamedTuple):
    """A number that is drawn: evenly from ``low`` to ``high``, or one of ``values``.

    Of a coin these are 0 and 1, with the ``probability`` of a 1. ``numbers`` are drawn at once.
    """

    low: float
    high: float
    values: tuple[float, ...] = ()
    probability: float | None = None
    numbers: int = 1

    @property
    def shares(self) -> dict[float, float]:
        """Of each of ``values`` its probability."""
        return {each: self.values.count(each) / len(self.values) for each in self.values}


@dataclass
class Step:
    """One operator on the way of an image, and which of its arguments a rule has read."""

    node: Node
    reading: Reading
    expression: str = ""
    """Of arithmetic its text, in which ``x`` is the image: ``bitxor(x, 255)``."""
    read: set[str] = field(default_factory=set)

    @property
    def op(self) -> str:
        """The operator's name; of arithmetic ``expression``."""
        return "expression" if self.expression else self.node.op

    @property
    def given(self) -> set[str]:
        """The arguments that the graph sets or feeds."""
        fed = {name for name in self.node.inputs if name in self.reading.catalog[self.node.op].args}
        return set() if self.expression else {*self.node.args, *fed}

    def value(self, name: str) -> Any:
        """An argument's number, text or tuple, or what it is drawn from: a ``Drawn``."""
        self.read.add(name)
        if name in self.node.inputs:
            return self.reading.drawn(self.node, name)
        default = self.reading.catalog[self.node.op].args[name].default
        return self.node.args.get(name, default)

    def fixed(self, name: str) -> Any:
        """The value of an argument. Raises GraphExportError where it is drawn."""
        found = self.value(name)
        if isinstance(found, Drawn):
            raise self.refusal(f"draws no {name}", name)
        return found

    def items(self, name: str) -> tuple[Any, ...]:
        """The elements of a list argument, of which a single value is one; empty for None."""
        found = self.fixed(name)
        return () if found is None else elements(found)

    def size(self, name: str = "size") -> tuple[int, int]:
        """Height and width that an argument says, or one number for both."""
        found = self.fixed(name)
        sides = found if isinstance(found, tuple) else (found, found)
        return int(sides[0]), int(sides[-1])

    def span(self, name: str) -> tuple[float, float]:
        """The least and the greatest value of an argument, drawn evenly between them."""
        found = self.value(name)
        if isinstance(found, Drawn):
            if found.values or found.probability is not None or found.numbers > 1:
                raise self.refusal(f"draws {name} evenly from a range, for all channels", name)
            return found.low, found.high
        numbers = found if isinstance(found, tuple) else (found,)
        if len(set(numbers)) != 1:
            raise self.refusal(f"takes one number for {name}", name)
        return float(numbers[0]), float(numbers[0])

    def chance(self, name: str) -> float:
        """The probability with which an argument is 1."""
        found = self.value(name)
        if isinstance(found, Drawn):
            if found.probability is None:
                raise self.refusal(f"does it with a probability, and {name} is no coin", name)
            return found.probability
        return float(bool(found))

    def refusal(self, why: str, name: str = "") -> GraphExportError:
        """The error that says what the library has not."""
        place = f"{self.node.id}.{name}" if name else self.node.id
        return GraphExportError(f"{place}: {self.reading.target} {why}. {OTHERWISE}")


@dataclass(frozen=True)
class Choice:
    """A block: for each image some of several chains, one after another.

    ``weights`` are those of each where one of them runs; else ``count`` of them run, in any order
    where it is ``shuffled``. Of a single chain ``times`` says how often it runs at least and most.
    """

    node: Node
    options: tuple[Chain, ...]
    weights: tuple[float, ...] = ()
    count: int = 1
    shuffled: bool = False
    times: tuple[int, int] | None = None


Chain = tuple["Step | Choice", ...]


@dataclass(frozen=True)
class View:
    """What leads from the decoded image to an output."""

    name: str
    chain: Chain
    flow: TensorType


def walk(choice: Choice) -> Iterator[Step | Choice]:
    """Every step inside a block."""
    for option in choice.options:
        for step in option:
            yield step
            if isinstance(step, Choice):
                yield from walk(step)


def whole(ends: tuple[float, float]) -> tuple[float, float]:
    """The ends of a range, as whole numbers where they are."""
    low, high = (int(end) if float(end).is_integer() else end for end in ends)
    return low, high


def decoded_with_pillow(step: Step) -> None:
    """Read the arguments of a decoder that ``decode_with_pillow`` replaces."""
    step.fixed("adjust_orientation")
    kind = step.fixed("output_type")
    if kind not in ("RGB", "GRAY"):
        raise step.refusal(f"decodes to RGB or GRAY, and output_type is {kind}", "output_type")


def grey_share(step: Step) -> float:
    """How often the saturation is 0, where it is nothing but 0 and 1; else 0."""
    found = step.value("saturation")
    values = found.values if isinstance(found, Drawn) else (found,)
    return values.count(0) / len(values) if values and {*values} <= {0, 1} else 0.0


def blur_window(window: float, low: float, high: float) -> tuple[int, float, float]:
    """Window and ends of sigma of a Gaussian blur, of which DALI takes one from the other."""
    if not window:
        return 2 * math.ceil(3 * high) + 1, low, high  # that of the largest
    if not high:
        low = high = ((window - 1) / 2 - 1) * 0.3 + 0.8
    return int(window), low, high


def area_ranges(step: Step) -> dict[str, tuple[float, float] | None]:
    """``scale`` and ``ratio`` of a random resized crop; None where they are the usual ones."""
    area, ratio = step.items("random_area"), step.items("random_aspect_ratio")
    usual = abs(ratio[0] - 3 / 4) + abs(ratio[1] - 4 / 3) <= 1e-3
    return {
        "scale": area if tuple(area) != (0.08, 1.0) else None,
        "ratio": None if usual else ratio,
    }


def erased_window(step: Step) -> tuple[float, float]:
    """Height and width, as shares of the image, of a window that is erased anywhere."""
    anchor, shape = step.value("anchor"), step.items("shape")
    normal = step.fixed("normalized") or step.fixed("normalized_shape")
    step.read |= {"axis_names", "axes", "normalized_anchor", "normalized"}
    if not isinstance(anchor, Drawn) or anchor.numbers != 2 or len(shape) != 2 or not normal:
        raise step.refusal("erases a window of a share of the image, anywhere", "anchor")
    height, width = shape
    return height, width


def crop_place(step: Step) -> tuple[float, float] | None:
    """Where a crop lies, across and down, from 0 to 1; None for one that lies anywhere."""
    if "crop" not in step.given:
        raise step.refusal("crops to a size: give crop", "crop")
    places = step.value("crop_pos_x"), step.value("crop_pos_y")
    if not all(isinstance(each, Drawn) for each in places):
        return places
    if any((each.low, each.high) != (0, 1) or each.values for each in places):
        raise step.refusal("crops anywhere (0 to 1) or in the middle (0.5)", "crop_pos_x")
    return None


def kept_bits(step: Step, mask: float) -> int:
    """How many of the highest bits a mask keeps, where it keeps no others."""
    bits = int(mask).bit_count()
    if int(mask) != 256 - (1 << (8 - bits)):
        raise step.refusal(f"keeps the highest bits, and the mask is {mask:g}")
    return bits
