"""Define the kinds of blocks (if, one of, some of, repeat) as one object per kind.

The name, arguments, bodies and texts of a kind are declared in ``extra_operators/blocks.toml``, and
a function in ``emit.blocks`` generates its Python code. All other differences between kinds are
methods of ``BlockKind``. Code that handles blocks calls ``kind_of(block)`` and does not compare
names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, permutations
from math import comb, perm
from numbers import Real

from workbench.catalog.extra_operators import BLOCKS
from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.edits.edit import new_node
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.faults import Fault

CONDITION, CHOICE, TIMES = "condition", "choice", "times"
"""Names of the controlling inputs of ``if``, of ``one_of`` and ``some_of``, and of ``repeat``."""
MOST_OPTIONS = 32
"""Maximum number of bodies of ``one_of`` and ``some_of``, so that users can distinguish them."""
MOST_ORDERS = 1000
"""Maximum number of orders in which ``some_of`` can run its bodies. Exported code lists them."""
_DIGITS, _MOST_DIGITS = 4, 16
"""Decimal places of a probability: 4, or up to 16 if a weight would otherwise be rounded to 0."""


@dataclass(frozen=True, slots=True)
class BlockCall:
    """A call of the Python API that creates a block: ``graph.method(*first, *bodies, **more)``."""

    method: str
    first: Sequence[Value | Port] = ()
    more: Mapping[str, Value] = field(default_factory=dict)
    bodies: Sequence[str] | None = None
    """Names of the bodies to pass, or None for all bodies."""


class BlockKind:
    """A kind of block. The defaults are for a block without a controlling input."""

    op = ""
    """Name of the block operator in the catalogue."""
    control = ""
    """Name of the input or linked argument that selects which bodies run."""
    random_op = ""
    """Operator of the generator that controls a new block; empty if none is needed."""
    random_id = ""
    """Id of the generator that controls a new block."""
    weighted = False
    """Whether the user can set a weight for each body."""
    decides_in_place = False
    """Whether the exported statement contains the condition itself instead of a variable."""

    def start_args(self, bodies: int) -> Mapping[str, Value]:
        """Return the non-default arguments of a new block with this number of bodies."""
        return {}

    def fitting_args(self, block: Node) -> Mapping[str, Value]:
        """Return the arguments of a block, adjusted to the number of its bodies."""
        return block.args

    # The random value that decides

    def random_args(self, block: Node, chances: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return the arguments of the block's generator, including the given probabilities."""
        return {}

    def new_generator(
        self,
        graph: Graph,
        catalog: Catalog,
        block: Node,
        chances: Mapping[str, Value] | None = None,
    ) -> Node | None:
        """Create a generator for a new block, or return None if this kind needs none.

        The generator is not added to the graph.
        """
        if not self.random_op:
            return None
        fresh = new_node(graph, catalog, self.random_op, self.random_id)
        return replace(fresh, args={**fresh.args, **self.random_args(block, chances or {})})

    def generator_of(self, graph: Graph, block: Node) -> Node | None:
        """Return the generator that controls a block, or None if it has linked arguments.

        ``graph`` is the body that contains the block.
        """
        port = block.inputs.get(self.control)
        node = graph.node(port.node) if port is not None and graph.has(port.node) else None
        return node if node and node.op == self.random_op and not node.inputs else None

    def probability(self, graph: Graph, block: Node) -> float | None:
        """Return the probability that the first of two bodies runs, or None if unknown."""
        return None

    def weights(self, graph: Graph, block: Node) -> tuple[float, ...] | None:
        """Return the weights of the bodies as probabilities, or None if unknown."""
        return None

    # What runs

    def shares(self, graph: Graph, block: Node) -> tuple[float, ...] | None:
        """Return the probability that each body runs for a sample, or None if unknown."""
        return None

    def repetitions(self, block: Node) -> int | None:
        """Return the maximum number of repetitions per sample, or None if bodies do not repeat."""
        return None

    def iterations(self, block: Node) -> int:
        """Return how often the code of the bodies runs in one batch."""
        return max(1, self.repetitions(block) or 1)

    def may_skip(self, block: Node) -> bool:
        """Return whether a sample may skip every body of a block that runs them in sequence."""
        return True

    # Texts

    def summary(self, block: Node) -> str:
        """Return a summary of the controlling arguments; empty if an input controls the block."""
        return ""

    def faults(self, graph: Graph, block: Node) -> Iterator[Fault]:
        """Report faults of this kind of block. ``graph`` is the body that contains the block."""
        yield from ()

    def call(self, block: Node, random: Mapping[str, Value] | None) -> BlockCall | None:
        """Return the method call that creates the block, or None if no method can create it.

        ``random`` contains the arguments of the generator if the method creates the generator.
        """
        if self.control and random is None:
            return None
        return BlockCall(self.op, more=block.args)


