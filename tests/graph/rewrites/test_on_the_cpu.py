"""What comes back from the GPU, node by node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.rewrites.laws import CATALOG, done, require_near
from tests.graph.rewrites.test_on_the_gpu import ALL, chain, on_gpu
from workbench.graph.rewrites import by_node, rewritten


def test_from_the_decoder_on_each_may_come_back_and_the_others_stay() -> None:
    mixed = chain().with_settings(device="mixed")
    names = by_node(mixed, CATALOG, ["on-the-cpu"])
    assert names == [f"on-the-cpu@{node}" for node in ALL]
    for count in range(1, len(ALL) + 1):
        assert on_gpu(done(mixed, *names[:count])) == ALL[count:]
    assert rewritten(mixed, CATALOG, names[1:]) == mixed, "from the GPU it would be copied back"


@pytest.mark.gpu
@pytest.mark.parametrize("count", range(1, len(ALL) + 1))
def test_pixels_are_near(count: int, photos: Path) -> None:
    mixed = chain().with_settings(device="mixed")
    require_near(mixed, done(mixed, *by_node(mixed, CATALOG, ["on-the-cpu"])[:count]), photos)
