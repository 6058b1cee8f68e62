"""Two records side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.fakes import MACHINE, measured, report, rounds
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.data_files import Fingerprint
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.records.compare import compare_reports, read_folder, read_report
from workbench.bench.records.record import dump_report
from workbench.errors import DataError, RecordFormatError


def test_pairs_and_what_only_one_has() -> None:
    first = report(measured(100), measured(50, regime="decode"))
    second = report(measured(120, threads=8), measured(900, device="mixed"))
    found = compare_reports(first, second)
    (pair,) = found.pairs
    assert pair.ratio.median == pytest.approx(1.2, rel=0.01)
    assert pair.verdict == "faster"
    assert pair.differs == ("threads 4 -> 8",)
    assert (found.only_first, found.only_second) == (("cpu, decode",), ("mixed, pipeline",))
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ((80, 79, 80, 81, 80, 80, 79, 81), "slower"),
        ((120, 119, 120, 121, 120, 120, 119, 121), "faster"),
        ((100.2,) * 8, "the same"),
        ((60, 90, 150, 80, 120, 140, 70, 100), "no difference can be told"),
    ],
)
def test_verdicts(rates: tuple[float, ...], verdict: str) -> None:
    first = Measurement(Config(), rounds(*[1000.0] * 8))
    second = Measurement(Config(), rounds(*[10 * rate for rate in rates]))
    (pair,) = compare_reports(report(first), report(second)).pairs
    assert pair.verdict == verdict


def test_rows_of_a_sweep_and_of_thread_counts_are_paired_by_their_settings() -> None:
    one, two = (
        report(*(measured(r * n, threads=n) for n in (1, 2)), kind="threads") for r in (1, 3)
    )
    found = compare_reports(one, two)
    assert [pair.first.threads for pair in found.pairs] == [1, 2]
    assert [pair.name for pair in found.pairs] == [
        "cpu, pipeline, batch 64, 1 thread, prefetch 2",
        "cpu, pipeline, batch 64, 2 threads, prefetch 2",
    ]
    sweep = report(measured(5, threads=2, batch_size=32), measured(7, threads=2), kind="sweep")
    (pair,) = compare_reports(sweep, two).pairs
    assert (pair.first.batch_size, pair.second.threads) == (64, 2)


def test_probes_are_not_compared() -> None:
    tuned = report(measured(5, "candidate 1"), measured(6, "probe 1"), kind="tune")
    assert [pair.name for pair in compare_reports(tuned, tuned).pairs] == ["candidate 1"]


def test_what_differs_besides_is_told() -> None:
    first = report(measured(1), fingerprint=Fingerprint("a", 1, 2), context={"graph_sha256": "a"})
    second = report(measured(1), fingerprint=Fingerprint("a", 3, 4), context={"graph_sha256": "b"})
    words = " ".join(compare_reports(first, second).warnings)
    assert "1 files, 2 bytes and 3 files, 4 bytes" in words
    assert "graphs are not the same" in words


def test_machines_that_differ_in_cores_or_driver_are_told() -> None:
    there = replace(MACHINE, gpu="NVIDIA H200", no_gpu="", driver="1", cores=16)
    first = replace(report(measured(1)), machine=there)
    second = replace(first, machine=replace(there, cores=32, driver="2"))
    words = " ".join(compare_reports(first, second).warnings)
    assert "16 cores, NVIDIA H200 and" in words
    assert "driver differs: 1 and 2" in words
    assert not compare_reports(first, first).warnings


def test_a_folder_of_records(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(dump_report(report(created="2026-01-01")))
    (tmp_path / "a.json").write_text(dump_report(report(created="2026-02-01")))
    (tmp_path / "c.json").write_text("{}")
    found, refused = read_folder(tmp_path)
    assert list(found) == ["b", "a"], "oldest first"
    assert len(refused) == 1
    assert "c.json" in refused[0]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_report(tmp_path / "none.json")
    with pytest.raises(DataError, match="no folder"):
        read_folder(tmp_path / "none")
    (tmp_path / "x.json").write_text("no")
    with pytest.raises(RecordFormatError, match=r"x\.json"):
        read_report(tmp_path / "x.json")
