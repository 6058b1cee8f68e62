"""How far a library's pixels are from DALI's: ``DIFFERENCES.md`` and ``EXPORT_DIFFERENCES.md``.

    python -m benchmarks.transform_differences photos [--write]

Both sides get the same decoded pixels. An import is measured transform by transform, with what the
library samples pinned (``fixed_transforms``); an export operator by operator, with fixed arguments.
Libraries that are not installed are skipped and named. The text above a table is unchanged.
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
from numpy.typing import NDArray

from tests.emit.interop.fixed_transforms import FIXED, composed, run, torchvision, with_decoded
from tests.emit.interop.libraries import missing
from workbench.catalog import load_catalog
from workbench.emit.interop.albumentations import ALBUMENTATIONS
from workbench.emit.interop.exporting.chains import ChainExtractor
from workbench.emit.interop.exporting.source_text import flat
from workbench.emit.interop.exporting.transforms import Transforms
from workbench.emit.interop.graph import decoded_images, import_transforms
from workbench.emit.interop.importing import pixels
from workbench.emit.interop.importing.images import Images
from workbench.emit.interop.library import Library
from workbench.emit.interop.torchvision import TORCHVISION
from workbench.errors import GraphExportError
from workbench.graph.builder.read import read
from workbench.graph.model import Graph
from workbench.graph.resolved import ResolvedGraph
from workbench.pipeline_difference.sides.library_calls import library_function
from workbench.pipeline_difference.transforms import nodes_of
from workbench.preview.requests.difference import PixelDifference, difference

Array = NDArray[np.generic]
Row = tuple[str, str, PixelDifference]
"""Two cells of a table, and the difference of the pixels."""
PHOTOS = 12
FOLDER = Path("workbench/emit/interop")
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def imported(photos: Path, library: str) -> Iterator[Row]:
    """Each transform, the nodes it is imported as, and the difference of their pixels."""
    for call in FIXED[library]:
        found = import_transforms(composed(call))
        if found.report.refused:
            raise SystemExit(f"{call.name}: {found.report}")
        nodes = ", ".join(nodes_of(found.graph, decoded_images("folder")))
        outputs = run(with_decoded(found.graph, PHOTOS), photos)
        normalised = call.short_name == "Normalize"
        tensors = library == "torchvision" and normalised
        apply = library_function([*([torchvision("ToTensor")] if tensors else []), call], library)
        pairs = [
            (_channels_last(ours), apply(decoded))
            for ours, decoded in zip(outputs["images"], outputs["decoded"], strict=True)
        ]
        if normalised or library == "kornia":
            pairs = _in_steps(pairs, 0.225 if normalised else 1.0)
        given = [*map(repr, call.args), *(f"{k}={v!r}" for k, v in call.kwargs.items())]
        yield f"`{call.short_name}({', '.join(given)})`", nodes, difference(pairs)


def _channels_last(image: Array) -> Array:
    return np.moveaxis(image, 0, -1) if image.shape[0] == 3 else image


def _in_steps(pairs: list[tuple[Any, Any]], spread: float) -> list[tuple[Any, Any]]:
    """Floats in steps of 8 bits."""
    return [(one * 255 * spread, other * 255 * spread) for one, other in pairs]


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


RUN = {"torchvision": in_torchvision, "albumentations": in_albumentations}


def transforms_of(graph: Graph, library: Library) -> Transforms:
    """The transforms of a graph of one image. Raises GraphExportError."""
    views, begin = ChainExtractor(ResolvedGraph(graph, load_catalog()), library.name).views()
    return Transforms(library).of(begin + views[0].chain)


def exported(photos: Path, library: Library) -> Iterator[Row]:
    """Each case, the exported transform, and the difference of their pixels."""
    for case, make in CASES.items():
        graph = make(read(str(photos)).decode(output_type="RGB"))
        image = next(name for name in graph.outputs if name != "labels")
        graph = replace(graph, outputs={"images": graph.outputs[image]})
        try:
            made = transforms_of(graph, library)
            source = flat(library.composed(made.made))
            apply = RUN[library.name](source, "\n".join(made.classes.values()))
            outputs = run(with_decoded(graph, PHOTOS), photos)
            pairs = [
                (ours, apply(decoded))
                for ours, decoded in zip(outputs["images"], outputs["decoded"], strict=True)
            ]
        except (GraphExportError, RuntimeError) as error:  # torchvision without its image extension
            print(f"{library.name}, {case}: {error}", file=sys.stderr)
            continue
        if case == "crop_mirror_normalize":
            pairs = _in_steps(pairs, 0.225)
        shown = ", ".join(flat(each) for each in made.made if "ToImage" not in flat(each))
        yield case, f"`{shown}`", difference(pairs)


def table(library: str, columns: str, rows: list[Row]) -> list[str]:
    """The rows in Markdown."""
    lines = [f"\n## {library} {version(library)}\n"]
    lines += [f"| {columns} | mean | largest | PSNR, dB | equal |", "|---|---|---|---|---|---|"]
    for first, second, found in rows:
        psnr = "equal" if found.psnr == math.inf else f"{found.psnr:.1f}"
        figures = f"{found.mean:.2f} | {found.largest:.0f} | {psnr} | {found.equal:.1%}"
        if found.sizes:
            figures = f"sizes differ: {found.sizes} | | |"
        lines.append(f"| {first} | {second} | {figures} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path, help="folder of class folders")
    parser.add_argument("--write", action="store_true", help=f"write the tables in {FOLDER}")
    args = parser.parse_args()
    files: dict[str, list[str]] = {"DIFFERENCES.md": [], "EXPORT_DIFFERENCES.md": []}
    data: list[str] = []
    for name in FIXED:
        if reason := missing(name):
            print(f"{name} is left out: {reason}", file=sys.stderr)
            continue
        rows = [*imported(args.photos, name)]
        files["DIFFERENCES.md"] += table(name, "transformation | nodes", rows)
        if name in RUN:
            library = {each.name: each for each in (TORCHVISION, ALBUMENTATIONS)}[name]
            rows = [*exported(args.photos, library)]
            files["EXPORT_DIFFERENCES.md"] += table(name, "operator | written as", rows)
            for case, _, found in rows:
                data += [f'[{name}."{case}"]', f"mean = {found.mean:.3f}"]
                data += [f"largest = {found.largest:.3f}", ""]
    for file, lines in files.items():
        print("\n".join(lines))
        if args.write:
            head = (FOLDER / file).read_text("utf-8").partition("\n## ")[0]
            (FOLDER / file).write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    if args.write:
        (FOLDER / "exporting" / "differences.toml").write_text("\n".join(data), encoding="utf-8")


if __name__ == "__main__":
    main()
