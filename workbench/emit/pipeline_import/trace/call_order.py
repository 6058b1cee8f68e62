"""Restore the order of calls in the source code, because DALI sorts them by dependency."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedOp

_NUMBERED = re.compile(r"__.+_(\d+)$")


def in_call_order(ops: Sequence[TracedOp], lines: Lines) -> list[TracedOp]:
    """Return the calls in source order, each after its inputs. Calls in a cycle are omitted.

    DALI numbers the calls that it names itself. A call named by the user is placed before the first
    call on a later line or, if there is none, before the first call that uses its output.
    """
    numbers = {op.name: float(m[1]) for op in ops if (m := _NUMBERED.match(op.name))}
    keys = {op.name: numbers.get(op.name, _between(op, ops, numbers, lines)) for op in ops}
    makers = {edge: op.name for op in ops for edge, _ in op.outputs}
    needs = {op.name: {makers[e.edge] for e in op.inputs if e.edge in makers} for op in ops}
    waiting: dict[str, list[str]] = {}
    for name, sources in needs.items():
        for source in sources:
            waiting.setdefault(source, []).append(name)
    by_name: Mapping[str, TracedOp] = {op.name: op for op in ops}
    ready: list[tuple[float, int, str]] = []
    places = {op.name: index for index, op in enumerate(ops)}
    for name in (name for name, sources in needs.items() if not sources):
        heappush(ready, (keys[name], places[name], name))
    ordered = []
    while ready:
        *_, name = heappop(ready)
        ordered.append(by_name[name])
        for follower in waiting.pop(name, ()):
            needs[follower].discard(name)
            if not needs[follower]:
                heappush(ready, (keys[follower], places[follower], follower))
    return ordered


def _between(
    op: TracedOp, ops: Sequence[TracedOp], numbers: Mapping[str, float], lines: Lines
) -> float:
    made = {edge for edge, _ in op.outputs}
    fed = [
        numbers[other.name]
        for other in ops
        if other.name in numbers and any(edge.edge in made for edge in other.inputs)
    ]
    own = lines.place(op)
    later = []
    for other in ops:
        place = lines.place(other)
        if own is None or place is None or other.name not in numbers:
            continue
        if (place.file, place.function) == (own.file, own.function) and place.line > own.line:
            later.append(numbers[other.name])
    return min(later or fed, default=float(len(ops))) - 0.5
