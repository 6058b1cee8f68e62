"""How far DALI's pixels are from a library's, operator by operator: ``DIFFERENCES.md``.

    python -m tests.emit.transform_import.measure_differences photos [--write]

What the libraries draw is pinned (``fixed_transforms``), and both sides get the same decoded
pixels. Libraries that are not installed are left out, and named.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from runpy import run_path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from tests.emit.transform_import.fixed_transforms import ALBUMENTATIONS, KORNIA, TORCHVISION
from workbench.emit.script import emit_script
from workbench.emit.transform_import.graph import import_transforms
from workbench.emit.transform_import.transform_call import TransformCall
from workbench.graph.model import Graph, Port
from workbench.preview.pixel_difference import PixelDifference, difference

Array = NDArray[np.generic]
PHOTOS = 12
HEAD = """\
# How far DALI's pixels are from a library's

Written by `python -m tests.emit.transform_import.measure_differences photos --write` from twelve
sample photos, on a CPU. What the library draws is pinned to one value, both sides get the same
decoded pixels, and figures are in steps of 8 bits: the mean and the largest difference, the peak
signal-to-noise ratio and the share of equal values. Nodes that only draw, shape or count are not
named.

- Sizes by one side: torchvision cuts the other side to a whole number, DALI rounds it.
- `CenterCrop` of torchvision rounds a middle between two pixels to the even one, DALI upwards:
  where they differ the crop stands one pixel further.
- Rotations and affine maps sample alike; along edges one pixel of the filling can differ.
- Contrast: DALI turns about 128, torchvision about the mean of the grey image.
- Hue: DALI turns it in YIQ, the libraries in HSV. The same number gives another colour; the larger
  the turn, the further. Saturation of Kornia's `ColorJiggle` is of HSV too.
- torchvision (by Pillow) and Kornia equalise a histogram otherwise than OpenCV, which DALI follows.
- JPEG: another encoder at the same quality.
- Pillow's `GaussianBlur`, in classes of a script's own, is three boxes: mean 0.3 to 0.5, largest
  29, 51 to 53 dB at radii of 0.5 to 2.
"""
TABLE = Path("workbench/emit/transform_import/DIFFERENCES.md")


def ours(call: TransformCall, photos: Path) -> tuple[list[Array], list[Array], str]:
    """The decoded images, what DALI makes of them, and the nodes that do it."""
    name = "AugmentationSequential" if call.library == "kornia" else "Compose"
    whole = TransformCall(f"{call.library}.{name}", (call,) if name != "Compose" else ([call],))
    found = import_transforms(whole)
    if found.report.refused:
        raise SystemExit(f"{call.name}: {found.report}")
    graph = found.graph.with_settings(batch_size=PHOTOS)
    decoder = next(node.id for node in graph.walk() if node.op == "decoders.image")
    graph = replace(graph, outputs={**graph.outputs, "decoded": Port(decoder, "output")})
    outputs = run(graph, photos)
    return list(outputs["decoded"]), list(outputs["images"]), _nodes(graph)


def run(graph: Graph, photos: Path, count: int = PHOTOS) -> dict[str, list[Array]]:
    """The outputs of one batch, as the exported script gives them."""
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


def _nodes(graph: Graph) -> str:
    around = {"readers.file", "decoders.image"}
    draws = ("random.", "math.", "transforms.", "constant", "shape", "stack", "cast", "subscript")
    ops = [node.op for node in graph.walk() if node.op not in around]
    shown = [op for op in dict.fromkeys(ops) if not op.startswith(draws)]
    return ", ".join(shown or dict.fromkeys(ops))


def of_torchvision(module: ModuleType, call: TransformCall) -> Callable[[Array], Array]:
    from PIL import Image

    made = getattr(module.transforms, call.short_name)(*call.args, **call.kwargs)
    if call.short_name == "Normalize":
        return lambda image: np.asarray(made(module.transforms.ToTensor()(image.copy())))
    return lambda image: np.asarray(made(Image.fromarray(image)))


def of_albumentations(module: ModuleType, call: TransformCall) -> Callable[[Array], Array]:
    made = getattr(module, call.short_name)(*call.args, **call.kwargs)
    return lambda image: np.asarray(made(image=image)["image"])


def of_kornia(module: ModuleType, call: TransformCall) -> Callable[[Array], Array]:
    import torch

    augmentation = import_module("kornia.augmentation")
    made = getattr(augmentation, call.short_name)(*call.args, **call.kwargs)

    def apply(image: Array) -> Array:
        scaled = torch.from_numpy(image.copy()).permute(2, 0, 1)[None].float() / 255
        return np.asarray(made(scaled)[0])

    return apply


LIBRARIES = {
    "torchvision": (TORCHVISION, of_torchvision),
    "albumentations": (ALBUMENTATIONS, of_albumentations),
    "kornia": (KORNIA, of_kornia),
}


def measured(photos: Path, library: str) -> Iterator[tuple[TransformCall, str, PixelDifference]]:
    """Each transformation with the nodes that stand for it, and how far they are."""
    module = import_module(library)
    calls, live = LIBRARIES[library]
    for call in calls:
        decoded, made, nodes = ours(call, photos)
        apply = live(module, call)
        pairs = [(one, _like(one, apply(image))) for image, one in zip(decoded, made, strict=True)]
        if call.short_name == "Normalize":  # in steps of 8 bits
            pairs = [(one * 255 * 0.225, other * 255 * 0.225) for one, other in pairs]
        elif library == "kornia":
            pairs = [(one * 255, other * 255) for one, other in pairs]
        yield call, nodes, difference(pairs)


def _like(one: Array, other: Array) -> Array:
    """The other image with its channels where the one has them."""
    if other.ndim == 3 and one.ndim == 3 and one.shape[0] == 3 and other.shape[-1] == 3:
        return np.moveaxis(other, -1, 0)
    return other


def lines(photos: Path) -> Iterator[str]:
    """The table, in Markdown."""
    for library in LIBRARIES:
        try:
            import_module(library)
        except (ImportError, RuntimeError) as error:
            print(f"{library} is left out: {error}", file=sys.stderr)
            continue
        yield f"\n## {library} {version(library)}\n"
        yield "| transformation | nodes | mean | largest | PSNR, dB | equal |"
        yield "|---|---|---|---|---|---|"
        for call, nodes, found in measured(photos, library):
            given = [*map(repr, call.args), *(f"{k}={v!r}" for k, v in call.kwargs.items())]
            text = f"{call.short_name}({', '.join(given)})"
            if found.sizes:
                yield f"| `{text}` | {nodes} | sizes differ: {found.sizes} | | | |"
                continue
            psnr = "equal" if found.psnr == math.inf else f"{found.psnr:.1f}"
            figures = f"{found.mean:.2f} | {found.largest:.0f} | {psnr} | {found.equal:.1%}"
            yield f"| `{text}` | {nodes} | {figures} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path, help="folder of class folders")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE}")
    args = parser.parse_args()
    text = HEAD + "\n".join(lines(args.photos)) + "\n"
    print(text)
    if args.write:
        TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
