"""What a graph is for: the model and the loss of an exported training loop in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.emit.core.outputs import class_shares, outputs_of_kind, require_images
from workbench.emit.templates.loader_module import Module, squeezed_labels
from workbench.emit.templates.ragged_boxes import DETECTION_LOSS, detection_function, find_detection
from workbench.errors import GraphExportError
from workbench.graph.model import Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.types.tensor_type import TensorType

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
_PIXELWISE = (
    "nn.Sequential(",
    "    nn.BatchNorm2d(CHANNELS, affine=False),  # the data may have any range",
    "    nn.Conv2d(CHANNELS, 32, kernel_size=7, padding=3),",
    "    nn.ReLU(),",
    "    nn.Conv2d(32, CLASSES, kernel_size=1),",
    ")",
)
_BOUNDED = ("UINT8", "FLOAT")
"""Pictures of bytes are divided by 255; floats are taken to be normalised."""
_DETECTOR = (
    "detection.fasterrcnn_mobilenet_v3_large_320_fpn(",
    "    weights=None,",
    "    weights_backbone=None,",
    "    num_classes=CLASSES + 1,  # 0 is the background",
    ")",
)
_FEATURES = "128"
"""Of a view, in SimCLR's projection (arXiv 2002.05709)."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What is learned."""

    doc: str
    loss: Sequence[str]
    model: Sequence[str]
    classes: int | None = None
    """How many there are by default; None where the model knows none."""


def training_fields(module: Module, target: str, *, classes: str, indent: str) -> dict[str, str]:
    """What a loop, a model and its loss ask for. Raises GraphExportError where nothing is learned.

    ``classes`` is the expression of their number, ``indent`` stands before the model's lines.
    """
    found = find_detection(module.graph, module.outputs)
    task = _detection() if found else _task(module, require_images_of(module, target))
    model = "\n".join(task.model)
    if found and found.masks:
        model = model.replace("fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn")
    model = model.replace("CLASSES", classes if task.classes else _FEATURES)
    option = f'    parser.add_argument("--classes", type=int, default={task.classes})\n'
    return {
        "squeeze": squeezed_labels(module),
        "detection": detection_function(found, module.outputs) if found else "",
        "model": model.replace("\n", f"\n{indent}"),
        "model_import": f"{indent}from torchvision.models import detection\n\n" if found else "",
        "also": ", torchvision" if found else "",
        "loss_doc": task.doc,
        "class_option": option if task.classes else "",
        "loss": "\n".join(task.loss),
    }


def require_images_of(module: Module, target: str) -> list[str]:
    """The pictures that one convolution takes: the first of a picture's axes, and those like it."""
    images = require_images(module.graph, module.outputs, target)

    def form(name: str) -> tuple[str | None, int | None]:
        return module.outputs[name].axes, module.outputs[name].channels

    pictures = [name for name in images if module.outputs[name].may_be_picture] or images
    return [name for name in pictures if form(name) == form(pictures[0])]


def _detection() -> _Task:
    doc, loss = DETECTION_LOSS
    return _Task(doc, loss, _DETECTOR, classes=80)  # COCO's


def _task(module: Module, images: list[str]) -> _Task:
    """What the outputs other than the image, or two views of one, say is learned."""
    first = module.outputs[images[0]]
    fed = [model_input(name, module.outputs[name]) for name in images]
    if len(images) == 1 and (masks := _masks_of(module, images[0])):
        body = [
            f"    scores = model({fed[0]})",
            f"    classes = {_mask_classes(masks, module.outputs[masks])}",
            '    losses = F.cross_entropy(scores, classes, reduction="none")',
            "    return losses.flatten(1).mean(dim=1).sum()",
        ]
        doc = "Cross entropy, the mean over the pixels of an image, summed over the batch."
        return _Task(doc, body, _network(_PIXELWISE, first), classes=81)  # COCO's, and none
    if len(images) == 1 and (labels := module.labels or class_shares(module.outputs)):
        body = [
            f"    scores = model({fed[0]})",
            f'    return F.cross_entropy(scores, batch["{labels[0]}"], reduction="sum")',
        ]
        doc = "Cross entropy summed over the batch."
        return _Task(doc, body, _network(_CLASSIFIER, first), classes=_class_count(module))
    if len(images) == 2 and _are_views(module, images):
        doc = "NT-Xent of SimCLR summed over the batch: each view finds the other of its photo."
        body = [
            f"    first = model({fed[0]})",
            f"    second = model({fed[1]})",
            "    views = F.normalize(torch.cat([first, second]))",
            "    alike = (views @ views.T / 0.5).fill_diagonal_(-torch.inf)  # not itself",
            "    others = torch.arange(len(views), device=views.device).roll(len(first))",
            '    return F.cross_entropy(alike, others, reduction="sum") / 2',
        ]
        return _Task(doc, body, _network(_CLASSIFIER, first))
    given = ", ".join(f"{name} ({flow.kind})" for name, flow in module.outputs.items())
    raise GraphExportError(
        f"{module.graph.outputs[images[0]].node}: nothing says what a model learns from {given}. "
        "Give out one image with its class, its mask or its boxes, or two random views of one "
        "photo; or export without training."
    )


def _masks_of(module: Module, image: str) -> str:
    """The mask of classes that follows the image or is of its size; empty where there is none."""
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
    """Class numbers (N, H, W), as the loss takes them."""
    axis = (flow.axes or "").find("C")
    return f'batch["{name}"]{f".squeeze({axis + 1})" if axis >= 0 else ""}.long()'


def _are_views(module: Module, images: Sequence[str]) -> bool:
    """Whether both images are of one photo, and something is drawn for each of them alone."""
    graph = module.graph
    first, second = (ancestors(graph, [graph.outputs[name]]) for name in images)
    common = [graph.node(node) for node in first & second]
    seeded = {node.id for node in module.nodes if node.seed is not None}
    return any(isinstance(node, Source) for node in common) and all(
        (own - other) & seeded for own, other in ((first, second), (second, first))
    )


def _class_count(module: Module) -> int:
    """Of shares of classes their number, else ImageNet's."""
    shares = [] if module.labels else class_shares(module.outputs)
    shape = module.outputs[shares[0]].shape if shares else None
    return shape[0] or 1000 if shape else 1000


def _network(lines: Sequence[str], flow: TensorType) -> list[str]:
    """A small model; where only the data tell its channels the first batch does."""
    lines = [line for line in lines if flow.dtype not in _BOUNDED or "Norm" not in line]
    if flow.channels is not None:
        return [line.replace("CHANNELS", str(flow.channels)) for line in lines]
    return [
        line.replace("nn.", "nn.Lazy").replace("CHANNELS, ", "") if "CHANNELS" in line else line
        for line in lines
    ]


def model_input(name: str, flow: TensorType) -> str:
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
