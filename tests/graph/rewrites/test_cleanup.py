"""Nodes that can be taken out, joined or replaced by a value: every byte stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import cases, done, ops, require_exact, start
from tests.helpers import with_nodes
from workbench.graph import Graph
from workbench.graph.model import Node, Port


def neutral() -> Graph:
    graph = start().brightness(brightness=1.0).rotate(angle=0.0, keep_size=True).copy()
    return graph.flip(horizontal=0).hue(hue=0.0).cast(dtype="UINT8").crop(crop=(50, 60))


EXACT = {
    "neutral-nodes: what does nothing": (neutral(), ["crop"]),
    "fold-constants + neutral-nodes: what becomes neutral": (
        start().flip(horizontal=wb.random.coin_flip(probability=0.0)).hue(hue=9.0),
        ["hue"],
    ),
    "join-casts + neutral-nodes: there and back is nothing": (
        start().cast(dtype="FLOAT").cast(dtype="UINT8").rotate(angle=9.0),
        ["rotate"],
    ),
} | {
    f"join-casts: {between} and {dtype}": (
        start().cast(dtype=between).cast(dtype=dtype),
        ["cast"],
    )
    for between in ("FLOAT", "INT16", "FLOAT16")
    for dtype in ("UINT8", "INT8", "FLOAT16", "UINT16")
}
KEPT = {
    "neutral-nodes: another type": start().brightness(brightness=1.0, dtype="FLOAT"),
    "neutral-nodes: may grow": start().rotate(angle=0.0),
    "neutral-nodes: promoted": wb.outputs(images=start().images * 1.0),
    "neutral-nodes: drawn": start().brightness(brightness=wb.random.uniform(range=(0.9, 1.1))),
    "fold-constants: varies": start().flip(horizontal=wb.random.coin_flip(probability=0.5)),
    "join-casts: cut off": start().cast(dtype="INT8").cast(dtype="FLOAT"),
    "join-casts: rounded": wb.outputs(
        images=(start().images / 3.0).cast(dtype="UINT8").cast(dtype="FLOAT")
    ),
    "join-casts: apart": start().cast(dtype="FLOAT").rotate(angle=9.0).cast(dtype="UINT8"),
}


@pytest.mark.parametrize(("names", "graph", "operators"), cases(EXACT))
def test_every_byte_stays(
    names: list[str], graph: Graph, operators: list[str], photos: Path
) -> None:
    after = done(graph, *names)
    assert ops(after)[2:] == operators
    require_exact(graph, after, photos)


@pytest.mark.parametrize(("names", "graph"), cases(KEPT))
def test_what_does_something_stays(names: list[str], graph: Graph) -> None:
    assert done(graph, *names) == graph


def test_a_coin_that_never_falls_otherwise_is_a_number(photos: Path) -> None:
    graph = start().flip(horizontal=wb.random.coin_flip(probability=1.0))
    graph = graph.brightness(brightness=wb.random.uniform(values=(1.25,)))
    after = done(graph, "fold-constants")
    assert after.node("flip").args["horizontal"] == 1
    assert after.node("brightness").args["brightness"] == 1.25
    assert [node.op for node in after.nodes if node.op.startswith("random")] == []
    require_exact(graph, after, photos)


def test_loose_nodes_go(photos: Path) -> None:
    graph = start().rotate(angle=9.0, keep_size=True)
    graph = with_nodes(graph, images=Port("decode", "output"))
    after = done(graph, "dead-nodes")
    assert ops(after) == ["readers.file", "decoders.image"]
    require_exact(graph, after, photos)


def test_so_does_what_a_block_gives_and_nothing_takes(photos: Path) -> None:
    graph = start().with_p(0.5, lambda x: x.brightness(brightness=1.4))
    block = next(node for node in graph.nodes if node.bodies)
    then, other = (block.bodies[name] for name in ("then", "else"))
    blur = Node("blur", "gaussian_blur", {"sigma": 3.0}, {"data": then.nodes[-1].inputs["data"]})
    passed = next(iter(other.outputs.values()))
    bodies = {
        "then": replace(
            then,
            nodes=(*then.nodes, blur),
            outputs={**then.outputs, "extra": Port("blur", "output")},
        ),
        "else": replace(other, outputs={**other.outputs, "extra": passed}),
    }
    graph = graph.replace_node(replace(block, bodies=bodies))
    after = done(graph, "dead-nodes")
    assert "gaussian_blur" not in [node.op for node in after.walk()]
    require_exact(graph, after, photos)


def test_two_views_share_what_they_have_in_common(photos: Path) -> None:
    jpegs = wb.read(photos).jpegs
    views = [
        wb.fn.decoders.image(jpegs).resize(size=(64.0, 64.0)).brightness(brightness=by)
        for by in (0.8, 1.3)
    ]
    graph = wb.outputs(one=views[0], other=views[1])
    after = done(graph, "equal-nodes")
    assert sorted(ops(after)[1:]) == ["brightness", "brightness", "decoders.image", "resize"]
    require_exact(graph, after, photos)


def test_one_seed_makes_draws_equal_and_two_do_not(photos: Path) -> None:
    image = start().images
    noisy = [image.noise.gaussian(stddev=9.0) for _ in range(2)]
    graph = wb.outputs(one=noisy[0], other=noisy[1])
    assert done(graph, "equal-nodes") == graph
    first, second = (node for node in graph.nodes if node.op == "noise.gaussian")
    shared = graph.replace_node(replace(second, seed=first.seed))
    after = done(shared, "equal-nodes")
    assert ops(after).count("noise.gaussian") == 1
    require_exact(shared, after, photos)
