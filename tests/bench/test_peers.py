"""Peers: exported modules and factories, where their libraries are installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
from benchmarks import gpu_peers
from tests.helpers import with_settings
from workbench.bench import Benchmark, Measurement
from workbench.bench.experiments.compared_program import ComparedProgram
from workbench.bench.experiments.operators import (
    DECODING,
    NOTHING,
    OperatorExperiment,
    operator_graphs,
)
from workbench.bench.experiments.peer_jobs import (
    EndlessBatchSampler,
    ExportedJob,
    FactoryJob,
    exported_module,
    images_in,
    is_factory,
    library_errors,
    without_randomness,
)
from workbench.bench.experiments.peers import (
    CONTROL,
    PEERS,
    compared_peers,
    difference_note,
    peer_options,
    peers_named,
)
from workbench.bench.measuring.config import Config, config_of
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.measuring.pixels import (
    FLOATS,
    LEVELS,
    PixelDifference,
    compare_cpu_with_mixed,
    pixel_sentences,
)
from workbench.catalog import Catalog
from workbench.emit import emit_script
from workbench.engine.resources.machine import describe_machine
from workbench.errors import ArgumentError, DataError, EngineError
from workbench.graph import Graph, load_recipe
from workbench.graph.checks.check import stopping_faults
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import open_datasets

ALIKE = ("imagenet-train", "imagenet-eval", "rotate-jitter", "two-view")
SHORT = MeasurementConfig(0.05, 2, 2, warm_up_rounds=2, budget=0.0)


@pytest.mark.parametrize("target", [peer.target for peer in PEERS.values()])
@pytest.mark.parametrize("name", ALIKE)
def test_the_standard_recipes_can_be_exported(name: str, target: str, catalog: Catalog) -> None:
    for graph in (load_recipe(name), without_randomness(ResolvedGraph(load_recipe(name), catalog))):
        config = replace(config_of(graph, "cpu"), batch_size=5)
        assert (
            "BATCH_SIZE = 5\n"
            in exported_module(ResolvedGraph(graph, catalog), target, config).text
        )
    assert emit_script(graph, catalog).text


def _reason(graph: Graph, peer: str, data: Any, catalog: Catalog) -> str:
    run = Benchmark(graph, data, ("cpu",))
    (found,) = compared_peers(run, [peer], ("cpu",), describe_machine(), {})
    return found.reason


def test_what_cannot_be_exported_is_refused_with_the_node(
    photos: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.bench.experiments.peers.find_spec", lambda name: name)
    found = _reason(load_recipe("medical-gray"), "torchvision", str(photos), catalog)
    assert found.startswith("not measured: clahe: torchvision has no CLAHE, unlike albumentations.")
    graph = load_recipe("imagenet-eval")
    resize = graph.node("resize")
    other = graph.replace_node(replace(resize, args={"size": (9, 9), "mode": "not_larger"}))
    found = _reason(other, "torchvision", str(photos), catalog)
    assert "resize.mode: torchvision has no equivalent of this mode" in found
    own = graph.replace_node(replace(graph.node("reader"), args={"file_list": "list.txt"}))
    assert "sets its own files" in _reason(own, "torchvision", {}, catalog)


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
    monkeypatch.setattr("workbench.bench.experiments.peers.find_spec", lambda name: None)
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
    missing = "not measured: torch is not installed: pip install torch"
    assert {row.reason for row in rows} == {missing}
    assert report.extra.keys() == {"copied_bytes"}


def test_peers_go_by_the_beginning_of_their_names() -> None:
    assert peers_named(("albu", "TORCH")) == ("torchvision", "Albumentations")
    assert peers_named(()) == ()
    assert peers_named(("my.peers:opencv", "albu")) == ("Albumentations", "my.peers:opencv")
    with pytest.raises(
        ArgumentError, match=r"peer: 'pil' is not one of torchvision, Albument.*:func"
    ):
        peers_named(("torchvision", "pil"))
    assert peer_options(tuple(PEERS)) == ["--peers"]
    assert peers_named(peer_options(("torchvision", "a:b"))[1::2]) == ("torchvision", "a:b")


@pytest.mark.parametrize("name", ["opencv", "a:", ":b", "a/b:c", "a:b.c", "a:b()", "a:b:c"])
def test_what_is_no_factory(name: str, photos: Path) -> None:
    assert not is_factory(name)
    with pytest.raises(ArgumentError, match="peers is"):
        Benchmark(load_recipe("imagenet-train"), str(photos), ("cpu",), peers=(name,))


FACTORIES = """
calls = []

