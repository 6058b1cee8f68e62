"""Derive the learning task of a graph: the model and loss of an exported PyTorch training loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.emit.core.outputs import (
    class_shares,
    described_outputs,
    outputs_of_kind,
    require_images,
)
from workbench.emit.templates.loader_module import Module
from workbench.emit.templates.ragged_boxes import detection_fields, find_detection
from workbench.errors import GraphExportError
from workbench.graph.model import Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.types.tensor_type import TensorType

_BOUNDED = ("UINT8", "FLOAT")
"""Element types that the training loop does not normalise: bytes are divided by 255, and
floats are assumed to be normalised already.
"""


def training_fields(module: Module, target: str) -> dict[str, Any]:
    """Return the values for ``_training.py.j2``.

    Raises GraphExportError if the outputs define no learning task.
    """
    found = find_detection(module.graph, module.outputs)
    if found:
        task = {"task": "detection", "classes": 80}  # COCO's
        return {**task, "detection": detection_fields(found, module.outputs)}
    images = require_images_of(module, target)
    first = module.outputs[images[0]]
    return {
        **_task(module, images),
        "inputs": [model_input(f'batch["{name}"]', module.outputs[name]) for name in images],
        "channels": first.channels,
        "normalise": first.dtype not in _BOUNDED,
    }


def require_images_of(module: Module, target: str) -> list[str]:
    """Return the image outputs that one model accepts: the first, and others with its layout."""
    images = require_images(module.graph, module.outputs, target)

    def form(name: str) -> tuple[str | None, int | None]:
        return module.outputs[name].axes, module.outputs[name].channels

    pictures = [name for name in images if module.outputs[name].may_be_picture] or images
    return [name for name in pictures if form(name) == form(pictures[0])]


def _task(module: Module, images: list[str]) -> dict[str, Any]:
    """Return the learning task, which depends on the outputs: masks, labels, or two views."""
    if len(images) == 1 and (masks := _masks_of(module, images[0])):
        target = _mask_classes(masks, module.outputs[masks])
        ignored = module.graph.node(module.graph.outputs[masks].node).args.get("fill", 0)
        classes = 81  # COCO's classes and the background
        return {"task": "mask", "target": target, "classes": classes, "ignored": ignored}
    if len(images) == 1 and (labels := module.labels or class_shares(module.outputs)):
        count = _class_count(module)
        return {"task": "class", "target": f'batch["{labels[0]}"]', "classes": count}
    if len(images) == 2 and _are_views(module, images):
        return {"task": "views", "classes": None}
    raise GraphExportError(
        f"{module.graph.outputs[images[0]].node}: no learning task fits the outputs "
        f"{described_outputs(module.outputs)}. "
        "Return one image with its class, mask or boxes, or two random views of one photo; or "
        "export without training."
    )


def _masks_of(module: Module, image: str) -> str:
    """Return the name of the mask that follows the image or has its size, else ""."""
    graph = module.graph
    for name in outputs_of_kind(module.outputs, "mask"):
        whole = (module.outputs[name].dtype or "").startswith(("INT", "UINT"))
        follower = graph.node(graph.outputs[name].node)
        follows = follower.inputs.get("image") == graph.outputs[image]
        if whole and (follows or _size(module.outputs[name]) == _size(module.outputs[image])):
            return name
    return ""


def _size(flow: TensorType) -> list[int | None]:
    axes, shape = flow.axes or "", flow.shape or ()
    return [shape[axes.index(each)] for each in "HW" if each in axes and shape]


def _mask_classes(name: str, flow: TensorType) -> str:
    """Return an expression for class numbers of shape (N, H, W), as the loss expects."""
    axis = (flow.axes or "").find("C")
    return f'batch["{name}"]{f".squeeze({axis + 1})" if axis >= 0 else ""}.long()'


def _are_views(module: Module, images: Sequence[str]) -> bool:
    """Return True if both images are views of one original, each with its own random values."""
    graph = module.graph
    first, second = (ancestors(graph, [graph.outputs[name]]) for name in images)
    common = [graph.node(node) for node in first & second]
    seeded = {node.id for node in module.nodes if node.seed is not None}
    return any(isinstance(node, Source) for node in common) and all(
        (own - other) & seeded for own, other in ((first, second), (second, first))
    )


def _class_count(module: Module) -> int:
    """Return the number of classes in the soft labels, or 1000 as in ImageNet if unknown."""
    shares = [] if module.labels else class_shares(module.outputs)
    shape = module.outputs[shares[0]].shape if shares else None
    return shape[0] or 1000 if shape else 1000


def model_input(text: str, flow: TensorType) -> str:
    """Return an expression that converts ``text`` (images) to channels-first floats.

    A sequence is replaced by the mean of its frames, as a starting point for a video model.
    """
    if flow.may_be_picture and flow.axes is None:
        flow = replace(flow, layout="HWC", shape=None)  # for arrays it depends on the data
    if flow.layout and flow.layout[0] == "F" and not flow.may_be_picture:
        frame = replace(flow, layout=flow.layout[1:], shape=flow.shape and flow.shape[1:])
        scaled = _scaled(f"{text}.float().mean(dim=1)", replace(frame, dtype="FLOAT"))
        return f"{scaled} / 255" if flow.dtype == "UINT8" else scaled
    return _scaled(text, flow)


def _scaled(text: str, flow: TensorType) -> str:
    """Return an expression that converts ``text`` (images) to channels-first floats."""
    if flow.axes == "HWC":
        text += ".permute(0, 3, 1, 2)"
    elif flow.axes == "HW":
        text += ".unsqueeze(1)"
    if flow.dtype == "UINT8":
        return text + ".float() / 255"
    return text if flow.dtype == "FLOAT" else text + ".float()"
