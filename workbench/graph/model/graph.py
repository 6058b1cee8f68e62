"""Define the graph that a user composes: frozen nodes, connected by named ports.

A graph is immutable. Edits (``graph.edits``) return a new graph that shares the unchanged parts.

    Graph     sources and other nodes, named outputs, and settings
    Source    a node that reads data: the kind of data, and the name of the data parameter
    Node      one call of one operator; a block if it has bodies
    Body      the nodes inside a block, its inputs and outputs

Ids are unique in the whole graph, at any depth. A *scope* names a body: ``if.then`` is the body
``then`` of the block ``if``, and the empty scope is the graph itself. Nodes of a body can only use
each other and the inputs of the body, such as ``Port("if.then", "images")``.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Collection, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self, TypeVar

from workbench.arguments import TEXT, Kind, checked_init, format_value, require_kind
from workbench.catalog.spec import Device, Value
from workbench.errors import (
    ArgumentError,
    GraphEditError,
    UnknownNameError,
    UnsupportedUseError,
)
from workbench.graph.model.bounds import DecodeDevice, Executor, setting_fault
from workbench.graph.model.frozen_dict import EDIT, FrozenDict, frozen
from workbench.graph.model.operators import GraphMethods
from workbench.names import did_you_mean
from workbench.sources import PARAMETER, Datasets, is_reader, kind_of_reader, load_source


def is_name(text: str) -> bool:
    """Return whether a string is a valid Python name in its normalised form.

    Python normalises some letters (NFKC, PEP 3131), so two ids could become the same variable.
    """
    folded = unicodedata.normalize("NFKC", text)
    return text.isidentifier() and folded == text and not keyword.iskeyword(text)


def is_text(text: str) -> bool:
    """Return whether a string can be encoded as UTF-8. A string with lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


T = TypeVar("T")


LONGEST_TITLE = 60
TITLE_WORDS = f"one line of at most {LONGEST_TITLE} printable characters"


def is_title(text: str) -> bool:
    """Return whether a string is a valid title of a body: one line that can become a comment."""
    return len(text) <= LONGEST_TITLE and text.isprintable() and text == text.strip()


def fixed(kind: type[T]) -> type[T]:
    """Class decorator for frozen dataclasses whose error on setting a field suggests a fix."""

    def refuse(self: T, name: str, value: object = None) -> NoReturn:
        settings = [each.name for each in fields(Settings)]
        if kind is Settings and name not in settings:
            raise _unknown_setting(name)
        use = f"graph.with_settings({name}=...)" if name in settings else ""
        use = use or ("graph.named(...)" if name in ("name", "about") else EDIT)
        raise UnsupportedUseError(
            f"{kind.__name__}.{name} cannot be set, because a graph is immutable. Create "
            f"another one: {use}."
        )

    kind.__setattr__ = kind.__delattr__ = refuse  # type: ignore[method-assign,assignment]
    return kind


def _unknown_setting(name: str) -> UnknownNameError:
    settings = [each.name for each in fields(Settings)]
    hint = did_you_mean(name, settings, f"Use one of: {', '.join(settings)}.")
    return UnknownNameError(f"There is no setting {name!r}. {hint}")


class Port(NamedTuple):
    """One output of one node, or an input of a body. ``str()`` returns ``node.output``.

    ``node`` is a node's id, or a scope such as ``if.then``.

    ::

        assert graph.outputs["images"] == wb.Port("rotate", "output")
    """

    node: str
    output: str

    def __str__(self) -> str:
        return f"{self.node}.{self.output}"


class Edge(NamedTuple):
    """A connection from the port ``source`` to an input port or argument of the node ``target``.

    ::

        assert wb.Edge(wb.Port("resize", "output"), "rotate", "data") in graph.edges
    """

    source: Port
    target: str
    input: str


