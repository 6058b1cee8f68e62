"""Replace an ``if`` with a coin flip by one operator that has no effect if the coin flip is false.

``if chance: images = fn.flip(images)`` equals ``fn.flip(images, horizontal=chance)``: the pixels
are the same, because the coin flip and other random values are unchanged. A measurement decides
which form is faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from workbench.catalog.extra_operators import FUSED_FORMS, FusedForm
from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.checks.check import check_graph
from workbench.graph.control_flow.block_kinds import IF
from workbench.graph.edits.edit import NewNodes
from workbench.graph.model import Graph, Node, Port
from workbench.graph.types.devices import is_generator
from workbench.graph.types.shapes import TensorType, infer_types


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of an ``if`` that can be replaced by one operator."""

    coin: Node
    node: Node
    data: str
    """Name of the node's input that receives the image."""
    output: str
    """Name of the block's only output."""
    fed: Mapping[Port, Port]
    """Maps each input port of the first body to the outer port that feeds it."""
    generators: tuple[Node, ...]


def fused_refusal(graph: Graph, catalog: Catalog, block: str) -> str:
    """Return why an ``if`` cannot be replaced by one operator, or an empty string if it can."""
    try:
        fuse(graph, catalog, block)
    except GraphEditError as error:
        return str(error)
    return ""


def fuse(graph: Graph, catalog: Catalog, block: str) -> tuple[Graph, str]:
    """Replace an ``if`` by the only operator in it, which then runs on every sample.

    The pixels are bit-identical. Returns the whole graph and the id of the operator. Raises
    GraphEditError if the block contains other nodes, or an operator without neutral arguments.
    """
    graph = graph.whole
    body = graph.at_scope(graph.scope_of(block))
    parts = _parts(body, catalog, body.node(block))
    spec, form = catalog[parts.node.op], FUSED_FORMS[parts.node.op]
    _require_exact(body, catalog, parts, form)
    args = dict(parts.node.args)
    inputs = {name: parts.fed.get(port, port) for name, port in parts.node.inputs.items()}
    maker = _Blend(body, catalog, Port(parts.coin.id, "output"))
    for name, neutral in form.neutral.items():
        if name not in spec.args:
            continue
        port = inputs.get(name)
        value = args.get(name, spec.args[name].default)
        if port is None and (value == neutral or value is None):
            continue
        generator = next((node for node in parts.generators if port and node.id == port.node), None)
        given = port if port is not None else value
        assert given is not None
        inputs[name] = maker.blended(given, neutral, generator is not None)
        args.pop(name, None)
    node = replace(parts.node, args=args, inputs=inputs)
    coin_args = {name: value for name, value in parts.coin.args.items() if name != "dtype"}
    coin = replace(parts.coin, args=coin_args)
    old, new = Port(block, parts.output), Port(node.id, spec.outputs[0].name)
    put = body.substitute(block, *parts.generators, *maker.nodes, node).replace_node(coin)
    fused = put.rewire({old: new}).whole
    known = {(fault.node, fault.arg, fault.code) for fault in check_graph(graph, catalog)}
    for fault in check_graph(fused, catalog):
        if (fault.node, fault.arg, fault.code) not in known:
            raise GraphEditError(f"{block!r} cannot be fused into one {node.op}: {fault.message}.")
    return fused, node.id


