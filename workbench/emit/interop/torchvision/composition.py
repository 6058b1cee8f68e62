"""Compositions of torchvision, and what makes images tensors or floats.

Arguments and defaults are those of torchvision 0.26 (``torchvision/transforms/transforms.py`` and
``torchvision/transforms/v2``); each function is named after its class. What is written is for
version 2, on uint8 tensors (torchvision 0.28).
"""

from __future__ import annotations

from typing import Any

from workbench.emit.interop.common.images import Images, NoMatchError, number
from workbench.emit.interop.common.library import FORM, HOLDS, NOTHING, transforms_of
from workbench.emit.interop.common.pixels import normalise
from workbench.emit.interop.common.source_text import Source
from workbench.emit.interop.common.steps import Step, decoded_with_pillow
from workbench.emit.interop.common.transforms import Transforms
from workbench.emit.interop.torchvision.library import TORCHVISION
from workbench.emit.pipeline_import.transform_call import TransformCall

_match, _writes = TORCHVISION.match, TORCHVISION.writes


@_match("Sequential", compare=HOLDS)
def sequential(images: Images, *transforms: Any) -> None:
    for each in transforms:
        for inner in each if isinstance(each, list | tuple) else [each]:
            TORCHVISION.apply(images, inner)


@_match(
    "Compose",
    compare=HOLDS,
    batch_size="a setting of the pipeline, which the workbench sets",
    num_threads="a setting of the pipeline, which the workbench sets",
)
def compose(
    images: Images, transforms: Any, *, batch_size: Any = None, num_threads: Any = None
) -> None:
    # batch_size and num_threads are of DALI's own Compose, nvidia.dali.experimental.torchvision
    for each in transforms_of(transforms):
        TORCHVISION.apply(images, each)


@_match("RandomApply", compare=HOLDS)
def random_apply(images: Images, transforms: Any, p: float = 0.5) -> None:
    steps = TORCHVISION.steps(images, transforms)
    images.with_p(number(p), lambda: [step() for step in steps].clear())


@_match("Lambda", types="applied to images, whatever the types")
def lambda_(images: Images, lambd: Any, *types: Any) -> None:
    """A function of the script's own, whose steps were read where that is possible."""
    if not isinstance(lambd, TransformCall):
        raise NoMatchError("a function of your own: write it as @wb.node")
    TORCHVISION.apply(images, lambd)


@_match("RandomChoice", compare=HOLDS)
def random_choice(images: Images, transforms: Any, p: Any = None) -> None:
    weights = None if p is None else [number(each) for each in p]
    images.one_of(TORCHVISION.steps(images, transforms), weights)


@_match("RandomOrder", compare=HOLDS)
def random_order(images: Images, transforms: Any) -> None:
    steps = TORCHVISION.steps(images, transforms)
    images.some_of(len(steps), steps, shuffled=True)


@_match("Identity", "RGB", "ToPureTensor", compare=NOTHING)
def nothing(images: Images) -> None:
    """A transform that changes no pixel of an RGB image."""


@_match("SanitizeBoundingBoxes", "ClampBoundingBoxes", "ConvertBoundingBoxFormat", compare=NOTHING)
def boxes(images: Images, *_: Any, **__: Any) -> None:
    raise NoMatchError("the graph has images and labels, no boxes: use a source of boxes")


@_match("ToPILImage", compare=NOTHING)
def to_pil_image(images: Images, mode: Any = None) -> None:
    if mode not in (None, "RGB"):
        raise NoMatchError(f"mode is {mode}; RGB is known")
    if images.normalised:
        raise NoMatchError("the images are normalised already")
    images.zero_to_one = images.channels_first = images.floats = False


@_match("ToTensor", compare=FORM)
def to_tensor(images: Images) -> None:
    images.zero_to_one = images.channels_first = True


@_match("ConvertImageDtype", compare=FORM)
def convert_image_dtype(images: Images, dtype: Any = "float32") -> None:
    to_dtype(images, dtype, scale=True)


@_match("ToDtype", compare=FORM)
def to_dtype(images: Images, dtype: Any = "float32", scale: bool = False) -> None:
    images.channels_first = True
    name = _image_dtype(dtype)
    if name == "uint8" and not images.normalised and (scale or not images.zero_to_one):
        images.zero_to_one = images.floats = False
        return
    if name != "float32":
        images.changed(f"floats of 32 bits, not {name}")
    if not images.floats and not images.normalised:
        images.zero_to_one = images.zero_to_one or scale
        images.floats = True
    elif scale and not images.zero_to_one:
        images.changed("floats are not scaled again")


def _image_dtype(dtype: Any) -> str:
    """The type that images get, also of a dictionary of types: ``float32``."""
    if isinstance(dtype, dict):
        for name, each in dtype.items():
            if "Image" in str(name) or str(name) == "others":
                return _image_dtype(each)
        return "uint8"
    return str(dtype).rpartition(".")[2]


@_match("ToImage", "PILToTensor", "ToImageTensor", compare=FORM)
def to_image(images: Images) -> None:
    """A tensor of the same numbers; what follows scales it."""
    images.channels_first = True


@_match("Normalize")
def normalize(images: Images, mean: Any, std: Any) -> None:
    images.zero_to_one = images.zero_to_one or not images.floats
    images.channels_first = True
    normalise(images, mean, std)


@_writes("decoders.image")
def write_decode(transforms: Transforms, step: Step) -> None:
    decoded_with_pillow(step)
    transforms.add("ToImage")


@_writes("transpose")
def write_transpose(transforms: Transforms, step: Step) -> None:
    if step.items("perm") != (2, 0, 1):
        raise step.refusal("has channels first throughout", "perm")
    step.read |= {"output_layout", "transpose_layout"}


@_writes("cast")
def write_cast(transforms: Transforms, step: Step) -> None:
    types = {"FLOAT": "float32", "FLOAT16": "float16", "UINT8": "uint8"}
    dtype = step.fixed("dtype")
    if dtype not in types:
        raise step.refusal(f"works on floats and bytes, and dtype is {dtype}", "dtype")
    transforms.add("ToDtype", Source(f"torch.{types[dtype]}"))
