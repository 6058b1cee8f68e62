"""PyTorch: a loader, and a training loop to start from that also runs under ``torchrun``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.emit.code import Code
from workbench.emit.outputs import class_shares, require_images, require_signed
from workbench.emit.targets import Target
from workbench.emit.targets._ragged import DETECTION_LOSS, detection_function, find_detection
from workbench.emit.targets._shared import (
    LOADER,
    RESUMABLE_BUILD,
    Module,
    replaced,
    sharded_module,
    side_by_side,
)
from workbench.emit.template_parts import missing_package_error
from workbench.graph.model import Graph
from workbench.graph.tensor_type import TensorType

_TEMPLATE = f'''\
"""$title

A PyTorch loader, and a training loop to start from.

Usage: python loader.py« --data DIR» [--device cpu|mixed] [--epochs N] [--save FILE]
       torchrun --nproc-per-node 2 loader.py« --data DIR»    (each rank reads one shard)
"""

import argparse
${{with_os}}from collections.abc import Iterator
from pathlib import Path
$any
try:
    import torch
    import torch.nn.functional as F
    from nvidia.dali import fn$math, pipeline_def$imports
${{policies}}    from nvidia.dali.data_node import DataNode
    from nvidia.dali.pipeline import Pipeline$not_converted
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy
    from nvidia.dali.plugin.pytorch import DALIGenericIterator
    from torch import Tensor, distributed, nn
    from torch.nn.parallel import DistributedDataParallel
{missing_package_error("torch and nvidia-dali-cuda120")}
$constants
$outputs


$finder$definition


{RESUMABLE_BUILD}

{LOADER}

${{detection}}def loss_of(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """$loss_doc"""
$loss


def train(args: argparse.Namespace) -> None:
    """A loop to start from, with a model to put yours in the place of."""
${{model_import}}    rank = int(os.environ.get("RANK", "0"))  # torchrun sets these three
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    place = torch.device("cpu")
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        place = torch.device("cuda", local_rank)
    if world_size > 1:
        distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")

    model: nn.Module = $model.to(place)
    if world_size > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    # Every rank stands elsewhere in its own shard, so each has a file of its own.
    file = Path(f"{{args.save}}.{{rank}}") if args.save else None
    saved = {{}}
    if file and file.exists():
        saved = torch.load(file, map_location=place, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    pipe = build_pipeline(
«        args.data,»
        args.batch_size,
        args.threads,
        args.device,
        shard_id=rank,
        num_shards=world_size,
        device_id=local_rank,
        resumable=file is not None,
        checkpoint=saved.get("loader"),
    )
    loader = Loader(pipe$last_batch)
    for epoch in range(saved.get("epochs", 0), args.epochs):
        total, count = 0.0, 0
        for batch in loader:
$to_place            loss = loss_of(model, batch)
            size = len(batch[OUTPUTS[0]])
            optimizer.zero_grad()
            (loss / max(size, 1)).backward()  # a last batch can be empty on some rank
            optimizer.step()
            total, count = total + loss.item(), count + size
        print(f"rank {{rank}}, epoch {{epoch}}: {{count}} samples, loss {{total / count:.3f}}")
        if file:
            state = {{
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "loader": loader.checkpoint(),
                "epochs": epoch + 1,
            }}
            torch.save(state, file)
    if world_size > 1:
        distributed.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train on the pipeline's batches.")
«    parser.add_argument("--data", required=True, help="folder of images")»
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per rank")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per rank")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--classes", type=int, default=$class_count)
    parser.add_argument("--save", metavar="FILE", help="save epochs here, and resume")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
'''


_CLASSIFIER = (
    "nn.Sequential(",
    "    nn.BatchNorm2d(CHANNELS, affine=False),  # the data may have any range",
    "    nn.Conv2d(CHANNELS, 32, kernel_size=7, stride=4),",
    "    nn.ReLU(),",
    "    nn.AdaptiveAvgPool2d(1),",
    "    nn.Flatten(),",
    "    nn.Linear(32, CLASSES),",
    ")",
)
_BOUNDED = ("UINT8", "FLOAT")
"""Pictures of bytes are divided by 255; floats are taken to be normalised."""
_DETECTORS = (
    "try:",
    "    from torchvision.models import detection  # needed here alone",
    *missing_package_error("torchvision").splitlines(),
)
_DETECTOR = (
    "detection.fasterrcnn_mobilenet_v3_large_320_fpn(",
    "    weights=None,",
    "    weights_backbone=None,",
    "    num_classes=CLASSES + 1,  # 0 is the background",
    ")",
)


_SEVERAL = replaced(
    side_by_side(_TEMPLATE, 'saved.get("loader")'), ("$any\n", "from typing import Any\n\n")
)


def emit_pytorch(graph: Graph, catalog: Catalog) -> Mapping[str, Code]:
    """The module ``loader.py``."""
    module = sharded_module(graph, catalog, "pytorch", ragged=True)
    fields = training_fields(module, "pytorch", classes="args.classes", indent="    ")
    template = _TEMPLATE if graph.settings.pipelines == 1 else _SEVERAL
    return {"loader.py": module.fill(template, to_place=_to_place(module), **fields)}


def _to_place(module: Module) -> str:
    """The lines that bring a batch to the model's device."""
    if not module.lists:
        return " " * 12 + "batch = {name: tensor.to(place) for name, tensor in batch.items()}\n"
    return (
        "            for name, found in batch.items():\n"
        "                if name in LISTS:\n"
        "                    batch[name] = [tensor.to(place) for tensor in found]\n"
        "                else:\n"
        "                    batch[name] = found.to(place)\n"
    )


