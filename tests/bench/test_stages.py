"""Where the time goes: prefixes, times that add up, costs of functions, advice; for real too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import workbench as wb
from tests.bench.fakes import MACHINE, measured, report, rounds
from tests.block_graphs import branching_graph
from tests.helpers import chain_graph, with_settings
from tests.thorough import one_in
from workbench.bench.experiments.stage_verdict import (
    AGAIN,
    critical_path,
    exclusive_times,
    function_costs,
    make_stage_report,
    row_without,
    separate_operators_report,
)
from workbench.bench.experiments.stages import (
    CachedBatchJob,
    StageCostExperiment,
    scripts_without_functions,
    stage_prefixes,
    time_alone,
)
from workbench.bench.measuring import worker_group
from workbench.bench.measuring.config import Config, nodes_after_decoders
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import COARSE_CONFIG, MeasurementConfig
from workbench.bench.records.record import WHOLE, dump_report, load_report
from workbench.bench.records.report_text import interrupted_text
from workbench.bench.records.stage_report import (
    CEILING,
    FunctionCost,
    SlowFile,
    StageCost,
    StageReport,
    batch_time,
    file_times,
    gpu_file_times,
    stages_of,
    time_files,
)
from workbench.catalog import Catalog, load_catalog
from workbench.emit import emit_script
from workbench.engine import Engine
from workbench.errors import EngineError
from workbench.graph import Graph, Node, Port, load_recipe, load_recipes
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import set_setting
from workbench.graph.model.node_order import ancestors
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import open_datasets


@pytest.mark.parametrize("name", one_in(4, load_recipes()))
def test_every_prefix_of_every_recipe_is_a_sound_graph(name: str, catalog: Catalog) -> None:
    graph = load_recipe(name)
    cut = stage_prefixes(ResolvedGraph(graph, catalog))
    assert cut[0][0].id == "reader"
    decodes = graph.has("decode")  # a video's frames are decoded as they are read
    assert not decodes or cut[1][0].id == "decode" or name == "ssd"  # whose window comes first
    for node, part in cut:
        given = [part.node(port.node) for port in part.outputs.values()]
        fed = {port.node for each in given if each.op == "shape" for port in each.inputs.values()}
        assert node.id in {each.id for each in given} | fed
        assert emit_script(part, catalog).text
    given = {port.node for port in graph.outputs.values()}
    assert given <= {node.id for node in cut[-1][1].nodes}
    # Outputs, except those that a follower or another later node needs.
    before = {p.node: ancestors(graph, [p]) - {p.node} for p in graph.outputs.values()}
    leaves = given.difference(*before.values(), {graph.sources[0].id})
    assert {port.node for port in cut[-1][1].outputs.values()} == leaves


def test_what_lies_behind_the_decoder(catalog: Catalog) -> None:
    graph = load_recipe("imagenet-train")
    assert nodes_after_decoders(ResolvedGraph(graph, catalog)) == {"crop", "mirror", "normalize"}


def test_a_block_may_be_fed_with_what_nothing_in_it_uses(photos: Path) -> None:
    graph = with_settings(branching_graph(), batch_size=2)
    block = graph.node("outer")
    fed = replace(block, inputs={**block.inputs, "labels": Port("reader", "labels")})
    assert CachedBatchJob(graph.replace_node(fed), open_datasets(photos)).start().run() == 2


def steps() -> list[tuple[Node, str, str]]:
    graph = load_recipe("imagenet-train")
    return [
        (graph.node("reader"), "read", "cpu"),
        (graph.node("decode"), "decode", "cpu"),
        (graph.node("crop"), "operator", "cpu"),
        (graph.node("normalize"), "operator", "cpu"),
    ]


def rows(*rates: float) -> list[Measurement]:
    """What was measured, by default of stages that take 1, 49, 30 and 20 ms of a batch of 100."""
    rates = rates or (100_000, 2000, 1250, 1000, 1000, 2500)
    names = ["up to reader", "up to decode", "up to crop", "up to normalize", WHOLE, CEILING]
    return [measured(rate, name) for name, rate in zip(names, rates, strict=True)]


BATCH_OF_100 = with_settings(load_recipe("imagenet-train"), batch_size=100)


def verdict(
    measured: Sequence[Measurement],
    alone: Mapping[str, float] = MappingProxyType({}),
    graph: Graph = BATCH_OF_100,
    stages: Sequence[tuple[Node, str, str]] = (),
) -> StageReport:
    return make_stage_report(stages or steps(), measured, alone, graph, MACHINE)


def test_stages_add_up_and_the_remainder_is_shown() -> None:
    found = verdict(rows(), {"decode": 45.0, "crop": 35.0, "normalize": 25.0})
    assert found.total == pytest.approx(100)
    assert [round(stage.adds or 0) for stage in found.stages] == [1, 49, 30, 20]
    assert sum(stage.adds or 0 for stage in found.stages) == pytest.approx(found.total)
    assert [round(stage.exclusive or 0) for stage in found.stages] == [1, 49, 30, 20]
    assert found.critical is not None
    assert found.critical.stages == ("decode", "crop", "normalize")
    assert found.gain == pytest.approx(2.5)
    assert found.path_texts == (
        "critical path: decode → crop → normalize, 105.0 ms of work for a batch of 100.0 ms; "
        "in parallel reading (1.0 ms)",
        "with the decoded batch cached at most 2.50 times as fast",
    )
    assert found.remainder == pytest.approx(-5)
    assert found.ceiling == pytest.approx(2500)
    assert found.bottleneck == "decode"
    assert found.advice.startswith(
        "decode (decoders.image, decode, cpu) takes 49% of a batch's time; without it"
    )
    assert "decode it on a GPU" in found.advice
    alone = replace(MACHINE, no_gpu="none")
    advice = make_stage_report(steps(), rows(), {}, BATCH_OF_100, alone).advice
    assert "decode it on a machine with a GPU" in advice
    assert "more threads" in found.advice


def test_a_decoder_that_works_while_files_are_read_is_the_bottleneck() -> None:
    """As on an H200: reading fills 52 % of a batch's time, in a thread of its own."""
    graph = with_settings(load_recipe("imagenet-train"), batch_size=100, device="mixed")
    made = [(node, kind, "cpu" if kind == "read" else "mixed") for node, kind, _ in steps()]
    rates = rows(80_000, 43_500, 43_000, 42_000, 42_000, 80_000)
    found = verdict(rates, {"decode": 2.2, "crop": 0.2, "normalize": 0.1}, graph, made)
    adds = {stage.stage: stage.adds or 0.0 for stage in found.stages}
    assert adds["reader"] > adds["decode"], "it adds only what it takes longer than the reader"
    assert found.bottleneck == "decode"
    assert "takes 92% of a batch's time; without it, 75,069 imgs/s" in found.advice
    assert "hw_decoder_load 1.0" in found.advice
    full = {**graph.node("decode").args, "hw_decoder_load": 1.0}
    loaded = graph.replace_node(replace(graph.node("decode"), args=full))
    found = verdict(rates, {"decode": 2.2, "crop": 0.2, "normalize": 0.1}, loaded, made)
    assert "hw_decoder_load" not in found.advice, "it is so already"
    lone = verdict(rates, {"decode": 1.0, "crop": 0.2, "normalize": 0.1}, graph, made)
    assert lone.bottleneck == "reader", "where the decoder waits for it"
    cpu = verdict(rates, {"decode": 2.2, "crop": 0.2, "normalize": 0.1}, graph)
    assert cpu.bottleneck == "reader", "on the CPU stages share the cores"
    late = verdict(rates, {"decode": 9.9, "crop": 0.2, "normalize": 0.1}, graph, made)
    assert "97% of a batch's time" in late.advice, "no longer than the prefix up to it"


