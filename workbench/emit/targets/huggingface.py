"""Export a graph as a Hugging Face ``Trainer`` that receives its batches from DALI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.emit.core.code import Code
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import Module, torch_module
from workbench.emit.templates.training_loop import model_input, require_images_of
from workbench.errors import GraphExportError
from workbench.graph.resolved import ResolvedGraph


def emit_huggingface(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``trainer.py``."""
    module = torch_module(resolved, "huggingface")
    if module.lists:
        name = module.lists[0]
        raise GraphExportError(
            f"{resolved.graph.outputs[name]}: the target 'huggingface' requires tensors, but the "
            f"shape of {name!r} differs between images. Resize or pad it, or export for pytorch."
        )
    images = require_images_of(module, "huggingface")
    module = _named(module, images)
    lines = [line for name in module.outputs for line in _conversion(module, name)]
    return {"trainer.py": module.render("huggingface.py.j2", conversions=lines)}


def _named(module: Module, image_outputs: list[str]) -> Module:
    """Rename a single image to ``pixel_values`` and a single class to ``labels``."""
    names = {image_outputs[0]: "pixel_values"} if len(image_outputs) == 1 else {}
    names |= {module.labels[0]: "labels"} if len(module.labels) == 1 else {}
    outputs = {names.get(name, name): flow for name, flow in module.outputs.items()}
    if len(outputs) < len(module.outputs):  # another output has this name
        return module
    return replace(module, outputs=outputs)


def _conversion(module: Module, name: str) -> list[str]:
    """Return code that converts an output for a model: channels-first floats, or integers."""
    given, flow = f'batch["{name}"]', module.outputs[name]
    if name in module.labels:
        return [f"{given} = {given}.squeeze(-1).long()"]
    text = model_input("images", flow)
    if flow.kind != "image" or text == "images":
        return []
    return [f"images = {given}", f"{given} = {text}"]


TARGET = Target("a Trainer of transformers that trains on DALI's batches", emit_huggingface)
