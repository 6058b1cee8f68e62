"""Edits of what an ``if`` asks: another condition, what it may be asked of, and an ``elif``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.control_flow.conditions import (
    COMPARISONS,
    KINDS,
    SIDES,
    UNKNOWN,
    Chance,
    Comparison,
    Condition,
    Kind,
    LabelIs,
    Measure,
    NumberIs,
    SizeIs,
    condition_nodes,
    condition_of,
    maker_of,
    require_sound,
)
from workbench.graph.control_flow.kinds import CONDITION, IF
from workbench.graph.control_flow.wrap import passing_input
from workbench.graph.edits.edit import NewNodes, new_node, without_idle_generators
from workbench.graph.edits.lead_in import lead_in, origin_of
from workbench.graph.model import Body, Graph, Node, Port, block_of
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import output_ports
from workbench.graph.types.devices import device_of
from workbench.graph.types.shapes import TensorType, infer_types
from workbench.graph.types.typed_graph import TypedGraph

_WHOLE = frozenset(
    ("UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64", "BOOL")
)


def set_condition(
    graph: Graph, catalog: Catalog, block: str, condition: Condition, source: Port | None = None
) -> Graph:
    """Let an ``if`` ask something else; the nodes of what it asked go, if nothing reads them.

    ``source`` is the port of which it is asked; None: the one it was, else the usual one of
    ``condition_sources``. Raises GraphEditError for a node that is no ``if``, for values that no
    sample can have, and where there is nothing to ask it of.
    """
    graph = graph.whole
    node = graph.node(block)
    if node.op != IF.op:
        raise GraphEditError(f"{block} is no if ({node.op}). Only an if has a condition.")
    require_sound(block, condition)
    scope = graph.scope_of(block)
    before = condition_of(TypedGraph(graph.at_scope(scope), catalog), node)
    if isinstance(condition, Chance):
        if before is not None and before[0] == condition:
            return graph
    else:
        source = _source_for(graph, catalog, block, condition, source, before)
        graph, source = lead_in(graph, catalog, source, scope)
    body = graph.at_scope(scope)
    node = body.node(block)
    if before is not None and isinstance(condition, Chance) and isinstance(before[0], Chance):
        coin = IF.generator_of(body, node)
        if coin is not None:
            chance = {"probability": condition.probability}
            return body.replace_node(coin.with_args(chance)).whole
    old = condition_nodes(TypedGraph(body, catalog), node)
    kept = replace(body, nodes=tuple(each for each in body.nodes if each.id not in old))
    # ids of nodes that go are free again, so that a changed value renames nothing
    made = _made(kept, catalog, condition, source)
    fed = node.fed({CONDITION: Port(made[-1].id, "output")})
    kept = kept.put(block, *made, fed)
    for gone in old:
        kept = without_idle_generators(kept, catalog, body.node(gone))
    return _without_unread_inputs(kept.whole, catalog, scope)


def _source_for(
    graph: Graph,
    catalog: Catalog,
    block: str,
    condition: Condition,
    source: Port | None,
    before: tuple[Condition, Port | None] | None,
) -> Port:
    kind = next(name for name, of in KINDS.items() if isinstance(condition, of))
    old = origin_of(graph, catalog, before[1]) if before and before[1] else None
    if source is None and before is not None and type(before[0]) is type(condition):
        source = old
    found = condition_sources(TypedGraph(graph, catalog), block)[kind]
    if source is not None:
        if source in found or source == old:
            return source
        names = ", ".join(map(str, found)) or "nothing"
        raise GraphEditError(f"{block} cannot ask this of {source}. It can of: {names}.")
    if not found:
        what = {"label": "labels", "size": "an image", "comparison": "one number for each sample"}
        raise GraphEditError(f"Nothing before {block} gives {what[kind]} that could decide.")
    return found[0]


def _made(
    body: Graph, catalog: Catalog, condition: Condition, source: Port | None
) -> tuple[Node, ...]:
    """The nodes of a condition, of which the last one decides."""
    maker = _Maker(body, catalog)
    match condition:
        case Chance(probability):
            args: dict[str, Value] = {"probability": probability, "dtype": "BOOL"}
            maker.add(IF.random_op, args, {}, IF.random_id)
        case LabelIs(classes) if source is not None:
            sides = []
            for number in dict.fromkeys(classes):
                label = maker.add("subscript", {"index": "0"}, {"data": source}, "label")
                equal: dict[str, Value] = {"right": number, "constant_type": "INT32"}
                sides.append(maker.add("math.eq", equal, {"data": label}))
                if len(sides) == 2:
                    first, second = sides
                    sides = [maker.add("math.bitor", {}, {"data": first, "other": second})]
        case SizeIs(measure, comparison, value) if source is not None:
            maker.compared(maker.measured(measure, source), comparison, value, measure != "aspect")
        case NumberIs(comparison, value) if source is not None:
            flow = infer_types(body, catalog).get(source, UNKNOWN)
            if flow.shape == (1,):
                source = maker.add("subscript", {"index": "0"}, {"data": source})
            maker.compared(source, comparison, value, flow.dtype in _WHOLE)
    return tuple(maker.nodes)


class _Maker(NewNodes):
    """The nodes of a condition."""

    def measured(self, measure: Measure, image: Port) -> Port:
        if op := SIDES.get(measure):
            first, second = ("1", "0") if measure == "aspect" else ("0", "1")
            sides = {"data": self.side(first, image), "other": self.side(second, image)}
            return self.add(op, {}, sides, measure.replace(" ", "_"))
        return self.side("0" if measure == "height" else "1", image)

    def side(self, index: str, image: Port) -> Port:
        shape = self.add("shape", {}, {"data": image})
        name = "height" if index == "0" else "width"
        return self.add("subscript", {"index": index}, {"data": shape}, name)

    def compared(self, number: Port, comparison: Comparison, value: float, whole: bool) -> Port:
        """Whole numbers are compared with a whole one, others as fractions."""
        whole = whole and float(value).is_integer() and abs(value) < 2**31
        right: Value = int(value) if whole else float(value)
        kind = "INT32" if whole else "FLOAT"
        args: dict[str, Value] = {"right": right, "constant_type": kind}
        return self.add(COMPARISONS[comparison], args, {"data": number})


def _without_unread_inputs(graph: Graph, catalog: Catalog, scope: str) -> Graph:
    """Without what a body, and those around it, take in and nothing inside reads."""
    while scope:
        body, block = graph.body_at(scope), graph.node(block_of(scope))
        name = scope.rpartition(".")[2]
        read = {port for node in body.nodes for port in node.inputs.values()}
        read |= set(body.outputs.values())
        kept = tuple(each for each in body.inputs if Port(scope, each) in read)
        spec = catalog[block.op]
        if spec.consecutive:
            kept = tuple(each for each in body.inputs if each in kept or each in body.outputs)
        bodies = {**block.bodies, name: replace(body, inputs=kept)}
        dropped = set(body.inputs) - set(kept)
        still = {each for inner in bodies.values() for each in inner.inputs}
        inputs = {n: p for n, p in block.inputs.items() if n not in dropped or n in still}
        graph = graph.replace_node(replace(block, bodies=bodies, inputs=inputs))
        scope = graph.scope_of(block.id)
    return graph


def condition_sources(typed: TypedGraph, block: str) -> dict[Kind, list[Port]]:
    """For each kind of condition the ports of which an ``if`` may ask it, the usual one first.

    Those around the body in which it stands, too: from there they are led in. Of what a body takes
    in from outside, the port outside.
    """
    typed = typed.whole
    whole, flows = typed.graph, typed.types
    found: dict[Kind, list[Port]] = {"chance": [], "label": [], "size": [], "comparison": []}
    own = condition_nodes(typed.at_scope(whole.scope_of(block)), whole.node(block))
    before = dict.fromkeys(
        origin_of(whole, typed.catalog, port) for port in _ports_before(typed, block)
    )
    for port in before:
        kind, flow = typed.kind(port), flows.get(port, UNKNOWN)
        if port.node in own or flow.dtype == "BOOL":
            continue
        maker = maker_of(whole, port)
        if kind == "label" and not (maker is not None and typed.spec(maker).expression):
            found["label"].append(port)
        if kind == "image" and flow.layout in (None, "", "HWC", "HW"):
            if flow.shape is None or len(flow.shape) >= 2:
                found["size"].append(port)
        elif flow.shape in ((), (1,)) and device_of(typed.devices, port) == "cpu":
            found["comparison"].append(port)
    # A size that is the same for all samples decides nothing.
    found["size"].sort(key=lambda port: _is_fixed(flows.get(port, UNKNOWN)))
    return found


def _is_fixed(flow: TensorType) -> bool:
    return flow.shape is not None and None not in flow.shape[:2]


def _ports_before(typed: TypedGraph, block: str) -> Iterator[Port]:
    """What does not wait for a block, from its own body outwards, what is nearest first."""
    graph = typed.graph
    scope = graph.scope_of(block)
    while True:
        body = graph.at_scope(scope)
        before = ancestors(graph, list(graph.node(block).inputs.values()))
        after = _behind(body, block)
        near = [node for node in body.nodes if node.id in before]
        others = [node for node in body.nodes if node.id not in before and node.id not in after]
        if scope:
            yield from (Port(scope, name) for name in graph.body_at(scope).inputs)
        for node in (*reversed(near), *others):
            spec = typed.catalog.find(node.op)
            yield from output_ports(node, spec) if spec else ()
        if not scope:
            return
        block = block_of(scope)
        scope = graph.scope_of(block)


def _behind(body: Graph, block: str) -> set[str]:
    """The block, and the nodes that wait for it."""
    found, waiting = {block}, [block]
    while waiting:
        for edge in body.consumers(waiting.pop()):
            if edge.target not in found:
                found.add(edge.target)
                waiting.append(edge.target)
    return found


ELSE = "else"


def add_elif(graph: Graph, catalog: Catalog, block: str) -> tuple[Graph, str]:
    """Ask a second condition where the first one does not hold: a coin flip, to be changed.

    It stands behind those of an ``elif`` that is there. Where it holds nothing is changed yet, and
    otherwise runs what ran so far. Returns the whole graph and the id of the new ``if``. Raises
    GraphEditError for a node that is no ``if``, and for an output in whose place nothing of its
    kind could pass.
    """
    graph = graph.whole
    node = graph.node(block)
    if node.op != IF.op:
        raise GraphEditError(f"{block} is no if ({node.op}). Only an if has an elif.")
    while (inner := elif_of(node)) is not None:
        node = inner
    scope = node.scope(ELSE)
    body = node.bodies[ELSE]
    passed = {
        name: port.output if port.node == scope else passing_input(graph, catalog, node, name)
        for name, port in body.outputs.items()
    }
    taken = (*body.inputs, *dict.fromkeys(each for each in passed.values()))
    taken = tuple(dict.fromkeys(taken))
    fresh = new_node(graph, catalog, IF.op)
    coin = IF.new_generator(graph, catalog, fresh)
    assert coin is not None
    otherwise = body.renamed(scope, fresh.scope(ELSE))
    then = {name: Port(fresh.scope("then"), into) for name, into in passed.items()}
    fresh = replace(
        fresh,
        inputs={
            CONDITION: Port(coin.id, "output"),
            **{name: Port(scope, name) for name in taken},
        },
        bodies={
            "then": Body((), then, tuple(dict.fromkeys(passed.values()))),
            ELSE: otherwise,
        },
    )
    given = {name: Port(fresh.id, name) for name in body.outputs}
    graph = graph.replace_body(scope, Body((coin, fresh), given, taken))
    return graph, fresh.id


def elif_of(block: Node) -> Node | None:
    """The ``if`` that is all of what an ``if`` does otherwise: its ``elif``; None without one."""
    body = block.bodies.get(ELSE)
    inner = [node for node in body.nodes if node.bodies] if body is not None else []
    if body is None or len(inner) != 1 or inner[0].op != IF.op:
        return None
    if any(port.node != inner[0].id for port in body.outputs.values()):
        return None
    return inner[0]
