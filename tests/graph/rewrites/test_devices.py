"""From which node on the GPU works, and what comes back from it, node by node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.rewrites.laws import CATALOG, done, require_near, start
from tests.helpers import with_node
from workbench.errors import GraphEditError
from workbench.graph import Graph, check_graph
from workbench.graph.rewrites import by_node, rewritten
from workbench.graph.types.devices import infer_devices
from workbench.graph.types.typed_graph import TypedGraph
from workbench.optimiser.search import RewriteSearch


def chain() -> Graph:
    graph = start().random_resized_crop(size=(64, 64)).brightness(brightness=1.2)
    return graph.crop_mirror_normalize(mean=(120.0,), std=(60.0,))


def on_gpu(graph: Graph) -> list[str]:
    """Ids in running order of what is not on the CPU."""
    return [name for name, device in infer_devices(graph, CATALOG).items() if device != "cpu"]


ALL = ["decode", "random_resized_crop", "brightness", "crop_mirror_normalize"]


def test_each_node_may_be_where_the_gpu_begins() -> None:
    names = by_node(TypedGraph(chain(), CATALOG), ["on-the-gpu"])
    assert names == [f"on-the-gpu@{node}" for node in reversed(ALL)]
    for at, node in enumerate(ALL):
        after = done(chain(), f"on-the-gpu@{node}")
        assert on_gpu(after) == ALL[at:]
        assert check_graph(after, CATALOG) == ()
    assert on_gpu(done(chain(), "on-the-gpu")) == ALL
    assert by_node(TypedGraph(chain(), CATALOG), ["on-the-cpu"]) == []


def test_what_a_person_put_on_the_cpu_what_draws_and_what_has_one_side_stay() -> None:
    graph = chain()
    own = with_node(graph, "brightness", device="cpu")
    names = by_node(TypedGraph(own, CATALOG), ["on-the-gpu"])
    assert "on-the-gpu@brightness" not in names
    assert not any("reader" in name or "uniform" in name for name in names)


def there_and_back() -> Graph:
    """Decoded on the GPU; two nodes that a person put on the CPU; normalised on the GPU."""
    graph = start().random_resized_crop(size=(64, 64)).brightness(brightness=1.2)
    graph = graph.contrast(contrast=1.1).crop_mirror_normalize(mean=(120.0,), std=(60.0,))
    for name, side in (
        ("brightness", "cpu"),
        ("contrast", "cpu"),
        ("crop_mirror_normalize", "gpu"),
    ):
        graph = with_node(graph, name, device=side)
    return graph.with_settings(device="mixed")


def test_what_goes_from_the_gpu_to_the_cpu_and_back_may_stay_there() -> None:
    graph = there_and_back()
    names = by_node(TypedGraph(graph, CATALOG), ["on-the-gpu"])
    assert names == ["on-the-gpu@contrast", "on-the-gpu@brightness"]
    assert rewritten(TypedGraph(graph, CATALOG), names[:1]) == graph, "its image comes from the CPU"
    first = done(graph, names[1])
    assert on_gpu(first) == ["decode", "random_resized_crop", "brightness", "crop_mirror_normalize"]
    assert "contrast" in on_gpu(done(graph, *names))
    assert RewriteSearch(TypedGraph(graph, CATALOG), names).first() == tuple(reversed(names))


def test_together_they_come_to_an_end() -> None:
    for graph in (chain(), chain().with_settings(device="mixed"), there_and_back()):
        after = rewritten(TypedGraph(graph, CATALOG), ["on-the-gpu", "on-the-cpu"])
        assert check_graph(after, CATALOG) == ()


def test_other_rewrites_have_no_nodes() -> None:
    with pytest.raises(GraphEditError, match="There is no rewrite 'join-crops@crop'"):
        rewritten(TypedGraph(chain(), CATALOG), ["join-crops@crop"])


@pytest.mark.gpu
@pytest.mark.parametrize("node", ALL)
def test_pixels_are_near_wherever_it_crosses(node: str, photos: Path) -> None:
    require_near(chain(), done(chain(), f"on-the-gpu@{node}"), photos)


@pytest.mark.gpu
def test_pixels_are_near_without_the_way_back(photos: Path) -> None:
    graph = there_and_back()
    require_near(graph, done(graph, *by_node(TypedGraph(graph, CATALOG), ["on-the-gpu"])), photos)


# What comes back from the GPU, node by node.


def test_from_the_decoder_on_each_may_come_back_and_the_others_stay() -> None:
    mixed = chain().with_settings(device="mixed")
    names = by_node(TypedGraph(mixed, CATALOG), ["on-the-cpu"])
    assert names == [f"on-the-cpu@{node}" for node in ALL]
    for count in range(1, len(ALL) + 1):
        assert on_gpu(done(mixed, *names[:count])) == ALL[count:]
    assert rewritten(TypedGraph(mixed, CATALOG), names[1:]) == mixed, (
        "from the GPU it would be copied back"
    )


@pytest.mark.gpu
@pytest.mark.parametrize("count", range(1, len(ALL) + 1))
def test_pixels_are_near_of_what_comes_back(count: int, photos: Path) -> None:
    mixed = chain().with_settings(device="mixed")
    require_near(
        mixed, done(mixed, *by_node(TypedGraph(mixed, CATALOG), ["on-the-cpu"])[:count]), photos
    )
