"""Rewrites that make a graph faster: one function each, in a module per subject.

A rewrite is a function decorated with ``rewrite`` or ``placement``. Its name, with hyphens, is that
of the rewrite. Its docstring is the law: what is replaced by what, and why the pixels are
unchanged, or by how much they may differ. No rewrite affects random values: seeds and the inputs of
generators are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
"""Maximum number of applications of rewrites to one graph; each makes progress, so fewer finish
it."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite.

    Parameters
    ----------
    name:
        Its name in commands.
    title:
        What it does, as the label of a button.
    law:
        What is replaced by what, and why the pixels are unchanged.
    sites:
        For one body of a graph: the bodies after applying it at one place, first place first.
    exact_on:
        Devices on which it is bit-identical: ``cpu``, ``gpu``. Elsewhere, and if empty, it is near.
    nodes, at_node:
        For one body, ids of the nodes at which it is tried and measured separately, in that order,
        and the body after applying it at one, None if impossible. ``NAME@NODE`` is the rewrite at
        that node only. None: it is applied everywhere at once.
    needs_gpu:
        Whether it is useful only on a machine with a GPU.
    tried_last:
        Whether it is tried after others of its class, because it prevents them.
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
        """This rewrite at one node only."""
        return replace(
            self, title=f"{self.title}: {node}", sites=partial(_sites_of, self, only=node)
        )

    def class_in(self, typed: TypedGraph) -> Class:
        """True if the rewrite is bit-identical in a graph, on all devices that the graph uses."""
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
    """Make a rewrite of a function that yields the bodies after applying it at one place."""

    def decorate(sites: Sites) -> Rewrite:
        return Rewrite(*_named(sites, title), sites, exact_on, tried_last=tried_last)

    return decorate


def placement(title: str, nodes: Nodes) -> Callable[[AtNode], Rewrite]:
    """Make a rewrite of a function that moves a node to the other device, or returns None.

    It is measured node by node, and is near.
    """

    def decorate(at_node: AtNode) -> Rewrite:
        plain = Rewrite(
            *_named(at_node, title), _no_sites, nodes=nodes, at_node=at_node, needs_gpu=True
        )
        return replace(plain, sites=partial(_sites_of, plain))

    return decorate


def _named(function: Callable[..., object], title: str) -> tuple[str, str, str]:
    """Name, title and law of a rewrite function."""
    return function.__name__.replace("_", "-"), title, getdoc(function) or ""


def _no_sites(typed: TypedGraph) -> Iterator[Graph]:
    yield from ()


EVERYWHERE = frozenset({"cpu", "gpu"})


@cache
def load_rewrites() -> Mapping[str, Rewrite]:
    """All rewrites by name, in the order in which they are tried: exact ones first.

    Within each class, those that are ``tried_last`` come last.
    """
    names = (info.name for info in iter_modules(__path__) if not info.name.startswith("_"))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    found = [each for module in modules for each in vars(module).values()]
    rewrites = sorted((each for each in found if isinstance(each, Rewrite)), key=_order)
    return {each.name: each for each in rewrites}


def _order(rewrite: Rewrite) -> tuple[bool, bool, str]:
    return not rewrite.exact_on, rewrite.tried_last, rewrite.name


def find_rewrite(name: str) -> Rewrite:
    """The rewrite with a name, or ``NAME@NODE``. Raises GraphEditError if there is none."""
    known = load_rewrites()
    base, at, node = name.partition("@")
    found = known.get(base)
    if found is None or (at and found.nodes is None):
        hint = did_you_mean(base, known)
        there = f"Known: {', '.join(known)}. {hint}".rstrip()
        raise GraphEditError(f"{name[:60]!r} is not a rewrite. {there}")
    return found.at(node) if at else found


def by_node(typed: TypedGraph, names: Collection[str]) -> list[str]:
    """The names, with rewrites that are measured per node expanded to one per node."""
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
    """The names in the order in which they are tried, that of ``load_rewrites``."""
    places = {name: place for place, name in enumerate(load_rewrites())}
    return sorted(dict.fromkeys(names), key=lambda name: places[name.partition("@")[0]])


def rewrite_law(name: str) -> str:
    """The law of a rewrite; empty for an unknown name."""
    found = load_rewrites().get(name.partition("@")[0])
    return found.law if found else ""


def rewritten(typed: TypedGraph, names: Collection[str]) -> Graph:
    """The graph with these rewrites applied wherever possible; the same graph if nowhere.

    Includes places that one rewrite opens for another, and excludes places where a rewrite would
    add a fault. Raises GraphEditError for an unknown name.
    """
    found = {name: find_rewrite(name) for name in names}
    chosen = [found[name] for name in in_order(names)]
    faults = {(f.node, f.arg, f.code) for f in all_faults(typed)}
    for _ in range(_MOST_SITES):
        after = next((each for r in chosen for each in _sound_results(r, typed, faults)), None)
        if after is None:
            break
        typed = after
    return typed.graph


def _sound_results(
    rewrite: Rewrite, typed: TypedGraph, known: Collection[tuple[str, str, str]]
) -> Iterator[TypedGraph]:
    """The whole graphs after applying the rewrite at one place, without new faults."""
    for scope, _ in typed.graph.bodies():
        for body in rewrite.sites(typed.at_scope(scope)):
            after = typed.for_graph(body.whole)
            if all((f.node, f.arg, f.code) in known for f in all_faults(after)):
                yield after
