"""``workbench diff``: two pipelines on a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import workbench as wb
from tests.pipeline_difference.planted import write_photos
from workbench.cli import main
from workbench.results import load_result

MODEL = """
def predict(batch):
    return batch.reshape(len(batch), -1)[:, :3].astype(float)
"""


@pytest.fixture(scope="module")
def folder(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photos, two graphs and a model."""
    folder = tmp_path_factory.mktemp("diff")
    data = write_photos(photos, folder / "photos", 4)
    graph = wb.read(data).decode().resize(size=(32, 40))
    (folder / "a.json").write_text(wb.dump_graph(graph))
    (folder / "b.json").write_text(wb.dump_graph(graph["resize"].set(antialias=False)))
    (folder / "m.py").write_text(MODEL)
    return folder


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    named = [str(folder / each) if "." in each else each for each in arguments]
    result = CliRunner().invoke(main, ["diff", *named, "--data", str(folder / "photos")])
    return result.exit_code, result.output


def test_the_exit_code_says_if_pipelines_differ(folder: Path) -> None:
    code, text = run(folder, "a.json", "b.json", "--model", "m.py:predict", "-o", "found.json")
    assert code == 1
    assert "Cause: antialias; change A to fn.resize(antialias=False)." in text
    assert "The model predicts another class for" in text
    assert load_result(folder / "found.json").kind == "diff"
    assert run(folder, "a.json", "a.json")[0] == 0


def test_an_unreadable_image_is_named_and_has_an_exit_code(folder: Path) -> None:
    bad = folder / "photos" / "bad.jpg"
    bad.write_bytes(b"no image")
    code, text = run(folder, "a.json", "a.json")
    assert code == 2
    assert "The pixels are the same for 4 images, but not all images were compared." in text
    assert "Images that could not be compared: 1 (bad.jpg: A: " in text
    assert run(folder, "a.json", "b.json")[0] == 1
    bad.unlink()


def test_what_cannot_be_compared_is_a_usage_error(folder: Path) -> None:
    (folder / "empty.py").write_text("x = 1")
    for what, words in (
        ("m.py:missing", "m.py has no function 'missing'. It has predict."),
        ("imagenet-evl", "Did you mean imagenet-eval?"),
        ("empty.py", "empty.py"),
    ):
        code, text = run(folder, "a.json", what)
        assert (code, words in " ".join(text.split())) == (2, True), text
        assert "Traceback" not in text
