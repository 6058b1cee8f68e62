"""The command line as a user calls it: exit codes, messages, files."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from workbench import __version__
from workbench.bench import Measurement
from workbench.cli import MAX_SEED, main
from workbench.engine.machine import describe_machine
from workbench.graph import load_recipes


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", [None, *main.commands])
def test_help_shows_an_example(name: str | None) -> None:
    result = run(*([name] if name else []), "--help")
    assert result.exit_code == 0
    assert "Example:  workbench" in result.output


def test_recipes_are_listed_with_a_line_each() -> None:
    lines = run("recipes").output.splitlines()
    assert [line.split()[0] for line in lines] == list(load_recipes())
    assert all(len(line.split()) > 4 for line in lines)


def test_operators_as_json() -> None:
    ops = json.loads(run("ops", "--json").output)
    assert "rotate" in json.dumps(ops)


def test_samples_are_written(tmp_path: Path) -> None:
    result = run("samples", tmp_path / "photos")
    assert (result.exit_code, result.output.split()[0]) == (0, "120")
    assert len(list((tmp_path / "photos").rglob("*.jpg"))) == 120


@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_preview_writes_a_sheet(photos: Path, tmp_path: Path, suffix: str) -> None:
    sheet = tmp_path / f"sheet.{suffix}"
    options = ["--data", photos, "-o", sheet, "--tiles", 4, "--batch", 1, "--seed", 7]
    result = run("preview", "rotate-jitter", *options)
    assert result.exit_code == 0, result.output
    with Image.open(sheet) as image:
        assert image.size == (2 * 2 * 224, 2 * 224)
        assert image.format == {"png": "PNG", "jpg": "JPEG"}[suffix]


def test_seed_and_batch_change_the_draws(photos: Path, tmp_path: Path) -> None:
    sheets = []
    for options in ([], ["--seed", 1], ["--batch", 1], []):
        sheet = tmp_path / "sheet.png"
        run("preview", "rotate-jitter", "--data", photos, "-o", sheet, "--tiles", 4, *options)
        sheets.append(sheet.read_bytes())
    assert sheets[0] == sheets[3]
    assert len(set(sheets)) == 3


def test_preview_names_what_it_left_out(photos: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(photos / "astronaut", data / "astronaut")
    (data / "astronaut" / "astronaut_00.jpg").write_text("no picture")
    options = ["--data", data, "-o", tmp_path / "sheet.png", "--tiles", 4]
    result = run("preview", "imagenet-eval", *options)
    assert result.exit_code == 0
    assert "left out: astronaut/astronaut_00.jpg: text, not an image" in result.output


def test_a_batch_of_bad_files_is_no_sheet(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.jpg").write_text("no picture")
    sheet = tmp_path / "sheet.png"
    result = run("preview", "imagenet-eval", "--data", tmp_path / "data", "-o", sheet)
    assert result.exit_code == 1
    assert "text, not an image" in result.output
    assert "No file of batch 0 can be shown" in result.output
    assert not sheet.exists()


def test_the_largest_seed_is_the_graphs(photos: Path, tmp_path: Path) -> None:
    options = ["--data", photos, "-o", tmp_path / "sheet.png", "--tiles", 1, "--seed", MAX_SEED]
    assert run("preview", "imagenet-eval", *options).exit_code == 0


@pytest.mark.parametrize("command", ["preview", "bench"])
def test_mixed_without_a_gpu_says_why(
    command: str, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = replace(describe_machine(), gpu="", no_gpu="the driver is asleep")
    monkeypatch.setattr("workbench.engine.machine.describe_machine", lambda: machine)
    monkeypatch.setattr("workbench.bench.measure.describe_machine", lambda: machine)
    output = ["-o", tmp_path / "sheet.png"] if command == "preview" else []
    result = run(command, "imagenet-eval", "--data", photos, "--device", "mixed", *output)
    assert result.exit_code == 1
    assert "the driver is asleep" in result.output


def test_unsteady_rounds_are_marked(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Measurement("cpu", "pipeline", 4, 2, 2, (100.0, 100.0, 150.0))
    monkeypatch.setattr("workbench.bench.Bench._measure", lambda *_: row)
    result = run("bench", "imagenet-eval", "--data", photos, "--device", "cpu")
    assert "unstable: the rounds differ by more than 10 %" in result.output


def test_version_of_a_copy_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"workbench, version {__version__}\n")


@pytest.mark.parametrize(("ended", "code"), [(0, 0), (1, 1), (3, 1), (-9, 1)])
def test_lab_ends_as_jupyterlab_does(
    ended: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "01_quickstart.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "call", lambda _: ended)
    assert run("lab", "--no-browser").exit_code == code


def test_bench_records_what_it_measured(photos: Path, tmp_path: Path) -> None:
    record = tmp_path / "speed.json"
    options = ["--data", photos, "--batch-size", 8, "--threads", 2, "--json", record]
    result = run("bench", "imagenet-eval", *options)
    assert result.exit_code == 0, result.output
    assert "imgs/s" in result.output
    found = json.loads(record.read_text())
    cpu, mixed = found["results"]
    assert (cpu["device"], cpu["regime"], cpu["batch_size"], cpu["threads"]) == (
        "cpu",
        "pipeline",
        8,
        2,
    )
    speed = cpu["imgs_per_s"]
    assert 0 < speed["low"] <= speed["median"] <= speed["high"]
    assert len(speed["rounds"]) >= 5
    assert mixed["imgs_per_s"]["median"] or mixed["reason"].startswith("not measured: ")
    assert found["machine"]["cores"] >= 1


def test_export_writes_the_script_of_a_graph_file(tmp_path: Path) -> None:
    from workbench.graph import dump_graph, load_recipe

    graph = tmp_path / "mine.json"
    graph.write_text(dump_graph(load_recipe("simclr")))
    result = run("export", graph, "--target", "script", "-o", tmp_path / "pipe.py")
    assert result.exit_code == 0, result.output
    assert "def build_pipeline(" in (tmp_path / "pipe.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["preview", "rotate-jiter", "--data", ".", "-o", "s.png"],
            2,
            "Did you mean rotate-jitter?",
        ),
        (["export", "rotate-jiter", "-o", "p.py"], 2, "Did you mean rotate-jitter?"),
        (["preview", "simclr", "--data", "/nowhere", "-o", "s.png"], 2, "no folder /nowhere"),
        (["bench", "simclr", "--data", "/nowhere"], 2, "no folder /nowhere"),
        (["app", "--data", "/nowhere"], 2, "no folder /nowhere"),
        (["preview", "simclr", "--data", ".", "-o", "s.png"], 1, "is empty"),
        (["preview", "simclr", "--data", ".", "-o", "s.png", "--seed", "2147473648"], 2, "seed"),
        (["preview", "simclr", "--data", ".", "-o", "s.png", "--batch", "1000001"], 2, "batch"),
        (["preview", "simclr", "--data", ".", "-o", "-"], 2, "Name the file"),
        (["export", "simclr", "-o", "-"], 2, "Name the file"),
        (["bench", "simclr", "--data", ".", "--json", "-"], 2, "Name the file"),
        (["preview", "simclr", "--data", ".", "-o", "s.gif"], 2, ".png"),
        (["preview", "simclr", "--data", ".", "-o", "s.png", "--tiles", "99"], 2, "99"),
        (["preview", "nowhere.json", "--data", ".", "-o", "s.png"], 1, "cannot be read"),
        (["preview", "simclr", "-o", "s.png"], 2, "--data"),
        (["bench", "simclr", "--data", ".", "--threads", "0"], 2, "threads"),
        (["export", "simclr", "--target", "scrypt", "-o", "p.py"], 2, "script"),
        (["export", "simclr", "-o", "/nowhere/p.py"], 1, "was not written"),
        (["prevew"], 2, "preview"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert message in result.output
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())
