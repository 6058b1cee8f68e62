"""Edit the probabilities, number, order and titles of a block's bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.catalog.extra_operators import BLOCKS
from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.control_flow.block_kinds import (
    CHOICE,
    CONDITION,
    IF,
    MOST_OPTIONS,
    ONE_OF,
    equal_probabilities,
    kind_of,
    weight_args,
)
from workbench.graph.control_flow.wrapping import passing_input
from workbench.graph.edits.edit import scoped
from workbench.graph.model import TITLE_WORDS, Body, Graph, Node, Port, is_title


@scoped("block")
def set_probability(graph: Graph, block: str, probability: float) -> Graph:
    """Set the probability of the first body of an ``if``.

    Raises GraphEditError for a probability outside 0 to 1, and if the condition is not a coin flip.
    """
    node = graph.node(block)
    coin = IF.generator_of(graph, node)
    if coin is None:
        source = node.inputs.get(CONDITION)
        raise GraphEditError(
            f"{block!r} is controlled by {source or 'nothing'}, so it has no probability. Connect "
            f"{IF.random_op} to {block}.{CONDITION}."
        )
    if not 0 <= probability <= 1:
        raise GraphEditError(
            f"The probability of {block!r} is {probability:g}. Use a number from 0 to 1."
        )
    return graph.replace_node(coin.with_args({"probability": probability}))


@scoped("block")
def fit_generator(graph: Graph, block: str) -> Graph:
    """Adjust the range of a block's generator to the number of its bodies or orders.

    The graph is unchanged if no generator controls the block, or if the block's orders are invalid.
    """
    node = graph.node(block)
    generator = kind_of(node).generator_of(graph, node)
    return graph.replace_node(_fit(node, generator, generator.args)) if generator else graph


def _fit(block: Node, generator: Node, chances: Mapping[str, Value]) -> Node:
    """Return the generator with its range adjusted to the block, and with ``chances`` if valid."""
    fitting = kind_of(block).random_args(block, chances)
    if not fitting:
        return generator
    args = {name: value for name, value in generator.args.items() if name != "p"}
    return replace(generator, args={**args, **fitting})


@scoped("block")
def set_weights(graph: Graph, block: str, weights: Sequence[float]) -> Graph:
    """Set the probabilities of a block's bodies in proportion to weights.

    Raises GraphEditError if no generator controls the block, and for invalid weights: each body
    needs one weight of at least 0, and at least one must be above 0.
    """
    node, generator = _block_and_generator(graph, block)
    if not kind_of(node).weighted:
        raise GraphEditError(
            f"{block!r} ({node.op}) has no weights. Select a block of kind {ONE_OF.op}."
        )
    if len(weights) != len(node.bodies):
        raise GraphEditError(
            f"weights has length {len(weights)}, but {block!r} has {len(node.bodies)} bodies. Use "
            f"one weight for each: {', '.join(node.bodies)}."
        )
    return graph.replace_node(_fit(node, generator, weight_args(weights)))


@scoped("block")
def add_option(graph: Graph, catalog: Catalog, block: str) -> Graph:
    """Add a body that returns its input. Its probability is the average of the others."""
    node, generator = _block_and_generator(graph, block)
    if len(node.bodies) >= MOST_OPTIONS:
        raise GraphEditError(
            f"{block!r} already has {MOST_OPTIONS} options, the maximum. Put more options into a "
            "block inside it."
        )
    name = catalog[node.op].body_names(len(node.bodies) + 1)[-1]
    outputs, taken = {}, []
    for output in next(iter(node.bodies.values())).outputs:
        passes = passing_input(graph, catalog, node, output)
        outputs[output] = Port(node.scope(name), passes)
        taken.append(passes)
    bodies = {**node.bodies, name: Body((), outputs, tuple(dict.fromkeys(taken)))}
    before = kind_of(node).weights(graph, node) or equal_probabilities(len(node.bodies))
    made = replace(node, bodies=bodies)
    generator = _fit(made, generator, weight_args([*before, 1 / len(before)]))
    return graph.replace_node(made).replace_node(generator)


@scoped("block")
def remove_option(graph: Graph, catalog: Catalog, block: str, body: str) -> Graph:
    """Remove a body. The other bodies are renumbered and keep the proportions of their weights.

    Raises GraphEditError if there are only two bodies, which is the minimum.
    """
    node, generator = _block_and_generator(graph, block)
    names = catalog[node.op].body_names(len(node.bodies))
    if body not in node.bodies:
        raise GraphEditError(f"{block!r} has no body {body!r}. It has: {', '.join(names)}.")
    if len(names) == 2:
        raise GraphEditError(
            f"{block!r} has only two options, the minimum. Replace the block with one of them."
        )
    left = [name for name in names if name != body]
    before = kind_of(node).weights(graph, node) or equal_probabilities(len(names))
    rest = [before[names.index(name)] for name in left]
    new = dict(zip(left, names, strict=False))
    bodies = {new[name]: _renamed_body(node, name, new[name]) for name in left}
    made = replace(node, bodies=bodies)
    made = replace(made, args=kind_of(made).fitting_args(made))
    weights = rest if sum(rest) else equal_probabilities(len(left))
    generator = _fit(made, generator, weight_args(weights))
    return graph.replace_node(made).replace_node(generator)


@scoped("block")
def move_option(graph: Graph, block: str, body: str, by: int) -> Graph:
    """Swap a body and its weight with the previous (``by=-1``) or next (``by=1``) body.

    Raises GraphEditError if there is no such body.
    """
    node = graph.node(block)
    names = list(node.bodies)
    if body not in names or not 0 <= names.index(body) + by < len(names) or abs(by) != 1:
        raise GraphEditError(
            f"{body[:40]!r} of {block!r} cannot move by {by:+d}. Its bodies are {', '.join(names)}."
        )
    other = names[names.index(body) + by]
    bodies = dict(node.bodies)
    bodies[other], bodies[body] = _renamed_body(node, body, other), _renamed_body(node, other, body)
    weights = kind_of(node).weights(graph, node)
    graph = graph.replace_node(replace(node, bodies=bodies))
    generator = kind_of(node).generator_of(graph, node)
    if weights is None or generator is None or len(set(weights)) == 1:
        return graph
    swapped = dict(zip(names, weights, strict=True))
    swapped[body], swapped[other] = swapped[other], swapped[body]
    args = {**generator.args, "p": tuple(swapped[name] for name in names)}
    return graph.replace_node(replace(generator, args=args))


def _renamed_body(block: Node, old: str, new: str) -> Body:
    return block.bodies[old].renamed(block.scope(old), block.scope(new))


def _block_and_generator(graph: Graph, block: str) -> tuple[Node, Node]:
    """Return a block with options and its controlling generator, or raise GraphEditError."""
    node = graph.node(block)
    spec = BLOCKS.get(node.op)
    if spec is None or not spec.numbered_bodies:
        raise GraphEditError(
            f"{block!r} ({node.op}) has no options. Select a block of kind {ONE_OF.op}."
        )
    names = spec.body_names(len(node.bodies))
    if {*names} != {*node.bodies}:
        raise GraphEditError(
            f"The bodies of {block!r} are named {', '.join(map(repr, node.bodies))} instead of "
            f"{', '.join(map(repr, names))}. Copy their nodes into a new block."
        )
    generator = kind_of(node).generator_of(graph, node)
    if generator is None:
        source = node.inputs.get(CHOICE)
        raise GraphEditError(
            f"{block!r} is controlled by {source or 'nothing'}, so it has no weights. Connect "
            f"{ONE_OF.random_op} to {block}.{CHOICE}."
        )
    return node, generator


@scoped("block")
def set_body_title(graph: Graph, block: str, body: str, title: str) -> Graph:
    """Set the title of a body; an empty title removes it.

    Raises GraphEditError if the body does not exist, and for a title of more than one line.
    """
    node = graph.node(block)
    if body not in node.bodies:
        names = ", ".join(node.bodies) or "none"
        raise GraphEditError(f"{block!r} has no body {body[:40]!r}. It has: {names}.")
    title = " ".join(title.split())
    if not is_title(title):
        raise GraphEditError(
            f"{title[:40]!r} cannot be the title of {block}.{body}. Use {TITLE_WORDS}."
        )
    for name, other in node.bodies.items():
        if title and name != body and title in (name, other.title):
            raise GraphEditError(
                f"{name!r} of {block!r} already has the title {title!r}. Use another one."
            )
    named = replace(node.bodies[body], title=title)
    return graph.replace_node(replace(node, bodies={**node.bodies, body: named}))
