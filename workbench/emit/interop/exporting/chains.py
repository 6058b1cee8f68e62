"""Extract the chain of steps from the decoded image to each output of a graph.

Other libraries sample random values inside their transforms. Therefore only the range of a random
value is extracted, and no other step may use the same value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from workbench.catalog.spec import OpSpec
from workbench.errors import GraphExportError
from workbench.graph.control_flow.block_kinds import (
    CHOICE,
    CONDITION,
    IF,
    ONE_OF,
    REPEAT,
    SOME_OF,
    TIMES,
)
from workbench.graph.model import Node, Port, Source
from workbench.graph.model.ports import KIND_WORDS
from workbench.graph.model.values import elements
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import is_generator
from workbench.graph.types.tensor_type import TensorType

OTHERWISE = "or export for pytorch, which runs DALI."


class RandomRange(NamedTuple):
    """Distribution of a random number: uniform from ``low`` to ``high``, or one of ``values``.

    For a coin flip, low and high are 0 and 1, and ``probability`` is the probability of 1.
    ``numbers`` is the number of values that are sampled at once.
    """

    low: float
    high: float
    values: tuple[float, ...] = ()
    probability: float | None = None
    numbers: int = 1

    @property
    def shares(self) -> dict[float, float]:
        """Probability of each of ``values``."""
        return {each: self.values.count(each) / len(self.values) for each in self.values}


@dataclass
class Step:
    """One operator of an image chain. ``read`` contains the arguments that an exporter has used."""

    node: Node
    extractor: ChainExtractor
    expression: str = ""
    """Arithmetic as text in which ``x`` is the image: ``bitxor(x, 255)``, or "" for operators."""
    read: set[str] = field(default_factory=set)

    @property
    def op(self) -> str:
        """Name of the operator, or ``expression`` for arithmetic."""
        return "expression" if self.expression else self.node.op

    @property
    def spec(self) -> OpSpec:
        return self.extractor.catalog[self.node.op]

    @property
    def given(self) -> set[str]:
        """Names of the arguments that are set or connected in the graph."""
        fed = {name for name in self.node.inputs if name in self.spec.args}
        return set() if self.expression else {*self.node.args, *fed}

    def value(self, name: str) -> Any:
        """Return an argument's value, or a ``RandomRange`` if the argument is random."""
        self.read.add(name)
        if name in self.node.inputs:
            return self.extractor.range_of(self.node, name)
        default = self.spec.args[name].default
        return self.node.args.get(name, default)

    def fixed(self, name: str) -> Any:
        """Return the value of an argument. Raises GraphExportError if it is random."""
        found = self.value(name)
        if isinstance(found, RandomRange):
            raise self.extractor.refusal(
                f"{self.node.id}.{name}",
                f"accepts only a fixed {name!r}, but it is random",
                "Set a fixed value",
            )
        return found

    def items(self, name: str) -> tuple[Any, ...]:
        """Return the elements of a list argument as a tuple. A single value becomes one element."""
        found = self.fixed(name)
        return () if found is None else elements(found)

    def size(self, name: str = "size") -> tuple[int, int]:
        """Return height and width from an argument that is a pair, or one number for both."""
        found = self.fixed(name)
        sides = found if isinstance(found, tuple) else (found, found)
        return int(sides[0]), int(sides[-1])

    def span(self, name: str) -> tuple[float, float]:
        """Return the smallest and largest value of an argument, which must be fixed or uniform."""
        found = self.value(name)
        if isinstance(found, RandomRange):
            if found.values or found.probability is not None or found.numbers > 1:
                raise self.refusal(
                    f"samples {name!r} uniformly from a range, once for all channels", name
                )
            return found.low, found.high
        numbers = found if isinstance(found, tuple) else (found,)
        if len(set(numbers)) != 1:
            raise self.refusal(f"accepts a single number for {name!r}", name)
        return float(numbers[0]), float(numbers[0])

    def probability_of(self, name: str) -> float:
        """Return the probability that an argument, either constant or a coin flip, is 1."""
        found = self.value(name)
        if isinstance(found, RandomRange):
            if found.probability is None:
                raise self.refusal(
                    f"applies it with a probability, but {name!r} is not a coin flip", name
                )
            return found.probability
        return float(bool(found))

    def refusal(self, why: str, name: str = "") -> GraphExportError:
        """Return the error that the library has no equivalent. ``why`` is the reason."""
        place = f"{self.node.id}.{name}" if name else self.node.id
        return self.extractor.refusal(place, why)