@dataclass(frozen=True, slots=True)
class Body:
    """Nodes inside a block.

    Parameters
    ----------
    nodes:
        The nodes, in any order. Blocks among them have bodies of their own.
    outputs:
        Sources of the outputs by name: ports of the body's nodes, or its own inputs.
    inputs:
        Names of the block's inputs that the body uses.
    title:
        Display name, which need not be an identifier. If it is empty, the body's name is displayed.
    """

    nodes: tuple[Node, ...] = ()
    outputs: Mapping[str, Port] = field(default_factory=FrozenDict)
    inputs: tuple[str, ...] = ()
    title: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", frozen(self.outputs))

    @property
    def used_ports(self) -> KeysView[Port]:
        """The ports that the body's nodes and outputs use, without duplicates."""
        inputs = (port for node in self.nodes for port in node.inputs.values())
        return dict.fromkeys((*inputs, *self.outputs.values())).keys()

    def rewire(self, ports: Mapping[Port, Port]) -> Body:
        """Replace ports in the body's nodes and outputs; ``ports`` maps old to new ports."""
        nodes = tuple(node.rewire(ports) for node in self.nodes)
        return replace(self, nodes=nodes, outputs=_rewired(self.outputs, ports))

    def renamed(self, old: str, new: str, names: Mapping[str, str] | None = None) -> Body:
        """Replace a node id, or this body's own scope, in the body's ports.

        ``names`` maps old to new names: outputs of the node or, for the scope, inputs of the body.
        """
        names = names or {}
        ports = {
            port: Port(new, names.get(port.output, port.output))
            for port in self.used_ports
            if port.node == old
        }
        inputs = tuple(dict.fromkeys(names.get(name, name) for name in self.inputs))
        return replace(self.rewire(ports), inputs=inputs)


