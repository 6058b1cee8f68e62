"""The data of a command: required for each parameter of the graph, and only then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.thorough import one_in
from workbench.bench.measuring.interleaved import measure
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.cli import main
from workbench.graph import dump_graph, load_recipe
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.model import Graph, Node, Port, Source

COMMANDS = {
    "preview": ["-o", "sheet.png", "--tiles", "4"],
    "share": ["-o", "shared.png"],
    "verify": ["--batches", "2"],
    "bench": ["--device", "cpu", "--peers", "--cache", "cold", "--json", "speed.json"],
    "stages": [],
    "tune": ["--threads", "1,2", "--batch-sizes", "4", "--prefetch", "2", "--exhaustive"],
    "scale": ["--threads", "1,2"],
}
OPTIONS = {**COMMANDS, "export": ["-o", "pipe.py"]}
NOTE = "note: the graph names its files itself: --data photos is not read"


def run(command: str, graph: str, *more: str) -> Result:
    return CliRunner().invoke(main, [command, graph, *OPTIONS[command], *more])


@pytest.fixture(autouse=True)
def _where_the_files_are(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of files, a graph that reads it, and an empty folder next to them."""
    some = sorted(photos.rglob("*.jpg"))[::20]
    (tmp_path / "list.txt").write_text("".join(f"{path} 1\n" for path in some))
    (tmp_path / "photos").mkdir()
    graph = set_arg(load_recipe("imagenet-eval"), load_catalog(), "reader", "file_list", "list.txt")
    graph = set_setting(graph, batch_size=4, num_threads=2)
    (tmp_path / "own.json").write_text(dump_graph(graph))
    monkeypatch.chdir(tmp_path)
    short = MeasurementConfig(0.02, 2, 2, warm_up_rounds=1, budget=0.0)
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.measure",
        lambda e, _, *rest: measure(e, short, *rest),
    )


@pytest.mark.parametrize("command", one_in(len(COMMANDS), COMMANDS))
def test_a_graph_that_names_its_files_needs_no_folder(command: str) -> None:
    result = run(command, "own.json")
    assert result.exit_code == 0, result.output
    assert "note" not in result.output


@pytest.mark.thorough
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


@pytest.mark.parametrize("kind", ["folder", "request"])
def test_a_kind_before_a_folder_in_this_one_is_no_module(kind: str, photos: Path) -> None:
    Path("images").symlink_to(photos)
    result = run("preview", "imagenet-eval", "--data", f"{kind}:images")
    assert result.exit_code == 0, result.output


@pytest.mark.thorough
def test_a_record_tells_nothing_of_a_folder_that_was_not_read() -> None:
    assert run("bench", "own.json").exit_code == 0
    found = json.loads(Path("speed.json").read_text())
    assert found["data"]["root"] == "data that the graph names"
    assert found["data"]["files"] == "not measured"
    assert found["data"]["cache"]["state"] == "as found"


@pytest.fixture
def table(photos: Path, tmp_path: Path) -> str:
    """A CSV file of a few photos, with class names."""
    some = sorted(photos.rglob("*.jpg"))[::20][::-1]
    rows = "".join(f"{path},{path.parent.name}\n" for path in some)
    (tmp_path / "list.csv").write_text("path,label\n" + rows)
    return "list.csv"


@pytest.fixture
def two_sources() -> str:
    """A graph file of photos and, by a parameter of their own, others; labels of both."""
    graph = Graph(
        "two",
        nodes=(
            Source("reader", "readers.file", seed=0, kind="folder"),
            Source("second", "readers.file", seed=1, kind="folder", dataset="others"),
            Node("decode", "decoders.image", inputs={"data": Port("second", "jpegs")}),
            Node("resize", "resize", {"size": (32.0, 32.0)}, {"data": Port("decode", "output")}),
        ),
        outputs={
            "images": Port("resize", "output"),
            "labels": Port("reader", "labels"),
            "other_labels": Port("second", "labels"),
        },
    )
    Path("two.json").write_text(dump_graph(set_setting(graph, batch_size=4, num_threads=2)))
    return "two.json"


