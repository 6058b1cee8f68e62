"""Export a graph as a generator for Keras 3, with any backend."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import outputs_of_kind, require_images
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import sharded_module
from workbench.errors import GraphExportError
from workbench.graph.resolved import ResolvedGraph


def emit_keras(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``generator.py``."""
    module = sharded_module(resolved, "keras")
    executor = resolved.graph.settings.executor
    if executor != "dynamic":
        raise GraphExportError(
            f"executor is {executor}, which overwrites buffers that keras still uses. Set it to "
            "dynamic."
        )
    images = require_images(resolved.graph, module.outputs, "keras")
    first = any(module.outputs[name].axes == "CHW" for name in images)
    targets = module.labels or outputs_of_kind(module.outputs, "mask")
    inputs = [name for name in module.outputs if name not in targets]
    source = module.render(
        "keras.py.j2",
        channels_first=first,
        targets=targets,
        of_one_image=len(module.outputs) < 3 and len(inputs) == 1,
    )
    return {"generator.py": source}


TARGET = Target("a generator for Keras 3, for any backend", emit_keras)