class If(BlockKind):
    """Block that runs one of two bodies for each sample, depending on a Boolean condition."""

    op = "if"
    control = CONDITION
    random_op, random_id = "random.coin_flip", "chance"
    decides_in_place = True

    def random_args(self, block: Node, chances: Mapping[str, Value]) -> Mapping[str, Value]:
        return {"probability": chances.get("probability", 0.5), "dtype": "BOOL"}

    def probability(self, graph: Graph, block: Node) -> float | None:
        coin = self.generator_of(graph, block)
        value = coin.args.get("probability", 0.5) if coin is not None else None
        return float(value) if isinstance(value, int | float) else None

    def shares(self, graph: Graph, block: Node) -> tuple[float, ...] | None:
        probability = self.probability(graph, block)
        return None if probability is None else (probability, round(1 - probability, 9))

    def call(self, block: Node, random: Mapping[str, Value] | None) -> BlockCall | None:
        scope = block.scope("else")
        passed = {name: Port(scope, name) for name in block.bodies["else"].outputs}
        empty = block.bodies["else"].outputs == passed
        bodies = ["then"] if empty else ["then", "else"]
        if empty and random is not None:
            return BlockCall("with_p", [random["probability"]], bodies=bodies)
        return BlockCall("if_else", [block.inputs[CONDITION]], bodies=bodies)


class OneOf(BlockKind):
    """Block that runs one of several bodies for each sample, selected at random."""

    op = "one_of"
    control = CHOICE
    random_op, random_id = "random.choice", CHOICE
    weighted = True

    def random_args(self, block: Node, chances: Mapping[str, Value]) -> Mapping[str, Value]:
        args: dict[str, Value] = {"population": len(block.bodies)}
        p = chances.get("p")
        return {**args, "p": p} if isinstance(p, tuple) and len(p) == len(block.bodies) else args

    def weights(self, graph: Graph, block: Node) -> tuple[float, ...] | None:
        generator = self.generator_of(graph, block)
        if generator is None or generator.args.get("population") != len(block.bodies):
            return None
        given = generator.args.get("p")
        if given is None:
            return equal_probabilities(len(block.bodies))
        if not isinstance(given, tuple) or len(given) != len(block.bodies):
            return None
        weights = tuple(float(value) for value in given if isinstance(value, int | float))
        return weights if len(weights) == len(given) else None

    def shares(self, graph: Graph, block: Node) -> tuple[float, ...] | None:
        return self.weights(graph, block)

    def faults(self, graph: Graph, block: Node) -> Iterator[Fault]:
        """Report a generator whose range does not match the number of bodies."""
        generator = self.generator_of(graph, block)
        numbers = None if generator is None else generator.args.get("population")
        count, names = len(block.bodies), list(block.bodies)
        if generator is None or not count or not isinstance(numbers, int) or numbers == count:
            return
        idle = ", ".join(names[max(numbers, 0) :])
        words = (
            f"{generator.id!r} selects from {numbers} numbers, but the block has {count} bodies: "
            + (f"{idle} would never run" if idle else f"{names[-1]} would run for all the others")
        )
        yield Fault(block.id, CHOICE, words, f"Set {generator.id}.population to {count}.", "draw")

    def call(self, block: Node, random: Mapping[str, Value] | None) -> BlockCall | None:
        if random is None:
            return None
        return BlockCall(self.op, more={"weights": random["p"]} if "p" in random else {})


