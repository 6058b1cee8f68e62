"""What a sweep or a tuner may try."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from tests.bench.fakes import MACHINE
from workbench.bench.measuring.config import Config, adopt_config, config_of
from workbench.bench.measuring.grid import Grid, default_grid, grid_for, mapping_values
from workbench.catalog import Catalog
from workbench.engine import describe_machine
from workbench.errors import ArgumentError
from workbench.graph import load_recipe
from workbench.graph.model import Executor, Source
from workbench.graph.resolved import ResolvedGraph


def test_grids() -> None:
    grid = Grid((1, 2), (16, 32), (1, 2, 4), (0.65, 1.0))
    assert len(grid) == len(list(grid.places())) == 24
    assert Grid.from_json(grid.to_json()) == grid
    with pytest.raises(ValueError, match="rising order"):
        Grid((2, 1), (16,))
    usual = default_grid(describe_machine(), "mixed")
    assert usual.hw_decoder_load[-1] == 1.0
    assert usual.executor == get_args(Executor)
    assert usual.threads[-1] == describe_machine().cores


def test_a_reader_without_shards_is_tuned_as_one_pipeline(catalog: Catalog) -> None:
    graph = load_recipe("imagenet-train")
    assert grid_for(ResolvedGraph(graph, catalog), MACHINE, "mixed").dont_use_mmap == (None, True)
    assert grid_for(ResolvedGraph(graph, catalog), MACHINE, "cpu").dont_use_mmap == (None,)
    read = adopt_config(graph, replace(config_of(graph), dont_use_mmap=True))
    assert grid_for(ResolvedGraph(read, catalog), MACHINE, "mixed").dont_use_mmap == (True,)
    assert grid_for(ResolvedGraph(graph, catalog), MACHINE, "mixed").pipelines == (1, 2, 3)
    video = replace(graph, nodes=(Source("reader", "experimental.inputs.video"), *graph.nodes[1:]))
    assert grid_for(ResolvedGraph(video, catalog), MACHINE, "mixed").pipelines == (1,)


def test_files_that_are_mapped_are_as_the_graph_has_them_where_it_maps(catalog: Catalog) -> None:
    graph = load_recipe("imagenet-train")
    read = adopt_config(graph, replace(config_of(graph), dont_use_mmap=True))
    assert mapping_values(ResolvedGraph(graph, catalog), ("mapped", "read")) == (None, True)
    assert mapping_values(ResolvedGraph(graph, catalog), ("read",)) == (True,)
    assert mapping_values(ResolvedGraph(read, catalog), ("mapped", "read")) == (False, True)
    mapped = adopt_config(read, replace(config_of(read), dont_use_mmap=False))
    assert config_of(mapped) == config_of(graph)


def test_a_reader_that_maps_no_files_cannot_read_them_instead(catalog: Catalog) -> None:
    graph = load_recipe("imagenet-train")
    video = replace(graph, nodes=(Source("reader", "experimental.inputs.video"), *graph.nodes[1:]))
    assert mapping_values(ResolvedGraph(video, catalog), ("mapped",)) == (None,)
    with pytest.raises(ArgumentError, match=r"no reader .* \(experimental.inputs.video\)"):
        mapping_values(ResolvedGraph(video, catalog), ("mapped", "read"))


def test_a_configuration_has_the_place_that_gives_it() -> None:
    grid = Grid((1, 2), (8, 16), (2,))
    base = Config("cpu", "decode", workers=3)
    for place in grid.places():
        assert grid.place(grid.config(place, base)) == place
    assert grid.place(replace(base, batch_size=24)) is None
