"""Figures come from real runs; whatever stops one becomes a reason, and nothing is left behind."""

from __future__ import annotations

import io
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
from PIL import Image

from tests.damaged import REFUSED, make_folder
from tests.helpers import chain_graph, with_settings
from workbench.bench import Benchmark, Measurement, Report
from workbench.bench.experiments.speed_experiment import git_state
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.measuring.worker_group import WorkerGroup
from workbench.bench.records.record import dump_report, load_report
from workbench.engine import describe_machine
from workbench.errors import CancelledError, DataError
from workbench.graph import Graph, Port, load_recipe
from workbench.ui.speed.chart_payloads import measured_on

PROMPTLY = 0.5
"""Seconds within which a cancelled measurement ends."""
SHORT = MeasurementConfig(
    round_seconds=0.02, round_batches=2, rounds=5, warm_up_rounds=2, budget=0.0
)


@pytest.fixture
def graph() -> Graph:
    return with_settings(load_recipe("imagenet-train"), batch_size=4, num_threads=2)


@pytest.fixture(autouse=True)
def pids(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[set[int]]:
    """The workers' process ids. None runs afterwards, and no folder of one stays behind."""
    folder = tmp_path_factory.mktemp("workers")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    seen: set[int] = set()
    start = WorkerGroup.start

    def watched(group: WorkerGroup, on_report: object) -> object:
        def note(share: float) -> None:
            seen.update(group.pids)
            on_report(share)  # type: ignore[operator]

        return start(group, note)

    monkeypatch.setattr(WorkerGroup, "start", watched)
    yield seen
    assert list(folder.iterdir()) == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in seen)


def only(report: Report) -> Measurement:
    (measurement,) = report.measurements
    return measurement


def short(graph: Graph, data: Path, *devices: str, **options: object) -> Benchmark:
    return Benchmark(graph, str(data), devices or ("cpu",), measurement_config=SHORT, **options)  # type: ignore[arg-type]


def some_of(photos: Path, count: int, folder: Path) -> Path:
    folder.mkdir()
    for path in list(photos.rglob("*.jpg"))[:count]:
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_a_run_on_the_cpu(graph: Graph, photos: Path, pids: set[int]) -> None:
    heard: list[tuple[float, str]] = []
    report = short(graph, photos).run(lambda share, text: heard.append((share, text)))
    row = only(report)
    assert (row.device, row.batch_size, row.threads, row.prefetch) == ("cpu", 4, 2, 2)
    assert row.reason == ""
    assert len(row.imgs_per_s) == 5
    assert row.median == statistics.median(row.imgs_per_s)
    assert 1 < min(row.imgs_per_s) <= row.median <= max(row.imgs_per_s) < 100_000
    assert all(one.samples == 4 * one.batches for one in row.rounds)
    assert row.latency is not None
    assert 0 < row.latency.p50 <= row.latency.p95 <= row.latency.p99
    assert row.first_batch is not None
    assert row.host_bytes is not None
    assert row.host_bytes > 50e6
    assert len(pids) == 1, "a new worker"
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert heard[0][1] == "cpu, pipeline: building"

    record = report.to_json()
    assert (record["format"], record["version"]) == ("dali-workbench-bench", 2)
    assert record["graph"] == "imagenet-train"
    sizes = [path.stat().st_size for path in photos.rglob("*.jpg")]
    data = record["data"]
    assert (data["files"], data["bytes"]) == (len(sizes), sum(sizes))
    assert data["mean_bytes"] == pytest.approx(sum(sizes) / len(sizes))
    assert data["formats"] == {"JPEG": len(sizes)}
    assert data["cache"]["state"] == "warm"
    assert record["machine"]["cores"] == describe_machine().cores
    assert record["results"][0]["memory"]["gpu_bytes"] == "not measured" or report.machine.gpu


