"""Register torchvision's transforms, and convert compositions, blocks, tensors and floats.

Arguments and defaults are those of torchvision 0.26 (``torchvision/transforms/transforms.py`` and
``torchvision/transforms/v2``). Each function is named after the class that it imports. Exports are
for version 2, on uint8 tensors (torchvision 0.28).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.emit.interop.exporting import exporters
from workbench.emit.interop.exporting.chains import Choice, Step
from workbench.emit.interop.exporting.source_text import Expression, Source, call_of
from workbench.emit.interop.exporting.transforms import Transforms, with_p
from workbench.emit.interop.importing import pixels
from workbench.emit.interop.importing.images import Images, NoMatchError, number
from workbench.emit.interop.library import (
    FORM,
    HOLDS,
    NOTHING,
    Library,
    source_text_of,
    transforms_of,
    unused_keyword,
)
from workbench.emit.pipeline_import.transform_call import TransformCall


def _choice(transforms: Transforms, choice: Choice) -> list[Expression]:
    options = [transforms.of(option).made for option in choice.options]
    if choice.times is not None:
        return _repeated(options[0], *choice.times)
    if choice.weights:
        if choice.node.op == "if" and not all(options):
            ((steps, p),) = [
                each for each in zip(options, choice.weights, strict=True) if each[0]
            ] or [([], 0.0)]
            return _applied(steps, p)
        return [_one_of(options, choice.weights)]
    joined = [_compose(option) for option in options]
    if choice.shuffled and choice.count == len(options):
        return [call_of("v2.RandomOrder", joined)]
    kind = "permutations" if choice.shuffled else "combinations"
    transforms.imports.add(f"from itertools import {kind}")
    transforms.options[choice.node.id] = joined
    chosen = f"[v2.Compose(each) for each in {kind}({choice.node.id}, {choice.count})]"
    return [call_of("v2.RandomChoice", Source(chosen))]


def _one_of(options: list[list[Expression]], weights: Sequence[float]) -> Expression:
    joined = [_compose(option) for option in options]
    shares = [round(each, 6) for each in weights]
    equal = len(set(shares)) == 1
    return call_of("v2.RandomChoice", joined, p=None if equal else Source(str(shares)))


def _compose(steps: list[Expression]) -> Expression:
    if not steps:
        return call_of("v2.Identity")
    return steps[0] if len(steps) == 1 else call_of("v2.Compose", steps)


def _applied(steps: list[Expression], p: float) -> list[Expression]:
    """Make steps run with probability ``p``, set by their own argument or by ``v2.RandomApply``."""
    if not steps or p >= 1:
        return steps
    if len(steps) == 1 and (own := with_p(steps[0], p)):
        return [own]
    return [call_of("v2.RandomApply", steps, p=p)]


def _repeated(steps: list[Expression], low: int, high: int) -> list[Expression]:
    if not steps or high < 1:
        return []
    joined = _compose(steps)
    counts = [_compose([joined] * times) for times in range(low, high + 1)]
    return counts if low == high else [call_of("v2.RandomChoice", counts)]


TORCHVISION = Library(
    "torchvision",
    modules=("torchvision.transforms", "torchvision.transforms.v2"),
    without_effect={
        "inplace": "it only selects where the result is stored",
        "RandomCrop.pad_if_needed": "DALI pads, where the library raises an error without it",
    },
    not_imported={
        **dict.fromkeys(
            ("FiveCrop", "TenCrop"),
            "it returns several images; make each crop an output",
        ),
        "RandomPerspective": (
            "DALI samples no perspective; experimental.warp_perspective accepts a matrix that "
            "you compute"
        ),
        "ElasticTransform": (
            "DALI samples no elastic field; experimental.remap, on a GPU, accepts one"
        ),
        "LinearTransformation": "DALI cannot multiply a flattened image by a matrix",
        **dict.fromkeys(
            ("MixUp", "CutMix"),
            "it mixes images of a batch: use the template of that name on the canvas",
        ),
    },
    not_exported={
        "clahe": "has no CLAHE, unlike albumentations",
        "grid_mask": "has no grid mask",
        "median_blur": "has no median blur, unlike albumentations",
        "warp_affine": "samples its own affine map (RandomAffine) and accepts no matrix",
        "experimental.warp_perspective": "samples its own perspective and accepts no matrix",
        "auto_augment": "has other magnitudes in AutoAugment",
        "noise.salt_and_pepper": "has no salt and pepper noise, unlike albumentations",
        "noise.shot": "has no shot noise, unlike albumentations",
    },
    prefix="v2.",
    choice=_choice,
    one_of=_one_of,
    channels_first=True,
)
_imports, _exports = TORCHVISION.imports, TORCHVISION.exports


@_imports("Sequential", compare=HOLDS)
def sequential(images: Images, *transforms: Any) -> None:
    for each in transforms:
        TORCHVISION.import_all(images, each if isinstance(each, list | tuple) else [each])


_SETTING = unused_keyword(None, "the workbench sets it for the whole pipeline")
"""Parameter that only DALI's own ``Compose`` has (nvidia.dali.experimental.torchvision)."""


