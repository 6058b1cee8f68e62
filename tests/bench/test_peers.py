"""Graphs as steps for one image, and peers where they are installed."""

from __future__ import annotations

import random
import resource
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import with_settings
from workbench.bench import Benchmark, Measurement
from workbench.bench.experiments.compared_program import ComparedProgram
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.measuring.pixels import (
    FLOATS,
    LEVELS,
    PixelDifference,
    compare_cpu_with_mixed,
    pixel_words,
)
from workbench.bench.peers import (
    CONTROL,
    OPERATORS,
    PEERS,
    PeerJob,
    compared_peers,
    different_words,
    peer_options,
    peers_named,
    told_as_failure,
)
from workbench.bench.peers.loader import allow_open_files
from workbench.bench.peers.operator_graphs import DECODING, NOTHING, operator_graphs
from workbench.bench.peers.program import (
    NoCounterpartError,
    chain_of,
    draw_number,
    program_of,
    value_range,
    without_randomness,
)
from workbench.catalog import Catalog, load_catalog
from workbench.emit import emit_script
from workbench.engine.resources.machine import describe_machine
from workbench.errors import ArgumentError, DataError, EngineError
from workbench.graph import load_recipe
from workbench.graph.checks.check import stopping_faults
from workbench.sources import open_datasets

ALIKE = ("imagenet-train", "imagenet-eval", "rotate-jitter", "two-view")
SHORT = MeasurementConfig(0.05, 2, 2, warm_up_rounds=2, budget=0.0)


@pytest.mark.parametrize("name", ALIKE)
def test_the_standard_recipes_have_counterparts(name: str, catalog: Catalog) -> None:
    program = program_of(load_recipe(name), catalog, OPERATORS, "a peer")
    assert program.decoder == "decode"
    assert [step.op for step in program.steps if step.op not in OPERATORS] == []
    assert emit_script(without_randomness(load_recipe(name), catalog), catalog).text


def test_what_has_no_counterpart_is_refused(catalog: Catalog) -> None:
    for name, words in (("medical-gray", "clahe"), ("robustness", "noise.gaussian")):
        with pytest.raises(NoCounterpartError, match=words):
            program_of(load_recipe(name), catalog, OPERATORS, "a peer")
    graph = load_recipe("imagenet-eval")
    resize = graph.node("resize")
    other = graph.replace_node(replace(resize, args={**resize.args, "mode": "not_larger"}))
    with pytest.raises(NoCounterpartError, match="mode of resize"):
        program_of(other, catalog, OPERATORS, "a peer")
    own = graph.replace_node(replace(graph.node("reader"), args={"file_list": "list.txt"}))
    with pytest.raises(NoCounterpartError, match="names its files itself"):
        program_of(own, catalog, OPERATORS, "a peer")


def test_a_program_draws_and_runs_every_step(catalog: Catalog) -> None:
    program = program_of(load_recipe("two-view"), catalog, OPERATORS, "a peer")

    def step(image: list[str], **arguments: object) -> list[str]:
        return [*image, *sorted(arguments)]

    found = program.run([], dict.fromkeys(OPERATORS, step), random.Random(0))
    assert len(found) == 2, "two views"
    assert "brightness" in found[0]
    assert "sigma" in found[0]


def test_draws_are_within_their_range() -> None:
    chance = random.Random(0)
    coins = [draw_number("random.coin_flip", {"probability": 0.2}, chance) for _ in range(2000)]
    assert set(coins) == {0.0, 1.0}
    assert 0.15 < np.mean(coins) < 0.25
    values = [draw_number("random.uniform", {"range": (2.0, 3.0)}, chance) for _ in range(100)]
    assert all(2 <= value <= 3 for value in values)
    assert draw_number("random.uniform", {"values": (7.0,)}, chance) == 7.0
    assert -1 <= draw_number("random.uniform", {}, chance) <= 1


def test_differences() -> None:
    one = [np.zeros((2, 2, 3), np.uint8), np.full((1, 1, 3), 9, np.uint8)]
    two = [np.zeros((2, 2, 3), np.uint8), np.full((1, 1, 3), 12, np.uint8)]
    found = compare_cpu_with_mixed(one, two)
    assert found is not None
    assert (found.images, found.greatest, found.unit) == (2, 3.0, LEVELS)
    assert found.mean == pytest.approx(9 / 15)
    assert found.share == pytest.approx(0.2)
    assert compare_cpu_with_mixed(one, one[:1]) is None
    assert compare_cpu_with_mixed(one, [two[1], two[0]]) is None


