"""Remedies for faults of blocks, and those that are left where nothing else helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import permutations
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.graph.checks.check_blocks import COLOURS
from workbench.graph.control_flow.kinds import kind_of
from workbench.graph.control_flow.options import fit_generator, set_weights
from workbench.graph.control_flow.wrap import unwrap_block
from workbench.graph.edits.edit import free_id
from workbench.graph.fixes.case import (
    Case,
    FixCandidate,
    remedy,
)
from workbench.graph.model import Graph, Node, Port, block_of


@remedy("control", "bodies", "branches")
def fix_block(case: Case) -> Iterator[FixCandidate]:
    """A conversion at the end of a body that differs, one of the bodies alone, or nothing."""
    node = case.node
    if case.fault.code == "branches" and {"cast", "color_space_conversion"} <= {*case.catalog}:
        yield from _conversions(case)
    for body in node.bodies:
        yield f"Keep {body} alone", case.edit(_unwrapped, node.id, body)
    yield case.removal()


@remedy("draw")
def fix_draw(case: Case) -> Iterator[FixCandidate]:
    """A number for each body, or for each order; what has a probability keeps it in proportion."""
    block = case.node
    kind = kind_of(block)
    draw = kind.generator_of(case.graph, block)
    if draw is None:
        return
    count = kind.random_args(block, {}).get("population")
    label = f"Let {draw.id} draw one of {count} numbers"
    if kind.weighted:
        count = len(block.bodies)
        given = draw.args.get("p")
        if isinstance(given, tuple) and given:
            more = [1 / len(given)] * (count - len(given))
            weights: list[Any] = [*given, *more]
            yield label, case.edit(set_weights, block.id, weights[:count])
        yield f"{label}, equally often", case.edit(set_weights, block.id, [1] * count)
    else:
        yield label, case.edit(fit_generator, block.id)


def _conversions(case: Case) -> Iterator[FixCandidate]:
    """To what each other body gives, or what the block takes in where nothing runs."""
    block, scope, output = case.node, case.about, case.arg
    types = case.typed.types
    others = [body.outputs.get(output) for body in block.bodies.values()]
    ports = [port for port in (block.inputs.get(output), *others) if port]
    found = [each for each in map(types.get, ports) if each]
    for dtype in dict.fromkeys(each.dtype for each in found if each.dtype):
        made = Node(f"{output}_{dtype.lower()}", "cast", {"dtype": dtype})
        yield (
            f"Cast {output} of {scope} to {dtype}",
            partial(_ended, case.graph, scope, output, made),
        )
    known = {COLOURS[each.channels] for each in found if each.channels in COLOURS}
    for given, wanted in permutations(sorted(known), 2):
        args = {"image_type": given, "output_type": wanted}
        made = Node(f"{output}_{wanted.lower()}", "color_space_conversion", args)
        label = f"Convert {output} of {scope} from {given} to {wanted}"
        yield label, partial(_ended, case.graph, scope, output, made)


def _ended(graph: Graph, scope: str, output: str, node: Node) -> Graph:
    """With one more node at the end of a body."""
    body = graph.whole.at_scope(scope)
    made = replace(node, id=free_id(body, node.id), inputs={"data": body.outputs[output]})
    outputs = {**body.outputs, output: Port(made.id, "output")}
    return replace(body, nodes=(*body.nodes, made), outputs=outputs).whole


def _unwrapped(graph: Graph, catalog: Catalog, block: str, body: str) -> Graph:
    return unwrap_block(graph, catalog, block, body)[0]


def fix_by_removal(case: Case) -> Iterator[FixCandidate]:
    """Without the node, or without one of the blocks around it, the innermost first."""
    node, whole = case.node_id, case.graph.whole
    while whole.has(node):
        yield replace(case, typed=case.typed.of(whole)).removal(node)
        node = block_of(whole.scope_of(node))
