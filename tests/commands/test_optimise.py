"""``workbench optimise`` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.graph.rewrites.laws import ops
from tests.optimiser.made_up import NAMES, make_up, slow_graph
from workbench.bench.records.record import load_report
from workbench.cli import main
from workbench.graph import dump_graph, load_graph

FASTER = {"colour-after-crop": 200.0, "crop-in-decoder": 300.0, "colour-into-twist": 310.0}


def optimise(photos: Path, tmp_path: Path, *options: object) -> Result:
    graph = tmp_path / "slow.json"
    graph.write_text(dump_graph(slow_graph()))
    words = ["optimise", graph, "--data", photos, *options]
    return CliRunner().invoke(main, [str(word) for word in words])


def test_the_table_the_record_and_the_graph(
    monkeypatch: pytest.MonkeyPatch, photos: Path, tmp_path: Path
) -> None:
    make_up(monkeypatch, FASTER)
    output, script, record = (tmp_path / name for name in ("fast.json", "fast.py", "record.json"))
    done = optimise(
        photos, tmp_path, "--apply", "exact", "-o", output, "--script", script, "--json", record
    )
    assert done.exit_code == 0, done.output
    for name in NAMES:
        assert name in done.stdout
    assert "applied: colour-after-crop, crop-in-decoder" in done.stdout
    assert ops(load_graph(output.read_text()))[1:] == [
        "decoders.image_crop",
        "contrast",
        "brightness",
    ]
    assert "fn.decoders.image_crop" in script.read_text()
    assert len(load_report(record.read_text()).extra["optimise"]["proposals"]) == len(NAMES)


def test_what_is_not_there_is_told_at_once_or_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, photos: Path, tmp_path: Path
) -> None:
    seen = make_up(monkeypatch, {**FASTER, "colour-into-twist": 200.0})
    for option in ("--only", "--apply"):
        unknown = optimise(photos, tmp_path, option, "crop-in-decode")
        assert unknown.exit_code == 2
        assert "Did you mean crop-in-decoder" in unknown.output
    assert not seen
    refused = optimise(photos, tmp_path, "--apply", "colour-into-twist")
    assert refused.exit_code == 1
    assert "not proposed (slower: 0.67 times)" in refused.output