@pytest.mark.thorough
def test_a_peer_that_is_not_installed_is_a_row_that_says_so(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.bench.peers.find_spec", lambda name: None)
    graph = with_settings(load_recipe("imagenet-train"), batch_size=4)
    report = Benchmark(
        graph, str(photos), ("cpu",), measurement_config=SHORT, peers=tuple(PEERS)
    ).run()
    dali, control, *rows = report.measurements
    assert dali.median
    assert control.config.program == CONTROL
    assert control.config.settings == dali.config.settings
    assert [ratio.theirs for ratio in report.ratios] == [control.name]
    assert [row.config.program for row in rows] == list(PEERS)
    for row in rows:
        peer = PEERS[row.config.program]
        missing = f"not measured: {peer.needs[0]} is not installed"
        assert row.reason == missing or peer.device == "mixed"
        assert row.reason.startswith("not measured: ")
    assert report.extra == {}


def test_peers_go_by_the_beginning_of_their_names() -> None:
    assert peers_named(("opencv", "TORCHVISION, D")) == (
        "OpenCV",
        "torchvision, decode_jpeg",
        "torchvision, decode_jpeg on CUDA",
    )
    assert peers_named(()) == ()
    with pytest.raises(ArgumentError, match=r"peer: 'pil' is none of .*OpenCV.*tf\.data"):
        peers_named(("opencv", "pil"))
    assert peer_options(tuple(PEERS)) == ["--peers"]
    assert peers_named(peer_options(("tf.data",))[1:]) == ("tf.data",)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DataError("OpenCV cannot decode a.gif."), "OpenCV cannot decode a.gif."),
        (RuntimeError("CUDA error: out of memory"), "RuntimeError: CUDA error: out of memory"),
        (
            ValueError(
                "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most "
                "recent call last):\n  File x, line 1\nValueError: 7 is no hue\n"
            ),
            "ValueError: 7 is no hue",
        ),
        (NoCounterpartError("it has no such operator"), "it has no such operator"),
    ],
)
def test_whatever_a_library_raises_is_the_reason_of_its_row(error: Exception, words: str) -> None:
    with pytest.raises(EngineError) as raised, told_as_failure():
        raise error
    assert str(raised.value) == words