def test_what_is_known_so_far_has_the_order_of_the_report(
    graph: Graph, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = replace(describe_machine(), gpu="", no_gpu="this machine has no GPU")
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: machine
    )
    run = short(graph, photos, "mixed", "cpu")
    seen: list[tuple[Measurement, ...]] = []

    def look(share: float, text: str) -> None:
        if run.partial_report is not None:
            seen.append(run.partial_report.measurements)

    report = run.run(look)
    assert {tuple(row.device for row in rows) for rows in seen} == {("mixed", "cpu")}
    assert [row.device for row in report.measurements] == ["mixed", "cpu"]
    counts = [len(rows[1].rounds) for rows in seen]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 5)


def test_mixed_has_a_reason_and_a_command_where_there_is_no_gpu(
    graph: Graph, photos: Path, monkeypatch: pytest.MonkeyPatch, pids: set[int]
) -> None:
    reason = "this machine has no NVIDIA GPU, or no driver for it"
    machine = replace(describe_machine(), gpu="", no_gpu=reason)
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: machine
    )
    report = short(graph, photos, "mixed").run()
    row = only(report)
    assert row.imgs_per_s == ()
    assert row.median is None
    assert row.reason == f"not measured: {reason}"
    assert report.extra["command"] == (
        "workbench bench imagenet-train --batch-size 4 --threads 2 --data DIR --regime pipeline "
        "--json imagenet-train-gpu.json"
    )
    assert pids == set(), "no worker was started for it"


@pytest.mark.gpu
def test_cpu_against_mixed(graph: Graph, photos: Path) -> None:
    report = short(graph, photos, "cpu", "mixed", regimes=("decode", "pipeline")).run()
    assert [row.reason for row in report.measurements] == [""] * 4
    assert [ratio.theirs for ratio in report.ratios] == ["cpu, decode", "cpu, pipeline"]
    pixels = report.extra["decoders"]
    assert pixels["images"] == 64
    assert 0 <= pixels["mean"] < 3, "levels of 255"


def test_a_graph_that_cannot_run_on_a_device_says_why(photos: Path) -> None:
    graph = chain_graph("rotate", rotate={"angle": "ten"})
    row = only(short(graph, photos).run())
    assert row.reason.startswith("not measured: rotate.angle: 'ten' is not a number")


@pytest.mark.parametrize("kind", ["text.jpg", "empty.jpg"])
def test_bad_files_are_left_out_and_named(
    kind: str, graph: Graph, photos: Path, tmp_path: Path
) -> None:
    bad, _ = make_folder(photos, tmp_path, [kind, kind, "middle.jpg"])
    report = short(graph, bad).run()
    assert only(report).median
    assert (report.data, report.files) == (str(bad), 4)
    named = {one["file"]: one["reason"] for one in report.extra["left_out"]}
    assert list(named) == [f"class/0{number}_{kind}" for number in (0, 1)]
    assert load_report(dump_report(report)).left_out == report.left_out
    assert "4 files without 2 bad" in measured_on("", report)["line"]
    assert all(REFUSED[kind][1] in reason for reason in named.values())


def test_nothing_but_bad_files_is_an_error(graph: Graph, photos: Path, tmp_path: Path) -> None:
    (tmp_path / "some.jpg").write_bytes(b"words")
    with pytest.raises(DataError, match=r"No file of .* can be used: 1 bad file excluded: some"):
        short(graph, tmp_path).run()


def test_fewer_images_than_a_batch_are_noted(graph: Graph, photos: Path, tmp_path: Path) -> None:
    few = some_of(photos, 3, tmp_path / "few")
    row = only(short(graph, few).run())
    assert row.median
    assert row.notes == ("3 files, fewer than a batch of 4: files repeat within a batch",)


def test_a_graph_that_decodes_nothing_is_not_measured(
    graph: Graph, photos: Path, pids: set[int]
) -> None:
    labels = replace(graph, outputs={"labels": Port("reader", "labels")})
    row = only(short(labels, photos).run())
    assert row.reason == (
        "not measured: no decoder leads to an output (labels). Add `.decode()` after reader, and "
        "output its images."
    )
    assert pids == set()


