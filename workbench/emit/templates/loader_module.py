"""Build a sharded pipeline and the values for ``_loader.py.j2``, for all training targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from workbench.emit.core.code import Code
from workbench.emit.core.epoch_shuffle import NO_CHECKPOINT, shuffles_after_epoch
from workbench.emit.core.outputs import (
    Outputs,
    class_numbers,
    first_reader,
    outputs_of_kind,
    require_arrays,
    require_epoch_size,
    require_even,
    require_one_size,
    require_signed,
    require_unsharded,
)
from workbench.emit.core.python import LINE
from workbench.emit.templates.ragged_boxes import list_outputs
from workbench.emit.templates.rendering import render_program
from workbench.emit.templates.template_parts import TemplateParts, pipeline_parts
from workbench.graph.model import Graph, Node
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.variants.samples import file_names, nodes_with_unseen_randomness


@dataclass(frozen=True, slots=True)
class Module:
    """A graph, and the values that fill a loader template."""

    graph: Graph
    nodes: Sequence[Node]
    outputs: Outputs
    parts: TemplateParts
    lists: Sequence[str] = ()
    """Names of outputs that are lists of tensors, because their samples differ in shape."""
    validation: Sequence[str] = ()
    """Names of the validation pipeline's outputs, if it has fewer than the training pipeline."""
    hidden: Sequence[str] = ()
    """Names of nodes whose random values cannot be outputs."""

    @property
    def labels(self) -> list[str]:
        """Names of outputs that are class numbers."""
        return class_numbers(self.outputs)

    def render(self, template: str, **more: object) -> Code:
        """Render a loader template with the additional values ``more``."""
        names = ", ".join(f"``{name}``" for name in self.outputs)
        fixed = [node.op for node in self.nodes if node.op in NO_CHECKPOINT]
        always = shuffles_after_epoch(self.nodes)
        hidden = f"No output has the internal random values of: {', '.join(self.hidden)}."
        return render_program(
            template,
            self.parts,
            outputs=[*self.outputs],
            listed=names if len(names) < 40 else f"the {len(self.outputs)} of ``OUTPUTS``",
            labels=self.labels,
            masks=outputs_of_kind(self.outputs, "mask"),
            outside=max(
                (each.args.get("fill", 0) for each in self.nodes if each.op == "follow_masks"),
                default=0,
            ),
            lists=self.lists,
            texts=file_names(self.graph),
            validation_outputs=self.validation,
            hidden=wrap(hidden, LINE - 4) if self.hidden else [],
            reader=first_reader(self.nodes).id,
            checkpointing="True" if always else "resumable or checkpoint is not None",
            cannot_checkpoint=fixed[0] if fixed else "",
            **more,
        )


def sharded_module(
    resolved: ResolvedGraph,
    target: str,
    *,
    ragged: bool = False,
    validation: ResolvedGraph | None = None,
) -> Module:
    """Return the graph as a module whose readers each read one shard.

    If ``ragged``, outputs whose samples differ in shape are lists. ``validation`` becomes a second
    pipeline. Raises GraphExportError if the target does not support the graph.
    """
    graph, nodes, outputs = resolved.graph, resolved.nodes, resolved.outputs
    require_unsharded(nodes, target)
    require_epoch_size(nodes, target)
    lists = list_outputs(graph, outputs) if ragged else []
    if target != "ray":  # it writes sample by sample
        require_arrays(graph, outputs, target)
        if not ragged:
            require_even(graph, outputs, target)
        require_one_size(graph, outputs, lists, target)
    shard = ("shard_id", "num_shards")
    parts = pipeline_parts(resolved, sharded=True, taken=shard, validation=validation)
    validated = [*validation.outputs] if validation else [*outputs]
    fewer = validated if len(validated) < len(outputs) else []
    hidden = nodes_with_unseen_randomness(resolved)
    return Module(graph, nodes, outputs, parts, lists, fewer, hidden)


def torch_module(
    resolved: ResolvedGraph, target: str, validation: ResolvedGraph | None = None
) -> Module:
    """Return the graph as a module for a PyTorch loader.

    Raises GraphExportError if the target does not support the graph.
    """
    module = sharded_module(resolved, target, ragged=True, validation=validation)
    require_signed(resolved.graph, module.outputs, target)
    return module
