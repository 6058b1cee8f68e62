"""The recipes for detection in exported PyTorch loaders: an epoch, and torchvision's models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.helpers import import_script, with_settings
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.samples.shapes import CLASSES, SCENES

CATALOG = load_catalog()
BATCH = 5
MODELS = ("fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn")


def annotations(shapes: Path) -> str:
    return str(shapes / "coco" / "annotations.json")


def loader_of(graph: Graph, folder: Path) -> ModuleType:
    return import_script(export(graph, "pytorch", CATALOG, with_="training").main.text, folder)


def small_with_masks() -> Graph:
    """The recipe for RetinaNet at a fifth of its size, with masks of classes beside the boxes."""
    graph = load_recipe("retinanet")
    (reader,) = graph.sources
    resize, image = graph.node("resize"), graph.outputs["images"]
    graph = graph.replace_node(replace(reader, args={**reader.args, "pixelwise_masks": True}))
    graph = graph.replace_node(replace(resize, args={"resize_shorter": 160, "max_size": 267}))
    masks = Node(
        "follow_masks", "follow_masks", inputs={"masks": Port("reader", "masks"), "image": image}
    )
    outputs = {**graph.outputs, "masks": Port("follow_masks", "masks")}
    return replace(graph, nodes=(*graph.nodes, masks), outputs=outputs)


@pytest.mark.parametrize("name", one_in(2, ["ssd", "retinanet"]))
def test_an_epoch_has_every_sample_with_its_boxes(name: str, shapes: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    module = loader_of(with_settings(load_recipe(name), batch_size=BATCH), tmp_path)
    batches = list(module.Loader(module.build_pipeline(annotations(shapes), num_threads=2)))
    assert [len(batch["boxes"]) for batch in batches] == [BATCH] * (SCENES // BATCH) + [
        SCENES % BATCH
    ]
    seen = set()
    for images, targets in map(module.detection_form, batches):
        for image, target in zip(images, targets, strict=True):
            boxes, (height, width) = target["boxes"].numpy(), image.shape[-2:]
            assert len(boxes) == len(target["labels"]) >= 1
            assert (boxes[:, 2:] > boxes[:, :2]).all()
            assert (boxes >= 0).all()
            assert (boxes <= np.array([width, height, width, height]) + 1e-3).all()
            seen |= set(target["labels"].tolist())
    assert seen == set(range(1, len(CLASSES) + 1))


def instance_masks(classes: Any, target: dict[str, Any]) -> Any:
    """A mask for each box: its class within it. Boxes of the samples do not overlap."""
    import torch

    found = torch.zeros((len(target["boxes"]), *classes.shape), dtype=torch.uint8)
    pairs = zip(target["boxes"].tolist(), target["labels"].tolist(), strict=True)
    for mask, ((left, top, right, bottom), label) in zip(found, pairs, strict=True):
        inside = slice(int(top), int(bottom) + 1), slice(int(left), int(right) + 1)
        mask[inside] = classes[inside] == label
    return found


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    "model", one_in(2, ["fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn"])
)
def test_a_model_of_torchvision_takes_a_step(
    model: str, device: str, shapes: Path, tmp_path: Path
) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    detection: Any = pytest.importorskip(
        "torchvision.models.detection", reason="torchvision is not installed"
    )
    with_masks = model.startswith("mask")
    graph = small_with_masks() if with_masks else load_recipe("ssd")
    module = loader_of(with_settings(graph, batch_size=2, device=device), tmp_path)
    batch = next(iter(module.Loader(module.build_pipeline(annotations(shapes), num_threads=2))))
    images, targets = module.detection_form(batch)
    if with_masks:
        for target, classes in zip(targets, batch["masks"], strict=True):
            target["masks"] = instance_masks(classes[..., 0].cpu(), target)
            assert (target["masks"].flatten(1).sum(1) > 0).all()
    place = torch.device("cuda" if device == "mixed" else "cpu")
    images = [image.to(place) for image in images]
    targets = [{name: value.to(place) for name, value in each.items()} for each in targets]

    torch.manual_seed(0)
    normalised = {"image_mean": [0.0] * 3, "image_std": [1.0] * 3} if with_masks else {}
    sizes = {"min_size": 160, "max_size": 267, "num_classes": len(CLASSES) + 1}
    made = getattr(detection, model)(weights=None, weights_backbone=None, **sizes, **normalised)
    made = made.to(place).train()
    before = [parameter.detach().clone() for parameter in made.parameters()]
    losses = made(images, targets)
    assert ("loss_mask" in losses) == with_masks
    assert all(torch.isfinite(loss) for loss in losses.values())
    assert losses["loss_box_reg"] > 0
    optimizer = torch.optim.SGD(made.parameters(), lr=1e-3)
    sum(losses.values()).backward()
    optimizer.step()
    changed = [not torch.equal(a, b) for a, b in zip(before, made.parameters(), strict=True)]
    assert sum(changed) > len(changed) / 2
    assert all(torch.isfinite(parameter).all() for parameter in made.parameters())
