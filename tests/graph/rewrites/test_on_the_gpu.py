"""From which node on the GPU works, node by node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.graph.rewrites.laws import CATALOG, done, require_near, start
from workbench.errors import GraphEditError
from workbench.graph import Graph, check_graph
from workbench.graph.devices import infer_devices
from workbench.graph.rewrites import by_node, rewritten


def chain() -> Graph:
    graph = start().random_resized_crop(size=(64, 64)).brightness(brightness=1.2)
    return graph.crop_mirror_normalize(mean=(120.0,), std=(60.0,))


def on_gpu(graph: Graph) -> list[str]:
    """Ids in running order of what is not on the CPU."""
    return [name for name, device in infer_devices(graph, CATALOG).items() if device != "cpu"]


ALL = ["decode", "random_resized_crop", "brightness", "crop_mirror_normalize"]


def test_each_node_may_be_where_the_gpu_begins() -> None:
    names = by_node(chain(), CATALOG, ["on-the-gpu"])
    assert names == [f"on-the-gpu@{node}" for node in reversed(ALL)]
    for at, node in enumerate(ALL):
        after = done(chain(), f"on-the-gpu@{node}")
        assert on_gpu(after) == ALL[at:]
        assert check_graph(after, CATALOG) == ()
    assert on_gpu(done(chain(), "on-the-gpu")) == ALL
    assert by_node(chain(), CATALOG, ["on-the-cpu"]) == []


def test_what_a_person_put_on_the_cpu_what_draws_and_what_has_one_side_stay() -> None:
    graph = chain()
    own = graph.replace_node(replace(graph.node("brightness"), device="cpu"))
    names = by_node(own, CATALOG, ["on-the-gpu"])
    assert "on-the-gpu@brightness" not in names
    assert not any("reader" in name or "uniform" in name for name in names)


def test_together_they_come_to_an_end() -> None:
    for graph in (chain(), chain().with_settings(device="mixed")):
        after = rewritten(graph, CATALOG, ["on-the-gpu", "on-the-cpu"])
        assert check_graph(after, CATALOG) == ()


def test_other_rewrites_have_no_nodes() -> None:
    with pytest.raises(GraphEditError, match="'join-crops@crop' is no rewrite"):
        rewritten(chain(), CATALOG, ["join-crops@crop"])


@pytest.mark.gpu
@pytest.mark.parametrize("node", ALL)
def test_pixels_are_near_wherever_it_crosses(node: str, photos: Path) -> None:
    require_near(chain(), done(chain(), f"on-the-gpu@{node}"), photos)
