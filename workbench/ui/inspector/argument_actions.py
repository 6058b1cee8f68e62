"""Actions of the inspector that edit an argument of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.catalog.extra_operators import STRUCTURE
from workbench.catalog.spec import ArgSpec, Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.control_flow.options import fit_generator
from workbench.graph.edits import edit
from workbench.graph.edits.connect import connect
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.values import describe_kind, kind_fault
from workbench.graph.storage.layout import Document
from workbench.ui.contract.action import DocumentEdit, Edited
from workbench.ui.inspector.random_argument_payloads import CHOICE

if TYPE_CHECKING:
    from workbench.ui.state.view_state import ViewState

_LONGEST = 10_000
"""Maximum length of a list or text, longer than any real argument and short enough to display."""


class InspectorEdit(DocumentEdit, frozen=True):
    """Base class of graph edits that do not change the selection."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        """Return the edited graph. Raises GraphEditError if the edit is not possible."""
        raise NotImplementedError

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        return document.with_graph(self.edit_graph(document.graph, catalog)), None


class SetArgument(InspectorEdit, tag="set", frozen=True):
    """Set an argument to a fixed value; None resets it to the default."""

    node: str
    arg: str
    value: Any
    group: str = ""
    """Edits with the same group, such as those of one drag, are undone together."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        spec = _arg(graph, catalog, self.node, self.arg)
        if self.value is None:
            return ResetArgument(self.node, self.arg).edit_graph(graph, catalog)
        value = to_value(self.value, spec)
        # values that cannot be stored in a graph file
        if graph.node(self.node).op in STRUCTURE and (words := kind_fault(spec, value)):
            raise GraphEditError(f"{self.node}.{self.arg}: {words}. Use {describe_kind(spec)}.")
        graph = edit.set_arg(graph, catalog, self.node, self.arg, value)
        return fit_generator(graph, self.node)


class ResetArgument(InspectorEdit, tag="reset", frozen=True):
    """Reset an argument to its default."""

    node: str
    arg: str

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        graph = edit.reset_arg(graph, catalog, self.node, self.arg)
        return fit_generator(graph, self.node)


class RandomiseArgument(InspectorEdit, tag="randomise", frozen=True):
    """Connect an argument to a new generator of random values."""

    node: str
    arg: str
    op: str
    """Operator of the generator, such as ``random.uniform``."""
    args: dict[str, Any] | None = None
    """Arguments of the generator that differ from their defaults."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        node, arg = self.node, self.arg
        _arg(graph, catalog, node, arg)
        given = self.args or {}
        real = "random.uniform" if self.op == CHOICE else self.op
        known = catalog[real].args if real in catalog else {}
        args = {key: to_value(value, known[key]) for key, value in given.items() if key in known}
        if self.op == CHOICE and "values" not in args:
            args["values"] = _choices(graph, catalog, node, arg)
        return edit.randomise_arg(graph, catalog, node, arg, real, args)


def _choices(graph: Graph, catalog: Catalog, node: str, arg: str) -> Value:
    """Return default values for ``random.choice``: minimum, middle and maximum of the range."""
    spec = catalog[graph.node(node).op].args[arg]
    generator = edit.generator_of(
        edit.randomise_arg(graph, catalog, node, arg, "random.uniform"), catalog, node, arg
    )
    match generator.args.get("range") if generator else None:
        case (int() | float() as low, int() | float() as high):
            ends: tuple[float, ...] = (low, float(f"{(low + high) / 2:.6g}"), high)
            if spec.kind.startswith("int"):
                ends = tuple(round(end) | 1 if spec.step == 2 else round(end) for end in ends)
            return tuple(dict.fromkeys(ends))
    return (0, 1)


class FixArgument(InspectorEdit, tag="fix", frozen=True):
    """Set a random argument to the middle of its range, or a connected argument to its default."""

    node: str
    arg: str

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        node, arg = self.node, self.arg
        spec = _arg(graph, catalog, node, arg)
        if arg not in graph.node(node).inputs:
            raise GraphEditError(f"{node}.{arg} already has a fixed value.")
        generator = edit.generator_of(graph, catalog, node, arg)
        middle = None if generator is None else _middle(generator)
        if generator is None or middle is None:
            return edit.reset_arg(graph, catalog, node, arg)
        one: Value = round(middle, 6)
        if spec.kind.startswith("bool"):
            one = middle >= 0.5
        elif spec.kind.startswith("int"):
            one = round(middle)
        shape = generator.args.get("shape")
        if spec.kind.endswith("_list") and isinstance(shape, tuple) and len(shape) == 1:
            count = shape[0] if isinstance(shape[0], int) else 1
            return edit.set_arg(graph, catalog, node, arg, (one,) * min(count, _LONGEST))
        return edit.set_arg(graph, catalog, node, arg, one)


class SetGeneratorArgument(InspectorEdit, tag="set_random", frozen=True):
    """Change an argument of a generator, for all inputs that use the generator."""

    node: str
    arg: str
    key: str
    """Name of the generator's argument."""
    value: Any
    group: str = ""
    """Edits with the same group, such as those of one drag, are undone together."""

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        generator = edit.generator_of(graph, catalog, self.node, self.arg)
        if generator is None:
            raise GraphEditError(f"{self.node}.{self.arg} is not random. Make it random first.")
        value = to_value(self.value, _arg(graph, catalog, generator.id, self.key))
        return edit.set_arg(graph, catalog, generator.id, self.key, value)


