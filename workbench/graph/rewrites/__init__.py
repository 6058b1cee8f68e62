"""Define rewrites that make a graph faster, one function each, in a module per subject.

A rewrite is a function decorated with ``rewrite`` or ``placement``. The name of the rewrite is the
function's name with hyphens. The docstring states what is replaced by what, and why the pixels
are unchanged, or by how much they may differ. No rewrite affects random values: seeds and the
inputs of generators are preserved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from inspect import getdoc
from pkgutil import iter_modules
from typing import Literal

from workbench.errors import GraphEditError
from workbench.graph.checks.check import all_faults
from workbench.graph.model import Graph
from workbench.graph.types.typed_graph import TypedGraph
from workbench.names import did_you_mean

Class = Literal["exact", "near"]
Sites = Callable[[TypedGraph], Iterator[Graph]]
Nodes = Callable[[TypedGraph], Iterable[str]]
AtNode = Callable[[TypedGraph, str], Graph | None]

_MOST_SITES = 400
"""Maximum number of times that rewrites are applied to one graph, to end an infinite loop."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite.

    Parameters
    ----------
    name:
        Name of the rewrite in commands.
    title:
        Description of the rewrite, as the label of a button.
    law:
        What is replaced by what, and why the pixels are unchanged.
    sites:
        Function that yields, for one body of a graph, the body after applying the rewrite at each
        possible place, starting with the first place.
    exact_on:
        Devices (``cpu``, ``gpu``) on which the result is bit-identical. On other devices the
        rewrite is near.
    nodes, at_node:
        Functions of rewrites that are applied and measured node by node. ``nodes`` returns the
        ids of a body's nodes in the order in which to try them. ``at_node`` returns the body after
        applying the rewrite at one node, or None if that is impossible. ``NAME@NODE`` names the
        rewrite at one node. Both are None if the rewrite is applied everywhere at once.
    needs_gpu:
        Whether the rewrite is useful only on a machine with a GPU.
    tried_last:
        Whether the rewrite is tried after the others of its class, because it prevents them.
    """

    name: str
    title: str
    law: str
    sites: Sites
    exact_on: frozenset[str] = frozenset()
    nodes: Nodes | None = None
    at_node: AtNode = lambda typed, node: None
    needs_gpu: bool = False
    tried_last: bool = False

    def at(self, node: str) -> Rewrite:
        """Return this rewrite restricted to one node."""
        return replace(
            self, title=f"{self.title}: {node}", sites=partial(_sites_of, self, only=node)
        )

    def class_in(self, typed: TypedGraph) -> Class:
        """Return ``exact`` if the result is bit-identical on all devices in use, else ``near``."""
        devices = {"cpu" if d == "cpu" else "gpu" for d in typed.devices.values()}
        return "exact" if devices <= self.exact_on else "near"


def _sites_of(rewrite: Rewrite, typed: TypedGraph, only: str = "") -> Iterator[Graph]:
    for node in rewrite.nodes(typed) if rewrite.nodes else ():
        after = rewrite.at_node(typed, node) if only in ("", node) else None
        if after is not None:
            yield after


def rewrite(
    title: str, *, exact_on: frozenset[str] = frozenset(), tried_last: bool = False
) -> Callable[[Sites], Rewrite]:
    """Decorator for a function that applies a rewrite to a body, and yields one body per place."""

    def decorate(sites: Sites) -> Rewrite:
        return Rewrite(*_named(sites, title), sites, exact_on, tried_last=tried_last)

    return decorate


def placement(title: str, nodes: Nodes) -> Callable[[AtNode], Rewrite]:
    """Decorator for a function that moves a node to the CPU or GPU, or returns None.

    The resulting rewrite is measured for each node separately. Its class is near, not exact.
    """

    def decorate(at_node: AtNode) -> Rewrite:
        plain = Rewrite(
            *_named(at_node, title), _no_sites, nodes=nodes, at_node=at_node, needs_gpu=True
        )
        return replace(plain, sites=partial(_sites_of, plain))

    return decorate


def _named(function: Callable[..., object], title: str) -> tuple[str, str, str]:
    return function.__name__.replace("_", "-"), title, getdoc(function) or ""


def _no_sites(typed: TypedGraph) -> Iterator[Graph]:
    yield from ()


EVERYWHERE = frozenset({"cpu", "gpu"})


@cache
def load_rewrites() -> Mapping[str, Rewrite]:
    """Return all rewrites by name, in the order in which they are tried.

    Exact rewrites come before near ones. Within each class, rewrites with ``tried_last`` come last.
    """
    names = (info.name for info in iter_modules(__path__) if not info.name.startswith("_"))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    found = [each for module in modules for each in vars(module).values()]
    rewrites = sorted((each for each in found if isinstance(each, Rewrite)), key=_sort_key)
    return {each.name: each for each in rewrites}


def _sort_key(rewrite: Rewrite) -> tuple[bool, bool, str]:
    return not rewrite.exact_on, rewrite.tried_last, rewrite.name


def find_rewrite(name: str) -> Rewrite:
    """Return the rewrite ``NAME`` or ``NAME@NODE``. Raises GraphEditError for an unknown name."""
    known = load_rewrites()
    base, at, node = name.partition("@")
    found = known.get(base)
    if found is None or (at and found.nodes is None):
        hint = did_you_mean(base, known, f"Use one of: {', '.join(known)}.")
        raise GraphEditError(f"There is no rewrite {name[:60]!r}. {hint}")
    return found.at(node) if at else found


def by_node(typed: TypedGraph, names: Collection[str]) -> list[str]:
    """Replace each rewrite that is measured node by node with one ``NAME@NODE`` per node."""
    found = []
    for name in names:
        nodes = find_rewrite(name).nodes
        if nodes is None or "@" in name:
            found.append(name)
            continue
        bodies = (typed.at_scope(scope) for scope, _ in typed.graph.bodies())
        found += [f"{name}@{node}" for body in bodies for node in nodes(body)]
    return found


def in_order(names: Collection[str]) -> list[str]:
    """Sort rewrite names in the order in which they are tried (``load_rewrites``)."""
    places = {name: place for place, name in enumerate(load_rewrites())}
    return sorted(dict.fromkeys(names), key=lambda name: places[name.partition("@")[0]])


def rewrite_law(name: str) -> str:
    """Return the law (the docstring) of a rewrite, or an empty string for an unknown name."""
    found = load_rewrites().get(name.partition("@")[0])
    return found.law if found else ""


def rewritten(typed: TypedGraph, names: Collection[str]) -> Graph:
    """Apply rewrites wherever possible. If none applies, the same graph is returned.

    Also applies rewrites that a previous rewrite makes possible, and skips applications that would
    add a fault. Raises GraphEditError for an unknown name.
    """
    found = {name: find_rewrite(name) for name in names}
    return _applied(typed, [found[name] for name in in_order(names)]).graph


def rewritten_next(typed: TypedGraph, before: Sequence[str], name: str) -> TypedGraph:
    """Apply one more rewrite of a sequence, after the rewrites ``before``.

    It is applied wherever possible, and then so are the earlier ones that it makes possible.
    """
    chosen = [find_rewrite(each) for each in (*before, name)]
    after = _applied(typed, chosen[-1:])
    return after if after is typed else _applied(after, chosen)


def rewritten_by(typed: TypedGraph, names: Sequence[str]) -> Graph:
    """Apply a sequence of rewrites in the given order (see ``rewritten_next``)."""
    for place, name in enumerate(names):
        typed = rewritten_next(typed, names[:place], name)
    return typed.graph


def _applied(typed: TypedGraph, chosen: Sequence[Rewrite]) -> TypedGraph:
    """Apply the first of these rewrites that is possible and adds no fault, until none is."""
    known = cache(partial(_faults, typed))
    for _ in range(_MOST_SITES):
        results = (each for rewrite in chosen for each in _results(rewrite, typed))
        after = next((each for each in results if _faults(each) <= known()), None)
        if after is None:
            break
        typed = after
    return typed


def _faults(typed: TypedGraph) -> set[tuple[str, str, str]]:
    return {(fault.node, fault.arg, fault.code) for fault in all_faults(typed)}


def _results(rewrite: Rewrite, typed: TypedGraph) -> Iterator[TypedGraph]:
    """Yield the whole graph after each application of a rewrite."""
    for scope, _ in typed.graph.bodies():
        for body in rewrite.sites(typed.at_scope(scope)):
            yield typed.for_graph(body.whole)
