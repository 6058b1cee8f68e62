"""Create one-click fixes for faults: copies of the graph in which a fault is repaired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.compose import add_output, append_node, with_outputs
from workbench.graph.edits.edit import ordered_nodes
from workbench.graph.fixes import argument_fixes, flow_fixes, graph_fixes
from workbench.graph.fixes.case import REMEDIES, Case, Fix, FixCandidate, Remedies
from workbench.graph.model import Graph, Port, block_of
from workbench.graph.model.faults import WARNINGS, Fault
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import decodes, port_kind
from workbench.names import shortened

__all__ = ["Fix", "fixes", "image_output_fixes"]

_REGISTERED = (argument_fixes, flow_fixes, graph_fixes)
"""Modules that register fixes when they are imported."""

_DECODER = "decoders.image"
_LONGEST = 80
"""Maximum characters of a button label."""


def fixes(resolved: ResolvedGraph, fault: Fault) -> tuple[Fix, ...]:
    """Return one-click fixes for a fault that ``check_graph`` found in a graph.

    Each fix removes the fault. Fixes that leave the fewest other faults come first. Labels are
    unique. The result is empty if only the user can fix the fault, or if the graph has no such
    fault.
    """
    known = fault.code in WARNINGS or fault in resolved.faults
    if fault.code not in REMEDIES or not known:
        return ()
    if fault.code != "duplicate_id":
        # While nodes, or blocks around them, share an id, the faulty one is ambiguous.
        for shared in _shared_ids(resolved.graph, fault.node):
            duplicate = Case(resolved, replace(fault, node=shared))
            apart = _working_fixes(duplicate, graph_fixes.fix_duplicate_id, fault)
            if apart:
                return apart
            resolved = resolved.for_graph(graph_fixes.with_own_ids(resolved.graph, shared))
    # Nodes inside a block are fixed in their body.
    graph = resolved.graph
    body = resolved.at_scope(graph.scope_of(fault.node) if graph.has(fault.node) else "")
    found = _working_fixes(Case(body, fault), REMEDIES[fault.code])
    if found or fault.code in WARNINGS:
        return found
    return _working_fixes(Case(resolved, fault), graph_fixes.fix_by_removal)


def image_output_fixes(graph: Graph, catalog: Catalog) -> Iterator[Fix]:
    """Yield fixes for a graph without an image output: output an image, or add a decoder."""
    known = [node for node in ordered_nodes(graph, catalog) if node.op in catalog]
    for node in reversed(known):
        for port in (Port(node.id, output.name) for output in catalog[node.op].outputs):
            if port_kind(graph, catalog, port) != "image":
                continue
            shown = with_outputs(add_output(graph, catalog, port), catalog, node.id)
            if not check_graph(shown, catalog):
                yield Fix(f"Output {port}", shown)
                return
    if any(decodes(catalog[node.op]) for node in known) or _DECODER not in catalog:
        return
    decoded, _ = append_node(graph, catalog, _DECODER)
    if graph.nodes and not check_graph(decoded, catalog):
        yield Fix(f"Add {_DECODER}", decoded)


def _shared_ids(graph: Graph, node_id: str) -> Iterator[str]:
    """Yield duplicate ids of a node or of its enclosing blocks, innermost first."""
    counts = Counter(node.id for node in graph.walk())
    while node_id:
        if counts[node_id] > 1:
            yield node_id
        node_id = block_of(graph.scope_of(node_id)) if graph.has(node_id) else ""


def _working_fixes(case: Case, remedies: Remedies, fault: Fault | None = None) -> tuple[Fix, ...]:
    """Return the fixes from ``remedies`` that remove ``fault`` (by default ``case.fault``)."""
    fault = fault or case.fault
    found: dict[str, tuple[int, Fix]] = {}
    for words, make in _candidates(case, remedies):
        label = shortened(words, _LONGEST)
        if label in found:
            continue
        try:
            made = make()
        except GraphEditError:  # an edit that is not possible here is not a fix
            continue
        mended = made.whole if made is not None else None
        left = check_graph(mended, case.catalog) if mended is not None else (fault,)
        if mended is not None and fault not in left:
            found[label] = len(left), Fix(label, mended)
    return tuple(fix for _, fix in sorted(found.values(), key=lambda entry: entry[0]))


def _candidates(case: Case, remedies: Remedies) -> Iterator[FixCandidate]:
    """Yield the fix candidates of ``remedies`` until one raises GraphEditError."""
    try:
        yield from remedies(case)
    except GraphEditError:
        return
