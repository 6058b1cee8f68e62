"""Define the methods of a graph: operators, edits, and access to nodes by id.

Edits return a new graph. Methods that add blocks are in ``block_methods``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, partial, wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import MethodType
from typing import Any, NoReturn
from warnings import warn

import workbench
from workbench.arguments import PATH, TEXT, WHOLE, checked, format_value, require_kind
from workbench.catalog import load_catalog
from workbench.catalog.familiar_names import nearest_operators
from workbench.catalog.signatures import signature_of
from workbench.catalog.spec import Catalog
from workbench.errors import (
    ArgumentError,
    GraphEditError,
    UnknownNameError,
    UnsupportedUseError,
)
from workbench.files import IMAGE_SUFFIXES, write_text
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.annotations.followers import unmoved_targets
from workbench.graph.builder.block_methods import (
    applied_with_p,
    block_method,
    if_else,
    one_of,
    repeat,
    some_of,
    with_p,
)
from workbench.graph.builder.data_node import (
    DataNode,
    call_operator,
    main_output,
    merged_graph,
    single_output,
)
from workbench.graph.builder.graph_drawing import graph_svg, graph_text
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.checks.check import check_graph
from workbench.graph.checks.check_readers import unpaired_outputs
from workbench.graph.control_flow.block_kinds import KINDS
from workbench.graph.edits.edit import default_id, free_id, set_setting
from workbench.graph.execution.dataset_parameters import with_data_sides
from workbench.graph.model import GRAPH, Graph, Port, Settings, is_name
from workbench.graph.model.operators import OperatorGroup, Operators, operator_function, register
from workbench.graph.model.ports import KIND_WORDS
from workbench.graph.storage.io import dump_graph
from workbench.graph.types.devices import port_kind
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.variants.difference import GraphDifferences, graph_differences
from workbench.names import did_you_mean, shortened


def decode(graph: Graph, *inputs: Any, **arguments: Any) -> Graph:
    """Decode the encoded images with DALI's ``decoders.image`` and its arguments.

    ::

        wb.read("photos").decode(output_type="GRAY")

    The images are uint8 with layout HWC and have individual sizes. Raises the operator's errors.
    """
    return _appended_to_image(graph, "decoders.image", inputs, arguments)


@checked(name=TEXT, about=TEXT)
def named(graph: Graph, name: str, about: str = "") -> Graph:
    """Return a copy of the graph with a new name and description.

    ::

        graph.named("mine", "for photos of leaves")

    Raises ArgumentError if the name or description is not a string.
    """
    return replace(graph, name=name, about=about or graph.about)


@checked()
def with_settings(graph: Graph, **settings: Any) -> Graph:
    """Return a copy of the graph with new settings: ``batch_size``, ``seed``, ``device``, ...

    ``device`` selects where images are decoded: ``cpu`` or ``mixed``::

        graph.with_settings(batch_size=16, device="mixed")

    Raises GraphEditError for an unknown setting, with the nearest name, and ArgumentError for a
    value out of range.
    """
    known = list(vars_of_settings())
    for name in settings:
        if name not in known:
            hint = did_you_mean(name, known, f"Known: {', '.join(known)}.")
            raise UnknownNameError(f"There is no setting {name!r}. {hint}")
    made = set_setting(graph, **{name: _plain_setting(value) for name, value in settings.items()})
    faults = [each for each in check_graph(made.whole) if each.code == "setting"]
    if faults:
        raise ArgumentError(f"with_settings: {faults[0]}")
    return made


vars(with_settings)["__signature__"] = Signature(
    [
        Parameter("graph", Parameter.POSITIONAL_OR_KEYWORD),
        *(
            Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
            for each in fields(Settings)
        ),
    ]
)


def _plain_setting(value: Any) -> Any:
    return int(value) if WHOLE.fits(value) else value


def vars_of_settings() -> tuple[str, ...]:
    """Return the names of the settings of a graph."""
    return tuple(Graph().settings.__dataclass_fields__)


@checked()
def outputs(**values: DataNode | Graph) -> Graph:
    """Return a graph with these named outputs. If a value is a graph, its image output is used.

    ::

        flipped = graph.images.flip()
        two = wb.outputs(view_1=graph.images, view_2=flipped, labels=graph.labels)

    Annotations are output unchanged; a UserWarning reports annotations that match no output image,
    or have a different reader. Raises GraphEditError if no values are passed, if a value is not
    part of a graph, or if a name is not a Python name, and ArgumentError for values without a name.
    """
    catalog = load_catalog()
    if not values:
        raise GraphEditError("outputs received no values. Pass them by name: images=graph.images.")
    graph: Graph | None = None
    given: dict[str, Port] = {}
    for name, value in values.items():
        if not is_name(name):
            raise GraphEditError(f"{name!r} is not a Python name. Use another output name.")
        if isinstance(value, Graph):
            value = main_output(value, catalog)[1]
        if not isinstance(value, DataNode):
            raise GraphEditError(
                f"{name!r} has type {type(value).__name__!r}. Pass a node's output, such as "
                "graph.images."
            )
        if graph is None:
            graph = value.graph
        graph, given[name] = merged_graph(graph, catalog, value)
    assert graph is not None
    used = replace(graph, outputs=given)
    taken = {node.id for node in graph.nodes} & given.keys()
    for node_id in sorted(taken):  # both become variables of the exported code
        raise GraphEditError(f"{node_id!r} is already the name of a node. Use another output name.")
    for name, moved in unmoved_targets(TypedGraph(used, catalog)).items():
        warn(
            f"The output {name!r} of {given[name].node!r} does not follow the images through "
            f"{moved!r}. Call operators on the graph (graph.flip()), so that annotations follow, "
            "use a follower (wb.fn.follow_boxes, follow_points, follow_masks), or output the "
            f"images before {moved!r}.",
            stacklevel=3,
        )
    for fault in unpaired_outputs(TypedGraph(used, catalog)):
        warn(fault.text, stacklevel=3)
    return used


def _appended_to_image(
    graph: Graph, op: str, inputs: Sequence[Any], arguments: dict[str, Any]
) -> Graph:
    catalog = load_catalog()
    name, start = main_output(graph, catalog)
    made = call_operator(op, (start, *inputs), arguments)
    if isinstance(made, tuple):
        given = ", ".join(each.port.output for each in made)
        raise GraphEditError(
            f"{op} has several outputs: {given}. Call it on one: graph.{name}.{op}(...)."
        )
    kind = port_kind(made.graph, catalog, made.port)
    if kind not in ("image", "mask"):
        raise GraphEditError(
            f"{op} outputs {KIND_WORDS[kind]}, not an image. Call it on an output: "
            f"graph.{name}.{op}(...)."
        )
    moved = replace(made.graph, outputs=_replaced_output(graph, name, made))
    return with_data_sides(with_followers(graph, moved, catalog), moved.datasets or {})


def _replaced_output(graph: Graph, name: str, value: DataNode) -> dict[str, Port]:
    given = dict(graph.outputs)
    if given[name].output != "jpegs" or name not in ("jpegs", "encoded"):
        return {**given, name: value.port}
    del given[name]
    return {free_id(value.graph, "images"): value.port, **given}


@checked(path=PATH)
def save(graph: Graph, path: str | Path) -> Path:
    """Write the graph to a JSON file, which ``wb.read_graph`` loads, and return the path.

    An existing file is replaced. The data are not included. Raises SaveError if writing fails, and
    ArgumentError if the path has the suffix of an image, such as ``.png``.

    ::

        again = wb.read_graph(graph.save("mine.json"))
        assert again == graph
    """
    if Path(path).suffix.lower() in IMAGE_SUFFIXES:
        raise ArgumentError(
            f"save: path is {str(path)!r}, but a graph is saved as JSON. Use a name that ends in "
            ".json, or share of a workbench for a picture with the graph."
        )
    return write_text(path, dump_graph(graph.whole))


@checked()
def diff(graph: Graph, other: Graph) -> GraphDifferences:
    """Return the nodes, arguments, edges and settings in which this graph and another one differ.

    The result is empty if the graphs are equal. ``wb.compare`` displays images of both. Raises
    ArgumentError if ``other`` is not a graph.

    ::

        found = graph.diff(graph["rotate"].set(angle=20))
        assert (found[0].node, found[0].what, found[0].after) == ("rotate", "angle", "20")
    """
    require_kind("diff: other", other, GRAPH)
    return graph_differences(graph.whole, other.whole)


_WRITTEN = (with_p, if_else, one_of, some_of, repeat, decode, named, with_settings, save, diff)
METHODS: Mapping[str, Callable[..., Any]] = {
    **{op: block_method(kind) for op, kind in KINDS.items() if is_name(op)},
    **{method.__name__: method for method in _WRITTEN},
}


_ELSEWHERE = {
    "audit": "wb.audit(wb.loader(graph))",
    "bench": "wb.Benchmark(graph, data).run(), or w.bench() of a workbench w",
    "check": "wb.check_graph(graph)",
    "compare": "wb.compare(graph, other)",
    "link": "w.param('rotate.angle') of a workbench w, and ipywidgets.link",
    "loader": "wb.loader(graph, data)",
    "optimise": "wb.optimise(graph, data)",
    "pack": "wb.pack(graph, data, folder)",
    "param": "w.param('rotate.angle') of a workbench w = wb.Workbench(graph)",
    "preview": "wb.Workbench(data, graph)",
    "stages": "w.stages() of a workbench w = wb.Workbench(graph)",
    "tune": "w.tune() of a workbench w = wb.Workbench(graph)",
    "verify": "w.verify() of a workbench w = wb.Workbench(graph)",
    "watch": "wb.watch(loader)",
    "widget": "wb.Workbench(graph)",
    "plot": "graph.batch(0).plot()",
    "run": "graph.batch(0)",
    "to_code": "wb.emit_script(graph)",
    "pipeline": "wb.Workbench(graph).pipeline()",
    "export": "wb.export(graph)",
}
"""Names that users may try as attributes of a graph, with the call to use instead."""


def later_method(name: str, beside: str = "") -> Callable[..., Any]:
    """Return the graph method ``name``, imported from the module that ``GRAPH_METHODS`` lists.

    If ``name`` is not listed there, the module of the method ``beside`` is used.
    """
    module = import_module(f"workbench.{workbench.GRAPH_METHODS[beside or name]}")
    method: Callable[..., Any] = getattr(module, name)
    return method


class _Methods:
    """Looks up operators and methods as attributes of graphs, values and ``workbench.fn``."""

    def attribute(self, owner: Any, name: str) -> Any:
        catalog = load_catalog()
        if isinstance(owner, Graph):
            if name in owner.outputs:
                return DataNode(owner, owner.outputs[name])
            if name in METHODS:
                return MethodType(_method(name), owner)
            if name in workbench.GRAPH_METHODS:
                return MethodType(later_method(name), owner)
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
        near = nearest_operators(name, known, 3)
        hint = f" Did you mean {', '.join(near)}?" if near else " help(wb.fn) lists all operators."
        if isinstance(owner, Graph) and not near:
            hint = (
                f" Its outputs: {', '.join(owner.outputs) or 'none'}. dir(graph) lists all names."
            )
        called = {"benchmark": "bench", "optimize": "optimise"}.get(name, name)
        if isinstance(owner, Graph) and called in _ELSEWHERE:
            hint = f" Use {_ELSEWHERE[called]}."
        if isinstance(owner, Graph) and name in vars_of_settings():
            hint = f" It is a setting: graph.settings.{name}, graph.with_settings({name}=...)."
        what = "graph" if isinstance(owner, Graph) else "fn"
        if isinstance(owner, DataNode):
            what = str(owner.port)
            if name in METHODS or name in workbench.GRAPH_METHODS:
                hint = f" It is a method of graphs: wb.outputs(images=value).{name}(...)."
        raise UnknownNameError(f"{what} has no output, method or operator {name!r}.{hint}")

    def unbound(self, owner: type, name: str) -> Any:
        if owner is Graph and name in METHODS:
            return _method(name)
        if owner is Graph and name in workbench.GRAPH_METHODS:
            return later_method(name)
        stand_in = Graph() if owner is Graph else DataNode(Graph(), Port("", ""))
        return _unbound(self.attribute(stand_in, name))

    def names(self, owner: Any) -> list[str]:
        if isinstance(owner, Fn) and owner._group:
            return dir(self.attribute(Fn(), owner._group))
        names = {op.partition(".")[0] for op in load_catalog()}
        if isinstance(owner, Graph) or owner is Graph:
            names |= {*METHODS, *workbench.GRAPH_METHODS}
            names |= {*owner.outputs} if isinstance(owner, Graph) else set()
        return sorted(names)

    def item(self, graph: Graph, node_id: str) -> NodeHandle:
        if not isinstance(node_id, str):  # a number also if a graph is iterated
            raise UnsupportedUseError(
                f"A graph is not a sequence and has no item {format_value(node_id)}. Use "
                "wb.loader(graph) for batches, graph.batch(0) for one, or a node's name: "
                f"graph[{graph.nodes[0].id if graph.nodes else 'rotate'!r}]."
            )
        if not graph.has(node_id):
            known = [node.id for node in graph.walk()]
            hint = did_you_mean(
                node_id, known, f"The graph has: {shortened(', '.join(known), 300)}."
            )
            raise UnknownNameError(f"There is no node {node_id!r}. {hint}")
        return NodeHandle(graph, node_id)

    def call(self, graph: Graph, *image: object, **options: Any) -> Any:
        return later_method("call", "batch")(graph, *image, **options)

    def shown(self, graph: Graph) -> dict[str, str]:
        return {"image/svg+xml": graph_svg(graph), "text/plain": graph_text(graph)}


def _with_chance(
    owner: Graph | DataNode, op: str, inputs: Sequence[Any], arguments: dict[str, Any]
) -> Any:
    """Apply an operator to each sample with the probability ``p``, using ``with_p``.

    Returns a value if ``owner`` is a value, and a graph if ``owner`` is a graph.
    """
    p, rest = arguments["p"], {name: value for name, value in arguments.items() if name != "p"}
    name = default_id(op)
    if isinstance(owner, Graph):
        return applied_with_p(owner, p, lambda x: _appended_to_image(x, op, inputs, rest), name)

    def apply(inside: Graph) -> DataNode:
        (port,) = inside.outputs.values()
        return single_output(call_operator(op, (DataNode(inside, port), *inputs), rest))

    alone = replace(owner.graph, outputs={"value": owner.port})
    made = applied_with_p(alone, p, apply, name)
    return DataNode(replace(made, outputs=owner.graph.outputs), made.outputs["value"])


def _nested(members: Mapping[str, Callable[[], Any]]) -> dict[str, Callable[[], Any]]:
    """Move members whose names contain a dot into groups, such as ``experimental.readers``."""
    flat = {name: make for name, make in members.items() if "." not in name}
    for stem in {name.partition(".")[0] for name in members if "." in name}:
        start = f"{stem}."
        within = {
            name.removeprefix(start): m for name, m in members.items() if name.startswith(start)
        }
        flat[stem] = partial(OperatorGroup, _nested(within), stem)
    return flat


def _operator(owner: Any, op: str, catalog: Catalog) -> Callable[..., Any]:
    def call(inputs: Sequence[Any], arguments: dict[str, Any]) -> Any:
        of, *others = inputs if isinstance(owner, Fn) and inputs else (owner, *inputs)
        if "p" in arguments and "p" not in catalog[op].args and isinstance(of, Graph | DataNode):
            return _with_chance(of, op, others, arguments)
        if isinstance(owner, Graph):
            return _appended_to_image(owner, op, inputs, arguments)
        if isinstance(owner, DataNode):
            return call_operator(op, (owner, *inputs), arguments)
        return call_operator(op, inputs, arguments)

    made = operator_function(call, catalog[op], bound=not isinstance(owner, Fn))
    vars(made)["owner"] = owner  # for completion
    return made


def _unbound(member: Any) -> Any:
    """Convert an operator or group to functions whose first argument is the graph or value."""
    if isinstance(member, OperatorGroup):
        members = {name: partial(_unbound, getattr(member, name)) for name in dir(member)}
        return OperatorGroup(members, repr(member))
    spec = member.spec

    def call(inputs: Sequence[Any], arguments: dict[str, Any]) -> Any:
        owner, *others = inputs or (None,)
        if not isinstance(owner, Graph | DataNode):
            raise GraphEditError(
                f"{spec.name} is called on {format_value(owner)}. Call it on a graph: "
                f"graph.{spec.name}(...), or pass the graph first."
            )
        return _operator(owner, spec.name, load_catalog())(*others, **arguments)

    return operator_function(call, spec)


@cache
def _method(name: str) -> Callable[..., Any]:
    """Return a graph method with the signature that ``help`` and completion display."""
    method = METHODS[name]
    if name != "decode":
        return method

    @wraps(method)
    def decode(graph: Graph, *inputs: Any, **arguments: Any) -> Graph:
        made: Graph = method(graph, *inputs, **arguments)
        return made

    spec = load_catalog()["decoders.image"]
    known = signature_of(spec).parameters.values()
    by_name = [each for each in known if each.kind is Parameter.KEYWORD_ONLY]
    graph = next(iter(signature(method).parameters.values()))
    vars(decode).update(spec=spec, __signature__=Signature([graph, *by_name]))
    return decode


class Fn(Operators[DataNode]):
    """DALI's operators as functions. Use them for operators without inputs or with several inputs.

    The generators in ``wb.random`` return one value per sample. Raises AttributeError for an
    unknown operator, with the nearest name, GraphEditError for an unknown argument, and
    GraphFaultsError for an unsupported value::

        both = wb.fn.cat(graph.images, graph.images.flip(), axis=1)
        assert not wb.check_graph(wb.outputs(images=both, labels=graph.labels))
    """

    def __init__(self, group: str = "", doc: str = "") -> None:
        self._group = group
        self.__doc__ = doc or self.__doc__

    def __getitem__(self, _: object) -> NoReturn:
        example = "random.uniform(range=(0, 1))" if self._group else "fn.rotate(graph, angle=5)"
        raise UnsupportedUseError(
            f"wb.{self._group or 'fn'} has operators as attributes. Use one: wb.{example}."
        )

    def __repr__(self) -> str:
        names = (name for name in dir(self) if not name.startswith("_"))
        return f"<operators of DALI: {', '.join(names)}>"


register(_Methods())
