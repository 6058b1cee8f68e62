"""Export a graph as a PyTorch loader and, with ``training``, also a ``torchrun`` training loop."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import torch_module
from workbench.emit.templates.training_loop import training_fields
from workbench.graph.resolved import ResolvedGraph


def emit_pytorch(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``loader.py``."""
    module = torch_module(resolved, "pytorch")
    return {"loader.py": module.render("pytorch.py.j2", task="")}


def emit_training(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``loader.py`` with a training loop."""
    module = torch_module(resolved, "pytorch")
    fields = training_fields(module, "pytorch")
    return {"loader.py": module.render("pytorch.py.j2", **fields)}


TARGET = Target(
    "a loader with one shard per rank, which can resume from a checkpoint",
    emit_pytorch,
    side_by_side=True,
    samples=True,
    training=emit_training,
)