def _parts(body: Graph, catalog: Catalog, block: Node) -> _Parts:
    def refused(why: str) -> GraphEditError:
        return GraphEditError(f"{block.id!r} cannot be fused into one operator: {why}.")

    coin = IF.generator_of(body, block)
    if block.op != IF.op or coin is None:
        raise refused("its condition is not a coin flip")
    inside = {block.id, *(node.id for body in block.bodies.values() for node in body.nodes)}
    if any(fault.node in inside for fault in check_graph(body.whole, catalog)):
        raise refused("it has faults")
    readers = body.consumers(coin.id)
    if len(readers) != 1 or any(port.node == coin.id for port in body.outputs.values()):
        raise refused(f"{coin.id!r} feeds other nodes too")
    then, otherwise = block.bodies["then"], block.bodies["else"]
    known = [node for node in then.nodes if node.op in catalog]
    generators = [node for node in known if is_generator(catalog[node.op]) and not node.inputs]
    others = [node for node in then.nodes if node not in generators]
    if len(others) != 1 or otherwise.nodes:
        raise refused("it must contain one operator in its first branch, and none in the other")
    node = others[0]
    if node.op not in FUSED_FORMS:
        raise refused(f"no argument of {node.op} makes it do nothing")
    if len(then.outputs) != 1:
        raise refused(f"it has {len(then.outputs)} outputs, not one")
    name, given = next(iter(then.outputs.items()))
    data = catalog[node.op].inputs[0].name
    source = node.inputs.get(data)
    passed = otherwise.outputs.get(name)
    same = (
        given.node == node.id
        and source is not None
        and passed is not None
        and source.node == block.scope("then")
        and passed.node == block.scope("else")
        and block.inputs.get(source.output) == block.inputs.get(passed.output)
    )
    if not same or node.muted:
        raise refused(f"its else branch does not pass on the input of {node.id!r}")
    fed = {Port(block.scope("then"), taken): block.inputs[taken] for taken in then.inputs}
    return _Parts(coin, node, data, name, fed, tuple(generators))


def _require_exact(body: Graph, catalog: Catalog, parts: _Parts, form: FusedForm) -> None:
    """Raise GraphEditError unless the neutral arguments are known to leave all bits unchanged."""
    node, spec = parts.node, catalog[parts.node.op]
    refused = f"{node.id!r} cannot be fused: "
    for name, value in form.requires.items():
        if name in node.inputs or node.args.get(name, spec.args[name].default) != value:
            raise GraphEditError(
                f"{refused}it preserves the size only with {name}={value}. Set {name!r} to {value}."
            )
    if node.device is not None or "dtype" in node.args:
        raise GraphEditError(f"{refused}its device or dtype is set. Reset both.")
    for name in form.neutral:
        if isinstance(node.args.get(name), tuple):
            raise GraphEditError(f"{refused}{name!r} has several numbers. Use one number.")
    flow = infer_types(body, catalog).get(parts.fed[node.inputs[parts.data]], TensorType())
    if form.types and flow.dtype not in form.types:
        raise GraphEditError(
            f"{refused}its input is {flow.dtype or 'of an unknown type'}, and only with "
            f"{' or '.join(form.types)} do its neutral arguments keep every bit."
        )


class _Blend(NewNodes):
    """Adds nodes that output a value if the coin flip is true, else the neutral value."""

    def __init__(self, body: Graph, catalog: Catalog, coin: Port) -> None:
        super().__init__(body, catalog)
        self.coin = coin

    def blended(self, value: Value | Port, neutral: float, random: bool) -> Port:
        """Add nodes for ``coin * value``, plus ``1 - coin`` if the neutral value is 1."""
        chosen = self._chosen(value, random)
        if neutral == 0 and chosen is not None:
            return chosen
        passed = self.add("math.sub", {"left": 1, "constant_type": "INT32"}, {"data": self.coin})
        if chosen is None:
            return passed
        return self.add("math.add", {}, {"data": chosen, "other": passed})

    def _chosen(self, value: Value | Port, random: bool) -> Port | None:
        """Add nodes for ``coin * value``, or return None if the value is 0."""
        if isinstance(value, Port):
            into = "right" if random else "other"
            return self.add("math.mul", {}, {"data": self.coin, into: value})
        if not isinstance(value, int | float) or value == 0:
            return None
        if value == 1:
            return self.coin
        kind = "INT32" if isinstance(value, int) else "FLOAT"
        return self.add("math.mul", {"right": value, "constant_type": kind}, {"data": self.coin})