def test_no_verdict_where_a_stage_seems_to_cost_less_than_nothing() -> None:
    found = verdict(rows(100_000, 2000, 1000, 1250, 1250, 2500))
    assert [round(stage.adds or 0) for stage in found.stages] == [1, 49, 50, -20]
    assert [stage.is_nonnegative for stage in found.stages] == [True, True, True, False]
    assert found.bottleneck == ""
    assert found.advice == f"Unstable: normalize has a negative cost. {AGAIN}"
    found = verdict(rows(100_000, 5000, 1000, 1010, 1010, 2500))
    assert found.bottleneck == "crop", "1 % is no reason"


def test_an_operator_that_dominates_beyond_the_noise_is_named() -> None:
    below = verdict(rows(100_000, 5000, 1000, 1250, 1250, 2500))
    assert [round(stage.adds or 0) for stage in below.stages] == [1, 19, 80, -20]
    assert (below.bottleneck, below.gain) == ("crop", None)
    assert "takes most of a batch's time: 100% to 100%. The figures are noisy." in below.advice
    made = rows()
    made[2] = replace(made[2], rounds=rounds(900, 1250, 1900, 1250))
    alone = verdict(made, {"decode": 5.0, "crop": 90.0, "normalize": 1.0})
    assert alone.bottleneck == "crop"
    assert "takes longest: 90.0 ms, 94% of the time of all operators." in alone.advice