@fixed
@dataclass(frozen=True, slots=True)
class Node:
    """One call of one operator, or a block.

    Parameters
    ----------
    id:
        Unique in the graph, and a Python identifier, because it may become a variable in the code.
    op:
        DALI's name, for example ``random_resized_crop``; for a block its kind, for example ``if``.
    args:
        Fixed values by argument name. An argument that is neither here nor in ``inputs`` has
        DALI's default.
    inputs:
        Source ports of positional inputs and of linked arguments, by name.
    device:
        Device on which the node runs. If it is None, the node runs on the device of its inputs,
        and a decoder on the device in the graph's settings.
    seed:
        Number that is added to the graph's seed, for random operators. It never changes, so that
        adding or removing a different node does not affect this node's random values.
    bodies:
        Bodies of a block by name. All bodies have the outputs of the block.
    muted:
        Whether the node is excluded from runs, as if it were removed (``graph.execution.active``).

    ::

        node = wb.Node("turned", "rotate", {"angle": 5}, {"data": wb.Port("resize", "output")})
        assert node.args["angle"] == graph.node("rotate").args["angle"]
    """

    id: str
    op: str
    args: Mapping[str, Value] = field(default_factory=FrozenDict)
    inputs: Mapping[str, Port] = field(default_factory=FrozenDict)
    device: Device | None = None
    seed: int | None = None
    bodies: Mapping[str, Body] = field(default_factory=FrozenDict)
    muted: bool = False

    def __post_init__(self) -> None:
        for name in ("args", "inputs", "bodies"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def with_args(self, args: Mapping[str, Value]) -> Self:
        """Return a copy of the node with these argument values set."""
        return replace(self, args={**self.args, **args})

    def fed(self, ports: Mapping[str, Port]) -> Self:
        """Return a copy of the node with inputs connected to ``ports``."""
        return replace(self, inputs={**self.inputs, **ports})

    def without(self, names: Collection[str]) -> Self:
        """Return a copy of the node without values or links for the given arguments and inputs."""
        args = {name: value for name, value in self.args.items() if name not in names}
        inputs = {name: port for name, port in self.inputs.items() if name not in names}
        return replace(self, args=args, inputs=inputs)

    def rewire(self, ports: Mapping[Port, Port]) -> Node:
        """Replace ports in the node's inputs; ``ports`` maps old to new ports."""
        if ports.keys().isdisjoint(self.inputs.values()):
            return self
        return replace(self, inputs=_rewired(self.inputs, ports))

    def scope(self, body: str) -> str:
        """Return the scope (id) of one of the block's bodies: ``id.body``."""
        return f"{self.id}.{body}"


@dataclass(frozen=True, slots=True)
class Source(Node):
    """A node that reads data.

    Parameters
    ----------
    kind:
        Name of the module in ``workbench.sources`` for this kind of data. It is empty for a DALI
        reader whose arguments specify the data.
    dataset:
        The data parameter of the exported program. Sources with equal names read the same data.
    """

    kind: str = ""
    dataset: str = PARAMETER

    @property
    def finds_data(self) -> bool:
        """Whether the exported program locates the data itself; False if arguments list files."""
        located_by = load_source(self.kind).located_by if self.kind else frozenset()
        return bool(self.kind) and not located_by & (self.args.keys() | self.inputs.keys())

    @property
    def decodes(self) -> bool:
        """Whether the source outputs pixels. It then uses the device in the settings."""
        return self.finds_data and load_source(self.kind).pixels != ""


@fixed
@dataclass(frozen=True, slots=True)
class Settings:
    """Pipeline settings. ``Graph.with_settings`` returns a graph with changed settings.

    ::

        assert wb.Settings().batch_size == 64
        assert graph.settings.device == "cpu"
    """

    batch_size: int = 64
    num_threads: int = 4
    seed: int = 42
    device: DecodeDevice = "cpu"
    """The device that decodes images. Operators after a mixed decoder run on the GPU."""
    prefetch_queue_depth: int = 2
    pipelines: int = 1
    """Number of parallel pipelines in one process, each on its own shard (``graph.pipelines``).
    ``num_threads`` and ``prefetch_queue_depth`` apply to each pipeline."""
    executor: Executor = "dynamic"
    """DALI's executor: ``static`` means ``exec_dynamic=False``, and ``separate`` also has two
    queues, of depth ``prefetch_queue_depth`` on the device and of twice that depth on the host."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _unknown_setting(name)

    def __post_init__(self) -> None:
        for each in fields(self):
            if found := setting_fault(each.name, getattr(self, each.name)):
                raise ArgumentError(f"Settings: {found[0]}. {found[1]}")


def changed_settings(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return changed settings without checking them; ``check_graph`` reports invalid values."""
    made = object.__new__(Settings)
    kept = {each.name: getattr(settings, each.name) for each in fields(settings)}
    for name, value in {**kept, **values}.items():
        object.__setattr__(made, name, value)
    return made


@fixed
@dataclass(frozen=True, repr=False)
class Graph(GraphMethods):
    """Nodes, named outputs, and settings.

    Sources come first; a node with a DALI reader is converted to a ``Source``.

    ``enclosing`` is set for a body extracted by ``at_scope``: the whole graph, and the body's
    scope. ``datasets`` is the data passed to ``workbench.read``, and ``origins`` maps copies to
    their original nodes (``graph.builder.data_node``). These three are neither stored nor compared.

    DALI's operators are methods. Each method applies an operator to the image and returns a new
    graph. Outputs are attributes, and nodes are items. Raises AttributeError for an unknown
    attribute, GraphEditError for an unknown argument or node, with the nearest name, and
    GraphFaultsError for an unsupported value::

        turned = graph.rotate(angle=wb.random.uniform(range=(-10, 10)))
        dark = wb.outputs(images=turned.images * 0.5, labels=turned.labels)
        assert turned["rotate_2"].angle.range == (-10, 10)
    """

    name: str = "untitled"
    about: str = ""
    nodes: tuple[Node, ...] = ()
    outputs: Mapping[str, Port] = field(default_factory=FrozenDict)
    settings: Settings = field(default_factory=Settings)
    enclosing: tuple[Graph, str] | None = field(default=None, repr=False, compare=False)
    datasets: Datasets | None = field(default=None, repr=False, compare=False)
    origins: Mapping[str, Node] = field(default_factory=FrozenDict, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", frozen(self.outputs))
        if not isinstance(self.name, str):
            raise ArgumentError(
                f"Graph: name is {format_value(self.name)}. Use a string. {_CREATE}"
            )
        require_kind("Graph: about", self.about, TEXT)
        if not isinstance(self.settings, Settings):
            raise ArgumentError(
                f"Graph: settings is {format_value(self.settings)}. Use wb.Settings()."
            )
        if odd := [each for each in self.outputs.values() if not isinstance(each, Port)]:
            raise ArgumentError(f"Graph: an output is {format_value(odd[0])}. Use a wb.Port.")
        nodes = self.nodes
        if not isinstance(nodes, tuple | list) or not all(isinstance(n, Node) for n in nodes):
            raise ArgumentError(f"Graph: nodes is {format_value(nodes)}. Use a tuple of Nodes.")
        if any(map(_reads, nodes)):
            nodes = tuple(map(_as_source, nodes))
        nodes = tuple(sorted(nodes, key=lambda node: not isinstance(node, Source)))
        object.__setattr__(self, "nodes", nodes)

    @cached_property
    def _places(self) -> Mapping[str, tuple[Node, str]]:
        places: dict[str, tuple[Node, str]] = {}
        for scope, body in self.bodies():
            for node in body.nodes:
                places.setdefault(node.id, (node, scope))
        return places

    @property
    def sources(self) -> tuple[Source, ...]:
        """The nodes that read data.

        ::

            assert [source.op for source in graph.sources] == ["readers.file"]
        """
        return tuple(node for node in self.nodes if isinstance(node, Source))

    @property
    def body(self) -> Body:
        return Body(self.nodes, self.outputs)

    def bodies(self) -> Iterator[tuple[str, Body]]:
        """Yield every body with its scope, such as ``if.then``, after the graph itself ("")."""
        waiting = [("", self.body)]
        while waiting:
            scope, body = waiting.pop(0)
            yield scope, body
            waiting += [
                (node.scope(name), inner)
                for node in body.nodes
                for name, inner in node.bodies.items()
            ]

    def walk(self) -> Iterator[Node]:
        """Iterate over all nodes, including nodes inside blocks.

        ::

            assert "rotate" in [node.op for node in graph.walk()]
        """
        for _, body in self.bodies():
            yield from body.nodes

    def node(self, node_id: str) -> Node:
        """Return the node with the given id, at any depth. Raises GraphEditError if there is none.

        ::

            assert graph.node("rotate").args["angle"] == 5
        """
        place = self._places.get(node_id)
        if place is not None:
            return place[0]
        ids = list(self._places)
        known = ", ".join(ids[:20]) + (", ..." if len(ids) > 20 else "") or "none"
        raise GraphEditError(f"There is no node {node_id!r}. The graph has: {known}.")

    def has(self, node_id: str) -> bool:
        """Return whether a node with this id exists, at any depth.

        ::

            assert graph.has("rotate")
        """
        return node_id in self._places

    def owns(self, port: Port) -> bool:
        """Return whether a port belongs to a node of this body, or is an input of this body."""
        if self.enclosing is not None:
            outer, scope = self.enclosing
            if port.node == scope:
                return port.output in outer.body_at(scope).inputs
        return port.node in self._places and not self._places[port.node][1]

    def feeding(self, port: Port) -> Port | None:
        """Return the outer port that is connected to the body's input ``port``, or None."""
        block = block_of(port.node)
        return self.node(block).inputs.get(port.output) if self.has(block) else None

    @property
    def scope(self) -> str:
        """Scope of this body, such as ``if.then``, in the graph that contains it, or ""."""
        return self.enclosing[1] if self.enclosing is not None else ""

    def scope_of(self, node_id: str) -> str:
        """Return the scope of the body that contains a node: ``if.then``, or "" at top level."""
        self.node(node_id)
        return self._places[node_id][1]

    def outermost(self, node_id: str) -> str:
        """Return the id of the top-level node that is or contains the given node."""
        while (scope := self.scope_of(node_id)) != "":
            node_id = block_of(scope)
        return node_id

    @property
    def edges(self) -> Iterator[Edge]:
        """All edges between top-level nodes, in the order of their target nodes."""
        return edges_of(self.nodes)

    def consumers(self, node_id: str) -> list[Edge]:
        """Return the edges from a node's outputs."""
        return [edge for edge in self.edges if edge.source.node == node_id]

    def replace_node(self, node: Node) -> Graph:
        """Return the graph in which ``node`` replaces the node with the same id, at any depth."""
        scope = self.scope_of(node.id)
        nodes = _with_node(self.nodes if not scope else self.body_at(scope).nodes, node)
        if not scope:
            return replace(self, nodes=nodes)
        return self.replace_body(scope, replace(self.body_at(scope), nodes=nodes))

    def substitute(self, node_id: str, *nodes: Node) -> Graph:
        """Return the graph with a top-level node replaced by ``nodes``."""
        at = self.nodes.index(self.node(node_id))
        return replace(self, nodes=(*self.nodes[:at], *nodes, *self.nodes[at + 1 :]))

    def rewire(self, ports: Mapping[Port, Port]) -> Graph:
        """Replace ports in top-level nodes and outputs; ``ports`` maps old to new ports."""
        body = self.body.rewire(ports)
        return replace(self, nodes=body.nodes, outputs=body.outputs)

    def body_at(self, scope: str) -> Body:
        """Return the body at a scope such as ``if.then``. Raises GraphEditError if missing."""
        if not scope:
            return self.body
        block, _, name = scope.rpartition(".")
        found = self.node(block).bodies.get(name)
        if found is None:
            known = ", ".join(self.node(block).bodies) or "none"
            raise GraphEditError(f"{block} has no body {name!r}. It has: {known}.")
        return found

    def replace_body(self, scope: str, body: Body) -> Graph:
        if not scope:
            return replace(self, nodes=body.nodes, outputs=body.outputs)
        block, _, name = scope.rpartition(".")
        owner = self.node(block)
        return self.replace_node(replace(owner, bodies={**owner.bodies, name: body}))

    def at_scope(self, scope: str) -> Graph:
        """Return the body ``scope`` as a graph that can be edited; ``whole`` inserts it back."""
        if not scope:
            return self
        body = self.body_at(scope)
        taken = replace(self, nodes=body.nodes, outputs=body.outputs, enclosing=(self, scope))
        vars(taken)["whole"] = self.whole  # the same object, so that inferred types remain valid
        return taken

    @cached_property
    def whole(self) -> Graph:
        """The whole graph that contains this body, including the body's changes."""
        if self.enclosing is None:
            return self
        outer, scope = self.enclosing
        body = replace(outer.body_at(scope), nodes=self.nodes, outputs=self.outputs)
        outermost = replace(outer, settings=self.settings, origins=self.origins)
        return outermost.replace_body(scope, body).whole


_CREATE = 'wb.read("photos") and wb.outputs(images=...) create graphs.'


Graph.__init__ = checked_init(Graph.__init__, _CREATE)  # type: ignore[method-assign]
Settings.__init__ = checked_init(  # type: ignore[method-assign]
    Settings.__init__, "Use names: wb.Settings(batch_size=16)."
)
GRAPH: Kind = Kind.of("workbench.read(data) or workbench.load_recipe(name)", Graph)


def _rewired(sources: Mapping[str, Port], ports: Mapping[Port, Port]) -> dict[str, Port]:
    return {name: ports.get(port, port) for name, port in sources.items()}


def _reads(node: Node) -> bool:
    return is_reader(node.op) and not isinstance(node, Source) and not node.bodies


def _as_source(node: Node) -> Node:
    if not _reads(node):
        return node
    given = {each.name: getattr(node, each.name) for each in fields(node)}
    return Source(**given, kind=kind_of_reader(node.op))


def block_of(scope: str) -> str:
    """Return the id of the block in a scope: ``if`` for ``if.then``."""
    return scope.rpartition(".")[0]


def edges_of(nodes: Sequence[Node]) -> Iterator[Edge]:
    """Yield the edges into the given nodes."""
    for node in nodes:
        for name, source in node.inputs.items():
            yield Edge(source, node.id, name)


def used_ports(graph: Graph) -> KeysView[Port]:
    """Return all ports that nodes and outputs use, also inside blocks, without duplicates."""
    return dict.fromkeys(port for _, body in graph.bodies() for port in body.used_ports).keys()


def _with_node(nodes: tuple[Node, ...], node: Node) -> tuple[Node, ...]:
    return tuple(node if other.id == node.id else other for other in nodes)
