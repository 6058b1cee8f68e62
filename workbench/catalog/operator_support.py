"""Which operators the workbench can place, and why not the others."""

from __future__ import annotations

from workbench.catalog.spec import OpSpec
from workbench.sources import kind_of_reader, load_source


def unusable_reason(op: OpSpec, *, described: bool) -> str | None:
    """Why the workbench cannot place an operator yet, or None where it can.

    What an operator needs beyond this rule, its row in the overlay says. ``described`` says whether
    it has one.
    """
    if not described:
        return "not described in the overlay yet"
    if op.category == "source" and not kind_of_reader(op.name):
        return "no module of workbench.sources reads with it: not yet"
    kind = kind_of_reader(op.name)
    found = load_source(kind).located_by if kind else frozenset()
    needed = (arg for arg in op.args.values() if arg.required and arg.name not in found)
    if any(arg.kind == "object" for arg in needed):
        return "calls a Python function: write yours with @workbench.node, in Python"
    return None