def training_fields(module: Module, target: str, *, classes: str, indent: str) -> dict[str, str]:
    """What the loader, a model and its loss ask for. Raises GraphExportError without an image.

    ``classes`` is the expression of their number, ``indent`` stands before the model's lines.
    """
    require_signed(module.graph, module.outputs, target)
    found = find_detection(module.graph, module.outputs)
    images = _trainable(module, require_images(module.graph, module.outputs, target))
    squeeze = [
        f'{" " * 12}batch["{name}"] = batch["{name}"].squeeze(-1).long()\n'
        for name in module.labels
    ]
    doc, loss = DETECTION_LOSS if found else _loss(module, images)
    model = "\n".join(_DETECTOR if found else _classifier(module.outputs[images[0]]))
    if found and found.masks:
        model = model.replace("fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn")
    model = model.replace("CLASSES", classes)
    return {
        "squeeze": "".join(squeeze),
        "detection": detection_function(found, module.outputs) if found else "",
        "model": model.replace("\n", f"\n{indent}"),
        "model_import": _indented(_DETECTORS, indent) if found else "",
        # A detection model takes no empty batch.
        "last_batch": ", LastBatchPolicy.FILL" if found else "",
        "loss_doc": doc,
        "class_count": str(_class_count(module)),
        "loss": "\n".join(loss),
    }


def _class_count(module: Module) -> int:
    """Of shares of classes their number, else ImageNet's."""
    shares = [] if module.labels else class_shares(module.outputs)
    shape = module.outputs[shares[0]].shape if shares else None
    return shape[0] or 1000 if shape else 1000


def _classifier(flow: TensorType) -> list[str]:
    """A small model; where only the data tell its channels the first batch does."""
    lines = [line for line in _CLASSIFIER if flow.dtype not in _BOUNDED or "Norm" not in line]
    if flow.channels is not None:
        return [line.replace("CHANNELS", str(flow.channels)) for line in lines]
    return [
        line.replace("nn.", "nn.Lazy").replace("CHANNELS, ", "") if "CHANNELS" in line else line
        for line in lines
    ]


def _indented(lines: Sequence[str], indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in lines) + "\n"


def _trainable(module: Module, images: list[str]) -> list[str]:
    """The images that one convolution takes: the first of a picture's axes, and those like it."""

    def form(name: str) -> tuple[str | None, int | None]:
        return module.outputs[name].axes, module.outputs[name].channels

    pictures = [name for name in images if module.outputs[name].may_be_picture] or images
    return [name for name in pictures if form(name) == form(pictures[0])]


def _loss(module: Module, images: list[str]) -> tuple[str, list[str]]:
    """Docstring and body of a loss that fits the outputs."""
    fed = [_model_input(name, module.outputs[name]) for name in images]
    if len(fed) > 1:
        return "InfoNCE summed over the batch: each view finds the other of its photo.", [
            f"    first = F.normalize(model({fed[0]}))",
            f"    second = F.normalize(model({fed[1]}))",
            "    similar = first @ second.T / 0.1",
            "    same = torch.arange(len(similar), device=similar.device)",
            '    return F.cross_entropy(similar, same, reduction="sum")',
        ]
    body = [f"    scores = model({fed[0]})"]
    if labels := module.labels or class_shares(module.outputs):
        return "Cross entropy summed over the batch.", [
            *body,
            f'    return F.cross_entropy(scores, batch["{labels[0]}"], reduction="sum")',
        ]
    return "A stand-in, for the graph gives no class numbers: every score is to be zero.", [
        *body,
        "    zeros = torch.zeros_like(scores)",
        '    return F.mse_loss(scores, zeros, reduction="sum") / scores.shape[1]',
    ]


def _model_input(name: str, flow: TensorType) -> str:
    """An image of a batch as a convolution takes it: floats, channels first.

    Of a sequence the mean of its frames: a place to begin, where a model of videos is to stand.
    """
    text = f'batch["{name}"]'
    if flow.may_be_picture and flow.axes is None:
        flow = replace(flow, layout="HWC", shape=None)  # of arrays only the data tell
    if flow.layout and flow.layout[0] == "F" and not flow.may_be_picture:
        frame = replace(flow, layout=flow.layout[1:], shape=flow.shape and flow.shape[1:])
        scaled = _scaled(f"{text}.float().mean(dim=1)", replace(frame, dtype="FLOAT"))
        return f"{scaled} / 255" if flow.dtype == "UINT8" else scaled
    return _scaled(text, flow)


def _scaled(text: str, flow: TensorType) -> str:
    """Pictures of a batch, channels first, as floats."""
    if flow.axes == "HWC":
        text += ".permute(0, 3, 1, 2)"
    elif flow.axes == "HW":
        text += ".unsqueeze(1)"
    if flow.dtype == "UINT8":
        return text + ".float() / 255"
    return text if flow.dtype == "FLOAT" else text + ".float()"


TARGET = Target(
    "a loader and a training loop; shards and GPUs by torchrun; resumes from a checkpoint",
    emit_pytorch,
    side_by_side=True,
)
