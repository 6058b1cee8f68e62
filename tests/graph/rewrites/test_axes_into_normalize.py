"""The order of the axes into crop_mirror_normalize: every byte stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.rewrites.laws import done, ops, require_exact, start

NAME = "axes-into-normalize"


@pytest.mark.parametrize(("layout", "perm"), [("HWC", (2, 0, 1)), ("CHW", (1, 2, 0))])
def test_every_byte_stays(layout: str, perm: tuple[int, ...], photos: Path) -> None:
    graph = start().crop_mirror_normalize(output_layout=layout).transpose(perm=perm)
    after = done(graph, NAME)
    assert ops(after)[2:] == ["crop_mirror_normalize"]
    require_exact(graph, after, photos)


def test_another_order_stays() -> None:
    graph = start().crop_mirror_normalize(output_layout="HWC").transpose(perm=(1, 0, 2))
    assert done(graph, NAME) == graph
