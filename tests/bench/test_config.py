"""A configuration is a graph; what is measured is that graph's script."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.bench.fakes import MACHINE
from tests.helpers import chain_graph
from workbench.bench.measuring.config import (
    Config,
    adopt_config,
    config_of,
    ineffective_settings,
    sharded,
    unmeasurable_reason,
    with_config,
)
from workbench.catalog import Catalog, load_catalog
from workbench.emit import emit_script
from workbench.graph import Graph, load_recipe, load_recipes
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import load_source


def configured(graph: Graph, config: Config) -> Graph:
    return with_config(ResolvedGraph(graph, load_catalog()), config).graph


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, graph in load_recipes().items()
        if not load_source(graph.sources[0].kind).pixels
    ],
)
def test_every_recipe_can_be_cut_behind_its_decoder(name: str, catalog: Catalog) -> None:
    config = replace(config_of(load_recipe(name)), regime="decode")
    graph = configured(load_recipe(name), config)
    pipeline = emit_script(graph, catalog).text.partition("@pipeline_def")[2]
    called = re.findall(r"fn\.([\w.]+)\(", pipeline)
    reader = graph.sources[0].op
    cropped = [reader, "random_bbox_crop", "decoders.image_slice"]
    assert called == (cropped if name == "ssd" else [reader, "decoders.image"])


def test_settings_and_load_are_in_the_script(catalog: Catalog) -> None:
    config = Config("mixed", "pipeline", 7, 3, 5, 0.9)
    text = emit_script(configured(load_recipe("imagenet-train"), config), catalog).text
    for words in ("BATCH_SIZE = 7", "NUM_THREADS = 3", "prefetch_queue_depth=5",
                  "hw_decoder_load=0.9", 'DEVICE = "mixed"'):  # fmt: skip
        assert words in text


def test_a_config_reads_back_from_what_it_made(catalog: Catalog) -> None:
    config = Config("mixed", "pipeline", 7, 3, 5, 0.9)
    assert config_of(configured(load_recipe("simclr"), config)) == config


def test_files_are_mapped_or_read_as_it_says_or_as_the_graph_has_it(catalog: Catalog) -> None:
    graph = load_recipe("imagenet-train")
    assert config_of(graph).dont_use_mmap is None
    read = configured(graph, replace(config_of(graph), dont_use_mmap=True))
    assert "dont_use_mmap=True," in emit_script(read, catalog).text
    assert config_of(read).dont_use_mmap is True
    assert config_of(read).settings.endswith(", dont_use_mmap")
    assert configured(read, replace(config_of(read), dont_use_mmap=None)) == read
    assert configured(read, replace(config_of(read), dont_use_mmap=False)) == graph
    arrays = replace(graph, nodes=tuple(n for n in graph.nodes if n.op != "readers.file"))
    unread = configured(arrays, replace(config_of(arrays), dont_use_mmap=True))
    assert unread.nodes == arrays.nodes


def test_no_load_leaves_the_graph_s(catalog: Catalog) -> None:
    graph = load_recipe("imagenet-train")
    assert configured(graph, config_of(graph)) == graph


def test_shards(catalog: Catalog) -> None:
    text = emit_script(sharded(load_recipe("imagenet-train"), 1, 4), catalog).text
    assert "shard_id=1" in text
    assert "num_shards=4" in text


def test_refusals(catalog: Catalog) -> None:
    graph = load_recipe("imagenet-train")
    mixed = configured(graph, config_of(graph, "mixed"))
    assert unmeasurable_reason(ResolvedGraph(mixed, catalog), MACHINE) == ""
    there_is_none = replace(MACHINE, no_gpu="there is none")
    assert (
        unmeasurable_reason(ResolvedGraph(mixed, catalog), there_is_none)
        == "not measured: there is none"
    )
    assert unmeasurable_reason(ResolvedGraph(graph, catalog), there_is_none) == ""
    wrong = chain_graph("rotate", rotate={"angle": "ten"})
    assert "'ten' is not a number" in unmeasurable_reason(ResolvedGraph(wrong, catalog), MACHINE)


def test_knobs_without_effect() -> None:
    jpeg = (("JPEG", 400),)
    assert ineffective_settings(Config(), jpeg) == ()
    assert "took no effect" in ineffective_settings(Config(hw_decoder_load=0.9), jpeg)[0]
    assert ineffective_settings(Config("mixed", hw_decoder_load=0.9), jpeg) == ()
    (note,) = ineffective_settings(Config("mixed"), (("JPEG", 300), ("PNG", 100)))
    assert "25% of the files (PNG)" in note


def test_labels_and_settings() -> None:
    assert Config().label == "cpu, pipeline"
    assert Config(program="OpenCV").label == "OpenCV, cpu, pipeline"
    assert Config(threads=1, hw_decoder_load=1.0).settings == (
        "batch 64, 1 thread, prefetch 2, hw_decoder_load 1"
    )


def test_what_is_adopted_is_in_graph_and_script(catalog: Catalog) -> None:
    graph = adopt_config(load_recipe("simclr"), Config("mixed", "decode", 96, 12, 3, 0.8))
    assert graph.outputs == load_recipe("simclr").outputs, "all of the graph"
    text = emit_script(graph, catalog).text
    assert "BATCH_SIZE = 96" in text
    assert "NUM_THREADS = 12" in text
    assert "hw_decoder_load=0.8" in text
