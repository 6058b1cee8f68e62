"""Export a graph as a loader that uses DALI's JAX iterator and splits batches over all devices.

Why the loader does not use DALI's decorator ``data_iterator`` (2.4):

- with ``sharding`` it passes each pipeline a ``device_id``, so it requires a GPU, and CPU
  outputs, such as labels, cannot be joined on the GPUs;
- without ``sharding``, it supports one device only;
- it hides its pipelines, and so the number of samples: padding cannot be identified, and an
  evaluation counts the last sample of each shard several times;
- it creates one pipeline per device, and never several in parallel.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import require_next_shard
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import sharded_module
from workbench.graph.resolved import ResolvedGraph


def emit_jax(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``loader.py``."""
    module = sharded_module(resolved, "jax")
    require_next_shard(module.nodes, "jax")
    wide = any((flow.dtype or "").endswith("64") for flow in module.outputs.values())
    return {"loader.py": module.render("jax.py.j2", any_64_bits=wide)}


TARGET = Target(
    "a loader of arrays sharded over all devices",
    emit_jax,
    side_by_side=True,
    samples=True,
)
