"""Choose which sequences of rewrites to measure, from the results of the measurements so far."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from workbench.graph.model import Graph, Source
from workbench.graph.rewrites import Class, find_rewrite, in_order, rewritten_by, rewritten_next
from workbench.graph.types.typed_graph import TypedGraph

Names = tuple[str, ...]

_MOST_TRIES = 1500
"""Maximum number of times that a rewrite is tried on a graph, which takes about 1 ms each."""
_PRIOR, _PRIOR_WEIGHT = math.log(1.05), 0.02
"""Expected gain of a rewrite (log of the ratio) before it is measured, and the weight of this."""
_BETTER, _OTHER_ORDER = math.log(1.02), math.log(1 / 1.5)
"""Predicted ratio to the best sequence (its log) for a sequence to be measured: of any, and of one
to which no further rewrite applies. For these the prediction does not know what the order costs."""


class CandidateRewrite(NamedTuple):
    """A rewrite of a sequence. In ``graph``, this rewrite and all rewrites before it are applied.

    ``kind`` is ``exact`` if the graph's outputs must be identical to the original's. After a
    ``near`` rewrite, it is always ``near``.
    """

    name: str
    graph: Graph
    kind: Class


class RewriteSearch:
    """Search over sequences of rewrites, without measuring anything itself.

    All sequences that lead to different graphs are candidates. The gain of a sequence is predicted
    as the product of the gains of its rewrites, which are fitted to the measured sequences (ridge
    regression of the logarithms, towards 1.05 for a rewrite that was not measured). The result
    depends only on the graph, the names and the measured gains.
    """

    def __init__(self, typed: TypedGraph, names: Collection[str]) -> None:
        self._typed = typed
        self._classes: dict[str, Class] = {
            name: find_rewrite(name).class_in(typed) for name in in_order(names)
        }
        self._names = sorted(self._classes, key=lambda name: self._classes[name] != "exact")
        self._sequences: dict[int, Names] = {}
        self._complete: set[int] = set()
        """Keys of graphs to which no further rewrite applies."""
        self._gains: dict[int, list[float]] = {}
        self._measured: dict[int, Names] = {}
        self._refused: list[frozenset[str]] = []
        self._find(typed, ())

    def steps(self, names: Sequence[str]) -> tuple[CandidateRewrite, ...]:
        """Return the rewrites of a sequence with their graphs, without those that have no effect.

        Exact rewrites come first if the order makes no difference.
        """
        first = sorted(names, key=lambda name: self._classes[name] != "exact")
        found, sorted_first = self._steps(names), self._steps(first)
        same = found and sorted_first and _key(found[-1].graph) == _key(sorted_first[-1].graph)
        return sorted_first if same else found

    def _steps(self, names: Sequence[str]) -> tuple[CandidateRewrite, ...]:
        steps: list[CandidateRewrite] = []
        typed = self._typed
        for name in names:
            after = rewritten_next(typed, [step.name for step in steps], name)
            if after.graph != typed.graph:
                near = bool(steps) and steps[-1].kind == "near"
                kind: Class = "near" if near else self._classes[name]
                steps.append(CandidateRewrite(name, after.graph, kind))
                typed = after
        return tuple(steps)

    def first(self, without: Collection[str] = ()) -> Names:
        """Return the sequence that is measured first: each rewrite once it applies, exact first."""
        left = [name for name in self._names if name not in without]
        names: Names = ()
        typed, found = self._typed, True
        while found:
            found = False
            for name in tuple(left):
                after = rewritten_next(typed, names, name)
                if after.graph != typed.graph:
                    typed, names, found = after, (*names, name), True
                    left.remove(name)
        return names

    def _find(self, typed: TypedGraph, names: Names) -> None:
        """Find the sequences that continue ``names``, depth first."""
        tries = _MOST_TRIES
        todo = [(typed, names)]
        self._sequences[_key(typed.graph)] = names
        while todo and tries > 0:
            typed, names = todo.pop()
            more = []
            complete = True
            for name in self._names:
                if name in names:
                    continue
                tries -= 1
                after = rewritten_next(typed, names, name)
                key = _key(after.graph)
                complete &= after is typed
                if key not in self._sequences:
                    self._sequences[key] = (*names, name)
                    more.append((after, (*names, name)))
            if complete:
                self._complete.add(_key(typed.graph))
            todo += reversed(more)

    def add(self, step: CandidateRewrite, names: Names, ratio: float) -> None:
        """Record a measured sequence, and its speed (or other value) relative to the original."""
        key = _key(step.graph)
        self._measured.setdefault(key, names)
        self._gains.setdefault(key, []).append(math.log(max(ratio, 1e-9)))

    def refuse(self, names: Collection[str]) -> None:
        """Exclude all sequences that contain these rewrites."""
        self._refused.append(frozenset(names))

    def best(self) -> tuple[Names, float]:
        """Return the best measured sequence and its ratio; the original graph has the ratio 1."""
        means = {key: fmean(gains) for key, gains in self._gains.items()}
        key = max(means, key=lambda each: means[each], default=0)
        if means.get(key, 0.0) <= 0:
            return (), 1.0
        return self._measured[key], math.exp(means[key])

    def ratio_of(self, names: Names) -> float:
        """Return the measured or predicted ratio of a sequence to the original graph."""
        steps = self.steps(names)
        gains = self._gains.get(_key(steps[-1].graph)) if steps else [0.0]
        gain = dict(zip(self._names, self._fitted_gains(), strict=True))
        return math.exp(fmean(gains) if gains else sum(gain[name] for name in names))

    def candidates(self) -> Iterator[Names]:
        """Yield sequences that may be better than the best one, the most promising first."""
        gain = dict(zip(self._names, self._fitted_gains(), strict=True))
        best = math.log(self.best()[1])
        promising = []
        for key, names in self._sequences.items():
            predicted = sum(gain[name] for name in names)
            enough = best + (_OTHER_ORDER if key in self._complete else _BETTER)
            if predicted > enough and key not in self._measured:
                promising.append((-predicted, len(names), names))
        for _, _, names in sorted(promising):
            if not any(refused <= {*names} for refused in self._refused):
                yield names

    def _fitted_gains(self) -> list[float]:
        chosen = [
            [float(name in names) for name in self._names] for names in self._measured.values()
        ]
        x = np.array(chosen, float).reshape(-1, len(self._names))
        y = np.array([fmean(self._gains[key]) for key in self._measured], float)
        weights = _PRIOR_WEIGHT * np.eye(len(self._names))
        right = x.T @ y + _PRIOR_WEIGHT * np.full(len(self._names), _PRIOR)
        return [float(each) for each in np.linalg.solve(x.T @ x + weights, right)]


def _key(graph: Graph) -> int:
    """Return a hash of what a graph computes, whatever the ids and the order of its nodes."""
    nodes = {node.id: node for node in graph.nodes}
    known: dict[str, int] = {}

    def of(node_id: str) -> int:
        if node_id not in known:
            node = nodes[node_id]
            links = [(name, of(port.node), port.output) for name, port in node.inputs.items()]
            name = node.id if isinstance(node, Source) or node.bodies else ""
            parts = (node.op, sorted(node.args.items()), node.device, node.muted, node.seed)
            known[node_id] = hash(repr((name, parts, sorted(links), node.bodies)))
        return known[node_id]

    return hash(tuple((name, of(port.node), port.output) for name, port in graph.outputs.items()))


def needs_of(typed: TypedGraph, names: Sequence[str]) -> tuple[str, ...]:
    """Return which other rewrites the last one in ``names`` needs in order to have an effect."""
    graph = typed.graph
    *needed, name = names
    if rewritten_by(typed, [name]) != graph:  # the usual case: skip testing each name
        return ()
    for each in reversed(names[:-1]):
        fewer = [other for other in needed if other != each]
        if rewritten_by(typed, [*fewer, name]) != rewritten_by(typed, fewer):
            needed = fewer
    return tuple(needed)


def required_rewrites(typed: TypedGraph, names: Sequence[str]) -> frozenset[str]:
    """Return the rewrites without which the last one in ``names`` has no effect."""
    *before, name = names
    found = set()
    for each in before:
        others = [other for other in before if other != each]
        if rewritten_by(typed, [*others, name]) == rewritten_by(typed, others):
            found.add(each)
    return frozenset(found)
