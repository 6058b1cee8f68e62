"""Where DALI's seeds from the pipeline's own are those of a graph, none is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import with_settings
from workbench.catalog import load_catalog
from workbench.emit.core.pipeline_seed import _held, pipeline_seed_is_enough
from workbench.emit.core.seed_sequence import drawn_seeds
from workbench.emit.targets import export
from workbench.engine.importing import from_file
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.preview.verification.verify import verify

CATALOG = load_catalog()


def by_the_pipeline(graph: Graph) -> Graph:
    """The graph with the seeds that DALI hands out."""
    drawing = [node for node in _held(graph, CATALOG) if CATALOG[node.op].seeded]
    seeds = drawn_seeds(graph.settings.seed)
    for node, seed in zip(drawing, seeds, strict=False):
        graph = graph.replace_node(replace(node, seed=seed - graph.settings.seed))
    return graph


@pytest.mark.parametrize("recipe", ["imagenet-train", "two-view"])
def test_batches_are_those_of_the_preview(recipe: str, photos: Path) -> None:
    graph = with_settings(by_the_pipeline(load_recipe(recipe)), batch_size=4)
    assert pipeline_seed_is_enough(graph, CATALOG, graph.nodes)
    text = export(graph, "script", CATALOG, data=photos).main.text
    assert text.count("seed=") == text.count("seed=seed,") == 1
    assert verify(graph, photos, 2).exact


def test_it_comes_in_and_goes_out_as_it_was(tmp_path: Path) -> None:
    graph = by_the_pipeline(load_recipe("imagenet-train"))
    text = export(graph, "script", CATALOG).main.text
    (tmp_path / "pipe.py").write_text(text)
    again = from_file(tmp_path / "pipe.py").graph
    assert [node.seed for node in again.nodes] == [node.seed for node in graph.nodes]
    assert export(again, "script", CATALOG).main.text.count("seed=") == 1


@pytest.mark.parametrize("target", ["pytorch", "lightning", "jax", "ray", "tensorflow", "paddle"])
def test_shards_draw_apart_by_the_pipelines_seed(target: str) -> None:
    text = export(by_the_pipeline(load_recipe("cutout")), target, CATALOG).main.text
    assert "seed=seed + 100_000 * shard_id," in text
    assert "shards draw apart" not in text
    compile(text, target, "exec")


def test_otherwise_each_operator_has_its_own() -> None:
    graph = by_the_pipeline(load_recipe("imagenet-train"))
    for other in (
        load_recipe("imagenet-train"),
        set_setting(graph, seed=7),
        set_setting(graph, pipelines=2),
        by_the_pipeline(load_recipe("simclr")),  # its regions hold further operators
    ):
        assert not pipeline_seed_is_enough(other, CATALOG, other.nodes)
        assert "seed=seed" in export(other, "script", CATALOG).main.text
