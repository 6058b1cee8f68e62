"""Random graphs with regions in regions, and with two sources of two kinds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import strategies as st

from workbench.catalog import Value, load_catalog
from workbench.graph import Graph, Node, Port, Settings
from workbench.graph.edit import start_graph
from workbench.graph.model import Body, Source
from workbench.sources import Dataset, Datasets, open_datasets

CATALOG = load_catalog()
BATCH = 5
OTHERS = "others"
"""The parameter of the second source."""

_PLAIN: tuple[tuple[str, Mapping[str, Value]], ...] = (
    ("flip", {"horizontal": 1}),
    ("rotate", {"angle": 20.0, "keep_size": True}),
    ("gaussian_blur", {"sigma": 1.5}),
    ("brightness_contrast", {"brightness": 1.4}),
    ("noise.gaussian", {"stddev": 20.0}),
    ("noise.salt_and_pepper", {"prob": 0.2}),
    ("random_resized_crop", {"size": (24, 24)}),
    ("jpeg_compression_distortion", {"quality": 20}),
)
_DRAWN = (("rotate", "angle", (-30.0, 30.0)), ("brightness_contrast", "brightness", (0.5, 1.5)))


@dataclass
class _Maker:
    """Gives out ids and seeds that nothing else has."""

    picks: Iterator[int]
    numbers: Iterator[int]

    def pick(self, count: int) -> int:
        return next(self.picks) % count

    def node(
        self, op: str, args: Mapping[str, Value], inputs: Mapping[str, Port] | None = None
    ) -> Node:
        number = next(self.numbers)
        seed = number if CATALOG[op].seeded else None
        return Node(f"{op.replace('.', '_')}_{number}", op, args, inputs or {}, seed=seed)

    def condition(self) -> list[Node]:
        """Nodes of which the last gives a truth value for each sample."""
        if self.pick(2):
            return [self.node("random.coin_flip", {"probability": 0.5, "dtype": "BOOL"})]
        drawn = self.node("random.uniform", {"range": (0.0, 1.0)})
        fed = {"data": Port(drawn.id, "output")}
        return [drawn, self.node("math.lt", {"right": 0.6, "constant_type": "FLOAT"}, fed)]

    def step(self, image: Port) -> list[Node]:
        """Nodes of which the last gives an image of the size and type of what it is fed."""
        choice = self.pick(len(_PLAIN) + len(_DRAWN))
        if choice < len(_PLAIN):
            op, args = _PLAIN[choice]
            return [self.node(op, args, {"data": image})]
        op, argument, ends = _DRAWN[choice - len(_PLAIN)]
        drawn = self.node("random.uniform", {"range": ends})
        fed = {"data": image, argument: Port(drawn.id, "output")}
        return [drawn, self.node(op, {"keep_size": True} if op == "rotate" else {}, fed)]

    def region(self, images: Mapping[str, Port], depth: int) -> list[Node]:
        """Nodes of which the last is an ``if`` that gives what it takes in, changed."""
        condition = self.condition()
        number = next(self.numbers)
        region = Node(
            f"if_{number}",
            "if",
            inputs={"condition": Port(condition[-1].id, "output"), **images},
        )
        bodies = {
            name: self.body(region.scope(name), list(images), depth) for name in ("then", "else")
        }
        return [*condition, replace(region, bodies=bodies)]

    def body(self, scope: str, taken: list[str], depth: int) -> Body:
        nodes: list[Node] = []
        outputs = {name: Port(scope, name) for name in taken}
        for _ in range(self.pick(3)):
            name = taken[self.pick(len(taken))]
            made = self.step(outputs[name])
            nodes += made
            outputs[name] = Port(made[-1].id, "output")
        if depth > 1 and self.pick(3):
            made = self.region(outputs, depth - 1)
            nodes += made
            outputs = {name: Port(made[-1].id, name) for name in taken}
        return Body(tuple(nodes), outputs, tuple(taken))


def _made(picks: list[int]) -> Graph:
    maker = _Maker(itertools.cycle(picks), itertools.count(1))
    graph = start_graph(CATALOG, "regions")
    resized = maker.node("resize", {"size": (24.0, 24.0)}, {"data": Port("decode", "output")})
    second = Source("second", "readers.file", seed=900, kind="file_list", dataset=OTHERS)
    decoded = maker.node("decoders.image", {}, {"data": Port("second", "jpegs")})
    small = maker.node("resize", {"size": (24.0, 24.0)}, {"data": Port(decoded.id, "output")})
    nodes = [*graph.nodes, resized, second, decoded, small]
    images = {"images": Port(resized.id, "output"), "twins": Port(small.id, "output")}
    for _ in range(1 + maker.pick(2)):
        made = maker.region(images, 3)
        nodes += made
        images = {name: Port(made[-1].id, name) for name in images}
    outputs = {**images, "labels": Port("reader", "labels"), "classes": Port("second", "labels")}
    return replace(graph, nodes=tuple(nodes), outputs=outputs, settings=Settings(batch_size=BATCH))


REGION_GRAPHS = st.lists(st.integers(0, 1000), min_size=8, max_size=40).map(_made)
"""Graphs of two sources, of which one is a list of files, and of regions up to three deep."""


def two_datasets(photos: Path) -> Datasets:
    """The photos, and in other order and with other labels as a list."""
    files = sorted(path for path in photos.rglob("*") if path.suffix in (".jpg", ".png"))
    pairs = [(str(path), number % 3) for number, path in enumerate(reversed(files))]
    return {**open_datasets(photos), OTHERS: Dataset("file_list", items=tuple(pairs))}


def branching_graph() -> Graph:
    """A chain with an ``if`` in an ``if``: noise and turned or blurred, or mirrored."""
    graph = start_graph(CATALOG, "branching")
    size: Mapping[str, Value] = {"size": (64.0, 64.0)}
    resized = Node("resize", "resize", size, {"data": Port("decode", "output")})

    def coin(name: str, seed: int) -> Node:
        return Node(name, "random.coin_flip", {"probability": 0.5, "dtype": "BOOL"}, seed=seed)

    def image(scope: str) -> Port:
        return Port(scope, "images")

    def given(node: str) -> Mapping[str, Port]:
        return {"images": Port(node, "output")}

    noise = Node("noise", "noise.gaussian", {"stddev": 10.0}, {"data": image("outer.then")}, seed=3)
    angle = Node("angle", "random.uniform", {"range": (-30.0, 30.0)}, seed=4)
    turned = {"data": image("inner.then"), "angle": Port("angle", "output")}
    rotate = Node("rotate", "rotate", {"keep_size": True}, turned)
    blur = Node("blur", "gaussian_blur", {"sigma": 1.5}, {"data": image("inner.else")})
    flip = Node("flip", "flip", {}, {"data": image("outer.else")})
    inner = Node(
        "inner",
        "if",
        inputs={"condition": Port("turn", "output"), "images": Port("noise", "output")},
        bodies={
            "then": Body((angle, rotate), given("rotate"), ("images",)),
            "else": Body((blur,), given("blur"), ("images",)),
        },
    )
    outer = Node(
        "outer",
        "if",
        inputs={"condition": Port("disturb", "output"), "images": Port("resize", "output")},
        bodies={
            "then": Body((noise, coin("turn", 2), inner), {"images": image("inner")}, ("images",)),
            "else": Body((flip,), given("flip"), ("images",)),
        },
    )
    nodes = (*graph.nodes, resized, coin("disturb", 1), outer)
    return replace(graph, nodes=nodes, outputs={**graph.outputs, "images": image("outer")})
