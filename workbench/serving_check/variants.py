"""Imitate servers that resize or crop incorrectly, to compute the images that they would return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Source

Array = NDArray[Any]
_FILTER = Image.Resampling
_INTERPOLATIONS = {
    "nearest": "INTERP_NN",
    "linear": "INTERP_LINEAR",
    "cubic": "INTERP_CUBIC",
    "lanczos": "INTERP_LANCZOS3",
}


def graph_variants(graph: Graph, catalog: Catalog) -> Iterator[tuple[str, Graph]]:
    """Yield pairs of a mistake and a graph whose resizing operators make this mistake."""
    if changed := with_arguments(graph, catalog, antialias=False):
        yield "no_antialias", changed
    for key, value in _INTERPOLATIONS.items():
        if changed := with_arguments(graph, catalog, interp_type=value):
            yield key, changed


def with_arguments(graph: Graph, catalog: Catalog, **values: Any) -> Graph | None:
    """Set arguments of all nodes whose operators have them. Returns None if nothing changes."""
    changed = graph
    for node in graph.nodes:
        known = {} if isinstance(node, Source) else catalog[node.op].args
        new = {
            name: value
            for name, value in values.items()
            if name in known and node.args.get(name, known[name].default) != value
        }
        if new:
            changed = changed.replace_node(node.with_args(new))
    return None if changed is graph else changed


def resized_shorter(graph: Graph) -> int | None:
    """Return the size to which the graph resizes the shorter side, or None."""
    sizes = [node.args.get("resize_shorter") for node in graph.nodes if node.op == "resize"]
    found = [round(size) for size in sizes if isinstance(size, int | float) and size > 0]
    return found[0] if len(found) == 1 else None


def image_variants(
    image: Image.Image, width: int, height: int, shorter: int | None
) -> Iterator[tuple[str, Image.Image]]:
    """Yield each mistake with the resized and cropped image that a server would produce with it.

    ``shorter`` is the size to which the graph resizes the shorter side before its crop, or None.
    """

    def crop(each: Image.Image) -> Image.Image:
        return _centre(each, width, height)

    yield "stretched", image.resize((width, height), _FILTER.BILINEAR)
    yield "stretched_aliased", _aliased(image, width, height)
    yield "stretched_cubic", image.resize((width, height), _FILTER.BICUBIC)
    scale = max(width / image.width, height / image.height)
    yield "no_margin", crop(_scaled(image, scale))
    yield "longer_side", crop(_scaled(image, min(width / image.width, height / image.height)))
    yield "not_resized", crop(image)
    if shorter is None:
        return
    scale = shorter / min(image.size)
    resized = _scaled(image, scale)
    yield "stretched_then_cropped", crop(image.resize((shorter, shorter), _FILTER.BILINEAR))
    yield "longer_side", crop(_scaled(image, shorter / max(image.size)))
    yield "corner", resized.crop((0, 0, width, height))
    yield "area", crop(_averaged(image, *resized.size))
    left, upper = (resized.width - width) // 2, (resized.height - height) // 2
    yield "crop_rounded", resized.crop((left, upper, left + width, upper + height))
    truncated = image.resize(
        (int(image.width * scale + 1e-6), int(image.height * scale + 1e-6)), _FILTER.BILINEAR
    )
    left, upper = round((truncated.width - width) / 2), round((truncated.height - height) / 2)
    yield "torchvision", truncated.crop((left, upper, left + width, upper + height))


def _scaled(image: Image.Image, scale: float) -> Image.Image:
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    return image.resize(size, _FILTER.BILINEAR)


def _centre(image: Image.Image, width: int, height: int) -> Image.Image:
    """Crop the centre; pixels outside of the image are black."""
    left, upper = (image.width - width + 1) // 2, (image.height - height + 1) // 2
    return image.crop((left, upper, left + width, upper + height))


def _aliased(image: Image.Image, width: int, height: int) -> Image.Image:
    """Resize with linear interpolation of the nearest four pixels, as OpenCV does."""
    matrix = (image.width / width, 0, 0, 0, image.height / height, 0)
    return image.transform((width, height), Image.Transform.AFFINE, matrix, _FILTER.BILINEAR)


def _averaged(image: Image.Image, width: int, height: int) -> Image.Image:
    """Reduce by averaging the area of each pixel, as OpenCV's INTER_AREA does; enlarge linearly."""
    if width > image.width or height > image.height:
        return _aliased(image, width, height)
    rows, columns = _overlaps(height, image.height), _overlaps(width, image.width)
    pixels = np.einsum("yi,xj,ijc->yxc", rows, columns, np.asarray(image, float), optimize=True)
    return Image.fromarray(pixels.round().astype(np.uint8))


def _overlaps(new: int, old: int) -> Array:
    """Return a matrix (new, old) with the share of each old pixel in each new pixel."""
    edges = np.arange(new + 1) * old / new
    start = np.maximum(edges[:-1, None], np.arange(old))
    end = np.minimum(edges[1:, None], np.arange(1, old + 1))
    return (end - start).clip(0) * new / old


def with_plain_chroma(image: Image.Image, halved: tuple[int, int]) -> Image.Image:
    """Imitate a JPEG decoder that does not interpolate chroma, such as nvJPEG.

    ``halved`` contains the factors by which the chroma planes are smaller: (2, 1) for 4:2:2.
    """
    luma, *chroma = image.convert("YCbCr").split()
    planes = [luma]
    for plane in chroma:
        small = np.asarray(plane.reduce(halved))
        large = small.repeat(halved[1], 0).repeat(halved[0], 1)[: plane.height, : plane.width]
        planes.append(Image.fromarray(np.ascontiguousarray(large)))
    return Image.merge("YCbCr", planes).convert("RGB")