def test_what_dali_refuses_is_a_reason_with_the_node(photos: Path) -> None:
    graph = chain_graph("crop", crop={"crop": (5000.0, 5000.0), "out_of_bounds_policy": "error"})
    row = only(short(with_settings(graph, batch_size=2), photos).run())
    assert row.reason.startswith("not measured: crop: ")


def test_killed_in_mid_measurement(graph: Graph, photos: Path, pids: set[int]) -> None:
    def kill(share: float, text: str) -> None:
        if "round 1" in text:
            while pids:
                os.kill(pids.pop(), signal.SIGKILL)

    row = only(short(graph, photos).run(kill))
    assert row.imgs_per_s == ()
    assert "not measured: The worker was terminated by SIGKILL" in row.reason


@pytest.mark.parametrize("when", ["building", "warming up", "round 2"])
def test_cancelled_at_once(when: str, graph: Graph, photos: Path) -> None:
    bench = short(graph, photos, "cpu", regimes=("decode", "pipeline"))
    bench.measurement_config = replace(SHORT, budget=600.0, precision=0.0)
    reached, raised = threading.Event(), []

    def listen(share: float, text: str) -> None:
        if when in text:
            reached.set()

    def run() -> None:
        try:
            bench.run(listen)
        except CancelledError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert reached.wait(60)
    started = time.monotonic()
    bench.cancel()
    thread.join()
    assert time.monotonic() - started < PROMPTLY
    assert len(raised) == 1


def test_cancelled_before_it_began(graph: Graph, photos: Path) -> None:
    bench = Benchmark(graph, str(photos))
    bench.cancel()
    with pytest.raises(CancelledError):
        bench.run()


def test_a_cold_round_that_reads_files_twice_is_flagged(
    graph: Graph, photos: Path, tmp_path: Path
) -> None:
    few = some_of(photos, 5, tmp_path / "few")
    report = short(graph, few, cache="cold").run()
    assert report.cache is not None
    assert report.cache.state == "cold"
    assert "not cold throughout: a round reads the 5 files more than once" in only(report).flags


def test_the_git_state_is_a_commit_or_not_measured() -> None:
    state = git_state()
    assert state == "not measured" or (len(state["commit"]) == 40 and state["dirty"] in (0, 1))


def test_a_padded_shard_counts_its_real_samples(graph: Graph, photos: Path, tmp_path: Path) -> None:
    few = some_of(photos, 5, tmp_path / "few")
    reader = graph.node("reader")
    padded = graph.replace_node(replace(reader, args={**reader.args, "pad_last_batch": True}))
    row = only(short(padded, few).run())
    samples = sum(one.samples for one in row.rounds)
    batches = sum(one.batches for one in row.rounds)
    assert abs(samples - 2.5 * batches) <= 1.5 * len(row.rounds), "4 and 1, not 4 and 4"


def test_a_file_that_ends_batch_7_is_found_by_decoding_all(
    graph: Graph, photos: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    photo = next(photos.rglob("*.jpg"))
    for number in range(28):
        (tmp_path / "data" / f"{number:02}.jpg").write_bytes(photo.read_bytes())
    buffer = io.BytesIO()
    Image.open(photo).save(buffer, "PNG")
    content = bytearray(buffer.getvalue())
    content[len(content) // 2] ^= 255
    (tmp_path / "data" / "28.png").write_bytes(content)
    reader = graph.node("reader")
    ordered = graph.replace_node(replace(reader, args={"random_shuffle": False}))
    report = short(ordered, tmp_path / "data").run()
    assert only(report).median
    (bad,) = report.extra["left_out"]
    assert bad["file"] == "28.png"
    assert bad["reason"].startswith("DALI does not decode it: ")
