"""What a graph does not tell of pixels that a source gives: looked at before they are worked on.

DALI ends the process, or reads past its memory, where it is fed other channels than it takes, or
does not say how many it found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from workbench.emit.core.own_code import nodes_within
from workbench.engine.build.plan import Plan
from workbench.engine.resources.batch_store import Batch
from workbench.errors import PipelineError
from workbench.graph.checks.check_types import NORMALIZES, per_channel_faults, type_faults
from workbench.graph.model import Node, Port, Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.types.shapes import infer_types_from
from workbench.graph.types.tensor_type import TensorType


def require_fitting(plan: Plan, nodes: Sequence[Node], known: Mapping[Port, Batch]) -> None:
    """Raise PipelineError with the first of the nodes that cannot work on what is there."""
    decoded = any(isinstance(node, Source) and node.decodes for node in plan.nodes)
    within = [each for each in nodes_within(nodes) if decoded or each.op == NORMALIZES]
    if not within:
        return
    told, catalog = plan.resolved.types, plan.resolved.catalog
    found = {port: _type_of(batch, told[port]) for port, batch in known.items() if port in told}
    flows = infer_types_from(plan.graph, catalog, found)
    for node in within:
        spec = catalog[node.op]
        faults = type_faults(node, spec, plan.devices, flows) if decoded else iter(())
        if node.op == NORMALIZES:
            faults = chain(faults, per_channel_faults(node, spec, flows))
        for fault in faults:
            if fault.code == "channels" and not _decodes_before(plan, node):
                remedy = f"Remove it, or open data of {fault.about} images."
                fault = replace(fault, remedy=remedy)
            raise PipelineError(str(fault), node.id)


def _decodes_before(plan: Plan, node: Node) -> bool:
    """Whether a decoder gives what the node is fed."""
    before = ancestors(plan.graph, list(node.inputs.values()))
    nodes = [each for each in plan.nodes if each.id in before]
    return any(plan.resolved.spec(each).category == "decode" for each in nodes)


def _type_of(batch: Batch, told: TensorType) -> TensorType:
    """The type of a batch's samples; extents in which they differ are None."""
    shapes = batch.shapes
    if len({len(shape) for shape in shapes}) != 1:
        return told
    extents = (set(each) for each in zip(*shapes, strict=True))
    shape = tuple(each.pop() if len(each) == 1 else None for each in extents)
    dtype = "FLOAT" if batch.dtype == "float32" else batch.dtype.upper()
    return replace(told, dtype=dtype, layout=batch.layout, shape=shape)