@pytest.mark.parametrize("command", one_in(4, ["preview", "verify", "bench", "stages"], first=1))
def test_a_list_of_files_in_the_place_of_a_folder(command: str, table: str) -> None:
    result = run(command, "imagenet-eval", "--data", table)
    assert result.exit_code == 0, result.output


def test_the_script_for_a_list_runs_by_itself(table: str) -> None:
    told = run("export", "imagenet-eval", "--data", table)
    assert told.exit_code == 0, told.output
    text = Path("pipe.py").read_text()
    assert "**read_list(data)" in text
    assert "list of files with labels (.txt or .csv)" in text
    command = [sys.executable, "pipe.py", "--data", table, "--batch-size", "4", "--batches", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "imgs/s" in done.stdout, done.stderr
    assert run("export", "imagenet-eval").exit_code == 0
    assert "file_root=data" in Path("pipe.py").read_text()


@pytest.mark.thorough
def test_each_parameter_is_given_by_name(two_sources: str, table: str, photos: Path) -> None:
    data = ["--data", str(photos), "--data", f"others={table}"]
    for each in ("preview", "verify", "bench"):
        result = run(each, two_sources, *data)
        assert result.exit_code == 0, (each, result.output)
    assert run("export", two_sources, *data).exit_code == 0
    text = Path("pipe.py").read_text()
    assert "file_root=data" in text
    assert "read_list(others)" in text
    command = [sys.executable, "pipe.py", "--data", str(photos), "--others", table]
    done = subprocess.run([*command, "--batches", "1"], capture_output=True, text=True, check=False)
    assert "imgs/s" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "Missing option '--data'"),
        (["photos"], "Missing option '--data others=PATH'"),
        (["others=photos"], "The graph needs data. Add --data PATH --data others=PATH."),
        (["photos", "others=photos", "more=photos"], "the graph has no parameter 'more'"),
        (["photos", "photos"], "'data' is already set to photos"),
        (["photos", "others=nowhere"], "There is no folder nowhere"),
        (["photos", "others=nowhere.csv"], "There is no list of files nowhere.csv"),
        (["photos", "others="], "The path of the data is empty"),
    ],
)
def test_parameters_that_are_wrong(two_sources: str, data: list[str], words: str) -> None:
    result = run("verify", two_sources, *(word for path in data for word in ("--data", path)))
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_a_path_with_an_equals_sign(photos: Path) -> None:
    Path("a=b").symlink_to(photos)
    refused = run("verify", "imagenet-eval", "--data", "a=b")
    assert "There is no folder b" in refused.output
    assert "If this is a path that contains '=', write ./a=b." in " ".join(refused.output.split())
    assert run("verify", "imagenet-eval", "--data", "./a=b", "--batches", "1").exit_code == 0


@pytest.mark.parametrize("command", [*OPTIONS, "optimise", "check", "import"])
@pytest.mark.parametrize("what", ["folder", "list", "missing"])
def test_data_without_a_file_are_a_bad_argument_of_every_command(
    command: str, what: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "none.txt").touch()
    data = tmp_path / ("none.txt" if what == "list" else what)
    (tmp_path / "transform.py").touch()
    words = {
        "check": ["check", data],
        "import": ["import", tmp_path / "transform.py", "--compare", "--data", data],
        "optimise": ["optimise", "rotate-jitter", "--data", data],
    }.get(command) or [command, "rotate-jitter", "--data", data, *OPTIONS[command]]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 2, done.output
    said = {"folder": "is empty", "list": "names no file", "missing": "There is no folder"}
    assert said[what] in " ".join(done.output.split())


@pytest.mark.parametrize("command", [*OPTIONS, "optimise"])
def test_a_file_without_a_graph_is_a_bad_argument(command: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text("{}")
    words = [command, path, *OPTIONS.get(command, ())]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 2, done.output
    assert "The text is not a graph file" in done.output


def test_a_file_without_a_record_is_a_bad_argument(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text("{}")
    for words in (["compare", path, path], ["records", path]):
        done = CliRunner().invoke(main, [str(word) for word in words])
        assert done.exit_code == 2, done.output
        assert "The text is not a record of measurements" in done.output
