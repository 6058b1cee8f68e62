"""Remedies for faults of values, combinations of arguments, and seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from functools import partial

from workbench.catalog.spec import ArgSpec, Catalog, Value
from workbench.graph.edits.edit import reset_arg
from workbench.graph.fixes.fix_candidate import (
    FixCandidate,
    node_of,
    removal,
    short_value_text,
    with_arg,
    without_inputs,
)
from workbench.graph.fixes.unfed_inputs import feed_from_new, feed_of
from workbench.graph.model import Graph
from workbench.graph.model.faults import Fault
from workbench.graph.model.free_seed import free_seed
from workbench.graph.model.policy import bins_of, mended_policy
from workbench.graph.model.values import value_fault
from workbench.graph.types.type_promotion import integer_range


def fix_unknown_arg(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """The argument of the nearest name, or none."""
    node = node_of(graph, fault)
    for near in get_close_matches(fault.arg, catalog[node.op].args, n=1):
        if near not in node.args and near not in node.inputs:
            args = {near if name == fault.arg else name: v for name, v in node.args.items()}
            yield f"Call it {near}", partial(graph.replace_node, replace(node, args=args))
    yield f"Remove {_short(fault.arg)}", partial(without_inputs, graph, node, fault.arg)


def _short(name: str) -> str:
    return name if len(name) <= 30 else name[:27] + "..."


def fix_value_and_link(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Either of the two."""
    node = node_of(graph, fault)
    yield (
        f"Keep {short_value_text(node.args[fault.arg])}",
        partial(with_arg, graph, node, fault.arg, node.args[fault.arg]),
    )
    args = {name: v for name, v in node.args.items() if name != fault.arg}
    keep_link = partial(graph.replace_node, replace(node, args=args))
    yield f"Keep the link to {node.inputs[fault.arg].node}", keep_link


