"""Random graphs with blocks in blocks, and with two sources of two kinds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import strategies as st

from tests.helpers import CATALOG
from workbench.catalog import Catalog, Value
from workbench.graph import Graph, Node, Port, Settings, load_recipe
from workbench.graph.control_flow.block_kinds import SOME_OF
from workbench.graph.control_flow.options import (
    add_option,
    fit_generator,
    set_probability,
    set_weights,
)
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.edit import start_graph
from workbench.graph.model import Body, Source
from workbench.sources import Dataset, Datasets, open_datasets

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
class GraphMaker:
    """Generate unique ids and seeds."""

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
        """Nodes; the last one outputs a boolean per sample."""
        if self.pick(2):
            return [self.node("random.coin_flip", {"probability": 0.5, "dtype": "BOOL"})]
        drawn = self.node("random.uniform", {"range": (0.0, 1.0)})
        fed = {"data": Port(drawn.id, "output")}
        return [drawn, self.node("math.lt", {"right": 0.6, "constant_type": "FLOAT"}, fed)]

    def step(self, image: Port) -> list[Node]:
        """Nodes; the last one outputs an image with the size and type of the input."""
        choice = self.pick(len(_PLAIN) + len(_DRAWN))
        if choice < len(_PLAIN):
            op, args = _PLAIN[choice]
            return [self.node(op, args, {"data": image})]
        op, argument, ends = _DRAWN[choice - len(_PLAIN)]
        drawn = self.node("random.uniform", {"range": ends})
        fed = {"data": image, argument: Port(drawn.id, "output")}
        return [drawn, self.node(op, {"keep_size": True} if op == "rotate" else {}, fed)]

    def block(self, images: Mapping[str, Port], depth: int) -> list[Node]:
        """Nodes ending with a block that outputs changed versions of ``images``."""
        op = "one_of" if self.pick(3) == 2 else "if"
        count = 2 + self.pick(3) if op == "one_of" else 2
        deciding = self.choice(count) if op == "one_of" else self.condition()
        number = next(self.numbers)
        control = CATALOG[op].inputs[0].name
        fed = {control: Port(deciding[-1].id, "output"), **images}
        block = Node(f"{op}_{number}", op, inputs=fed)
        names = CATALOG[op].body_names(count)
        bodies = {name: self.body(block.scope(name), list(images), depth) for name in names}
        return [*deciding, replace(block, bodies=bodies)]

    def choice(self, count: int) -> list[Node]:
        """A random choice of ``count`` numbers, weighted or uniform."""
        weights = {2: (0.7, 0.3), 3: (0.5, 0.3, 0.2), 4: (0.4, 0.3, 0.2, 0.1)}
        args: dict[str, Value] = {"population": count}
        return [self.node("random.choice", {**args, "p": weights[count]} if self.pick(2) else args)]

    def body(self, scope: str, taken: list[str], depth: int) -> Body:
        nodes: list[Node] = []
        outputs = {name: Port(scope, name) for name in taken}
        for _ in range(self.pick(3)):
            name = taken[self.pick(len(taken))]
            made = self.step(outputs[name])
            nodes += made
            outputs[name] = Port(made[-1].id, "output")
        if depth > 1 and self.pick(3):
            made = self.block(outputs, depth - 1)
            nodes += made
            outputs = {name: Port(made[-1].id, name) for name in taken}
        return Body(tuple(nodes), outputs, tuple(taken))


def _made(picks: list[int]) -> Graph:
    maker = GraphMaker(itertools.cycle(picks), itertools.count(1))
    graph = start_graph(CATALOG, "blocks")
    resized = maker.node("resize", {"size": (24.0, 24.0)}, {"data": Port("decode", "output")})
    second = Source("second", "readers.file", seed=900, kind="file_list", dataset=OTHERS)
    decoded = maker.node("decoders.image", {}, {"data": Port("second", "jpegs")})
    small = maker.node("resize", {"size": (24.0, 24.0)}, {"data": Port(decoded.id, "output")})
    nodes = [*graph.nodes, resized, second, decoded, small]
    images = {"images": Port(resized.id, "output"), "twins": Port(small.id, "output")}
    for _ in range(1 + maker.pick(2)):
        made = maker.block(images, 3)
        nodes += made
        images = {name: Port(made[-1].id, name) for name in images}
    outputs = {**images, "labels": Port("reader", "labels"), "classes": Port("second", "labels")}
    return replace(graph, nodes=tuple(nodes), outputs=outputs, settings=Settings(batch_size=BATCH))


BLOCK_GRAPHS = st.lists(st.integers(0, 1000), min_size=8, max_size=40).map(_made)
"""Graphs with a folder and a list of files as sources, and blocks nested up to three deep."""


def several(catalog: Catalog) -> Graph:
    """The recipe ``rotate-jitter`` with one of three: turned at times, recoloured, as it is."""
    graph, block = wrap_as_options(load_recipe("rotate-jitter"), catalog, ["rotate", "color"])
    graph = set_weights(add_option(graph, catalog, block), block, [5, 3, 2])
    graph, inner = wrap_in_block(graph, catalog, ["rotate"])
    return set_probability(graph, inner, 0.8)


def set_count(
    graph: Graph, catalog: Catalog, block: str, count: int, *, shuffled: bool | None = None
) -> Graph:
    """Let this number of the bodies of a ``some_of`` run."""
    inside = graph.at_scope(graph.scope_of(block))
    node = inside.node(block)
    in_any_order = node.args["shuffled"] if shuffled is None else shuffled
    node = replace(node, args={**node.args, "count": count, "shuffled": in_any_order})
    return fit_generator(inside.replace_node(node).whole, block)


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


def decided_by_light() -> Graph:
    """The same, the outer one by how light the picture is."""
    graph = branching_graph()
    resized = Port("resize", "output")
    mean = Node("mean", "reductions.mean", {"axes": (0, 1, 2)}, {"data": resized})
    dark: Mapping[str, Value] = {"right": 110.0, "constant_type": "FLOAT"}
    light = Node("light", "math.lt", dark, {"data": Port("mean", "output")})
    outer = graph.node("outer")
    fed = {**outer.inputs, "condition": Port("light", "output")}
    nodes = [node for node in graph.nodes if node.id not in ("outer", "disturb")]
    return replace(graph, nodes=(*nodes, mean, light, replace(outer, inputs=fed)))


class _TurnMaker(GraphMaker):
    """Makes blocks of every kind."""

    def block(self, images: Mapping[str, Port], depth: int) -> list[Node]:
        kind = self.pick(5)
        if kind == 0:
            return super().block(images, depth)
        return self.repeat(images, depth) if kind < 3 else self.some_of(images, depth)

    def some_of(self, images: Mapping[str, Port], depth: int) -> list[Node]:
        options = 2 + self.pick(2)
        args: dict[str, Value] = {
            "count": 1 + self.pick(options),
            "shuffled": bool(self.pick(2)),
        }
        block = Node(f"some_of_{next(self.numbers)}", "some_of", args)
        names = CATALOG["some_of"].body_names(options)
        bodies = {name: self.body(block.scope(name), list(images), depth) for name in names}
        block = replace(block, bodies=bodies)
        draw = self.node("random.choice", {"population": SOME_OF.order_count(block)})
        return [draw, replace(block, inputs={"choice": Port(draw.id, "output"), **images})]

    def repeat(self, images: Mapping[str, Port], depth: int) -> list[Node]:
        block = Node(f"repeat_{next(self.numbers)}", "repeat", inputs=images)
        body = self.body(block.scope("body"), list(images), depth)
        block = replace(block, bodies={"body": body})
        if self.pick(2):
            return [replace(block, args={"times": 1 + self.pick(3)})]
        draw = self.node("random.uniform", {"range": (0.0, 3.0), "dtype": "INT32"})
        fed = {**block.inputs, "times": Port(draw.id, "output")}
        return [draw, replace(block, args={"most": 2}, inputs=fed)]


def turn_graph(picks: list[int]) -> Graph:
    """The graph that these picks lead to."""
    maker = _TurnMaker(itertools.cycle(picks), itertools.count(1))
    graph = start_graph(CATALOG, "turns")
    resized = maker.node("resize", {"size": (24.0, 24.0)}, {"data": Port("decode", "output")})
    small = maker.node("resize", {"size": (24.0, 24.0)}, {"data": Port("decode", "output")})
    images = {"images": Port(resized.id, "output"), "twins": Port(small.id, "output")}
    nodes = [*graph.nodes, resized, small]
    for _ in range(1 + maker.pick(2)):
        made = maker.block(images, 2)
        nodes += made
        images = {name: Port(made[-1].id, name) for name in images}
    outputs = {**images, "before": Port(resized.id, "output")}
    return replace(graph, nodes=tuple(nodes), outputs=outputs, settings=Settings(batch_size=BATCH))


TURN_GRAPHS = st.lists(st.integers(0, 1000), min_size=8, max_size=40).map(turn_graph)
"""Graphs of one source, and of blocks up to two deep, some of whose bodies run again."""
