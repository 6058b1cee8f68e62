"""The graph that validates: nothing is drawn in it, and its outputs are those of training."""

from __future__ import annotations

import pytest

from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.graph.variants.validation import validation_graph

CATALOG = load_catalog()


def validating(graph: Graph) -> Graph:
    made = validation_graph(graph, CATALOG)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("recipe", "ops"),
    [
        ("imagenet-train", ["resize", "crop_mirror_normalize"]),
        ("trivial-augment", ["resize", "crop_mirror_normalize"]),
        ("cutout", ["resize", "crop_mirror_normalize"]),
        ("ct-slice", ["resize", "normalize", "transpose"]),  # each region was by chance
        ("segmentation", ["resize", "pad", "crop_mirror_normalize", "follow_masks"]),
        ("retinanet", ["resize", "crop_mirror_normalize", "follow_boxes"]),
    ],
)
def test_nothing_is_drawn(recipe: str, ops: list[str]) -> None:
    graph = load_recipe(recipe)
    made = validating(graph)
    assert [node.op for node in made.nodes[2:]] == ops
    assert list(made.outputs) == list(graph.outputs)
    assert not any("random" in name for node in made.nodes for name in node.args)


def test_a_random_crop_becomes_that_of_resnet() -> None:
    made = validating(load_recipe("imagenet-train"))
    assert made.node("crop_resize").args == {"resize_shorter": 256}
    assert made.node("normalize").args["crop"] == (224, 224)
    assert "mirror" not in made.node("normalize").args


def test_what_draws_nothing_stays_as_it_is() -> None:
    graph = load_recipe("imagenet-eval")
    assert validation_graph(graph, CATALOG) == graph
    shuffled = set_arg(graph, CATALOG, "reader", "random_shuffle", True)
    assert validation_graph(shuffled, CATALOG) == graph


@pytest.mark.parametrize("recipe", ["ssd", "key-points", "augmix"])
def test_draws_that_no_value_stands_for(recipe: str) -> None:
    assert validation_graph(load_recipe(recipe), CATALOG) is None
    assert "val_data" not in export(load_recipe(recipe), "lightning", CATALOG).main.text
