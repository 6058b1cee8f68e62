"""The data folder of a command: asked for where the graph reads one, and only there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.thorough import one_in
from workbench.bench.interleaved import measure
from workbench.bench.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.cli import main
from workbench.graph import dump_graph, load_recipe
from workbench.graph.edit import set_arg, set_setting

COMMANDS = {
    "preview": ["-o", "sheet.png", "--tiles", "4"],
    "share": ["-o", "shared.png"],
    "verify": ["--batches", "2"],
    "bench": ["--device", "cpu", "--peers", "--cache", "cold", "--json", "speed.json"],
    "stages": [],
    "tune": ["--threads", "1,2", "--batch-sizes", "4", "--prefetch", "2", "--exhaustive"],
    "scale": ["--threads", "1,2"],
}
NOTE = "note: the graph names its files itself: --data photos is not read"


def run(command: str, graph: str, *more: str) -> Result:
    return CliRunner().invoke(main, [command, graph, *COMMANDS[command], *more])


@pytest.fixture(autouse=True)
def _where_the_files_are(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of files, a graph that names it, and a folder beside them with nothing in it."""
    some = sorted(photos.rglob("*.jpg"))[::20]
    (tmp_path / "list.txt").write_text("".join(f"{path} 1\n" for path in some))
    (tmp_path / "photos").mkdir()
    graph = set_arg(load_recipe("imagenet-eval"), load_catalog(), "reader", "file_list", "list.txt")
    graph = set_setting(graph, batch_size=4, num_threads=2)
    (tmp_path / "own.json").write_text(dump_graph(graph))
    monkeypatch.chdir(tmp_path)
    short = MeasurementConfig(0.02, 2, 2, warm_up_rounds=1, budget=0.0)
    monkeypatch.setattr(
        "workbench.bench.experiment.measure", lambda e, _, *rest: measure(e, short, *rest)
    )


@pytest.mark.parametrize("command", one_in(3, COMMANDS))
def test_a_graph_that_names_its_files_needs_no_folder(command: str) -> None:
    result = run(command, "own.json")
    assert result.exit_code == 0, result.output
    assert "note" not in result.output


@pytest.mark.parametrize("command", ["preview", "verify", "bench"])
def test_a_folder_that_is_not_read_is_told(command: str) -> None:
    result = run(command, "own.json", "--data", "photos")
    assert result.exit_code == 0, result.output
    assert NOTE in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_any_other_graph_needs_one(command: str) -> None:
    result = run(command, "imagenet-eval")
    assert result.exit_code == 2
    assert "Missing option '--data'" in result.output
    missing = run(command, "own.json", "--data", "nowhere")
    assert (missing.exit_code, "There is no folder nowhere" in missing.output) == (2, True)


def test_a_record_tells_nothing_of_a_folder_that_was_not_read() -> None:
    assert run("bench", "own.json").exit_code == 0
    found = json.loads(Path("speed.json").read_text())
    assert found["data"]["root"] == "files that the graph names"
    assert found["data"]["files"] == "not measured"
    assert found["data"]["cache"]["state"] == "as found"