@_imports("Compose", compare=HOLDS, batch_size=_SETTING, num_threads=_SETTING)
def compose(images: Images, transforms: Any) -> None:
    TORCHVISION.import_all(images, transforms)


@_imports("RandomApply", compare=HOLDS)
def random_apply(images: Images, transforms: Any, p: float = 0.5) -> None:
    found = transforms_of(transforms)
    images.with_p(number(p), lambda: TORCHVISION.import_all(images, found))


@_imports("Lambda")
def lambda_(images: Images, lambd: Any, *types: Any) -> None:
    """Import a function of the script. It must have been recorded as a call."""
    if not isinstance(lambd, TransformCall):
        raise NoMatchError("your own functions cannot be imported: rewrite this one with @wb.node")
    TORCHVISION.import_transform(images, lambd)
    if types:
        images.report_difference(f"{source_text_of(types)}: applied to images, whatever the types")


@_imports("RandomChoice", compare=HOLDS)
def random_choice(images: Images, transforms: Any, p: Any = None) -> None:
    weights = None if p is None else [number(each) for each in p]
    images.one_of(TORCHVISION.import_steps(images, transforms), weights)


@_imports("RandomOrder", compare=HOLDS)
def random_order(images: Images, transforms: Any) -> None:
    steps = TORCHVISION.import_steps(images, transforms)
    images.some_of(len(steps), steps, shuffled=True)


@_imports("Identity", "RGB", "ToPureTensor", compare=NOTHING)
def no_change(images: Images) -> None:
    """Import a transform that changes no pixel of an RGB image."""


@_imports(
    "SanitizeBoundingBoxes", "ClampBoundingBoxes", "ConvertBoundingBoxFormat", compare=NOTHING
)
def boxes(images: Images, *_: Any, **__: Any) -> None:
    raise NoMatchError("the graph has images and labels, but no boxes: use a source of boxes")


@_imports("ToPILImage", compare=NOTHING)
def to_pil_image(images: Images, mode: Any = None) -> None:
    if mode not in (None, "RGB"):
        raise NoMatchError(f"mode is {mode}; only RGB is supported")
    if images.normalised:
        raise NoMatchError("the images are already normalised")
    images.zero_to_one = images.channels_first = images.floats = False


@_imports("ToTensor", compare=FORM)
def to_tensor(images: Images) -> None:
    images.zero_to_one = images.channels_first = True


@_imports("ConvertImageDtype", compare=FORM)
def convert_image_dtype(images: Images, dtype: Any = "float32") -> None:
    to_dtype(images, dtype, scale=True)


@_imports("ToDtype", compare=FORM)
def to_dtype(images: Images, dtype: Any = "float32", scale: bool = False) -> None:
    images.channels_first = True
    name = _image_dtype(dtype)
    if name == "uint8" and not images.normalised and (scale or not images.zero_to_one):
        images.zero_to_one = images.floats = False
        return
    if name != "float32":
        images.report_difference(f"32-bit floats, not {name}")
    if not images.floats and not images.normalised:
        images.zero_to_one = images.zero_to_one or scale
        images.floats = True
    elif scale and not images.zero_to_one:
        images.report_difference("floats are not scaled again")


def _image_dtype(dtype: Any) -> str:
    """Return the element type for images, such as ``float32``. A dict maps classes to types."""
    if isinstance(dtype, dict):
        for name, each in dtype.items():
            if "Image" in str(name) or str(name) == "others":
                return _image_dtype(each)
        return "uint8"
    return str(dtype).rpartition(".")[2]


@_imports("ToImage", "PILToTensor", "ToImageTensor", compare=FORM)
def to_image(images: Images) -> None:
    """Convert to a tensor without scaling the values. A later transform can scale them."""
    images.channels_first = True


@_imports("Normalize")
def normalize(images: Images, mean: Any, std: Any) -> None:
    images.zero_to_one = images.zero_to_one or not images.floats
    images.channels_first = True
    pixels.normalise(images, mean, std)


@_exports("decoders.image")
def export_decode(transforms: Transforms, step: Step) -> None:
    exporters.require_pillow_decoder_arguments(step)
    transforms.add("ToImage")


@_exports("transpose")
def export_transpose(transforms: Transforms, step: Step) -> None:
    if step.items("perm") != (2, 0, 1):
        raise step.refusal("requires channels first", "perm")
    step.read |= {"output_layout", "transpose_layout"}


@_exports("cast")
def export_cast(transforms: Transforms, step: Step) -> None:
    types = {"FLOAT": "float32", "FLOAT16": "float16", "UINT8": "uint8"}
    dtype = step.fixed("dtype")
    if dtype not in types:
        raise step.refusal(f"supports floats and bytes, but dtype is {dtype}", "dtype")
    transforms.add("ToDtype", Source(f"torch.{types[dtype]}"))