@dataclass(frozen=True)
class Choice:
    """A block: for each image, some of its chains (``options``) run one after another.

    If a single chain runs, ``weights`` are the weights of the options. Otherwise ``count`` chains
    run, in random order if ``shuffled``. For a single option, ``times`` is the minimum and maximum
    number of repetitions.
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
    """Steps from the decoded image to an output."""

    name: str
    chain: Chain
    flow: TensorType


def steps_in(choice: Choice) -> Iterator[Step | Choice]:
    """Yield every step inside a block, including nested blocks."""
    for option in choice.options:
        for step in option:
            yield step
            if isinstance(step, Choice):
                yield from steps_in(step)


_PASSED_ON = ("cast", "math.floor", "math.round")
"""Operators that do not change the range of a random value."""
_LINEAR: Mapping[str, Callable[[float, float], float]] = {
    "math.add": lambda a, b: a + b,
    "math.sub": lambda a, b: a - b,
    "math.mul": lambda a, b: a * b,
    "math.truediv": lambda a, b: a / b,
}
_EXPRESSION = ("math.", "reductions.")


class ChainExtractor:
    """Extracts chains from a graph for one target. Raises GraphExportError if that fails."""

    def __init__(self, resolved: ResolvedGraph, target: str) -> None:
        self.resolved, self.target = resolved, target
        self.graph, self.catalog = resolved.graph, resolved.catalog
        self._users: dict[str, str] = {}

    def refusal(self, place: str, why: str, fix: str = "") -> GraphExportError:
        """Return an error, with a fix, for a step that has no equivalent in the target."""
        fix = fix or ("Change this argument" if "." in place else "Remove the node")
        return GraphExportError(f"{place}: {self.target} {why}. {fix}, {OTHERWISE}")

    def views(self) -> tuple[list[View], Chain]:
        """Return the views of an image, and the first steps that all views have in common."""
        flows = self.resolved.outputs
        found: dict[Port, View] = {}
        for name, port in self.graph.outputs.items():
            flow = flows[name]
            if flow.kind == "image":
                chain, _ = self.chain(port)
                found.setdefault(port, View(name, chain, flow))
            elif not self._is_label(port):
                why = (
                    "returns images and their classes, but the output "
                    f"{name!r} has {KIND_WORDS[flow.kind]}"
                )
                raise self.refusal(port.node, why, "Remove the output")
        if not found:
            port = next(iter(self.graph.outputs.values()))
            raise GraphExportError(
                f"{port.node}: {self.target} needs an image. Make an image an output."
            )
        views = list(found.values())
        common = _common_length([view.chain for view in views]) if len(views) > 1 else 1
        shared = views[0].chain[:common]
        self._require_independent_views(views, common)
        return [replace(view, chain=view.chain[common:]) for view in views], shared

    def _is_label(self, port: Port) -> bool:
        node = self.graph.node(port.node)
        return isinstance(node, Source) and port.output == "labels"

    def _require_independent_views(self, views: Sequence[View], common: int) -> None:
        seen: dict[str, str] = {}
        for view in views:
            for step in view.chain[common:]:
                is_random = isinstance(step, Choice) or self._is_random(step.node)
                if is_random and step.node.id in seen:
                    raise GraphExportError(
                        f"{step.node.id}: {seen[step.node.id]!r} and {view.name!r} share its "
                        f"random values, but in {self.target} each view samples its own. Use one "
                        "node per view."
                    )
                seen[step.node.id] = view.name

    def _is_random(self, node: Node) -> bool:
        return node.seed is not None or any(
            name in self.catalog[node.op].args for name in node.inputs
        )

    def chain(self, port: Port, scope: str = "") -> tuple[Chain, Port]:
        """Return the steps that compute a port, and the port at which they start.

        They start at an input of the body ``scope``, or at the encoded image of a reader.
        """
        made: list[Step | Choice] = []
        while port.node != scope and not isinstance(node := self.graph.node(port.node), Source):
            step, port = self._choice(node, port) if node.bodies else self._step(node, port)
            made.append(step)
        return tuple(reversed(made)), port

    def _node(self, port: Port) -> Node | None:
        """Return the node of a port, or None if the port is an input of a body."""
        return self.graph.node(port.node) if self.graph.has(port.node) else None

    def _step(self, node: Node, port: Port) -> tuple[Step, Port]:
        spec = self.catalog[node.op]
        if self._is_arithmetic(node):
            leaves: set[Port] = set()
            text = self._text(port, leaves, node.id)
            if len(leaves) != 1:
                why = f"but this combines {len(leaves)} images"
                raise self.refusal(node.id, f"requires steps from one image to one image, {why}")
            return Step(node, self, text), leaves.pop()
        images = [port for name, port in node.inputs.items() if name not in spec.args]
        if isinstance(node, Source) or len(images) != 1:
            why = f"but {node.op} has {len(images)} image inputs"
            raise self.refusal(
                node.id, f"requires steps from one decoded image to one image, {why}"
            )
        return Step(node, self), images[0]

    def _is_arithmetic(self, node: Node) -> bool:
        if node.op == "cast":
            (port,) = node.inputs.values()
            inner = self._node(port)
            return inner is not None and self._is_arithmetic(inner)
        return node.op.startswith(_EXPRESSION)

    def _text(self, port: Port, leaves: set[Port], user: str) -> str:
        """Return arithmetic as text. ``x`` is the image, whose port is added to ``leaves``."""
        node = self._node(port)
        if node is not None and is_generator(self.catalog[node.op]):
            random = self._of_generator(node)
            self._require_unshared(node, user)
            return f"[{random.low:g}, {random.high:g}]"
        if node is None or not (node.op == "cast" or node.op.startswith(_EXPRESSION)):
            leaves.add(port)
            return "x"
        operands = [self._text(source, leaves, user) for source in node.inputs.values()]
        if node.op == "cast":
            return operands[0]
        if "left" in node.args:
            operands.insert(0, f"{node.args['left']:g}")
        operands += [f"{node.args[n]:g}" for n in ("right", "lo", "hi") if n in node.args]
        return f"{node.op.removeprefix('math.')}({', '.join(operands)})"

    def _choice(self, node: Node, port: Port) -> tuple[Choice, Port]:
        ends = [
            self.chain(body.outputs[port.output], node.scope(name))
            for name, body in node.bodies.items()
        ]
        chains = tuple(chain for chain, _ in ends)
        taken = {begin.output for _, begin in ends}
        if len(taken) != 1:
            why = f"supports blocks of one image, but its bodies read {len(taken)}"
            raise self.refusal(node.id, why)
        source = node.inputs[taken.pop()]
        if node.op == IF.op:
            p = self._probability(node, CONDITION)
            return Choice(node, chains, (p, 1 - p)), source
        if node.op == REPEAT.op:
            return Choice(node, chains, times=self._times(node)), source
        if node.op not in (ONE_OF.op, SOME_OF.op):
            raise self.refusal(node.id, f"has no {node.op}")
        random = self._deciding(node, CHOICE)
        if node.op == SOME_OF.op:
            count, shuffled = SOME_OF.count(node), SOME_OF.is_shuffled(node)
            return Choice(node, chains, count=count, shuffled=shuffled), source
        weights = elements(random.args.get("p", 1 / len(chains)))
        if len(weights) == 1:  # for all, as DALI repeats it
            weights *= len(chains)
        return Choice(node, chains, tuple(float(str(each)) for each in weights)), source

    def _deciding(self, block: Node, name: str) -> Node:
        node = self.graph.node(block.inputs[name].node)
        self._require_unshared(node, block.id)
        if node.op != "random.choice":
            why = f"selects what runs at random, but {node.id!r} ({node.op}) decides here"
            raise self.refusal(f"{block.id}.{name}", why)
        return node

    def _probability(self, block: Node, name: str) -> float:
        node = self.graph.node(block.inputs[name].node)
        if node.op == "random.coin_flip":
            self._require_unshared(node, block.id)
            return float(str(node.args.get("probability", 0.5)))
        below = node.op in ("math.lt", "math.le") and "right" in node.args
        if below and (limits := self._range_of_port(node.inputs["data"], block.id)) is not None:
            limit = float(str(node.args["right"]))
            if limits.low == limits.high:
                return float(limits.low < limit or (node.op == "math.le" and limits.low == limit))
            return min(max((limit - limits.low) / (limits.high - limits.low), 0.0), 1.0)
        why = f"decides by a probability, but {node.id!r} ({node.op}) decides here"
        raise self.refusal(f"{block.id}.{name}", why)

    def _times(self, block: Node) -> tuple[int, int]:
        most = REPEAT.repetitions(block)
        if TIMES not in block.inputs:
            return most, most
        limits = self.range_of(block, TIMES)
        if not isinstance(limits, RandomRange):
            fixed = min(max(0, math.floor(limits)), most)
            return fixed, fixed
        return max(0, math.floor(limits.low)), min(most, math.ceil(limits.high) - 1)

    def range_of(self, node: Node, name: str) -> Any:
        """Return the range of a random argument, or its value if it is constant."""
        found = self._range_of_port(node.inputs[name], node.id)
        if found is None:
            why = f"samples {name!r} from a range, but {node.inputs[name].node!r} calculates it"
            raise self.refusal(f"{node.id}.{name}", why)
        return found if found.low != found.high or found.values else found.low

    def _range_of_port(self, port: Port, user: str) -> RandomRange | None:
        """Return the range of a random value after constant arithmetic, or None if unknown."""
        node = self._node(port)
        if node is None:
            return None
        if is_generator(self.catalog[node.op]):
            self._require_unshared(node, user)
            return self._of_generator(node)
        if node.op == "constant":
            numbers = elements(node.args.get("fdata", node.args.get("idata", ())))
            if len(numbers) == 1:
                return RandomRange(float(str(numbers[0])), float(str(numbers[0])))
            return None
        sources = list(node.inputs.values())
        inner = self._range_of_port(sources[0], user) if len(sources) == 1 else None
        if inner is None or inner.values or inner.probability is not None:
            return None
        if node.op == "math.neg":
            return inner._replace(low=-inner.high, high=-inner.low)
        if node.op == "math.floor":
            return inner._replace(high=inner.high - 1)
        if node.op in _PASSED_ON:
            return inner
        if node.op not in _LINEAR:
            return None
        by = float(str(node.args.get("right", node.args.get("left"))))
        swap = "left" in node.args
        if node.op == "math.truediv" and (swap or by == 0):
            return None
        ends = [
            _LINEAR[node.op](by, end) if swap else _LINEAR[node.op](end, by)
            for end in (inner.low, inner.high)
        ]
        return inner._replace(low=min(ends), high=max(ends))

    def _of_generator(self, node: Node) -> RandomRange:
        shape = node.args.get("shape", ())
        sides = shape if isinstance(shape, tuple) else (shape,)
        count = math.prod(int(str(side)) for side in sides)
        if node.op == "random.coin_flip":
            return RandomRange(
                0, 1, probability=float(str(node.args.get("probability", 0.5))), numbers=count
            )
        if node.op == "random.uniform" and not node.inputs:
            values = node.args.get("values")
            if values is not None:
                numbers = tuple(float(str(each)) for each in elements(values))
                return RandomRange(min(numbers), max(numbers), numbers, numbers=count)
            ends = node.args.get("range", (-1.0, 1.0))
            assert isinstance(ends, tuple)
            low, high = (float(str(end)) for end in ends)
            return RandomRange(low, high, numbers=count)
        raise self.refusal(node.id, f"has no {node.op}, only uniform values and coin flips")

    def _require_unshared(self, generator: Node, user: str) -> None:
        """Raise GraphExportError if another step uses the same random value."""
        first = self._users.setdefault(generator.id, user)
        if first != user:
            raise GraphExportError(
                f"{generator.id}: {first!r} and {user!r} share its random value, but in "
                f"{self.target} each samples its own. Use one generator for each."
            )


def _common_length(chains: Sequence[Chain]) -> int:
    count = 0
    for steps in zip(*chains, strict=False):
        if len({step.node.id for step in steps}) > 1:
            break
        count += 1
    return count
