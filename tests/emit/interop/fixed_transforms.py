"""Transformations of libraries with everything that they draw pinned to one value."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.emit.pipeline_import.transform_call import TransformCall
from workbench.emit.script import emit_script
from workbench.graph.model import Graph, Port


def call(name: str, /, *args: Any, **kwargs: Any) -> TransformCall:
    return TransformCall(name, args, kwargs)


def torchvision(name: str, /, *args: Any, **kwargs: Any) -> TransformCall:
    return call(f"torchvision.transforms.{name}", *args, **kwargs)


def albumentations(name: str, /, *args: Any, **kwargs: Any) -> TransformCall:
    return TransformCall(f"albumentations.{name}", args, {"p": 1.0, **kwargs})


def kornia(name: str, /, *args: Any, **kwargs: Any) -> TransformCall:
    return TransformCall(f"kornia.augmentation.{name}", args, {"p": 1.0, **kwargs})


def composed(*calls: TransformCall) -> TransformCall:
    """A composition of the library of these transforms."""
    library = calls[0].library
    if library == "timm":  # create_transform is a composition
        return calls[0]
    if library == "kornia":
        return kornia("AugmentationSequential", *calls)
    return TransformCall(f"{library}.Compose", (list(calls),))


_NORMALIZE = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

TORCHVISION = [
    torchvision("Resize", 160),
    torchvision("Resize", (224, 160)),
    torchvision("Resize", (224, 160), interpolation=3),
    torchvision("Resize", 160, max_size=200),
    torchvision("CenterCrop", 224),
    torchvision("CenterCrop", 1000),
    torchvision("Pad", (3, 5, 7, 9), fill=(1, 2, 3)),
    torchvision("RandomHorizontalFlip", p=1.0),
    torchvision("RandomVerticalFlip", p=1.0),
    torchvision("RandomRotation", (30, 30)),
    torchvision("RandomRotation", (30, 30), interpolation=2, expand=True),
    torchvision("RandomAffine", (20, 20), scale=(0.9, 0.9), interpolation=2),
    torchvision("RandomAffine", (0, 0), shear=(10, 10), interpolation=2),
    torchvision("RandomAffine", (20, 20), shear=(10, 10, 5, 5), interpolation=2),
    torchvision("ColorJitter", brightness=(1.3, 1.3)),
    torchvision("ColorJitter", contrast=(1.3, 1.3)),
    torchvision("ColorJitter", saturation=(1.3, 1.3)),
    torchvision("ColorJitter", hue=(0.1, 0.1)),
    torchvision("Grayscale", 3),
    torchvision("RandomGrayscale", p=1.0),
    torchvision("GaussianBlur", 9, sigma=(1.5, 1.5)),
    torchvision("RandomInvert", p=1.0),
    torchvision("RandomSolarize", 128, p=1.0),
    torchvision("RandomPosterize", 4, p=1.0),
    torchvision("RandomEqualize", p=1.0),
    torchvision("RandomAutocontrast", p=1.0),
    torchvision("RandomAdjustSharpness", 2.0, p=1.0),
    torchvision("Normalize", *_NORMALIZE),
]
ALBUMENTATIONS = [
    albumentations("HorizontalFlip"),
    albumentations("VerticalFlip"),
    albumentations("Transpose"),
    albumentations("Resize", 224, 160),
    albumentations("SmallestMaxSize", 160),
    albumentations("LongestMaxSize", 160),
    albumentations("RandomScale", scale_limit=(-0.25, -0.25)),
    albumentations("PadIfNeeded", 1300, 1400, fill=7),
    albumentations("CenterCrop", 224, 200),
    albumentations("Crop", 10, 20, 110, 140),
    albumentations("Rotate", limit=(30, 30)),
    albumentations("ShiftScaleRotate", (0.1, 0.1), (-0.1, -0.1), (20, 20)),
    albumentations("Affine", scale=(0.9, 0.9), rotate=(20, 20)),
    albumentations("Affine", shear={"x": (10, 10), "y": (0, 0)}),
    albumentations("Affine", rotate=(20, 20), shear=(10, 10)),
    albumentations("Affine", translate_percent=(0.1, 0.1)),
    albumentations("RandomBrightnessContrast", (0.1, 0.1), (0.2, 0.2)),
    albumentations("ColorJitter", (1.2, 1.2), (1.0, 1.0), (1.0, 1.0), (0.0, 0.0)),
    albumentations("HueSaturationValue", (10, 10), (0, 0), (0, 0)),
    albumentations("HueSaturationValue", (0, 0), (20, 20), (10, 10)),
    albumentations("RGBShift", (10, 10), (-10, -10), (5, 5)),
    albumentations("ToGray"),
    albumentations("CLAHE", clip_limit=(3, 3)),
    albumentations("Blur", blur_limit=(5, 5)),
    albumentations("GaussianBlur", blur_limit=(7, 7), sigma_limit=(1.5, 1.5)),
    albumentations("ImageCompression", quality_range=(60, 60)),
    albumentations("RandomGamma", gamma_limit=(120, 120)),
    albumentations("Sharpen", alpha=(0.4, 0.4), lightness=(0.8, 0.8)),
    albumentations("InvertImg"),
    albumentations("Solarize", threshold_range=(0.5, 0.5)),
    albumentations("Posterize", num_bits=4),
    albumentations("Equalize"),
    albumentations("Normalize"),
]
KORNIA = [
    kornia("RandomHorizontalFlip"),
    kornia("CenterCrop", (224, 200)),
    kornia("Resize", (224, 160)),
    kornia("RandomRotation", (30.0, 30.0)),
    kornia("RandomAffine", (20.0, 20.0), scale=(0.9, 0.9)),
    kornia("RandomAffine", 0.0, shear=(10.0, 10.0)),
    kornia("ColorJitter", brightness=(1.2, 1.2)),
    kornia("ColorJitter", contrast=(1.2, 1.2)),
    kornia("ColorJitter", saturation=(1.2, 1.2)),
    kornia("ColorJiggle", brightness=(1.2, 1.2)),
    kornia("ColorJiggle", contrast=(1.2, 1.2)),
    kornia("ColorJiggle", saturation=(1.2, 1.2)),
    kornia("ColorJiggle", hue=(0.1, 0.1)),
    kornia("RandomBrightness", (1.2, 1.2)),
    kornia("RandomContrast", (1.2, 1.2)),
    kornia("RandomGrayscale"),
    kornia("RandomGaussianBlur", (9, 9), (1.5, 1.5)),
    kornia("RandomInvert"),
    kornia("RandomPosterize", (4, 4)),
    kornia("RandomEqualize"),
]
FIXED = {"torchvision": TORCHVISION, "albumentations": ALBUMENTATIONS, "kornia": KORNIA}
ALL_FIXED = [*TORCHVISION, *ALBUMENTATIONS, *KORNIA]


def with_decoded(graph: Graph, batch_size: int) -> Graph:
    """The graph with the decoded images as an output of their own."""
    decoder = next(node.id for node in graph.walk() if node.op == "decoders.image")
    outputs = {**graph.outputs, "decoded": Port(decoder, "output")}
    return replace(graph, outputs=outputs).with_settings(batch_size=batch_size)


def run(graph: Graph, photos: Path, count: int = 12) -> dict[str, list[NDArray[np.generic]]]:
    """The outputs of one batch of the exported script."""
    with tempfile.TemporaryDirectory() as folder:  # DALI reads an ``if`` in a file
        file = Path(folder, "exported.py")
        file.write_text(emit_script(graph).text, encoding="utf-8")
        space = run_path(str(file))
        pipe = space["build_pipeline"](str(photos), count, 2)
    given = [output.as_cpu() for output in pipe.run()]
    return {
        name: [np.asarray(output[i]) for i in range(count)]
        for name, output in zip(graph.outputs, given, strict=True)
    }
