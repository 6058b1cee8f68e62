"""Remedies at a click: graphs in which a fault is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.checks.check import check_graph
from workbench.graph.fixes import (
    argument_fixes,
    device_fixes,
    edge_fixes,
    graph_fixes,
    region_fixes,
    warning_fixes,
)
from workbench.graph.fixes.fix_candidate import Fix, FixCandidate
from workbench.graph.model import Graph, region_of
from workbench.graph.model.faults import WARNINGS, Fault, FaultCode

__all__ = ["Fix", "fixes"]

Remedies = Callable[[Graph, Catalog, Fault], Iterator[FixCandidate]]

_REMEDIES: Mapping[FaultCode, Remedies] = {
    "duplicate_id": graph_fixes.fix_duplicate_id,
    "bad_id": graph_fixes.fix_bad_id,
    "no_outputs": graph_fixes.fix_no_outputs,
    "output_name": graph_fixes.fix_output_name,
    "output_source": graph_fixes.fix_output_source,
    "no_reader": graph_fixes.fix_no_reader,
    "parameter": graph_fixes.fix_parameter,
    "cycle": graph_fixes.fix_cycle,
    "setting": graph_fixes.fix_setting,
    "unknown_op": graph_fixes.fix_unknown_op,
    "unusable_op": graph_fixes.fix_unusable_op,
    "unknown_arg": argument_fixes.fix_unknown_arg,
    "value_and_link": argument_fixes.fix_value_and_link,
    "value": argument_fixes.fix_value,
    "conflict": argument_fixes.fix_conflict,
    "apart": argument_fixes.fix_incomplete_group,
    "missing_arg": argument_fixes.fix_missing_arg,
    "seed": argument_fixes.fix_seed,
    "constant": argument_fixes.fix_constant,
    "zero": argument_fixes.fix_zero_divisor,
    "index": argument_fixes.fix_subscript_index,
    "relayout": argument_fixes.fix_axis_order,
    "fixed_arg": argument_fixes.unlink_fixed_arg,
    "source": edge_fixes.fix_missing_source,
    "unknown_input": edge_fixes.fix_unknown_input,
    "kind": edge_fixes.fix_port_kind,
    "unfed": edge_fixes.fix_unfed,
    "arg_dtype": edge_fixes.fix_arg_dtype,
    "dtype": edge_fixes.fix_dtype,
    "same_dtype": edge_fixes.fix_same_dtype,
    "layout": edge_fixes.fix_layout,
    "shapes": graph_fixes.fix_unusable_op,
    "unfollowed": graph_fixes.fix_unusable_op,
    "unmoved": graph_fixes.fix_unmoved,
    "polygons": graph_fixes.fix_polygons,
    "channels": edge_fixes.fix_channels,
    "muted": graph_fixes.fix_muted,
    "untrusted": graph_fixes.fix_untrusted,
    "control": region_fixes.fix_region,
    "draw": region_fixes.fix_draw,
    "bodies": region_fixes.fix_region,
    "branches": region_fixes.fix_region,
    "device": device_fixes.fix_device,
    "cpu_after_gpu": device_fixes.fix_cpu_after_gpu,
    "gpu_only": device_fixes.fix_gpu_only,
    "arg_on_gpu": device_fixes.fix_arg_on_gpu,
    "covered": warning_fixes.fix_covered,
    "sides": warning_fixes.fix_covered,
    "scale": warning_fixes.fix_scale,
    "unshuffled": warning_fixes.fix_unshuffled,
    "buffer": warning_fixes.fix_buffer,
    "box_layout": warning_fixes.fix_box_layout,
    "silent": warning_fixes.fix_silent,
}

_LONGEST = 80
"""Characters on a button."""


def fixes(graph: Graph, catalog: Catalog, fault: Fault) -> tuple[Fix, ...]:
    """What can be done at a click about one fault of a graph, as ``check_graph`` found it.

    In every graph offered the fault is gone; those that leave the fewest others come first.
    Labels differ. Empty for a fault that only the person can mend, or that the graph has not.
    """
    known = fault.code in WARNINGS or fault in check_graph(graph, catalog)
    if fault.code not in _REMEDIES or not known:
        return ()
    if fault.code != "duplicate_id":
        # Whose fault it is cannot be told while nodes share the id, or regions around them do.
        for shared in _shared_ids(graph, fault.node):
            apart = _tried(graph, catalog, fault, partial(_duplicate_fixes, shared))
            if apart:
                return apart
            graph = graph_fixes.with_own_ids(graph, shared)
    # What stands inside a region is mended in its body.
    body = graph.at_scope(graph.scope_of(fault.node) if graph.has(fault.node) else "")
    found = _tried(body, catalog, fault, _REMEDIES[fault.code])
    if found or fault.code in WARNINGS:
        return found
    return _tried(graph, catalog, fault, region_fixes.fix_by_removal)


def _shared_ids(graph: Graph, node_id: str) -> Iterator[str]:
    """Of a node and the regions around it the ids that several nodes have, the node's own first."""
    counts = Counter(node.id for node in graph.walk())
    while node_id:
        if counts[node_id] > 1:
            yield node_id
        node_id = region_of(graph.scope_of(node_id)) if graph.has(node_id) else ""


def _duplicate_fixes(
    shared: str, graph: Graph, catalog: Catalog, fault: Fault
) -> Iterator[FixCandidate]:
    return graph_fixes.fix_duplicate_id(graph, catalog, replace(fault, node=shared))


def _tried(graph: Graph, catalog: Catalog, fault: Fault, remedies: Remedies) -> tuple[Fix, ...]:
    found: dict[str, tuple[int, Fix]] = {}
    for words, make in _offers(graph, catalog, fault, remedies):
        label = words if len(words) <= _LONGEST else words[: _LONGEST - 3] + "..."
        if label in found:
            continue
        try:
            made = make()
        except GraphEditError:  # an edit that does not fit here is no remedy here
            continue
        mended = made.whole if made is not None else None
        left = check_graph(mended, catalog) if mended is not None else (fault,)
        if mended is not None and fault not in left:
            found[label] = len(left), Fix(label, mended)
    return tuple(fix for _, fix in sorted(found.values(), key=lambda entry: entry[0]))


def _offers(
    graph: Graph, catalog: Catalog, fault: Fault, remedies: Remedies
) -> Iterator[FixCandidate]:
    """The offers up to one that needs a node of another body."""
    try:
        yield from remedies(graph, catalog, fault)
    except GraphEditError:
        return
