from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.bench.fakes import measured, report
from tests.sources.clips import write_clips
from tests.sources.test_video import SHORT, a_graph
from workbench.bench import Benchmark
from workbench.bench.measuring.measurement import rate_words
from workbench.bench.records.plots import plot_record
from workbench.bench.records.record import Report, dump_report, load_report
from workbench.cli import main
from workbench.ui.speed.chart_views import bars
from workbench.ui.speed.record_views import record_entry


@pytest.mark.parametrize(
    ("rate", "frames", "words"),
    [
        (1234.4, 0, "1,234 imgs/s"),
        (12.34, 8, "12.3 sequences/s, 99 frames/s"),
        (2345.6, 4, "2,346 sequences/s, 9,382 frames/s"),
    ],
)
def test_sequences_are_counted_as_such(rate: float, frames: int, words: str) -> None:
    assert rate_words(rate, frames) == words


@pytest.fixture(scope="module")
def of_videos(tmp_path_factory: pytest.TempPathFactory) -> Report:
    clips = write_clips(tmp_path_factory.mktemp("clips"))
    return Benchmark(a_graph(), str(clips), ["cpu"], measurement_config=SHORT).run()


def test_a_run_on_videos_says_sequences_and_frames(of_videos: Report, tmp_path: Path) -> None:
    assert of_videos.best
    assert of_videos.frames == 4
    found = load_report(dump_report(of_videos))
    assert found.frames == 4
    (bar,) = bars(found)
    assert bar["frames"] == 4
    names = [fact["name"] for fact in bar["facts"]]
    assert names[:2] == ["sequences/s", "frames/s"]
    assert record_entry("1", found, "")["frames"] == 4
    assert plot_record(found).axes[0].get_xlabel() == "sequences/s"
    (tmp_path / "a.json").write_text(dump_report(of_videos))
    told = CliRunner().invoke(main, ["records", str(tmp_path)]).output
    assert "sequences/s at best" in told


def test_a_run_on_images_says_images() -> None:
    found = report(measured(1000))
    (bar,) = bars(found)
    assert bar["facts"][0] == {"name": "imgs/s", "value": "1,000"}
    assert bar["frames"] == 0
    assert plot_record(found).axes[0].get_xlabel() == "imgs/s"
