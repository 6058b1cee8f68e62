"""Export a graph as a PaddlePaddle loader that uses DALI's Paddle iterator."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import require_signed
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import sharded_module
from workbench.graph.resolved import ResolvedGraph


def emit_paddle(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``loader.py``."""
    module = sharded_module(resolved, "paddle")
    require_signed(resolved.graph, module.outputs, "paddle")
    return {"loader.py": module.render("paddle.py.j2", needs_gpu=True)}


TARGET = Target("a loader around DALI's Paddle iterator", emit_paddle)
