"""Export a graph as a Lightning data module and, with ``training``, also a model."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import outputs_of_kind
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import Module, torch_module
from workbench.emit.templates.training_loop import training_fields
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.variants.samples import without_random_outputs
from workbench.graph.variants.validation import validation_graph


def _module(resolved: ResolvedGraph) -> Module:
    """Return the module, with a validation pipeline if possible.

    This requires that the graph has one pipeline, one image output and one data parameter.
    """
    graph = resolved.graph
    images = outputs_of_kind(resolved.outputs, "image")
    simple = len(images) == len(parameters(graph.nodes)) == graph.settings.pipelines == 1
    fixed = without_random_outputs(resolved)
    made = validation_graph(resolved.for_graph(fixed)) if simple else None
    validation = None if made is None or made == fixed else resolved.variant(made)
    return torch_module(resolved, "lightning", validation)


def emit_lightning(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``datamodule.py``."""
    return {"datamodule.py": _module(resolved).render("lightning.py.j2", task="")}


def emit_training(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``datamodule.py`` with a model to train."""
    module = _module(resolved)
    fields = training_fields(module, "lightning")
    return {"datamodule.py": module.render("lightning.py.j2", **fields)}


TARGET = Target(
    "a LightningDataModule around the PyTorch loader, with validation",
    emit_lightning,
    side_by_side=True,
    samples=True,
    training=emit_training,
)
