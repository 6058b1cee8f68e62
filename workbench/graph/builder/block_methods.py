"""Define the graph methods that add blocks: with_p, if_else, one_of, some_of, repeat."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from workbench.arguments import APPLY, WHOLE, Kind, checked, format_value
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators import BLOCKS
from workbench.catalog.spec import Catalog, Value
from workbench.errors import ArgumentError, GraphEditError
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.builder.data_node import (
    DataNode,
    main_output,
    merged_graph,
    plain_value,
    require_sound_node,
    warn_if_unchanged,
)
from workbench.graph.control_flow.block_kinds import (
    IF,
    MOST_ORDERS,
    ONE_OF,
    REPEAT,
    SOME_OF,
    BlockKind,
    weight_args,
)
from workbench.graph.edits.compose import kind_name
from workbench.graph.edits.edit import free_id, new_node
from workbench.graph.execution.dataset_parameters import with_data_sides
from workbench.graph.model import Body, Graph, Node, Port
from workbench.graph.types.devices import port_kind

OPTIONS = Kind("functions of the graph, not in a list: lambda x: x.flip(), lambda x: x", callable)
Apply = Callable[[Graph], Graph | DataNode]
"""A function that receives a graph and returns it with further operators applied."""


@checked(apply=APPLY)
def with_p(graph: Graph, p: float | DataNode, apply: Apply) -> Graph:
    """Apply a function to each sample with a probability.

    ``p`` is a probability from 0 to 1, or a value per sample that is true for samples to change.
    ``apply`` receives the graph and returns it with further operators applied::

        graph.with_p(0.8, lambda x: x.color_twist(saturation=1.5))

    Raises GraphEditError for an invalid ``p``, ArgumentError if ``apply`` is not a function, and
    the errors of the operators.
    """
    return applied_with_p(graph, p, apply)


def applied_with_p(graph: Graph, p: object, apply: Apply, name: str = "") -> Graph:
    """Apply ``with_p``. The ids of new nodes start with ``name``, such as ``flip_chance``."""
    if isinstance(p, DataNode):
        return _block(graph, IF, [apply, None], p, name=name)
    if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
        raise GraphEditError(f"{name or 'with_p'}: p is {p!r}. Use a number from 0 to 1.")
    return _block(graph, IF, [apply, None], {"probability": p}, name=name)


@checked(then=APPLY, otherwise=APPLY)
def if_else(
    graph: Graph, condition: DataNode, then: Apply, otherwise: Apply | None = None
) -> Graph:
    """Apply one function to the samples for which a condition is true, and another to the rest.

    ::

        graph.if_else(graph.labels[0] == 3, lambda x: x.rotate(angle=90))

    Without ``otherwise``, the other samples are unchanged. Raises the errors of the operators.
    """
    if not isinstance(condition, DataNode):
        raise GraphEditError(
            f"The condition is {condition!r}. Use a value per sample, such as "
            "graph.labels[0] == 3, or with_p for a probability."
        )
    return _block(graph, IF, [then, otherwise], condition)


@checked(options=OPTIONS)
def one_of(graph: Graph, *options: Apply, weights: Sequence[float] | None = None) -> Graph:
    """Apply one of several functions to each sample, with weights or equal probabilities.

    ::

        graph.one_of(lambda x: x.gaussian_blur(sigma=2), lambda x: x, weights=(2, 1))

    Raises GraphEditError for fewer than two functions, and for invalid weights: each function needs
    one finite weight of at least 0, and at least one must be above 0.
    """
    if len(options) < 2:
        raise GraphEditError(f"one_of needs two or more options, but received {len(options)}.")
    if isinstance(weights, str) or (weights is not None and not hasattr(weights, "__len__")):
        raise GraphEditError(f"weights is {format_value(weights)}. Use one number per option.")
    if weights is not None and len(weights) != len(options):
        raise GraphEditError(
            f"weights has length {len(weights)}, but one_of has {len(options)} options. Use one "
            "weight per option."
        )
    return _block(graph, ONE_OF, options, {} if weights is None else weight_args(weights))


@checked(count=WHOLE, options=OPTIONS)
def some_of(graph: Graph, count: int, *options: Apply, shuffled: bool = False) -> Graph:
    """Apply ``count`` of several functions to each sample, in the given order or shuffled.

    ::

        graph.some_of(2, lambda x: x.flip(), lambda x: x.gaussian_blur(sigma=2), lambda x: x)

    Raises GraphEditError if ``count`` is less than 1 or more than the number of functions.
    """
    if not options:
        raise GraphEditError("some_of has no options. Pass functions: lambda x: x.flip().")
    if not 1 <= count <= len(options):
        raise GraphEditError(
            f"The count of some_of is {count} for {len(options)} "
            f"option{'s' * (len(options) != 1)}. Use an integer from 1 to {len(options)}, followed "
            "by the options."
        )
    args = {"count": count, "shuffled": shuffled}
    block = Node("", SOME_OF.op, args, bodies={str(i): Body() for i in range(len(options))})
    orders = SOME_OF.order_count(block)
    if orders > MOST_ORDERS:
        raise GraphEditError(
            f"{count} of {len(options)} options have {orders:,} orders; at most {MOST_ORDERS:,} "
            "are supported. Use fewer options."
        )
    return _block(graph, SOME_OF, options, {}, args)


@checked(apply=APPLY)
def repeat(graph: Graph, times: int | DataNode, apply: Apply, *, most: int | None = None) -> Graph:
    """Apply a function repeatedly. If ``times`` is random per sample, ``most`` is its maximum.

    ::

        graph.repeat(3, lambda x: x.gaussian_blur(sigma=1))

    Raises the errors of the operators.
    """
    given: dict[str, Any] = {} if most is None else {"most": most}
    if not isinstance(times, DataNode):
        return _block(graph, REPEAT, [apply], {}, {**given, "times": plain_value(times)})
    return _block(graph, REPEAT, [apply], times, given)


def block_method(kind: BlockKind) -> Callable[..., Graph]:
    """Return a graph method for a kind of block that has no method in this module.

    The method accepts one function per body, and the arguments of the block by name.
    """

    def make(graph: Graph, *options: Apply, **args: Any) -> Graph:
        names = BLOCKS[kind.op].body_names(len(options))
        if len(options) != len(names):
            raise GraphEditError(
                f"{kind.op!r} needs {len(names)} functions ({', '.join(names)}), but received "
                f"{len(options)}."
            )
        given = args.get(kind.control)
        decides = args.pop(kind.control) if isinstance(given, DataNode) else {}
        plain = {name: plain_value(value) for name, value in args.items()}
        return _block(graph, kind, options, decides, plain)

    make.__name__, make.__doc__ = kind.op, BLOCKS[kind.op].summary
    return make


def _block(
    graph: Graph,
    kind: BlockKind,
    options: Sequence[Apply | None],
    decides: DataNode | Mapping[str, Value],
    args: Mapping[str, Any] = MappingProxyType({}),
    name: str = "",
) -> Graph:
    """Add a block on the image path of a graph, with one body per function.

    ``decides`` controls the block. It is a value, or the arguments of a generator to add.
    """
    for apply in options:
        if isinstance(apply, Graph):  # a callable with an image
            raise ArgumentError(
                f"{kind.op!r} received a graph instead of a function. Use {APPLY.words}."
            )
    catalog = load_catalog()
    output, start = main_output(graph, catalog)
    spec = catalog[kind.op]
    taken = kind_name(port_kind(graph, catalog, start.port))
    block = replace(new_node(graph, catalog, kind.op), args=args, inputs={taken: start.port})
    if name:
        block = replace(block, id=free_id(graph, f"{name}_branch"))
    bodies = {}
    for body in spec.body_names(len(options)):
        bodies[body] = Body((), {taken: Port(block.scope(body), taken)}, (taken,))
    block = replace(block, bodies=bodies)
    edited = replace(graph, nodes=(*graph.nodes, block))
    for body, apply in zip(bodies, options, strict=True):
        if apply is not None:
            edited = _applied(edited, block.scope(body), taken, apply, catalog)
    edited = edited.at_scope(graph.scope)
    made = edited.node(block.id)
    port = None
    if isinstance(decides, DataNode):
        edited, port = merged_graph(edited, catalog, decides, kind.control)
        made = edited.node(block.id)
    elif generator := kind.new_generator(edited, catalog, made, decides):
        if name:
            generator = replace(generator, id=free_id(edited, f"{name}_chance"))
        port = Port(generator.id, "output")
        edited = replace(edited, nodes=(*edited.nodes, generator))
    if port is not None:
        made = replace(made, inputs={kind.control: port, **made.inputs})
    others = [each for each in edited.nodes if each.id != made.id]
    given = {**edited.outputs, output: Port(made.id, taken)}
    after = replace(edited, nodes=(*others, made), outputs=given)
    require_sound_node(after, catalog, made.id)
    warn_if_unchanged(made, name)
    return with_data_sides(with_followers(graph, after, catalog), after.datasets or {})


def _applied(graph: Graph, scope: str, input_name: str, apply: Apply, catalog: Catalog) -> Graph:
    """Apply a function inside the body ``scope``, and return the whole graph."""
    inside = graph.whole.at_scope(scope)
    try:
        inspect.signature(apply).bind(inside)
    except (TypeError, ValueError) as error:  # ValueError: a builtin without a signature
        raise GraphEditError(
            f"An option cannot be called with a graph ({error}). Use a function of one argument, "
            "such as lambda x: x.rotate(angle=5)."
        ) from None
    made = apply(inside)
    if isinstance(made, DataNode):
        body, port = merged_graph(inside, catalog, made)
        made = replace(body, outputs={input_name: port})
    if not isinstance(made, Graph) or made.scope != scope:
        gave = "another graph" if isinstance(made, Graph) else format_value(made)
        raise GraphEditError(
            f"An option returned {gave}. Return the graph that it received, with operators "
            "added: lambda x: x.rotate(angle=5)."
        )
    return made.whole
