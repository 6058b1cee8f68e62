"""Rewrites of a graph that bring speed. Adding one is adding a module here, and its test.

Each module has a ``REWRITE``; its name is the module's, with hyphens. The module's docstring is the
law: what is put in the place of what, and why the pixels stay, or by how much they may move. No
rewrite touches what draws: seeds and the inputs of generators stay as they are, so the draws do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.check import check_graph
from workbench.graph.devices import infer_devices
from workbench.graph.model import Graph

Class = Literal["exact", "near"]
Sites = Callable[[Graph, Catalog], Iterator[Graph]]

_MOST_SITES = 400
"""Applications of rewrites to one graph: each brings a node further, so fewer end it."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite.

    Parameters
    ----------
    title:
        What it does, as a button says it.
    sites:
        For one body of a graph: the bodies in which it is done at one place, the first first.
    exact_on:
        Where every bit stays: ``cpu``, ``gpu``. Elsewhere, and where it is empty, pixels are near.
    """

    title: str
    sites: Sites
    exact_on: frozenset[str] = frozenset()

    def class_in(self, graph: Graph, catalog: Catalog) -> Class:
        """Whether every bit stays in a graph: on all devices that it runs on."""
        devices = {"cpu" if d == "cpu" else "gpu" for d in infer_devices(graph, catalog).values()}
        return "exact" if devices <= self.exact_on else "near"


EVERYWHERE = frozenset({"cpu", "gpu"})


@cache
def load_rewrites() -> Mapping[str, Rewrite]:
    """All rewrites by name, in the order in which they are tried: those that are exact first."""
    found: dict[str, Rewrite] = {}
    for module in sorted(info.name for info in iter_modules(__path__)):
        if not module.startswith("_"):
            rewrite = import_module(f"{__name__}.{module}").REWRITE
            found[module.replace("_", "-")] = rewrite
    return dict(sorted(found.items(), key=lambda item: not item[1].exact_on))


def law_of(name: str) -> str:
    """The law of a rewrite, as its module says it."""
    module = sys.modules.get(f"{__name__}.{name.replace('-', '_')}")
    return (module.__doc__ or "").strip() if module else ""


def rewritten(graph: Graph, catalog: Catalog, names: Collection[str]) -> Graph:
    """The graph in which these rewrites are done wherever they can be; itself where nowhere.

    What one makes possible for another of them is done too. A place where a rewrite would bring a
    fault is left. Raises GraphEditError for a name that no rewrite has.
    """
    known = load_rewrites()
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise GraphEditError(
                f"{name[:60]!r} is no rewrite. There are {', '.join(known)}.{hint}"
            )
    chosen = [rewrite for name, rewrite in known.items() if name in set(names)]
    faults = {(f.node, f.arg, f.code) for f in check_graph(graph, catalog)}
    for _ in range(_MOST_SITES):
        after = next((g for r in chosen for g in _sound(r, graph, catalog, faults)), None)
        if after is None:
            return graph
        graph = after
    return graph


def _sound(
    rewrite: Rewrite, graph: Graph, catalog: Catalog, known: Collection[tuple[str, str, str]]
) -> Iterator[Graph]:
    """The whole graphs with the rewrite done at one place that have no other faults than known."""
    for scope, _ in graph.bodies():
        for body in rewrite.sites(graph.at_scope(scope), catalog):
            after = body.whole
            if all((f.node, f.arg, f.code) in known for f in check_graph(after, catalog)):
                yield after
