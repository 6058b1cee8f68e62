"""A graph as steps for one image, which a peer runs with its own operators.

The graph's arguments and draws stay what they are; a peer brings one function for each operator
that it has. What it lacks is refused: a peer is never measured at other work.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.catalog.spec import Catalog, Value
from workbench.errors import EngineError
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.model import DecodeDevice, Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.types.devices import image_outputs, is_decoder, is_generator

Image = Any
"""Whatever a peer's functions hand on."""
Operator = Callable[..., Image]
"""``operator(image, **arguments)``: the arguments by DALI's names, each image's own draws."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A library with a way to decode.

    ``needs`` names its package and its module, ``module`` is the one here that runs it.
    """

    name: str
    device: DecodeDevice
    needs: tuple[str, str]
    decoder: str
    module: str


class NoCounterpartError(EngineError):
    """A peer has no counterpart of an operator or an argument."""


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """One operator call.

    ``source`` is the id of the node that gives the image, ``draws`` says which generator gives
    which argument.
    """

    node: str
    op: str
    source: str
    args: Mapping[str, Any]
    draws: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Program:
    """What a peer does for each image: decode it, draw, run the steps, hand out ``outputs``."""

    decoder: str
    gray: bool
    generators: Mapping[str, tuple[str, Mapping[str, Any]]]
    steps: tuple[OperatorCall, ...]
    outputs: tuple[str, ...]

    def run(
        self, image: Image, operators: Mapping[str, Operator], chance: random.Random
    ) -> list[Image]:
        """The outputs for one decoded image."""
        drawn = {
            name: draw_number(kind, args, chance) for name, (kind, args) in self.generators.items()
        }
        images = {self.decoder: image}
        for step in self.steps:
            own = {name: drawn[generator] for name, generator in step.draws.items()}
            images[step.node] = operators[step.op](images[step.source], **step.args, **own)
        return [images[node] for node in self.outputs]


def chain_of(program: Program, output: str) -> list[OperatorCall]:
    """The operators that lead from the decoded image to an output, in order."""
    steps = {step.node: step for step in program.steps}
    chain: list[OperatorCall] = []
    while output != program.decoder:
        chain.append(steps[output])
        output = steps[output].source
    return chain[::-1]


def value_range(
    program: Program, step: OperatorCall, name: str, usual: float
) -> tuple[float, float]:
    """The least and greatest value of an argument; equal where it is fixed.

    Raises NoCounterpartError where it is drawn in another way than evenly.
    """
    if name not in step.draws:
        value = float(step.args.get(name, usual))
        return value, value
    kind, args = program.generators[step.draws[name]]
    if kind != "random.uniform" or "values" in args:
        raise NoCounterpartError(f"{name} of {step.op} ({step.node}) is not drawn evenly")
    low, high = args.get("range", (-1.0, 1.0))
    return float(low), float(high)


def fixed_value(step: OperatorCall, name: str, usual: Any, peer: str) -> Any:
    """The value of an argument. Raises NoCounterpartError where it is drawn."""
    if name in step.draws:
        raise NoCounterpartError(f"{peer} takes no draw for {name} of {step.op} ({step.node})")
    return step.args.get(name, usual)


def draw_number(kind: str, args: Mapping[str, Any], chance: random.Random) -> float:
    """One number as DALI's generator draws it."""
    if kind == "random.coin_flip":
        return float(chance.random() < args.get("probability", 0.5))
    if "values" in args:
        return float(chance.choice(args["values"]))
    low, high = args.get("range", (-1.0, 1.0))
    return chance.uniform(low, high)


_GENERATORS = {"random.coin_flip": {"probability"}, "random.uniform": {"range", "values"}}
_DECODER = {"output_type", "hw_decoder_load"}