class SomeOf(BlockKind):
    """Block that runs some of several bodies for each sample, one after the other.

    One random number selects an entry of ``orders``: which bodies run, and in which order. All
    orders are equally likely, so all bodies are equally likely.
    """

    op = "some_of"
    control = CHOICE
    random_op, random_id = "random.choice", CHOICE

    def start_args(self, bodies: int) -> Mapping[str, Value]:
        return {"count": max(1, bodies - 1)}

    def fitting_args(self, block: Node) -> Mapping[str, Value]:
        return {**block.args, "count": min(self.count(block), len(block.bodies))}

    def random_args(self, block: Node, chances: Mapping[str, Value]) -> Mapping[str, Value]:
        number = self.order_count(block)
        return {"population": number} if 0 < number <= MOST_ORDERS else {}

    def count(self, block: Node) -> int:
        """Return the number of bodies that run for each sample, or 0 if ``count`` is no integer."""
        count = block.args.get("count")
        return count if type(count) is int else 0

    def is_shuffled(self, block: Node) -> bool:
        return block.args.get("shuffled") is True

    def runs_in_loop(self, block: Node) -> bool:
        """Return whether the exported code is a loop that runs one body in each iteration."""
        return self.is_shuffled(block) and self.count(block) > 1

    def order_count(self, block: Node) -> int:
        """Return the number of possible orders, or 0 if ``count`` is invalid."""
        options, count = len(block.bodies), self.count(block)
        if not 1 <= count <= options:
            return 0
        return perm(options, count) if self.is_shuffled(block) else comb(options, count)

    def orders(self, block: Node) -> tuple[tuple[int, ...], ...]:
        """Return the indices of the bodies that run, in order, for each random number."""
        arranged = permutations if self.is_shuffled(block) else combinations
        found = arranged(range(len(block.bodies)), self.count(block))
        return tuple(islice(found, MOST_ORDERS))

    def shares(self, graph: Graph, block: Node) -> tuple[float, ...] | None:
        generator = self.generator_of(graph, block)
        if generator is None or generator.args.get("population") != self.order_count(block):
            return None
        if "p" in generator.args:
            return None
        return (self.count(block) / len(block.bodies),) * len(block.bodies)

    def iterations(self, block: Node) -> int:
        return max(1, self.count(block)) if self.is_shuffled(block) else 1

    def may_skip(self, block: Node) -> bool:
        return not self.runs_in_loop(block)

    def summary(self, block: Node) -> str:
        order = ", in random order" if self.is_shuffled(block) else ""
        return f"{self.count(block)} of {len(block.bodies)}{order}"

    def faults(self, graph: Graph, block: Node) -> Iterator[Fault]:
        """Report an invalid count, too many orders, and a generator with the wrong range."""
        options, count, number = len(block.bodies), self.count(block), self.order_count(block)
        generator = self.generator_of(graph, block)
        found = None if generator is None else generator.args.get("population")
        if count > options:
            words = f"count is {count}, but the block has {options} bodies"
            yield Fault(block.id, "count", words, f"Use 1 to {options}, or add options.", "value")
        elif number > MOST_ORDERS:
            yield Fault(
                block.id,
                "count",
                f"{count} of {options} bodies have {number} orders, and the code lists all of them",
                f"At most {MOST_ORDERS} are supported: reduce count, or set shuffled to False.",
                "value",
            )
        elif number > 0 and generator is not None and found != number:
            words = f"{generator.id!r} selects from {found} numbers, but there are {number} orders"
            yield Fault(
                block.id, CHOICE, words, f"Set {generator.id}.population to {number}.", "draw"
            )

    def call(self, block: Node, random: Mapping[str, Value] | None) -> BlockCall | None:
        if random is None:
            return None
        more: Mapping[str, Value] = {"shuffled": True} if block.args.get("shuffled") else {}
        return BlockCall(self.op, [block.args["count"]], more)


class Repeat(BlockKind):
    """Block that runs its body repeatedly."""

    op = "repeat"
    control = TIMES

    def repetitions(self, block: Node) -> int:
        name = "most" if TIMES in block.inputs else TIMES
        given = block.args.get(name, BLOCKS[self.op].args[name].default)
        return given if type(given) is int else 1

    def may_skip(self, block: Node) -> bool:
        return TIMES in block.inputs

    def shares(self, graph: Graph, block: Node) -> tuple[float, ...] | None:
        return None if TIMES in block.inputs else (1.0,)

    def summary(self, block: Node) -> str:
        return "" if TIMES in block.inputs else f"{self.repetitions(block)} times"

    def call(self, block: Node, random: Mapping[str, Value] | None) -> BlockCall | None:
        more = {"most": block.args["most"]} if "most" in block.args else {}
        fed = block.inputs.get(TIMES)
        return BlockCall(self.op, [fed or block.args[TIMES]], more)


IF, ONE_OF, SOME_OF, REPEAT = If(), OneOf(), SomeOf(), Repeat()
KINDS: Mapping[str, BlockKind] = {kind.op: kind for kind in (IF, ONE_OF, SOME_OF, REPEAT)}
_UNKNOWN = BlockKind()


def kind_of(block: Node) -> BlockKind:
    """Return the kind of a block, or a default kind for a node that is not a block."""
    return KINDS.get(block.op, _UNKNOWN)


def equal_probabilities(count: int) -> tuple[float, ...]:
    """Return ``count`` equal probabilities."""
    return (1 / count,) * count


def weight_args(weights: Sequence[float]) -> Mapping[str, Value]:
    """Return the arguments of ``random.choice`` for weights; empty if all weights are equal.

    Raises GraphEditError like ``probabilities``.
    """
    found = probabilities(weights)
    return {"p": found} if len(set(weights)) > 1 else {}


def probabilities(weights: Sequence[float]) -> tuple[float, ...]:
    """Normalise weights to probabilities with sum 1. Raises GraphEditError for invalid weights."""
    numbers = all(isinstance(weight, Real) for weight in weights)
    finite = numbers and all(0 <= weight < float("inf") for weight in weights)
    if not finite or not sum(weights) > 0:
        given = ", ".join(f"{weight:g}" if numbers else repr(weight) for weight in weights)
        raise GraphEditError(
            f"The weights are {given}. Use finite numbers of 0 or more, not all 0."
        )
    exact = [weight / max(weights) for weight in weights]
    exact = [weight / sum(exact) for weight in exact]
    for digits in range(_DIGITS, _MOST_DIGITS):  # a positive weight must stay above 0
        rounded = [round(share, digits) for share in exact]
        if all(rounded[index] for index, share in enumerate(exact) if share):
            break
    largest = max(range(len(rounded)), key=lambda index: rounded[index])
    rounded[largest] = round(rounded[largest] + 1 - sum(rounded), digits)
    return tuple(rounded)