@pytest.mark.thorough
def test_within_a_time_a_dominating_operator_is_named(photos: Path) -> None:
    graph = wb.read(photos).decode().resize(size=(96, 96)).with_settings(batch_size=4)
    graph = graph.gaussian_blur(sigma=9.0, window_size=91).flip()
    report = StageCostExperiment(graph, str(photos), seconds=20).run()
    found = stages_of(report.extra)
    assert found is not None
    assert found.bottleneck == "gaussian_blur"
    assert found.advice in repr(report)


def test_no_verdict_where_a_stage_costs_something_else_alone() -> None:
    """As once seen: 57 % in the pipeline for an operator that takes 8 ms alone, the blur 622."""
    found = verdict(
        rows(100_000, 2000, 1700, 500, 500, 2500), {"decode": 45.0, "crop": 622.0, "normalize": 8.0}
    )
    assert found.bottleneck == ""
    assert found.critical is None
    assert found.advice == (
        "Unstable: crop takes 8.8 ms of a batch in the pipeline, and 622.0 ms alone. " + AGAIN
    )
    assert sum(stage.exclusive or 0.0 for stage in found.stages) == pytest.approx(found.total)


def test_no_verdict_where_rounds_do_not_repeat() -> None:
    made = rows()
    made[2] = replace(made[2], rounds=rounds(900, 1250, 1900, 1250))
    found = verdict(made)
    assert found.bottleneck == ""
    assert found.advice.startswith("Unstable: the cost of crop is uncertain by ±")
    assert found.advice.endswith(f"of a batch's time; the limit is ±10%. {AGAIN}")
    assert "takes" not in found.advice
    assert found.gain is None


def test_no_verdict_where_two_stages_cannot_be_distinguished() -> None:
    made = rows(100_000, 2000, 1042, 1000, 1000, 2500)
    made[1] = replace(made[1], rounds=rounds(1900, 2000, 2100))
    found = verdict(made)
    assert found.bottleneck == ""
    assert found.advice.startswith("These stages cannot be distinguished: decode (")
    assert ", crop (random_resized_crop) 4" in found.advice
    assert found.advice.endswith(f"ms of a batch of 100 ms. {AGAIN}")
    flagged = [replace(row, settled=row.name != "up to decode") for row in made]
    unstable = "Unstable: the rounds of up to decode do not agree."
    assert verdict(flagged).advice == f"{unstable} {AGAIN}"
    assert verdict(flagged[:1] + rows()[1:]).bottleneck == "decode", "it dominates"


