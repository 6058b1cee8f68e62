"""Export a graph as Ray actors that each process one shard and write its outputs to files."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import require_next_shard, require_no_blocks
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import sharded_module
from workbench.graph.resolved import ResolvedGraph


def emit_ray(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``augment.py``."""
    module = sharded_module(resolved, "ray")
    # DALI converts conditions from a function's source, which Ray's actors do not have: the
    # function is sent to them without its module.
    require_no_blocks(module.nodes, "a Ray actor, which gets the pipeline without its source,")
    require_next_shard(module.nodes, "ray")
    return {"augment.py": module.render("ray.py.j2")}


TARGET = Target(
    "actors that write augmented shards, as WebDataset tar or Parquet", emit_ray, side_by_side=True
)
