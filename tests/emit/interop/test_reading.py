"""Graphs as another library's transforms: what is written, and what is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import workbench as wb
from workbench.catalog import load_catalog
from workbench.emit.interop.albumentations import ALBUMENTATIONS
from workbench.emit.interop.exporting.chains import ChainExtractor
from workbench.emit.interop.exporting.source_text import flat
from workbench.emit.interop.exporting.transforms import Library, Transforms
from workbench.emit.interop.graph import import_transforms
from workbench.emit.interop.torchvision import TORCHVISION
from workbench.emit.pipeline_import.transform_call import TransformCall
from workbench.emit.targets import export
from workbench.errors import GraphExportError
from workbench.graph import Graph
from workbench.graph.builder.read import fn, random
from workbench.graph.resolved import ResolvedGraph

CATALOG = load_catalog()
DECODED = import_transforms(TransformCall("torchvision.transforms.Compose", ([],))).graph
SIZED = DECODED.resize(size=(64, 64))


def written(graph: Graph, library: Library, after: int = 2) -> str:
    """The transforms behind the first so many."""
    views, begin = ChainExtractor(ResolvedGraph(graph, CATALOG), library.name).views()
    made = Transforms(library).of(begin + views[0].chain).made
    return ", ".join(map(flat, made[after:]))


def both(graph: Graph) -> tuple[str, str]:
    return written(graph, TORCHVISION), written(graph, ALBUMENTATIONS, 1)


def coin(p: float) -> Any:
    return random.coin_flip(probability=p)


@pytest.mark.parametrize(
    ("change", "torchvision", "albumentations"),
    [
        (
            lambda x: x.flip(horizontal=coin(0.25)),
            "v2.RandomHorizontalFlip(p=0.25)",
            "A.HorizontalFlip(p=0.25)",
        ),
        (
            lambda x: x.with_p(0.4, lambda y: y.flip(horizontal=coin(0.5))),
            "v2.RandomHorizontalFlip(p=0.2)",
            "A.HorizontalFlip(p=0.2)",
        ),
        (
            lambda x: x.with_p(0.3, lambda y: y.gaussian_blur(window_size=5, sigma=1.0)),
            "v2.RandomApply([v2.GaussianBlur(5, sigma=(1.0, 1.0))], p=0.3)",
            "A.GaussianBlur((5, 5), (1.0, 1.0), p=0.3)",
        ),
        (
            lambda x: x.one_of(
                lambda y: y.flip(), lambda y: y.equalize(), lambda y: y, weights=(2, 1, 1)
            ),
            "v2.RandomChoice([v2.RandomHorizontalFlip(p=1.0), v2.RandomEqualize(p=1.0), "
            "v2.Identity()], p=[0.5, 0.25, 0.25])",
            "A.OneOf([A.HorizontalFlip(p=0.5), A.Equalize(p=0.25), A.NoOp(p=0.25)], p=1.0)",
        ),
        (
            lambda x: x.one_of(lambda y: y.flip(horizontal=coin(0.5)), lambda y: y.equalize()),
            "v2.RandomChoice([v2.RandomHorizontalFlip(p=0.5), v2.RandomEqualize(p=1.0)])",
            "A.OneOf([A.Sequential([A.HorizontalFlip(p=0.5)], p=0.5), A.Equalize(p=0.5)], p=1.0)",
        ),
        (
            lambda x: x.some_of(2, *[lambda y: y.flip()] * 2, lambda y: y.equalize()),
            "v2.RandomChoice([v2.Compose(each) for each in combinations(some_of, 2)])",
            "A.SomeOf([A.HorizontalFlip(p=1.0), A.HorizontalFlip(p=1.0), A.Equalize(p=1.0)], n=2)",
        ),
        (
            lambda x: x.some_of(2, lambda y: y.flip(), lambda y: y.equalize(), shuffled=True),
            "v2.RandomOrder([v2.RandomHorizontalFlip(p=1.0), v2.RandomEqualize(p=1.0)])",
            "A.RandomOrder([A.HorizontalFlip(p=1.0), A.Equalize(p=1.0)], n=2)",
        ),
        (
            lambda x: x.repeat(2, lambda y: y.equalize()),
            "v2.Compose([v2.RandomEqualize(p=1.0), v2.RandomEqualize(p=1.0)])",
            "A.Equalize(p=1.0), A.Equalize(p=1.0)",
        ),
        (
            lambda x: x.rotate(
                angle=random.uniform(range=(0, 1)) * 20.0 - 10.0, keep_size=True, fill_value=0
            ),
            "v2.RandomRotation((-10, 10), interpolation=v2.InterpolationMode.BILINEAR)",
            "A.Rotate((-10, 10), p=1.0)",
        ),
        (
            lambda x: x.saturation(saturation=random.uniform(values=(0, 1, 1, 1))),
            "v2.RandomGrayscale(p=0.25)",
            "A.ToGray(p=0.25)",
        ),
    ],
)
def test_chance_and_choice(
    change: Callable[[Graph], Graph], torchvision: str, albumentations: str
) -> None:
    assert both(change(SIZED)) == (torchvision, albumentations)


SHARED = random.uniform(range=(-5, 5))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (lambda: SIZED.grid_mask(), r"^grid_mask: torchvision has no grid mask\. Leave it out, or"),
        (lambda: DECODED.rotate(angle=5), r"^rotate: nothing gives images one size, .* Resize"),
        (
            lambda: SIZED.resize(size=(8, 8), subpixel_scale=False),
            r"^resize_2\.subpixel_scale: torchvision has no counterpart of subpixel_scale of res",
        ),
        (
            lambda: SIZED.rotate(angle=random.normal(), keep_size=True),
            r"^angle: torchvision draws evenly or by a probability, and has no random\.normal",
        ),
        (
            lambda: SIZED.flip(horizontal=(fn.reductions.mean(SIZED.images).cast(dtype="INT32"))),
            r"^flip\.horizontal: torchvision draws it from a range, and .* calculates it",
        ),
        (
            lambda: SIZED.rotate(angle=SHARED, keep_size=True).hue(hue=SHARED),
            r"^angle: rotate and hue need the same draw, .* Give each a generator of its own\.$",
        ),
        (
            lambda: wb.outputs(images=SIZED.images * 0.5 + SIZED.equalize().images),
            r"this takes 2 images together\. Leave it out, or export for pytorch",
        ),
    ],
)
def test_refusals_name_the_node_and_what_to_do(graph: Callable[[], Graph], message: str) -> None:
    with pytest.raises(GraphExportError, match=message):
        export(graph(), "torchvision", CATALOG)


def test_views_share_what_they_begin_with_and_transforms_that_are_alike() -> None:
    crop = DECODED.random_resized_crop(size=(32, 32))
    graph = replace(crop, outputs={**crop.outputs, "same": crop.outputs["images"]})
    turned = crop.flip(horizontal=coin(0.5))
    two = replace(turned, outputs={**graph.outputs, "turned": turned.outputs["images"]})
    text = export(two, "torchvision", CATALOG).main.text
    assert "transform = v2.Compose([v2.ToImage(), v2.RandomResizedCrop((32, 32))])" in text
    assert "turned_transform = v2.RandomHorizontalFlip(p=0.5)" in text
    assert "return photo, label, photo, turned_transform(photo)" in text.replace("\n", "")
