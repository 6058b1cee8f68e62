"""Which operators leave the class of a label known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from workbench.catalog import Value, load_catalog
from workbench.graph import Node, Port, load_recipe
from workbench.graph.types.label_numbers import labels_source

LABELS = Port("reader", "labels")


@pytest.mark.parametrize(
    ("steps", "known"),
    [
        ([], True),
        ([("cast", {"dtype": "INT64"})], True),
        ([("cast", {"dtype": "UINT8"})], False),  # 300 becomes 44
        ([("one_hot", {"num_classes": 4}), ("copy", {})], True),
        ([("one_hot", {"num_classes": 4}), ("slice", {"start": 1, "end": 3})], False),
        ([("slice", {"start": 0, "end": 1}), ("one_hot", {"num_classes": 4})], True),
        ([("math.add", {"right": 1})], False),
        ([("reinterpret", {"dtype": "FLOAT"})], False),
    ],
)
def test_the_source_of_labels_whose_numbers_are_kept(
    steps: list[tuple[str, Mapping[str, Value]]], known: bool
) -> None:
    graph, port = load_recipe("rotate-jitter"), LABELS
    for number, (op, args) in enumerate(steps):
        node = Node(f"step_{number}", op, args, {"data": port})
        graph, port = replace(graph, nodes=(*graph.nodes, node)), Port(node.id, "output")
    assert labels_source(graph, load_catalog(), port) == (LABELS if known else None)