def test_a_peer_that_fails_at_a_file_ends_nothing_but_itself(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.jpg").write_text("no picture")
    graph = with_settings(load_recipe("imagenet-train"), batch_size=4, num_threads=2)
    program = program_of(graph, load_catalog(), OPERATORS, "OpenCV")
    job = PeerJob(PEERS["OpenCV"], program, open_datasets(str(tmp_path)), 4, 1)
    entry = ConfigJobs(Config(program="OpenCV"), (job,), decodes=False)
    monkeypatch.setattr(
        "workbench.bench.experiments.benchmark.compared_peers",
        lambda *_: [ComparedProgram(entry.config, lambda workers: entry, searches=True)],
    )
    run = Benchmark(graph, str(photos), ("cpu",), peers=("OpenCV",), measurement_config=SHORT)
    monkeypatch.setattr(run, "_on_usable_data", lambda entry: entry)
    ours, _, theirs = run.run().measurements
    assert ours.rounds
    assert theirs.reason == f"not measured: OpenCV cannot decode {tmp_path}/bad.jpg. " + (
        "Leave it out, or convert it to JPEG."
    )


@pytest.mark.parametrize("failure", [EngineError("it ended"), None])
def test_a_comparison_of_pixels_that_fails_leaves_a_record_that_can_be_shown(
    failure: EngineError | None, photos: Path, monkeypatch: pytest.MonkeyPatch, catalog: Catalog
) -> None:
    def call(*_: object) -> None:
        if failure is not None:
            raise failure

    monkeypatch.setattr("workbench.bench.peers.find_spec", lambda name: name)
    run = Benchmark(load_recipe("imagenet-train"), str(photos), ("cpu",))
    facts: dict[str, Any] = {}
    (compared,) = compared_peers(run, ["OpenCV"], ("cpu",), catalog, describe_machine(), facts)
    assert compared.check is not None
    with pytest.raises(EngineError):
        compared.check(call)
    (words,) = pixel_words({"peers": facts})
    assert words.endswith("it ended" if failure else "its images have other shapes than DALI's")
    assert pixel_words({"peers": {"OpenCV": {"version": "1"}}}), "a record of before"


@pytest.mark.parametrize(("decodes", "looked"), [(False, []), (True, [True])])
def test_the_crash_of_a_library_is_no_reason_to_decode_every_file(
    decodes: bool, looked: list[bool], photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.measure",
        lambda entries, *_: (Measurement(Config(), reason="not measured: SIGSEGV"),),
    )
    run = Benchmark(load_recipe("imagenet-train"), str(photos), ("cpu",))
    found: list[bool] = []
    monkeypatch.setattr(run, "_leave_out", lambda full: found.append(full))
    run.measure([ConfigJobs(Config(), (), decodes=decodes)], run.progress)
    assert found == looked


def test_a_loader_may_have_as_many_files_open_as_the_system_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
    try:
        allow_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_another_augmentation_is_told(catalog: Catalog) -> None:
    """An angle of the wrong sign is 30 levels off, another filter one."""
    assert PixelDifference(64, 0.7, 30.0, 0.4, LEVELS).is_same
    other = PixelDifference(64, 31.0, 255.0, 1.0, LEVELS)
    assert not other.is_same
    assert different_words(other) == (
        "not the same augmentation: 31 levels of 255 apart on average, and 8 are allowed"
    )
    still = without_randomness(load_recipe("rotate-jitter"), catalog)
    assert still.node("rotate").args["angle"] != 0, "in the middle of its range it would do nothing"


def test_the_operators_of_a_graph_by_themselves(catalog: Catalog) -> None:
    graph = load_recipe("rotate-jitter")
    found = operator_graphs(graph, catalog)
    assert list(found) == [DECODING, NOTHING, "resize", "rotate", "color", "flip"]
    assert DECODING not in operator_graphs(
        found["rotate"].replace_node(replace(found["rotate"].node("to_256"), op="flip", args={})),
        catalog,
    ), "nothing is told from it"
    for node, each in found.items():
        assert not stopping_faults(each, catalog)
        program = program_of(each, catalog, OPERATORS, "a peer")
        names = [step.node for step in program.steps]
        own = {DECODING: [], NOTHING: ["to_256"], "resize": ["resize"]}
        assert names == own.get(node, ["to_256", node])
    low, high = value_range(
        program_of(found["rotate"], catalog, OPERATORS, "a peer"),
        chain_of(program_of(found["rotate"], catalog, OPERATORS, "a peer"), "rotate")[-1],
        "angle",
        0.0,
    )
    assert low < 0 < high
    assert operator_graphs(load_recipe("video-clips"), catalog) == {}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [peer.name for peer in PEERS.values() if peer.device == "cpu"])
def test_a_peer_for_real(name: str, photos: Path) -> None:
    if find_spec(PEERS[name].needs[1]) is None:
        pytest.skip(f"{PEERS[name].needs[0]} is not installed")
    graph = with_settings(load_recipe("imagenet-train"), batch_size=8, num_threads=2)
    report = Benchmark(graph, str(photos), ("cpu",), measurement_config=SHORT, peers=(name,)).run()
    ours, control, theirs = report.measurements
    if name == "SPDL" and "FFmpeg" in theirs.reason:
        pytest.skip("SPDL finds no FFmpeg")
    assert (ours.reason, theirs.reason) == ("", "")
    assert theirs.config.program == name
    tried = report.extra["peers"][name]["workers"]
    assert len(tried) >= 2, "each over its own workers"
    assert any("workers tried" in words for words in theirs.notes)
    assert report.extra["peers"][name]["version"] != "unknown"
    pixels = report.extra["peers"][name]["difference"]
    assert pixels["unit"] == FLOATS
    (words,) = pixel_words(report.extra)
    assert f"{pixels['mean']:.3f} units of the output's floats apart on average" in words
    assert pixels["mean"] < 0.05, "in standard deviations of ImageNet: three levels of 255"
    assert [ratio.theirs for ratio in report.ratios] == [control.name, theirs.name]


@pytest.mark.gpu
def test_a_peer_on_the_gpu(photos: Path) -> None:
    name = "torchvision, decode_jpeg on CUDA"
    if find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    graph = with_settings(load_recipe("imagenet-train"), batch_size=8, num_threads=2)
    report = Benchmark(
        graph, str(photos), ("mixed",), measurement_config=SHORT, peers=(name,)
    ).run()
    assert [row.reason for row in report.measurements] == ["", "", ""]
