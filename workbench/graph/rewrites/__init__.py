"""Rewrites of a graph that make it faster: a function for each, in a module for each subject.

A rewrite is a function that is decorated by ``rewrite`` or ``placement``. Its name, with hyphens,
is that of the rewrite. Its docstring is the law: what is put in the place of what, and why the
pixels stay, or by how much they may move. No rewrite touches what draws: seeds and the inputs of
generators stay as they are, so the draws do.
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
"""Applications of rewrites to one graph: each brings a node further, so fewer end it."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite.

    Parameters
    ----------
    name:
        What it is called in commands.
    title:
        What it does, as a button says it.
    law:
        What is put in the place of what, and why the pixels stay.
    sites:
        For one body of a graph: the bodies in which it is done at one place, the first first.
    exact_on:
        Where every bit stays: ``cpu``, ``gpu``. Elsewhere, and where it is empty, pixels are near.
    nodes, at_node:
        For one body, ids of the nodes at each of which it is tried and measured by itself, in that
        order, and the body in which it is done at one, None where it cannot be. ``NAME@NODE`` is
        the rewrite there alone. None: it is done everywhere at once.
    needs_gpu:
        Whether it is of use on a machine with a GPU alone.
    tried_last:
        Whether it is tried behind the others of its class: what it makes leaves them no place.
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
        """This rewrite at one node alone."""
        return replace(
            self, title=f"{self.title}: {node}", sites=partial(_sites_of, self, only=node)
        )

    def class_in(self, typed: TypedGraph) -> Class:
        """Whether every bit stays in a graph: on all devices that it runs on."""
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
    """Make a rewrite of a function that yields the bodies in which it is done at one place."""

    def made(sites: Sites) -> Rewrite:
        return Rewrite(*_named(sites, title), sites, exact_on, tried_last=tried_last)

    return made


def placement(title: str, nodes: Nodes) -> Callable[[AtNode], Rewrite]:
    """Make a rewrite of a function that moves a node to the other side, or returns None.

    It is measured node by node, and pixels are near.
    """

    def made(at_node: AtNode) -> Rewrite:
        plain = Rewrite(
            *_named(at_node, title), _nowhere, nodes=nodes, at_node=at_node, needs_gpu=True
        )
        return replace(plain, sites=partial(_sites_of, plain))

    return made


def _named(function: Callable[..., object], title: str) -> tuple[str, str, str]:
    """Name, title and law of the rewrite that a function is."""
    return function.__name__.replace("_", "-"), title, getdoc(function) or ""


def _nowhere(typed: TypedGraph) -> Iterator[Graph]:
    yield from ()


EVERYWHERE = frozenset({"cpu", "gpu"})


@cache
def load_rewrites() -> Mapping[str, Rewrite]:
    """All rewrites by name, in the order in which they are tried: those that are exact first.

    Of each class those that are ``tried_last`` come last.
    """
    names = (info.name for info in iter_modules(__path__) if not info.name.startswith("_"))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    found = [each for module in modules for each in vars(module).values()]
    rewrites = sorted((each for each in found if isinstance(each, Rewrite)), key=_order)
    return {each.name: each for each in rewrites}


def _order(rewrite: Rewrite) -> tuple[bool, bool, str]:
    return not rewrite.exact_on, rewrite.tried_last, rewrite.name


def find_rewrite(name: str) -> Rewrite:
    """The rewrite of a name, or of ``NAME@NODE``. Raises GraphEditError where there is none."""
    known = load_rewrites()
    base, at, node = name.partition("@")
    found = known.get(base)
    if found is None or (at and found.nodes is None):
        hint = did_you_mean(base, known)
        there = f"There are {', '.join(known)}. {hint}".rstrip()
        raise GraphEditError(f"{name[:60]!r} is no rewrite. {there}")
    return found.at(node) if at else found


def by_node(typed: TypedGraph, names: Collection[str]) -> list[str]:
    """The names, those of rewrites that are measured node by node as one for each node."""
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
    """The names in the order in which they are tried: that of ``load_rewrites``."""
    places = {name: place for place, name in enumerate(load_rewrites())}
    return sorted(dict.fromkeys(names), key=lambda name: places[name.partition("@")[0]])


def law_of(name: str) -> str:
    """The law of a rewrite; empty for a name that none has."""
    found = load_rewrites().get(name.partition("@")[0])
    return found.law if found else ""


def rewritten(typed: TypedGraph, names: Collection[str]) -> Graph:
    """The graph in which these rewrites are done wherever they can be; itself where nowhere.

    What one makes possible for another of them is done too. A place where a rewrite would bring a
    fault is left. Raises GraphEditError for a name that no rewrite has.
    """
    found = {name: find_rewrite(name) for name in names}
    chosen = [found[name] for name in in_order(names)]
    faults = {(f.node, f.arg, f.code) for f in all_faults(typed)}
    for _ in range(_MOST_SITES):
        after = next((each for r in chosen for each in _sound(r, typed, faults)), None)
        if after is None:
            break
        typed = after
    return typed.graph


def _sound(
    rewrite: Rewrite, typed: TypedGraph, known: Collection[tuple[str, str, str]]
) -> Iterator[TypedGraph]:
    """The whole graphs with the rewrite done at one place that have no other faults than known."""
    for scope, _ in typed.graph.bodies():
        for body in rewrite.sites(typed.at_scope(scope)):
            after = typed.of(body.whole)
            if all((f.node, f.arg, f.code) in known for f in all_faults(after)):
                yield after
