"""Choose node ids and output names, from the names in the user's code if available."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from workbench.catalog.spec import Catalog, PortKind
from workbench.emit.pipeline_import.calls.nodes import Call
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedOp
from workbench.graph.edits.edit import LONGEST, default_id
from workbench.graph.model import Node, is_name
from workbench.graph.model.ports import outputs_of
from workbench.graph.types.devices import is_generator
from workbench.names import free_name
from workbench.sources.record_features import TYPES as FEATURE_READERS

_PLURAL = {"image": "images", "label": "labels", "mask": "masks", "number": "numbers"}
_NO_WORD = re.compile(r"kwargs|args|[A-Za-z]\d*")
"""Matches variables that are unsuitable as node names: ``kwargs``, ``x``, ``X1``."""
NodeCalls = Sequence[tuple[TracedOp, Call]]


def output_names(
    calls: NodeCalls, edges: Sequence[str], catalog: Catalog, lines: Lines
) -> list[str]:
    """Return a name for each output: its name in ``return``, its variable, or else its kind."""
    ops = [op for op, _ in calls]
    targets = _targets(ops, lines)
    kinds: dict[str, PortKind] = {}
    ends: dict[str, str] = {}
    """Maps each output edge of a block, or of a reader of named features, to the output's name."""
    for op, call in calls:
        first = next((edge.edge for edge in call.inputs.values()), "")
        for index, (edge, _) in enumerate(op.outputs):
            kinds[edge] = _kind(call, index, catalog, kinds.get(first, "any"))
        if call.bodies or call.op in FEATURE_READERS:
            ends |= zip((edge for edge, _ in op.outputs), call.outputs, strict=True)
    taken: set[str] = set()
    names = []
    for edge, name in zip(edges, lines.returned(ops, len(edges)), strict=True):
        kind = "values" if kinds[edge] == "any" else _PLURAL.get(kinds[edge], kinds[edge])
        wanted = name or targets.get(edge) or ends.get(edge) or kind
        names.append(claim_name(wanted, taken))
    return names


def node_ids(
    pairs: NodeCalls, outputs: Sequence[str], catalog: Catalog, lines: Lines
) -> dict[str, str]:
    """Map DALI's name of each call to a node id. Ids differ from the output names.

    The id is the user's ``name=``, or else the assigned variable if it is a word and only this
    statement assigns it. If the call's function runs several times, the variable gets a number.
    Without either, a random argument is named after the argument, and other calls after their
    operator.
    """
    ops = [op for op, _ in pairs]
    targets = _targets(ops, lines)
    assigning = {edge: lines.statement(op) for op in ops for edge, _ in op.outputs}
    written = Counter(name for name, _ in {(targets[edge], assigning[edge]) for edge in targets})
    calls = Counter(targets.values())
    numbers: Counter[str] = Counter()
    fed: dict[str, str] = {}
    for op, _ in pairs:
        for read in op.inputs:
            fed.setdefault(read.edge, read.argument or "")
    taken = set(outputs)
    ids = {op.name: claim_name(op.name, taken) for op in ops if not op.name.startswith("__")}
    for op, call in pairs:
        if op.name in ids:
            continue
        edge = op.outputs[0][0] if len(op.outputs) == 1 else ""
        variable = targets.get(edge, "")
        if written[variable] != 1 or variable in outputs or _NO_WORD.fullmatch(variable):
            variable = ""
        elif calls[variable] > 1:
            numbers[variable] += 1
            variable = f"{variable}_{numbers[variable]}"
        spec = catalog.find(call.op)
        argument = fed.get(edge, "") if spec is not None and is_generator(spec) else ""
        word = (op.display if call.opaque else default_id(call.op)).lstrip("_")
        ids[op.name] = claim_name(variable or argument or word, taken)
    return ids


def default_variable(call: Call, index: int, catalog: Catalog) -> str:
    """Return the default variable name for an output of this kind."""
    kind = _kind(call, index, catalog, "any")
    return "values" if kind == "any" else _PLURAL.get(kind, kind)


def _targets(ops: Sequence[TracedOp], lines: Lines) -> Mapping[str, str]:
    """Map each edge to its variable, if the source code assigns it to one."""
    found: dict[str, str] = {}
    for op in ops:
        targets = lines.targets(op)
        if len(targets) == len(op.outputs):
            named = zip(op.outputs, targets, strict=True)
            found |= {edge: target for (edge, _), target in named if target.strip("_")}
    return found


def _kind(call: Call, index: int, catalog: Catalog, first_kind: PortKind) -> PortKind:
    """Return the kind of an output, or ``first_kind`` if it has the kind of the first input."""
    spec = catalog.find(call.op)
    if spec is None or call.opaque or call.bodies:
        return "any"
    is_named = spec.named_outputs or call.op in FEATURE_READERS
    named = outputs_of(Node("", call.op, call.args), spec) if is_named else ()
    output = (named or spec.outputs)[index]
    return first_kind if output.follows or output.kind == "any" else output.kind


def claim_name(preferred: str, taken: set[str]) -> str:
    """Return a unique Python name derived from ``preferred``, and add it to ``taken``.

    The name has the smallest possible numeric suffix, and at most the maximum length of node names.
    """
    name = preferred[: LONGEST - 8]
    if not is_name(name):
        name = re.sub(r"\W+", "_", name).strip("_")
        name = next((n for n in (name, f"{name}_", f"node_{name}") if is_name(n)), "node")
    stem = name.rstrip("_")
    found = name if name not in taken else free_name(stem, {*taken, stem})
    taken.add(found)
    return found
