"""Graphs as another library's transforms: what is written, and what is refused by name."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import workbench as wb
from tests.helpers import chain_graph
from workbench.catalog import Value, load_catalog
from workbench.emit.interop.albumentations import ALBUMENTATIONS
from workbench.emit.interop.exporting.chains import ChainExtractor
from workbench.emit.interop.exporting.source_text import flat
from workbench.emit.interop.exporting.transforms import Library, Transforms
from workbench.emit.interop.graph import import_transforms
from workbench.emit.interop.torchvision import TORCHVISION
from workbench.emit.pipeline_import.transform_call import TransformCall
from workbench.emit.targets import export, target_names
from workbench.errors import GraphExportError, GraphFaultsError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.builder.read import fn, random
from workbench.graph.edits.edit import set_arg
from workbench.graph.resolved import ResolvedGraph

CATALOG = load_catalog()
DECODED = import_transforms(TransformCall("torchvision.transforms.Compose", ([],))).graph
SIZED = DECODED.resize(size=(64, 64))


def written(graph: Graph, library: Library, after: int = 2) -> str:
    """The transforms after the first ``after`` ones."""
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
        (
            lambda: SIZED.grid_mask(),
            r"^grid_mask: torchvision has no grid mask\. Remove the node, or",
        ),
        (
            lambda: DECODED.rotate(angle=5),
            r"^rotate: .* 'images' may have images of different sizes\. Resize",
        ),
        (
            lambda: SIZED.resize(size=(8, 8), subpixel_scale=False),
            r"^resize_2\.subpixel_scale: torchvision has no equivalent of the argument",
        ),
        (
            lambda: SIZED.rotate(angle=random.normal(), keep_size=True),
            r"^angle: torchvision has no random\.normal, only uniform values and coin flips",
        ),
        (
            lambda: SIZED.flip(horizontal=(fn.reductions.mean(SIZED.images).cast(dtype="INT32"))),
            r"^flip\.horizontal: torchvision samples 'horizontal' from a range, but .* calcul",
        ),
        (
            lambda: SIZED.rotate(angle=SHARED, keep_size=True).hue(hue=SHARED),
            r"^angle: 'rotate' and 'hue' share its random value, .* Use one generator for each\.$",
        ),
        (
            lambda: wb.outputs(images=SIZED.images * 0.5 + SIZED.equalize().images),
            r"this combines 2 images\. Remove the node, or export for pytorch",
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


WITHOUT_DALI = ("torchvision", "albumentations")
HOSTILE = ('HWC"); PWN(); ("', 'H"', "\nPWN()", "1) or PWN() or (1", "'''", "\\")


def with_node(op: str, **args: Value) -> Graph:
    """A graph that outputs the result of a node on resized images."""
    graph = load_recipe("imagenet-eval")
    node = Node("it", op, args, {"data": graph.outputs["images"]} if op != "constant" else {})
    return replace(
        graph,
        nodes=(*graph.nodes, node),
        outputs={**graph.outputs, "made": Port("it", "output")},
    )


@pytest.mark.parametrize(
    ("op", "argument", "others"),
    [
        ("constant", "layout", {"fdata": (1.0,), "shape": (1, 1, 1)}),
        ("transpose", "output_layout", {"perm": (2, 0, 1)}),
        ("transpose", "output_layout", {}),
        ("reshape", "layout", {}),
        ("expand_dims", "new_axis_names", {"axes": (0,)}),
        ("crop_mirror_normalize", "output_layout", {}),
        ("reductions.max", "axis_names", {}),
    ],
)
def test_a_layout_of_anything_but_letters_is_a_fault(
    op: str, argument: str, others: dict[str, Value]
) -> None:
    for layout in HOSTILE:
        graph = with_node(op, **others, **{argument: layout})
        for target in target_names():
            with pytest.raises(GraphFaultsError, match=rf"it\.{argument}: .*Use .*"):
                export(graph, target, CATALOG)


def test_a_layout_is_written_as_a_text() -> None:
    graph = with_node("constant", fdata=(1.0,), shape=(1, 1, 1), layout="HWC")
    assert 'layout="HWC"' in export(graph, "dynamic", CATALOG).main.text
    notebook = json.loads(export(load_recipe("rotate-jitter"), "notebook", CATALOG).main.text)
    sources = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    calls = [node for text in sources for node in ast.walk(ast.parse(text))]
    shown = [node for node in calls if isinstance(node, ast.Call) and "show" in ast.dump(node.func)]
    assert any(isinstance(node.args[1], ast.Constant) for node in shown if len(node.args) == 2)


@pytest.mark.parametrize("target", WITHOUT_DALI)
@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("transpose", {"output_layout": "CHW"}),
        ("crop_mirror_normalize", {"mean": 0.0, "std": 255.0}),
        ("crop_mirror_normalize", {"mean": (), "std": ()}),
        ("erase", {"shape": 1, "anchor": 0.5}),
        ("erase", {"shape": (0.5, 0.0), "anchor": (0.5, 0.5)}),
        ("gaussian_blur", {"window_size": ()}),
        ("resize", {"size": 32}),
    ],
)
def test_a_single_value_or_none_is_exported_or_refused(
    target: str, op: str, args: dict[str, Value]
) -> None:
    graph = chain_graph("resize", op) if op != "resize" else chain_graph(op)
    node = graph.node(op)
    graph = graph.replace_node(replace(node, args=args))
    said = op
    try:
        ast.parse(export(graph, target, CATALOG).main.text)
    except (GraphExportError, GraphFaultsError) as error:
        said = str(error)
    assert op in said


def test_a_single_value_counts_as_a_list_of_one() -> None:
    graph = set_arg(load_recipe("rotate-jitter"), CATALOG, "angle", "values", 3.0)
    args = {name: value for name, value in graph.node("angle").args.items() if name != "range"}
    graph = graph.replace_node(replace(graph.node("angle"), args=args))
    text = export(graph, "albumentations", CATALOG).main.text
    assert "(3, 3)" in text
