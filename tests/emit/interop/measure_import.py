"""How far DALI's pixels are from a library's, operator by operator: ``DIFFERENCES.md``.

    python -m tests.emit.interop.measure_import photos [--write]

What the libraries draw is pinned (``fixed_transforms``), and both sides get the same decoded
pixels. Libraries that are not installed are left out, and named.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from runpy import run_path

import numpy as np
from numpy.typing import NDArray

from tests.emit.interop.fixed_transforms import (
    ALBUMENTATIONS,
    KORNIA,
    TORCHVISION,
    torchvision,
)
from tests.emit.interop.libraries import missing
from workbench.emit.interop.graph import decoded_images, import_transforms
from workbench.emit.pipeline_import.transform_call import TransformCall
from workbench.emit.script import emit_script
from workbench.graph.model import Graph, Port
from workbench.preview.views.difference import PixelDifference, difference
from workbench.transform_comparison import nodes_of
from workbench.transform_comparison.library_calls import made_by_library

Array = NDArray[np.generic]
PHOTOS = 12
HEAD = """\
# How far DALI's pixels are from a library's

Written by `python -m tests.emit.interop.measure_import photos --write` from twelve
sample photos, on a CPU. What the library draws is pinned to one value, both sides get the same
decoded pixels, and figures are in steps of 8 bits: the mean and the largest difference, the peak
signal-to-noise ratio and the share of equal values. Nodes that only draw, shape or count are not
named.

- Sizes by one side: torchvision cuts the other side to a whole number, DALI rounds it.
- `CenterCrop` of torchvision rounds a middle between two pixels to the even one, DALI upwards:
  where they differ the crop stands one pixel further.
- Shifts of Albumentations are cut to whole pixels as in version 2; version 1 does not cut them.
- Rotations and affine maps sample alike; along edges one pixel of the filling can differ.
- Contrast: DALI turns about 128, torchvision about the mean of the grey image.
- Hue: DALI turns it in YIQ, the libraries in HSV. The same number gives another colour; the larger
  the turn, the further. Saturation of Kornia's `ColorJiggle` is of HSV too.
- torchvision (by Pillow) and Kornia equalise a histogram otherwise than OpenCV, which DALI follows.
- JPEG: another encoder at the same quality.
- Pillow's `GaussianBlur`, in classes of a script's own, is three boxes: mean 0.3 to 0.5, largest
  29, 51 to 53 dB at radii of 0.5 to 2.
"""
TABLE = Path("workbench/emit/interop/DIFFERENCES.md")
LIBRARIES = {"torchvision": TORCHVISION, "albumentations": ALBUMENTATIONS, "kornia": KORNIA}


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
    nodes = ", ".join(nodes_of(graph, decoded_images("folder")))
    outputs = run(graph, photos)
    return list(outputs["decoded"]), list(outputs["images"]), nodes


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


def measured(photos: Path, library: str) -> Iterator[tuple[TransformCall, str, PixelDifference]]:
    """Each transformation with the nodes that stand for it, and how far they are."""
    for call in LIBRARIES[library]:
        decoded, made, nodes = ours(call, photos)
        tensors = library == "torchvision" and call.short_name == "Normalize"
        apply = made_by_library([*([torchvision("ToTensor")] if tensors else []), call], library)
        both = zip(decoded, made, strict=True)
        pairs = [(_channels_last(one), apply(image)) for image, one in both]
        if call.short_name == "Normalize":  # in steps of 8 bits
            pairs = [(one * 255 * 0.225, other * 255 * 0.225) for one, other in pairs]
        elif library == "kornia":
            pairs = [(one * 255, other * 255) for one, other in pairs]
        yield call, nodes, difference(pairs)


def _channels_last(image: Array) -> Array:
    return np.moveaxis(image, 0, -1) if image.shape[0] == 3 else image


def lines(photos: Path) -> Iterator[str]:
    """The table, in Markdown."""
    for library in LIBRARIES:
        if reason := missing(library):
            print(f"{library} is left out: {reason}", file=sys.stderr)
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
