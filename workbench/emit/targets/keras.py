"""Keras 3: a generator over a pipeline, for whichever backend it runs on."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import outputs_of_kind, require_images
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import BUILD, Module, sharded_module
from workbench.errors import GraphExportError
from workbench.graph.resolved import ResolvedGraph

_TEMPLATE = f'''\
"""$title

Batches for Keras 3 on any backend:

    pipe = build_pipeline(«"DIR"»)
    model.fit(batches(pipe), steps_per_epoch=steps(pipe), epochs=10)
$layout
Needs keras with jax, torch or tensorflow, and nvidia-dali-cuda120.
"""

${{os}}from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from nvidia.dali import fn$math, pipeline_def$imports
${{policies}}from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline$not_converted

$constants


$finder$definition


{BUILD}

def steps(pipe: Pipeline) -> int:
    """Batches of an epoch."""
    read = pipe.reader_meta("$reader")
    samples = read["epoch_size_padded"] // read["number_of_shards"]
    return -(-samples // pipe.max_batch_size)


def batches(pipe: Pipeline) -> Iterator[tuple[Any, ...]]:
    """Batches without end: $given. Where an epoch ends, its last sample is repeated."""
    while True:
$batch


def to_tensor(batch: Any) -> Any:
    """A batch of DALI as the backend has it, where it lies: on the GPU it stays there."""
    backend, tensor = keras.backend.backend(), batch.as_tensor()
    if backend == "torch":
        import torch

        return torch.from_dlpack(tensor)
    if backend == "jax":
        import jax

        return jax.dlpack.from_dlpack(tensor)
    # TensorFlow takes what a generator gives through the host.
    return np.array(batch.as_cpu().as_tensor())
'''
_CHANNELS_FIRST = """
Images are (C, H, W): keras.config.set_image_data_format("channels_first") first, or let
the pipeline give HWC.
"""


def emit_keras(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``generator.py``."""
    module = sharded_module(resolved, "keras")
    executor = resolved.graph.settings.executor
    if executor != "dynamic":
        raise GraphExportError(
            f"executor is {executor}, which writes into buffers that keras still "
            "holds. Set it to dynamic."
        )
    images = require_images(resolved.graph, module.outputs, "keras")
    first = any(module.outputs[name].axes == "CHW" for name in images)
    batch, given = _batch(module)
    fields = {"batch": "\n".join(f"        {line}" for line in batch), "given": given}
    template = _TEMPLATE.replace("$layout", _CHANNELS_FIRST if first else "")
    if len(module.outputs) > 2:
        template = template.replace("$constants\n", "$constants\n$outputs\n", 1)
    return {"generator.py": module.fill(template, **fields)}


def _batch(module: Module) -> tuple[list[str], str]:
    """The lines that give a batch: inputs and, where there are any, targets; and that in words."""
    targets = module.labels or outputs_of_kind(module.outputs, "mask")
    inputs = [name for name in module.outputs if name not in targets]
    given = "inputs and targets" if targets else "inputs"
    if len(module.outputs) < 3 and len(inputs) == 1:
        order = {name: ("images", "targets")[name in targets] for name in module.outputs}
        made = ", ".join(order.values()) if targets else "(images,)"
        lines = [f"{made} = map(to_tensor, pipe.run())"]
        classes = "targets.reshape(-1)" if module.labels else "targets"
        return [*lines, f"yield images, {classes}" if targets else "yield (images,)"], given
    lines = ["batch = dict(zip(OUTPUTS, map(to_tensor, pipe.run()), strict=True))"]
    if len(targets) == 1:
        classes = ".reshape(-1)" if module.labels else ""
        lines.append(f'targets = batch.pop("{targets[0]}"){classes}')
        return [*lines, "yield batch, targets"], given
    lines += [f'batch["{name}"] = batch["{name}"].reshape(-1)' for name in module.labels]
    if targets:
        each = ", ".join(f'"{name}"' for name in targets)
        lines.append(f"targets = {{name: batch.pop(name) for name in ({each})}}")
    return [*lines, "yield batch, targets" if targets else "yield (batch,)"], given


TARGET = Target("a generator for Keras 3, on any of its backends", emit_keras)
