"""The command line as a user calls it: exit codes, messages, files."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from workbench import __version__
from workbench.cli import MAX_SEED, main
from workbench.engine.resources.machine import describe_machine
from workbench.graph import load_recipes
from workbench.preview.requests.share import read_picture


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


def test_samples_are_written(photos: Path, tmp_path: Path) -> None:
    shutil.copytree(photos, tmp_path / "photos")
    shutil.rmtree(tmp_path / "photos" / "cat")
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


def test_a_sheet_shows_targets_where_these_are(shapes: Path, tmp_path: Path) -> None:
    sheets = []
    for number, more in enumerate((["--annotations"], ["--no-annotations"])):
        sheet = tmp_path / f"{number}.png"
        options = ["--data", shapes / "coco" / "annotations.json", "-o", sheet, "--tiles", 2]
        result = run("preview", "ssd", *options, *more)
        assert result.exit_code == 0, result.output
        with Image.open(sheet) as image:
            sheets.append(np.asarray(image.convert("RGB")).astype(int))
    drawn, bare = sheets
    assert 0.002 < (drawn != bare).any(axis=2).mean() < 0.3  # frames and names


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("coco/annotations.json", "flip, labels, boxes"), ("segmentation", "flip, masks")],
)
def test_a_recipe_of_photos_takes_data_with_targets(
    shapes: Path, tmp_path: Path, given: str, wanted: str
) -> None:
    script, sheets = tmp_path / "pipe.py", []
    for number, more in enumerate((["--annotations"], ["--no-annotations"])):
        sheet = tmp_path / f"{number}.png"
        options = ["--data", shapes / given, "-o", sheet, "--tiles", 2, *more]
        assert run("preview", "rotate-jitter", *options).exit_code == 0
        sheets.append(sheet.read_bytes())
    assert sheets[0] != sheets[1]
    result = run("export", "rotate-jitter", "--data", shapes / given, "-o", script)
    assert result.exit_code == 0, result.output
    assert f"return {wanted}\n" in script.read_text()


def test_a_shared_picture_carries_its_graph(photos: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.png"
    result = run("share", "imagenet-eval", "--data", photos, "-o", sheet)
    assert result.exit_code == 0, result.output
    assert read_picture(sheet) == load_recipes()["imagenet-eval"]
    assert run("export", sheet, "-o", tmp_path / "pipe.py").exit_code == 0
    assert run("share", sheet, "--data", photos, "-o", tmp_path / "sheet.jpg").exit_code == 2
    Image.new("RGB", (4, 4)).save(sheet)
    result = run("export", sheet, "-o", tmp_path / "other.py")
    assert result.exit_code == 2
    assert "contains no graph" in result.output


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
    assert "skipped: astronaut/astronaut_00.jpg: text, not an image" in result.output


def test_a_batch_of_bad_files_is_no_sheet(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.jpg").write_text("no picture")
    sheet = tmp_path / "sheet.png"
    result = run("preview", "imagenet-eval", "--data", tmp_path / "data", "-o", sheet)
    assert result.exit_code == 1
    assert "text, not an image" in result.output
    assert "no file in batch 0 can be decoded" in result.output
    assert not sheet.exists()


def test_the_largest_seed_is_the_graphs(photos: Path, tmp_path: Path) -> None:
    options = ["--data", photos, "-o", tmp_path / "sheet.png", "--tiles", 1, "--seed", MAX_SEED]
    assert run("preview", "imagenet-eval", *options).exit_code == 0


@pytest.mark.parametrize("command", ["preview", "bench", "verify"])
def test_mixed_without_a_gpu_says_why(
    command: str, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = replace(describe_machine(), gpu="", no_gpu="the driver is asleep")
    monkeypatch.setattr("workbench.engine.resources.machine.describe_machine", lambda: machine)
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: machine
    )
    output = ["-o", tmp_path / "sheet.png"] if command == "preview" else []
    result = run(command, "imagenet-eval", "--data", photos, "--device", "mixed", *output)
    assert result.exit_code == 1
    assert "the driver is asleep" in result.output


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


def test_verify_ends_with_how_many_are_identical(photos: Path, tmp_path: Path) -> None:
    from workbench.catalog import load_catalog
    from workbench.graph import dump_graph, load_recipe
    from workbench.graph.edits.edit import set_arg, set_setting

    graph = tmp_path / "mine.json"
    unshuffled = set_arg(load_recipe("simclr"), load_catalog(), "reader", "random_shuffle", False)
    graph.write_text(dump_graph(set_setting(unshuffled, batch_size=4)))
    result = run("verify", graph, "--data", photos, "--batches", 2, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == "identical: 8 of 8"
    assert "warning: reader.random_shuffle: it does not shuffle, but the data" in result.output


def test_verify_fails_where_anything_differs(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.preview.verify import Deviation, Verification, Verifier

    differs = Deviation(0, 3, "a/b.jpg", "images", "1 of 9 values differ, by 1 at most", 1, 9, 1.0)
    report = Verification(8, 7, 2, "cpu", (differs,))
    monkeypatch.setattr(Verifier, "run", lambda *_: report)
    result = run("verify", "simclr", "--data", photos)
    assert result.exit_code == 1
    assert result.output.splitlines()[-2:] == [
        "batch 0, sample 3 (a/b.jpg), images: 1 of 9 values differ, by 1 at most",
        "identical: 7 of 8",
    ]


def test_export_writes_the_script_of_a_graph_file(tmp_path: Path) -> None:
    from workbench.graph import dump_graph, load_recipe

    graph = tmp_path / "mine.json"
    graph.write_text(dump_graph(load_recipe("simclr")))
    result = run("export", graph, "--target", "script", "-o", tmp_path / "pipe.py")
    assert result.exit_code == 0, result.output
    script = (tmp_path / "pipe.py").read_text()
    assert "def build_pipeline(" in script
    result = run("import", tmp_path / "pipe.py", "-o", tmp_path / "again.json")
    assert result.exit_code == 0, result.output
    assert "nothing was run" in result.output
    again = json.loads((tmp_path / "again.json").read_text())
    assert again.pop("origins")["reader"].startswith("pipe.py:")
    assert "nothing was run" in again.pop("import_report")["notes"][0]
    assert again == json.loads(graph.read_text())
    result = run("export", graph, "--plain", "-o", tmp_path / "plain.py")
    assert result.exit_code == 0, result.output
    plain = (tmp_path / "plain.py").read_text().replace("python plain.py", "python pipe.py")
    assert "workbench" not in plain
    assert ast.dump(ast.parse(plain)) == ast.dump(ast.parse(script))


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "own.json", "-o", "own.json"],
        ["export", "own.json", "-o", "../work/own.json"],
        ["export", "own.json", "--target", "triton", "-o", "own.json"],
        ["export", "own.png", "-o", "own.png"],
        ["preview", "own.png", "--data", ".", "-o", "own.png"],
        ["bench", "own.json", "--data", ".", "--json", "own.json"],
        ["bench", "own.png", "--data", ".", "--plot", "own.png"],
        ["stages", "own.json", "--data", ".", "--json", "own.json"],
    ],
)
def test_a_graph_is_not_written_over(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    for name in ("own.json", "own.png"):
        Path(name).write_text("what was there")
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert f"would overwrite the source, {arguments[1]}" in result.output
    assert sorted(path.name for path in work.iterdir()) == ["own.json", "own.png"]
    assert {path.read_text() for path in work.iterdir()} == {"what was there"}


def test_export_of_several_files_makes_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    result = run("export", "simclr", "--target", "triton", "-o", folder)
    assert result.exit_code == 0, result.output
    written = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert written == [
        "client.py",
        "model_repository/simclr/1/dali.py",
        "model_repository/simclr/config.pbtxt",
    ]
    said = "flip_1, jitter_1, gray_1, blur_1, flip_2, jitter_2, gray_2, blur_2: omitted"
    model = " ".join((folder / "model_repository/simclr/1/dali.py").read_text().split())
    for each in (result.output, model):
        assert "crop_1 resizes the whole image instead of a random crop" in each
        assert said in each
        assert "labels: not an output" in each
    again = run("export", "imagenet-eval", "--target", "triton", "-o", folder)
    assert again.exit_code == 1
    assert "already exists" in again.output
    assert not (folder / "model_repository" / "imagenet_eval").exists()


def test_what_cannot_go_to_a_target_writes_nothing(tmp_path: Path) -> None:
    from workbench.graph import dump_graph, load_recipe

    graph = load_recipe("simclr")
    path = tmp_path / "mine.json"
    path.write_text(dump_graph(replace(graph, outputs={"labels": graph.outputs["labels"]})))
    cases = {"loader.py": ("pytorch", "--with", "training"), "served": ("triton",)}
    for output, target in cases.items():
        result = run("export", path, "--target", *target, "-o", tmp_path / output)
        assert result.exit_code == 1
        assert "reader" in result.output
        assert not (tmp_path / output).exists()


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
        (["app", "--results", "none.json"], 2, "'none.json' does not exist"),
        (["preview", "simclr", "--data", ".", "-o", "s.png"], 2, "is empty"),
        (["preview", "simclr", "--data", ".", "-o", "s.png", "--seed", "2147473648"], 2, "seed"),
        (["preview", "simclr", "--data", ".", "-o", "s.png", "--batch", "1000001"], 2, "batch"),
        (["preview", "simclr", "--data", ".", "-o", "-"], 2, "Use a file"),
        (["export", "simclr", "-o", "-"], 2, "Use a file"),
        (["bench", "simclr", "--data", ".", "--json", "-"], 2, "Use a file"),
        (["preview", "simclr", "--data", ".", "-o", "s.gif"], 2, ".png"),
        (["preview", "simclr", "--data", ".", "-o", "s.png", "--tiles", "99"], 2, "99"),
        (["preview", "nowhere.json", "--data", ".", "-o", "s.png"], 2, "no file nowhere.json"),
        (["verify", "none.json", "--data", "."], 2, "There is no file none.json. Pass a graph"),
        (["export", "none.png", "-o", "p.py"], 2, "There is no file none.png"),
        (["verify", "simclr", "--data", "."], 2, "is empty. Use a folder of images"),
        (["check", "."], 2, "is empty. Use a folder of images"),
        (["preview", "simclr", "-o", "s.png"], 2, "--data"),
        (["bench", "simclr", "--data", ".", "--threads", "0"], 2, "threads"),
        (["export", "simclr", "--target", "scrypt", "-o", "p.py"], 2, "script"),
        (["export", "simclr", "--target", "jax", "-o", "jax.py"], 2, "hides the module 'jax'"),
        (["export", "two-view", "--target", "notebook", "-o", "p.py"], 2, "Name it p.ipynb"),
        (["export", "simclr", "-o", "/nowhere/p.py"], 2, "cannot be written: No such file"),
        (["share", "simclr", "--data", ".", "-o", "."], 2, ". is a folder"),
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
