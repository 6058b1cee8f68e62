"""Convert ``and``, ``or`` and ``not`` of a traced pipeline to operators of the graph.

DALI converts ``a and b`` to a split by ``a``, the computation of ``b`` for one part, and a merge.
Both values are Boolean, so the result is equal to ``a & b`` if ``b`` needs no random values.
Otherwise ``a and b`` remains an ``if``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Value
from workbench.emit.pipeline_import.calls.conditionals import MERGE, SPLIT, predicate_of
from workbench.emit.pipeline_import.calls.expressions import ARITHMETIC
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp

_CHECK, _NOT = "_conditional__ValidateLogical", "_conditional__Not_"
_SIDES = {"and": (0, "bitand"), "or": (1, "bitor")}
"""For ``and`` and ``or``, the index of the part that evaluates the right operand, and the operator.
"""


def without_logic(
    ops: Sequence[TracedOp], outputs: Sequence[TracedInput], random_schemas: Collection[str]
) -> tuple[list[TracedOp], tuple[TracedInput, ...]]:
    """Replace ``and``, ``or`` and ``not`` by operators. Returns the new calls and outputs.

    Each call follows its inputs. ``random_schemas`` are the schemas of random operators.
    """
    makers = {edge: op for op in ops for edge, _ in op.outputs}
    moved: dict[str, str] = {}
    """Maps each removed edge to the edge that replaces it."""
    removed: set[str] = set()
    written: dict[str, TracedOp] = {}
    checks = {op.name: op for op in ops if op.schema == _CHECK}
    by_predicate: dict[str, list[TracedOp]] = {}
    for op in ops:
        if op.schema == SPLIT:
            by_predicate.setdefault(predicate_of(op), []).append(op)
    for op in ops:
        if op.schema == _NOT:
            args: dict[str, Value] = {"integer_constants": (0,)}
            written[op.name] = _expression_op(op, "eq(&0 $0:int32)", op.inputs, args)
            makers[op.outputs[0][0]] = written[op.name]
        elif op.schema == MERGE and (check := makers[predicate_of(op)]).name in checks:
            word = str(check.args.get("expression_name", ""))
            side, operator = _SIDES.get(word, (0, ""))
            splits = _splits(
                op.inputs[side].edge, check.outputs[0][0], makers, random_schemas, moved
            )
            if not operator or splits is None:
                continue
            moved |= {split.outputs[side][0]: split.inputs[0].edge for split in splits}
            removed |= {split.name for split in by_predicate[predicate_of(op)]}
            operands = (check.inputs[0], op.inputs[side])
            written[op.name] = _expression_op(op, f"{operator}(&0 &1)", operands, {})
            makers[op.outputs[0][0]] = written[op.name]
    for check in checks.values():
        moved[check.outputs[0][0]] = check.inputs[0].edge

    def read(edge: TracedInput) -> TracedInput:
        name = edge.edge
        while name in moved:
            name = moved[name]
        return edge._replace(edge=name)

    rest = (written.get(op.name, op) for op in ops if op.name not in removed | checks.keys())
    return (
        [replace(op, inputs=tuple(map(read, op.inputs))) for op in rest],
        tuple(map(read, outputs)),
    )


def _splits(
    edge: str,
    predicate: str,
    makers: Mapping[str, TracedOp],
    random_schemas: Collection[str],
    moved: Mapping[str, str],
) -> list[TracedOp] | None:
    """Return the splits by ``predicate`` that an edge is computed from.

    Returns None if operators other than arithmetic are in between.
    """
    found: dict[str, TracedOp] = {}
    waiting, seen = [edge], set[str]()
    while waiting:
        edge = waiting.pop()
        while edge in moved:
            edge = moved[edge]
        maker = makers[edge]
        if maker.name in seen:
            continue
        seen.add(maker.name)
        if maker.schema == SPLIT and predicate_of(maker) == predicate:
            found[maker.name] = maker
            continue
        if (
            maker.schema in (SPLIT, MERGE)
            or not maker.inputs
            or maker.schema in random_schemas
            or maker.refused
        ):
            return None
        waiting += [read.edge for read in maker.inputs]
    return list(found.values())


def _expression_op(
    op: TracedOp, expression: str, operands: Sequence[TracedInput], args: Mapping[str, Value]
) -> TracedOp:
    inputs = tuple(operand._replace(argument=None) for operand in operands)
    described = {"expression_desc": expression, **args}
    return replace(op, schema=ARITHMETIC, inputs=inputs, args=described)
