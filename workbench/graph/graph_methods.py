"""What a graph can do in code: operators, regions, nodes by id. Each method gives a new graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from types import MethodType
from typing import Any
from warnings import warn

from workbench.arguments import APPLY, TEXT, WHOLE, checked, shown
from workbench.catalog import load_catalog
from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError, GraphFaultsError
from workbench.graph.chance import CONDITION, DRAW
from workbench.graph.check import check_graph
from workbench.graph.compose import kind_name
from workbench.graph.data_node import (
    DataNode,
    call_operator,
    flow,
    joined,
    plain_value,
    require_sound_node,
)
from workbench.graph.devices import port_kind
from workbench.graph.edit import free_id, new_node, set_setting
from workbench.graph.follower_edits import with_followers
from workbench.graph.followers import unmoved_targets
from workbench.graph.graph_drawing import graph_svg, graph_text
from workbench.graph.model import Body, Graph, Node, Port, is_name
from workbench.graph.node_handle import NodeHandle
from workbench.graph.one_of import CHOICE, shares
from workbench.graph.one_of import DRAW as CHOICE_DRAW
from workbench.graph.operators import Operator, OperatorGroup, Operators, register
from workbench.graph.some_of import MOST_ORDERS, order_count

Apply = Callable[[Graph], Graph | DataNode]
"""What a region does to a sample: takes a graph and gives the one that goes on from it."""


@checked(apply=APPLY)
def with_p(graph: Graph, p: float | DataNode, apply: Apply) -> Graph:
    """Apply something to each sample with a probability.

    ``p`` is from 0 to 1, or a value of each sample that is true for those it is applied to.
    ``apply`` takes a graph, as at this place, and gives the graph that goes on from it::

        graph.with_p(0.8, lambda x: x.color_twist(saturation=1.5))

    Raises GraphEditError for another ``p``, ArgumentError for what is no function, and as the
    operators do.
    """
    if isinstance(p, DataNode):
        return if_else(graph, p, apply)
    if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
        raise GraphEditError(f"p is {p!r}. Give a number from 0 to 1.")

    def decide(inside: Graph, catalog: Catalog) -> Node:
        drawn = new_node(inside, catalog, DRAW, "chance")
        return replace(drawn, args={**drawn.args, "probability": p, "dtype": "BOOL"})

    return _region(graph, "if", [apply, None], CONDITION, decide)


@checked(then=APPLY, otherwise=APPLY)
def if_else(
    graph: Graph, condition: DataNode, then: Apply, otherwise: Apply | None = None
) -> Graph:
    """Apply one thing to the samples of which a value is true, and another to the rest.

    ::

        graph.if_else(graph.labels[0] == 3, lambda x: x.rotate(angle=90))

    Without ``otherwise`` the rest passes as it is. Raises as the operators do.
    """
    if not isinstance(condition, DataNode):
        raise GraphEditError(
            f"The condition is {condition!r}. Give a value of each sample, such as "
            "graph.labels[0] == 3, or with_p for a probability."
        )
    return _region(graph, "if", [then, otherwise], CONDITION, condition)


@checked(options=APPLY)
def one_of(graph: Graph, *options: Apply, weights: Sequence[float] | None = None) -> Graph:
    """Apply one of several things to each sample, by weights or all equally often.

    ::

        graph.one_of(lambda x: x.gaussian_blur(sigma=2), lambda x: x, weights=(2, 1))

    Raises GraphEditError for fewer than two options, and weights that are not one for each, finite
    and 0 or more, not all of them 0.
    """
    if len(options) < 2:
        raise GraphEditError(f"one_of has {len(options)} options. Give two or more.")
    if isinstance(weights, str) or (weights is not None and not hasattr(weights, "__len__")):
        raise GraphEditError(f"weights is {shown(weights)}. Give a number for each option.")
    if weights is not None and len(weights) != len(options):
        raise GraphEditError(
            f"one_of has {len(options)} options and {len(weights)} weights. Give one for each."
        )
    given = shares(weights) if weights is not None else None

    def decide(inside: Graph, catalog: Catalog) -> Node:
        drawn = new_node(inside, catalog, CHOICE_DRAW, CHOICE)
        args = {name: value for name, value in drawn.args.items() if name != "p"}
        args["population"] = len(options)
        if given is not None and len(set(given)) > 1:
            args["p"] = given
        return replace(drawn, args=args)

    return _region(graph, "one_of", options, CHOICE, decide)


@checked(options=APPLY)
def some_of(graph: Graph, count: int, *options: Apply, shuffled: bool = False) -> Graph:
    """Apply so many of several things to each sample, in order or in an order that is drawn.

    ::

        graph.some_of(2, lambda x: x.flip(), lambda x: x.gaussian_blur(sigma=2), lambda x: x)

    Raises GraphEditError for a count that is not from 1 to the number of options.
    """
    if not options:
        raise GraphEditError("some_of has no options. Give functions: lambda x: x.flip().")
    if type(count) is not int or not 1 <= count <= len(options):
        raise GraphEditError(
            f"some_of is to apply {repr(count) if type(count) is int else shown(count)} of "
            f"{len(options)} options. Give a whole number from 1 to {len(options)}, then the "
            "options."
        )

    def decide(inside: Graph, catalog: Catalog) -> Node:
        drawn = new_node(inside, catalog, CHOICE_DRAW, CHOICE)
        region = Node("", "some_of", args, bodies={str(i): Body() for i in range(len(options))})
        orders = order_count(region)
        if orders > MOST_ORDERS:
            raise GraphEditError(
                f"There are {orders:,} orders of {count} of {len(options)}, and {MOST_ORDERS:,} at "
                "most. Give fewer options."
            )
        rest = {name: value for name, value in drawn.args.items() if name != "p"}
        return replace(drawn, args={**rest, "population": orders})

    args = {"count": count, "shuffled": shuffled}
    return _region(graph, "some_of", options, CHOICE, decide, args)


@checked(apply=APPLY)
def repeat(graph: Graph, times: int | DataNode, apply: Apply, *, most: int | None = None) -> Graph:
    """Apply something again and again; ``times`` may be drawn for each sample, up to ``most``.

    ::

        graph.repeat(3, lambda x: x.gaussian_blur(sigma=1))

    Raises as the operators do.
    """
    given: dict[str, Any] = {} if most is None else {"most": most}
    if not isinstance(times, DataNode):
        return _region(graph, "repeat", [apply], "", None, {**given, "times": plain_value(times)})
    return _region(graph, "repeat", [apply], "times", times, given)


def decode(graph: Graph, **arguments: Any) -> Graph:
    """Decode images as they were encoded: DALI's ``decoders.image``, with its arguments.

    ::

        wb.read("photos").decode(output_type="GRAY")

    The graph then gives uint8 of the layout HWC, each image with a size of its own. Raises as the
    operators do.
    """
    return _behind(graph, "decoders.image", (), arguments)


@checked(name=TEXT, about=TEXT)
def named(graph: Graph, name: str, about: str = "") -> Graph:
    """The graph under another name, with what it is for.

    ::

        graph.named("mine", "for photos of leaves")

    Raises ArgumentError for what is no text.
    """
    return replace(graph, name=name, about=about or graph.about)


def with_settings(graph: Graph, **settings: Any) -> Graph:
    """The graph with another ``batch_size``, ``num_threads``, ``seed``, ``device`` and so on.

    ``device`` says where images are decoded: ``cpu`` or ``mixed``::

        graph.with_settings(batch_size=16, device="mixed")

    Raises GraphEditError for what is no setting, with the nearest name, and GraphFaultsError for a
    value out of its range.
    """
    known = list(vars_of_settings())
    for name in settings:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}."
            raise GraphEditError(f"There is no setting {name!r}. {hint}")
    made = set_setting(graph, **{name: _plain_setting(value) for name, value in settings.items()})
    faults = [each for each in check_graph(made.whole) if each.code == "setting"]
    if faults:
        raise GraphFaultsError(faults)
    return made


def _plain_setting(value: Any) -> Any:
    """NumPy's whole numbers as Python's: a file holds no others."""
    return int(value) if WHOLE.fits(value) else value


def vars_of_settings() -> tuple[str, ...]:
    """Names of the settings of a graph."""
    return tuple(Graph().settings.__dataclass_fields__)


@checked()
def outputs(**values: DataNode | Graph) -> Graph:
    """A graph that gives out these values under these names; of a graph the image.

    ::

        flipped = graph.images.flip()
        two = wb.outputs(view_1=graph.images, view_2=flipped, labels=graph.labels)

    Targets are given out as they are: that they do not lie on any image that is given out is a
    UserWarning. Raises GraphEditError for what is no value of a graph, for names that Python does
    not take, and without any.
    """
    catalog = load_catalog()
    if not values:
        raise GraphEditError("outputs is given nothing. Give values by name: images=graph.images.")
    graph: Graph | None = None
    given: dict[str, Port] = {}
    for name, value in values.items():
        if not is_name(name):
            raise GraphEditError(f"{name!r} is not a Python name. Name the output otherwise.")
        if isinstance(value, Graph):
            value = flow(value, catalog)[1]
        if not isinstance(value, DataNode):
            raise GraphEditError(
                f"{name} is {type(value).__name__}. Give what a node gives, such as graph.images."
            )
        if graph is None:
            graph = value.graph
        graph, given[name] = joined(graph, catalog, value)
    assert graph is not None
    used = replace(graph, outputs=given)
    taken = {node.id for node in graph.nodes} & given.keys()
    for node_id in sorted(taken):  # both become variables of the exported code
        raise GraphEditError(f"{node_id} is a node of the graph. Give that output another name.")
    for name, moved in unmoved_targets(used, catalog).items():
        warn(
            f"{name} is given out as {given[name].node} gives it, and does not lie on the images "
            f"behind {moved}. Call operators on the graph (graph.flip()), and targets follow; or "
            f"give {name} through a follower (wb.fn.follow_boxes, follow_points, follow_masks), or "
            f"an image before {moved}.",
            stacklevel=3,
        )
    return used


def _behind(graph: Graph, op: str, inputs: Sequence[Any], arguments: dict[str, Any]) -> Graph:
    """The graph with one more operator along its image."""
    catalog = load_catalog()
    name, start = flow(graph, catalog)
    made = call_operator(op, (start, *inputs), arguments)
    if isinstance(made, tuple):
        given = ", ".join(each.port.output for each in made)
        raise GraphEditError(
            f"{op} gives several values: {given}. Call it on one: graph.{name}.{op}(...)."
        )
    kind = port_kind(made.graph, catalog, made.port)
    if kind not in ("image", "mask"):
        raise GraphEditError(
            f"{op} gives {kind}, no image. Call it on a value: graph.{name}.{op}(...)."
        )
    moved = replace(made.graph, outputs=_led_on(graph, name, made))
    return with_followers(graph, moved, catalog)


def _led_on(graph: Graph, name: str, made: DataNode) -> dict[str, Port]:
    """The outputs of the graph, the one of that name from what was made."""
    given = dict(graph.outputs)
    if given[name].output != "jpegs" or name not in ("jpegs", "encoded"):
        return {**given, name: made.port}
    del given[name]
    return {free_id(made.graph, "images"): made.port, **given}


def _region(
    graph: Graph,
    op: str,
    options: Sequence[Apply | None],
    control: str,
    decided: Callable[[Graph, Catalog], Node] | DataNode | None,
    args: dict[str, Any] | None = None,
) -> Graph:
    """The graph with a region along its image, a body for each option.

    ``decided`` feeds ``control``: a value, or what makes the draw once the bodies are there.
    """
    catalog = load_catalog()
    name, start = flow(graph, catalog)
    spec = catalog[op]
    taken = kind_name(port_kind(graph, catalog, start.port))
    region = replace(new_node(graph, catalog, op), args=args or {}, inputs={taken: start.port})
    bodies = {}
    for body in spec.body_names(len(options)):
        bodies[body] = Body((), {taken: Port(region.scope(body), taken)}, (taken,))
    region = replace(region, bodies=bodies)
    edited = replace(graph, nodes=(*graph.nodes, region))
    for body, apply in zip(bodies, options, strict=True):
        if apply is not None:
            edited = _applied(edited, region.scope(body), taken, apply, catalog)
    edited = edited.at_scope(graph.scope)
    if isinstance(decided, DataNode):
        edited, port = joined(edited, catalog, decided, control)
    elif decided is not None:
        draw = decided(edited, catalog)
        port = Port(draw.id, "output")
        edited = replace(edited, nodes=(*edited.nodes, draw))
    made = edited.node(region.id)
    if decided is not None:
        made = replace(made, inputs={control: port, **made.inputs})
    others = [each for each in edited.nodes if each.id != made.id]
    given = {**edited.outputs, name: Port(made.id, taken)}
    after = replace(edited, nodes=(*others, made), outputs=given)
    require_sound_node(after, catalog, made.id)
    return with_followers(graph, after, catalog)


def _applied(graph: Graph, scope: str, taken: str, apply: Apply, catalog: Catalog) -> Graph:
    """The whole graph with what an option makes in the body of that scope."""
    inside = graph.whole.at_scope(scope)
    try:
        inspect.signature(apply).bind(inside)
    except TypeError as error:
        raise GraphEditError(
            f"An option cannot be called with a graph: {error}. Give lambda x: x.rotate(angle=5)."
        ) from None
    made = apply(inside)
    if isinstance(made, DataNode):
        body, port = joined(inside, catalog, made)
        made = replace(body, outputs={taken: port})
    if not isinstance(made, Graph) or made.scope != scope:
        gave = "another graph" if isinstance(made, Graph) else shown(made)
        raise GraphEditError(
            f"An option gave {gave}. Give what it makes of the graph that it is called with: "
            "lambda x: x.rotate(angle=5)."
        )
    return made.whole


METHODS: dict[str, Callable[..., Any]] = {
    method.__name__: method
    for method in (
        with_p, if_else, one_of, some_of, repeat, decode, named, with_settings,
    )
}  # fmt: skip


class _Methods:
    """Finds operators and methods for graphs, their values and ``workbench.fn``."""

    def attribute(self, owner: Any, name: str) -> Any:
        catalog = load_catalog()
        if isinstance(owner, Graph):
            if name in owner.outputs:
                return DataNode(owner, owner.outputs[name])
            if name in METHODS:
                return MethodType(METHODS[name], owner)
        if isinstance(owner, Fn) and owner._group:
            return getattr(self.attribute(Fn(), owner._group), name)
        if name in catalog:
            return _operator(owner, name, catalog)
        stem = f"{name}."
        members = {
            op.removeprefix(stem): partial(_operator, owner, op, catalog)
            for op in catalog
            if op.startswith(stem)
        }
        if members:
            return OperatorGroup(_nested(members), name)
        known = self.names(owner)
        near = get_close_matches(name, known, n=3)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        what = "graph" if isinstance(owner, Graph) else "fn"
        if isinstance(owner, DataNode):
            what = str(owner.port)
        raise AttributeError(f"{what} has no output, method or operator {name!r}.{hint}")

    def names(self, owner: Any) -> list[str]:
        if isinstance(owner, Fn) and owner._group:
            return dir(self.attribute(Fn(), owner._group))
        names = {op.partition(".")[0] for op in load_catalog()}
        if isinstance(owner, Graph):
            names |= {*owner.outputs, *METHODS}
        return sorted(names)

    def item(self, graph: Graph, node_id: str) -> NodeHandle:
        graph.node(node_id)
        return NodeHandle(graph, node_id)

    def shown(self, graph: Graph) -> dict[str, str]:
        return {"image/svg+xml": graph_svg(graph), "text/plain": graph_text(graph)}


def _nested(members: Mapping[str, Callable[[], Any]]) -> dict[str, Callable[[], Any]]:
    """Members with groups for those whose names have a point in them: ``experimental.readers``."""
    flat = {name: make for name, make in members.items() if "." not in name}
    for stem in {name.partition(".")[0] for name in members if "." in name}:
        start = f"{stem}."
        within = {
            name.removeprefix(start): m for name, m in members.items() if name.startswith(start)
        }
        flat[stem] = partial(OperatorGroup, _nested(within), stem)
    return flat


def _operator(owner: Any, op: str, catalog: Catalog) -> Operator:
    spec = catalog[op]

    def call(inputs: Sequence[Any], arguments: dict[str, Any]) -> Any:
        if isinstance(owner, Graph):
            return _behind(owner, op, inputs, arguments)
        if isinstance(owner, DataNode):
            return call_operator(op, (owner, *inputs), arguments)
        return call_operator(op, inputs, arguments)

    return Operator(call, spec)


class Fn(Operators[DataNode]):
    """Every operator of DALI as a function, for what begins with nothing or takes several values.

    ``wb.random`` has those whose names begin so, the draws: a value for each sample. Raises
    AttributeError for what is no operator, with the nearest name, GraphEditError for an argument
    that it has not, and GraphFaultsError for a value that it cannot take::

        both = wb.fn.cat(graph.images, graph.images.flip(), axis=1)
        assert not wb.check_graph(wb.outputs(images=both, labels=graph.labels))
    """

    def __init__(self, group: str = "", doc: str = "") -> None:
        self._group = group
        self.__doc__ = doc or self.__doc__

    def __repr__(self) -> str:
        names = (name for name in dir(self) if not name.startswith("_"))
        return f"<operators of DALI: {', '.join(names)}>"


register(_Methods())