class LinkArgument(InspectorEdit, tag="link", frozen=True):
    """Connect an argument to another node's output. An unused generator is removed."""

    node: str
    arg: str
    source: str
    output: str

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        before = graph.node(self.node)
        linked = connect(graph, catalog, Port(self.source, self.output), self.node, self.arg)
        return edit.without_idle_generators(linked, catalog, before)


class OwnGenerator(InspectorEdit, tag="own", frozen=True):
    """Replace an argument's shared generator with a copy that only this argument uses."""

    node: str
    arg: str

    def edit_graph(self, graph: Graph, catalog: Catalog) -> Graph:
        return edit.unshare_generator(graph, catalog, self.node, self.arg)


def _arg(graph: Graph, catalog: Catalog, node_id: str, arg: str) -> ArgSpec:
    op = graph.node(node_id).op
    if arg not in catalog[op].args:
        hint = catalog[op].argument_hint(arg)
        raise GraphEditError(f"{node_id} ({op}) has no argument {arg!r}. {hint}")
    return catalog[op].args[arg]


def _middle(generator: Node) -> float | None:
    args = generator.args
    if "values" in args:
        values = args["values"]
        first = values[0] if isinstance(values, tuple) and values else values
        return float(first) if isinstance(first, int | float) else None
    if generator.op == "random.coin_flip":
        probability = args.get("probability", 0.5)
        return float(isinstance(probability, int | float) and probability >= 0.5)
    if generator.op == "random.normal":
        mean = args.get("mean", 0.0)
        return float(mean) if isinstance(mean, int | float) else None
    match args.get("range"):
        case (int() | float() as low, int() | float() as high):
            return (low + high) / 2
    return None


def to_value(value: Any, spec: ArgSpec) -> Value:
    """Convert JSON to an argument value: lists become tuples, 3.0 becomes 3 for integer arguments.

    ``check_graph`` checks later whether the value is valid for the argument. Raises GraphEditError
    for values that no argument can have.
    """
    if isinstance(value, list):
        if len(value) > _LONGEST:
            raise GraphEditError(
                f"{spec.name} has {len(value)} items; at most {_LONGEST} are allowed."
            )
        return tuple(to_value(item, spec) for item in value)
    if isinstance(value, float) and value.is_integer() and spec.kind.startswith("int"):
        return int(value)
    if isinstance(value, bool | int | float | str):
        if isinstance(value, str) and len(value) > _LONGEST:
            raise GraphEditError(
                f"{spec.name} has {len(value)} characters; at most {_LONGEST} are allowed."
            )
        return value
    raise GraphEditError(f"{spec.name} is {value!r}. Use a number, text, boolean or list.")
