"""Every kind of record has its picture, as PNG and as SVG, the same each time."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
from PIL import Image

from tests.bench.fakes import measured, report
from tests.thorough import one_in
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.records.plots import plot_record
from workbench.bench.records.record import WHOLE, Report
from workbench.bench.records.stage_report import StageCost, StageReport
from workbench.errors import EngineError
from workbench.figures import render_figure

GRID = Grid((1, 2), (16, 32), (2, 4), (0.65, 1.0))
FAILED = Measurement(Config("mixed"), reason="not measured: no GPU")
STAGES = StageReport(
    (
        StageCost("reader", "read", "cpu", 0.1, None),
        StageCost("decode", "decode", "mixed", 2.0, 2.4),
        StageCost("copy to the host", "copy", "gpu", 1.1, None),
    ),
    *(2.1, -0.3, 60_000.0, "decode", "advice"),
)
KINDS: dict[str, tuple[Report, tuple[str, ...]]] = {
    "bench": (
        report(measured(4900, regime="decode"), measured(2800), FAILED),
        ("imgs/s", "cpu, decode", "not measured: mixed, pipeline", "4,900"),
    ),
    "sweep": (
        report(
            *[
                Measurement(GRID.config(place, Config("mixed")), reason="not measured: memory")
                if index == 3
                else measured(100.0 + index, **asdict(GRID.config(place, Config("mixed"))))
                for index, place in enumerate(GRID.places())
            ],
            kind="sweep",
            extra={"grid": GRID.to_json()},
        ),
        ("failed", "prefetch 2, hw_decoder_load 0.65", "threads", "best 115"),
    ),
    "tune": (
        report(measured(200, "candidate 1"), measured(100, "as it is"), measured(1, "probe 1"),
               kind="tune"),
        ("candidate 1", "as it is"),
    ),
    "threads": (
        report(measured(100, threads=1), measured(180, threads=2), kind="threads"),
        ("90%", "threads", "in proportion"),
    ),
    "workers": (
        report(measured(100, device="mixed"), measured(150, device="mixed", workers=2),
               kind="workers"),
        ("75%", "GPUs, a process each", "measured"),
    ),
    "cards by pipelines": (
        report(*(measured(100 * n * p, device="mixed", workers=n, pipelines=p)
                 for n in (1, 2) for p in (1, 2)), kind="workers"),
        ("1 pipeline each", "2 pipelines each", "400", "100%"),
    ),
    "stages": (
        report(measured(500, WHOLE), kind="stages", extra={"stages": asdict(STAGES)}),
        ("decode, mixed", "bottleneck: decode", "ms a batch", "alone leaves -0.3 ms"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", one_in(3, KINDS))
def test_each_kind(kind: str) -> None:
    record, words = KINDS[kind]
    svg = render_figure(plot_record(record), "svg").decode()
    for word in words:
        assert word in svg
    assert render_figure(plot_record(record), "svg").decode() == svg, "no date, no chance"
    with Image.open(io.BytesIO(render_figure(plot_record(record)))) as image:
        assert image.format == "PNG"
        assert image.width > 900


def test_beside_a_peer_dali_is_named() -> None:
    def labels(*rows: Measurement) -> list[str]:
        (axes,) = plot_record(report(*rows)).axes
        return [label.get_text() for label in axes.get_yticklabels()]

    peer = measured(820, program="OpenCV")
    assert labels(measured(985), peer) == ["DALI, cpu, pipeline", "OpenCV, cpu, pipeline"]
    assert labels(measured(985)) == ["cpu, pipeline"]


def test_long_words_stay_in_the_picture() -> None:
    missing = [Measurement(Config("mixed"), label=f"peer {n} " * 5) for n in range(4)]
    rows = report(measured(4900, "torchvision, decode_jpeg on CUDA, mixed, pipeline"), *missing)
    figure = plot_record(replace(rows, name="a long name " * 12))
    figure.draw_without_rendering()  # lays it out
    for words in (figure._supxlabel, figure._suptitle):  # type: ignore[attr-defined]
        assert "\n" in words.get_text()
        box = words.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_nothing_measured_has_no_picture() -> None:
    with pytest.raises(EngineError, match="Nothing in this record"):
        plot_record(report(FAILED))


def test_no_pyplot() -> None:
    code = (
        "import sys; from tests.bench.fakes import measured, report; "
        "from workbench.bench.records.plots import plot_record; "
        "from workbench.figures import render_figure; "
        "render_figure(plot_record(report(measured(4900)))); "
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
