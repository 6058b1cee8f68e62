"""Merge the calls of a statement that a graph cannot represent into one opaque node.

DALI converts an ``if`` to dozens of calls that split and merge the batch. These calls have no
meaning alone, and neither have the operators in a branch, which receive only part of the batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from workbench.catalog.spec import MOST_OPAQUE_OUTPUTS, OPAQUE, Device
from workbench.emit.pipeline_import.calls.conditionals import MERGE, SPLIT, predicate_of
from workbench.emit.pipeline_import.calls.nodes import Call, call_name
from workbench.emit.pipeline_import.ids import NodeCalls
from workbench.emit.pipeline_import.trace.source_lines import Lines, is_library, library_function
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp

_REASONS = 3
_CONDITION = "condition"


def fold_calls(pairs: NodeCalls, lines: Lines, outputs: Collection[str]) -> NodeCalls:
    """Replace each group of calls that only work together with one opaque call.

    In ``pairs``, each call follows its inputs; ``outputs`` are the output edges of the pipeline.
    Merged ranges do not overlap, and include all calls between two merged calls, so that no cycle
    arises. Without opaque calls, ``pairs`` is returned unchanged.
    """
    stretches = list(_statement_ranges([op for op, _ in pairs], lines))
    folds = [_indices_to_fold(pairs[part], lines) for part in stretches]
    inside = {
        pairs[part][i][0].name for part, fold in zip(stretches, folds, strict=True) for i in fold
    }
    readers: Counter[str] = Counter(outputs)
    for op, call in pairs:
        readers.update(edge.edge for edge in _used_edges(op, call, inside))
    result: list[tuple[TracedOp, Call]] = []
    for part, fold in zip(stretches, folds, strict=True):
        calls = pairs[part]
        node = _node([calls[i] for i in fold], lines, readers)
        if node is None:
            result += calls
            continue
        behind = _dependent_calls([op for op, _ in calls], fold)
        rest = [i for i in range(len(calls)) if i not in fold]
        result += [calls[i] for i in rest if i not in behind]
        result.append(node)
        result += [calls[i] for i in rest if i in behind]
    return result


def _used_edges(op: TracedOp, call: Call, inside: Collection[str]) -> Iterator[TracedInput]:
    """Yield the input edges of a call, without constants that the graph's node stores."""
    yield from op.inputs if op.name in inside else call.inputs.values()


def _statement_ranges(ops: Sequence[TracedOp], lines: Lines) -> Iterator[slice]:
    """Yield the range of calls of each statement. All calls of an ``if`` are in one range."""
    keys = [lines.block(op).key for op in ops]
    cuts = {0, *(i for i in range(1, len(ops)) if keys[i] != keys[i - 1])}
    for first, last in _conditions(ops):
        cuts -= set(range(first + 1, last + 1))
    begins = sorted(cuts)
    for begin, end in zip(begins, [*begins[1:], len(ops)], strict=True):
        yield slice(begin, end)


def _conditions(ops: Sequence[TracedOp]) -> Iterator[tuple[int, int]]:
    """Yield the range of each ``if``: from the first split by a predicate to the last merge."""
    open_since: dict[str, int] = {}
    merged: dict[str, tuple[int, int]] = {}
    for index, op in enumerate(ops):
        predicate = predicate_of(op)
        if op.schema == SPLIT:
            if predicate in merged:  # another condition on the same
                yield merged.pop(predicate)
                del open_since[predicate]
            open_since.setdefault(predicate, index)
        elif op.schema == MERGE and predicate in open_since:
            merged[predicate] = open_since[predicate], index
    yield from merged.values()


def _indices_to_fold(calls: NodeCalls, lines: Lines) -> list[int]:
    """Return the indices of the calls to merge, or an empty list if the calls can stay separate."""
    if not any(call.opaque for _, call in calls):
        return []
    core = {
        index
        for index, (op, call) in enumerate(calls)
        if call.opaque or lines.block(op).branch or is_library(op)
    }
    ops = [op for op, _ in calls]
    between = _dependent_calls(ops, core) & _required_calls(ops, core)
    return sorted(core | between) if len(core) > 1 else []


def _dependent_calls(ops: Sequence[TracedOp], start: Collection[int]) -> set[int]:
    found: set[int] = set()
    edges: set[str] = set()
    for index, op in enumerate(ops):
        if any(edge.edge in edges for edge in op.inputs):
            found.add(index)
        if index in found or index in start:
            edges |= {edge for edge, _ in op.outputs}
    return found


def _required_calls(ops: Sequence[TracedOp], start: Collection[int]) -> set[int]:
    """Return the indices of the calls that the calls ``start`` depend on."""
    found: set[int] = set()
    edges: set[str] = set()
    for index in reversed(range(len(ops))):
        if any(edge in edges for edge, _ in ops[index].outputs):
            found.add(index)
        if index in found or index in start:
            edges |= {edge.edge for edge in ops[index].inputs}
    return found


def _node(calls: NodeCalls, lines: Lines, readers: Counter[str]) -> tuple[TracedOp, Call] | None:
    """Return the opaque call that replaces several calls.

    Returns None if there are no calls, or if the opaque call would have too many inputs or outputs.
    """
    if not calls:
        return None
    own = {edge for op, _ in calls for edge, _ in op.outputs}
    within = Counter(edge.edge for op, _ in calls for edge in op.inputs)
    # an edge may enter on both sides
    inputs = dict.fromkeys(
        TracedInput(e.edge, e.device) for op, _ in calls for e in op.inputs if e.edge not in own
    )
    outputs = tuple(
        (edge, side) for op, _ in calls for edge, side in op.outputs if readers[edge] > within[edge]
    )
    if len(outputs) > MOST_OPAQUE_OUTPUTS or len(inputs) > OPAQUE["opaque.0"].max_inputs:
        return None
    last = next(op for op, call in reversed(calls) if call.opaque)
    reasons = Counter(call.opaque for _, call in calls if call.opaque).most_common(_REASONS)
    why = f"{'; '.join(reason for reason, _ in reasons)} (it contains {len(calls)} calls)"
    text = lines.block(last).text
    name = _name(calls, last, text)
    device: Device = "gpu" if any(side == "gpu" for _, side in outputs) else "cpu"
    spec = OPAQUE[f"opaque.{len(outputs)}"]
    return (
        replace(
            last, schema="", device=device, inputs=tuple(inputs), outputs=outputs, args={},
            display=_CONDITION if name == "if" else name.rpartition(".")[2], refused=None,
        ),
        Call(
            spec.name,
            {"call": name, "source": text, "why": why},
            {f"input_{index}": edge for index, edge in enumerate(inputs)},
            tuple(port.name for port in spec.outputs),
            opaque=why,
        ),
    )  # fmt: skip


def _name(calls: NodeCalls, last_call: TracedOp, text: str) -> str:
    """Return the name of an opaque call: ``if``, a function of DALI's library, or its last call."""
    if last_call.schema == MERGE and not is_library(last_call):
        return "if" if text.startswith(("if", "elif")) else _CONDITION  # as in x = a and b
    return next(
        filter(None, (library_function(op) for op, _ in reversed(calls))), call_name(last_call)
    )
