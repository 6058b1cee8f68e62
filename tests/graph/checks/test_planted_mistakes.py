"""Acceptance of the hints about data and normalisation: mistakes are named, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import workbench as wb
from tests.graph.annotations.test_mixes import start_of
from tests.graph.checks.test_warnings import BYTES, MIXED, SORTED, UNIT, divided, read_by
from tests.helpers import CATALOG
from workbench.graph import load_recipe
from workbench.graph.checks.check_warnings import check_warnings
from workbench.graph.edits.edit import set_arg
from workbench.graph.fixes import fixes
from workbench.graph.model import Graph, Node, Port
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.storage.recipes import load_recipes
from workbench.sources import NO_FACTS, DataFacts

HINTS = {"scale", "unshuffled", "buffer", "orientation"}
Planted = tuple[Graph, DataFacts, str]
"""A graph with a mistake, its data, and the node that the hint is about."""


def pixels(*steps: Callable[[Graph], Graph]) -> Planted:
    """A graph whose last step has constants that do not fit."""
    graph = start_of("coco")
    for step in steps:
        graph = step(graph)
    (port,) = graph.outputs.values()
    return graph, NO_FACTS, port.node


def norm(**constants: Any) -> Callable[[Graph], Graph]:
    return lambda graph: graph.crop_mirror_normalize(**constants)


def op(name: str, **args: Any) -> Callable[[Graph], Graph]:
    def added(graph: Graph) -> Graph:
        (image,) = graph.outputs.values()
        node = Node("it", name, args, {"data": image})
        return replace(graph, nodes=(*graph.nodes, node), outputs={"images": Port("it", "output")})

    return added


def albumentations(*transforms: tuple[str, dict[str, Any]]) -> Planted:
    saved = [{"__class_fullname__": name, "p": 1.0, **args} for name, args in transforms]
    whole = {"__class_fullname__": "Compose", "p": 1.0, "transforms": saved}
    return wb.from_albumentations(whole).graph, NO_FACTS, "crop_mirror_normalize"


def order(reader: str, labels: tuple[int, ...] = SORTED, **args: Any) -> Planted:
    return read_by(reader, **args), DataFacts(labels=labels, count=len(labels)), "reader"


def turned(recipe: str, node: str, annotated: Any, adjust: bool | None = None) -> Planted:
    graph = load_recipe(recipe)
    if adjust is not None:
        graph = set_arg(graph, CATALOG, node, "adjust_orientation", adjust)
    return graph, DataFacts(turned=7, annotated=annotated, first_turned="2.jpg"), node


def crop(graph: Graph) -> Graph:
    return graph.random_resized_crop(size=(32, 32)).brightness_contrast(brightness=1.2)


def as_floats(graph: Graph) -> Graph:
    return set_arg(graph, CATALOG, "decode", "dtype", "FLOAT")


MISTAKES: dict[str, Callable[[], Planted]] = {
    "unit constants": lambda: pixels(norm(**UNIT)),
    "unit constants after augmentation": lambda: pixels(crop, norm(**UNIT)),
    "halves": lambda: pixels(norm(mean=0.5, std=0.5)),
    "a unit deviation alone": lambda: pixels(norm(std=0.229)),
    "bytes of pixels decoded to floats": lambda: pixels(as_floats, norm(**BYTES)),
    "unit constants of normalize": lambda: pixels(op("normalize", mean=0.45, stddev=0.22)),
    "a unit mean subtracted": lambda: pixels(op("math.sub", right=0.485)),
    "bytes after a division": lambda: pixels(divided, norm(**BYTES)),
    "bytes after std=255": lambda: pixels(norm(std=255.0, dtype="FLOAT"), norm(**BYTES)),
    "bytes after scale": lambda: pixels(norm(scale=1 / 255, dtype="FLOAT"), norm(**BYTES)),
    "bytes of normalize": lambda: pixels(divided, op("normalize", mean=123.7, stddev=58.4)),
    "bytes subtracted": lambda: pixels(divided, op("math.sub", right=123.7)),
    "divided twice": lambda: pixels(divided, op("math.truediv", right=255.0)),
    "divided and scaled": lambda: pixels(divided, op("math.mul", right=1 / 255)),
    "constants scaled twice": lambda: pixels(norm(mean=31537.1, std=14890.7)),
    "albumentations of another range": lambda: albumentations(
        ("Normalize", {"max_pixel_value": 1.0})
    ),
    "albumentations scaled twice": lambda: albumentations(("ToFloat", {}), ("Normalize", {})),
    "sorted classes": lambda: order("file"),
    "two sorted classes": lambda: order("file", (*[0] * 400, *[1] * 400)),
    "sorted archive": lambda: order("webdataset"),
    "sorted records": lambda: order("tfrecord"),
    "archive behind a buffer": lambda: order("webdataset", random_shuffle=True),
    "records behind a buffer": lambda: order("tfrecord", random_shuffle=True, initial_fill=256),
    "RecordIO behind a buffer": lambda: order("mxnet", random_shuffle=True, initial_fill=64),
    "LMDB behind a buffer": lambda: order("caffe", random_shuffle=True),
    "files, larger buffer": lambda: order("file", random_shuffle=True, initial_fill=50_000),
    "archive, larger buffer": lambda: order(
        "webdataset", MIXED, random_shuffle=True, initial_fill=20_000
    ),
    "turned, boxes as stored": lambda: turned("retinanet", "decoded", "stored"),
    "stored, boxes upright": lambda: turned("retinanet", "decoded", "upright", False),
    "turned, boxes unknown": lambda: turned("ssd", "decode", ""),
}


def hints(graph: Graph, facts: DataFacts) -> list[Any]:
    found = check_warnings(graph, facts=dict.fromkeys(("data", "data_2"), facts))
    return [each for each in found if each.code in HINTS]


def test_thirty_planted_mistakes_are_named_with_a_fix() -> None:
    assert len(MISTAKES) == 30
    for name, planted in MISTAKES.items():
        graph, facts, node = planted()
        found = hints(graph, facts)
        assert [each.node for each in found] == [node], (name, found)
        (fix, *_) = fixes(ResolvedGraph(graph, CATALOG), found[0])
        assert not hints(fix.graph, facts), name


SORTED_LABELS = DataFacts(labels=SORTED, count=len(SORTED))
NOT_BY_CLASS = ("video-frame",)
"""Recipes that augment without shuffling, for data that are not sorted by class."""


def test_recipes_and_right_constants_have_no_false_alarm() -> None:
    clean = [
        (name, graph, NO_FACTS if name in NOT_BY_CLASS else SORTED_LABELS)
        for name, graph in load_recipes().items()
    ]
    assert len(clean) >= 30
    right = {
        "bytes": pixels(norm(**BYTES))[0],
        "unit": pixels(divided, norm(**UNIT))[0],
        "halves of unit": pixels(divided, norm(mean=0.5, std=0.5))[0],
        "to -1..1": pixels(norm(mean=127.5, std=127.5))[0],
        "to 0..1": pixels(norm(std=255.0))[0],
        "dark data": pixels(norm(mean=3.2, std=12.0))[0],
        "normalised twice": pixels(norm(**BYTES), norm(mean=0.1, std=0.9))[0],
        "brighter": pixels(op("math.add", right=16))[0],
        "albumentations": albumentations(("Normalize", {}))[0],
    }
    clean += [(name, graph, NO_FACTS) for name, graph in right.items()]
    shuffled = {"random_shuffle": True}
    for name, planted in {
        "shuffled": order("file", **shuffled),
        "mixed archive": order("webdataset", MIXED, **shuffled),
        "mixed": order("file", MIXED),
        "whole buffer": order("webdataset", **shuffled, initial_fill=len(SORTED)),
        "default buffer of few": order("webdataset", (0, 1) * 50, **shuffled),
        "sampler": order("file", sampler="balanced"),
        "shuffle after epoch": order("file", shuffle_after_epoch=True),
    }.items():
        clean.append((name, *planted[:2]))
    for name, graph, facts in clean:
        assert not hints(graph, facts), (name, hints(graph, facts))
