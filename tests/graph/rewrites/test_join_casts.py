"""Casts in a row as one: every byte stays."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_exact, start
from workbench.graph import Graph

NAME = "join-casts"


@pytest.mark.parametrize("dtype", ["UINT8", "INT8", "FLOAT16", "UINT16"])
@pytest.mark.parametrize("between", ["FLOAT", "INT16", "FLOAT16"])
def test_every_byte_stays(between: str, dtype: str, photos: Path) -> None:
    graph = start().cast(dtype=between).cast(dtype=dtype)
    after = done(graph, NAME)
    assert ops(after)[2:] == ["cast"]
    require_exact(graph, after, photos)


def test_there_and_back_is_nothing(photos: Path) -> None:
    graph = start().cast(dtype="FLOAT").cast(dtype="UINT8").rotate(angle=9.0)
    after = done(graph, NAME, "neutral-nodes")
    assert ops(after)[2:] == ["rotate"]
    require_exact(graph, after, photos)


@pytest.mark.parametrize(
    "graph",
    [
        start().cast(dtype="INT8").cast(dtype="FLOAT"),
        wb.outputs(images=(start().images / 3.0).cast(dtype="UINT8").cast(dtype="FLOAT")),
        start().cast(dtype="FLOAT").rotate(angle=9.0).cast(dtype="UINT8"),
    ],
    ids=["cut off", "rounded", "apart"],
)
def test_a_cast_that_changes_values_stays(graph: Graph) -> None:
    assert done(graph, NAME) == graph