def fix_value(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """The nearest value that is allowed, then the usual one."""
    node = node_of(graph, fault)
    arg = catalog[node.op].args[fault.arg]
    if arg.kind == "policy":
        mended = mended_policy(node.args[fault.arg], bins_of(node))
        yield "Correct the policy", partial(with_arg, graph, node, fault.arg, mended)
        yield "Reset the policy", partial(reset_arg, graph, catalog, node.id, fault.arg)
        return
    near = _near_values(arg, node.args[fault.arg])
    for candidate in near:
        if value_fault(arg, candidate) is None:
            label = f"Set it to {short_value_text(candidate)}"
            yield label, partial(with_arg, graph, node, fault.arg, candidate)
    usual = arg.default if arg.start is None else arg.start
    label = f"Reset to {short_value_text(usual)}" if usual is not None else f"Leave {fault.arg} out"
    yield label, partial(reset_arg, graph, catalog, node.id, fault.arg)


def _near_values(arg: ArgSpec, found: Value) -> list[Value]:
    """What may have been meant, to be checked by ``value_fault``."""
    items = found if isinstance(found, tuple) else (found,)
    mended = tuple(_near_value(arg, item) for item in items)
    near: list[Value] = []
    if arg.kind.endswith("_list"):
        near.append(mended)
        if all(isinstance(item, int | float) for item in mended):
            near.append(tuple(sorted(mended)))
        for count in (arg.items, arg.volume_items) if mended else ():
            if count is not None:
                near.append((*mended, *[mended[-1]] * count)[:count])
    elif mended:
        near.append(mended[0])
    return near


def _near_value(arg: ArgSpec, item: Value) -> Value:
    if isinstance(item, tuple):
        return _near_value(arg, item[0]) if item else 0
    element = arg.kind.removesuffix("_list")
    if element in ("str", "enum"):
        known = [*map(str, arg.choices), *arg.members]
        text = str(item)
        close = get_close_matches(text.lower(), [name.lower() for name in known], n=1)
        return next((name for name in known if [name.lower()] == close), text)
    if element == "bool":
        return bool(item) if not isinstance(item, str) else item.strip().lower() in _YES
    number = _number(item)
    if number is None:
        return item
    if arg.minimum is not None:
        number = max(number, arg.minimum)
    if arg.maximum is not None:
        number = min(number, arg.maximum)
    return round(number) if element == "int" else number


_YES = ("true", "yes", "on", "1")


def _number(item: Value) -> float | int | None:
    if isinstance(item, int):
        return int(item) if abs(item) < 2**63 else None
    try:
        number = float(item)  # type: ignore[arg-type]
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < 2**63 else None


def fix_conflict(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Either of the two is left out."""
    node = node_of(graph, fault)
    for name in (fault.arg, fault.about):
        yield f"Leave {name} out", partial(without_inputs, graph, node, name)


def fix_incomplete_group(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """The missing one gets the same value, or none of them is given."""
    node = node_of(graph, fault)
    if fault.arg in node.args and fault.about in catalog[node.op].args:
        same = node.args[fault.arg]
        label = f"Set {fault.about} to {short_value_text(same)} too"
        yield label, partial(with_arg, graph, node, fault.about, same)
    groups = (group for group in catalog[node.op].together if fault.about in group)
    group = next((group for group in groups if fault.arg in group), (fault.arg,))
    yield f"Leave {fault.arg} out", partial(without_inputs, graph, node, *group)


def fix_missing_arg(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """The usual value, or the node that can give it."""
    node = node_of(graph, fault)
    spec = catalog[node.op]
    arg = spec.args.get(fault.arg)  # none where an operand is missing
    usual = None if arg is None else arg.start if arg.start is not None else arg.default
    if usual is not None:
        label = f"Set it to {short_value_text(usual)}"
        yield label, partial(with_arg, graph, node, fault.arg, usual)
    feed = feed_of(spec, fault.arg)
    if feed is not None:
        yield f"Add {feed.op}", partial(feed_from_new, graph, catalog, node.id, fault.arg)
    yield removal(graph, catalog, node.id)


def fix_constant(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """The nearest number of its type, or a type that holds it."""
    node = node_of(graph, fault)
    found = node.args[fault.arg]
    low, high = integer_range(fault.about)
    if isinstance(found, int | float):
        near = min(max(round(found), low), high)
        yield f"Set it to {near}", partial(with_arg, graph, node, fault.arg, near)
    for dtype in ("INT32", "FLOAT"):
        if dtype in catalog[node.op].args["constant_type"].members:
            label = f"Make it {dtype}"
            yield label, partial(with_arg, graph, node, "constant_type", dtype)


def fix_zero_divisor(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A divisor that does."""
    node = node_of(graph, fault)
    yield "Set it to 1", partial(with_arg, graph, node, fault.arg, 1)
    yield "Make it FLOAT", partial(with_arg, graph, node, "constant_type", "FLOAT")


def fix_subscript_index(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """The nearest index that the data have."""
    if fault.about:
        change = partial(with_arg, graph, node_of(graph, fault), fault.arg, fault.about)
        yield f"Set it to {fault.about}", change


def fix_axis_order(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Each order that has the axes of what flows in."""
    node = node_of(graph, fault)
    for choice in catalog[node.op].args[fault.arg].choices:
        if sorted(str(choice)) == sorted(fault.about):
            yield f"Set it to {choice}", partial(with_arg, graph, node, fault.arg, choice)


def fix_seed(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A number that no other node has, or none where nothing is drawn."""
    node = node_of(graph, fault)
    if not catalog[node.op].seeded:
        yield "Remove the seed", partial(graph.replace_node, replace(node, seed=None))
        return
    free = free_seed(graph)
    yield f"Give it {free}", partial(graph.replace_node, replace(node, seed=free))


def unlink_fixed_arg(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """A value in place of the link."""
    yield "Cut the link", partial(reset_arg, graph, catalog, fault.node, fault.arg)
