"""graph -> script -> import -> the same graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from tests.emit.pipeline_import.graphs import CPU_ONLY, GROWN, MOST, assert_the_same, canonical
from tests.helpers import import_script, photo_recipes, recipe_cases
from tests.placed import CATALOG, USABLE, placed
from tests.thorough import examples, one_in
from workbench.catalog import OpSpec
from workbench.emit import emit_script
from workbench.emit.pipeline_import.graph import ImportedGraph, import_traced
from workbench.emit.templates.template_parts import function_name
from workbench.engine.script_import.auto_augment_import import noted_calls, with_noted
from workbench.engine.script_import.tracing import trace_pipeline
from workbench.graph import Graph, Port, check_graph
from workbench.graph.execution.dataset_parameters import parameters
from workbench.sources import open_dataset


def there_and_back(graph: Graph, folder: Path) -> ImportedGraph:
    """Exported, imported as Python imports it, and traced in this process: nothing is built."""
    text = emit_script(graph, CATALOG).text
    chosen = graph.settings
    automatic = any(CATALOG[node.op].module for node in graph.walk())
    with noted_calls() as noted:
        script = import_script(text, folder)
        pipe = getattr(script, function_name(graph))(
            *(open_dataset(folder).argument for _ in parameters(graph.nodes)),
            chosen.device,
            chosen.seed,
            batch_size=chosen.batch_size,
            num_threads=chosen.num_threads,
            device_id=0,
            prefetch_queue_depth=chosen.prefetch_queue_depth,
            **({"seed": chosen.seed} if automatic else {}),  # as build_pipeline has it
        )
        return import_traced(with_noted(trace_pipeline(pipe, graph.name), noted), CATALOG)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where scripts lie; the readers look for class folders in it."""
    made = tmp_path_factory.mktemp("scripts")
    (made / "a_class").mkdir()
    return made


@pytest.mark.parametrize("graph", recipe_cases(only=photo_recipes(), every=2))
def test_every_recipe(graph: Graph, folder: Path) -> None:
    for device in ("cpu", "mixed"):
        moved = replace(graph, settings=replace(graph.settings, device=device, seed=7))
        imported = there_and_back(moved, folder)
        assert_the_same(moved, imported)
        assert list(imported.graph.outputs) == list(graph.outputs)


@pytest.mark.parametrize("op", one_in(4, USABLE), ids=lambda op: op.name)
def test_every_usable_operator(op: OpSpec, folder: Path) -> None:
    devices = ("cpu",) if op.name == CPU_ONLY else ("cpu", "mixed")
    graphs = [placed(op, device=device)[0] for device in devices]
    sound = [graph for graph in graphs if not check_graph(graph, CATALOG)]
    assert sound
    for graph in sound:
        graph = replace(graph, outputs={"images": Port("decode", "output"), **graph.outputs})
        assert_the_same(graph, there_and_back(graph, folder))


@examples(8, thorough=1200)
@given(graph=GROWN)
def test_any_graph(graph: Graph, folder: Path) -> None:
    assert len(graph.nodes) <= MOST
    imported = there_and_back(graph, folder)
    assert_the_same(graph, imported)
    again = there_and_back(imported.graph, folder)
    assert canonical(again.graph) == canonical(imported.graph)
