"""Figures come from real runs; whatever stops one becomes a reason, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.damaged import REFUSED, make_folder
from tests.helpers import chain_graph, with_settings
from workbench.bench import Bench, Measurement, Report
from workbench.bench.measure import ROUNDS, WARM_UP_BATCHES, folder_size
from workbench.engine import describe_machine
from workbench.errors import CancelledError, DataError
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.model import DecodeDevice

PROMPTLY = 0.5
ROUND_SECONDS = 0.02


@pytest.fixture
def graph() -> Graph:
    return with_settings(load_recipe("imagenet-train"), batch_size=4, num_threads=2)


@pytest.fixture(autouse=True)
def _nothing_is_left(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """No folder of a worker stays behind. (The workers' processes: see ``Watched``.)"""
    folder = tmp_path_factory.mktemp("workers")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


class Watched(Bench):
    """A measurement that remembers its workers."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments, round_seconds=ROUND_SECONDS)  # type: ignore[arg-type]
        self.pids: set[int] = set()
        self.heard: list[tuple[float, str]] = []
        self.timing = threading.Event()

    def listen(self, share: float, text: str) -> None:
        self.heard.append((share, text))
        if self._engine is not None and self._engine.pid is not None:
            self.pids.add(self._engine.pid)
        if "round" in text:
            self.timing.set()

    def all_gone(self) -> bool:
        return bool(self.pids) and not any(Path(f"/proc/{pid}").exists() for pid in self.pids)


def only(report: Report) -> Measurement:
    (measurement,) = report.measurements
    return measurement


def test_a_run_on_the_cpu(graph: Graph, photos: Path) -> None:
    bench = Watched(graph, str(photos), ("cpu",))
    report = bench.run(bench.listen)
    row = only(report)
    assert (row.device, row.batch_size, row.threads, row.prefetch) == ("cpu", 4, 2, 2)
    assert row.reason == ""
    assert len(row.imgs_per_s) == ROUNDS >= 5
    assert row.median == statistics.median(row.imgs_per_s)
    assert 1 < min(row.imgs_per_s) <= row.median <= max(row.imgs_per_s) < 100_000
    shares = [share for share, _ in bench.heard]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    texts = [text for _, text in bench.heard]
    assert texts[0] == "cpu: building"
    assert f"cpu: warming up, batch {WARM_UP_BATCHES} of {WARM_UP_BATCHES}" in texts
    assert texts[-1] == f"cpu: round {ROUNDS} of {ROUNDS}"
    assert WARM_UP_BATCHES == 5
    assert bench.all_gone()

    record = report.to_json()
    assert (record["format"], record["version"]) == ("dali-workbench-bench", 1)
    assert record["graph"] == "imagenet-train"
    sizes = [path.stat().st_size for path in photos.rglob("*.jpg")]
    assert record["data"] == {"root": str(photos), "files": len(sizes), "bytes": sum(sizes)}
    assert record["results"][0]["unstable"] is row.unstable
    assert record["machine"]["cores"] == describe_machine().cores
    figures = record["results"][0]["imgs_per_s"]
    assert figures["low"] <= figures["median"] <= figures["high"]
    assert figures["rounds"] == list(row.imgs_per_s)


def test_mixed_has_a_reason_where_there_is_no_gpu(
    graph: Graph, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "this machine has no NVIDIA GPU, or no driver for it"
    machine = replace(describe_machine(), gpu="", no_gpu=reason)
    monkeypatch.setattr("workbench.bench.measure.describe_machine", lambda: machine)
    bench = Watched(graph, str(photos), ("mixed",))
    row = only(bench.run(bench.listen))
    assert row.imgs_per_s == ()
    assert row.median is None
    assert row.reason == f"not measured: {reason}"
    assert row.to_json()["imgs_per_s"] == {"median": None, "low": None, "high": None, "rounds": []}
    assert bench.pids == set(), "no worker was started for it"


def test_this_machine_says_truly_whether_it_has_a_gpu(graph: Graph, photos: Path) -> None:
    if not describe_machine().no_gpu:
        pytest.skip("there is a GPU here")
    assert only(Bench(graph, str(photos), ("mixed",)).run()).reason.startswith("not measured: ")


@pytest.mark.gpu
def test_a_mixed_run(graph: Graph, photos: Path) -> None:
    row = only(Watched(graph, str(photos), ("mixed",)).run())
    assert row.reason == ""
    assert len(row.imgs_per_s) == ROUNDS


def test_a_graph_that_cannot_run_on_a_device_says_why(photos: Path) -> None:
    graph = chain_graph("rotate", rotate={"angle": "ten"})
    row = only(Watched(graph, str(photos), ("cpu",)).run())
    assert row.reason.startswith("not measured: rotate.angle: 'ten' is not a number")


@pytest.mark.parametrize("kind", ["text.jpg", "empty.jpg", "gif.jpg", "truncated_header.jpg"])
def test_damaged_data_is_a_reason(kind: str, graph: Graph, photos: Path, tmp_path: Path) -> None:
    bad, _ = make_folder(photos, tmp_path, [kind, kind])
    bench = Watched(graph, str(bad), ("cpu",))
    row = only(bench.run(bench.listen))
    assert row.imgs_per_s == ()
    assert row.reason.startswith("not measured: ")
    assert "reader" in row.reason or "decode" in row.reason
    assert "Traceback" not in row.reason
    name = f"class/00_{kind}: {REFUSED[kind][1]}" if kind != "truncated_header.jpg" else kind
    assert "for example " in row.reason
    assert name in row.reason
    assert bench.all_gone()


def test_no_more_than_three_bad_files_are_named(graph: Graph, photos: Path, tmp_path: Path) -> None:
    bad, _ = make_folder(photos, tmp_path, ["text.jpg"] * 5)
    reason = only(Watched(graph, str(bad), ("cpu",)).run()).reason
    assert reason.count("text, not an image") == 3


def test_a_folder_that_takes_too_long_has_no_size(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.bench.measure.LOOK_SECONDS", -1.0)
    assert folder_size(str(photos)) == (None, None)


def test_progress_is_told_in_a_round_too(graph: Graph, photos: Path) -> None:
    bench = Watched(graph, str(photos), ("cpu",))
    bench.round_seconds = 1.2
    heard = []

    def stop_in_round_one(share: float, text: str) -> None:
        heard.append((share, text))
        if "round 1" in text:
            bench.cancel()

    with pytest.raises(CancelledError):
        bench.run(stop_in_round_one)
    share, text = heard[-1]
    assert text == f"cpu: round 1 of {ROUNDS}"
    assert 0.3 / ROUNDS < share < 1 / ROUNDS, "before the round was over"


@pytest.mark.parametrize(
    ("rounds", "unstable"),
    [((), False), ((5.0,), False), ((100, 101, 99, 100, 102), False), ((100, 60, 130), True)],
)
def test_rounds_that_differ_widely_are_marked(rounds: tuple[float, ...], unstable: bool) -> None:
    row = Measurement("cpu", "pipeline", 4, 2, 2, rounds)
    assert row.unstable is unstable
    assert row.to_json()["unstable"] is unstable


def test_a_graph_that_decodes_nothing_is_not_measured(graph: Graph, photos: Path) -> None:
    labels = replace(graph, outputs={"labels": Port("reader", "labels")})
    bench = Watched(labels, str(photos), ("cpu",))
    row = only(bench.run(bench.listen))
    assert row.reason == "not measured: no output of the graph depends on a decoder"
    assert bench.pids == set()


def test_what_dali_refuses_is_a_reason_with_the_node(photos: Path) -> None:
    graph = chain_graph("crop", crop={"crop": (5000.0, 5000.0), "out_of_bounds_policy": "error"})
    row = only(Watched(with_settings(graph, batch_size=2), str(photos), ("cpu",)).run())
    assert row.reason.startswith("not measured: crop: ")


def test_folders_that_cannot_be_used(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder"):
        Watched(graph, str(tmp_path / "missing"), ("cpu",)).run()
    with pytest.raises(DataError, match="is empty"):
        Watched(graph, str(tmp_path), ("cpu",)).run()


def test_killed_in_mid_measurement(graph: Graph, photos: Path) -> None:
    bench = Watched(graph, str(photos), ("cpu",))

    def kill(share: float, text: str) -> None:
        bench.listen(share, text)
        if "round 1" in text:
            for pid in bench.pids:
                os.kill(pid, signal.SIGKILL)

    row = only(bench.run(kill))
    assert row.imgs_per_s == ()
    assert "not measured: The worker was ended by SIGKILL" in row.reason
    assert bench.all_gone()


@pytest.mark.parametrize("when", ["starting", "building", "timing"])
def test_cancelled_at_once(when: str, graph: Graph, photos: Path) -> None:
    bench = Watched(graph, str(photos), ("cpu",))
    bench.round_seconds = 60.0 if when == "timing" else ROUND_SECONDS
    reached, raised = threading.Event(), []

    def listen(share: float, text: str) -> None:
        bench.listen(share, text)
        if when == "building" or f"batch {WARM_UP_BATCHES} of" in text:
            reached.set()

    def run() -> None:
        try:
            bench.run(listen)
        except CancelledError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    if when == "starting":
        while bench._engine is None and thread.is_alive():
            pass
    else:
        assert reached.wait(60)
    started = time.monotonic()
    bench.cancel()
    thread.join()
    assert time.monotonic() - started < PROMPTLY
    assert len(raised) == 1
    assert when == "starting" or bench.all_gone()


def test_cancelled_before_it_began(graph: Graph, photos: Path) -> None:
    devices: tuple[DecodeDevice, ...] = ("cpu",)
    bench = Bench(graph, str(photos), devices)
    bench.cancel()
    with pytest.raises(CancelledError):
        bench.run()
