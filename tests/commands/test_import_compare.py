"""``workbench import --compare`` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.pipeline_difference.stand_in import write_stand_in
from workbench.cli import main
from workbench.graph import load_graph

pytestmark = pytest.mark.usefixtures("started_workers")
"""Put the library on the path of new workers."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def spot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


FLIP = '{"__class_fullname__": "Compose", "p": 1.0, "transforms": [{"__class_fullname__": "%s"}]}'


def test_a_composition_is_compared_with_its_library(
    spot: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(write_stand_in(spot / "library"))
    saved = written(spot, FLIP % "HorizontalFlip", "flip.json")
    result = run(
        *("import", saved, "--compare", "--data", photos, "--samples", 2),
        *("--plot", spot / "beside.png", "-o", spot / "graph.json"),
    )
    assert result.exit_code == 0, result.output
    assert "1 of 1 transforms compared with albumentations 0.0.1 on 2 photos" in result.output
    assert "HorizontalFlip(p=1.0)  flip   compared  0     0        1" in result.output
    assert load_graph((spot / "graph.json").read_text()).has("flip")
    assert (spot / "beside.png").read_bytes()[:4] == b"\x89PNG"


def test_nothing_to_compare_is_said_and_no_picture_written(
    spot: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(write_stand_in(spot / "library"))
    saved = written(spot, FLIP % "ElasticTransform", "elastic.json")
    result = run("import", saved, "--compare", "--data", photos, "--plot", spot / "beside.png")
    assert result.exit_code == 0, result.output
    assert "DALI does not sample such a field" in result.output
    assert "beside.png was not written: nothing could be compared." in result.output
    assert not (spot / "beside.png").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "Missing option '-o'"),
        (("--compare",), "Missing option '--data'. --compare needs photos"),
        (("--data", "."), "'--data': this option works only with --compare"),
        (("--plot", "x.png", "-o", "x.json"), "'--plot': this option works only with --compare"),
        (("--compare", "--data", "nowhere"), "There is no folder nowhere"),
        (("--compare", "--data", ".", "--plot", "x.jpg"), "ends in neither .png nor .svg"),
        (("--compare", "--data", ".", "--samples", "0"), "0 is not in the range"),
    ],
)
def test_options_that_do_not_go_together(spot: Path, options: tuple[str, ...], words: str) -> None:
    result = run("import", written(spot, FLIP % "HorizontalFlip", "flip.json"), *options)
    assert result.exit_code == 2
    assert words in result.output


def test_an_empty_folder_to_compare_on(spot: Path) -> None:
    (spot / "empty").mkdir()
    saved = written(spot, FLIP % "HorizontalFlip", "flip.json")
    result = run("import", saved, "--compare", "--data", spot / "empty")
    assert result.exit_code == 2
    assert "is empty. Use a folder of images" in result.output
