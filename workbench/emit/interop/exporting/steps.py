"""The steps of one image, with the ranges from which their arguments are drawn.

A library that has no DALI draws inside its transforms, so what matters of a draw is its range, and
that no other step needs the same draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.catalog.spec import OpSpec
from workbench.errors import GraphExportError
from workbench.graph.model import Node
from workbench.graph.model.values import elements
from workbench.graph.types.tensor_type import TensorType

if TYPE_CHECKING:
    from workbench.emit.interop.exporting.chains import ChainExtractor

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
    extractor: ChainExtractor
    expression: str = ""
    """Of arithmetic its text, in which ``x`` is the image: ``bitxor(x, 255)``."""
    read: set[str] = field(default_factory=set)

    @property
    def op(self) -> str:
        """The operator's name; of arithmetic ``expression``."""
        return "expression" if self.expression else self.node.op

    @property
    def spec(self) -> OpSpec:
        """The operator's entry in the catalogue."""
        return self.extractor.catalog[self.node.op]

    @property
    def given(self) -> set[str]:
        """The arguments that the graph sets or feeds."""
        fed = {name for name in self.node.inputs if name in self.spec.args}
        return set() if self.expression else {*self.node.args, *fed}

    def value(self, name: str) -> Any:
        """An argument's number, text or tuple, or what it is drawn from: a ``Drawn``."""
        self.read.add(name)
        if name in self.node.inputs:
            return self.extractor.drawn(self.node, name)
        default = self.spec.args[name].default
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
        return self.extractor.refusal(place, why)


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
