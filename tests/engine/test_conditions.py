"""Conditions of each kind: the preview is the script at any batch, and its import is the graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine.build.test_auto_augment import require_exact
from tests.helpers import chain_graph, import_script
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.importing import from_pipeline
from workbench.graph import Graph, Port
from workbench.graph.control_flow.conditions import (
    MEASURES,
    Chance,
    Condition,
    LabelIs,
    NumberIs,
    SizeIs,
    add_elif,
    condition_of,
    elif_of,
    set_condition,
)
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import insert_node, randomise_arg, set_setting
from workbench.graph.types.typed_graph import TypedGraph

CATALOG = load_catalog()
CONDITIONS: list[Condition] = [
    SizeIs("longer side", ">", 500),
    LabelIs((1, 4, 7)),
    NumberIs("<", 1.0),
    Chance(0.3),
    LabelIs((3,)),
    NumberIs(">=", 0.9),
    *(SizeIs(m, "<=", 1.2 if m == "aspect" else 420) for m in MEASURES),
]


def asked(condition: Condition) -> tuple[Graph, str]:
    """Noise, which draws for the samples that come, where a condition holds."""
    graph = chain_graph("resize", "color_twist", "noise.gaussian", resize={"size": (48.0, 48.0)})
    graph = set_setting(graph, batch_size=10)
    noisy = next(node.id for node in graph.nodes if node.op == "noise.gaussian")
    graph, block = wrap_in_block(graph, CATALOG, [noisy])
    if isinstance(condition, NumberIs):
        graph = randomise_arg(graph, CATALOG, "color_twist", "brightness")
        port = graph.node("color_twist").inputs["brightness"]
        return set_condition(graph, CATALOG, block, condition, port), block
    return set_condition(graph, CATALOG, block, condition), block


@pytest.mark.parametrize("condition", one_in(6, CONDITIONS))
def test_the_preview_is_the_script(condition: Condition, photos: Path, tmp_path: Path) -> None:
    require_exact(asked(condition)[0], photos, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("condition", CONDITIONS)
def test_so_it_is_with_mixed_decoding(condition: Condition, photos: Path, tmp_path: Path) -> None:
    require_exact(set_setting(asked(condition)[0], device="mixed"), photos, tmp_path)


def chained() -> tuple[Graph, str]:
    """Noise in large photos, else turned over by class, else by chance otherwise."""
    graph, block = asked(SizeIs("height", ">", 400))
    graph, second = add_elif(graph, CATALOG, block)
    graph = set_condition(graph, CATALOG, second, LabelIs((0, 2, 5)))
    graph, _ = insert_node(graph.at_scope(f"{second}.then"), CATALOG, "flip", f"{second}.then")
    graph, third = add_elif(graph.whole, CATALOG, block)
    inside = graph.at_scope(f"{third}.then")
    graph, added = insert_node(inside, CATALOG, "noise.salt_and_pepper", inside.scope)
    return graph.whole.replace_node(replace(graph.node(added), args={"prob": 0.1})), block


def test_so_it_is_with_elif(photos: Path, tmp_path: Path) -> None:
    graph, _ = chained()
    assert "    elif (labels[0] == 0)" in emit_script(graph, CATALOG).text
    assert "    elif chance:" in emit_script(graph, CATALOG).text
    require_exact(graph, photos, tmp_path)


def imported(graph: Graph, photos: Path, folder: Path) -> Graph:
    script = import_script(emit_script(graph, CATALOG).text, folder)
    return from_pipeline(script.build_pipeline(str(photos))).graph


@pytest.mark.parametrize("condition", one_in(6, CONDITIONS, first=1))
def test_its_import_asks_the_same(condition: Condition, photos: Path, tmp_path: Path) -> None:
    graph, _ = asked(condition)
    again = imported(graph, photos, tmp_path)
    block = next(node for node in again.nodes if node.bodies)
    found = condition_of(TypedGraph(again, CATALOG), block)
    assert found is not None
    assert found[0] == condition
    port = Port("", "") if found[1] is None else found[1]
    assert isinstance(condition, Chance) or again.has(port.node)
    assert sorted(node.op for node in again.walk()) == sorted(node.op for node in graph.walk())


def test_so_does_that_of_an_elif(photos: Path, tmp_path: Path) -> None:
    graph, _ = chained()
    again = imported(graph, photos, tmp_path)
    found: list[Condition | None] = []
    block = next((node for node in again.nodes if node.bodies), None)
    while block is not None:
        read = condition_of(TypedGraph(again.at_scope(again.scope_of(block.id)), CATALOG), block)
        found.append(read[0] if read else None)
        block = elif_of(block)
    assert found == [SizeIs("height", ">", 400), LabelIs((0, 2, 5)), Chance(0.5)]
    assert sorted(node.op for node in again.walk()) == sorted(node.op for node in graph.walk())
