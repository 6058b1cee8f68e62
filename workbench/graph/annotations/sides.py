"""Swap left and right key points or classes when an image is mirrored.

A follower's argument ``names`` lists the key points of one object, or the classes; ``pairs`` lists
the pairs to swap, each as ``left=right``. An image is mirrored if its operators reverse
orientation: an odd number of flips, or a matrix with a negative determinant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from workbench.catalog.extra_operators import FOLLOWERS
from workbench.catalog.spec import Value
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, Node, Source
from workbench.graph.model.faults import Fault
from workbench.names import did_you_mean, shortened, side_pairs
from workbench.sources import Dataset, SourceKind, load_source

NO_PAIRS = "none"


def declared_pairs(node: Node) -> list[tuple[str, str]] | None:
    """Return the pairs of names that a follower swaps, or None if none are declared."""
    items = node.args.get("pairs")
    if not isinstance(items, tuple):
        return None
    split = [str(item).partition("=") for item in items if item != NO_PAIRS]
    return [(left.strip(), right.strip()) for left, _, right in split]


def numbered_pairs(node: Node) -> list[tuple[int, int]]:
    """Return a follower's pairs as positions in ``names``. Pairs may also be given as positions."""
    numbers = {name: at for at, name in enumerate(side_names(node))}
    found = []
    for pair in declared_pairs(node) or []:
        known = [numbers.get(name, int(name) if name.isdecimal() else None) for name in pair]
        if None not in known:
            found.append((known[0], known[1]))
    return found  # type: ignore[return-value]


def side_names(node: Node) -> list[str]:
    """Return the names that a follower's pairs refer to, in order."""
    names = node.args.get("names")
    return [str(name) for name in names] if isinstance(names, tuple) else []


def mirror_order(node: Node) -> list[int]:
    """Return the position of the mirror image of each key point, or [] if nothing is swapped."""
    order = [*range(len(side_names(node)))]
    pairs = numbered_pairs(node)
    for left, right in pairs:
        order[left], order[right] = right, left
    return order if pairs else []


def pair_faults(node: Node) -> Iterator[Fault]:
    """Yield the faults of a follower's pairs: unknown names, and names that occur twice."""
    names, seen = side_names(node), set[str]()
    pairs = declared_pairs(node) or []
    if pairs and node.args.get("interpolation") == "linear":
        remedy = "Set interpolation to nearest, or reset pairs."
        yield _fault(node, "interpolated values are no class numbers", remedy)
    if pairs and not names and node.op == "follow_points":
        yield _fault(node, "the names of the key points are unknown", "Set names, in order.")
        return
    for pair in pairs:
        if not all(pair):
            text = "=".join(pair)
            yield _fault(node, f"{text!r} is not a pair", "Write pairs as left_eye=right_eye.")
            continue
        for name in pair:
            if name in seen or names.count(name) > 1:
                yield _fault(node, f"{name!r} occurs twice", "Pair each name with one other name.")
            elif name not in names and not _is_number(node, name, len(names)):
                known = shortened(", ".join(names), 200) or "class numbers"
                remedy = did_you_mean(name, names, f"Use two of: {known}.")
                yield _fault(node, f"{name!r} is not one of the names", remedy)
            seen.add(name)


def _is_number(node: Node, name: str, count: int) -> bool:
    return name.isdecimal() and (int(name) < count or node.op != "follow_points")


def _fault(node: Node, message: str, remedy: str) -> Fault:
    return Fault(node.id, "pairs", message, remedy, "pairs")


def with_sides(graph: Graph, data: Mapping[str, Dataset | None]) -> Graph:
    """Set the names and, if none are declared, the pairs that the datasets report.

    These are pairs of key points, and of the classes of masks. ``data`` maps source ids to
    datasets. Pairs that were set for the names of another dataset are replaced. For boxes and
    labels, class names are set only if the follower has pairs.
    """
    for node in graph.walk():
        if node.op not in FOLLOWERS:
            continue
        input_name = {"follow_points": "points", "follow_masks": "masks"}.get(node.op, "labels")
        source = _source_of(graph, node, input_name)
        dataset = data.get(source.id) if source is not None else None
        if source is None or dataset is None:
            continue
        with suppress(WorkbenchError, OSError):  # the reader reports invalid data
            args = _with_names(node, load_source(source.kind), dataset)
            graph = graph if args == node.args else graph.replace_node(replace(node, args=args))
    return graph


def _with_names(node: Node, kind: SourceKind, dataset: Dataset) -> Mapping[str, Value]:
    args = dict(node.args)
    if node.op == "follow_points":
        names, pairs = kind.key_point_names(dataset), kind.key_point_pairs(dataset)
    elif node.op == "follow_masks" and args.get("interpolation") != "linear":
        names = kind.class_names(dataset)
        pairs = side_pairs(names) if len({*names}) == len(names) else []
    else:
        names = kind.class_names(dataset) if declared_pairs(node) else []
        return {**args, "names": tuple(names)} if names else args
    if names and args.get("pairs") == _as_items(side_pairs(side_names(node))):
        args.pop("pairs", None)  # from the names of other data
    if names and pairs:
        args.setdefault("pairs", _as_items(pairs))
    return {**args, "names": tuple(names)} if names and args.get("pairs") else args


def _as_items(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple("=".join(pair) for pair in pairs)


def _source_of(graph: Graph, node: Node, name: str) -> Source | None:
    """Return the source that a follower's input comes from, directly or through other followers."""
    while (port := node.inputs.get(name)) is not None and graph.has(port.node):
        node = graph.node(port.node)
        if isinstance(node, Source):
            return node
        if node.op not in FOLLOWERS:
            return None
    return None