def test_an_interrupt_before_the_pipeline_counts_the_operators_alone() -> None:
    costs = [StageCost("flip", "operator", "cpu", None, alone) for alone in (1.0, 2.0, None)]
    found = asdict(separate_operators_report(costs, 3.0, "Interrupted."))
    words = interrupted_text(report(extra={"stages": found, "interrupted": True}))
    assert words == "interrupted: 2 operators measured alone; the pipeline was not"


def test_a_cached_batch_is_never_told_to_be_slower() -> None:
    alone = {"decode": 45.0, "crop": 35.0, "normalize": 25.0}
    made = rows(100_000, 2000, 1250, 1000, 1000, 990)
    assert verdict(made, alone).gain == 1.0


def test_a_stage_has_the_interval_of_rounds_side_by_side() -> None:
    """Both prefixes slow down and speed up together, but their difference hardly changes."""
    slow = (1.0, 2.0, 1.5)
    made = rows()
    made[1] = replace(made[1], rounds=rounds(*(100_000 / (50 * by) for by in slow)))
    made[2] = replace(made[2], rounds=rounds(*(100_000 / (50 * by + 30) for by in slow)))
    found = verdict(made).stages[2]
    assert found.adds == pytest.approx(30, abs=0.5)
    assert found.low is not None
    assert found.high is not None
    assert 29 < found.low <= found.adds <= found.high < 31


def test_a_stage_names_its_operator_where_that_is_another() -> None:
    found = verdict(rows())
    assert [stage.title for stage in found.stages] == [
        *("reader (readers.file)", "decode (decoders.image)", "crop (random_resized_crop)"),
        "normalize (crop_mirror_normalize)",
    ]
    assert StageCost("flip", "operator", "cpu", 1.0, 1.0, "flip").title == "flip"
    assert StageCost("copy to the host", "copy", "gpu", 1.0, None).title == "copy to the host"
    old = {
        **asdict(found),
        "stages": [{"stage": "a", "kind": "read", "device": "cpu", "adds": 1.0, "alone": None}],
    }
    assert stages_of({"stages": old}).stages[0].title == "a", "of a record without operators"


def test_what_could_not_be_timed_alone_leaves_no_remainder() -> None:
    found = verdict(rows(), {"crop": 1.0})
    assert found.remainder is None


def test_a_prefix_that_failed_leaves_a_gap() -> None:
    made = rows()
    made[1] = Measurement(Config(), reason="not measured: x", label="up to decode")
    found = verdict(made)
    assert [stage.adds is None for stage in found.stages] == [False, True, True, False]


@pytest.mark.parametrize(
    ("stage", "device", "words"),
    [
        (0, "cpu", "faster disk"),
        (1, "mixed", "hw_decoder_load 1.0"),
        (2, "gpu", "larger batch"),
        (2, "cpu", "move it to the GPU"),
    ],
)
def test_advice_fits_the_bottleneck(stage: int, device: str, words: str) -> None:
    graph = with_settings(load_recipe("imagenet-train"), batch_size=100, device="mixed")
    made = steps()
    made[stage] = replace_device(made[stage], device)
    rates, spent = [], 0.0
    for number in range(4):
        spent += 80.0 if number == stage else 5.0
        rates.append(100_000 / spent)
    found = verdict(rows(*rates, rates[-1], 1.0), graph=graph, stages=made)
    assert found.bottleneck == made[stage][0].id
    assert words in found.advice


def replace_device(step: tuple[Node, str, str], device: str) -> tuple[Node, str, str]:
    return step[0], step[1], device