def program_of(
    graph: Graph, catalog: Catalog, known: Mapping[str, frozenset[str]], peer: str
) -> Program:
    """The graph as a program. ``known`` has the arguments of each operator that the peer has.

    Raises NoCounterpartError where the peer lacks something.
    """
    outputs = list(image_outputs(graph, catalog).values())
    needed = ancestors(graph, outputs)
    ordered = [node for node in topological(graph)[0] if node.id in needed]
    found = [node for node in ordered if is_decoder(catalog[node.op])]
    if len(found) != 1 or found[0].op != "decoders.image":
        raise NoCounterpartError(f"{peer} is compared at graphs with one decoders.image")
    decoder = found[0]
    _require(decoder, catalog, _DECODER, peer)
    if not parameters(ordered):
        raise NoCounterpartError(f"{peer} reads a folder, and the graph names its files itself")
    generators: dict[str, tuple[str, Mapping[str, Any]]] = {}
    steps: list[OperatorCall] = []
    for node in ordered:
        if is_generator(catalog[node.op]):
            if node.op not in _GENERATORS:
                raise NoCounterpartError(f"{peer} is given no counterpart of {node.op} ({node.id})")
            _require(node, catalog, _GENERATORS[node.op], peer)
            generators[node.id] = node.op, dict(node.args)
        elif not isinstance(node, Source) and node != decoder:
            if node.op not in known:
                raise NoCounterpartError(f"{peer} is given no counterpart of {node.op} ({node.id})")
            _require(node, catalog, known[node.op], peer)
            steps.append(_step(node, catalog))
    return Program(
        decoder.id,
        decoder.args.get("output_type") == "GRAY",
        generators,
        tuple(steps),
        tuple(port.node for port in outputs),
    )


def _step(node: Node, catalog: Catalog) -> OperatorCall:
    spec = catalog[node.op]
    images = [port for name, port in node.inputs.items() if name not in spec.args]
    draws = {name: port.node for name, port in node.inputs.items() if name in spec.args}
    return OperatorCall(node.id, node.op, images[0].node, dict(node.args), draws)


def _require(node: Node, catalog: Catalog, known: frozenset[str] | set[str], peer: str) -> None:
    drawn = {name for name in node.inputs if name in catalog[node.op].args}
    unlike = (set(node.args) | drawn) - known
    if unlike:
        names = ", ".join(sorted(unlike))
        raise NoCounterpartError(
            f"{peer} is given no counterpart of {names} of {node.op} ({node.id})"
        )


def without_randomness(graph: Graph, catalog: Catalog) -> Graph:
    """The graph without chance, for a comparison of pixels.

    Every draw lies at three quarters of its range (in the middle many operators do nothing, and an
    angle of the wrong sign would pass), a coin always falls on 1, a random crop takes the whole
    image (where it falls cannot be fixed), and the files come in order.
    """
    fixed: dict[str, Value] = {}
    for node in graph.nodes:
        if node.op == "random.coin_flip":
            fixed[node.id] = 1
        elif node.op == "random.uniform":
            values = node.args.get("values") or node.args.get("range") or (-1.0, 1.0)
            assert isinstance(values, Sequence)
            numbers = [float(v) for v in values if isinstance(v, int | float)]
            low, high = numbers[0], numbers[-1]
            fixed[node.id] = low if "values" in node.args else low + 0.75 * (high - low)
    nodes = tuple(_without_draws(node, catalog, fixed) for node in graph.nodes)
    outputs: dict[str, Port] = image_outputs(graph, catalog)
    return replace(graph, nodes=nodes, outputs=outputs)


def _without_draws(node: Node, catalog: Catalog, fixed: Mapping[str, Value]) -> Node:
    drawn = {
        name: fixed[port.node]
        for name, port in node.inputs.items()
        if port.node in fixed and name in catalog[node.op].args
    }
    args = {**node.args, **drawn}
    if node.op == "random_resized_crop":
        node = replace(node, op="resize", seed=None)
        args = {"size": args["size"]}
    if isinstance(node, Source):
        args["random_shuffle"] = False
    inputs = {name: port for name, port in node.inputs.items() if name not in drawn}
    return replace(node, args=args, inputs=inputs)
