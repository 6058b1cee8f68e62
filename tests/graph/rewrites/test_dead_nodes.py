"""What nothing needs is taken out: every byte stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.graph.rewrites.laws import done, ops, require_exact, start
from workbench.graph.model import Node, Port

NAME = "dead-nodes"


def test_loose_nodes_go(photos: Path) -> None:
    graph = start().rotate(angle=9.0, keep_size=True)
    graph = replace(graph, outputs={**graph.outputs, "images": Port("decode", "output")})
    after = done(graph, NAME)
    assert ops(after) == ["readers.file", "decoders.image"]
    require_exact(graph, after, photos)


def test_so_does_what_a_region_gives_and_nothing_takes(photos: Path) -> None:
    graph = start().with_p(0.5, lambda x: x.brightness(brightness=1.4))
    region = next(node for node in graph.nodes if node.bodies)
    then, other = (region.bodies[name] for name in ("then", "else"))
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
    graph = graph.replace_node(replace(region, bodies=bodies))
    after = done(graph, NAME)
    assert "gaussian_blur" not in [node.op for node in after.walk()]
    require_exact(graph, after, photos)
