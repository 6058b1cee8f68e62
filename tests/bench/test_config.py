"""A configuration is a graph; what is measured is that graph's script."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from PIL import Image

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
from workbench.bench.measuring.grid import Grid, default_grid, grid_for, mapping_values
from workbench.bench.measuring.measurement_config import (
    COARSE_CONFIG,
    QUICK_CONFIG,
    MeasurementConfig,
    config_within,
    is_unstable,
    low_precision_notice,
)
from workbench.bench.measuring.stats import (
    Interval,
    median_interval,
    paired_ratio,
    ratio,
    variation,
)
from workbench.bench.measuring.transfer import (
    copied_bytes,
    copied_file_bytes,
    copied_text,
)
from workbench.catalog import Catalog, load_catalog
from workbench.emit import emit_script
from workbench.engine import describe_machine
from workbench.errors import ArgumentError
from workbench.graph import Graph, load_recipe, load_recipes
from workbench.graph.edits.edit import start_graph
from workbench.graph.model import Executor, Source
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import list_samples, load_source, open_dataset


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
    assert "had no effect" in ineffective_settings(Config(hw_decoder_load=0.9), jpeg)[0]
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


# What a sweep or a tuner may try.


def test_grids() -> None:
    grid = Grid((1, 2), (16, 32), (1, 2, 4), (0.65, 1.0))
    assert len(grid) == len(list(grid.places())) == 24
    assert Grid.from_json(grid.to_json()) == grid
    with pytest.raises(ValueError, match="ascending values"):
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
    with pytest.raises(ArgumentError, match=r"reader \(experimental.inputs.video\) does not"):
        mapping_values(ResolvedGraph(video, catalog), ("mapped", "read"))


def test_a_configuration_has_the_place_that_gives_it() -> None:
    grid = Grid((1, 2), (8, 16), (2,))
    base = Config("cpu", "decode", workers=3)
    for place in grid.places():
        assert grid.place(grid.config(place, base)) == place
    assert grid.place(replace(base, batch_size=24)) is None


# The rules of warm-up and stopping, on made-up rounds.


@pytest.mark.parametrize(
    ("rates", "batches", "warm"),
    [
        ([], 0, False),
        ([100], 50, False),
        ([100, 104], 50, True),
        ([100, 96], 50, True),
        ([100, 106], 50, False),
        ([50, 100, 101], 50, True),
        ([100, 101, 50], 50, False),
        ([100, 101], 4, False),
        ([100, 101], 5, True),
    ],
)
def test_warm_is_two_rounds_alike_and_five_batches(
    rates: list[float], batches: int, warm: bool
) -> None:
    assert MeasurementConfig().is_warm(rates, batches) is warm


def test_precise_needs_six_rounds_for_95_percent() -> None:
    config = MeasurementConfig()
    assert not config.is_precise([100.0] * 5)
    assert config.is_precise([100.0] * 6)
    assert not config.is_precise([90, 95, 100, 100, 105, 110])
    assert config.is_precise([98, 99, 100, 100, 101, 102])


def test_the_reason_to_stop() -> None:
    config = MeasurementConfig(budget=10)
    steady, wild = [100.0] * 6, [60.0, 100, 140, 70, 130, 90]
    assert config.stop_reason([steady, steady], 1.0) == "precise"
    assert config.stop_reason([steady, wild], 19.9) is None, "the budget is for each"
    assert config.stop_reason([steady, wild], 20.0) == "budget"
    assert config.stop_reason([steady, wild[:4]], 99.0) is None, "five rounds at least"
    assert config.stop_reason([], 0.0) == "precise", "nothing is left to measure"


def test_a_limit_leaves_rounds_fewer_batches_and_an_end() -> None:
    config, free = config_within(8.0), MeasurementConfig()
    assert (config.round_of(0.01), config.round_of(0.3), config.round_of(9.0)) == (
        (1.0, 10),
        (1.0, 3),
        (1.0, 2),
    )
    assert config_within(4.0).round_of(0.01) == (0.5, 10)
    assert free.round_of(9.0) == (1.0, 10)
    assert not free.is_late_to_warm_up(1e9)
    assert (config.is_late_to_warm_up(3.9), config.is_late_to_warm_up(4.0)) == (False, True)
    assert not config.is_late([7.0, 5.0], [1.0, 2.0], 2), "8 s for each, whichever takes them"
    assert config.is_late([7.0, 7.0], [1.0, 2.0], 2)
    assert not config.is_late([99.0], [1.0], 1), "two rounds whatever they take"
    assert not free.is_late([1e9], [1.0], 5)


def test_unstable() -> None:
    assert not is_unstable([100, 101, 99], True)
    assert is_unstable([100, 60, 130], True)
    assert is_unstable([100, 101, 99], False)
    assert not is_unstable([], True)


def test_a_glance_takes_one_round_of_warm_up_and_two_that_count() -> None:
    assert not COARSE_CONFIG.is_warm([], 0)
    assert COARSE_CONFIG.is_warm([100.0], 2)
    assert COARSE_CONFIG.stop_reason([[100.0]], 99.0) is None
    assert COARSE_CONFIG.stop_reason([[100.0, 150.0]], 0.5) == "budget"


def test_a_quick_look_says_how_wide_its_intervals_are() -> None:
    found = [median_interval([100.0, 120.0]), median_interval([100.0, 101.0])]
    assert low_precision_notice(COARSE_CONFIG, found) == (
        "Quick results: at least 2 rounds of 0.2 s each. Intervals are wide: up to 9% from "
        "the median, at 50% confidence"
    )
    assert "at 75% confidence" in low_precision_notice(
        QUICK_CONFIG, [median_interval([1.0, 2.0, 3.0])]
    )
    assert low_precision_notice(MeasurementConfig(), found) == ""
    assert low_precision_notice(COARSE_CONFIG, []) == ""
    long = median_interval([100.0])
    assert "at 50% confidence" in low_precision_notice(COARSE_CONFIG, [*found, long])
    assert low_precision_notice(COARSE_CONFIG, [long]) == ""


# Intervals have the coverage they claim.


@pytest.mark.parametrize("count", [6, 7, 9, 12, 25])
@pytest.mark.parametrize("draw", ["gauss", "skew"])
def test_the_interval_covers_the_median_as_often_as_it_says(count: int, draw: str) -> None:
    chance = random.Random(count)
    true = math.log(2) if draw == "skew" else 0.0
    hits = 0
    for _ in range(2000):
        values = [
            chance.expovariate(1) if draw == "skew" else chance.gauss(0, 1) for _ in range(count)
        ]
        found = median_interval(values)
        assert found.level == 0.95
        hits += found.low <= true <= found.high
    assert 0.935 < hits / 2000 < 0.965


def test_few_values_give_their_range_and_the_level_it_has() -> None:
    found = median_interval([3.0, 1.0, 5.0, 2.0, 4.0])
    assert (found.median, found.low, found.high) == (3.0, 1.0, 5.0)
    assert found.level == pytest.approx(1 - 2 / 2**5)
    assert median_interval([7.0]) == Interval(7.0, 7.0, 7.0, 0.0)


def test_six_values_are_enough_for_95_percent() -> None:
    # By hand: the range has 96.9 %, the second to the fifth 78.1 %; 95 % lies between them.
    found = median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    outer, inner = 1 - 2 / 64, 1 - 14 / 64
    part = (outer - 0.95) / (outer - inner)
    share = 5 * part / (1 + 4 * part)
    assert found.low == pytest.approx(1 + share)
    assert found.high == pytest.approx(6 - share)
    assert found.spread == pytest.approx((3.5 - found.low) / 3.5)


def test_no_values_have_no_median() -> None:
    with pytest.raises(ValueError, match="no value to take the median of"):
        median_interval([])


def test_a_paired_ratio_does_not_feel_what_slowed_both() -> None:
    machine = [1.0, 0.5, 0.8, 1.1, 0.6, 0.9, 1.0]
    found = paired_ratio([200 * m for m in machine], [100 * m for m in machine])
    assert (found.low, found.median, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert ratio([200 * m for m in machine], [100 * m for m in machine]).spread > 0.2


@pytest.mark.thorough
def test_a_bootstrap_ratio_is_repeatable_and_covers() -> None:
    chance = random.Random(3)
    hits = 0
    for _ in range(60):
        ours = [chance.gauss(300, 10) for _ in range(15)]
        theirs = [chance.gauss(100, 5) for _ in range(15)]
        found = ratio(ours, theirs)
        assert found == ratio(ours, theirs)
        hits += found.low <= 3 <= found.high
    assert hits >= 52


def test_variation() -> None:
    values = [3.0, 9.0, 1.0, 4.0]
    assert variation([5.0]) == 0
    assert variation(values) == pytest.approx(np.std(values, ddof=1) / np.mean(values))


def test_the_bytes_copied_to_a_gpu_follow_from_shapes_and_files() -> None:
    resolved = ResolvedGraph(load_recipe("imagenet-train"), load_catalog())
    size, label = resolved.graph.settings.batch_size, 4
    output = 3 * 224 * 224 * 4
    assert copied_bytes(resolved, "cpu", 1000.0) == size * (output + label)
    assert copied_bytes(resolved, "mixed", 1000.0) == size * (1000 + label)
    assert copied_bytes(resolved, "mixed", None) is None
    decoded = ResolvedGraph(start_graph(load_catalog()), load_catalog())
    found = {"cpu": copied_bytes(decoded, "cpu", 1000.0), "mixed": 4e6}
    assert copied_text({"copied_bytes": found}) == "4 MB with mixed decoding"


def test_files_that_the_cpu_decodes_are_copied_as_pixels(tmp_path: Path) -> None:
    for name in ("a.png", "b.jpg"):
        Image.new("RGB", (40, 30)).save(tmp_path / name)
    images = list_samples(open_dataset(tmp_path))
    size, on_cpu = copied_file_bytes(list(images))
    assert (size, on_cpu) == ((3 * 40 * 30 + (tmp_path / "b.jpg").stat().st_size) / 2, 1)
    found = {"copied_bytes": {"cpu": None, "mixed": 6.83e9}, "cpu_decoded": (1, 2)}
    assert copied_text(found) == (
        "up to 6.83 GB with mixed decoding (the CPU decodes 1 of 2 files, which are copied as "
        "pixels)"
    )
