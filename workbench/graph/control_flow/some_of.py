"""Regions that run some of several bodies, one after another: made, and their draw kept fitting.

A draw of one number decides. It stands for one of the ``orders``: which bodies run, and in which
order. As all of them are equally likely, so is each body.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations, islice, permutations
from math import comb, perm

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.control_flow import one_of
from workbench.graph.control_flow.one_of import CHOICE, choose_one_of, draw_of
from workbench.graph.model import Graph, Node
from workbench.graph.model.faults import Fault
from workbench.graph.model.scoped import scoped

OP = "some_of"
MOST_ORDERS = 1000
"""They stand in the code as a table, which a person is to read."""


def count_of(region: Node) -> int:
    """How many of the bodies run; 0 where that is not a number."""
    count = region.args.get("count")
    return count if type(count) is int else 0


def is_shuffled(region: Node) -> bool:
    """Whether the bodies run in any order."""
    return region.args.get("shuffled") is True


def order_count(region: Node) -> int:
    """How many orders there are."""
    options, count = len(region.bodies), count_of(region)
    if not 1 <= count <= options:
        return 0
    return perm(options, count) if is_shuffled(region) else comb(options, count)


def orders(region: Node) -> tuple[tuple[int, ...], ...]:
    """By what is drawn the numbers of the bodies that run, one after another."""
    arranged = permutations if is_shuffled(region) else combinations
    found = arranged(range(len(region.bodies)), count_of(region))
    return tuple(islice(found, MOST_ORDERS))


def shares_of_some(graph: Graph, region: Node) -> tuple[float, ...] | None:
    """The probability of each body to run, None where no draw of the workbench decides."""
    draw = draw_of(graph, region)
    if region.op != OP or draw is None or draw.args.get("population") != order_count(region):
        return None
    if "p" in draw.args:
        return None
    return (count_of(region) / len(region.bodies),) * len(region.bodies)


def choose_some_of(graph: Graph, catalog: Catalog, nodes: Collection[str]) -> tuple[Graph, str]:
    """Put nodes of a chain into a new region, which runs all but one of them for each sample.

    Returns the graph and the region's id. Raises GraphEditError as ``choose_one_of`` does.
    """
    graph, region = choose_one_of(graph, catalog, nodes, OP)
    inside = graph.at_scope(graph.scope_of(region))
    node = inside.node(region)
    counted = replace(node, args={**node.args, "count": max(1, len(node.bodies) - 1)})
    return with_fitting_draw(inside.replace_node(counted), catalog, region).whole, region


@scoped("region")
def with_fitting_draw(graph: Graph, catalog: Catalog, region: str) -> Graph:
    """The graph, the draw that decides in ``region`` having a number for each order.

    Left alone where something else decides, or there is no order, or too many.
    """
    node = graph.node(region)
    draw = draw_of(graph, node)
    number = order_count(node)
    if node.op != OP or draw is None or not 0 < number <= MOST_ORDERS:
        return graph
    args = {name: value for name, value in draw.args.items() if name != "p"}
    return graph.replace_node(replace(draw, args={**args, "population": number}))


@scoped("region")
def set_count(
    graph: Graph, catalog: Catalog, region: str, count: int, *, shuffled: bool | None = None
) -> Graph:
    """Let so many bodies run, in any order or as they are numbered.

    Raises GraphEditError for another number than 1 to that of the bodies, and for other regions.
    """
    node = graph.node(region)
    if node.op != OP:
        raise GraphEditError(f"{region} is {node.op}, and only {OP} runs so many of its bodies.")
    whole = isinstance(count, int) and not isinstance(count, bool)
    if not whole or not 1 <= count <= len(node.bodies):
        raise GraphEditError(
            f"{region} has {len(node.bodies)} bodies, and {count} were to run. "
            f"Give a whole number, 1 to {len(node.bodies)}."
        )
    in_any_order = is_shuffled(node) if shuffled is None else shuffled
    node = replace(node, args={**node.args, "count": count, "shuffled": in_any_order})
    return with_fitting_draw(graph.replace_node(node), catalog, region)


def remove_option(graph: Graph, catalog: Catalog, region: str, body: str) -> Graph:
    """Remove a body of any region that has options; of those that are left, no more than all run.

    Raises GraphEditError as ``one_of.remove_option`` does.
    """
    graph = one_of.remove_option(graph, catalog, region, body)
    node = graph.node(region)
    if node.op == OP and count_of(node) > len(node.bodies):
        count = len(node.bodies)
        graph = graph.replace_node(replace(node, args={**node.args, "count": count}))
    return with_fitting_draw(graph, catalog, region)


def order_faults(node: Node, graph: Graph) -> Iterator[Fault]:
    """More bodies to run than there are, too many orders, or a draw with another number of them."""
    if node.op != OP:
        return
    options, count, number = len(node.bodies), count_of(node), order_count(node)
    if count > options:
        yield Fault(
            node.id,
            "count",
            f"{count} bodies are to run, and it has {options}",
            f"Give 1 to {options}, or add options.",
            "value",
        )
    elif number > MOST_ORDERS:
        yield Fault(
            node.id,
            "count",
            f"{count} of {options} can run in {number} orders, which the code lists one by one",
            f"There may be {MOST_ORDERS}: let fewer run, or keep them as numbered.",
            "value",
        )
    elif number > 0:
        inside = graph.at_scope(graph.scope_of(node.id))
        draw = draw_of(inside, node)
        found = None if draw is None else draw.args.get("population")
        if draw is not None and found != number:
            yield Fault(
                node.id,
                CHOICE,
                f"{draw.id} draws one of {found} numbers, and there are {number} orders",
                f"Set {draw.id}.population to {number}.",
                "draw",
            )