def test_for_real(photos: Path) -> None:
    graph = with_settings(load_recipe("imagenet-train"), batch_size=4, num_threads=2)
    short = MeasurementConfig(0.02, 2, 2, warm_up_rounds=2, budget=0.0)
    report = StageCostExperiment(graph, str(photos), measurement_config=short).run()
    names = [row.name for row in report.measurements]
    assert names == [
        *("up to reader", "up to decode", "up to crop"),
        *(WHOLE, CEILING),
    ]
    assert [row.reason for row in report.measurements] == [""] * 5
    found = stages_of(report.extra)
    assert found is not None
    assert [stage.alone is None for stage in found.stages] == [True, False, False, False]
    assert found.remainder is not None
    assert found.files is not None
    assert found.files.files == report.files
    assert sum(stage.exclusive or 0.0 for stage in found.stages) == pytest.approx(found.total)
    frame = report.to_frame()
    assert list(frame["stage"][:3]) == ["reader", "decode", "crop"]
    assert frame["share"].sum() == pytest.approx(1.0)
    assert load_report(dump_report(report)).to_frame().equals(frame)
    assert stages_of({}) is None


@pytest.mark.thorough
def test_an_operator_without_inputs_is_timed_too(photos: Path) -> None:
    graph = chain_graph("warp_affine")
    matrix = Node("matrix", "transforms.rotation", {"angle": 10.0})
    warp = graph.node("warp_affine")
    turned = replace(warp, args={}, inputs={**warp.inputs, "matrix": Port("matrix", "output")})
    graph = replace(graph.replace_node(turned), nodes=(matrix, *graph.replace_node(turned).nodes))
    with Engine() as engine:
        found = engine.call(
            time_alone, graph, open_datasets(str(photos)), ["matrix", "decode", "warp_affine"]
        )
    assert sorted(found) == ["decode", "matrix", "warp_affine"]


@pytest.mark.thorough
def test_a_glance_for_real(photos: Path) -> None:
    graph = with_settings(load_recipe("imagenet-train"), batch_size=4, num_threads=2)
    report = StageCostExperiment(graph, str(photos), measurement_config=COARSE_CONFIG).run()
    assert [len(row.rounds) for row in report.measurements] == [2] * 5
    assert all(row.settled for row in report.measurements)
    found = stages_of(report.extra)
    assert found is not None
    assert all(stage.low <= stage.adds <= stage.high for stage in found.stages)


@pytest.mark.gpu
def test_with_mixed_decoding_for_real(photos: Path) -> None:
    graph = load_recipe("imagenet-train")
    graph = replace(graph, settings=replace(graph.settings, device="mixed"))
    short = MeasurementConfig(0.05, 3, 2, warm_up_rounds=2, budget=0.0)
    report = StageCostExperiment(graph, str(photos), measurement_config=short).run()
    assert [row.reason for row in report.measurements] == [""] * 6
    found = stages_of(report.extra)
    assert found is not None
    assert found.stages[-1].stage == "copy to the host"


def test_a_graph_that_cannot_run(photos: Path) -> None:
    graph = replace(load_recipe("imagenet-train"), outputs={})
    with pytest.raises(EngineError, match="the graph has no outputs"):
        StageCostExperiment(graph, str(photos)).run()


@given(st.lists(st.floats(0.001, 1e4), min_size=1, max_size=12))
def test_they_are_not_negative_and_add_up_to_the_whole(prefixes: list[float]) -> None:
    found = exclusive_times(prefixes)
    assert len(found) == len(prefixes)
    assert min(found) >= 0
    assert sum(found) == pytest.approx(prefixes[-1])


def test_times_that_rise_are_kept_and_noise_is_spread() -> None:
    assert exclusive_times([1, 50, 80, 100]) == [1, 49, 30, 20]
    assert exclusive_times([1, 52, 48, 100]) == [1, 49, 0, 50]
    assert exclusive_times([1, 120, 100]) == [1, 99, 0], "no part takes longer than the whole"


