"""Hugging Face: a ``Trainer`` whose batches come from DALI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.emit.core.code import Code
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import (
    LOADER,
    RESUMABLE_BUILD,
    Module,
    replaced,
    torch_module,
)
from workbench.emit.templates.training_loop import model_input, require_images_of
from workbench.errors import GraphExportError
from workbench.graph.resolved import ResolvedGraph

_INIT = """
    def __init__(self, *args: Any, «data: str, »**kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
«        self.data = data»
"""
_TEMPLATE = f'''\
"""$title

A Trainer that trains on DALI's batches, each rank on a shard of its own. Where DEVICE is
mixed they are decoded and augmented on its own GPU.

    arguments = TrainingArguments("out", per_device_train_batch_size=BATCH_SIZE)
    DaliTrainer(model, arguments$example).train()

Needs torch, transformers and nvidia-dali-cuda120.
"""

${{os}}from collections.abc import Iterator
$any
from nvidia.dali import fn$math, pipeline_def$imports
${{policies}}from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline$not_converted
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from torch import Tensor
from transformers import Trainer

$constants
$outputs


$finder$definition


{RESUMABLE_BUILD}

{LOADER}

class DaliTrainer(Trainer):
    """Trains on DALI; evaluation and everything else are the Trainer's."""
{_INIT}
    def get_train_dataloader(self) -> Loader:
        pipe = build_pipeline(
«            self.data,»
            self.args.per_device_train_batch_size,
            seed=SEED if self.args.data_seed is None else self.args.data_seed,
            shard_id=self.args.process_index,
            num_shards=self.args.world_size,
            device_id=self.args.device.index or 0,
        )
        # All batches are full: the last sample is repeated at the end of an epoch.
        return Loader(pipe, LastBatchPolicy.FILL)
'''


def emit_huggingface(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``trainer.py``."""
    module = torch_module(resolved, "huggingface")
    if module.lists:
        name = module.lists[0]
        raise GraphExportError(
            f"{resolved.graph.outputs[name]}: huggingface gives a model tensors, and the shape "
            f"of {name} differs from image to image. Resize or pad it, or export for pytorch."
        )
    images = require_images_of(module, "huggingface")
    module = _named(module, images)
    lines = [line for name in module.outputs for line in _conversion(module, name)]
    fields = {
        "squeeze": "".join(f"{' ' * 12}{line}\n" for line in lines),
        "example": "".join(f', {each.name}="DIR"' for each in module.parts.parameters),
    }
    given = module.parts.parameters
    if given:
        fields["any"] = "from typing import Any\n"
    template = _TEMPLATE if given else replaced(_TEMPLATE, (_INIT, ""))
    return {"trainer.py": module.fill(template, **fields)}


def _named(module: Module, images: list[str]) -> Module:
    """One image is ``pixel_values``, one class ``labels``, as models call their arguments."""
    names = {images[0]: "pixel_values"} if len(images) == 1 else {}
    names |= {module.labels[0]: "labels"} if len(module.labels) == 1 else {}
    outputs = {names.get(name, name): flow for name, flow in module.outputs.items()}
    if len(outputs) < len(module.outputs):  # another output is called so
        return module
    return replace(module, outputs=outputs)


def _conversion(module: Module, name: str) -> list[str]:
    """What a model takes otherwise: floats with channels first, whole numbers."""
    given, flow = f'batch["{name}"]', module.outputs[name]
    if name in module.labels:
        return [f"{given} = {given}.squeeze(-1).long()"]
    text = model_input(given, flow)
    if flow.kind != "image" or text == given:
        return []
    return [f"images = {given}", f"{given} = {text.replace(given, 'images')}"]


TARGET = Target("a Trainer of transformers that trains on DALI's batches", emit_huggingface)