def pairs(files, batch_size, threads):
    calls.append((len(files), batch_size, threads))
    for at in range(0, len(files), batch_size):
        yield files[at : at + batch_size], [0] * batch_size

def nothing(files, batch_size, threads):
    return []

def failing(files, batch_size, threads):
    raise ValueError("7 is no hue")

def uncounted(files, batch_size, threads):
    return [7]
"""


def _factory(name: str, folder: Path, photos: Path) -> FactoryJob:
    (folder / "own_factories.py").write_text(FACTORIES)
    data = open_datasets(str(photos))
    return FactoryJob(f"own_factories:{name}", str(folder), data, 50, 3)


@pytest.fixture
def _own_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import sys

    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("own_factories", None)


@pytest.mark.usefixtures("_own_path")
def test_a_factory_gets_files_batch_size_and_threads_and_is_called_again(
    tmp_path: Path, photos: Path
) -> None:
    import sys

    job = _factory("pairs", tmp_path, photos)
    work = job.start()
    count = len(list(photos.rglob("*.jpg")))
    batches = -(-count // 50)
    assert sum(work.run() for _ in range(batches)) == count, "the last batch is smaller"
    assert work.run() == min(50, count)
    assert sys.modules["own_factories"].calls == [(count, 50, 3)] * 2
    assert work.lead == 7


@pytest.mark.usefixtures("_own_path")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "'own_factories:nothing' yielded no batch"),
        ("failing", "ValueError: 7 is no hue"),
        ("uncounted", "A batch has type 'int', not tuple. Return a tuple of outputs"),
        ("missing", "The module 'own_factories' has no function 'missing'"),
    ],
)
def test_a_factory_that_fails_says_why(name: str, words: str, tmp_path: Path, photos: Path) -> None:
    with pytest.raises(EngineError, match=words):
        _factory(name, tmp_path, photos).start().run()


@pytest.mark.usefixtures("_own_path")
def test_the_example_of_a_factory_runs(tmp_path: Path, photos: Path) -> None:
    pytest.importorskip("cv2")
    page = Path(workbench.__file__).parent / "bench" / "METHOD.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    (tmp_path / "own_factories.py").write_text(code)
    data = open_datasets(str(photos))
    assert FactoryJob("own_factories:opencv", str(tmp_path), data, 8, 2).start().run() == 8


def test_the_images_in_a_batch_are_counted() -> None:
    assert images_in((np.zeros((4, 2, 2)), np.zeros(4))) == 4
    assert images_in([[np.zeros((2, 2)), np.zeros((3, 2))], [0, 1]]) == 2
    assert images_in({"images": np.zeros((5, 2)), "labels": [0]}) == 5
    assert images_in(np.zeros((6, 2))) == 6


@pytest.mark.thorough
def test_a_factory_is_measured_beside_dali(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_factories.py").write_text(FACTORIES)
    monkeypatch.chdir(tmp_path)
    graph = with_settings(load_recipe("imagenet-train"), batch_size=4, num_threads=2)
    name = "own_factories:pairs"
    run = Benchmark(graph, str(photos), ("cpu",), measurement_config=SHORT, peers=(name,))
    report = run.run()
    ours, control, theirs = report.measurements
    assert ours.rounds
    assert theirs.rounds
    assert any("not compared: the peer is your own function" in n for n in theirs.notes)
    assert [ratio.theirs for ratio in report.ratios] == [control.name, theirs.name]
    (words,) = pixel_sentences(report.extra)
    assert words.startswith(f"Pixels of {name} and of DALI on the CPU: not compared")
    alone = OperatorExperiment(graph, str(photos), ("cpu",), peers=(name,))
    prepared = alone.prepare()
    every = alone._measured_programs(prepared.machine)
    reasons = {one.compared.reason for one in every if one.whose[0] == name}
    assert reasons == {"not measured: it does more than one operator"}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DataError("a.gif cannot be read."), "a.gif cannot be read."),
        (RuntimeError("CUDA error: out of memory"), "RuntimeError: CUDA error: out of memory"),
        (
            ValueError(
                "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most "
                "recent call last):\n  File x, line 1\nValueError: 7 is no hue\n"
            ),
            "ValueError: 7 is no hue",
        ),
        (EngineError("it has no such operator"), "it has no such operator"),
    ],
)
def test_whatever_a_library_raises_is_the_reason_of_its_row(error: Exception, words: str) -> None:
    with pytest.raises(EngineError) as raised, library_errors():
        raise error
    assert str(raised.value) == words


def test_a_peer_that_fails_at_a_file_ends_nothing_but_itself(
    tmp_path: Path, photos: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("albumentations")
    (tmp_path / "bad.jpg").write_text("no picture")
    graph = with_settings(load_recipe("imagenet-train"), batch_size=4, num_threads=2)
    module = exported_module(
        ResolvedGraph(graph, catalog), "albumentations", config_of(graph, "cpu")
    )
    job = ExportedJob(module, open_datasets(str(tmp_path)), 4, 1)
    entry = ConfigJobs(Config(program="Albumentations"), (job,), decodes=False)
    monkeypatch.setattr(
        "workbench.bench.experiments.benchmark.compared_peers",
        lambda *_: [ComparedProgram(entry.config, lambda workers: entry, searches=True)],
    )
    run = Benchmark(
        graph, str(photos), ("cpu",), peers=("Albumentations",), measurement_config=SHORT
    )
    monkeypatch.setattr(run, "_on_usable_data", lambda entry: entry)
    ours, _, theirs = run.run().measurements
    assert ours.rounds
    assert theirs.reason.startswith(
        f"not measured: ValueError: {tmp_path}/bad.jpg cannot be decoded: "
    )


@pytest.mark.parametrize("failure", [EngineError("it ended"), None])
def test_a_comparison_of_pixels_that_fails_leaves_a_record_that_can_be_shown(
    failure: EngineError | None, photos: Path, monkeypatch: pytest.MonkeyPatch, catalog: Catalog
) -> None:
    def call(*_: object) -> None:
        if failure is not None:
            raise failure

    monkeypatch.setattr("workbench.bench.experiments.peers.find_spec", lambda name: name)
    run = Benchmark(load_recipe("imagenet-train"), str(photos), ("cpu",))
    facts: dict[str, Any] = {}
    (compared,) = compared_peers(run, ["Albumentations"], ("cpu",), describe_machine(), facts)
    assert compared.check is not None
    with pytest.raises(EngineError):
        compared.check(call)
    (words,) = pixel_sentences({"peers": facts})
    assert words.endswith("it ended" if failure else "its images have other shapes than DALI's")
    assert pixel_sentences({"peers": {"Albumentations": {"version": "1"}}}), "a record of before"


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
    monkeypatch.setattr(run, "_exclude_bad", lambda full: found.append(full))
    run.measure([ConfigJobs(Config(), (), decodes=decodes)], run.progress)
    assert found == looked


def test_batches_continue_into_the_next_epoch() -> None:
    batches = iter(EndlessBatchSampler(3, 2))
    found = [next(batches) for _ in range(3)]
    assert [len(each) for each in found] == [2, 2, 2]
    flat = [index for each in found for index in each]
    assert sorted(flat[:3]) == sorted(flat[3:]) == [0, 1, 2]


def test_another_augmentation_is_told(catalog: Catalog) -> None:
    """An angle of the wrong sign is 30 levels off, another filter one."""
    assert PixelDifference(64, 0.7, 30.0, 0.4, LEVELS).is_same
    other = PixelDifference(64, 31.0, 255.0, 1.0, LEVELS)
    assert not other.is_same
    assert difference_note(other) == (
        "not the same augmentation: pixels differ by 31 levels of 255 on average; the limit is 8"
    )
    still = without_randomness(ResolvedGraph(load_recipe("rotate-jitter"), catalog))
    assert still.node("rotate").args["angle"] != 0, "in the middle of its range it would do nothing"


def test_the_operators_of_a_graph_by_themselves(catalog: Catalog) -> None:
    graph = load_recipe("rotate-jitter")
    found = operator_graphs(ResolvedGraph(graph, catalog))
    assert list(found) == [DECODING, NOTHING, "resize", "rotate", "color", "flip"]
    assert DECODING not in operator_graphs(
        ResolvedGraph(
            found["rotate"].replace_node(
                replace(found["rotate"].node("to_256"), op="flip", args={})
            ),
            catalog,
        )
    ), "nothing is told from it"
    for node, each in found.items():
        assert not stopping_faults(each, catalog)
        names = [n.id for n in each.nodes if n.inputs and n.op != "decoders.image"]
        own = {DECODING: [], NOTHING: ["to_256"], "resize": ["resize"]}
        assert names == own.get(node, ["to_256", node])
    turned = found["rotate"].node("rotate")
    assert "angle" in turned.inputs, "with its draws"
    assert operator_graphs(ResolvedGraph(load_recipe("video-clips"), catalog)) == {}


@pytest.mark.thorough
@pytest.mark.parametrize("recipe", ["imagenet-train", "two-view"])
@pytest.mark.parametrize("name", list(PEERS))
def test_a_peer_for_real(name: str, recipe: str, photos: Path) -> None:
    if missing := PEERS[name].missing:
        pytest.skip(f"{missing} is not installed")
    graph = with_settings(load_recipe(recipe), batch_size=8, num_threads=2)
    report = Benchmark(graph, str(photos), ("cpu",), measurement_config=SHORT, peers=(name,)).run()
    ours, control, theirs = report.measurements
    assert (ours.reason, theirs.reason) == ("", "")
    assert theirs.config.program == name
    assert theirs.batch_size == ours.batch_size == 8
    assert all(one.samples == 8 * one.batches for one in theirs.rounds)
    facts = report.extra["peers"][name]
    assert len(facts["workers"]) >= 2, "each over its own workers"
    assert any("workers tried" in words for words in theirs.notes)
    assert any("runs the exported module" in words for words in theirs.notes)
    assert (facts["runs"], facts["version"] != "unknown") == ("exported module", True)
    pixels = facts["difference"]
    (words,) = pixel_sentences(report.extra)
    if recipe == "imagenet-train":
        assert pixels["unit"] == FLOATS
        assert f"{pixels['mean']:.3f} units of the output's floats apart on average" in words
        assert pixels["mean"] < 0.05, "in standard deviations of ImageNet: three levels of 255"
    assert pixels["images"] == 64
    assert [ratio.theirs for ratio in report.ratios] == [control.name, theirs.name]


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["kornia", "torchvision"])
def test_peers_on_a_gpu_return_uint8_batches_there(name: str, photos: Path) -> None:
    pytest.importorskip(name)
    factory = {"kornia": gpu_peers.kornia, "torchvision": gpu_peers.torchvision_cuda}[name]
    files = [str(path) for path in sorted(photos.rglob("*.jpg"))]
    (images,) = next(factory(files, 4, 2))
    assert (tuple(images.shape), str(images.dtype)) == ((4, 3, 224, 224), "torch.uint8")
    assert images.is_cuda