def test_the_kind_that_is_busy_longest_is_the_path() -> None:
    found = critical_path(
        [("reader", "reading", 1.2), ("decode", "cpu", 50.0), ("crop", "cpu", 20.0),
         ("blur", "gpu", 60.0)]
    )  # fmt: skip
    assert found is not None
    assert found.stages == ("decode", "crop")
    assert found.text(75.0) == (
        "critical path: decode → crop, 70.0 ms of work for a batch of 75.0 ms; in parallel "
        "reading (1.2 ms), gpu (60.0 ms)"
    )
    assert critical_path([]) is None


@wb.node(layouts="HWC")
def swap(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(image[:, :, ::-1])


def sized() -> Graph:
    graph = with_settings(chain_graph("resize", resize={"size": (64, 64)}), batch_size=4)
    return swap.after(graph, next(node.id for node in graph.nodes if node.op == "resize"))


def test_the_graph_is_measured_without_each(catalog: Catalog) -> None:
    graph = sized()
    inside, _ = wrap_in_block(graph, catalog, ["swap"], "if")
    for each in (graph, inside):
        ((node, script),) = scripts_without_functions(ResolvedGraph(each, catalog))
        assert (node.id, "swap" in script.text) == ("swap", False)
    assert list(scripts_without_functions(ResolvedGraph(chain_graph("resize"), catalog))) == []


def test_its_cost_is_the_difference() -> None:
    graph = with_settings(sized(), batch_size=100)
    rows = [measured(1000, WHOLE), measured(1250, row_without("swap"))]
    (cost,) = function_costs(graph, rows, 100)
    assert (cost.adds, cost.rate, cost.without) == (pytest.approx(20), 1000, 1250)
    words = cost.text(100.0)
    assert words.startswith("swap (your function swap) takes 20% of a batch's time (")
    assert words.endswith("): 1,000 imgs/s with it, 1,250 without")
    report = StageReport((), 100.0, None, None, "", "", (cost,))
    assert stages_of({"stages": asdict(report)}) == report
    same = function_costs(graph, [measured(1000, WHOLE), measured(990, row_without("swap"))], 100)
    assert "no significant cost" in same[0].text(100.0)


def test_what_cannot_be_left_out_says_so() -> None:
    (cost,) = function_costs(sized(), [measured(1000, WHOLE)], 100)
    assert cost == FunctionCost("swap", "swap", reason="later nodes need its output")
    assert cost.text(100.0) == (
        "swap (your function swap): not measured without it, later nodes need its output"
    )


@pytest.mark.thorough
def test_it_is_measured_for_real(photos: Path) -> None:
    graph = sized()
    short = MeasurementConfig(0.05, 3, 2, warm_up_rounds=2, budget=0.0)
    report = StageCostExperiment(graph, str(photos), measurement_config=short).run()
    names = [row.name for row in report.measurements if not row.reason]
    assert names[-1] == row_without("swap")
    found = stages_of(report.extra)
    assert found is not None
    (cost,) = found.functions
    assert cost.without is not None
    assert cost.rate is not None
    assert f"{cost.without:,.0f} without" in found.function_texts[0]


# What slow files cost their batch: by formula, and one folder for real.


def test_a_batch_is_ready_when_its_last_image_is() -> None:
    assert batch_time([1.0] * 8, 4) == 2.0
    assert batch_time([1.0] * 8 + [10.0], 4) == 10.0, (
        "one thread decodes the slow image, the other three the rest"
    )
    assert batch_time([3.0, 3.0, 2.0, 2.0, 2.0], 2) == 7.0


def test_a_slow_file_is_named_with_what_it_costs() -> None:
    names = [f"{number}.jpg" for number in range(100)]
    found = file_times(names, [*[1.0] * 99, 50.0], batch=16, threads=4)
    assert (found.files, found.median, found.slow) == (100, 1.0, 1)
    (one,) = found.slowest
    assert (one.file, one.milliseconds) == ("99.jpg", 50.0)
    assert one.adds == pytest.approx(46.0), "50 ms instead of 4: the other threads wait"
    assert found.blocked > 0.1
    assert found.without_slow > 1.2
    assert "1 (1.0%) take 2 times that or more. If these took the median" in found.text()


def test_where_none_is_slow_it_says_so() -> None:
    found = file_times(["a", "b", "c"], [1.0, 1.2, 1.1], batch=8, threads=2)
    assert found.slowest == ()
    assert found.without_slow == 1.0
    assert found.text() == "3 files decoded separately: median 1.10 ms, none takes 2 times that"


def test_a_large_photo_among_small_ones_for_real(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(12):
        Image.effect_noise((96, 96), 50).convert("RGB").save(folder / f"{number:02}.jpg")
    Image.effect_noise((1600, 1200), 50).convert("RGB").save(folder / "large.jpg")
    with Engine() as engine:
        found = engine.call(
            time_files, load_recipe("imagenet-train"), open_datasets(tmp_path), limit=60
        )
    assert found.files == 13
    assert found.slowest[0].file == "class/large.jpg"
    assert found.slowest[0].milliseconds > 5 * found.median


def test_the_slow_files_of_mixed_decoding_are_named() -> None:
    found = gpu_file_times(["a", "b", "c", "d"], [1.0, 9.0, 1.0, 1.0])
    assert found.slowest == (SlowFile("b", 9.0, 0.0),)
    assert found.text().endswith(
        "1 (25.0%) take 2 times that or more (one image at a time, mixed decoding)"
    )


@pytest.mark.gpu
def test_the_slow_files_of_a_gpu_are_named(tmp_path: Path) -> None:
    for number in range(12):
        Image.effect_noise((640, 480), 50).convert("RGB").save(tmp_path / f"{number:02}.jpg")
    Image.effect_noise((9000, 6000), 50).convert("RGB").save(
        tmp_path / "large.jpg", progressive=True
    )
    graph = set_setting(load_recipe("imagenet-train"), device="mixed")
    with Engine() as engine:
        found = engine.call(time_files, graph, open_datasets(tmp_path), limit=60)
    print(found)
    assert (found.files, found.device) == (13, "mixed")
    assert found.slowest[0].file == "large.jpg"


# Faulty functions are reported in a measurement as in a preview.

SHORT = MeasurementConfig(0.05, 2, 2, warm_up_rounds=1, budget=0.0)


@wb.node(layouts="HWC")
def loud(image: Any) -> Any:
    print("x" * 1_000_000)
    return image


@wb.node(layouts="HWC")
def fails(image: Any) -> Any:
    raise ValueError("no such thing")


@wb.node(layouts="HWC")
def never_returns(image: Any) -> Any:
    while True:
        pass


def inside_block(made: wb.FunctionNode) -> Graph:
    graph = chain_graph("resize", resize={"size": (64, 64)})
    graph = with_settings(graph, batch_size=4, num_threads=2)
    graph = made.after(graph, next(node.id for node in graph.nodes if node.op == "resize"))
    name = made.function.__name__
    return wrap_in_block(graph, load_catalog(), [name], "repeat")[0]


def measure(made: wb.FunctionNode, photos: Path) -> Any:
    experiment = StageCostExperiment(inside_block(made), str(photos), measurement_config=SHORT)
    return experiment.run()


@pytest.mark.thorough
def test_one_that_prints_megabytes_is_measured(photos: Path) -> None:
    report = measure(loud, photos)
    assert [row.reason for row in report.measurements] == [""] * len(report.measurements)


@pytest.mark.thorough
def test_what_it_raises_is_told_with_its_line(photos: Path) -> None:
    with pytest.raises(EngineError, match=r"fails: line 2 of fails, raise ValueError"):
        measure(fails, photos)


@pytest.mark.thorough
def test_one_that_never_returns_is_ended(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_group, "SILENCE_LIMIT", 15.0)
    with pytest.raises(EngineError, match=r"did not answer|within|hung|silent"):
        measure(never_returns, photos)
