"""How far a library's pixels are from DALI's, operator by operator.

    python -m tests.emit.interop.measure_export photos [--write]

A graph of one operator with fixed arguments is run by DALI and as what the export makes of it, on
the same decoded photos. Libraries that are not installed are left out, and named.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tests.emit.interop.libraries import missing
from tests.emit.interop.measure_import import (
    PHOTOS,
    Array,
    run,
)
from workbench.catalog import load_catalog
from workbench.emit.interop.albumentations import ALBUMENTATIONS
from workbench.emit.interop.common import pixels
from workbench.emit.interop.common.chains import Reading
from workbench.emit.interop.common.images import Images
from workbench.emit.interop.common.source_text import flat
from workbench.emit.interop.common.transforms import Library, Transforms
from workbench.emit.interop.torchvision import TORCHVISION
from workbench.errors import GraphExportError
from workbench.graph.builder.read import read
from workbench.graph.model import Graph, Port
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.views.difference import PixelDifference, difference

CATALOG = load_catalog()
FOLDER = Path("workbench/emit/interop")
LIBRARIES = {library.name: library for library in (TORCHVISION, ALBUMENTATIONS)}
HEAD = """\
# How far other libraries' pixels are from DALI's

Written by `python -m tests.emit.interop.measure_export photos --write` from twelve
sample photos, on a CPU: the exports for `torchvision` and `albumentations` state these figures,
which `common/differences.toml` holds. A graph of one operator with fixed arguments is run by DALI
and as what the export makes of it, on the same decoded photos. Figures are in steps of 8 bits: the
mean and the largest difference, the peak signal-to-noise ratio and the share of equal values.

A `random_resized_crop` is compared as the `resize` of its window. Noise, windows that are erased,
and automatic augmentation are drawn pixel by pixel or by rules of the library's own, and are not
compared. The other way round, from a library to DALI, is in
[the import's table](DIFFERENCES.md).
"""


def _by(change: Callable[[Images], None]) -> Callable[[Graph], Graph]:
    def apply(graph: Graph) -> Graph:
        images = Images(graph)
        change(images)
        return images.graph

    return apply


CASES: Mapping[str, Callable[[Graph], Any]] = {
    "resize": lambda x: x.resize(size=(224, 160)),
    "crop": lambda x: x.crop(crop=(224, 200)),
    "flip": lambda x: x.flip(horizontal=1, vertical=1),
    "rotate": lambda x: x.rotate(angle=30, keep_size=True, fill_value=0),
    "brightness": lambda x: x.brightness(brightness=1.3),
    "contrast": lambda x: x.contrast(contrast=1.3),
    "saturation": lambda x: x.saturation(saturation=1.3),
    "grey": lambda x: x.saturation(saturation=0),
    "hue": lambda x: x.hue(hue=36),
    "brightness_shift": lambda x: x.brightness_contrast(brightness_shift=0.1),
    "gaussian_blur": lambda x: x.gaussian_blur(window_size=9, sigma=1.5),
    "jpeg_compression_distortion": lambda x: x.jpeg_compression_distortion(quality=60),
    "clahe": lambda x: x.clahe(tiles_x=8, tiles_y=8, clip_limit=2.0),
    "equalize": lambda x: x.equalize(),
    "autocontrast": _by(pixels.stretch_contrast),
    "invert": _by(pixels.invert),
    "solarize": _by(lambda images: pixels.solarize(images, 128)),
    "posterize": _by(lambda images: pixels.posterize(images, 4)),
    "gamma": _by(lambda images: pixels.power(images, 1.2, 1.2)),
    "crop_mirror_normalize": lambda x: x.crop_mirror_normalize(
        mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375)
    ),
}


def in_torchvision(source: str, classes: str) -> Callable[[Array], Array]:
    import torch
    from PIL import Image
    from torchvision.transforms import v2

    names = {"v2": v2, "torch": torch, "Any": Any, "MEAN": _MEAN, "STD": _STD}
    exec(classes, names)
    made = eval(source, names)

    def apply(image: Array) -> Array:
        found = made(Image.fromarray(image)).numpy()
        return found if found.dtype == np.float32 else np.moveaxis(found, 0, -1)

    return apply


def in_albumentations(source: str, classes: str) -> Callable[[Array], Array]:
    import albumentations
    import cv2

    made = eval(source, {"A": albumentations, "cv2": cv2, "MEAN": _MEAN, "STD": _STD})
    return lambda image: np.asarray(made(image=image)["image"])


_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
RUN = {"torchvision": in_torchvision, "albumentations": in_albumentations}


def exported(graph: Graph, library: Library) -> Transforms:
    """The transforms of a graph of one image. Raises GraphExportError."""
    views, begin = Reading(ResolvedGraph(graph, CATALOG), library.name).views()
    return Transforms(library).of(begin + views[0].chain)


def measured(photos: Path, library: Library) -> Iterator[tuple[str, str, PixelDifference]]:
    """Each case, what stands for it, and how far that is."""
    for case, make in CASES.items():
        graph = make(read(str(photos)).decode(output_type="RGB")).with_settings(batch_size=PHOTOS)
        image = next(name for name in graph.outputs if name != "labels")
        graph = replace(graph, outputs={"images": graph.outputs[image]})
        decoder = next(node.id for node in graph.walk() if node.op == "decoders.image")
        both = replace(graph, outputs={**graph.outputs, "decoded": Port(decoder, "output")})
        try:
            made = exported(graph, library)
            source = flat(library.composed(made.made))
            apply = RUN[library.name](source, "\n".join(made.classes.values()))
            outputs = run(both, photos)
            pairs = [
                (ours, apply(decoded))
                for ours, decoded in zip(outputs["images"], outputs["decoded"], strict=True)
            ]
        except (GraphExportError, RuntimeError) as error:  # torchvision without its image extension
            print(f"{library.name}, {case}: {error}", file=sys.stderr)
            continue
        if case == "crop_mirror_normalize":  # in steps of 8 bits
            pairs = [(one * 255 * 0.225, other * 255 * 0.225) for one, other in pairs]
        shown = ", ".join(flat(each) for each in made.made if "ToImage" not in flat(each))
        yield case, shown, difference(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path, help="folder of class folders")
    parser.add_argument("--write", action="store_true", help=f"write the tables in {FOLDER}")
    args = parser.parse_args()
    table, data = [HEAD], []
    for name, library in LIBRARIES.items():
        if reason := missing(name):
            print(f"{name} is left out: {reason}", file=sys.stderr)
            continue
        table += [f"## {name} {version(name)}\n"]
        table += ["| operator | written as | mean | largest | PSNR, dB | equal |"]
        table += ["|---|---|---|---|---|---|"]
        for case, source, found in measured(args.photos, library):
            psnr = "equal" if found.psnr == math.inf else f"{found.psnr:.1f}"
            figures = f"{found.mean:.2f} | {found.largest:.0f} | {psnr} | {found.equal:.1%}"
            table += [f"| {case} | `{source}` | {figures} |"]
            data += [f'[{name}."{case}"]', f"mean = {found.mean:.3f}"]
            data += [f"largest = {found.largest:.3f}", ""]
        table += [""]
    print("\n".join(table))
    if args.write:
        (FOLDER / "EXPORT_DIFFERENCES.md").write_text("\n".join(table), encoding="utf-8")
        (FOLDER / "common" / "differences.toml").write_text("\n".join(data), encoding="utf-8")


if __name__ == "__main__":
    main()
